//! The documents connector against a stand-in for Google: exports and large documents within the
//! sandbox's limits.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use support::{Dialect, Reply};

use super::{Connected, google_claims};

fn connected() -> Connected {
    let upstreams = [("docs", "/docs/v1"), ("drive", "/drive/v3"), ("oauth2", "/oauth2/v2")];
    Connected::start("workspace_docs", Dialect::google(), &upstreams, "", google_claims)
}

/// The export of a document for which Google returns these bytes.
fn export(connected: &Connected, mime_type: &'static str, content: Vec<u8>) -> support::Answer {
    connected.provider.on_api(move |_, _| Reply::typed(mime_type, content.clone()));
    connected.call("export_document", json!({"document_id": "1aBcD", "mime_type": mime_type}))
}

#[test]
fn an_export_is_a_file_in_json_and_a_text_has_its_text() {
    let connected = connected();
    let file = export(&connected, "text/markdown", "\u{FEFF}# Grüße\n".into()).ok();
    let expected = json!({
        "file_name": "1aBcD.md", "content_type": "text/markdown", "size": 13, "text": "# Grüße\n",
        "content_base64": STANDARD.encode("\u{FEFF}# Grüße\n"),
    });
    assert_eq!(file, expected);
    let file = export(&connected, "application/pdf", b"%PDF\xFF".to_vec()).ok();
    let expected = json!({
        "file_name": "1aBcD.pdf", "content_type": "application/pdf", "size": 5, "content_base64": STANDARD.encode(b"%PDF\xFF"),
    });
    assert_eq!(file, expected);
    let file = export(&connected, "application/zip", Vec::new()).ok();
    assert_eq!((&file["size"], &file["content_base64"]), (&json!(0), &json!("")));
    let paths: Vec<String> = connected.provider.api_calls().iter().map(|seen| seen.path.clone()).collect();
    assert!(paths.last().unwrap().ends_with("/drive/v3/files/1aBcD/export"), "{paths:?}");
}

#[test]
fn an_export_has_at_most_ten_megabytes() {
    let connected = connected();
    // The largest text is in the memory of the sandbox twice.
    for mime_type in ["text/plain", "application/pdf"] {
        let file = export(&connected, mime_type, vec![b'a'; 10 << 20]).ok();
        assert_eq!(file["size"], 10 << 20);
        let text = file["text"].as_str().map(str::len);
        assert_eq!(text, (mime_type == "text/plain").then_some(10 << 20));
        export(&connected, mime_type, vec![b'a'; (10 << 20) + 1]).problem(413, "answer-too-large");
    }
}

/// A document with so many paragraphs, each with text in two styles.
fn document(paragraphs: usize) -> Value {
    let content = (0..paragraphs).map(|number| {
        let start = 1 + number * 60;
        json!({"startIndex": start, "endIndex": start + 60, "paragraph": {
            "elements": [
                {"startIndex": start, "endIndex": start + 30, "textRun": {"content": "a".repeat(30), "textStyle": {
                    "bold": true,
                    "foregroundColor": {"color": {"rgbColor": {"red": 0.5, "green": 0.25, "blue": 0.125}}},
                    "weightedFontFamily": {"fontFamily": "Arial", "weight": 400},
                }}},
                {"startIndex": start + 30, "endIndex": start + 60, "textRun": {
                    "content": format!("{}\n", "b".repeat(29)), "textStyle": {"italic": true},
                }},
            ],
            "paragraphStyle": {"namedStyleType": "NORMAL_TEXT", "direction": "LEFT_TO_RIGHT", "headingId": "h.1"},
        }})
    });
    json!({"documentId": "1aBcD", "revisionId": "r1", "body": {"content": content.collect::<Vec<_>>()}})
}

#[test]
fn a_long_document_is_copied_and_replaced_within_the_limits_of_the_sandbox() {
    let connected = connected();
    // Some 300 pages.
    let paragraphs = 10_000;
    let source = document(paragraphs);
    connected.provider.on_api(move |seen, _| match seen.method.as_str() {
        "GET" => Reply::json(source.clone()),
        _ => Reply::json(json!({"documentId": "1aBcD", "replies": [], "writeControl": {"requiredRevisionId": "r2"}})),
    });
    let input = json!({
        "source_id": "1aBcD", "start_index": 1, "end_index": 1 + paragraphs * 60, "destination_id": "1xYz", "destination_index": 1,
    });
    let answer = connected.call("copy_content", input).ok();
    assert_eq!(
        answer["copied"],
        json!({"characters": paragraphs * 60, "paragraphs": paragraphs, "tables": 0, "images": 0})
    );
    assert_eq!(answer["revision_id"], "r2");

    let markdown = format!("{}\n\n", "Some **bold** text and `code`.").repeat(paragraphs);
    let answer =
        connected.call("replace_content_with_markdown", json!({"document_id": "1aBcD", "markdown": markdown})).ok();
    assert_eq!(answer["paragraphs"], paragraphs);
    let seen = connected.provider.api_calls();
    let body: Value = serde_json::from_slice(&seen.last().unwrap().body).unwrap();
    assert_eq!(body["writeControl"], json!({"requiredRevisionId": "r1"}));
    assert_eq!(body["requests"].as_array().unwrap().len(), answer["replies"].as_u64().unwrap() as usize);
}

#[test]
fn a_document_that_changed_meanwhile_is_a_conflict() {
    let connected = connected();
    connected.provider.on_api(|seen, _| match seen.method.as_str() {
        "GET" => Reply::json(document(1)),
        _ => Reply::json(json!({"error": {"code": 400, "status": "FAILED_PRECONDITION"}})).status(400),
    });
    let answer = connected.call("replace_content_with_markdown", json!({"document_id": "1aBcD", "markdown": "x"}));
    answer.problem(409, "conflict");
}
