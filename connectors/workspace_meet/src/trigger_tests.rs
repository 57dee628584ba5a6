//! Conferences and transcripts, with prepared responses of Google.

use connector_sdk::testing::{Answer, Gateway, invoke};
use connector_sdk::{Fault, Outcome};
use serde_json::{Value, json};

use crate::CONNECTOR;

fn read(operation: &str, cursor: &Value, limit: u32) -> Value {
    let input = json!({"parameters": {}, "cursor": cursor, "hint": null, "limit": limit});
    match invoke(&CONNECTOR, operation, &input.to_string()) {
        Ok(Outcome::Reply(text)) => serde_json::from_str(&text).expect("JSON"),
        other => panic!("{operation}: {other:?}"),
    }
}

fn ids(reading: &Value) -> Vec<&str> {
    reading["events"].as_array().expect("events").iter().filter_map(|event| event["id"].as_str()).collect()
}

/// Conferences: the last part of their names, and the time of their ends. One without a time has
/// not ended.
fn conferences(records: &[(&str, Option<&str>)]) -> Answer {
    let record = |(name, ended): &(&str, Option<&str>)| {
        let ended = ended.map(|time| format!("2026-01-02T{time}Z"));
        json!({"name": format!("conferenceRecords/{name}"), "endTime": ended})
    };
    Answer::json(200, &json!({"conferenceRecords": records.iter().map(record).collect::<Vec<_>>()}).to_string())
}

fn transcripts(conference: &str, states: &[(&str, &str)]) -> Answer {
    let transcripts: Vec<Value> = states.iter().map(|(name, state)| transcript(conference, name, state)).collect();
    Answer::json(200, &json!({"transcripts": transcripts}).to_string())
}

fn transcript(conference: &str, name: &str, state: &str) -> Value {
    json!({"name": format!("conferenceRecords/{conference}/transcripts/{name}"), "state": state, "endTime": "2026-01-02T03:00:00Z"})
}

fn paths(gateway: &Gateway) -> Vec<String> {
    gateway.requests().iter().map(|request| request.path.clone()).collect()
}

#[test]
fn conferences_that_have_ended_since_the_cursor_are_events() {
    let gateway = Gateway::new()
        .answer(conferences(&[("b", None), ("a", Some("03:00:00"))]))
        .answer(conferences(&[
            ("d", Some("03:00:00")),
            ("c", Some("03:30:00")),
            ("b", Some("03:00:00.5")),
            ("a", Some("03:00:00")),
        ]))
        .answer(conferences(&[("c", Some("03:30:00"))]));
    let first = read("read_conferences", &Value::Null, 10);
    assert_eq!((ids(&first), &first["more"], &first["gap"]), (vec![], &json!(false), &json!(false)));
    let second = read("read_conferences", &first["cursor"], 10);
    assert_eq!(ids(&second), ["conferenceRecords/d", "conferenceRecords/b", "conferenceRecords/c"]);
    assert_eq!(second["events"][1]["time"], "2026-01-02T03:00:00.5Z");
    let third = read("read_conferences", &second["cursor"], 10);
    assert_eq!(ids(&third), Vec::<&str>::new());
    assert_eq!(
        paths(&gateway),
        [
            "/conferenceRecords?pageSize=100",
            "/conferenceRecords?pageSize=100&filter=end_time%3E%3D%222026-01-02T02%3A00%3A00Z%22",
            "/conferenceRecords?pageSize=100&filter=end_time%3E%3D%222026-01-02T02%3A30%3A00Z%22",
        ]
    );
}

#[test]
fn conferences_over_the_limit_follow_in_the_next_read() {
    let all = || conferences(&[("c", Some("03:30:00")), ("b", Some("03:20:00")), ("a", Some("03:20:00"))]);
    let _gateway = Gateway::new().answer(conferences(&[])).answer(all()).answer(all());
    let first = read("read_conferences", &Value::Null, 1);
    let second = read("read_conferences", &first["cursor"], 1);
    assert_eq!((ids(&second), &second["more"]), (vec!["conferenceRecords/b"], &json!(true)));
    let third = read("read_conferences", &second["cursor"], 10);
    assert_eq!(ids(&third), ["conferenceRecords/a", "conferenceRecords/c"]);
}

