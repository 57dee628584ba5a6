//! Requests that break a specification, one for each part of a request, in each format.

use std::collections::BTreeSet;

use hyper::HeaderMap;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use serde_json::{Map, Value, json};
use support::Seen;

use super::method::Method;
use super::{discovery, graph, openapi, slack};
use crate::check::{validator, violations};

fn seen(method: &str, target: &str, body: Option<(&'static str, &str)>) -> Seen {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let headers = body.iter().map(|(content_type, _)| (CONTENT_TYPE, HeaderValue::from_static(content_type)));
    Seen {
        method: method.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        headers: headers.collect::<HeaderMap>(),
        body: body.map(|(_, text)| text.to_owned()).unwrap_or_default().into(),
    }
}

/// The places of a request's violations, each once and in order; `None` if the request is for
/// another method.
fn places(method: &Method, request: &Seen) -> Option<Vec<String>> {
    let found = violations(&method.read(&request.path, request)?, &validator(method));
    let places: BTreeSet<String> = found.into_iter().map(|(place, _)| place).collect();
    Some(places.into_iter().collect())
}

/// Checks the places of the violations of JSON requests.
#[track_caller]
fn assert_places(method: &Method, requests: &[(&str, &str, Value, &[&str])]) {
    for (verb, target, body, expected) in requests {
        let body = (!body.is_null()).then(|| body.to_string());
        let request = seen(verb, target, body.as_deref().map(|text| ("application/json; charset=utf-8", text)));
        assert_eq!(places(method, &request).unwrap(), *expected, "{verb} {target} {body:?}");
    }
}

fn google() -> Vec<Method> {
    discovery::methods(&json!({
        "rootUrl": "https://www.googleapis.com/",
        "servicePath": "calendar/v3/",
        "parameters": {"fields": {"type": "string", "location": "query"}},
        "schemas": {
            "Event": {"type": "object", "properties": {
                "summary": {"type": "string", "annotations": {"required": ["calendar.events.insert"]}},
                "sequence": {"type": "integer", "format": "int32"},
                "updated": {"type": "string", "format": "date-time"},
                "attendees": {"type": "array", "items": {"$ref": "Attendee"}},
            }},
            "Attendee": {"type": "object", "properties": {"email": {"type": "string"}}},
        },
        "resources": {"events": {"methods": {"insert": {
            "id": "calendar.events.insert",
            "httpMethod": "POST",
            "path": "calendars/{calendarId}/events",
            "parameters": {
                "calendarId": {"type": "string", "location": "path", "required": true},
                "maxResults": {"type": "integer", "format": "int32", "minimum": "1", "location": "query"},
                "types": {"type": "string", "repeated": true, "enum": ["default", "focus"], "location": "query"},
                "mode": {"type": "string", "enum": ["all", "none"], "location": "query", "required": true},
            },
            "request": {"$ref": "Event"},
        }}}},
    }))
}

#[test]
fn every_part_of_a_request_to_google_is_checked() {
    let methods = google();
    let [method] = &methods[..] else { panic!("one method") };
    let events = "www.googleapis.com/calendar/v3/calendars/a%2Fb/events";
    let (event, url) = (json!({"summary": "Review"}), |query: &str| format!("{events}?mode=all{query}"));
    assert_places(
        method,
        &[
            ("POST", &url("&maxResults=1&types=default&types=focus&fields=id"), event.clone(), &[]),
            ("POST", &url("&maxResults=many"), event.clone(), &["/query/maxResults"]),
            ("POST", &url("&maxResults=0"), event.clone(), &["/query/maxResults"]),
            ("POST", &url("&types=default&types=other"), event.clone(), &["/query/types/*"]),
            ("POST", &url("&types=default,focus"), event.clone(), &["/query/types/*"]),
            ("POST", &url("&mode=none"), event.clone(), &["/query/mode"]),
            ("POST", &url("&unknown=1"), event.clone(), &["/query/unknown"]),
            ("POST", events, event, &["/query"]),
            ("POST", &url(""), json!({"summary": "Review", "colour": 1}), &["/body/colour"]),
            ("POST", &url(""), json!({"summary": 1}), &["/body/summary"]),
            ("POST", &url(""), json!({"summary": "Review", "updated": "today"}), &["/body/updated"]),
            ("POST", &url(""), json!({"summary": "Review", "attendees": [{"mail": "x"}]}), &["/body/attendees/*/mail"]),
            ("POST", &url(""), json!({"sequence": 1}), &["/body"]),
        ],
    );
    let form = seen("POST", &url(""), Some(("text/plain", "{\"summary\": \"Review\"}")));
    assert_eq!(places(method, &form).unwrap(), ["/content_type"]);
    for (verb, target) in [
        ("GET", events),
        ("POST", "www.googleapis.com/calendar/v3/calendars/a/b/events"),
        ("POST", "calendars/a/events"),
    ] {
        assert!(places(method, &seen(verb, target, None)).is_none(), "{verb} {target}");
    }
}

#[test]
fn a_request_with_a_body_that_the_method_does_not_have_is_found() {
    let mut document = json!({"rootUrl": "https://host.example/", "servicePath": "", "methods": {}});
    document["methods"]["get"] = json!({"id": "get", "httpMethod": "GET", "path": "things/{id}"});
    let methods = discovery::methods(&document);
    assert_places(&methods[0], &[("GET", "host.example/things/1", json!({}), &["/body", "/content_type"])]);
}

fn issues() -> Value {
    json!({
        "openapi": "3.0.3",
        "servers": [{"url": "https://host.example/v1/"}],
        "paths": {"/issues/{number}": {"patch": {
            "operationId": "update",
            "parameters": [
                {"name": "number", "in": "path", "required": true, "schema": {"type": "integer"}},
                {"name": "fields", "in": "query", "explode": false, "schema": {"type": "array", "items": {"enum": ["id", "title"], "type": "string"}}},
                {"name": "If-Match", "in": "header", "required": true, "schema": {"type": "string", "pattern": "^W/"}},
            ],
            "requestBody": {"required": true, "content": {"application/json": {"schema": {"allOf": [
                {"$ref": "#/components/schemas/base"},
                {"type": "object", "properties": {"title": {"type": "string", "nullable": true}}},
            ]}}}},
        }}},
        "components": {"schemas": {"base": {"type": "object", "required": ["state"], "properties": {"state": {"type": "string", "enum": ["open", "closed"]}}}}},
    })
}

#[test]
fn every_part_of_a_request_of_openapi_is_checked() {
    let methods = openapi::methods(&issues());
    let [method] = &methods[..] else { panic!("one method") };
    assert_eq!(method.names, ["update", "PATCH /issues/{number}"]);
    let check = |target: &str, tag: Option<&'static str>, body: &Value| {
        let mut request = seen("PATCH", target, Some(("application/json", &body.to_string())));
        request.headers.extend(tag.map(|tag| (hyper::header::IF_MATCH, HeaderValue::from_static(tag))));
        places(method, &request).unwrap()
    };
    let (url, tag, body) = ("host.example/v1/issues/7", Some("W/1"), json!({"state": "open", "title": null}));
    assert_eq!(check(&format!("{url}?fields=id,title"), tag, &body), [""; 0]);
    assert_eq!(check("host.example/v1/issues/seven", tag, &body), ["/path/number"]);
    assert_eq!(check(&format!("{url}?fields=id,other"), tag, &body), ["/query/fields/*"]);
    assert_eq!(check(url, None, &body), ["/headers"]);
    assert_eq!(check(url, Some("1"), &body), ["/headers/if-match"]);
    assert_eq!(check(url, tag, &json!({"title": "no state"})), ["/body"]);
    assert_eq!(check(url, tag, &json!({"state": "open", "milestone": 1})), ["/body/milestone"]);
    assert_eq!(check(url, tag, &json!({"state": null})), ["/body/state"]);
}

