//! The calendar connector against a stand-in for Google: every operation, and Google's dialect of
//! OAuth.

use serde_json::{Value, json};
use support::{Answer, Dialect, Endpoint, Reply};

use super::{Connected, Row, anything, google_claims, row};
use crate::integrations::path;

fn connected() -> Connected {
    connected_with("")
}

/// `config` has keys of the connector's section, and may begin other sections.
fn connected_with(config: &str) -> Connected {
    let upstreams = [("api", "/calendar/v3"), ("oauth2", "/oauth2/v2")];
    Connected::start("workspace_calendar", Dialect::google(), &upstreams, config, google_claims)
}

fn rows() -> Vec<Row> {
    let event = json!({"summary": "Review", "start": {"dateTime": "2026-03-02T10:00:00+01:00"}, "end": {"dateTime": "2026-03-02T11:00:00+01:00"}});
    let window =
        json!({"timeMin": "2026-03-02T08:00:00Z", "timeMax": "2026-03-02T18:00:00Z", "items": [{"id": "primary"}]});
    vec![
        row("calendars_get", json!({"calendar_id": "primary"}), "GET /calendar/v3/calendars/primary", Value::Null),
        row(
            "calendars_get",
            json!({"calendar_id": "team/a b@group.calendar.google.com"}),
            "GET /calendar/v3/calendars/team%2Fa%20b%40group.calendar.google.com",
            Value::Null,
        ),
        row(
            "calendarlist_list",
            json!({"query": {"maxResults": 50, "showHidden": true}}),
            "GET /calendar/v3/users/me/calendarList?maxResults=50&showHidden=true",
            Value::Null,
        ),
        row("calendarlist_list", json!({}), "GET /calendar/v3/users/me/calendarList", Value::Null),
        row(
            "calendarlist_get",
            json!({"calendar_id": "primary"}),
            "GET /calendar/v3/users/me/calendarList/primary",
            Value::Null,
        ),
        row("freebusy_query", json!({"body": window}), "POST /calendar/v3/freeBusy", window.clone()),
        row(
            "events_get",
            json!({"calendar_id": "primary", "event_id": "abc123", "query": {"timeZone": "Europe/Berlin"}}),
            "GET /calendar/v3/calendars/primary/events/abc123?timeZone=Europe/Berlin",
            Value::Null,
        ),
        row(
            "events_delete",
            json!({"calendar_id": "primary", "event_id": "abc123", "query": {"sendUpdates": "all"}}),
            "DELETE /calendar/v3/calendars/primary/events/abc123?sendUpdates=all",
            Value::Null,
        ),
        row(
            "events_update",
            json!({"calendar_id": "primary", "event_id": "abc123", "query": {"sendUpdates": "none"}, "body": event}),
            "PUT /calendar/v3/calendars/primary/events/abc123?sendUpdates=none",
            event.clone(),
        ),
        row(
            "events_insert",
            json!({"calendar_id": "primary", "query": {"conferenceDataVersion": 1}, "body": event}),
            "POST /calendar/v3/calendars/primary/events?conferenceDataVersion=1",
            event.clone(),
        ),
        row(
            "events_list",
            json!({"calendar_id": "primary", "query": {"timeMin": "2026-03-01T00:00:00Z", "singleEvents": true, "orderBy": "startTime", "eventTypes": ["default", "focusTime"]}}),
            "GET /calendar/v3/calendars/primary/events?timeMin=2026-03-01T00:00:00Z&singleEvents=true&orderBy=startTime&eventTypes=default&eventTypes=focusTime",
            Value::Null,
        ),
        row(
            "events_patch",
            json!({"calendar_id": "primary", "event_id": "abc123", "body": {"location": "Room 4"}}),
            "PATCH /calendar/v3/calendars/primary/events/abc123",
            json!({"location": "Room 4"}),
        ),
        row(
            "events_instances",
            json!({"calendar_id": "primary", "event_id": "abc123", "query": {"maxResults": 10}}),
            "GET /calendar/v3/calendars/primary/events/abc123/instances?maxResults=10",
            Value::Null,
        ),
        row(
            "events_move",
            json!({"calendar_id": "primary", "event_id": "abc123", "destination": "team@group.calendar.google.com"}),
            "POST /calendar/v3/calendars/primary/events/abc123/move?destination=team@group.calendar.google.com",
            Value::Null,
        ),
        row(
            "events_quick_add",
            json!({"calendar_id": "primary", "text": "Lunch with Kim tomorrow 12:30"}),
            "POST /calendar/v3/calendars/primary/events/quickAdd?text=Lunch with Kim tomorrow 12:30",
            Value::Null,
        ),
    ]
}

