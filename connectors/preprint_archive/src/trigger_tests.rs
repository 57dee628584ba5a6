//! New papers, with prepared responses of arXiv.

use connector_sdk::testing::{Answer, Gateway, invoke};
use connector_sdk::{Fault, Outcome};
use serde_json::{Value, json};

use crate::CONNECTOR;

/// A page of a list of `total` papers. Each paper is its id and the day of its submission.
fn feed(total: usize, papers: &[(&str, u32)]) -> Answer {
    let entries: String = papers
        .iter()
        .map(|(id, day)| {
            format!(
                "<entry><id>http://arxiv.org/abs/{id}</id><title>T {id}</title><published>2026-01-{day:02}T00:00:00Z</published></entry>"
            )
        })
        .collect();
    Answer::new(
        200,
        format!(
            r#"<feed xmlns="http://www.w3.org/2005/Atom" xmlns:o="http://a9.com/-/spec/opensearch/1.1/"><o:totalResults>{total}</o:totalResults>{entries}</feed>"#
        ),
    )
}

fn reading(cursor: &Value, limit: usize) -> Value {
    let input = json!({"parameters": {"category": "cs.LG"}, "cursor": cursor, "hint": null, "limit": limit});
    match invoke(&CONNECTOR, "read_new_papers", &input.to_string()) {
        Ok(Outcome::Reply(text)) => serde_json::from_str(&text).expect("JSON"),
        other => panic!("{other:?}"),
    }
}

fn ids(reading: &Value) -> Vec<&str> {
    reading["events"].as_array().expect("events").iter().filter_map(|event| event["id"].as_str()).collect()
}

#[test]
fn the_first_read_has_no_events_and_later_ones_have_the_new_papers_with_the_oldest_first() {
    let gateway = Gateway::new()
        .answer(feed(900, &[("2601.00002v1", 5), ("2601.00001v1", 4)]))
        .answer(feed(902, &[("2601.00004v1", 7), ("2601.00003v2", 6), ("2601.00002v1", 5), ("2601.00001v3", 4)]))
        .answer(feed(902, &[("2601.00004v1", 7), ("2601.00003v2", 6), ("2601.00002v1", 5), ("2601.00001v3", 4)]));
    let first = reading(&Value::Null, 10);
    assert_eq!((ids(&first), &first["more"], &first["gap"]), (vec![], &json!(false), &json!(false)));
    let second = reading(&first["cursor"], 10);
    assert_eq!(ids(&second), ["2601.00003v2", "2601.00004v1"]);
    assert_eq!(second["events"][0]["time"], "2026-01-06T00:00:00Z");
    assert_eq!(second["events"][0]["data"]["base_id"], "2601.00003");
    assert_eq!(ids(&reading(&second["cursor"], 10)), Vec::<&str>::new());
    assert_eq!(
        gateway.requests()[1].path,
        "/query?search_query=%28cat%3Acs.LG%29&start=0&max_results=500&sortBy=submittedDate&sortOrder=descending"
    );
}

#[test]
fn a_paper_that_appears_among_older_ones_is_new() {
    let _gateway = Gateway::new()
        .answer(feed(900, &[("2601.00003v1", 9), ("2601.00001v1", 3)]))
        .answer(feed(901, &[("2601.00003v1", 9), ("2601.00002v1", 5), ("2601.00001v1", 3), ("2512.00001v1", 1)]));
    let first = reading(&Value::Null, 10);
    let second = reading(&first["cursor"], 10);
    assert_eq!(ids(&second), ["2601.00002v1"], "and the last one was in the list before");
}

#[test]
fn papers_over_the_limit_follow_in_the_next_read() {
    let list = || feed(4, &[("2601.00004v1", 7), ("2601.00003v1", 6), ("2601.00002v1", 5), ("2601.00001v1", 4)]);
    let _gateway = Gateway::new().answer(feed(1, &[("2601.00001v1", 4)])).answer(list()).answer(list());
    let first = reading(&Value::Null, 2);
    let second = reading(&first["cursor"], 2);
    assert_eq!((ids(&second), &second["more"]), (vec!["2601.00002v1", "2601.00003v1"], &json!(true)));
    let third = reading(&second["cursor"], 2);
    assert_eq!((ids(&third), &third["more"]), (vec!["2601.00004v1"], &json!(false)));
}

#[test]
fn a_list_that_does_not_reach_back_to_a_known_paper_has_a_gap() {
    let pages: Vec<Answer> = (0..4).map(|page| feed(5000, &[(&format!("2602.0000{page}v1"), 28)])).collect();
    let mut gateway = Gateway::new().answer(feed(900, &[("2601.00001v1", 4)]));
    for page in pages {
        gateway = gateway.answer(page);
    }
    let first = reading(&Value::Null, 10);
    let second = reading(&first["cursor"], 10);
    assert_eq!((ids(&second).len(), &second["gap"]), (4, &json!(true)));
    assert_eq!(gateway.requests().len(), 5);
}

#[test]
fn a_cursor_has_at_most_8_kib() {
    let ids: Vec<String> = (0..500).map(|number| format!("astro-ph.CO/{number:07}v1")).collect();
    let papers: Vec<(&str, u32)> = ids.iter().map(|id| (id.as_str(), 4)).collect();
    let _gateway = Gateway::new().answer(feed(500, &papers));
    let first = reading(&Value::Null, 10);
    assert!(first["cursor"].to_string().len() < 8 << 10);
    assert_eq!(first["cursor"]["oldest"], "2026-01-04T00:00:00Z");
}

#[test]
fn parameters_without_a_criterion_are_refused() {
    let fault = invoke(&CONNECTOR, "read_new_papers", r#"{"parameters":{},"limit":10}"#).expect_err("a fault");
    assert!(matches!(fault, Fault::InvalidInput(violations) if violations[0].pointer == "/parameters"));
}
