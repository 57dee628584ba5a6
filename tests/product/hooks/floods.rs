//! More requests than a service sends.

use support::wire::{answer, connection};

use super::*;

#[test]
fn requests_to_addresses_that_no_one_has_cost_a_connection_each() {
    let gateway = gateway("");
    let client = gateway.anonymous();
    let answers =
        (0..60).map(|number| client.request("POST", &format!("/hooks/unknown{number}")).body("{}").try_send());
    let (answered, closed): (Vec<_>, Vec<_>) = answers.partition(Result::is_ok);
    assert!(answered.len() >= 20 && answered.iter().all(|answer| answer.as_ref().unwrap().status == 404));
    assert!(!closed.is_empty(), "all {} were answered", answered.len());
    // An inbox does not suffer from it.
    let inbox = Inbox::signed(&gateway);
    assert_eq!(inbox.push(&client, &message("1"), 0).send().status, 200);
}

#[test]
fn a_sender_that_fails_too_often_is_not_read_any_more() {
    let gateway = gateway("trusted_proxies = [\"127.0.0.1\"]");
    let (inbox, client) = (Inbox::signed(&gateway), gateway.anonymous());
    let from = |call: Call, address: &str| call.header("x-forwarded-for", address);
    let mut statuses: Vec<u16> = (0..70).map(|_| from(inbox.forge(&client, "{}"), "192.0.2.1").send().status).collect();
    let last = from(inbox.push(&client, &message("1"), 0), "192.0.2.1").send();
    assert_eq!((last.status, last.text().as_str()), (429, "{}"), "a right one is not read either");
    assert!(!last.header("retry-after").is_empty());
    statuses.dedup();
    assert_eq!(statuses, [401, 429]);
    // The answer comes before the body.
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 192.0.2.1\r\nContent-Length: 60000\r\n\r\n",
        inbox.path
    );
    let unread = answer(&mut connection(&gateway.address(), head.as_bytes()));
    assert!(unread.starts_with("HTTP/1.1 429 "), "{unread}");
    // Another sender, and another inbox, are not affected.
    assert_eq!(from(inbox.push(&client, &message("1"), 0), "192.0.2.2").send().status, 200);
    let other = Inbox::of(&gateway, "challenged", Some(SECRET));
    let call = client.request("POST", &other.path).header("x-event", "ping").body("{}");
    let call = call.header("x-webhooks-signature", &format!("sha256={}", hmac_base64(SECRET, b"{}")));
    assert_eq!(from(call, "192.0.2.1").send().status, 200);
}

#[test]
fn an_inbox_takes_hundreds_at_once_and_callers_are_served_meanwhile() {
    let gateway = gateway("");
    let (inbox, client) = (Inbox::signed(&gateway), gateway.anonymous());
    let body = json!({"type": "url_verification", "challenge": "a"}).to_string();
    for _ in 0..8 {
        let pending: Vec<_> = (0..50).map(|_| inbox.push(&client, &body, 0).begin()).collect();
        gateway.client().get("/connectors").ok();
        for answer in pending.into_iter().map(support::Pending::wait) {
            // Notifications have a tenth of the connections. The service sends the others again.
            assert!(matches!(answer.status, 200 | 503), "{}", answer.status);
        }
    }
}

#[test]
fn notifications_have_a_tenth_of_the_places_of_connections() {
    let gateway = gateway("max_connections = 30");
    let inbox = Inbox::signed(&gateway);
    let head = format!("POST {} HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n", inbox.path);
    let client = gateway.anonymous();
    let (busy, slow) = wait_for("all places to be taken", || {
        // The gateway waits five seconds for them, in which a busy machine may do nothing else.
        let slow: Vec<_> = (0..3).map(|_| connection(&gateway.address(), head.as_bytes())).collect();
        let answer = inbox.push(&client, "{}", 0).send();
        (answer.status == 503).then_some((answer, slow))
    });
    assert_eq!(busy.text(), "{}");
    assert!(!busy.header("retry-after").is_empty());
    gateway.client().get("/connectors").ok();
    drop(slow);
    wait_for("a place to be free", || (inbox.push(&client, "{}", 0).send().status == 200).then_some(()));
}
