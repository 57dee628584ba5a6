//! Every operation of `preprint_archive`, against a stand-in that speaks Atom.

mod failures;

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use support::{Gateway, Seen, Setup, Upstream, arxiv, module};

/// A gateway with the connector, and its service. A search finds this many papers.
fn archive(papers: usize) -> (Gateway, Upstream) {
    let service = arxiv::start(papers);
    let gateway = Setup::new()
        .shipped("preprint_archive")
        .upstream("preprint_archive", "api", &format!("{}/api", service.url()))
        .config(&format!("upstreams.files = \"{}/pdf\"", service.url()))
        .start();
    (gateway, service)
}

/// The connector's form of [`arxiv::FULL_ENTRY`].
fn full_paper() -> Value {
    json!({
        "id": "2401.00001v2",
        "base_id": "2401.00001",
        "version": 2,
        "title": "On the Sum of Two & More Things",
        "summary": "We add things, and count <them>.",
        "published": "2024-01-01T00:00:01Z",
        "updated": "2024-02-01T09:30:00Z",
        "authors": [
            {"name": "Ada Example", "affiliation": "University of Examples"},
            {"name": "Émile Sample", "affiliation": null},
        ],
        "categories": [
            {"term": "math.CO", "scheme": "http://arxiv.org/schemas/atom"},
            {"term": "cs.DM", "scheme": "http://arxiv.org/schemas/atom"},
        ],
        "primary_category": "math.CO",
        "comment": "12 pages, 3 figures",
        "journal_ref": "Journal of Examples 1 (2024) 1-12",
        "doi": "10.1000/example.1",
        "links": {
            "abstract": "https://arxiv.org/abs/2401.00001v2",
            "pdf": "https://arxiv.org/pdf/2401.00001v2",
            "doi": "https://dx.doi.org/10.1000/example.1",
        },
    })
}

fn ids(papers: &Value) -> Vec<&str> {
    papers.as_array().unwrap().iter().map(|paper| paper["id"].as_str().unwrap()).collect()
}

