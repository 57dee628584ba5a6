//! The requests that rows make from inputs. Each row is from a real service, and shows one feature
//! of rows.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "shared/rows.rs"]
mod rows;

use connector_sdk::http::Body;
use connector_sdk::testing::{Answer, Gateway, about, forwarded, invoke};
use connector_sdk::{Fault, Outcome};
use serde_json::{Value, json};

use rows::CONNECTOR;

fn path(operation: &str, input: &str) -> String {
    let _gateway = Gateway::new();
    forwarded(&CONNECTOR, operation, input).path
}

fn body(operation: &str, input: &str) -> String {
    let _gateway = Gateway::new();
    match forwarded(&CONNECTOR, operation, input).body {
        Some(Body::Json(text)) => text,
        other => panic!("{operation}: {other:?}"),
    }
}

fn headers(operation: &str, input: &str) -> Vec<(String, String)> {
    let _gateway = Gateway::new().setting("api_version", "\"v\"");
    let mut headers = forwarded(&CONNECTOR, operation, input).headers;
    headers.remove(0);
    headers
}

fn refused(operation: &str, input: &str) -> String {
    let _gateway = Gateway::new();
    match invoke(&CONNECTOR, operation, input) {
        Err(Fault::InvalidInput(violations)) => violations[0].pointer.clone(),
        other => panic!("{operation} {input}: {other:?}"),
    }
}

fn schema(operation: &str) -> Value {
    serde_json::from_str(&about(&CONNECTOR, operation).input_schema).expect("JSON")
}

