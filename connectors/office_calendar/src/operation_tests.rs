//! The request of each row. The crate `connector-microsoft` has the test of `userinfo`.

use connector_sdk::Fault;
use connector_sdk::http::Body;
use connector_sdk::testing::{forwarded, invoke};

use crate::CONNECTOR;

fn path(operation: &str, input: &str) -> String {
    forwarded(&CONNECTOR, operation, input).path
}

fn body(operation: &str, input: &str) -> String {
    match forwarded(&CONNECTOR, operation, input).body {
        Some(Body::Json(text)) => text,
        other => panic!("{operation}: {other:?}"),
    }
}

/// Pointer of the first violation.
fn refused(operation: &str, input: &str) -> String {
    match invoke(&CONNECTOR, operation, input) {
        Err(Fault::InvalidInput(violations)) => violations[0].pointer.clone(),
        other => panic!("{operation} {input}: {other:?}"),
    }
}

#[test]
fn a_list_is_narrowed_and_paged_by_its_query() {
    let input = r#"{"query":{"$select":["id","subject"],"$filter":"subject eq 'Q&A'","$orderby":"start/dateTime desc","$top":5,"$skip":10,"$skiptoken":"a+b="}}"#;
    assert_eq!(
        path("list_events", input),
        "/me/events?$select=id,subject&$filter=subject%20eq%20%27Q%26A%27&$orderby=start%2FdateTime%20desc&$top=5&$skip=10&$skiptoken=a%2Bb%3D"
    );
    let input = r#"{"start_date_time":"2026-03-01T00:00:00+01:00","end_date_time":"2026-03-02T00:00:00+01:00","query":{"$top":100}}"#;
    assert_eq!(
        path("list_events_in_time_range", input),
        "/me/calendarView?startDateTime=2026-03-01T00%3A00%3A00%2B01%3A00&endDateTime=2026-03-02T00%3A00%3A00%2B01%3A00&$top=100"
    );
    assert_eq!(
        path("get_event", r#"{"event_id":"e","query":{"$expand":"extensions"}}"#),
        "/me/events/e?$expand=extensions"
    );
}

#[test]
fn a_search_and_a_count_ask_for_eventual_consistency() {
    let eventual = ("ConsistencyLevel".to_owned(), "eventual".to_owned());
    let prefer = ("Prefer".to_owned(), "outlook.body-content-type=\"text\"".to_owned());
    for (query, expected) in [
        (r#"{"$search":"\"kick-off\""}"#, vec![eventual.clone(), prefer.clone()]),
        (r#"{"$count":true}"#, vec![eventual.clone(), prefer.clone()]),
        (r#"{"$count":"true"}"#, vec![eventual, prefer.clone()]),
        (r#"{"$count":false}"#, vec![prefer.clone()]),
        (r#"{"$top":1}"#, vec![prefer]),
    ] {
        let input = format!(r#"{{"query":{query},"headers":{{"Prefer":"outlook.body-content-type=\"text\""}}}}"#);
        assert_eq!(forwarded(&CONNECTOR, "list_events", &input).headers, expected, "{query}");
    }
}

#[test]
fn an_answer_to_an_invitation_is_sent_unless_the_caller_says_no() {
    assert_eq!(body("accept_event", r#"{"event_id":"e"}"#), r#"{"sendResponse":true}"#);
    let slot = r#"{"start":{"dateTime":"2026-03-03T10:00:00","timeZone":"UTC"},"end":{"dateTime":"2026-03-03T11:00:00","timeZone":"UTC"}}"#;
    assert_eq!(
        body("decline_event", &format!(r#"{{"event_id":"e","send_response":false,"proposed_new_time":{slot}}}"#)),
        format!(r#"{{"sendResponse":false,"proposedNewTime":{slot}}}"#)
    );
    assert_eq!(body("cancel_event", r#"{"event_id":"e"}"#), "{}");
}

#[test]
fn a_schedule_has_an_interval_only_if_the_caller_gives_one() {
    let input = r#"{"schedules":["kim@example.com"],"start_time":{"dateTime":"a"},"end_time":{"dateTime":"b"},"availability_view_interval":5.0}"#;
    assert!(body("get_schedule", input).ends_with(r#","availabilityViewInterval":5.0}"#));
}

#[test]
fn an_update_of_a_calendar_changes_something() {
    for input in
        [r#"{"calendar_id":"c"}"#, r#"{"calendar_id":"c","name":null,"color":null,"is_default_calendar":null}"#]
    {
        assert_eq!(refused("update_calendar", input), "");
    }
    for (input, expected) in [
        (r#"{"calendar_id":"c","name":""}"#, r#"{"name":""}"#),
        (r#"{"calendar_id":"c","color":"auto"}"#, r#"{"color":"auto"}"#),
        (r#"{"calendar_id":"c","is_default_calendar":true}"#, r#"{"isDefaultCalendar":true}"#),
    ] {
        assert_eq!(body("update_calendar", input), expected);
    }
}

#[test]
fn a_range_ends_after_its_start() {
    let input = |start: &str, end: &str| format!(r#"{{"start_date_time":"{start}","end_date_time":"{end}"}}"#);
    for (start, end) in [
        ("2026-03-08T00:00:00Z", "2026-03-01T00:00:00Z"),
        // The same clock time, but an hour earlier.
        ("2026-03-01T00:00:00Z", "2026-03-01T00:00:00+01:00"),
        ("2026-03-01T00:00:00", "2026-02-28T23:59:59.9999999Z"),
    ] {
        assert_eq!(refused("list_events_in_time_range", &input(start, end)), "/end_date_time");
    }
    for (start, end) in [
        ("2026-03-01T00:00:00Z", "2026-03-01T00:00:00Z"),
        ("2026-03-01T00:00:00+01:00", "2026-03-01T00:00:00Z"),
        ("2026-03-01T00:00:00", "2026-03-01T00:00:00.5"),
        ("2026-03-01", "2026-03-01T00:00"),
        ("2026-03-01T00:00+01:00", "2026-03-01T00:00:00.0000000"),
    ] {
        assert!(path("list_events_in_time_range", &input(start, end)).starts_with("/me/calendarView?startDateTime="));
    }
    for text in
        ["tomorrow", "", "2026-03", "2026-02-30", "2026-03-01T25:00:00Z", "01.03.2026 9:30", "2026-03-01T09:3é:00"]
    {
        assert_eq!(refused("list_events_in_time_range", &input(text, "2026-03-01")), "/start_date_time", "{text}");
        assert_eq!(refused("list_events_in_time_range", &input("2026-03-01", text)), "/end_date_time", "{text}");
    }
}

#[test]
fn an_id_stays_within_its_segment() {
    assert_eq!(path("get_event", r#"{"event_id":"AAMk/A+B=="}"#), "/me/events/AAMk%2FA%2BB%3D%3D");
    for id in ["", "..", "../calendars"] {
        assert_eq!(refused("delete_event", &format!(r#"{{"event_id":"{id}"}}"#)), "/event_id");
    }
}

#[test]
fn account_and_header_are_those_of_every_connector_of_graph() {
    connector_microsoft::testing::check(&CONNECTOR);
}
