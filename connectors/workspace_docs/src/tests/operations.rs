//! The request of each row, and documents as files. The crate `connector-google` tests `userinfo`
//! further.

use connector_sdk::http::{Body, Error, Method};
use connector_sdk::testing::{Answer, Gateway, about, forwarded, invoke, pages, refused};
use connector_sdk::{Content, Fault, Outcome};
use serde_json::{Value, json};

use crate::CONNECTOR;

#[test]
fn lists_have_pages() {
    assert_eq!(
        pages(&CONNECTOR),
        [
            "list_documents: /files, next cursor /nextPageToken, into /page_token",
            "list_comments: /comments, next cursor /nextPageToken, into /page_token",
        ]
    );
}

/// Method, upstream with path, and body of the request that an operation forwards.
fn request(operation: &str, input: &Value) -> (Method, String, Option<String>) {
    let request = forwarded(&CONNECTOR, operation, &input.to_string());
    assert!(request.headers.is_empty(), "{operation}");
    let body = request.body.map(|body| match body {
        Body::Json(text) => text,
        other => panic!("{operation}: {other:?}"),
    });
    (request.method, format!("{}{}", request.upstream, request.path), body)
}

fn example(operation: &str) -> Value {
    serde_json::from_str(&about(&CONNECTOR, operation).example.expect("an example")).expect("JSON")
}

fn violation(operation: &str, input: &Value) -> String {
    refused(&CONNECTOR, operation, &input.to_string())[0].pointer.clone()
}

const DOCUMENTS: &str = "drive/files?q=mimeType%3D%27application%2Fvnd.google-apps.document%27%20and%20trashed%3Dfalse";
const FIELDS: &str = "&supportsAllDrives=true&includeItemsFromAllDrives=true&fields=nextPageToken%2CincompleteSearch%2Cfiles%28id%2Cname%2CmimeType%2CcreatedTime%2CmodifiedTime%2Cowners%28displayName%2CemailAddress%29%2ClastModifyingUser%28displayName%2CemailAddress%29%2Cparents%2CwebViewLink%29";

