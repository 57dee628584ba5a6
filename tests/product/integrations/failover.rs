//! A database server fails over to one that lacks the last commits, as `host/docs/operating.md`
//! describes it.

use std::fs;

use serde_json::json;
use support::{Dialect, Endpoint, OAuthProvider, Store, module};

use super::{connect, email, gateway, me, record, registered, who_as};

/// The statement of the page, as an operator copies it.
fn statement() -> String {
    let page = fs::read_to_string(module::root().join("host/docs/operating.md")).unwrap();
    let (_, section) = page.split_once("### When a database server fails over\n").expect("the page has the section");
    let section = section.split("\n## ").next().unwrap();
    section.lines().filter(|line| line.starts_with("    ")).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_statement_of_the_page_lists_the_accounts_that_a_failover_may_have_lost() {
    const STANDBY: &str = "version, expires_at, last_refreshed_at, next_refresh_at, data_key, secret";
    let statement = statement();
    assert!(statement.contains("timestamptz '2026-11-02 12:00Z'"), "{statement}");
    let (store, provider) = (Store::postgres(), OAuthProvider::start(Dialect::strict()));
    let gateway = gateway(&store, &provider);
    let database = store.database();
    for name in ["ada", "bob"] {
        connect(&gateway.client(), "account", name);
    }
    // The standby gets no more commits from here on. On it, the account of ada is due before the
    // failover, and the one of bob after it.
    database.sql(&format!("CREATE TABLE standby AS SELECT id, user_identifier, {STANDBY} FROM integrations"));
    for (name, due) in [("ada", "11:59Z"), ("bob", "12:01Z")] {
        database.sql(&format!(
            "UPDATE standby SET next_refresh_at = 1000 * extract(epoch FROM timestamptz '2026-11-02 {due}')
             WHERE user_identifier = '{}'",
            email(name)
        ));
    }
    provider.expire();
    assert_eq!(who_as(&gateway.client(), "ada").ok(), me("ada"));
    assert_eq!(provider.count(Endpoint::Refresh), 1);
    gateway.kill();
    let columns: Vec<String> = STANDBY.split(", ").map(|column| format!("{column} = standby.{column}")).collect();
    database.sql(&format!(
        "UPDATE integrations SET {} FROM standby WHERE standby.id = integrations.id; DROP TABLE standby",
        columns.join(", ")
    ));

    let listed = database.query(&statement);
    assert!(listed.ends_with(&format!("|account|{}", email("ada"))) && listed.lines().count() == 1, "{listed}");
    let gateway = registered(gateway.start_again(), &provider);
    let client = gateway.client();
    let lost = support::wait_for("the next refresh of the listed account", || {
        Some(who_as(&client, "ada")).filter(|answer| answer.status == 424)
    });
    lost.problem(424, "reauthorization-required");
    assert_eq!(record(&client, "ada")["status"], "expired");
    assert_eq!(who_as(&client, "bob").ok(), me("bob"));
    assert_eq!(record(&client, "bob")["status"], json!("active"));
    // The page says what the user does then.
    connect(&client, "account", "ada");
    assert_eq!(who_as(&client, "ada").ok(), me("ada"));
}
