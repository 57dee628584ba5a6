//! The request of each row, and the answers to a copy. The crate `connector-microsoft` tests
//! `userinfo` further.

use connector_sdk::http::{Body, Error, Method};
use connector_sdk::testing::{Answer, Gateway, about, forwarded, invoke};
use connector_sdk::{Fault, Outcome};

use crate::CONNECTOR;

/// The path of a row's request.
fn path(operation: &str, input: &str) -> String {
    forwarded(&CONNECTOR, operation, input).path
}

/// The JSON body of a row's request.
fn body(operation: &str, input: &str) -> String {
    match forwarded(&CONNECTOR, operation, input).body {
        Some(Body::Json(text)) => text,
        other => panic!("{operation}: {other:?}"),
    }
}

#[test]
fn a_folder_is_not_replaced_unless_the_caller_says_so() {
    let input = r#"{"drive_id":"d","parent_item_id":"p","name":"n"}"#;
    assert_eq!(body("create_folder", input), r#"{"folder":{},"name":"n","@microsoft.graph.conflictBehavior":"fail"}"#);
}

#[test]
fn a_link_has_all_that_the_caller_says_about_it() {
    let input = r#"{"drive_id":"d","item_id":"i","type":"edit","scope":"anonymous","expiration_date_time":"2026-12-01T00:00:00Z","password":"p\"w"}"#;
    assert_eq!(
        body("create_sharing_link", input),
        r#"{"type":"edit","scope":"anonymous","expirationDateTime":"2026-12-01T00:00:00Z","password":"p\"w"}"#
    );
    let schema = about(&CONNECTOR, "create_sharing_link").input_schema;
    assert!(schema.contains(r#""password":{"type":["string","null"],"writeOnly":true"#), "{schema}");
}

#[test]
fn a_download_can_be_converted() {
    assert_eq!(
        path("download_item", r#"{"drive_id":"d","item_id":"i","query":{"format":"pdf"}}"#),
        "/drives/d/items/i/content?format=pdf"
    );
}

#[test]
fn quotes_of_a_search_text_are_doubled() {
    assert_eq!(path("search", r#"{"q":"it's"}"#), "/me/drive/search(q='it''s')");
    assert_eq!(path("search_in_drive", r#"{"drive_id":"d","q":"a/b'"}"#), "/drives/d/root/search(q='a%2Fb''')");
}

#[test]
fn searches_and_counts_are_eventually_consistent() {
    let headers = |query: &str| forwarded(&CONNECTOR, "list_drives", &format!(r#"{{"query":{query}}}"#)).headers;
    let eventual = [("ConsistencyLevel".to_owned(), "eventual".to_owned())];
    assert_eq!(headers(r#"{"$search":"x"}"#), eventual);
    assert_eq!(headers(r#"{"$count":true}"#), eventual);
    assert_eq!(headers(r#"{"$count":false,"$skip":1}"#), []);
}

#[test]
fn lists_continue_with_a_token() {
    for (operation, input) in [
        ("list_drives", "/query/$skiptoken"),
        ("list_children", "/query/$skiptoken"),
        ("search_in_drive", "/query/$skiptoken"),
        ("search", "/query/$skiptoken"),
        ("track_changes", "/query/token"),
    ] {
        let about = CONNECTOR.operations.iter().find(|known| known.path == operation).expect("a row").about;
        assert_eq!(about.pages.map(|pages| (pages.items, pages.input)), Some(("/value", input)), "{operation}");
    }
    let input = r#"{"drive_id":"d","item_id":"root","query":{"token":"MzslMjM0;ab=","$skiptoken":"x y"}}"#;
    assert_eq!(path("track_changes", input), "/drives/d/items/root/delta?token=MzslMjM0%3Bab%3D&$skiptoken=x%20y");
}

#[test]
fn an_id_stays_within_its_segment() {
    assert_eq!(path("get_item", r#"{"drive_id":"b!a/b","item_id":"x?y"}"#), "/drives/b%21a%2Fb/items/x%3Fy");
    for (input, pointer) in [
        (r#"{"drive_id":"..","item_id":"x"}"#, "/drive_id"),
        (r#"{"drive_id":"d.1","item_id":"../x"}"#, "/item_id"),
        (r#"{"drive_id":"d","item_id":""}"#, "/item_id"),
    ] {
        let Err(Fault::InvalidInput(violations)) = invoke(&CONNECTOR, "get_item", input) else { panic!("{input}") };
        assert_eq!(violations[0].pointer, pointer);
    }
}

#[test]
fn a_copy_or_a_change_needs_a_new_parent_or_a_new_name() {
    let gateway = Gateway::new();
    for operation in ["copy_item", "update_item"] {
        let input = r#"{"drive_id":"d","item_id":"i","name":null,"parent_reference":null}"#;
        let Err(Fault::InvalidInput(violations)) = invoke(&CONNECTOR, operation, input) else { panic!("{operation}") };
        assert_eq!(violations[0].detail, "Give `name`, `parent_reference` or both.");
    }
    let alone = r#"{"drive_id":"d","item_id":"i","children_only":true,"query":{}}"#;
    assert!(matches!(invoke(&CONNECTOR, "copy_item", alone), Err(Fault::InvalidInput(_))));
    assert!(gateway.requests().is_empty());
    assert_eq!(
        body("update_item", r#"{"drive_id":"d","item_id":"i","parent_reference":{"id":"p", "n":1.0}}"#),
        r#"{"parentReference":{"id":"p", "n":1.0}}"#
    );
}

/// The answer to a copy, if this is Graph's response.
fn copied(answer: Answer) -> Result<Outcome, Fault> {
    let _gateway = Gateway::new().answer(answer);
    invoke(&CONNECTOR, "copy_item", r#"{"drive_id":"d","item_id":"i","name":"n"}"#)
}

#[test]
fn a_copy_is_one_request_with_the_behaviour_on_conflicts_in_its_query() {
    let gateway = Gateway::new().answer(Answer::new(202, ""));
    let input = r#"{"drive_id":"d","item_id":"i","parent_reference":{"driveId":"d2","id":"p"},"name":"n","children_only":true,"include_all_version_history":false,"query":{"@microsoft.graph.conflictBehavior":"rename"}}"#;
    assert!(invoke(&CONNECTOR, "copy_item", input).is_ok());
    let requests = gateway.requests();
    let [request] = requests.as_slice() else { panic!("one request") };
    assert_eq!(
        (request.method, request.path.as_str()),
        (Method::Post, "/drives/d/items/i/copy?@microsoft.graph.conflictBehavior=rename")
    );
    let expected = r#"{"parentReference":{"driveId":"d2","id":"p"},"name":"n","childrenOnly":true,"includeAllVersionHistory":false}"#;
    assert!(matches!(&request.body, Some(Body::Json(text)) if text == expected), "{:?}", request.body);
}

#[test]
fn a_running_copy_has_a_url_for_its_progress() {
    let url = "https://contoso.sharepoint.com/_api/v2.0/monitor/4A3407B5-88FC-4504-8B21-0AABD3412717";
    let begun = copied(Answer::new(202, "").header("Location", url));
    let expected = format!(r#"{{"status":"accepted","monitor_url":"{url}"}}"#);
    assert!(matches!(begun, Ok(Outcome::Reply(text)) if text == expected));
    let begun = copied(Answer::new(202, ""));
    assert!(matches!(begun, Ok(Outcome::Reply(text)) if text == r#"{"status":"accepted","monitor_url":null}"#));
}

#[test]
fn a_copy_that_is_complete_at_once_has_the_item() {
    for status in [200, 201] {
        let item = r#"{"id":"01NEW", "size":35.0,"file":{}}"#;
        let expected = format!(r#"{{"status":"completed","item":{item}}}"#);
        assert!(matches!(copied(Answer::json(status, item)), Ok(Outcome::Reply(text)) if text == expected));
    }
}

#[test]
fn an_answer_to_a_copy_without_an_item_is_an_error() {
    for answer in [Answer::new(200, ""), Answer::json(201, "[]"), Answer::new(204, ""), Answer::new(200, "<html>")] {
        assert!(matches!(copied(answer.clone()), Err(Fault::Http(Error::BadAnswer(_)))), "{answer:?}");
    }
}

#[test]
fn a_refusal_of_graph_keeps_its_status_and_body() {
    let body = r#"{"error":{"code":"nameAlreadyExists","message":"Name already exists"}}"#;
    let Err(Fault::Upstream(failure)) = copied(Answer::json(409, body).header("Retry-After", "7")) else {
        panic!("a refusal")
    };
    assert_eq!((failure.status, failure.body.as_deref(), failure.retry_after_seconds), (409, Some(body), Some(7)));
}

#[test]
fn it_has_what_connectors_of_graph_share() {
    connector_microsoft::testing::check(&CONNECTOR);
}