#[test]
fn arguments_of_slack_are_checked_in_queries_and_in_bodies() {
    let arguments = json!({
        "type": "object",
        "required": ["token", "channel"],
        "properties": {
            "token": {"type": "string"},
            "channel": {"type": "string"},
            "limit": {"type": "integer", "minimum": 1},
            "blocks": {"type": "string", "desc": "A JSON-based array of blocks, presented as a URL-encoded string."},
        },
    });
    let method = slack::method("conversations.info", &json!({"http_method": "GET", "args": arguments}), None);
    assert_places(
        &method,
        &[
            ("GET", "slack.com/api/conversations.info?channel=C1&limit=1", Value::Null, &[]),
            ("GET", "slack.com/api/conversations.info?limit=0&channel=C1", Value::Null, &["/query/limit"]),
            ("GET", "slack.com/api/conversations.info?name=x&channel=C1", Value::Null, &["/query/name"]),
            ("GET", "slack.com/api/conversations.info", Value::Null, &["/query"]),
        ],
    );
    let document = json!({"http_method": "POST", "json_input_supported": true, "args": arguments});
    let method = slack::method("chat.post", &document, None);
    assert_places(
        &method,
        &[
            ("POST", "slack.com/api/chat.post", json!({"channel": "C1", "blocks": [{"type": "divider"}]}), &[]),
            ("POST", "slack.com/api/chat.post", json!({"blocks": "[]"}), &["/body"]),
            ("POST", "slack.com/api/chat.post?channel=C1", json!({"channel": "C1"}), &["/query/channel"]),
            ("POST", "slack.com/api/chat.post", Value::Null, &[""]),
        ],
    );
}

