//! Mistakes of callers of `preprint_archive`, and failures of the service.

use serde_json::json;
use support::{Gateway, Reply, Setup, Upstream, arxiv};

fn archive() -> (Gateway, Upstream) {
    let service = arxiv::start(3);
    let gateway = Setup::new()
        .shipped("preprint_archive")
        .upstream("preprint_archive", "api", &format!("{}/api", service.url()))
        .config(&format!("upstreams.files = \"{}/pdf\"", service.url()))
        .config("settings = { max_download_mb = 1 }\nlimits.timeout_s = 10")
        .start();
    (gateway, service)
}

fn pointers(violations: &[(String, String)]) -> Vec<&str> {
    violations.iter().map(|(pointer, _)| pointer.as_str()).collect()
}

#[test]
fn a_paper_id_of_the_wrong_form_never_reaches_the_service() {
    let (gateway, service) = archive();
    for id in ["", "2401", "2401.00001v", "../etc/passwd", "2401.00001?x=1", "hep-ex/03"] {
        for operation in ["get_paper_metadata", "download_paper"] {
            let answer = gateway.call(&format!("preprint_archive/{operation}"), json!({"paper_id": id}));
            assert_eq!(pointers(&answer.violations()), ["/paper_id"], "{id}");
        }
    }
    assert!(service.seen().is_empty());
}

#[test]
fn a_paper_that_the_service_does_not_know_is_not_found() {
    let (gateway, _service) = archive();
    let answer = gateway.call("preprint_archive/get_paper_metadata", json!({"paper_id": "2401.99999"}));
    let problem = answer.problem(404, "resource-not-found");
    assert!(problem["detail"].as_str().unwrap().contains("2401.99999"), "{problem}");
    assert_eq!(answer.header("x-error-source"), "connector");
}

#[test]
fn a_pdf_that_does_not_exist_is_not_found() {
    let (gateway, service) = archive();
    service.reply("/pdf/2401.00002", Reply::typed("text/html", "<html>No PDF: the paper is withdrawn</html>"));
    for id in ["2401.99999", "2401.00002"] {
        gateway.call("preprint_archive/download_paper", json!({"paper_id": id})).problem(404, "resource-not-found");
    }
}

#[test]
fn an_error_feed_of_the_service_is_a_violation_with_its_text() {
    let (gateway, _service) = archive();
    let answer = gateway.call("preprint_archive/get_paper_metadata", json!({"paper_id": "hep-ex/0000000"}));
    let violations = answer.violations();
    assert_eq!(pointers(&violations), ["/paper_id"]);
    assert!(violations[0].1.contains("incorrect id format for hep-ex/0000000"), "{violations:?}");
}

#[test]
fn a_search_without_criteria_is_refused_with_the_possible_ones() {
    let (gateway, service) = archive();
    let violations = gateway.call("preprint_archive/search_papers", json!({})).violations();
    assert_eq!(pointers(&violations), [""]);
    for field in
        ["search_query", "category", "title", "author", "abstract", "submitted_after", "submitted_before", "id_list"]
    {
        assert!(violations[0].1.contains(field), "{violations:?}");
    }
    assert!(service.seen().is_empty());
}

#[test]
fn every_violation_of_a_search_is_reported_at_once() {
    let (gateway, service) = archive();
    let body = json!({
        "serch_query": "x", "start": -1, "max_results": 2001, "sort_by": "date", "id_list": "2401.00001",
    });
    let violations = gateway.call("preprint_archive/search_papers", body).violations();
    let mut found = pointers(&violations);
    found.sort_unstable();
    assert_eq!(found, ["/id_list", "/max_results", "/serch_query", "/sort_by", "/start"]);
    let said = |pointer: &str| &violations.iter().find(|(found, _)| found == pointer).unwrap().1;
    assert!(said("/serch_query").contains("`search_query`"), "it names the nearest field: {violations:?}");
    assert!(said("/sort_by").contains("submittedDate"), "it names the choices: {violations:?}");
    assert!(said("/max_results").contains("2000"), "{violations:?}");
    assert!(service.seen().is_empty());
}

#[test]
fn rules_that_a_schema_cannot_express_are_violations_too() {
    let (gateway, service) = archive();
    let cases = [
        (json!({"title": "x", "start": 29_000, "max_results": 2000}), "/start"),
        (json!({"submitted_after": "yesterday"}), "/submitted_after"),
        (json!({"submitted_after": "2024-02-01", "submitted_before": "2024-01-01"}), "/submitted_before"),
        (json!({"category": ["cs.LG", "cs.LG) OR (all:x"]}), "/category/1"),
    ];
    for (body, pointer) in cases {
        let answer = gateway.call("preprint_archive/search_papers", body.clone());
        assert_eq!(pointers(&answer.violations()), [pointer], "{body}");
    }
    assert!(service.seen().is_empty());
}

