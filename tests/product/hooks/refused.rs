//! Notifications that are not verified, and what their senders learn: nothing.

use std::io::Read;
use std::time::{Duration, Instant};

use serde_json::json;
use support::wire::{answer, connection};

use super::*;

#[test]
fn a_notification_that_is_not_the_services_is_refused_and_the_operator_sees_why() {
    let gateway = gateway("");
    let (inbox, client) = (Inbox::signed(&gateway), gateway.anonymous());
    let body = message("1");
    let unsigned = client.request("POST", &inbox.path).body(body.clone());
    let changed = inbox.push(&client, &body, 0).body(body.replace("message", "massage"));
    for call in [
        inbox.forge(&client, &body),
        unsigned,
        changed,
        inbox.push(&client, &body, -301),
        inbox.push(&client, &body, 330),
        // No one but the service has its secret, also with an API key of the gateway.
        inbox.forge(&gateway.client(), &body),
        inbox.forge(&client, "no JSON"),
        client.request("GET", &inbox.path),
    ] {
        let answer = call.send();
        assert_eq!((answer.status, answer.text().as_str()), (401, "{}"));
    }
    assert_eq!(inbox.push(&client, &body, -290).send().status, 200);
    let records = inbox.records(&gateway, 9);
    let reasons: Vec<&str> = outcomes(&records).into_iter().map(|(_, reason)| reason).collect();
    assert_eq!(
        reasons[..8],
        [
            "wrong-signature",
            "no-signature",
            "wrong-signature",
            "too-old",
            "too-new",
            "wrong-signature",
            "wrong-signature",
            "not-post"
        ]
    );
    let record = &records[0];
    assert_eq!((&record["outcome"], &record["connector"]), (&json!("rejected"), &json!("notified")));
    assert_eq!((&record["bytes"], &record["remote"]), (&json!(body.len()), &json!("127.0.0.1")));
    assert_eq!(records[8]["outcome"], "unattributed", "no account is named `nobody`");
    let shown = gateway.client().get(&format!("/admin/inboxes/{}", inbox.id)).ok();
    assert_eq!((&shown["state"], &shown["rejected_24h"]), (&json!("verified"), &json!(8)));
    assert!(!gateway.lines().concat().contains(SECRET));
}

#[test]
fn an_inbox_without_a_secret_accepts_nothing() {
    let gateway = gateway("");
    let client = gateway.anonymous();
    let inbox = Inbox::of(&gateway, "signed", None);
    assert_eq!(inbox.push(&client, &message("1"), 0).send().status, 401);
    let empty = hmac_hex("", format!("v0:{}:{{}}", at(0)).as_bytes());
    let call = client.request("POST", &inbox.path).header("x-request-timestamp", &at(0).to_string());
    assert_eq!(call.header("x-signature", &format!("v0={empty}")).body("{}").send().status, 401);
    assert_eq!(outcomes(&inbox.records(&gateway, 2)), [("rejected", "no-secret"); 2]);
}

#[test]
fn an_address_that_no_one_has_is_answered_as_one_that_refuses() {
    let gateway = gateway("allowed_origins = [\"https://page.example\"]");
    let (inbox, client) = (Inbox::signed(&gateway), gateway.anonymous());
    let unknown = |method: &str| client.request(method, "/hooks/AAAAAAAAAAAAAAAAAAAAAA");
    let refused = seen(&inbox.forge(&client, "{}").send());
    assert_eq!(refused.2, "{}");
    let with_page = |call: Call| call.header("origin", "https://page.example").header("accept-encoding", "gzip");
    for (what, call) in [
        ("POST", unknown("POST").body("{}")),
        ("GET", unknown("GET")),
        ("PUT", unknown("PUT").body("{}")),
        ("OPTIONS", with_page(unknown("OPTIONS")).header("access-control-request-method", "POST")),
        ("another method at an inbox", client.request("DELETE", &inbox.path)),
        ("a page", with_page(unknown("POST").body("{}"))),
        ("a request id", unknown("POST").header("x-request-id", "echo").body("{}")),
    ] {
        let (status, headers, body) = seen(&call.send());
        assert_eq!((status, &headers, &body), (404, &refused.1, &refused.2), "{what}");
    }
    assert_eq!(seen(&with_page(inbox.forge(&client, "{}")).send()), refused);
    assert_eq!(client.request("HEAD", &inbox.path).send().status, 404);
    // Other paths below are no addresses.
    client.get("/hooks").problem(404, "not-found");
    client.get("/hooks/a/b").problem(404, "not-found");
}