#[test]
fn the_metadata_of_a_paper_is_its_entry_as_one_json_object() {
    let (gateway, service) = archive(0);
    let answer = gateway.call("preprint_archive/get_paper_metadata", json!({"paper_id": "2401.00001v2"}));
    assert_eq!(answer.ok(), full_paper());
    assert_eq!(answer.header("content-type"), "application/json");
    let seen = service.seen();
    assert_eq!(seen.len(), 1);
    assert_eq!((seen[0].method.as_str(), seen[0].path.as_str()), ("GET", "/api/query"));
    assert_eq!(seen[0].parameter("id_list").as_deref(), Some("2401.00001v2"));
    assert_eq!(seen[0].parameter("max_results").as_deref(), Some("1"));
    assert_eq!(seen[0].header("user-agent"), concat!("connector-gateway/", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_paper_may_be_named_with_the_prefix_of_the_service_and_without_a_version() {
    let (gateway, service) = archive(0);
    let answer = gateway.call("preprint_archive/get_paper_metadata", json!({"paper_id": "arXiv:2401.00001"}));
    assert_eq!(answer.ok()["base_id"], "2401.00001");
    assert_eq!(service.seen()[0].parameter("id_list").as_deref(), Some("2401.00001"));
}

#[test]
fn a_search_is_one_request_built_from_all_criteria() {
    let (gateway, service) = archive(2);
    let answer = gateway.call(
        "preprint_archive/search_papers",
        json!({
            "search_query": "all:electron",
            "category": ["cs.LG", "stat.ML"],
            "title": "deep \"learning\"",
            "author": "Example",
            "abstract": "things",
            "submitted_after": "2024-01-01",
            "submitted_before": "2024-01-31T12:00:00Z",
            "sort_by": "submittedDate",
            "sort_order": "ascending",
            "max_results": 20,
        }),
    );
    let query = "(all:electron) AND (cat:cs.LG OR cat:stat.ML) AND ti:\"deep learning\" AND au:\"Example\" AND abs:\"things\" \
                 AND submittedDate:[202401010000 TO 202401311200]";
    let page = answer.ok();
    assert_eq!(page["query"], query);
    assert_eq!(ids(&page["papers"]), ["2402.00000v1", "2402.00001v1"]);
    let seen = service.seen();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].parameter("search_query").as_deref(), Some(query));
    assert_eq!(seen[0].parameter("sortBy").as_deref(), Some("submittedDate"));
    assert_eq!(seen[0].parameter("sortOrder").as_deref(), Some("ascending"));
    assert_eq!(seen[0].parameter("max_results").as_deref(), Some("20"));
}

#[test]
fn one_category_may_be_given_without_a_list() {
    let (gateway, service) = archive(1);
    gateway.call("preprint_archive/search_papers", json!({"category": "cs.LG"})).ok();
    assert_eq!(service.seen()[0].parameter("search_query").as_deref(), Some("(cat:cs.LG)"));
}

#[test]
fn pages_follow_one_another_by_next_start_until_it_is_null() {
    let (gateway, _service) = archive(5);
    let mut start = json!(0);
    let mut found = Vec::new();
    while !start.is_null() {
        let body = json!({"search_query": "all:paper", "start": start, "max_results": 2});
        let page = gateway.call("preprint_archive/search_papers", body).ok();
        assert_eq!(page["total_results"], 5);
        assert_eq!(page["start"], start);
        assert_eq!(page["items_per_page"], 2);
        found.extend(ids(&page["papers"]).into_iter().map(str::to_owned));
        start = page["next_start"].clone();
    }
    assert_eq!(found, ["2402.00000v1", "2402.00001v1", "2402.00002v1", "2402.00003v1", "2402.00004v1"]);
}

#[test]
fn a_search_that_finds_nothing_is_an_empty_page() {
    let (gateway, _service) = archive(0);
    let page = gateway.call("preprint_archive/search_papers", json!({"search_query": "all:nothing"})).ok();
    assert_eq!(page["papers"], json!([]));
    assert_eq!(page["total_results"], 0);
    assert_eq!(page["next_start"], Value::Null);
    assert_eq!(page["updated"], "2024-03-01T00:00:00Z");
}

#[test]
fn papers_are_searched_by_a_list_of_ids() {
    let (gateway, service) = archive(2);
    gateway.call("preprint_archive/search_papers", json!({"id_list": ["2402.00000", "hep-ex/0307015"]})).ok();
    assert_eq!(service.seen()[0].parameter("id_list").as_deref(), Some("2402.00000,hep-ex/0307015"));
}

#[test]
fn a_pdf_is_a_file_in_json() {
    let (gateway, _service) = archive(0);
    let answer = gateway.call("preprint_archive/download_paper", json!({"paper_id": "2401.00001v2"}));
    let expected = json!({
        "file_name": "2401.00001v2.pdf",
        "content_type": "application/pdf",
        "size": arxiv::PDF.len(),
        "paper_id": "2401.00001v2",
        "sha256": module::digest(arxiv::PDF),
        "content_base64": STANDARD.encode(arxiv::PDF),
    });
    assert_eq!(answer.ok(), expected);
}

#[test]
fn a_caller_that_accepts_pdf_gets_the_bytes() {
    let (gateway, _service) = archive(0);
    let client = gateway.client();
    let call =
        client.request("POST", "/connectors/preprint_archive/download_paper").header("accept", "application/pdf");
    let answer = call.json(&json!({"paper_id": "hep-ex/0307015"})).send();
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.header("content-type"), "application/pdf");
    assert_eq!(answer.header("content-disposition"), "attachment; filename=\"hep-ex_0307015.pdf\"");
    assert_eq!(answer.body, arxiv::PDF);
}

