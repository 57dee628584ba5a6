//! Batches whose items each repeat the secret.

use super::*;
use crate::{Meaning, NotUnderstood};
use contract::trigger_types::Lifecycle;
use serde_json::{Value, json};

/// Notifications of several subscriptions in one body, with a secret in each.
fn batch_inbox() -> Inbox {
    Inbox {
        items: Some("/value".to_owned()),
        id: ["/subscriptionId", "/resourceData/id", "/resourceData/@odata.etag", "/lifecycleEvent"].map(pointer).into(),
        kind: vec![pointer("/lifecycleEvent"), pointer("/changeType")],
        data: "/resourceData".to_owned(),
        lifecycle: vec![
            ("reauthorizationRequired".to_owned(), Lifecycle::Reauthorize),
            ("subscriptionRemoved".to_owned(), Lifecycle::Recreate),
            ("missed".to_owned(), Lifecycle::Read),
        ],
        ..inbox(Check::Token(pointer("/clientState")))
    }
}

fn item(secret: &str, id: &str) -> Value {
    json!({
        "subscriptionId": "s1", "clientState": secret, "changeType": "created",
        "resourceData": { "id": id, "@odata.etag": "W/1" },
    })
}

fn batch(items: &[Value]) -> Request {
    Request::post(json!({ "value": items }).to_string())
}

#[test]
fn a_batch_is_verified_if_one_of_its_items_is() {
    let inbox = batch_inbox();
    let request = batch(&[item("wrong", "a"), item("old", "b"), item("new", "c"), json!({ "id": "d" })]);
    let verified = request.verify(&inbox, &["new", "old"]).unwrap();
    let read = crate::items(&inbox, &request.notification(), &verified);
    let data: Vec<&str> = read.items.iter().map(crate::Item::data).collect();
    assert_eq!(data, [r#"{"id":"b","@odata.etag":"W/1"}"#, r#"{"id":"c","@odata.etag":"W/1"}"#]);
    assert_eq!((read.unverified, read.items[0].kind.as_str()), (2, "created"));
    assert_ne!(read.items[0].key, read.items[1].key);

    assert_eq!(batch(&[item("wrong", "a")]).verify(&inbox, &["new"]), Err(Rejection::WrongToken));
    assert_eq!(batch(&[json!({})]).verify(&inbox, &["new"]), Err(Rejection::NoToken));
    assert_eq!(batch(&[]).verify(&inbox, &["new"]), Err(Rejection::NoToken));
    assert_eq!(request.verify(&inbox, &[]), Err(Rejection::NoSecret));
    for body in ["", "null", "[", r#"{"value": {}}"#, r#"{"value": "x"}"#, r#"{"other": []}"#, "\u{ff}"] {
        assert_eq!(Request::post(body).verify(&inbox, &["new"]), Err(Rejection::NoToken), "{body}");
    }
}

#[test]
fn an_item_about_the_subscription_says_what_to_do() {
    let inbox = batch_inbox();
    let request = batch(&[
        json!({ "subscriptionId": "s1", "clientState": "new", "lifecycleEvent": "missed" }),
        json!({ "subscriptionId": "s1", "clientState": "new", "lifecycleEvent": "reauthorizationRequired" }),
        item("new", "a"),
    ]);
    let verified = request.verify(&inbox, &["new"]).unwrap();
    let read = crate::items(&inbox, &request.notification(), &verified);
    let meanings: Vec<Meaning> = read.items.iter().map(|item| item.meaning).collect();
    let expected = [Meaning::Lifecycle(Lifecycle::Read), Meaning::Lifecycle(Lifecycle::Reauthorize), Meaning::Event];
    assert_eq!(meanings, expected);
    assert_eq!(read.items[0].data(), "null");
}

#[test]
fn the_body_of_an_item_has_no_other_item() {
    let inbox = batch_inbox();
    let bodies = |inbox: &Inbox, request: &Request| {
        let verified = request.verify(inbox, &["new"]).unwrap();
        let read = crate::items(inbox, &request.notification(), &verified);
        read.items.iter().map(crate::Item::body).collect::<Vec<_>>()
    };
    let with = |items: &[&Value]| json!({ "before": 1, "value": items, "after": [2] }).to_string();
    let [one, other] = ["a", "b"].map(|id| item("new", id));
    let both = Request::post(with(&[&one, &other]));
    assert_eq!(bodies(&inbox, &both), [with(&[&one]), with(&[&other])]);
    let whole = Inbox { items: None, ..inbox };
    assert_eq!(bodies(&whole, &Request::post(one.to_string())), [one.to_string()]);
}

#[test]
fn a_huge_batch_is_not_read() {
    let inbox = batch_inbox();
    let items = vec![json!({ "clientState": "new" }); 10_001];
    assert_eq!(batch(&items).verify(&inbox, &["new"]), Err(Rejection::NoToken));
    assert!(batch(&items[..10_000]).verify(&inbox, &["new"]).is_ok());
}

#[test]
fn an_item_without_an_id_is_ignored_and_the_others_are_not() {
    let inbox = batch_inbox();
    let request = batch(&[json!({ "clientState": "new", "changeType": "created" }), item("new", "a")]);
    let verified = request.verify(&inbox, &["new"]).unwrap();
    let read = crate::items(&inbox, &request.notification(), &verified);
    assert_eq!((read.items.len(), read.ignored), (1, vec![NotUnderstood::NoId]));
}

#[test]
fn the_items_of_one_body_have_distinct_keys() {
    let mut inbox = Inbox { id: vec![Place::BodyHash], ..batch_inbox() };
    inbox.checks = vec![Check::Hmac(signed_body())];
    let body = r#"{"value": [{"changeType": "created"}, {"changeType": "created"}]}"#;
    let keys = |request: &Request| {
        let read = crate::items(&inbox, &request.notification(), &verified(&inbox, request));
        read.items.into_iter().map(|item| item.key).collect::<Vec<_>>()
    };
    let first = keys(&signed(body));
    assert_ne!(first[0], first[1]);
    assert_eq!(first, keys(&signed(body)), "a repetition has the same keys");
}