#[test]
fn a_conference_whose_record_comes_after_the_one_of_a_later_conference_is_an_event_once() {
    let all = || conferences(&[("b", Some("03:31:00")), ("a", Some("03:30:00")), ("0", Some("02:00:00"))]);
    let gateway = Gateway::new()
        .answer(conferences(&[("0", Some("02:00:00"))]))
        .answer(conferences(&[("b", Some("03:31:00"))]))
        .answer(all())
        .answer(all());
    let mut cursor = read("read_conferences", &Value::Null, 10)["cursor"].clone();
    for expected in [vec!["conferenceRecords/b"], vec!["conferenceRecords/a"], vec![]] {
        let reading = read("read_conferences", &cursor, 10);
        assert_eq!(ids(&reading), expected);
        cursor = reading["cursor"].clone();
    }
    assert!(paths(&gateway)[2].ends_with("02%3A31%3A00Z%22"), "an hour: {}", paths(&gateway)[2]);
}

#[test]
fn a_cursor_of_an_earlier_version_goes_on_where_it_was() {
    for (operation, id) in
        [("read_conferences", "conferenceRecords/b"), ("read_transcripts", "conferenceRecords/b/transcripts/t")]
    {
        let gateway = Gateway::new()
            .answer(conferences(&[("b", Some("03:31:00")), ("a", Some("03:30:00"))]))
            .answer(transcripts("b", &[("t", "FILE_GENERATED")]));
        let before = json!({"ended": "2026-01-02T03:30:00Z", "names": ["conferenceRecords/a"], "waiting": []});
        assert_eq!(ids(&read(operation, &before, 10)), [id]);
        assert!(paths(&gateway)[0].ends_with("03%3A30%3A00Z%22"), "{}", paths(&gateway)[0]);
    }
}

#[test]
fn a_cursor_has_room_for_many_conferences_and_the_transcripts_that_are_waited_for() {
    let names: Vec<String> = (0..300).map(|number| format!("{number:036}")).collect();
    let records: Vec<(&str, Option<&str>)> = names.iter().map(|name| (name.as_str(), Some("03:30:00"))).collect();
    let times: Vec<String> = (0..60).map(|second| format!("03:31:{second:02}")).collect();
    let of_an_hour: Vec<(&str, Option<&str>)> =
        names.iter().zip(&times).map(|(name, time)| (name.as_str(), Some(time.as_str()))).collect();
    let waiting: Vec<String> =
        names[..50].iter().map(|name| format!("conferenceRecords/{name}/transcripts/{name}")).collect();
    let mut gateway = Gateway::new();
    for name in &names[..50] {
        gateway = gateway.answer(Answer::json(200, &transcript(name, name, "STARTED").to_string()));
    }
    gateway = gateway.answer(conferences(&of_an_hour));
    for (name, _) in &of_an_hour {
        gateway = gateway.answer(transcripts(name, &[]));
    }
    let before = json!({"ended": "2026-01-02T03:30:00Z", "names": [], "waiting": waiting});
    let second = read("read_transcripts", &before, 10);
    assert_eq!((gateway.requests().len(), &second["cursor"]["waiting"]), (111, &json!(waiting)));
    assert!(second["cursor"].to_string().len() < 8 << 10, "{}", second["cursor"]);
    let _gateway = Gateway::new().answer(conferences(&[])).answer(conferences(&records));
    let first = read("read_conferences", &Value::Null, 300);
    let many = read("read_conferences", &first["cursor"], 300);
    assert_eq!(ids(&many).len(), 300);
    assert!(many["cursor"].to_string().len() < 8 << 10, "{}", many["cursor"]);
}

