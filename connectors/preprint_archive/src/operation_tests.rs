//! The operations, with prepared responses of arXiv.

use connector_sdk::testing::{Answer, Gateway, invoke};
use connector_sdk::{Content, Fault, Outcome};
use serde_json::{Value, json};

use crate::CONNECTOR;

/// 2026-01-02T03:04:05Z
const NOW: u64 = 1_767_323_045_000;

fn feed(total: u64, ids: &[&str]) -> Answer {
    let entries: String = ids
        .iter()
        .map(|id| {
            format!(
                "<entry><id>http://arxiv.org/abs/{id}</id><title>T {id}</title><author><name>N</name></author></entry>"
            )
        })
        .collect();
    Answer::new(
        200,
        format!(
            r#"<feed xmlns="http://www.w3.org/2005/Atom" xmlns:o="http://a9.com/-/spec/opensearch/1.1/">
            <updated>2026-01-02T00:00:00Z</updated><o:itemsPerPage>{}</o:itemsPerPage><o:totalResults>{total}</o:totalResults>
            <o:startIndex>0</o:startIndex>{entries}</feed>"#,
            ids.len()
        ),
    )
}

fn error_feed(status: u16) -> Answer {
    Answer::new(
        status,
        r#"<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>https://arxiv.org/api/errors#x</id>
        <summary>incorrect id format for abc</summary></entry></feed>"#,
    )
}

fn reply(operation: &str, input: &str) -> Value {
    match invoke(&CONNECTOR, operation, input) {
        Ok(Outcome::Reply(text)) => serde_json::from_str(&text).expect("JSON"),
        other => panic!("{operation}: {other:?}"),
    }
}

fn fault(operation: &str, input: &str) -> Fault {
    invoke(&CONNECTOR, operation, input).expect_err("a fault")
}

fn paths(gateway: &Gateway) -> Vec<String> {
    gateway.requests().iter().map(|request| format!("{}{}", request.upstream, request.path)).collect()
}

