//! The manifest of the table in `shared/rows.rs`, and the requests that its rows make from inputs,
//! as JSON files. The tests of the SDKs for other languages compare the same table in their
//! language with these files.
//!
//! `UPDATE=1 cargo test --workspace --test languages` writes the files again.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "shared/answer.rs"]
mod answer;
#[path = "shared/events.rs"]
mod events;
#[path = "shared/rows.rs"]
mod rows;

use std::path::Path;
use std::{env, fs};

use ::rows::Declaration;
use connector_sdk::Outcome;
use connector_sdk::bindings::gateway::connector::manifest as wit;
use connector_sdk::table::NextPage;
use connector_sdk::testing::{Gateway, invoke};
use rows::CONNECTOR;
use serde_json::{Value, json};

/// Functions that triggers name, and inputs, as JSON text.
const INTERNAL: &[(&str, &str)] = &[
    ("change_subscribe", r#"{"parameters":{"folder":"a"},"kinds":[]}"#),
    ("change_renew", r#"{"upstream_id":"a","state":{"n":1},"parameters":{"folder":"a"},"kinds":["x"]}"#),
    ("change_renew", r#"{"upstream_id":"a","state":null,"parameters":{"folder":"a"},"kinds":[]}"#),
    ("change_unsubscribe", r#"{"upstream_id":"a","parameters":{"folder":"a"}}"#),
    ("change_recover", r#"{"upstream_id":"a","state":null,"parameters":{"folder":"a"}}"#),
    ("change_identify", r#"{"parameters":{"folder":"a"}}"#),
    ("change_read", r#"{"parameters":{"folder":"a"},"cursor":null,"hint":null,"limit":50}"#),
    ("change_read", r#"{"parameters":{"folder":"a"},"cursor":"1","hint":{"id":"7"},"limit":50}"#),
];

/// Operations and inputs, as JSON text.
const INPUTS: &[(&str, &str)] = &[
    ("events_get", r#"{"calendar_id":"a b","event_id":"x"}"#),
    (
        "events_get",
        r#"{"calendar_id":"c","event_id":"e","query":{"q":"a&b=ü","maxAttendees":1.0,"alwaysIncludeEmail":true}}"#,
    ),
    ("events_get", r#"{"calendar_id":"c","event_id":"e","query":{"q":["x","y"]}}"#),
    ("events_get", r#"{"calendar_id":"c","event_id":"e","query":{"q":[],"maxAttendees":null}}"#),
    ("events_get", r#"{"calendar_id":"c","event_id":"e","query":null}"#),
    ("events_get", r#"{"calendar_id":"\ud83d\ude00\ud800!'()*","event_id":"~-._"}"#),
    ("events_get", r#"{"calendar_id":"c"}"#),
    (
        "events_insert",
        r#"{"body": {"n": 1.0, "big": 123456789012345678901234567890, "s": "\u00fc"}, "calendar_id":"c"}"#,
    ),
    ("events_insert", r#"{"body":{"a":"}\"]{","b":[[],{}]},"calendar_id":"c","query":{"sendUpdates":"all"}}"#),
    ("create_label", r##"{"name":"n","text_color":"#000000","background_color":"#ffffff","deep":1}"##),
    ("create_label", r#"{"name":"n","deep":1}"#),
    ("create_label", r#"{"name":"n","visibility":"labelHide"}"#),
    ("update_issue", r#"{"number":"7","milestone":null,"title":null}"#),
    ("update_issue", r#"{"number":"7","milestone":3}"#),
    ("update_issue", r#"{"number":"7"}"#),
    ("update_issue", r#"{"number":"7","title":"T"}"#),
    ("create_folder", r#"{"drive_id":"d","name":"n"}"#),
    (
        "create_folder",
        r#"{"drive_id":"d","name":"n","conflict_behavior":"rename","users":["U1","U\"2"],"tags":["a", "b"]}"#,
    ),
    ("create_folder", r#"{"drive_id":"d","name":"n","users":"U1"}"#),
    ("search", r#"{"q":"it's a/b"}"#),
    ("search", r#"{"q":".."}"#),
    ("search", r#"{"q":"x","query":{"$search":"\"y\""}}"#),
    ("search", r#"{"q":"x","query":{"$top":1,"$count":false}}"#),
    ("search", r#"{"q":"x","query":{"$count":"true"}}"#),
    ("search", r#"{"q":"x","query":{"$count":true}}"#),
    ("search", r#"{"q":"x","query":{"$count":1}}"#),
    ("search", r#"{"q":"x","query":{"$count":"false"}}"#),
    ("search", r#"{"q":"x","query":{"$count":null}}"#),
    ("search", r#"{"q":"x","query":{"$count":false,"$search":"y"}}"#),
    ("contents", r#"{"owner":"o","path":"src/main rs?.txt"}"#),
    ("contents", r#"{"owner":"o","path":"/src/..hidden","part":2}"#),
    ("contents", r#"{"owner":"o","path":"a/../b"}"#),
    ("contents", r#"{"owner":"o","path":".."}"#),
    ("contents", r#"{"owner":"o","path":"a/."}"#),
    ("contents", r#"{"owner":"o","path":"./a"}"#),
    ("contents", r#"{"owner":"o","path":"a/.;v=1/b"}"#),
    ("contents", r#"{"owner":"o","path":"\u002e\u002e/x"}"#),
    ("contents", r#"{"owner":"o","path":"%252e%2e/x"}"#),
    ("contents", r#"{"owner":"..","path":"x"}"#),
    ("contents", r#"{"owner":"a.b","path":"x/.."}"#),
    ("contents", r#"{"owner":"o","path":""}"#),
    ("update_label", r#"{"id":"l","name":null}"#),
    ("update_label", r#"{"id":"l","query":{"fields":"name"}}"#),
    ("update_label", r#"{"id":"l","name":"n","query":{"fields":"name"}}"#),
    (
        "charge",
        r#"{"amount":1.0e2,"number":"4242","year":2030.0,"note":null,"expand":["a","b"],"ids":["1","2"],"lines":[{"price":1,"tags":["x"]},{"price":2}]}"#,
    ),
    ("charge", r#"{"amount":7,"currency":"usd","note":"\u00fc \"&=","expand":[]}"#),
    ("send_form", r#"{"body":{"a":{"b":[1,2]},"c":[true,null],"d":{}}}"#),
    (
        "upload_photos",
        r#"{"album":"a/b","title":"\u00fc \"=&","photo":{"file_name":"sea \"1\".png","content_type":"image/png","content_base64":"iVBORw=="},"notify":true}"#,
    ),
    (
        "upload_photos",
        r#"{"more":[{"file_name":"a","content_base64":""},{"content_base64":"SGk=","file_name":"b","content_type":null}],"album":"a","title":"t","size":2.0e1,"tags":["x","y"],"about":{"author":"Ada","year":1843},"places":[{"n":1},{"n":2}],"note":null,"photo":{"file_name":"c","content_base64":"AA=="}}"#,
    ),
    ("upload_photos", r#"{"album":"a","title":"t","photo":{"file_name":"../c","content_base64":"AA=="}}"#),
    ("upload_photos", r#"{"album":"a","title":"t","photo":{"file_name":"c","content_base64":"?"}}"#),
    (
        "upload_photos",
        r#"{"album":"a","title":"t","photo":{"file_name":"c","content_base64":""},"more":[{"file_name":"c","content_base64":"","content_type":"a\r\nb"}]}"#,
    ),
    ("upload_photos", r#"{"album":"a","title":"t"}"#),
    ("list_users", "{}"),
    ("list_users", r#"{"query":{"customer":"C1"}}"#),
    ("list_users", r#"{"query":{"domain":"d"}}"#),
    ("list_events", r#"{"trace":"t","headers":{"Prefer":"outlook.timezone=\"UTC\""}}"#),
    ("list_events", r#"{"headers":{"Prefer":"a\r\nX: y"}}"#),
    ("get_posts", r#"{"ids":["1"]}"#),
    ("get_posts", r#"{"ids":["1","a,b"],"post_fields":["x","y"],"ranges":["A1:B2","C"],"limit":1e1}"#),
    ("get_posts", r#"{"ids":["1"],"post_fields":[],"ranges":[],"limit":2.50e1}"#),
    ("get_employee", r#"{"employee_id":42.0}"#),
    ("get_employee", r#"{"employee_id":123456789012345678}"#),
    ("post_message", r#"{"text":"\u00fc\u00fc\u00fc12"}"#),
    ("post_message", r#"{"text":"123456789"}"#),
    ("post_message", r#"{"text":"üüüüü"}"#),
    ("post_message", r#"{"text":"x","thread":"T 1","card":{ "a" : [ 1, 2, 3 ] }}"#),
    ("post_message", r#"{"text":"x","card":{"a":[1,2,3,4,567]}}"#),
    ("post_card", r#"{"body":{ "a":"\u00fc" }}"#),
    ("post_card", r#"{"body":{ "a" : "\u00fc\u00fc34" } }"#),
    ("post_card", r#"{"body":{ "a" : "\u00fc3456\n" } }"#),
    ("post_card", r#"{"body":{"a":"ü3456\n1"}}"#),
    ("end_call", r#"{"id":"spaces/x:y"}"#),
    ("end_call", "{}"),
    ("delete_thing", r#"{"id":"%2e"}"#),
];

/// JSON text with a line for each member, and for each item of a list.
fn text(found: &Value) -> String {
    let lines = |items: &[Value]| items.iter().map(Value::to_string).collect::<Vec<_>>().join(",\n");
    let member = |(name, value): (&String, &Value)| match value {
        Value::Array(items) => format!("{}: [\n{}\n]", json!(name), lines(items)),
        value => format!("{}: {value}", json!(name)),
    };
    match found {
        Value::Array(items) => format!("[\n{}\n]", lines(items)),
        Value::Object(members) => format!("{{\n{}\n}}", members.iter().map(member).collect::<Vec<_>>().join(",\n")),
        other => other.to_string(),
    }
}

fn compare(name: &str, found: &Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/shared").join(name);
    let text = text(found) + "\n";
    if env::var_os("UPDATE").is_some() {
        fs::write(&path, &text).expect("the file can be written");
    }
    let known = fs::read_to_string(&path).expect("the file is there");
    assert!(known == text, "{name} is not what the table says; `UPDATE=1` writes it anew");
}

#[test]
fn the_requests_are_those_of_the_shared_cases() {
    let gateway = Gateway::new();
    let cases = INPUTS.iter().map(|(operation, input)| {
        let answer = answer::of(&gateway, invoke(&CONNECTOR, operation, input));
        json!({"operation": operation, "input": input, "answer": answer})
    });
    compare("cases.json", &cases.collect());
}

#[test]
fn the_manifest_is_the_shared_one() {
    let manifest = connector_sdk::run::manifest(&CONNECTOR);
    let imprint = &manifest.imprint;
    compare(
        "manifest.json",
        &json!({
            "identifier": manifest.identifier,
            "version": manifest.version,
            "title": manifest.title,
            "description": manifest.description,
            "imprint": {
                "license": imprint.license, "homepage": imprint.homepage, "author": imprint.author, "icon": imprint.icon,
            },
            "auth": auth(&manifest.auth),
            "upstreams": manifest.upstreams.iter().map(upstream).collect::<Value>(),
            "rate_limits": manifest.rate_limits.iter().map(|limit| json!({
                "name": limit.name, "requests": limit.requests, "period_seconds": limit.period_seconds,
            })).collect::<Value>(),
            "settings": manifest.settings.iter().map(|setting| json!({
                "name": setting.name, "schema": setting.schema, "default": setting.default, "documentation": setting.documentation,
            })).collect::<Value>(),
            "operations": manifest.operations.iter().map(operation).collect::<Value>(),
        }),
    );
}

#[test]
fn the_declarations_of_rows_are_the_shared_ones() {
    let declared = CONNECTOR
        .operations
        .iter()
        .filter_map(|operation| Some(json!({"operation": operation.path, "row": Declaration::from(operation.row?)})));
    compare("declarations.json", &declared.collect());
}

#[test]
fn the_declarations_of_pages_are_the_shared_ones() {
    let declared = CONNECTOR.operations.iter().filter_map(|operation| match operation.about.pages?.next {
        NextPage::LastItem { more, .. } => Some(json!({"operation": operation.path, "more": more})),
        _ => None,
    });
    compare("last_items.json", &declared.collect());
}

#[test]
fn the_inboxes_and_types_of_events_are_the_shared_ones() {
    compare("events.json", &events::of(&CONNECTOR));
}

/// Inputs of the functions that triggers name, and their answers.
#[test]
fn the_answers_of_internal_functions_are_the_shared_ones() {
    let cases = INTERNAL.iter().map(|(operation, input)| {
        let Ok(Outcome::Reply(answer)) = invoke(&CONNECTOR, operation, input) else { panic!("{operation} answers") };
        let answer: Value = serde_json::from_str(&answer).expect("JSON");
        json!({"operation": operation, "input": input, "answer": answer})
    });
    compare("internal.json", &cases.collect());
}

/// The name of a case in the contract, from the name in Rust.
fn case(value: impl std::fmt::Debug) -> String {
    let name = format!("{value:?}").replace("FormField", "form-field");
    name.rsplit("::").next().unwrap_or_default().to_lowercase()
}

fn auth(scheme: &wit::AuthScheme) -> Value {
    let wit::AuthScheme::Oauth2(client) = scheme else { panic!("the table has OAuth 2.0") };
    assert!(client.revocation.is_none() && client.identity.is_some());
    let identity = client.identity.as_ref().map(|identity| {
        json!({"operation": identity.operation, "id": identity.id, "email": identity.email, "name": identity.name})
    });
    json!({"tag": "oauth2", "val": {
        "provider": client.provider,
        "authorization_url": client.authorization_url,
        "token_url": client.token_url,
        "refresh_url": client.refresh_url,
        "revocation": null,
        "scopes": client.scopes,
        "scope_separator": client.scope_separator,
        "scope_parameter": client.scope_parameter,
        "authorization_parameters": client.authorization_parameters,
        "token_parameters": client.token_parameters,
        "pkce": client.pkce,
        "client_authentication": case(client.client_authentication),
        "token_pointer": client.token_pointer,
        "default_lifetime_seconds": client.default_lifetime_seconds,
        "form_field": client.form_field,
        "revokes_replaced_grants": client.revokes_replaced_grants,
        "identity": identity,
    }})
}

fn upstream(upstream: &wit::Upstream) -> Value {
    json!({
        "name": upstream.name,
        "base_url": upstream.base_url,
        "credential": case(upstream.credential),
        "link_hosts": upstream.link_hosts,
        "pacing": upstream.pacing.as_ref().map(|pacing| json!({
            "interval_ms": pacing.interval_ms, "concurrency": pacing.concurrency, "max_wait_ms": pacing.max_wait_ms,
        })),
    })
}

fn operation(operation: &wit::Operation) -> Value {
    let next = |pages: &wit::Pagination| match &pages.next {
        wit::NextPage::Cursor(pointer) => json!({"tag": "cursor", "val": pointer}),
        wit::NextPage::Link(link) => {
            json!({"tag": "link", "val": {"pointer": link.pointer, "parameter": link.parameter}})
        }
        wit::NextPage::PageNumber(first) => json!({"tag": "page-number", "val": first}),
        wit::NextPage::Offset => json!({"tag": "offset"}),
    };
    json!({
        "path": operation.path,
        "summary": operation.summary,
        "description": operation.description,
        "input_schema": operation.input_schema,
        "example": operation.example,
        "envelope": operation.envelope,
        "effect": case(operation.effect),
        "answer": case(operation.answer),
        "answer_schema": operation.answer_schema,
        "answer_example": operation.answer_example,
        "pagination": operation.pagination.as_ref().map(|pages| {
            json!({"items": pages.items, "next": next(pages), "input": pages.input})
        }),
        "background": operation.background,
        "immediate": operation.immediate,
        "rate_limit": operation.rate_limit,
    })
}
