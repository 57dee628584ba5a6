//! The account that an operation uses. The gateway never guesses it.

use serde_json::{Value, json};
use support::{Answer, Client, Dialect, Gateway, OAuthProvider, Store};

use super::{connect, email, gateway, me, on_each_store, path, record, who, who_as};

on_each_store!(
    the_only_account_is_used_but_none_of_several,
    the_selected_account_is_used_until_another_is_selected,
    removing_the_selected_account_selects_no_other,
    an_empty_or_repeated_name_is_refused_and_no_account_is_guessed,
    an_unknown_name_is_refused_and_no_other_account_is_used,
);

fn with_accounts(store: &Store, names: &[&str]) -> (OAuthProvider, Gateway, Client) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let client = gateway.client();
    for name in names {
        connect(&client, "account", name);
    }
    (provider, gateway, client)
}

#[track_caller]
fn assert_must_select(answer: &Answer, names: &[&str]) {
    let problem = answer.problem(424, "selection-required");
    let candidates: Vec<String> = names.iter().map(|name| email(name)).collect();
    assert_eq!(problem["candidates"], json!(candidates));
    assert_eq!(problem["owner"], "user");
    let action = json!({"method": "POST", "path": "/connectors/account/integrations/{user_identifier}"});
    assert_eq!(problem["action"], action);
}

fn selected(client: &Client) -> Vec<Value> {
    let listed = client.get("/integrations").ok();
    let of = |record: &Value| record["user_identifier"].clone();
    listed["integrations"].as_array().unwrap().iter().filter(|record| record["selected"] == true).map(of).collect()
}

fn the_only_account_is_used_but_none_of_several(store: &Store) {
    let (provider, _gateway, client) = with_accounts(store, &["ada"]);
    assert_eq!(who(&client).ok(), me("ada"));
    connect(&client, "account", "bob");
    let called = provider.api_calls().len();
    assert_must_select(&who(&client), &["ada", "bob"]);
    assert_must_select(&client.call("account/composed", json!({"path": "/me"})), &["ada", "bob"]);
    assert_eq!(provider.api_calls().len(), called, "no account was called");
    for name in ["ada", "bob"] {
        assert_eq!(who_as(&client, name).ok(), me(name));
    }
}

fn the_selected_account_is_used_until_another_is_selected(store: &Store) {
    let (_provider, gateway, client) = with_accounts(store, &["ada", "bob", "eve"]);
    assert_eq!(selected(&client), Vec::<Value>::new());
    let chosen = client.request("POST", &path("account", "bob")).send().ok();
    assert_eq!((&chosen["selected"], &chosen["user_identifier"]), (&json!(true), &json!(email("bob"))));
    assert_eq!(who(&client).ok(), me("bob"));
    assert_eq!(who_as(&client, "ada").ok(), me("ada"), "a name takes precedence over the selection");
    client.request("POST", &path("account", "eve")).send().ok();
    assert_eq!(selected(&client), [json!(email("eve"))]);
    assert_eq!(who(&client).ok(), me("eve"));
    let gateway = gateway.start_again();
    assert_eq!(who(&gateway.client()).ok(), me("eve"), "after a restart too");
    let exists = gateway.client().get("/connectors/account/integration-exists").ok();
    assert_eq!(exists["user_identifier"], email("eve"));
}

fn removing_the_selected_account_selects_no_other(store: &Store) {
    let (_provider, _gateway, client) = with_accounts(store, &["ada", "bob", "eve"]);
    client.request("POST", &path("account", "bob")).send().ok();
    client.delete(&path("account", "bob")).ok();
    assert_must_select(&who(&client), &["ada", "eve"]);
    client.delete(&path("account", "eve")).ok();
    assert_eq!(who(&client).ok(), me("ada"));
    connect(&client, "account", "bob");
    assert_eq!(record(&client, "bob")["selected"], false, "the earlier selection does not come back");
}

fn an_empty_or_repeated_name_is_refused_and_no_account_is_guessed(store: &Store) {
    let (provider, _gateway, client) = with_accounts(store, &["ada"]);
    let before = provider.api_calls().len();
    for path in ["/connectors/account/forward", "/connectors/account/integration-exists"] {
        let method = if path.ends_with("forward") { "POST" } else { "GET" };
        let call = || client.request(method, path).json(&json!({"path": "/me"}));
        for name in ["", "  "] {
            let violations = call().header("x-user-identifier", name).send().violations();
            assert_eq!(violations[0].0, "/X-User-Identifier", "{name:?}");
        }
        let repeated = call().header("x-user-identifier", &email("ada")).header("x-user-identifier", &email("ada"));
        assert!(repeated.send().violations()[0].1.contains("more than once"));
    }
    assert_eq!(provider.api_calls().len(), before, "no request was sent");
}

fn an_unknown_name_is_refused_and_no_other_account_is_used(store: &Store) {
    let (_provider, _gateway, client) = with_accounts(store, &["ada"]);
    let problem = who_as(&client, "bob").problem(424, "integration-required");
    assert_eq!(problem["action"], json!({"method": "POST", "path": "/connectors/account/integrations"}));
    assert!(problem["detail"].as_str().unwrap().contains("bob@example.com"), "{problem}");
    let problem = who_as(&client, "ADA").problem(424, "integration-required");
    assert_eq!(problem["candidates"], json!([email("ada")]));
    assert!(problem["detail"].as_str().unwrap().contains(&format!("name one of `{}`", email("ada"))), "{problem}");
    for method in ["GET", "POST", "DELETE"] {
        let problem = client.request(method, &path("account", "bob")).send().problem(404, "unknown-integration");
        assert_eq!(problem["candidates"], json!([email("ada")]), "{method}");
    }
}