#[test]
fn a_transcript_is_an_event_once_it_is_ready() {
    let gateway = Gateway::new()
        // The first read waits for the transcripts of conferences that ended a short time ago.
        .answer(conferences(&[("a", Some("03:00:00"))]))
        .answer(transcripts("a", &[("t0", "FILE_GENERATED"), ("t1", "ENDED")]))
        // Nothing is ready, and another conference has ended.
        .answer(Answer::json(200, &transcript("a", "t1", "ENDED").to_string()))
        .answer(conferences(&[("b", Some("03:10:00"))]))
        .answer(transcripts("b", &[("t2", "FILE_GENERATED"), ("t3", "STARTED")]))
        // The records of one conference were deleted.
        .answer(Answer::json(200, &transcript("a", "t1", "FILE_GENERATED").to_string()))
        .answer(Answer::json(404, r#"{"error":{"code":404}}"#))
        .answer(conferences(&[]));
    let first = read("read_transcripts", &Value::Null, 10);
    assert_eq!((ids(&first), &first["more"]), (vec![], &json!(false)));
    let second = read("read_transcripts", &first["cursor"], 10);
    assert_eq!(ids(&second), ["conferenceRecords/b/transcripts/t2"]);
    let third = read("read_transcripts", &second["cursor"], 10);
    assert_eq!(ids(&third), ["conferenceRecords/a/transcripts/t1"]);
    assert_eq!(third["events"][0]["time"], "2026-01-02T03:00:00Z");
    assert_eq!(third["cursor"]["waiting"], json!([]));
    let paths = paths(&gateway);
    assert_eq!(paths[1], "/conferenceRecords/a/transcripts?pageSize=100");
    assert_eq!(paths[2], "/conferenceRecords/a/transcripts/t1");
}

#[test]
fn transcripts_over_the_limit_follow_in_the_next_read() {
    let _gateway = Gateway::new()
        .answer(conferences(&[]))
        .answer(conferences(&[("b", Some("03:10:00")), ("a", Some("03:00:00"))]))
        .answer(transcripts("a", &[("t1", "FILE_GENERATED")]))
        .answer(conferences(&[("b", Some("03:10:00"))]))
        .answer(transcripts("b", &[("t2", "FILE_GENERATED")]));
    let first = read("read_transcripts", &Value::Null, 1);
    let second = read("read_transcripts", &first["cursor"], 1);
    assert_eq!((ids(&second), &second["more"]), (vec!["conferenceRecords/a/transcripts/t1"], &json!(true)));
    let third = read("read_transcripts", &second["cursor"], 1);
    assert_eq!((ids(&third), &third["more"]), (vec!["conferenceRecords/b/transcripts/t2"], &json!(false)));
}

#[test]
fn transcripts_of_very_many_conferences_are_read_in_several_reads() {
    let ended: Vec<(String, String)> =
        (0..100).map(|number| (format!("c{number:03}"), format!("{:02}:{:02}:00", number / 60, number % 60))).collect();
    let records: Vec<(&str, Option<&str>)> =
        ended.iter().map(|(name, time)| (name.as_str(), Some(time.as_str()))).collect();
    let mut gateway = Gateway::new().answer(conferences(&records));
    for (name, _) in &records[..60] {
        gateway = gateway.answer(transcripts(name, &[]));
    }
    gateway = gateway.answer(conferences(&records));
    for (name, _) in &records[60..] {
        gateway = gateway.answer(transcripts(name, &[("t", "FILE_GENERATED")]));
    }
    let before = json!({"ended": "2026-01-01T23:00:00Z", "names": [], "waiting": []});
    let first = read("read_transcripts", &before, 100);
    assert_eq!((gateway.requests().len(), &first["more"]), (61, &json!(true)));
    let second = read("read_transcripts", &first["cursor"], 100);
    assert_eq!((ids(&second).len(), &second["more"]), (40, &json!(false)));
    assert_eq!(ids(&second)[0], "conferenceRecords/c060/transcripts/t");
}

#[test]
fn a_refusal_keeps_its_status() {
    for operation in ["read_conferences", "read_transcripts"] {
        let _gateway = Gateway::new().answer(Answer::json(401, r#"{"error":{"code":401}}"#));
        let fault = invoke(&CONNECTOR, operation, r#"{"parameters":{},"limit":5}"#);
        assert!(matches!(fault, Err(Fault::Upstream(refusal)) if refusal.status == 401));
    }
}
