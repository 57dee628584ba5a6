//! Uploads of files.

use connector_sdk::http::{Body, Method};
use connector_sdk::testing::{forwarded, invoke};
use connector_sdk::{Fault, Request};
use serde_json::{Value, json};

use crate::CONNECTOR;

fn input(changes: &Value) -> String {
    let mut input =
        json!({"drive_id": "b!abc", "parent_item_id": "root", "file_name": "a.txt", "content_base64": "SGVsbG8="});
    for (name, value) in changes.as_object().expect("an object") {
        input[name] = value.clone();
    }
    input.to_string()
}

fn uploaded(changes: &Value) -> Request {
    forwarded(&CONNECTOR, "upload_file", &input(changes))
}

/// The pointer of the one violation.
fn refused(changes: &Value) -> String {
    match invoke(&CONNECTOR, "upload_file", &input(changes)) {
        Err(Fault::InvalidInput(violations)) => violations[0].pointer.clone(),
        other => panic!("{changes}: {other:?}"),
    }
}

/// Media type and bytes of the body.
fn body(request: &Request) -> (&str, &[u8]) {
    match &request.body {
        Some(Body::Bytes(typed)) => (&typed.content_type, &typed.bytes),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_bytes_go_to_the_name_in_the_folder() {
    let request = uploaded(&json!({"content_type": "text/plain; charset=utf-8"}));
    assert_eq!((request.method, request.upstream.as_str()), (Method::Put, "graph"));
    assert_eq!(request.path, "/drives/b%21abc/items/root:/a.txt:/content");
    assert_eq!(body(&request), ("text/plain; charset=utf-8", &b"Hello"[..]));
    assert!(request.headers.is_empty());
}

#[test]
fn bytes_without_a_media_type_are_an_octet_stream() {
    for changes in [json!({}), json!({"content_type": null})] {
        assert_eq!(body(&uploaded(&changes)).0, "application/octet-stream");
    }
}

#[test]
fn an_empty_text_is_an_empty_file() {
    assert_eq!(body(&uploaded(&json!({"content_base64": ""}))), ("application/octet-stream", &b""[..]));
}

#[test]
fn every_byte_arrives() {
    let bytes: Vec<u8> = (0..=255).collect();
    let content = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &bytes);
    assert!(content.contains('+') && content.contains('/'), "the alphabet of section 4");
    assert_eq!(body(&uploaded(&json!({"content_base64": content}))).1, bytes);
    let escaped = input(&json!({"content_base64": "////"})).replace("////", r"\/\/\/\/");
    assert_eq!(body(&forwarded(&CONNECTOR, "upload_file", &escaped)).1, [255; 3]);
}

#[test]
fn content_that_is_not_base64_with_padding_is_refused() {
    for content in ["SGVsbG8", "SGVsbG8==", "SGVs bG8=", "SGVs\nbG8=", "SGVsbG9=", "_-__", "Ä", "=", "SGVsbG8=SGVsbG8="]
    {
        assert_eq!(refused(&json!({"content_base64": content})), "/content_base64", "{content}");
    }
}

#[test]
fn a_media_type_that_cannot_be_a_header_is_refused() {
    for media_type in ["", "text/plain\r\nX-Evil: 1", "text/plän", "text/plain\u{7f}"] {
        assert_eq!(refused(&json!({"content_type": media_type})), "/content_type", "{media_type:?}");
    }
}

#[test]
fn a_file_name_stays_one_segment() {
    let path = |name: &str| uploaded(&json!({"file_name": name})).path;
    assert_eq!(
        path("Plan 1 (ü) 100%#.docx"),
        "/drives/b%21abc/items/root:/Plan%201%20%28%C3%BC%29%20100%25%23.docx:/content"
    );
    assert_eq!(path("..."), "/drives/b%21abc/items/root:/...:/content");
}

#[test]
fn names_and_ids_that_would_change_the_path_are_refused() {
    for field in ["drive_id", "parent_item_id", "file_name"] {
        for value in ["", ".", "..", "../x"] {
            assert_eq!(refused(&json!({ field: value })), format!("/{field}"), "{value}");
        }
    }
}

#[test]
fn the_behaviour_on_conflicts_is_a_query_parameter() {
    let path = uploaded(&json!({"query": {"@microsoft.graph.conflictBehavior": "rename"}})).path;
    assert_eq!(path, "/drives/b%21abc/items/root:/a.txt:/content?@microsoft.graph.conflictBehavior=rename");
    assert!(!uploaded(&json!({"query": {"@microsoft.graph.conflictBehavior": null}})).path.contains('?'));
}
