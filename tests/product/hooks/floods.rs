//! More requests than a service sends.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread::sleep;
use std::time::Duration;

use support::Pending;
use support::wire::{answer, connection};

use super::events::world;
use super::*;

#[test]
fn requests_to_addresses_that_no_one_has_cost_a_connection_each() {
    let gateway = gateway("");
    let client = gateway.anonymous();
    let mut statuses = Vec::new();
    // Ten at the same time: one after the other, a busy machine may not send more than are answered.
    wait_for("a connection to be closed", || {
        let send = |number: usize| client.request("POST", &format!("/hooks/unknown{number}")).body("{}").begin();
        let pending: Vec<Pending> = (0..10).map(send).collect();
        let answers: Vec<_> = pending.into_iter().map(Pending::try_wait).collect();
        statuses.extend(answers.iter().flatten().map(|answer| answer.status));
        answers.iter().any(Result::is_err).then_some(())
    });
    assert!(statuses.len() >= 10 && statuses.iter().all(|status| *status == 404), "{statuses:?}");
    // An inbox does not suffer from it.
    let inbox = Inbox::signed(&gateway);
    assert_eq!(inbox.push(&client, &message("1"), 0).send().status, 200);
}

#[test]
fn a_sender_that_fails_too_often_is_not_read_any_more() {
    let gateway = gateway("trusted_proxies = [\"127.0.0.1\"]");
    let (inbox, client) = (Inbox::signed(&gateway), gateway.anonymous());
    let from = |call: Call, address: &str| call.header("x-forwarded-for", address);
    let forge = || from(inbox.forge(&client, "{}"), "192.0.2.1");
    for _ in 0..30 {
        assert_eq!(forge().send().status, 401);
    }
    // A try returns after two seconds, so several are sent at the same time, until one is refused.
    let fail_too_often = || {
        wait_for("a refusal", || {
            let pending: Vec<Pending> = (0..10).map(|_| forge().begin()).collect();
            let statuses: Vec<u16> = pending.into_iter().map(|call| call.wait().status).collect();
            assert!(statuses.iter().all(|status| [401, 429].contains(status)), "{statuses:?}");
            statuses.contains(&429).then_some(())
        });
    };
    // A right one is not read either.
    let last = wait_for("a right one to be refused", || {
        fail_too_often();
        let right = from(inbox.push(&client, &message("1"), 0), "192.0.2.1").send();
        Some(right).filter(|answer| answer.status != 200)
    });
    assert_eq!((last.status, last.text().as_str()), (429, "{}"));
    assert!(!last.header("retry-after").is_empty());
    // The answer comes before the body.
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 192.0.2.1\r\nContent-Length: 60000\r\n\r\n",
        inbox.path
    );
    let unread = wait_for("an answer before the body", || {
        fail_too_often();
        // The body of a try that has returned is waited for.
        let unread = answer(&mut connection(&gateway.address(), head.as_bytes()));
        Some(unread).filter(|answer| !answer.starts_with("HTTP/1.1 408 "))
    });
    assert!(unread.starts_with("HTTP/1.1 429 "), "{unread}");
    // Another sender, and another inbox, are not affected.
    assert_eq!(from(inbox.push(&client, &message("1"), 0), "192.0.2.2").send().status, 200);
    let other = Inbox::of(&gateway, "challenged", Some(SECRET));
    assert_eq!(from(ping(&other, &client, "{}"), "192.0.2.1").send().status, 200);
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
fn an_inbox_that_gets_more_than_it_takes_refuses_for_a_moment_and_the_operator_sees_it() {
    const SENT: usize = 2400;
    let world = world();
    let (gateway, trigger) = (&world.gateway, world.trigger("post"));
    let (flooded, other) = (Inbox::of(gateway, "challenged", Some(SECRET)), Inbox::signed(gateway));
    let client = gateway.anonymous();
    // Many requests on few connections, so that neither side has much work with each.
    let request = |end: &str| format!("GET {}?crc_token=a HTTP/1.1\r\nHost: x\r\n{end}\r\n", flooded.path);
    let requests = request("").repeat(SENT / 8 - 1) + &request("Connection: close\r\n");
    let answers = wait_for("a refusal", || {
        let sent: Vec<TcpStream> = (0..8).map(|_| connection(&gateway.address(), requests.as_bytes())).collect();
        assert_eq!(other.push(&client, &message("1"), 0).send().status, 200, "another inbox has its own limit");
        let mut answers = String::new();
        for mut stream in sent {
            stream.read_to_string(&mut answers).unwrap();
        }
        Some(answers).filter(|answers| answers.contains("HTTP/1.1 429 "))
    });
    let [all, taken, refused] =
        ["", "200 ", "429 "].map(|status| answers.matches(&format!("HTTP/1.1 {status}")).count());
    assert_eq!((all, taken + refused), (SENT, SENT));
    assert!(answers.contains("\r\nretry-after: 1\r\n"));
    sleep(Duration::from_secs(1));
    assert_eq!(client.get(&format!("{}?crc_token=a", flooded.path)).status, 200);

    let shown = wait_for("all that was refused to be counted", || {
        let shown = gateway.client().get(&format!("/admin/inboxes/{}", flooded.id)).ok();
        (shown["rejected_24h"] == json!(refused)).then_some(shown)
    });
    assert_eq!(shown["last_rejection"]["reason"], "too-many");
    let path = format!("/admin/hook-requests?inbox={}&outcome=rejected", flooded.id);
    let records = gateway.client().get(&path).ok()["hook_requests"].as_array().unwrap().clone();
    let outcomes = outcomes(&records);
    assert!(!outcomes.is_empty() && outcomes.iter().all(|one| *one == ("rejected", "too-many")), "{records:?}");
    world.wait_for_gap(&trigger);
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

/// A notification that says nothing, at an inbox whose bodies may have a mebibyte.
fn ping(inbox: &Inbox, client: &Client, body: &str) -> Call {
    let signature = format!("sha256={}", hmac_base64(SECRET, body.as_bytes()));
    let call = client.request("POST", &inbox.path).header("x-event", "ping").body(body.to_owned());
    call.header("x-webhooks-signature", &signature)
}

#[test]
fn notifications_have_an_eighth_of_the_memory_and_callers_have_the_rest() {
    const LARGEST: usize = 1 << 20;
    let gateway = gateway("memory_mb = 32");
    let inbox = Inbox::of(&gateway, "challenged", Some(SECRET));
    let client = gateway.anonymous();
    let large = format!("\"{}\"", "a".repeat(LARGEST - 2));
    assert_eq!(ping(&inbox, &client, &large).send().status, 200);
    let head = format!("POST {} HTTP/1.1\r\nHost: x\r\nContent-Length: {LARGEST}\r\n\r\n", inbox.path);
    let unfinished = vec![b' '; LARGEST - 1];
    let (answer, slow) = wait_for("a refusal", || {
        // The gateway waits five seconds for the rest, in which a busy machine may do nothing else.
        let slow: Vec<TcpStream> = (0..4)
            .map(|_| {
                let mut stream = connection(&gateway.address(), head.as_bytes());
                // The gateway may refuse the body before it is sent.
                let _ = stream.write_all(&unfinished);
                stream
            })
            .collect();
        let answer = ping(&inbox, &client, &large).try_send().ok()?;
        (answer.status == 503).then_some((answer, slow))
    });
    assert_eq!(answer.text(), "{}");
    assert!(!answer.header("retry-after").is_empty());
    let made = gateway.client().post("/admin/inboxes", json!({"connector": "notified", "inbox": "tokens"}));
    assert_eq!(made.status, 201, "{}", made.text());
    wait_for("the record", || {
        let path = format!("/admin/hook-requests?inbox={}&outcome=rejected&limit=200", inbox.id);
        let records = gateway.client().get(&path).ok();
        records["hook_requests"].as_array()?.iter().any(|record| record["reason"] == "no-memory").then_some(())
    });
    drop(slow);
    wait_for("memory to be free", || {
        ping(&inbox, &client, &large).try_send().ok().filter(|answer| answer.status == 200)
    });
}