#[test]
fn a_body_over_the_limit_of_the_inbox_is_refused() {
    let gateway = gateway("");
    let (inbox, client) = (Inbox::signed(&gateway), gateway.anonymous());
    let fits = format!("{{\"event_id\": \"{}\"}}", "a".repeat((64 << 10) - 16));
    assert_eq!(fits.len(), 64 << 10);
    assert_eq!(inbox.push(&client, &fits, 0).send().status, 200);
    let over = format!("{fits} ");
    assert_eq!(seen(&inbox.push(&client, &over, 0).send()).0, 413);
    let call = inbox.push(&client, &over, 0).chunked(over.clone());
    assert_eq!(call.send().status, 413, "a length that is not announced counts too");
    let rejected = records(&gateway, &format!("inbox={}&outcome=rejected", inbox.id), 2);
    assert_eq!(outcomes(&rejected), [("rejected", "too-large"); 2]);
    let shown = gateway.client().get(&format!("/admin/inboxes/{}", inbox.id)).ok();
    assert_eq!((&shown["rejected_24h"], &shown["last_rejection"]["reason"]), (&json!(2), &json!("too-large")));
    let series = r#"gateway_hook_requests_total{connector="notified",outcome="rejected"}"#;
    assert_eq!(gateway.metric(series), 2.0);
}

#[test]
fn a_body_that_does_not_come_is_not_waited_for() {
    let gateway = gateway("");
    let inbox = Inbox::signed(&gateway);
    let begun = Instant::now();
    let head = format!("POST {} HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{{", inbox.path);
    let mut stream = connection(&gateway.address(), head.as_bytes());
    let answer = answer(&mut stream);
    assert!(answer.starts_with("HTTP/1.1 408 ") && answer.ends_with("{}"), "{answer}");
    assert!(begun.elapsed() >= Duration::from_secs(5));
    assert_eq!(stream.read(&mut [0; 8]).unwrap_or(0), 0, "the connection is closed");
}

#[test]
fn a_verified_body_that_is_not_understood_is_taken_and_ignored() {
    let gateway = gateway("");
    let (inbox, client) = (Inbox::signed(&gateway), gateway.anonymous());
    let deep = format!("{{\"event_id\": \"1\", \"event\": {}{}}}", "[".repeat(5000), "]".repeat(5000));
    for body in ["no JSON", "a=1&b=2", "{}", "[]", "", &deep, "{\"event_id\": {}}", "\u{0}"] {
        let answer = inbox.push(&client, body, 0).send();
        assert_eq!((answer.status, answer.text().as_str()), (200, ""), "{body:.40}");
    }
    let records = inbox.records(&gateway, 8);
    let expected = ["no-json", "no-json", "no-id", "no-id", "no-id", "too-deep", "no-id", "no-json"];
    assert_eq!(outcomes(&records), expected.map(|reason| ("ignored", reason)));
}

#[test]
fn two_secrets_are_valid_while_the_service_changes_from_one_to_the_other() {
    let gateway = gateway("");
    let (inbox, client) = (Inbox::of(&gateway, "signed", Some("the old one")), gateway.anonymous());
    assert_eq!(inbox.push(&client, "{}", 0).send().status, 401);
    let secrets = format!("/admin/inboxes/{}/secrets", inbox.id);
    assert_eq!(gateway.client().post(&secrets, json!({"secret": SECRET})).status, 201);
    assert_eq!(inbox.push(&client, "{}", 0).send().status, 200);
    let new = gateway.client().get(&format!("/admin/inboxes/{}", inbox.id)).ok()["secrets"][1]["id"].clone();
    assert_eq!(gateway.client().delete(&format!("{secrets}/{}", new.as_str().unwrap())).status, 200);
    assert_eq!(inbox.push(&client, "{}", 0).send().status, 401);
}