#[test]
fn the_list_has_documents_only() {
    for (input, expected) in [
        (json!({}), format!("{DOCUMENTS}&pageSize=100{FIELDS}")),
        (json!({"q": "  ", "page_token": "a="}), format!("{DOCUMENTS}&pageSize=100&pageToken=a%3D{FIELDS}")),
        (
            json!({"page_size": 20, "order_by": "modifiedTime desc,name"}),
            format!("{DOCUMENTS}&pageSize=20&orderBy=modifiedTime%20desc%2Cname{FIELDS}"),
        ),
        (
            json!({"q": r#"(name = 'a\')') or name = "(""#}),
            format!(
                "{DOCUMENTS}%20and%20%28%28name%20%3D%20%27a%5C%27%29%27%29%20or%20name%20%3D%20%22%28%22%29&pageSize=100{FIELDS}"
            ),
        ),
    ] {
        assert_eq!(request("list_documents", &input), (Method::Get, expected, None), "{input}");
    }
}

#[test]
fn a_search_stays_within_its_parentheses() {
    for q in ["a) or (b", ")(", "(a", "name = 'a", "name = 'a\\'", "name = \"a", "(name = ')'", "'a' ) or ( 'b'"] {
        assert_eq!(violation("list_documents", &json!({"q": q})), "/q", "{q}");
    }
}

#[test]
fn a_reply_needs_content_or_an_action() {
    let reply = |content: Value, action: Value| json!({"document_id": "d", "comment_id": "c", "content": content, "action": action});
    assert_eq!(violation("create_reply", &reply(Value::Null, Value::Null)), "");
    for (content, action, body) in
        [(json!("Yes"), Value::Null, r#"{"content":"Yes"}"#), (Value::Null, json!("reopen"), r#"{"action":"reopen"}"#)]
    {
        assert_eq!(request("create_reply", &reply(content, action)).2.as_deref(), Some(body));
    }
}

/// Upstream with path, and body.
type Sent = (String, Option<String>);

/// The answer of `create_document`, and its requests.
fn created(input: &Value, answers: &[Answer]) -> (Result<Value, Fault>, Vec<Sent>) {
    let gateway = answers.iter().cloned().fold(Gateway::new(), Gateway::answer);
    let answer = invoke(&CONNECTOR, "create_document", &input.to_string()).map(|outcome| match outcome {
        Outcome::Reply(text) => serde_json::from_str(&text).expect("JSON"),
        other => panic!("{other:?}"),
    });
    let requests = gateway.requests();
    let requests = requests.iter().map(|request| {
        let body = match &request.body {
            Some(Body::Json(text)) => Some(text.clone()),
            _ => None,
        };
        (format!("{}{}", request.upstream, request.path), body)
    });
    (answer, requests.collect())
}

const DOCUMENT: &str = r#"{"documentId":"d1","title":"Minutes","revisionId":"r"}"#;

#[test]
fn a_document_without_a_folder_is_in_the_root_folder() {
    for input in [json!({"title": "Minutes"}), json!({"title": "Minutes", "parent_folder_id": "root"})] {
        let (answer, requests) = created(&input, &[Answer::json(200, DOCUMENT)]);
        assert_eq!(
            answer.expect("an answer"),
            json!({
                "documentId": "d1", "title": "Minutes", "revisionId": "r", "parentFolderId": "root",
                "webViewLink": "https://docs.google.com/document/d/d1/edit",
            })
        );
        assert_eq!(requests, [("docs/documents".to_owned(), Some(r#"{"title":"Minutes"}"#.to_owned()))]);
    }
}

#[test]
fn a_document_in_a_folder_is_a_new_file() {
    let answers = [Answer::json(200, r#"{"id":"d1"}"#), Answer::json(200, DOCUMENT)];
    let (answer, requests) = created(&example("create_document"), &answers);
    let answer = answer.expect("an answer");
    assert_eq!((&answer["parentFolderId"], &answer["revisionId"]), (&json!("0AFolderId"), &json!("r")));
    let body = r#"{"name":"Minutes","mimeType":"application/vnd.google-apps.document","parents":["0AFolderId"]}"#;
    assert_eq!(
        requests,
        [
            ("drive/files?supportsAllDrives=true&fields=id".to_owned(), Some(body.to_owned())),
            ("docs/documents/d1".to_owned(), None),
        ]
    );
}

#[test]
fn a_new_document_that_cannot_be_read_is_answered_all_the_same() {
    // Google refuses it, or does not give a document.
    for document in [Answer::json(503, "{}"), Answer::json(200, "{}")] {
        let (answer, _) = created(&example("create_document"), &[Answer::json(200, r#"{"id":"d1"}"#), document]);
        assert_eq!(
            answer.expect("an answer"),
            json!({
                "documentId": "d1", "title": "Minutes", "parentFolderId": "0AFolderId",
                "webViewLink": "https://docs.google.com/document/d/d1/edit",
            })
        );
    }
}

#[test]
fn a_folder_that_refuses_is_googles_refusal() {
    for status in [403, 404] {
        let (answer, requests) = created(&example("create_document"), &[Answer::json(status, r#"{"error":{}}"#)]);
        assert!(matches!(answer, Err(Fault::Upstream(fault)) if fault.status == status && fault.body.is_some()));
        assert_eq!(requests.len(), 1);
    }
    let (answer, _) = created(&example("create_document"), &[Answer::json(200, "{}")]);
    assert!(matches!(answer, Err(Fault::Http(Error::BadAnswer(_)))));
}

#[test]
fn a_document_is_exported_as_a_file() {
    for (mime_type, extension) in [
        ("application/pdf", "pdf"),
        ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"),
        ("application/epub+zip", "epub"),
        ("application/zip", "zip"),
    ] {
        let gateway = Gateway::new().answer(Answer::new(200, "%PDF"));
        let input = json!({"document_id": "1aBcD", "mime_type": mime_type});
        let Ok(Outcome::File(file)) = invoke(&CONNECTOR, "export_document", &input.to_string()) else {
            panic!("a file")
        };
        assert!(matches!(file.content, Content::Response(_)));
        assert_eq!((file.file_name, file.content_type.as_str()), (format!("1aBcD.{extension}"), mime_type));
        assert_eq!((file.members.as_str(), file.max_bytes), ("", 10 << 20));
        let path = &gateway.requests()[0].path;
        assert!(path.starts_with("/files/1aBcD/export?mimeType=application%2F"), "{path}");
    }
}

#[test]
fn the_export_of_a_text_has_the_text() {
    for (mime_type, extension) in [("text/plain", "txt"), ("text/markdown", "md"), ("text/html", "html")] {
        for (content, text) in
            [("\u{FEFF}a \"b\"\n", r#"{"text":"a \"b\"\n"}"#), ("ä", r#"{"text":"ä"}"#), ("", r#"{"text":""}"#)]
        {
            let _gateway = Gateway::new().answer(Answer::new(200, content));
            let input = json!({"document_id": "d", "mime_type": mime_type});
            let Ok(Outcome::File(file)) = invoke(&CONNECTOR, "export_document", &input.to_string()) else {
                panic!("a file")
            };
            assert_eq!((file.file_name, file.members.as_str()), (format!("d.{extension}"), text));
        }
    }
}

#[test]
fn a_refused_export_is_googles_refusal() {
    let body = r#"{"error":{"code":403,"errors":[{"reason":"exportSizeLimitExceeded"}]}}"#;
    let _gateway = Gateway::new().answer(Answer::json(403, body));
    let outcome = invoke(&CONNECTOR, "export_document", &example("export_document").to_string());
    assert!(
        matches!(outcome, Err(Fault::Upstream(fault)) if fault.status == 403 && fault.body.as_deref() == Some(body))
    );
}

#[test]
fn userinfo_is_the_common_shape() {
    connector_google::testing::check_userinfo(&CONNECTOR);
}