#[test]
fn empty_values_that_google_refuses_are_refused_before() {
    let connected = connected();
    let before = connected.provider.api_calls().len();
    for (operation, input, pointer) in [
        ("events_quick_add", json!({"calendar_id": "primary", "text": ""}), "/text"),
        ("events_move", json!({"calendar_id": "primary", "event_id": "e", "destination": ""}), "/destination"),
    ] {
        let problem = connected.call(operation, input).problem(422, "validation");
        assert_eq!(problem["errors"][0]["pointer"], pointer, "{operation}");
    }
    assert_eq!(connected.provider.api_calls().len(), before);
}

#[test]
fn every_operation_is_the_services_request_of_the_same_name() {
    let connected = connected();
    connected.check_complete(&rows(), &["userinfo"]);
    connected.check(&rows(), &anything());
}

#[test]
fn the_account_is_shown_in_the_common_shape() {
    let connected = connected();
    let record = connected.record();
    assert_eq!(record["user_identifier"], "ada@example.com");
    assert_eq!(record["account"], json!({"id": "id-of-ada", "email": "ada@example.com", "name": "ADA"}));
    let expected = json!({"data": {
        "id": "id-of-ada", "email": "ada@example.com", "username": "ada@example.com", "name": "ADA", "picture": null,
        "organization": {"id": "example.com", "name": "example.com"},
    }, "meta": null});
    assert_eq!(connected.call("userinfo", json!({})).ok(), expected);
}

#[test]
fn a_deleted_event_is_an_empty_answer() {
    let connected = connected();
    connected.provider.on_api(|_, _| Reply::empty(204));
    assert_eq!(connected.call("events_delete", json!({"calendar_id": "primary", "event_id": "x"})).ok(), json!({}));
}

#[test]
fn googles_refresh_token_stays_valid_over_many_refreshes() {
    let connected = connected();
    for round in 1..=3 {
        connected.provider.expire();
        connected.call("calendars_get", json!({"calendar_id": "primary"})).ok();
        assert_eq!(connected.provider.count(Endpoint::Refresh), round);
    }
    assert_eq!(
        connected.client.delete(&path("workspace_calendar", "ada")).ok(),
        json!({"deleted": true, "revoked": true})
    );
    assert_eq!(connected.provider.live_grants(), 0);
}

#[test]
fn a_refusal_of_google_reaches_the_caller_with_its_status() {
    let connected = connected();
    let get = || -> Answer { connected.call("calendars_get", json!({"calendar_id": "primary"})) };
    let error = json!({"error": {"code": 404, "message": "Not Found"}});
    let reply = Reply::json(error.clone()).status(404);
    connected.provider.on_api(move |_, _| reply.clone());
    let problem = get().problem(404, "upstream-rejected");
    assert_eq!(problem["upstream"], json!({"status": 404, "body": error}));
    connected.provider.on_api(|_, _| Reply::json(json!({})).status(429).header("retry-after", "7"));
    let limited = get();
    limited.problem(429, "upstream-rate-limited");
    assert_eq!(limited.header("retry-after"), "7");
}

#[test]
fn a_calendar_is_read_if_google_does_not_notify_the_address_of_the_gateway() {
    let connected = connected_with("[hooks]\npublic_url = \"https://hooks.example\"");
    connected.provider.on_api(|seen, account| match seen.path.rsplit('/').next() {
        Some("watch") => {
            let reason = json!({"domain": "global", "reason": "push.webhookUrlUnauthorized"});
            Reply::json(json!({"error": {"code": 401, "errors": [reason]}})).status(401)
        }
        Some("events") => Reply::json(json!({"items": [], "nextSyncToken": "s1"})),
        _ => google_claims(seen, account),
    });
    let trigger =
        json!({"connector": "workspace_calendar", "type": "event_changed", "parameters": {"calendar_id": "primary"}});
    let made = connected.client.post("/triggers", trigger);
    assert_eq!(made.status, 201, "{}", made.text());
    let record = made.json();
    assert_eq!((&record["status"], &record["mode"]), (&json!("active"), &json!("poll")), "{record}");
    assert_eq!(connected.record()["status"], "active", "the account works");
}