#[test]
fn the_fields_of_a_file_can_be_chosen() {
    let (gateway, _service) = archive(0);
    let body = json!({"paper_id": "2401.00001v2", "response_fields": ["file_name", "size"]});
    let answer = gateway.call("preprint_archive/download_paper", body);
    assert_eq!(answer.text(), format!(r#"{{"file_name":"2401.00001v2.pdf","size":{}}}"#, arxiv::PDF.len()));
}

#[test]
fn all_155_categories_are_listed_without_asking_the_service() {
    let (gateway, service) = archive(0);
    let listed = gateway.call("preprint_archive/get_categories", json!({})).ok();
    let categories = listed["categories"].as_array().unwrap();
    assert_eq!((categories.len(), &listed["total"]), (155, &json!(155)));
    let ids: HashSet<&str> = categories.iter().map(|category| category["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 155, "no category occurs twice");
    let learning = categories.iter().find(|category| category["id"] == "cs.LG").unwrap();
    assert_eq!(learning["name"], "Machine Learning");
    assert_eq!(learning["archive"], "cs");
    assert_eq!(learning["group"], "Computer Science");
    assert!(learning["description"].is_string() && learning["alias_of"].is_null());
    assert!(service.seen().is_empty());
}

#[test]
fn an_operation_without_fields_accepts_no_body_an_empty_body_and_null() {
    let (gateway, _service) = archive(0);
    let client = gateway.client();
    let call = || client.request("POST", "/connectors/preprint_archive/get_categories");
    for call in [call(), call().header("content-type", "application/json").body("null"), call().json(&json!({}))] {
        assert_eq!(call.send().ok()["total"], 155);
    }
}

#[test]
fn the_updates_of_a_day_are_collected_from_slices_of_500() {
    let (gateway, service) = archive(1203);
    let body = json!({"categories": ["cs.LG", "stat"], "max_results": 1100, "response_fields": ["from", "to", "categories", "total_results", "papers.id"]});
    let updates = gateway.call("preprint_archive/get_daily_updates", body).ok();
    assert_eq!(updates["categories"], json!(["cs.LG", "stat"]));
    assert_eq!(updates["total_results"], 1203);
    let found = ids(&updates["papers"]);
    assert_eq!(found.len(), 1100);
    assert_eq!(found.iter().collect::<HashSet<_>>().len(), 1100, "each once");
    let seen = service.seen();
    let number = |seen: &Seen, name| seen.parameter(name).map_or(0, |number| number.parse::<u32>().unwrap());
    let slices: Vec<_> = seen.iter().map(|seen| (number(seen, "start"), number(seen, "max_results"))).collect();
    assert_eq!(slices, [(0, 500), (500, 500), (1000, 100)]);
    for request in &seen {
        let query = request.parameter("search_query").unwrap();
        assert!(query.starts_with("(cat:cs.LG OR cat:stat.*) AND submittedDate:["), "{query}");
        assert_eq!(request.parameter("sortBy").as_deref(), Some("submittedDate"));
    }
    let window: HashSet<_> = seen.iter().map(|request| request.parameter("search_query")).collect();
    assert_eq!(window.len(), 1, "all slices have the same period");
}

#[test]
fn a_day_without_updates_is_an_empty_list() {
    let (gateway, _service) = archive(0);
    let updates = gateway.call("preprint_archive/get_daily_updates", json!({"categories": ["cs.LG"]})).ok();
    assert_eq!(updates["papers"], json!([]));
    assert_eq!(updates["total_results"], 0);
}

#[test]
fn the_operator_can_add_a_contact_to_what_the_service_sees() {
    let service = arxiv::start(1);
    let gateway = Setup::new()
        .shipped("preprint_archive")
        .upstream("preprint_archive", "api", &format!("{}/api", service.url()))
        .config("settings = { contact = \"mailto:ops@example.org\" }")
        .start();
    gateway.call("preprint_archive/search_papers", json!({"title": "x"})).ok();
    let agent = service.seen()[0].header("user-agent").to_owned();
    assert!(agent.contains("mailto:ops@example.org"), "{agent}");
}

#[test]
fn calls_to_the_service_keep_the_required_pause() {
    let gate = support::Gate::default();
    let service = arxiv::start(1);
    let held = gate.clone();
    service.on("/api/query", move |_| arxiv::atom(arxiv::feed(0, 0, 1, &[])).behind(&held));
    let gateway = Setup::new()
        .shipped("preprint_archive")
        .upstream("preprint_archive", "api", &format!("{}/api", service.url()))
        .config("pacing = { interval_ms = 1, concurrency = 1, max_wait_ms = 60000 }")
        .start();
    let search = || gateway.client().begin("/connectors/preprint_archive/search_papers", json!({"title": "x"}));
    let calls = [search(), search(), search()];
    service.wait_for_requests(1);
    support::wait_for("all three to be in progress", || (gateway.metric("gateway_in_flight") >= 3.0).then_some(()));
    assert_eq!(service.seen().len(), 1, "one connection at a time");
    gate.open();
    for call in calls {
        call.wait().ok();
    }
    assert_eq!(service.seen().len(), 3);
}
