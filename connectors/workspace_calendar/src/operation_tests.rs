//! The request of each row. The crate `connector-google` tests `userinfo` further.

use connector_sdk::auth::{Auth, Revocation};
use connector_sdk::http::{Body, Method};
use connector_sdk::testing::{forwarded, refused};

use crate::CONNECTOR;

/// Method, path and body of a row's request.
fn request(operation: &str, input: &str) -> (Method, String, Option<String>) {
    let request = forwarded(&CONNECTOR, operation, input);
    assert_eq!((request.upstream.as_str(), request.headers.len()), ("api", 0), "{operation}");
    let body = request.body.map(|body| match body {
        Body::Json(text) => text,
        other => panic!("{operation}: {other:?}"),
    });
    (request.method, request.path, body)
}

#[test]
fn rows_that_read_are_googles_methods() {
    for (operation, input, path) in [
        ("calendars_get", r#"{"calendar_id":"primary"}"#, "/calendars/primary"),
        ("calendarlist_list", "{}", "/users/me/calendarList"),
        (
            "calendarlist_list",
            r#"{"query":{"maxResults":50,"showHidden":true,"pageToken":"a b"}}"#,
            "/users/me/calendarList?maxResults=50&showHidden=true&pageToken=a%20b",
        ),
        ("calendarlist_get", r#"{"calendar_id":"ada@acme.test"}"#, "/users/me/calendarList/ada%40acme.test"),
        ("events_get", r#"{"calendar_id":"primary","event_id":"e1"}"#, "/calendars/primary/events/e1"),
        (
            "events_get",
            r#"{"calendar_id":"primary","event_id":"e1","query":{"timeZone":"Europe/Berlin"}}"#,
            "/calendars/primary/events/e1?timeZone=Europe%2FBerlin",
        ),
        ("events_list", r#"{"calendar_id":"primary"}"#, "/calendars/primary/events"),
        (
            "events_instances",
            r#"{"calendar_id":"primary","event_id":"e1","query":{"maxResults":10}}"#,
            "/calendars/primary/events/e1/instances?maxResults=10",
        ),
    ] {
        assert_eq!(request(operation, input), (Method::Get, path.to_owned(), None), "{operation}");
    }
}

#[test]
fn lists_in_a_query_are_repeated() {
    let input = r#"{"calendar_id":"primary","query":{"eventTypes":["default","focusTime"],"privateExtendedProperty":["a=1","b=2"],"timeMin":"2026-03-01T00:00:00+01:00"}}"#;
    assert_eq!(
        request("events_list", input).1,
        "/calendars/primary/events?eventTypes=default&eventTypes=focusTime&privateExtendedProperty=a%3D1&privateExtendedProperty=b%3D2&timeMin=2026-03-01T00%3A00%3A00%2B01%3A00"
    );
}

#[test]
fn rows_that_write_are_googles_methods() {
    let event = r#"{"summary":"Review","n":1.0}"#;
    let body = Some(event.to_owned());
    for (operation, input, expected) in [
        ("freebusy_query", format!(r#"{{"body":{event}}}"#), (Method::Post, "/freeBusy", body.clone())),
        (
            "events_insert",
            format!(r#"{{"calendar_id":"primary","query":{{"conferenceDataVersion":1}},"body":{event}}}"#),
            (Method::Post, "/calendars/primary/events?conferenceDataVersion=1", body.clone()),
        ),
        (
            "events_update",
            format!(r#"{{"calendar_id":"c","event_id":"e","body":{event},"query":{{"sendUpdates":"none"}}}}"#),
            (Method::Put, "/calendars/c/events/e?sendUpdates=none", body.clone()),
        ),
        (
            "events_patch",
            format!(r#"{{"calendar_id":"c","event_id":"e","body":{event}}}"#),
            (Method::Patch, "/calendars/c/events/e", body),
        ),
        (
            "events_delete",
            r#"{"calendar_id":"c","event_id":"e","query":{"sendUpdates":"all"}}"#.to_owned(),
            (Method::Delete, "/calendars/c/events/e?sendUpdates=all", None),
        ),
        (
            "events_move",
            r#"{"calendar_id":"c","event_id":"e","destination":"t@g.test","query":{"sendUpdates":"all"}}"#.to_owned(),
            (Method::Post, "/calendars/c/events/e/move?destination=t%40g.test&sendUpdates=all", None),
        ),
        (
            "events_quick_add",
            r#"{"calendar_id":"c","text":"Lunch & more 12:30"}"#.to_owned(),
            (Method::Post, "/calendars/c/events/quickAdd?text=Lunch%20%26%20more%2012%3A30", None),
        ),
    ] {
        let (method, path, body) = request(operation, &input);
        assert_eq!((method, path.as_str(), body), expected, "{operation}");
    }
}

#[test]
fn an_id_stays_within_its_segment() {
    assert_eq!(request("events_get", r#"{"calendar_id":"a/b","event_id":"x?y"}"#).1, "/calendars/a%2Fb/events/x%3Fy");
    for (input, pointer) in [
        (r#"{"calendar_id":"..","event_id":"x"}"#, "/calendar_id"),
        (r#"{"calendar_id":"primary","event_id":"../x"}"#, "/event_id"),
        (r#"{"calendar_id":"primary","event_id":""}"#, "/event_id"),
    ] {
        assert_eq!(refused(&CONNECTOR, "events_get", input)[0].pointer, pointer);
    }
}

#[test]
fn userinfo_is_the_common_shape() {
    connector_google::testing::check_userinfo(&CONNECTOR);
}

#[test]
fn the_authorization_requests_a_refresh_token() {
    let Auth::OAuth2(client) = &CONNECTOR.auth else { panic!("OAuth 2.0") };
    assert_eq!(client.authorization_parameters, [("access_type", "offline"), ("prompt", "consent")]);
    assert!(client.pkce && matches!(client.revocation, Some(Revocation::Form("https://oauth2.googleapis.com/revoke"))));
    let identity = client.identity.as_ref().expect("an identity");
    assert_eq!((identity.operation, identity.id), ("userinfo", "/data/id"));
}