#[test]
fn an_address_that_only_the_documentation_has_is_checked_as_the_one_that_leads_to_the_same_resource() {
    let document = json!({
        "openapi": "3.0.1",
        "servers": [{"url": "https://graph.microsoft.com/v1.0/"}],
        "paths": {"/drives/{drive-id}/root/search(q='{q}')": {"get": {"parameters": [
            {"name": "q", "in": "path", "required": true, "schema": {"type": "string"}},
            {"name": "$top", "in": "query", "schema": {"type": "integer"}},
        ]}}},
    });
    let methods = openapi::methods(&document);
    let method = graph::method(&methods, "GET", "/sites/{site_id}/drive/root/search(q='{q}')", |_| false).unwrap();
    let url = "graph.microsoft.com/v1.0/sites/acme,1/drive/root/search";
    assert_places(
        &method,
        &[
            ("GET", &format!("{url}(q='it''s')?$top=3"), Value::Null, &[]),
            ("GET", &format!("{url}(q='it''s')?$top=x"), Value::Null, &["/query/$top"]),
            ("GET", &format!("{url}(q='it's')"), Value::Null, &["/path/q"]),
        ],
    );
    assert!(graph::method(&methods, "GET", "/sites/{site_id}/lists", |_| false).is_none());
}

#[test]
fn members_that_only_the_current_schema_of_graph_has_are_known() {
    let mut document = json!({
        "openapi": "3.0.1",
        "servers": [{"url": "https://graph.microsoft.com/v1.0/"}],
        "paths": {"/me/events/{event-id}/accept": {"post": {"requestBody": {"$ref": "#/components/requestBodies/accept"}}}},
        "components": {
            "schemas": {},
            "requestBodies": {"accept": {"content": {"application/json": {"schema": {"type": "object", "properties": {"Comment": {"type": "string"}}}}}}},
        },
    });
    let current = json!({"types": {}, "operations": [
        {"kind": "action", "name": "accept", "parameters": {"Comment": "Edm.String", "SendResponse": "Edm.Boolean"}},
        {"kind": "action", "name": "accept", "parameters": {"Other": "Edm.String"}},
    ]});
    graph::complete(&mut document, &current);
    let methods = openapi::methods(&document);
    assert_places(
        &methods[0],
        &[
            (
                "POST",
                "graph.microsoft.com/v1.0/me/events/1/accept",
                json!({"comment": "Yes", "sendResponse": true}),
                &[],
            ),
            (
                "POST",
                "graph.microsoft.com/v1.0/me/events/1/accept",
                json!({"sendResponse": "yes"}),
                &["/body/sendResponse"],
            ),
            ("POST", "graph.microsoft.com/v1.0/me/events/1/accept", json!({"other": "x"}), &["/body/other"]),
        ],
    );
    assert_eq!(methods[0].request["$defs"], Value::Object(Map::new()));
}
