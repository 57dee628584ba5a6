//! The calendar of Outlook against a stand-in for Microsoft Graph: headers, empty answers, inputs
//! that a check refuses, and Microsoft's dialect of OAuth.

use serde_json::json;
use support::{Dialect, Endpoint, Reply};

use super::{Connected, anything, microsoft_user};
use crate::integrations::path;

fn connected() -> Connected {
    Connected::start("office_calendar", Dialect::microsoft(), &[("graph", "/v1.0")], "", microsoft_user)
}

#[test]
fn the_headers_of_the_caller_and_of_the_table_reach_the_service() {
    let connected = connected();
    connected.provider.on_api(|_, _| Reply::json(anything()));
    let prefer = "outlook.timezone=\"Europe/Berlin\", outlook.body-content-type=\"text\"";
    for (query, consistency) in [(json!({"$count": true}), "eventual"), (json!({"$count": false}), "")] {
        let input = json!({"query": query, "headers": {"Prefer": prefer}});
        assert_eq!(connected.call("list_events", input).ok(), anything());
        let seen = connected.provider.api_calls().pop().unwrap();
        assert_eq!((seen.method.as_str(), seen.path.as_str()), ("GET", "/api/v1.0/me/events"));
        assert_eq!((seen.header("prefer"), seen.header("consistencylevel")), (prefer, consistency));
    }
}

#[test]
fn a_range_may_have_times_without_an_offset() {
    let connected = connected();
    connected.provider.on_api(|_, _| Reply::json(anything()));
    for (start, end) in
        [("2026-03-01T00:00:00", "2026-03-08T00:00:00.0000000"), ("2026-03-01T00:00:00+01:00", "2026-03-08")]
    {
        let input = json!({"start_date_time": start, "end_date_time": end});
        assert_eq!(connected.call("list_events_in_time_range", input).ok(), anything());
        let seen = connected.provider.api_calls().pop().unwrap();
        let expected =
            [("startDateTime", start), ("endDateTime", end)].map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(seen.parameters(), expected);
    }
}

#[test]
fn a_deleted_event_and_an_accepted_invitation_are_empty_answers() {
    let connected = connected();
    for (operation, status) in
        [("delete_event", 204), ("permanently_delete_event", 204), ("accept_event", 202), ("cancel_event", 202)]
    {
        connected.provider.on_api(move |_, _| Reply::empty(status));
        assert_eq!(connected.call(operation, json!({"event_id": "AAMkAGI1"})).ok(), json!({}), "{operation}");
    }
}

#[test]
fn inputs_that_a_check_refuses_send_no_request() {
    let connected = connected();
    let before = connected.provider.api_calls().len();
    let range = json!({"start_date_time": "2026-03-08T00:00:00Z", "end_date_time": "2026-03-01T00:00:00Z"});
    for (operation, input, pointer) in [
        ("list_events_in_time_range", range, "/end_date_time"),
        ("update_calendar", json!({"calendar_id": "c", "name": null}), ""),
    ] {
        let problem = connected.call(operation, input).problem(422, "validation");
        assert_eq!(problem["errors"][0]["pointer"], pointer, "{operation}");
    }
    assert_eq!(connected.provider.api_calls().len(), before);
}

#[test]
fn each_refresh_replaces_microsofts_refresh_token_and_a_removal_revokes_nothing() {
    let connected = connected();
    for round in 1..=3 {
        connected.provider.expire();
        connected.call("list_calendars", json!({})).ok();
        assert_eq!(connected.provider.count(Endpoint::Refresh), round);
    }
    assert_eq!(
        connected.client.delete(&path("office_calendar", "ada")).ok(),
        json!({"deleted": true, "revoked": false})
    );
}
