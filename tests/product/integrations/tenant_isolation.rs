//! Tenants never see each other's accounts, and neither do the users of one tenant.

use serde_json::{Value, json};
use support::{Client, Dialect, Gateway, OAuthProvider, Store};

use super::{client, connect, email, gateway, me, on_each_store, path, record, who, who_as};

on_each_store!(
    callers_see_their_own_accounts_only,
    the_storage_of_a_connector_is_separate_for_each_integration,
    each_caller_selects_an_account_of_its_own
);

/// Callers that share nothing: two tenants, each as itself and for two users. The users of both
/// tenants have the same names.
fn callers(gateway: &Gateway) -> Vec<Client> {
    let mut callers = Vec::new();
    for tenant in ["acme", "umbrella"] {
        for subject in [None, Some("ann"), Some("ben")] {
            callers.push(client(gateway, tenant, subject, "integrate,operate"));
        }
    }
    callers
}

fn callers_see_their_own_accounts_only(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let callers = callers(&gateway);
    for (number, caller) in callers.iter().enumerate() {
        connect(caller, "account", &format!("user{number}"));
    }
    for (number, caller) in callers.iter().enumerate() {
        let own = format!("user{number}");
        assert_eq!(who(caller).ok(), me(&own), "the only account of this caller");
        let listed = caller.get("/integrations").ok();
        let names: Vec<&Value> =
            listed["integrations"].as_array().unwrap().iter().map(|record| &record["user_identifier"]).collect();
        assert_eq!(names, [&json!(email(&own))]);
        for other in (0..callers.len()).filter(|other| *other != number).map(|other| format!("user{other}")) {
            for method in ["GET", "POST", "DELETE"] {
                caller.request(method, &path("account", &other)).send().problem(404, "unknown-integration");
            }
            who_as(caller, &other).problem(424, "integration-required");
        }
    }
    assert_eq!(provider.live_grants(), callers.len(), "no caller revoked the grant of another");
}

fn the_storage_of_a_connector_is_separate_for_each_integration(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let callers = callers(&gateway);
    for caller in &callers {
        // All callers connect the same account, because storage belongs to the integration.
        connect(caller, "account", "ada");
    }
    for (number, caller) in callers.iter().enumerate() {
        let before = caller.call("account/remember", json!({"value": number.to_string()})).ok();
        assert_eq!(before, json!({"before": null}));
    }
    for (number, caller) in callers.iter().enumerate() {
        let before = caller.call("account/remember", json!({})).ok();
        assert_eq!(before, json!({"before": number.to_string()}));
    }
}

fn each_caller_selects_an_account_of_its_own(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let callers = [
        client(&gateway, "acme", Some("ann"), "integrate,operate"),
        client(&gateway, "acme", Some("ben"), "integrate,operate"),
    ];
    for caller in &callers {
        connect(caller, "account", "ada");
        connect(caller, "account", "bob");
    }
    callers[0].request("POST", &path("account", "bob")).send().ok();
    assert_eq!(who(&callers[0]).ok(), me("bob"));
    who(&callers[1]).problem(424, "selection-required");
    assert_eq!(record(&callers[1], "bob")["selected"], false);
}
