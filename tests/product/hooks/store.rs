//! The store behind notifications: a 2xx means that it has them, at any gateway.

use std::io::Write;
use std::thread::sleep;
use std::time::{Duration, Instant};

use support::Store;
use support::wire::{answer, connection};

use super::*;
use crate::fleet::key_of;

#[test]
fn while_the_database_is_away_the_service_is_told_to_come_again() {
    let store = Store::postgres();
    let (proxy, behind) = store.database().behind_proxy();
    let gateway = gateway(&behind);
    let (inbox, client) = (Inbox::signed(&gateway), gateway.anonymous());
    assert_eq!(inbox.push(&client, &message("1"), 0).send().status, 200);
    // On a busy machine, an answer may need more time, but not each one.
    let refused = |what: &str| {
        wait_for(what, || {
            let begun = Instant::now();
            let answer = inbox.push(&client, &message("2"), 0).send();
            assert_eq!((answer.status, answer.text().as_str()), (503, "{}"), "{what}");
            assert!(!answer.header("retry-after").is_empty());
            (begun.elapsed() < Duration::from_secs(4)).then_some(())
        });
    };
    proxy.hold();
    refused("the database does not answer");
    proxy.cut();
    refused("the database is not there");
    proxy.restore();
    wait_for("the database", || (inbox.push(&client, &message("2"), 0).send().status == 200).then_some(()));
}

#[test]
fn a_database_that_stalls_at_the_look_up_and_again_at_storing_has_one_time_for_both() {
    let store = Store::postgres();
    let (proxy, behind) = store.database().behind_proxy();
    let gateway = gateway(&behind);
    let inbox = Inbox::signed(&gateway);
    assert_eq!(inbox.push(&gateway.anonymous(), &message("1"), 0).send().status, 200);
    let (body, time) = (message("2"), at(0).to_string());
    let signature = hmac_hex(SECRET, format!("v0:{time}:{body}").as_bytes());
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: x\r\nX-Request-Timestamp: {time}\r\nX-Signature: v0={signature}\r\nContent-Length: {}\r\n\r\n",
        inbox.path,
        body.len()
    );
    let stall = Duration::from_millis(1400);
    // On a busy machine, an answer may need more time, but not each one.
    let is_in_time = (0..5).any(|_| {
        proxy.hold();
        let mut sent = connection(&gateway.address(), head.as_bytes());
        sleep(stall);
        proxy.restore();
        // The address is found, and the gateway waits for the body.
        sleep(Duration::from_millis(300));
        proxy.hold();
        let begun = Instant::now();
        sent.write_all(body.as_bytes()).unwrap();
        let answered = answer(&mut sent);
        let stalled = stall + begun.elapsed();
        proxy.restore();
        assert!(answered.starts_with("HTTP/1.1 503 "), "{answered}");
        stalled < Duration::from_millis(2600)
    });
    assert!(is_in_time, "the search and the storing have one time together");
}

#[test]
fn an_address_works_at_every_gateway_as_soon_as_it_is_made() {
    let store = Store::postgres();
    let one = setup().on(&store).start();
    let other = setup().on(&store).general(&key_of(&one)).start();
    let inbox = Inbox::signed(&one);
    assert_eq!(inbox.push(&other.anonymous(), &message("1"), 0).send().status, 200);
    assert_eq!(inbox.forge(&other.anonymous(), &message("1")).send().status, 401);
    assert_eq!(one.client().delete(&format!("/admin/inboxes/{}", inbox.id)).status, 200);
    assert_eq!(inbox.push(&other.anonymous(), &message("2"), 0).send().status, 404);
}
