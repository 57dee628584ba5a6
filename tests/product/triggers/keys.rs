//! Triggers on accounts with an API key. A service names such an account in its notifications, as
//! the operation that checks keys does.

use std::fs;

use serde_json::{Value, json};
use support::{Answer, Client, Gateway, Reply, Setup, Upstream, wait_for};

use crate::hooks::{PUBLIC, hmac_hex};

const SECRET: &str = "secret-of-the-shop-desk";

/// A connector of rows alone.
const SHOP: &str = r#"
identifier = "shop"
version = "1.0.0"
title = "Shop"
doc = "Orders of a shop."
license = "Apache-2.0"

[auth.api_key]
header = "X-Api-Key"
check = "me"

[upstreams]
api = "https://shop.invalid/api"

[inboxes.orders]
checks = [{ hmac = { signature = { header = "X-Signature" }, prefix = "sha256=" } }]
id = [{ pointer = "/id" }]
kind = [{ pointer = "/type" }]
data = "/order"
accounts = [{ place = { pointer = "/shop" }, account = "/id" }]

[triggers.order]
title = "Order"
description = "Someone has ordered."
example = { number = 5 }
kinds = ["order"]
inboxes = ["orders"]

[operations.me]
request = "GET api /me"
doc = "The shop of the key."
"#;

/// A gateway with the connector, whose service answers with this account, and an inbox with a
/// secret. Also returns the path of the inbox.
fn shop(account: Value) -> (Gateway, Upstream, String) {
    let service = Upstream::start();
    service.reply("/api/me", Reply::json(account));
    let home = Setup::new().prepare();
    let file = home.config().with_file_name("connector.toml");
    fs::write(&file, SHOP).unwrap();
    let module = file.with_file_name("shop.wasm");
    home.run_ok(&["connectors", "pack", file.to_str().unwrap(), "--output", module.to_str().unwrap()]);
    let gateway = Setup::new()
        .module("shop", fs::read(&module).unwrap())
        .upstream("shop", "api", &format!("{}/api", service.url()))
        .general(&format!("hooks.public_url = \"{PUBLIC}\""))
        .start();
    let client = gateway.client();
    let key = json!({"auth_type": "api_key", "credentials": {"api_key": "key-of-the-shop-0123456789"}});
    client.post("/connectors/shop/integrations", key).ok();
    let inbox = client.post("/admin/inboxes", json!({"connector": "shop", "inbox": "orders"})).json();
    let id = inbox["id"].as_str().unwrap();
    let added = client.post(&format!("/admin/inboxes/{id}/secrets"), json!({"secret": SECRET}));
    assert_eq!(added.status, 201, "{}", added.text());
    let path = inbox["url"].as_str().unwrap().strip_prefix(PUBLIC).unwrap().to_owned();
    (gateway, service, path)
}

fn trigger(client: &Client) -> Answer {
    client.post("/triggers", json!({"connector": "shop", "type": "order"}))
}

#[test]
fn a_notification_reaches_the_account_of_the_key_that_it_names() {
    let (gateway, _service, path) = shop(json!({"id": "s7"}));
    let client = gateway.client();
    let made = trigger(&client);
    assert_eq!(made.status, 201, "{}", made.text());
    let id = made.json()["id"].as_str().unwrap().to_owned();
    for (event, shop) in [("e1", "s8"), ("e2", "s7")] {
        let body = json!({"id": event, "type": "order", "shop": shop, "order": {"number": event}}).to_string();
        let signature = format!("sha256={}", hmac_hex(SECRET, body.as_bytes()));
        assert_eq!(client.request("POST", &path).header("x-signature", &signature).body(body).send().status, 200);
    }
    let events = wait_for("the event", || {
        let events = client.get(&format!("/triggers/{id}/events")).ok()["events"].take();
        events.as_array().filter(|events| !events.is_empty()).cloned()
    });
    let numbers: Vec<&Value> = events.iter().map(|event| &event["data"]["number"]).collect();
    assert_eq!(numbers, ["e2"], "{events:?}");
}

#[test]
fn an_account_that_no_notification_can_name_gets_no_trigger() {
    let (gateway, _service, _) = shop(json!({"name": "Tea"}));
    let problem = trigger(&gateway.client()).problem(500, "connector-failed");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("`orders`") && detail.contains("`/id`"), "{detail}");
}
