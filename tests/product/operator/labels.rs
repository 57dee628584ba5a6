//! Labels of accounts.

use serde_json::{Value, json};
use support::oauth::browser;
use support::{Client, Dialect, OAuthProvider, Person, Store};

use crate::integrations::{DONE, connect, gateway, on_each_store, path, record};

on_each_store!(labels_are_given_changed_and_found, an_authorization_gives_labels);

fn labelled(client: &Client, name: &str, labels: Value) -> support::Answer {
    client.request("PATCH", &path("account", name)).json(&json!({"labels": labels})).send()
}

fn names(client: &Client, query: &str) -> Vec<Value> {
    let page = client.get(&format!("/integrations?{query}")).ok();
    page["integrations"].as_array().unwrap().iter().map(|found| found["user_identifier"].clone()).collect()
}

fn labels_are_given_changed_and_found(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let client = gateway.client();
    connect(&client, "account", "ada");
    connect(&client, "account", "bob");
    assert_eq!(record(&client, "ada")["labels"], json!({}));
    let labels = json!({"team": "blue", "note": "\"team\":\"red\" 100%"});
    assert_eq!(labelled(&client, "ada", labels.clone()).ok()["labels"], labels);
    assert_eq!(record(&client, "ada")["labels"], labels);
    labelled(&client, "bob", json!({"team": "Blue"})).ok();
    assert_eq!(names(&client, "label.team=blue"), ["ada@example.com"]);
    assert_eq!(names(&client, "label.team=Blue"), ["bob@example.com"]);
    assert!(names(&client, "label.team=red").is_empty() && names(&client, "label.team=blu").is_empty());
    assert_eq!(names(&client, "label.team=blue&label.note=%22team%22%3A%22red%22%20100%25"), ["ada@example.com"]);
    // Another connection of the same account keeps them.
    connect(&client, "account", "ada");
    assert_eq!(record(&client, "ada")["labels"], labels);
    assert_eq!(labelled(&client, "ada", json!({})).ok()["labels"], json!({}));
    let many: serde_json::Map<_, _> = (0..17).map(|number| (format!("l{number}"), json!("x"))).collect();
    for wrong in
        [json!({"a": 1}), json!({"a b": "x"}), json!("x"), json!(null), many.into(), json!({"a": "x".repeat(257)})]
    {
        assert!(labelled(&client, "ada", wrong.clone()).violations()[0].0.starts_with("/labels"), "{wrong}");
    }
    labelled(&client, "nobody", json!({})).problem(404, "unknown-integration");
    client.request("GET", "/integrations?label.=x&labels=y").send().violations();
}

fn an_authorization_gives_labels(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let client = gateway.client();
    let begin = |extra: Value| {
        let mut body = json!({"auth_type": "oauth2", "callback_url": DONE, "labels": {"team": "blue"}});
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let begun = client.post("/connectors/account/integrations", body).ok();
        let callback = Person::named("ada").consents(begun["authorization_url"].as_str().unwrap());
        browser::open(&callback)
    };
    begin(json!({}));
    assert_eq!(record(&client, "ada")["labels"], json!({"team": "blue"}));
    client.delete(&path("account", "ada")).ok();
    let pending = crate::integrations::ended(&begin(json!({"confirm": true})));
    let completion = pending.iter().find(|(name, _)| name == "completion").unwrap().1.clone();
    let confirmed = client.post(&format!("{}/confirm", path("account", "ada")), json!({"completion": completion})).ok();
    assert_eq!(confirmed["labels"], json!({"team": "blue"}));
    let body = json!({"auth_type": "oauth2", "callback_url": DONE, "labels": {"a b": "x"}});
    client.post("/connectors/account/integrations", body).violations();
}
