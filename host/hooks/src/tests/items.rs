//! The notifications in a verified body.

use super::*;
use crate::{Item, Items, Meaning, NotUnderstood};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use contract::trigger_types::AccountKey;

fn read(inbox: &Inbox, request: &Request) -> Items {
    let verified = verified(inbox, request);
    crate::items(inbox, &request.notification(), &verified)
}

fn only(inbox: &Inbox, request: &Request) -> Item {
    let read = read(inbox, request);
    assert_eq!((read.items.len(), read.unverified, read.ignored.len()), (1, 0, 0));
    read.items.into_iter().next().unwrap()
}

fn signed_inbox() -> Inbox {
    inbox(Check::Hmac(signed_body()))
}

#[test]
fn the_kind_is_of_the_parts_that_are_there() {
    let inbox = Inbox {
        id: vec![Place::BodyHash],
        kind: vec![header("x-event"), pointer("/action")],
        ignored: vec!["ping".to_owned()],
        ..signed_inbox()
    };
    let kind = |body: &str, event: &str| {
        let item = only(&inbox, &signed(body).header("x-event", event));
        (item.kind, item.meaning)
    };
    assert_eq!(kind(r#"{"action": "opened"}"#, "issues"), ("issues/opened".to_owned(), Meaning::Event));
    assert_eq!(kind("{}", "push"), ("push".to_owned(), Meaning::Event));
    assert_eq!(kind("{}", "ping"), ("ping".to_owned(), Meaning::Ignored));
    assert_eq!(kind(r#"{"action": {}}"#, "pinged"), ("pinged".to_owned(), Meaning::Event));
    assert_eq!(only(&inbox, &signed("{}")).kind, "");
}

#[test]
fn a_key_is_the_same_for_a_repetition_and_for_nothing_else() {
    let inbox = Inbox { id: vec![pointer("/a"), pointer("/b")], ..signed_inbox() };
    let key = |body: &str| only(&inbox, &signed(body)).key;
    let bodies = [
        r#"{"a": "1"}"#,
        r#"{"b": "1"}"#,
        r#"{"a": "1", "b": "1"}"#,
        r#"{"a": "11"}"#,
        r#"{"a": "1", "b": "2"}"#,
        r#"{"a": "12"}"#,
        r#"{"a": "1", "b": "11"}"#,
        r#"{"a": "11", "b": "1"}"#,
    ];
    let keys: std::collections::BTreeSet<String> = bodies.iter().map(|body| key(body)).collect();
    assert_eq!(keys.len(), bodies.len());
    assert!(keys.iter().all(|key| key.len() == 64));
    assert_eq!(key(r#"{"a": "1", "b": null, "c": 1}"#), key(r#"{"c": 2, "a": "1", "b": ""}"#));
    assert_eq!(key(r#"{"a": 12345678901234567890123}"#), key(r#"{"a": "12345678901234567890123"}"#));
    assert_eq!(read(&inbox, &signed(r#"{"c": "1"}"#)).ignored, [NotUnderstood::NoId]);
}

#[test]
fn the_body_is_the_key_where_the_id_is_not_signed() {
    let inbox = Inbox { id: vec![Place::BodyHash], ..signed_inbox() };
    let key = |body: &str, id: &str| only(&inbox, &signed(body).header("x-delivery", id)).key;
    assert_eq!(key("{}", "1"), key("{}", "2"), "a forged id makes no second event");
    assert_ne!(key("{}", "1"), key("{ }", "1"), "a forged id suppresses no event");
}

#[test]
fn json_in_base64_is_read_as_if_it_were_in_its_place() {
    let inbox = Inbox {
        decode: Some("/message/data".to_owned()),
        id: vec![pointer("/message/messageId")],
        kind: vec![pointer("/message/data/kind")],
        data: "/message/data".to_owned(),
        accounts: vec![AccountKey { place: pointer("/message/data/emailAddress"), account: "/email".to_owned() }],
        ..signed_inbox()
    };
    let data = r#"{"emailAddress":"ann@mail.example","historyId":12,"kind":"?>~"}"#;
    for code in [STANDARD.encode(data), URL_SAFE.encode(data), URL_SAFE.encode(data).replace('=', "")] {
        let item = only(&inbox, &signed(&format!(r#"{{"message": {{"data": "{code}", "messageId": "7"}}, "x": 1}}"#)));
        assert_eq!((item.data(), item.kind.as_str()), (data, "?>~"));
        assert_eq!(item.accounts, Some(vec!["ann@mail.example".to_owned()]));
        assert_eq!(item.text(), format!(r#"{{"message": {{"data": {data}, "messageId": "7"}}, "x": 1}}"#));
    }
    for wrong in ["{}", r#"{"message": {"data": 7}}"#, r#"{"message": {"data": "***"}}"#] {
        assert_eq!(read(&inbox, &signed(wrong)).ignored, [NotUnderstood::NoCode], "{wrong}");
    }
    for (bytes, reason) in [
        (&b"no json"[..], NotUnderstood::NoJson),
        (b"", NotUnderstood::NoJson),
        (b"{}, {}", NotUnderstood::NoJson),
        (b"\"\xff\"", NotUnderstood::NoCode),
    ] {
        let body = format!(r#"{{"message": {{"data": "{}"}}}}"#, STANDARD.encode(bytes));
        assert_eq!(read(&inbox, &signed(&body)).ignored, [reason], "{bytes:?}");
    }
}

#[test]
fn a_body_that_is_not_understood_is_ignored() {
    let inbox = signed_inbox();
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    for (body, reason) in [
        ("a=1&b=2".to_owned(), NotUnderstood::NoJson),
        ("{} {}".to_owned(), NotUnderstood::NoJson),
        (format!(r#"{{"id": 1, "x": {}}}"#, deep(100)), NotUnderstood::TooDeep),
        (deep(1_000_000), NotUnderstood::TooDeep),
        (deep(100), NotUnderstood::NoId),
        ("null".to_owned(), NotUnderstood::NoId),
    ] {
        assert_eq!(read(&inbox, &signed(&body)).ignored, [reason], "{:.40}", body);
    }
    let brackets = format!(r#"{{"id": 1, "x": "\"{}"}}"#, "[".repeat(200));
    assert_eq!(only(&inbox, &signed(&brackets)).text(), brackets, "brackets in a text are no nesting");
    assert_eq!(only(&inbox, &signed("\u{feff} {\"id\": 1} ")).data(), "{\"id\": 1}");
}

#[test]
fn a_body_may_be_empty_if_everything_is_in_headers() {
    let inbox = Inbox {
        id: vec![header("x-channel-id"), header("x-message-number")],
        kind: vec![header("x-resource-state")],
        ignored: vec!["sync".to_owned()],
        ..inbox(Check::Token(header("x-channel-token")))
    };
    let request = |state: &str, number: &str| {
        Request::post("")
            .header("x-channel-token", SECRET)
            .header("x-channel-id", "c1")
            .header("x-message-number", number)
            .header("x-resource-state", state)
    };
    let (sync, change) = (only(&inbox, &request("sync", "1")), only(&inbox, &request("exists", "4")));
    assert_eq!((sync.meaning, change.meaning), (Meaning::Ignored, Meaning::Event));
    assert_eq!((change.data(), change.kind.as_str()), ("null", "exists"));
    assert_ne!(sync.key, change.key);
}

#[test]
fn a_notification_names_its_account_with_every_part_or_not_at_all() {
    let key = |place: &str, account: &str| AccountKey { place: pointer(place), account: account.to_owned() };
    let inbox = Inbox { accounts: vec![key("/team", "/x"), key("/users/0/id", "/y")], ..signed_inbox() };
    let accounts = |body: &str| only(&inbox, &signed(body)).accounts;
    let both = Some(vec!["T1".to_owned(), "7".to_owned()]);
    assert_eq!(accounts(r#"{"id": 1, "team": "T1", "users": [{"id": 7}]}"#), both);
    assert_eq!(accounts(r#"{"id": 1, "team": "T1", "users": []}"#), None);
    assert_eq!(accounts(r#"{"id": 1, "team": "", "users": [{"id": 7}]}"#), None);
    assert_eq!(only(&signed_inbox(), &signed(r#"{"id": 1}"#)).accounts, Some(Vec::new()));
}

#[test]
fn the_time_of_an_event_is_the_services() {
    let inbox = Inbox { time: Some(pointer("/at")), ..signed_inbox() };
    let time = |body: &str| only(&inbox, &signed(body)).time;
    assert_eq!(time(r#"{"id": 1, "at": 1769860800}"#), Some(super::at(NOW)));
    assert_eq!(time(r#"{"id": 1, "at": "2026-01-31T12:00:00Z"}"#), Some(super::at(NOW)));
    assert_eq!(time(r#"{"id": 1, "at": "soon"}"#), None);
    assert_eq!(time(r#"{"id": 1}"#), None);
}

#[test]
fn a_value_of_the_account_has_other_places_only_in_notifications_about_the_subscription() {
    let key = |place: &str, account: &str| AccountKey { place: pointer(place), account: account.to_owned() };
    let inbox = Inbox {
        accounts: vec![key("/for/team", "/team"), key("/for/user", "/user"), key("/team", "/team")],
        ..signed_inbox()
    };
    let of = |body: &str| {
        let item = only(&inbox, &signed(body));
        (item.accounts, item.named)
    };
    let text = |text: &str| Some(text.to_owned());
    let both = vec!["T1".to_owned(), "U1".to_owned()];
    assert_eq!(
        of(r#"{"id": "1", "team": "T2", "for": {"team": "T1", "user": "U1"}}"#),
        (Some(both), vec![text("T1"), text("U1")])
    );
    assert_eq!(of(r#"{"id": "1", "team": "T2"}"#), (None, vec![text("T2"), None]));
    assert_eq!(of(r#"{"id": "1", "team": "T2", "for": {"user": "U1"}}"#), (None, vec![text("T2"), text("U1")]));
}
