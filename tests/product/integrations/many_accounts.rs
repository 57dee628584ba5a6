//! An application with many users: its list comes in pages, and a call reads only the account that
//! it runs on.

use serde_json::{Value, json};
use support::{Dialect, OAuthProvider, Store};

use super::{connect, email, gateway, me, on_each_store, path, who, who_as};

on_each_store!(a_list_comes_in_pages);

fn a_list_comes_in_pages(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let client = gateway.client();
    for name in ["eve", "ada", "bob"] {
        connect(&client, "account", name);
    }
    let names = |page: &Value| -> Vec<Value> {
        page["integrations"].as_array().unwrap().iter().map(|record| record["user_identifier"].clone()).collect()
    };
    let first = client.get("/integrations?limit=2").ok();
    assert_eq!(names(&first), [email("ada"), email("bob")]);
    let cursor = first["next_cursor"].as_str().unwrap();
    let second = client.get(&format!("/integrations?limit=2&cursor={cursor}")).ok();
    assert_eq!((names(&second), &second["next_cursor"]), (vec![json!(email("eve"))], &Value::Null));
    assert_eq!(names(&client.get("/integrations?connector=account&status=active").ok()).len(), 3);
    assert_eq!(names(&client.get("/integrations?connector=other").ok()).len(), 0);
    assert_eq!(names(&client.get("/integrations?status=revoked").ok()).len(), 0);
    client.get("/integrations?cursor=nonsense").problem(422, "validation");
    client.get("/integrations?page=2").problem(422, "validation");
}

#[test]
fn a_call_of_a_holder_with_a_hundred_thousand_accounts_runs_on_the_right_one() {
    let store = Store::postgres();
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(&store, &provider);
    let client = gateway.client();
    connect(&client, "account", "ada");
    store.database().sql(
        "INSERT INTO integrations (id, tenant, subject, connector, user_identifier, auth_type, created_at, updated_at, status,
             scopes)
         SELECT 'int_' || n, tenant, subject, connector, 'user' || lpad(n::text, 6, '0'), auth_type, 1, 1, status, scopes
         FROM integrations, generate_series(1, 99999) AS n",
    );
    assert_eq!(who_as(&client, "ada").ok(), me("ada"));
    let problem = who(&client).problem(424, "selection-required");
    let candidates = problem["candidates"].as_array().unwrap();
    assert_eq!((candidates.len(), &candidates[0]), (50, &json!(email("ada"))));
    client.request("POST", &path("account", "ada")).send().ok();
    assert_eq!(who(&client).ok(), me("ada"));
    let all = client.get("/integrations").ok();
    assert_eq!(all["integrations"].as_array().unwrap().len(), 100);
}
