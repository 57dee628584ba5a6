//! Delta queries, with prepared responses of Microsoft Graph.

use connector_sdk::testing::{Answer, Gateway};
use connector_sdk::triggers::{Event, Events, Read, Value};
use connector_sdk::{Document, Fault};

use super::{Delta, hash, query};

const ITEMS: Delta<'_> = Delta { path: "/me/items/delta", first: "$select=id", made: None };

const NEW_ITEMS: Delta<'_> = Delta { made: Some("/made"), ..ITEMS };

fn read_with(delta: &Delta<'_>, cursor: Option<&Value>, limit: u32) -> Result<Events, Fault> {
    let input = Read { parameters: Value("{}".to_owned()), cursor: cursor.cloned(), hint: None, limit };
    delta.read(&input, |item: &Document| Some(Event::new(item.string("/id")?, Value::from(item))))
}

fn read(cursor: Option<&Value>, limit: u32) -> Events {
    read_with(&ITEMS, cursor, limit).expect("events")
}

fn ids(events: &Events) -> Vec<&str> {
    events.events.iter().map(|event| event.id.as_str()).collect()
}

fn page(ids: &[&str], link: &str, query: &str) -> Answer {
    let items: Vec<String> = ids.iter().map(|id| format!(r#"{{"id":"{id}"}}"#)).collect();
    Answer::json(
        200,
        &format!(r#"{{"value":[{}],"@odata.{link}":"https://graph.test/v1.0/x/delta?{query}"}}"#, items.join(",")),
    )
}

fn made(items: &[(&str, &str)], token: &str) -> Answer {
    made_on(items, "deltaLink", token)
}

/// A page of items with the times at which they were made.
fn made_on(items: &[(&str, &str)], link: &str, token: &str) -> Answer {
    let items: Vec<String> = items.iter().map(|(id, time)| format!(r#"{{"id":"{id}","made":"{time}"}}"#)).collect();
    let link = format!(r#""@odata.{link}":"https://graph.test/x?$deltatoken={token}""#);
    Answer::json(200, &format!(r#"{{"value":[{}],{link}}}"#, items.join(",")))
}

fn paths(gateway: &Gateway) -> Vec<String> {
    gateway.requests().iter().map(|request| request.path.clone()).collect()
}

#[test]
fn the_first_list_has_no_events_and_its_token_leads_to_the_changes() {
    let gateway = Gateway::new()
        .answer(page(&["1", "2"], "nextLink", "$skiptoken=a%2Fb"))
        .answer(page(&["3"], "deltaLink", "$deltatoken=d1"))
        .answer(page(&["4", "5"], "nextLink", "$skiptoken=c"))
        .answer(page(&["6"], "deltaLink", "$deltatoken=d2"));
    let first = read(None, 10);
    assert_eq!((ids(&first), first.more, first.gap), (vec![], false, false));
    let second = read(Some(&first.cursor), 10);
    assert_eq!((ids(&second), second.more), (vec!["4", "5"], true));
    let third = read(Some(&second.cursor), 10);
    assert_eq!((ids(&third), third.more), (vec!["6"], false));
    assert_eq!(
        paths(&gateway),
        ["$select=id", "$skiptoken=a%2Fb", "$deltatoken=d1", "$skiptoken=c"]
            .map(|query| format!("/me/items/delta?{query}"))
    );
    let sent: Vec<_> = gateway.requests().iter().map(|request| request.headers[0].1.clone()).collect();
    assert_eq!(sent, [500, 500, 10, 10].map(|size| format!("odata.maxpagesize={size}")));
}

#[test]
fn a_long_first_list_goes_on_in_the_next_read() {
    let mut gateway = Gateway::new();
    for number in 1..=40 {
        gateway = gateway.answer(page(&["1"], "nextLink", &format!("$skiptoken={number}")));
    }
    let gateway = gateway.answer(page(&["2"], "deltaLink", "$deltatoken=d1"));
    let first = read(None, 10);
    assert_eq!((ids(&first), first.more), (vec![], true));
    let second = read(Some(&first.cursor), 10);
    assert_eq!((ids(&second), second.more), (vec![], false));
    assert_eq!(paths(&gateway)[40], "/me/items/delta?$skiptoken=40");
}

#[test]
fn events_of_a_page_over_the_limit_follow_in_the_next_read() {
    let changes = || page(&["1", "2", "3"], "deltaLink", "$deltatoken=d2");
    let _gateway = Gateway::new().answer(page(&[], "deltaLink", "$deltatoken=d1")).answer(changes()).answer(
        // The order of a page may differ.
        page(&["3", "2", "1"], "deltaLink", "$deltatoken=d2"),
    );
    let first = read(None, 2);
    let second = read(Some(&first.cursor), 2);
    assert_eq!((ids(&second), second.more), (vec!["1", "2"], true));
    let third = read(Some(&second.cursor), 2);
    assert_eq!((ids(&third), third.more), (vec!["3"], false));
}

#[test]
fn a_token_that_is_too_old_is_a_gap_and_the_next_read_goes_on_from_now() {
    for (status, code) in [(410, "resyncRequired"), (400, "SyncStateNotFound"), (410, "anything")] {
        let _gateway = Gateway::new()
            .answer(page(&[], "deltaLink", "$deltatoken=d1"))
            .answer(Answer::json(status, &format!(r#"{{"error":{{"code":"{code}"}}}}"#)))
            .answer(page(&["1"], "deltaLink", "$deltatoken=d9"))
            .answer(page(&["2"], "deltaLink", "$deltatoken=d10"));
        let first = read(None, 10);
        let second = read(Some(&first.cursor), 10);
        assert_eq!((ids(&second), second.gap, second.more), (vec![], true, false), "{code}");
        assert_eq!(ids(&read(Some(&second.cursor), 10)), ["2"]);
    }
}

#[test]
fn a_round_whose_token_of_a_page_has_ended_begins_anew() {
    let gateway = Gateway::new()
        .answer(page(&[], "deltaLink", "$deltatoken=d1"))
        .answer(page(&["1"], "nextLink", "$skiptoken=a"))
        .answer(page(&["2"], "nextLink", "$skiptoken=b"))
        .answer(Answer::json(400, r#"{"error":{"code":"BadRequest"}}"#))
        .answer(page(&["1"], "nextLink", "$skiptoken=c"));
    let mut cursor = read(None, 10).cursor;
    for expected in [&["1"][..], &["2"], &[], &["1"]] {
        let events = read(Some(&cursor), 10);
        assert_eq!((ids(&events), events.more, events.gap), (expected.to_vec(), true, false));
        cursor = events.cursor;
    }
    assert_eq!(paths(&gateway)[4], "/me/items/delta?$deltatoken=d1");
}

#[test]
fn a_round_that_microsoft_refuses_from_its_beginning_is_refused() {
    let refusal = || Answer::json(400, r#"{"error":{"code":"BadRequest"}}"#);
    let _gateway = Gateway::new()
        .answer(page(&[], "deltaLink", "$deltatoken=d1"))
        .answer(page(&["1"], "nextLink", "$skiptoken=a"))
        .answer(refusal())
        .answer(refusal());
    let first = read(None, 10);
    let second = read(Some(&first.cursor), 10);
    let again = read(Some(&second.cursor), 10);
    let refused = read_with(&ITEMS, Some(&again.cursor), 10);
    assert!(matches!(refused, Err(Fault::Upstream(refusal)) if refusal.status == 400));
}

#[test]
fn a_refusal_keeps_its_status() {
    let _gateway = Gateway::new()
        .answer(page(&[], "deltaLink", "$deltatoken=d1"))
        .answer(Answer::json(404, r#"{"error":{"code":"ErrorItemNotFound"}}"#));
    let cursor = read(None, 10).cursor;
    let refused = read_with(&ITEMS, Some(&cursor), 10);
    assert!(matches!(refused, Err(Fault::Upstream(refusal)) if refusal.status == 404));
}

/// Items of which those in `removed` were removed.
fn changes(there: &[&str], removed: &[&str], token: &str) -> Answer {
    let there = there.iter().map(|id| format!(r#"{{"id":"{id}"}}"#));
    let removed = removed.iter().map(|id| format!(r#"{{"id":"{id}","@removed":{{"reason":"deleted"}}}}"#));
    let items: Vec<String> = there.chain(removed).collect();
    let link = format!("https://graph.test/x?$deltatoken={token}");
    Answer::json(200, &format!(r#"{{"value":[{}],"@odata.deltaLink":"{link}"}}"#, items.join(",")))
}

#[test]
fn an_item_that_comes_back_and_is_removed_once_more_is_another_event() {
    let _gateway = Gateway::new()
        .answer(changes(&[], &[], "d1"))
        .answer(changes(&[], &["1", "2"], "d2"))
        // Microsoft may tell a change again.
        .answer(changes(&["2"], &["1"], "d3"))
        .answer(changes(&[], &["1", "2"], "d4"));
    let first = read(None, 10);
    let second = read(Some(&first.cursor), 10);
    let began = |token: &str| hash(&format!("$deltatoken={token}"));
    assert_eq!(ids(&second), ["1", "2"].map(|id| format!("{id}/{}", began("d1"))));
    let third = read(Some(&second.cursor), 10);
    assert_eq!(ids(&third), ["2"]);
    let fourth = read(Some(&third.cursor), 10);
    assert_eq!(ids(&fourth), [format!("2/{}", began("d3"))]);
}

#[test]
fn an_item_that_was_removed_is_the_same_event_when_its_page_is_read_again() {
    let _gateway = Gateway::new()
        .answer(changes(&[], &[], "d1"))
        .answer(changes(&[], &["1", "2", "3"], "d2"))
        .answer(changes(&[], &["1", "2", "3"], "d2"))
        .answer(changes(&[], &["1", "2", "3"], "d2"));
    let first = read(None, 2);
    let (second, again) = (read(Some(&first.cursor), 2), read(Some(&first.cursor), 2));
    assert_eq!((ids(&second), second.more), (ids(&again), true));
    let third = read(Some(&second.cursor), 2);
    assert_eq!((ids(&third).len(), third.more), (1, false), "the limit has left one");
    assert!(ids(&third)[0].starts_with("3/"), "{:?}", ids(&third));
}

#[test]
fn a_cursor_forgets_the_items_that_went_first() {
    let removed: Vec<String> = (0..70).map(|number| number.to_string()).collect();
    let removed: Vec<&str> = removed.iter().map(String::as_str).collect();
    let last = changes(&[], &["6", "5"], "d3");
    let _gateway = Gateway::new().answer(changes(&[], &[], "d1")).answer(changes(&[], &removed, "d2")).answer(last);
    let first = read(None, 100);
    let second = read(Some(&first.cursor), 100);
    assert_eq!(ids(&second).len(), 70);
    assert!(second.cursor.0.len() < 2_000, "{}", second.cursor.0);
    let third = read(Some(&second.cursor), 100);
    assert_eq!(ids(&third), [format!("5/{}", hash("$deltatoken=d2"))], "`6` is among the last 64");
}

#[test]
fn an_item_that_only_changed_is_no_new_item() {
    let _gateway = Gateway::new()
        .answer(made(&[("1", "2026-01-01T00:00:00Z"), ("2", "2026-01-01T00:00:00.5Z")], "d1"))
        .answer(made(&[("1", "2026-01-01T00:00:00Z"), ("3", "2026-01-01T00:00:00.51Z")], "d2"))
        .answer(made(&[("3", "2026-01-01T00:00:00.51Z")], "d3"));
    let first = read_with(&NEW_ITEMS, None, 10).expect("events");
    let second = read_with(&NEW_ITEMS, Some(&first.cursor), 10).expect("events");
    assert_eq!(ids(&second), ["3"]);
    let third = read_with(&NEW_ITEMS, Some(&second.cursor), 10).expect("events");
    assert_eq!(ids(&third), Vec::<&str>::new());
}

#[test]
fn an_item_that_is_listed_after_a_later_one_or_has_its_time_is_an_event_once() {
    let late = ("2", "2026-01-01T00:09:59.9Z");
    let same = ("4", "2026-01-01T00:10:00Z");
    let _gateway = Gateway::new()
        .answer(made(&[("1", "2026-01-01T00:00:00Z")], "d1"))
        .answer(made(&[("3", "2026-01-01T00:10:00Z")], "d2"))
        .answer(made(&[late, same, ("3", "2026-01-01T00:10:00Z"), ("1", "2026-01-01T00:00:00Z")], "d3"))
        .answer(made(&[late, same], "d4"));
    let mut cursor = read_with(&NEW_ITEMS, None, 10).expect("events").cursor;
    for expected in [&["3"][..], &["2", "4"], &[]] {
        let events = read_with(&NEW_ITEMS, Some(&cursor), 10).expect("events");
        assert_eq!(ids(&events), expected);
        cursor = events.cursor;
    }
}

#[test]
fn a_later_page_of_a_round_may_have_much_older_items() {
    let _gateway = Gateway::new()
        .answer(made(&[("1", "2026-01-01T00:00:00Z")], "d1"))
        .answer(made_on(&[("3", "2026-01-01T09:00:00Z")], "nextLink", "p2"))
        .answer(made(&[("2", "2026-01-01T05:00:00Z"), ("1", "2026-01-01T00:00:00Z")], "d2"));
    let first = read_with(&NEW_ITEMS, None, 10).expect("events");
    let second = read_with(&NEW_ITEMS, Some(&first.cursor), 10).expect("events");
    assert_eq!((ids(&second), second.more), (vec!["3"], true));
    let third = read_with(&NEW_ITEMS, Some(&second.cursor), 10).expect("events");
    assert_eq!((ids(&third), third.more), (vec!["2"], false));
}

#[test]
fn a_cursor_of_many_items_is_not_too_long() {
    let items: Vec<(String, String)> = (0..500)
        .map(|number| (format!("1616990032{number:03}"), format!("2026-01-01T00:00:00.{number:03}Z")))
        .collect();
    let items: Vec<(&str, &str)> = items.iter().map(|(id, time)| (id.as_str(), time.as_str())).collect();
    let _gateway = Gateway::new().answer(made(&[], "d1")).answer(made(&items, "d2")).answer(made(&items, "d3"));
    let first = read_with(&NEW_ITEMS, None, 500).expect("events");
    let second = read_with(&NEW_ITEMS, Some(&first.cursor), 500).expect("events");
    assert_eq!(ids(&second).len(), 500);
    assert!(second.cursor.0.len() < 5_000, "{}", second.cursor.0);
    assert_eq!(ids(&read_with(&NEW_ITEMS, Some(&second.cursor), 500).expect("events")), Vec::<&str>::new());
}

#[test]
fn a_cursor_of_an_earlier_version_goes_on_where_it_was() {
    let cursor = r#"{"query":"$deltatoken=d1","is_first":false,"round":null,"answered":"","gone":"","before":"2026-01-01T00:10:00","newest":"2026-01-01T00:10:00"}"#;
    let _gateway = Gateway::new().answer(made(&[("1", "2026-01-01T00:10:00Z"), ("2", "2026-01-01T00:10:00.1Z")], "d2"));
    let events = read_with(&NEW_ITEMS, Some(&Value(cursor.to_owned())), 10).expect("events");
    assert_eq!(ids(&events), ["2"]);
}

#[test]
fn a_link_has_the_token_in_its_query_or_in_its_path() {
    for (link, expected) in [
        ("https://graph.test/v1.0/me/drive/root/delta?token=1a", Some("token=1a")),
        ("https://graph.test/v1.0/me/drive/root/delta(token='Mz%3B')?$top=5", Some("token=Mz%3B")),
        ("https://graph.test/v1.0/me/drive/delta(token=1230919asd190410jlka)", Some("token=1230919asd190410jlka")),
        ("https://graph.test/v1.0/me/drive/root/delta?(token='1a')", Some("token=1a")),
        ("https://graph.test/v1.0/x/delta?$deltatoken=a%2Fb&$top=5", Some("$deltatoken=a%2Fb&$top=5")),
        ("https://graph.test/v1.0/x/delta?$top=5", None),
        ("https://graph.test/v1.0/x/delta", None),
    ] {
        assert_eq!(query(link).as_deref(), expected, "{link}");
    }
    assert_eq!(hash(""), "cbf29ce484222325");
}