#[test]
fn an_unknown_category_of_the_daily_updates_is_a_violation_at_its_place() {
    let (gateway, service) = archive();
    let answer =
        gateway.call("preprint_archive/get_daily_updates", json!({"categories": ["cs.LG", "cs.XX", "nonsense"]}));
    assert_eq!(pointers(&answer.violations()), ["/categories/1", "/categories/2"]);
    let many = vec!["cs.LG"; 21];
    for body in [json!({"categories": many}), json!({"categories": []}), json!({"categories": "cs.LG"})] {
        let answer = gateway.call("preprint_archive/get_daily_updates", body);
        assert_eq!(pointers(&answer.violations()), ["/categories"]);
    }
    assert!(service.seen().is_empty());
}

#[test]
fn an_answer_that_is_not_a_feed_is_a_failure_of_the_service() {
    let (gateway, service) = archive();
    let feed = arxiv::feed(1, 0, 1, &[arxiv::FULL_ENTRY.to_owned()]);
    let replies = [
        Reply::typed("text/html", "<html><body>Maintenance</body></html>"),
        Reply::typed("application/atom+xml", ""),
        Reply::typed("application/atom+xml", feed[..feed.len() / 2].to_owned()),
        Reply::typed("application/json", "{}"),
    ];
    for reply in replies {
        service.reply("/api/query", reply);
        let answer = gateway.call("preprint_archive/search_papers", json!({"title": "x"}));
        let problem = answer.problem(502, "upstream-failed");
        assert_eq!(problem["owner"], "provider");
        assert_eq!(answer.header("x-error-source"), "upstream");
    }
}

#[test]
fn a_body_that_breaks_off_is_not_taken_as_complete() {
    let (gateway, service) = archive();
    service.reply("/api/query", Reply::cut_off("application/atom+xml", "<?xml version='1.0'?><feed>"));
    let answer = gateway.call("preprint_archive/search_papers", json!({"title": "x"}));
    assert_eq!(answer.status, 502, "{}", answer.text());
    assert_eq!(answer.header("x-error-source"), "upstream");
}

#[test]
fn a_failure_of_the_service_is_a_bad_gateway_after_some_retries() {
    let (gateway, service) = archive();
    service.reply("/api/query", Reply::typed("text/plain", "down").status(503));
    let problem = gateway.call("preprint_archive/search_papers", json!({"title": "x"})).problem(502, "upstream-failed");
    assert_eq!(problem["upstream"]["status"], 503);
    assert_eq!(problem["retryable"], true);
    assert!(service.seen().len() > 1, "a search is retried");
}

#[test]
fn a_service_that_recovers_is_not_noticed_by_the_caller() {
    let (gateway, service) = archive();
    let left = std::sync::atomic::AtomicUsize::new(1);
    service.on("/api/query", move |_| {
        if left.swap(0, std::sync::atomic::Ordering::Relaxed) == 1 {
            return Reply::empty(503).header("retry-after", "0");
        }
        arxiv::atom(arxiv::feed(1, 0, 1, &[arxiv::FULL_ENTRY.to_owned()]))
    });
    let page = gateway.call("preprint_archive/search_papers", json!({"title": "x"})).ok();
    assert_eq!(page["total_results"], 1);
}

#[test]
fn a_file_that_is_not_a_pdf_is_a_failure_of_the_service() {
    let (gateway, service) = archive();
    service.reply("/pdf/2401.00003", Reply::typed("application/pdf", "Not a PDF"));
    gateway.call("preprint_archive/download_paper", json!({"paper_id": "2401.00003"})).problem(502, "upstream-failed");
}

#[test]
fn a_pdf_over_the_configured_size_is_too_large_whether_it_says_its_size_or_not() {
    let (gateway, service) = archive();
    let mut large = arxiv::PDF.to_vec();
    large.resize(2 << 20, b' ');
    service.reply("/pdf/2401.00004", Reply::typed("application/pdf", large.clone()));
    let large = String::from_utf8(large).unwrap();
    service.reply("/pdf/2401.00005", Reply::pieces("application/pdf", &[&large[..1 << 20], &large[1 << 20..]]));
    for id in ["2401.00004", "2401.00005"] {
        let answer = gateway.call("preprint_archive/download_paper", json!({"paper_id": id}));
        answer.problem(413, "answer-too-large");
    }
}