#[test]
fn metadata_is_one_paper() {
    let gateway = Gateway::new().answer(feed(1, &["2104.12255v1"]));
    let paper = reply("get_paper_metadata", r#"{"paper_id":"arXiv:2104.12255v1"}"#);
    assert_eq!(
        paper,
        json!({
            "id": "2104.12255v1", "base_id": "2104.12255", "version": 1, "title": "T 2104.12255v1", "summary": "",
            "published": "", "updated": "", "authors": [{"name": "N", "affiliation": null}], "categories": [],
            "primary_category": null, "comment": null, "journal_ref": null, "doi": null,
            "links": {"abstract": null, "pdf": null, "doi": null},
        })
    );
    assert_eq!(paths(&gateway), ["api/query?id_list=2104.12255v1&max_results=1"]);
    assert!(gateway.requests()[0].headers.is_empty());
}

#[test]
fn a_paper_that_does_not_exist_is_not_found() {
    let _gateway = Gateway::new().answer(feed(0, &[]));
    assert!(matches!(fault("get_paper_metadata", r#"{"paper_id":"0000.0000"}"#), Fault::NotFound(_)));
}

#[test]
fn input_that_arxiv_refuses_is_invalid_input() {
    for status in [200, 400] {
        let _gateway = Gateway::new().answer(error_feed(status));
        let Fault::InvalidInput(violations) = fault("get_paper_metadata", r#"{"paper_id":"0000.0000"}"#) else {
            panic!("{status}")
        };
        assert_eq!(violations[0].pointer, "/paper_id");
        assert!(violations[0].detail.contains("incorrect id format for abc"));
    }
}

#[test]
fn a_wrong_id_is_refused_before_the_call() {
    let gateway = Gateway::new();
    for operation in ["get_paper_metadata", "download_paper"] {
        assert!(matches!(fault(operation, r#"{"paper_id":"../x"}"#), Fault::InvalidInput(_)));
    }
    assert!(gateway.requests().is_empty());
}

#[test]
fn a_response_that_is_not_a_feed_is_a_failure_of_arxiv() {
    let _gateway = Gateway::new()
        .answer(Answer::new(200, "Rate exceeded."))
        .answer(Answer::new(503, "").header("Retry-After", "30"));
    let Fault::Upstream(failure) = fault("search_papers", r#"{"title":"x"}"#) else { panic!("upstream") };
    assert_eq!(failure.status, 502);
    let Fault::Upstream(failure) = fault("search_papers", r#"{"title":"x"}"#) else { panic!("upstream") };
    assert_eq!((failure.status, failure.retry_after_seconds), (503, Some(30)));
}

#[test]
fn a_search_answers_with_its_page() {
    let gateway = Gateway::new().answer(feed(3, &["2104.00001v1", "2104.00002v2"]));
    let input = r#"{"search_query":"zero","category":"cs.CR","id_list":["2104.00001","arXiv:2104.00002"],"max_results":2,
        "sort_by":"submittedDate","sort_order":"ascending"}"#;
    let page = reply("search_papers", input);
    assert_eq!((&page["total_results"], &page["start"], &page["items_per_page"]), (&json!(3), &json!(0), &json!(2)));
    assert_eq!(page["query"], "(all:\"zero\") AND (cat:cs.CR)");
    assert_eq!((&page["next_start"], &page["updated"]), (&json!(2), &json!("2026-01-02T00:00:00Z")));
    assert_eq!(page["papers"].as_array().map(Vec::len), Some(2));
    assert_eq!(
        paths(&gateway),
        ["api/query?search_query=%28all%3A%22zero%22%29%20AND%20%28cat%3Acs.CR%29&id_list=2104.00001%2C2104.00002\
          &max_results=2&sortBy=submittedDate&sortOrder=ascending"]
    );
}

#[test]
fn the_last_page_has_no_next() {
    let _gateway = Gateway::new().answer(feed(2, &["2104.00001v1", "2104.00002v2"])).answer(feed(0, &[]));
    assert_eq!(reply("search_papers", r#"{"title":"x"}"#)["next_start"], Value::Null);
    let empty = reply("search_papers", r#"{"title":"x"}"#);
    assert_eq!((&empty["papers"], &empty["next_start"]), (&json!([]), &Value::Null));
}

#[test]
fn a_page_that_is_empty_by_mistake_is_requested_again() {
    let gateway = Gateway::new().answer(feed(5, &[])).answer(feed(5, &[])).answer(feed(5, &["2104.00003v1"]));
    let page = reply("search_papers", r#"{"title":"x","start":2}"#);
    assert_eq!(page["papers"].as_array().map(Vec::len), Some(1));
    assert_eq!(paths(&gateway).len(), 3);
}

#[test]
fn a_page_that_stays_empty_is_an_error_with_its_position_and_never_the_end() {
    let gateway = Gateway::new().answer(feed(5, &[])).answer(feed(5, &[])).answer(feed(5, &[]));
    let Fault::Upstream(fault) = fault("search_papers", r#"{"title":"x","start":2}"#) else { panic!("no fault") };
    assert_eq!(fault.status, 502);
    assert!(fault.detail.contains("5 results") && fault.detail.contains("`start` 2"), "{}", fault.detail);
    assert_eq!(gateway.requests().len(), 3);
}

#[test]
fn a_position_behind_the_last_result_is_the_end() {
    let gateway = Gateway::new().answer(feed(5, &[]));
    assert_eq!(reply("search_papers", r#"{"title":"x","start":5}"#)["next_start"], Value::Null);
    assert_eq!(gateway.requests().len(), 1);
}

#[test]
fn updates_that_break_off_are_an_error_with_their_position() {
    let ids: Vec<String> = (0..500).map(|number| format!("2601.{number:05}v1")).collect();
    let slice = feed(900, &ids.iter().map(String::as_str).collect::<Vec<_>>());
    let gateway =
        Gateway::new().now(NOW).answer(slice).answer(feed(900, &[])).answer(feed(900, &[])).answer(feed(900, &[]));
    let fault = fault("get_daily_updates", r#"{"categories":["cs"],"max_results":2000}"#);
    let Fault::Upstream(fault) = fault else { panic!("{fault:?}") };
    assert!(fault.detail.contains("900 results") && fault.detail.contains("position 500"), "{}", fault.detail);
    assert_eq!(gateway.requests().len(), 4);
}

#[test]
fn a_search_needs_a_criterion_and_a_start_that_arxiv_supports() {
    let gateway = Gateway::new();
    assert!(matches!(fault("search_papers", "{}"), Fault::InvalidInput(_)));
    assert!(matches!(fault("search_papers", r#"{"title":"x","start":29999,"max_results":2}"#), Fault::InvalidInput(_)));
    assert!(gateway.requests().is_empty());
}

#[test]
fn a_search_by_ids_alone_sends_no_query() {
    let gateway = Gateway::new().answer(feed(1, &["2104.00001v1"]));
    assert_eq!(reply("search_papers", r#"{"id_list":["2104.00001"]}"#)["query"], Value::Null);
    assert_eq!(paths(&gateway), ["api/query?id_list=2104.00001"]);
}

#[test]
fn updates_are_those_of_the_last_day() {
    let gateway = Gateway::new().now(NOW).answer(feed(2, &["2601.00002v1", "2601.00001v1"]));
    let updates = reply("get_daily_updates", r#"{"categories":["cs.AI","hep-th","math"],"max_results":50}"#);
    assert_eq!((&updates["from"], &updates["to"]), (&json!("2026-01-01T03:04:00Z"), &json!("2026-01-02T03:04:00Z")));
    assert_eq!(updates["categories"], json!(["cs.AI", "hep-th", "math"]));
    assert_eq!((&updates["total_results"], updates["papers"].as_array().map(Vec::len)), (&json!(2), Some(2)));
    assert_eq!(
        paths(&gateway),
        ["api/query?search_query=%28cat%3Acs.AI%20OR%20cat%3Ahep-th%20OR%20cat%3Amath.%2A%29%20AND%20\
          submittedDate%3A%5B202601010304%20TO%20202601020304%5D&start=0&max_results=50&sortBy=submittedDate&sortOrder=descending"]
    );
}

#[test]
fn updates_come_in_slices_and_each_paper_once() {
    let ids: Vec<String> = (0..1001).map(|number| format!("2601.{number:05}v1")).collect();
    let slice = |range: std::ops::Range<usize>| feed(1001, &ids[range].iter().map(String::as_str).collect::<Vec<_>>());
    // The list moved by one paper between the first two requests.
    let gateway = Gateway::new().now(NOW).answer(slice(0..500)).answer(slice(499..999)).answer(slice(1000..1001));
    let updates = reply("get_daily_updates", r#"{"categories":["cs"],"max_results":2000}"#);
    assert_eq!(updates["papers"].as_array().map(Vec::len), Some(1000));
    let starts: Vec<String> = paths(&gateway)
        .iter()
        .filter_map(|path| Some(path.split_once("&start=")?.1.split_once("&sortBy")?.0.to_owned()))
        .collect();
    assert_eq!(starts, ["0&max_results=500", "500&max_results=500", "1000&max_results=500"]);
}

#[test]
fn updates_stop_at_the_number_that_the_caller_gave() {
    let gateway = Gateway::new().now(NOW).answer(feed(10, &["2601.00002v1", "2601.00001v1"]));
    let updates = reply("get_daily_updates", r#"{"categories":["cs.AI"],"max_results":2}"#);
    assert_eq!((&updates["total_results"], updates["papers"].as_array().map(Vec::len)), (&json!(10), Some(2)));
    assert_eq!(gateway.requests().len(), 1);
}

#[test]
fn every_unknown_category_is_reported() {
    let gateway = Gateway::new();
    let Fault::InvalidInput(violations) = fault("get_daily_updates", r#"{"categories":["cs.AI","cs.XX","cmp-lg"]}"#)
    else {
        panic!("invalid input")
    };
    let pointers: Vec<&str> = violations.iter().map(|violation| violation.pointer.as_str()).collect();
    assert_eq!(pointers, ["/categories/1", "/categories/2"]);
    assert!(gateway.requests().is_empty());
}

#[test]
fn a_pdf_is_streamed_with_its_id_and_digest() {
    let gateway = Gateway::new()
        .setting("max_download_mb", "2")
        .setting("contact", "\"mailto:ops@example.org\"")
        .answer(Answer::new(200, "%PDF-1.5 …").header("Content-Type", "application/pdf"));
    let Ok(Outcome::File(file)) = invoke(&CONNECTOR, "download_paper", r#"{"paper_id":"arXiv:hep-ex/0307015v1"}"#)
    else {
        panic!("a file")
    };
    assert!(matches!(file.content, Content::Response(_)));
    assert_eq!((file.file_name.as_str(), file.content_type.as_str()), ("hep-ex_0307015v1.pdf", "application/pdf"));
    assert_eq!(
        (file.members.as_str(), file.digest, file.max_bytes),
        (r#"{"paper_id":"hep-ex/0307015v1"}"#, true, 2 << 20)
    );
    assert_eq!(paths(&gateway), ["files/hep-ex/0307015v1"]);
    let (name, value) = &gateway.requests()[0].headers[0];
    assert_eq!(name, "User-Agent");
    assert!(value.ends_with("(mailto:ops@example.org)"), "{value}");
}

fn page(text: &str) -> Answer {
    Answer::new(200, format!("<!DOCTYPE html><html>{text}</html>")).header("content-type", "text/html; charset=utf-8")
}

#[test]
fn a_paper_without_a_pdf_is_not_found() {
    for answer in [
        Answer::new(404, "gone"),
        page("<title>No file for 2104.12255</title><h1>File unavailable for 2104.12255</h1>"),
        page("<h1>PDF unavailable for 2104.12255</h1>"),
        page("<p>No PDF: the paper is withdrawn</p>"),
    ] {
        let _gateway = Gateway::new().answer(answer);
        assert!(matches!(fault("download_paper", r#"{"paper_id":"2104.12255"}"#), Fault::NotFound(_)));
    }
}

#[test]
fn another_page_is_a_failure_of_arxiv() {
    let elsewhere = Answer::new(200, "PDF unavailable").header("content-type", "text/plain");
    for answer in [page("<title>Maintenance</title>Service unavailable"), page("<h1>Are you a robot?</h1>"), elsewhere]
    {
        let _gateway = Gateway::new().answer(answer);
        let Fault::Upstream(failure) = fault("download_paper", r#"{"paper_id":"2104.12255"}"#) else {
            panic!("upstream")
        };
        assert_eq!(failure.status, 502);
    }
}

#[test]
fn a_file_that_is_not_a_pdf_is_a_failure_of_arxiv() {
    let _gateway = Gateway::new().answer(Answer::new(200, "PK\u{3}\u{4}")).answer(Answer::new(500, ""));
    for status in [502, 500] {
        let Fault::Upstream(failure) = fault("download_paper", r#"{"paper_id":"2104.12255"}"#) else {
            panic!("upstream")
        };
        assert_eq!(failure.status, status);
    }
}