#[test]
fn names_in_the_path_are_fields() {
    assert_eq!(path("events_get", r#"{"calendar_id":"a b","event_id":"x"}"#), "/calendars/a%20b/events/x");
    assert_eq!(path("end_call", r#"{"id":"spaces/x:y"}"#), "/calls/spaces%2Fx%3Ay:end");
    assert_eq!(refused("end_call", "{}"), "/id");
}

#[test]
fn query_entries_are_parameters() {
    let input =
        r#"{"calendar_id":"c","event_id":"e","query":{"q":"a&b=ü","maxAttendees":1.0,"alwaysIncludeEmail":true}}"#;
    assert_eq!(
        path("events_get", input),
        "/calendars/c/events/e?q=a%26b%3D%C3%BC&maxAttendees=1.0&alwaysIncludeEmail=true"
    );
    assert_eq!(
        path("events_get", r#"{"calendar_id":"c","event_id":"e","query":{"q":["x","y"]}}"#),
        "/calendars/c/events/e?q=x&q=y"
    );
    assert_eq!(path("events_get", r#"{"calendar_id":"c","event_id":"e","query":{"q":null}}"#), "/calendars/c/events/e");
    assert_eq!(path("events_get", r#"{"calendar_id":"c","event_id":"e","query":null}"#), "/calendars/c/events/e");
}

#[test]
fn a_body_is_passed_as_it_is() {
    let input = r#"{"body": {"n": 1.0, "big": 123456789012345678901234567890, "s": "\u00fc"}, "calendar_id":"c"}"#;
    assert_eq!(body("events_insert", input), r#"{"n": 1.0, "big": 123456789012345678901234567890, "s": "\u00fc"}"#);
}

#[test]
fn fields_are_spread_over_inner_objects() {
    let input = r##"{"name":"n","text_color":"#000000","background_color":"#ffffff","deep":1}"##;
    let expected = r##"{"color":{"textColor":"#000000","backgroundColor":"#ffffff","inner":{"deep":1}},"name":"n","labelListVisibility":"labelShow"}"##;
    assert_eq!(body("create_label", input), expected);
    assert_eq!(
        body("create_label", r#"{"name":"n","deep":1}"#),
        r#"{"color":{"inner":{"deep":1}},"name":"n","labelListVisibility":"labelShow"}"#
    );
    assert_eq!(
        body("create_label", r#"{"name":"n","visibility":"labelHide"}"#),
        r#"{"name":"n","labelListVisibility":"labelHide"}"#
    );
}

#[test]
fn a_fixed_body_and_defaults_are_sent() {
    let folder = |input: &str| body("create_folder", input);
    assert_eq!(
        folder(r#"{"drive_id":"d","name":"n"}"#),
        r#"{"folder":{},"name":"n","@microsoft.graph.conflictBehavior":"fail"}"#
    );
    assert_eq!(
        folder(r#"{"drive_id":"d","name":"n","conflict_behavior":"rename","users":["U1","U\"2"],"tags":["a", "b"]}"#),
        r#"{"folder":{},"name":"n","@microsoft.graph.conflictBehavior":"rename","users":"U1,U\"2","tags":["a", "b"]}"#
    );
    assert_eq!(path("get_posts", r#"{"ids":["1"]}"#), "/posts?ids=1&limit=30");
}

#[test]
fn lists_are_joined_or_repeated() {
    let input = r#"{"ids":["1","a,b"],"post_fields":["x","y"],"ranges":["A1:B2","C"],"limit":1e1}"#;
    assert_eq!(path("get_posts", input), "/posts?ids=1,a%2Cb&post.fields=x,y&ranges=A1%3AB2&ranges=C&limit=10");
    let none = r#"{"ids":["1"],"post_fields":[],"ranges":[]}"#;
    assert_eq!(path("get_posts", none), "/posts?ids=1&limit=30", "an empty list is no parameter");
}

#[test]
fn odata_strings_double_their_quotes() {
    assert_eq!(path("search", r#"{"q":"it's a/b"}"#), "/me/drive/search(q='it''s%20a%2Fb')");
    assert_eq!(path("search", r#"{"q":".."}"#), "/me/drive/search(q='..')");
}

#[test]
fn paths_keep_their_slashes_but_cannot_climb() {
    let contents = |file: &str| path("contents", &format!(r#"{{"owner":"o","path":"{file}"}}"#));
    assert_eq!(contents("src/main rs?.txt"), "/repos/o/contents/src/main%20rs%3F.txt?ref=main");
    assert_eq!(contents("/src/..hidden"), "/repos/o/contents/src/..hidden?ref=main");
    for file in ["..", "a/../b", "a/.", "./a", r"\u002e\u002e/x"] {
        assert_eq!(refused("contents", &format!(r#"{{"owner":"o","path":"{file}"}}"#)), "/path");
    }
    assert_eq!(refused("contents", r#"{"owner":"..","path":"x"}"#), "/owner");
    assert_eq!(refused("contents", r#"{"owner":"a.b","path":"x/.."}"#), "/path");
    assert_eq!(refused("contents", r#"{"owner":"o","path":""}"#), "/path");
}

#[test]
fn a_default_query_is_replaced() {
    assert_eq!(path("list_users", "{}"), "/users?customer=my_customer");
    assert_eq!(path("list_users", r#"{"query":{"customer":"C1"}}"#), "/users?customer=C1");
    assert_eq!(path("list_users", r#"{"query":{"domain":"d"}}"#), "/users?domain=d");
}

#[test]
fn headers_are_the_tables_and_the_callers() {
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(headers("search", r#"{"q":"x","query":{"$search":"\"y\""}}"#), [pair("ConsistencyLevel", "eventual")]);
    assert_eq!(headers("search", r#"{"q":"x","query":{"$top":1}}"#), []);
    for (count, sent) in
        [("true", true), ("\"true\"", true), ("1", true), ("false", false), ("\"false\"", false), ("null", false)]
    {
        let found = headers("search", &format!(r#"{{"q":"x","query":{{"$count":{count}}}}}"#));
        assert_eq!(!found.is_empty(), sent, "{count}");
    }
    assert_eq!(headers("search", r#"{"q":"x","query":{"$count":false,"$search":"y"}}"#).len(), 1);
    let input = r#"{"trace":"t","headers":{"Prefer":"outlook.timezone=\"UTC\""}}"#;
    assert_eq!(headers("list_events", input), [pair("X-Trace", "t"), pair("Prefer", "outlook.timezone=\"UTC\"")]);
    assert_eq!(refused("list_events", r#"{"headers":{"Prefer":"a\r\nX: y"}}"#), "/headers");
}

#[test]
fn settings_stand_in_paths_and_headers() {
    let gateway = Gateway::new();
    let request = forwarded(&CONNECTOR, "get_employee", r#"{"employee_id":42.0}"#);
    assert_eq!((request.path.as_str(), request.headers[0].1.as_str()), ("/employees/42", "2022-11-28"));
    let _gateway = gateway.setting("employees_path", "\"/v2/people\"");
    assert_eq!(forwarded(&CONNECTOR, "get_employee", r#"{"employee_id":42}"#).path, "/v2/people/42");
}

#[test]
fn a_setting_of_another_type_is_a_fault_that_names_it() {
    let _gateway = Gateway::new().setting("employees_path", "[1]");
    let answer = invoke(&CONNECTOR, "get_employee", r#"{"employee_id":42}"#);
    assert!(
        matches!(&answer, Err(Fault::Failed(why)) if why.contains("`employees_path` of this connector is [1]")),
        "{answer:?}"
    );
}

#[test]
fn bytes_are_counted_not_quotes_and_escapes() {
    assert_eq!(body("post_message", r#"{"text":"\u00fc\u00fc\u00fc12"}"#), r#"{"text":"\u00fc\u00fc\u00fc12"}"#);
    assert_eq!(refused("post_message", r#"{"text":"123456789"}"#), "/text");
    assert_eq!(path("post_message", r#"{"text":"x","thread":"T 1"}"#), "/messages?thread=T%201");
}

#[test]
fn an_object_that_fits_its_limit_only_without_blanks_and_escapes_is_sent_without_them() {
    assert_eq!(body("post_card", r#"{"body":{ "a":"\u00fc" }}"#), r#"{ "a":"\u00fc" }"#);
    assert_eq!(body("post_card", r#"{"body":{ "a" : "\u00fc\u00fc34" } }"#), r#"{"a":"üü34"}"#);
    assert_eq!(body("post_card", r#"{"body":{ "a" : "\u00fc3456\n" } }"#), r#"{"a":"ü3456\n"}"#);
    assert_eq!(refused("post_card", r#"{"body":{"a":"ü3456\n1"}}"#), "/body");
    assert_eq!(
        body("post_message", r#"{"text":"x","card":{ "a" : [ 1, 2, 3 ] }}"#),
        r#"{"text":"x","card":{"a":[1,2,3]}}"#
    );
    assert_eq!(refused("post_message", r#"{"text":"x","card":{"a":[1,2,3,4,567]}}"#), "/card");
}

#[test]
fn a_request_can_go_through_a_function() {
    let gateway = Gateway::new()
        .answer(Answer::json(200, r#"{"error":"not_in_channel"}"#))
        .answer(Answer::json(200, r#"{"ok":1}"#));
    let Err(Fault::Upstream(failure)) = invoke(&CONNECTOR, "guarded", r#"{"limit":3}"#) else { panic!("a fault") };
    assert_eq!(failure.detail, "not_in_channel");
    assert!(matches!(invoke(&CONNECTOR, "guarded", "{}"), Ok(Outcome::ReplyDocument(_))));
    assert_eq!(gateway.requests()[0].path, "/guarded?limit=3");
}

#[test]
fn a_check_refuses_inputs_before_the_request_is_made() {
    assert_eq!(refused("update_label", r#"{"id":"l","query":{"fields":"name"}}"#), "");
    assert_eq!(refused("update_label", r#"{"id":"l","name":null}"#), "");
    assert_eq!(body("update_label", r#"{"id":"l","name":"n"}"#), r#"{"name":"n"}"#);
    assert_eq!(path("update_label", r#"{"id":"l","name":"n","query":{"fields":"name"}}"#), "/labels/l?fields=name");
}

#[test]
fn functions_get_typed_input() {
    let Ok(Outcome::Reply(text)) = invoke(&CONNECTOR, "typed", r#"{"type":"t","many":"a","filters":{"labels":["x"]}}"#)
    else {
        panic!("a reply")
    };
    assert_eq!(
        text,
        r#"Typed { type: "t", many: Some(OneOrMany(["a"])), count: 5, flag: true, filters: Some(Entries([("labels", ["x"])])), thing: None, parts: None, share: None }"#
    );
    assert_eq!(refused("typed", r#"{"type":1}"#), "/type");
    assert_eq!(refused("typed", "{}"), "/type");
}

#[test]
fn schemas_say_what_rows_say() {
    assert_eq!(
        schema("create_label"),
        json!({
            "type": "object",
            "properties": {
                "text_color": {"type": ["string", "null"], "enum": ["#000000", "#ffffff", null]},
                "name": {"type": "string", "minLength": 1, "maxLength": 225},
                "visibility": {"type": ["string", "null"], "enum": ["labelShow", "labelHide", null], "default": "labelShow"},
                "background_color": {"type": ["string", "null"], "enum": ["#000000", "#ffffff", null]},
                "deep": {"type": ["integer", "null"]},
            },
            "required": ["name"],
            "additionalProperties": false,
        })
    );
    let entry = json!({"type": ["string", "number", "boolean", "array", "null"], "items": {"type": ["string", "number", "boolean"]}});
    assert_eq!(
        schema("list_users")["properties"]["query"],
        json!({"type": ["object", "null"], "properties": {"customer": entry, "domain": entry, "pageToken": entry}, "additionalProperties": false})
    );
    assert_eq!(
        schema("events_insert")["properties"]["body"],
        json!({"type": "object", "properties": {"attendees": false}, "additionalProperties": true})
    );
    assert_eq!(
        schema("get_posts")["properties"]["ids"],
        json!({"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 100})
    );
    assert_eq!(
        schema("typed")["properties"]["many"],
        json!({"type": ["string", "array", "null"], "items": {"type": "string"}})
    );
    assert_eq!(schema("typed")["properties"]["share"], json!({"type": ["number", "null"], "default": 0.5}));
    assert_eq!(schema("contents")["required"], json!(["owner", "path"]));
}

#[test]
fn the_manifest_says_what_a_row_is() {
    let manifest = connector_sdk::run::manifest(&CONNECTOR);
    let find = |name: &str| manifest.operations.iter().find(|operation| operation.path == name).expect("an operation");
    let events = find("events_get");
    assert_eq!(
        (events.summary.as_str(), events.description.as_str()),
        ("Event by its id", "With all of its attendees.")
    );
    assert_eq!(
        events.example.as_deref(),
        Some(r#"{"calendar_id":"primary","event_id":"abc","query":{"maxAttendees":10}}"#)
    );
    assert!(events.immediate && events.envelope && !events.background);
    assert!(find("update_label").immediate);
    assert!(!find("guarded").immediate && !find("typed").immediate);
    let effects = ["events_get", "events_insert", "delete_thing", "end_call", "typed"]
        .map(|name| format!("{:?}", find(name).effect));
    assert_eq!(
        effects,
        ["Effect::Read", "Effect::Write", "Effect::Destructive", "Effect::Destructive", "Effect::Write"]
    );
    assert_eq!(find("search").rate_limit.as_deref(), Some("searches"));
    assert_eq!((manifest.rate_limits[0].requests, manifest.rate_limits[0].period_seconds), (30, 120));
}

#[test]
fn null_of_a_nullable_field_is_sent() {
    for (input, expected) in [
        (r#"{"number":"7","milestone":null,"title":null}"#, r#"{"fields":{"milestone":null}}"#),
        (r#"{"number":"7","milestone":3}"#, r#"{"fields":{"milestone":3}}"#),
        (r#"{"number":"7","title":"T"}"#, r#"{"title":"T"}"#),
    ] {
        let body = forwarded(&CONNECTOR, "update_issue", input).body;
        assert!(matches!(&body, Some(Body::Json(text)) if text == expected), "{input}: {body:?}");
    }
}
