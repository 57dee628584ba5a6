//! The store behind notifications: a 2xx means that it has them, at any gateway.

use std::time::{Duration, Instant};

use support::Store;

use super::*;
use crate::fleet::key_of;

#[test]
fn while_the_database_is_away_the_service_is_told_to_come_again() {
    let store = Store::postgres();
    let (proxy, behind) = store.database().behind_proxy();
    let gateway = gateway(&behind);
    let (inbox, client) = (Inbox::signed(&gateway), gateway.anonymous());
    assert_eq!(inbox.push(&client, &message("1"), 0).send().status, 200);
    let refused = |what: &str| {
        let begun = Instant::now();
        let answer = inbox.push(&client, &message("2"), 0).send();
        assert_eq!((answer.status, answer.text().as_str()), (503, "{}"), "{what}");
        assert!(!answer.header("retry-after").is_empty());
        assert!(begun.elapsed() < Duration::from_secs(4), "{what}: {:?}", begun.elapsed());
    };
    proxy.hold();
    refused("the database does not answer");
    proxy.cut();
    refused("the database is not there");
    proxy.restore();
    wait_for("the database", || (inbox.push(&client, &message("2"), 0).send().status == 200).then_some(()));
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
