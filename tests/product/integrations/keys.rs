//! Connectors whose users bring an API key of the service. The key is tried before it is stored,
//! and goes where the manifest says.

use serde_json::{Value, json};
use support::{Gateway, Reply, Seen, Setup, Store, Upstream, module};

use super::{on_each_store, who};

on_each_store!(a_key_is_tried_stored_and_used);

const GOOD: &str = "key-of-the-user-0123456789+/==";

/// A service that accepts one key in any place, and returns the place.
fn service() -> Upstream {
    let service = Upstream::start();
    service.on("*", |seen| match place(seen) {
        Some(place) => Reply::json(json!({"id": "42", "email": "ada@example.com", "name": "Ada", "place": place})),
        None => Reply::json(json!({"error": "bad key"})).status(401),
    });
    service
}

fn place(seen: &Seen) -> Option<&'static str> {
    use base64::Engine;
    let basic = base64::engine::general_purpose::STANDARD.encode(format!("ada:{GOOD}"));
    if seen.header("x-api-key") == format!("Key {GOOD}") {
        return Some("header");
    }
    if seen.parameter("api_key").as_deref() == Some(GOOD) {
        return Some("query");
    }
    (seen.header("authorization") == format!("Basic {basic}")).then_some("basic")
}

fn gateway(store: &Store, service: &Upstream, placement: &str) -> Gateway {
    let document = json!({"identifier": "account", "auth": "api_key", "placement": placement, "check": "whoami"});
    // All log lines, so that a line with a key is found.
    let setup = Setup::new().on(store).general("log = \"trace\"").module("account", module::account(&document));
    setup.upstream("account", "api", &service.url()).config(&format!("upstreams.other = \"{}\"", service.url())).start()
}

fn with_credentials(credentials: Value) -> Value {
    json!({"auth_type": "api_key", "credentials": credentials, "user_identifier": "mine"})
}

fn credentials(placement: &str, secret: &str) -> Value {
    match placement {
        "basic" => json!({"username": "ada", "password": secret}),
        _ => json!({"api_key": secret}),
    }
}

fn a_key_is_tried_stored_and_used(store: &Store) {
    try_keep_and_use(store, "header");
}

#[test]
fn a_key_goes_where_the_manifest_says() {
    for placement in ["query", "basic"] {
        try_keep_and_use(&Store::Sqlite, placement);
    }
}

fn try_keep_and_use(store: &Store, placement: &str) {
    let service = service();
    let gateway = gateway(store, &service, placement);
    let client = gateway.client();
    let post = |secret: &str| {
        client.post("/connectors/account/integrations", with_credentials(credentials(placement, secret)))
    };
    let refused = post("not-the-key-0123456789");
    assert_eq!(refused.violations()[0].0, "/credentials");
    assert!(!refused.text().contains("not-the-key"), "{}", refused.text());
    assert_eq!(
        client.get("/integrations").ok(),
        json!({"integrations": [], "next_cursor": null}),
        "nothing was stored"
    );
    let connected = post(GOOD);
    let record = connected.ok();
    assert_eq!((&record["auth_type"], &record["status"]), (&json!("api_key"), &json!("active")));
    assert_eq!((&record["user_identifier"], &record["expires_at"]), (&json!("mine"), &Value::Null));
    assert!(!connected.text().contains(GOOD));
    assert_eq!(who(&client).ok()["place"], placement);
    assert_eq!(client.call("account/composed", json!({"path": "/x?a=1"})).ok()["status"], 200);
    assert_eq!(client.delete("/connectors/account/integrations/mine").ok(), json!({"deleted": true, "revoked": false}));
    assert!(gateway.lines().iter().all(|line| !line.contains(GOOD)));
}

#[test]
fn a_key_that_the_service_cannot_check_is_not_stored() {
    let service = service();
    let gateway = gateway(&Store::Sqlite, &service, "header");
    service.reply("/me", Reply::empty(503));
    let answer =
        gateway.client().post("/connectors/account/integrations", with_credentials(credentials("header", GOOD)));
    answer.problem(502, "upstream-failed");
    assert_eq!(gateway.client().get("/integrations").ok(), json!({"integrations": [], "next_cursor": null}));
}

#[test]
fn a_key_that_the_service_no_longer_accepts_is_reported() {
    let service = service();
    let gateway = gateway(&Store::Sqlite, &service, "header");
    gateway.client().post("/connectors/account/integrations", with_credentials(credentials("header", GOOD))).ok();
    service.reply("/me", Reply::json(json!({"error": "revoked"})).status(401));
    let problem = who(&gateway.client()).problem(401, "upstream-rejected");
    assert_eq!(problem["upstream"], json!({"status": 401, "body": {"error": "revoked"}}));
    assert_eq!(service.seen().iter().filter(|seen| seen.path == "/me").count(), 2, "it is not tried again");
}

#[test]
fn the_required_kind_of_key_is_described_and_checked() {
    let service = service();
    for (placement, wanted) in [("header", "api_key"), ("query", "api_key"), ("basic", "username")] {
        let gateway = gateway(&Store::Sqlite, &service, placement);
        let schema = gateway.client().get("/connectors/account/auth-schema").ok();
        let way = &schema["auth_types"][0];
        assert_eq!(way["auth_type"], "api_key");
        assert_eq!(way["schema"]["properties"]["credentials"]["required"], json!([wanted]));
        let post = |body: Value| gateway.client().post("/connectors/account/integrations", body).violations();
        assert!(!post(json!({"auth_type": "api_key"})).is_empty());
        assert_eq!(
            post(with_credentials(json!({"key": "x"})))
                .iter()
                .filter(|(pointer, _)| pointer.starts_with("/credentials"))
                .count(),
            2
        );
        assert!(!post(json!({"auth_type": "oauth2", "callback_url": crate::integrations::DONE})).is_empty());
    }
}

#[test]
fn a_key_with_a_line_break_adds_no_header() {
    let service = service();
    let gateway = gateway(&Store::Sqlite, &service, "header");
    let smuggled = credentials("header", "key-0123456789\r\nX-Api-Key: Key other");
    let answer = gateway.client().post("/connectors/account/integrations", with_credentials(smuggled));
    assert_eq!(answer.violations()[0].0, "/credentials");
    assert!(service.seen().is_empty());
}

#[test]
fn a_key_that_is_too_short_to_be_masked_is_not_stored() {
    let service = service();
    for (placement, credentials, pointer) in [
        ("header", json!({"api_key": "1234567"}), "/credentials/api_key"),
        ("basic", json!({"username": "ada", "password": "1234567"}), "/credentials/password"),
        ("basic", json!({"username": "ada"}), "/credentials/username"),
    ] {
        let gateway = gateway(&Store::Sqlite, &service, placement);
        let answer = gateway.client().post("/connectors/account/integrations", with_credentials(credentials));
        let violations = answer.violations();
        assert_eq!((violations.len(), violations[0].0.as_str()), (1, pointer), "{violations:?}");
        assert!(violations[0].1.contains("at least 8"), "{violations:?}");
        assert_eq!(gateway.client().get("/integrations").ok()["integrations"], json!([]));
    }
    assert!(service.seen().is_empty(), "a short key is not even tried");
}
