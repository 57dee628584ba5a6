//! The rows that connectors of sites have in common, and the search for a site by its name.

use connector_sdk::http::{Error, Method};
use connector_sdk::testing::{Answer, Gateway, examples, forwarded, invoke};
use connector_sdk::{Fault, Link, Outcome};
use serde_json::{Value, json};

use self::table::CONNECTOR;

mod table {
    crate::sites! {
        /// The common rows, and one more.
        connector sites "Sites";

        /// Columns of a list
        list_columns: GET graph "/sites/{site_id}/lists/{list_id}/columns" { ..site, list_id: string };
    }
}

#[test]
fn rows_are_the_methods_of_graph() {
    assert_eq!(
        examples(&CONNECTOR),
        [
            "search_for_sites: GET graph /sites?search=marketing",
            "get_site_by_id: GET graph /sites/contoso.sharepoint.com%2C2c712604-1370-44e7-a1f5-426573fda80a%2C2d2244c3-251a-49ea-93a8-39e1c3a060fe",
            "get_site_by_path: GET graph /sites/contoso.sharepoint.com:/sites/marketing",
            "list_subsites_for_a_site: GET graph /sites/root/sites",
            "list_drives_for_a_site: GET graph /sites/root/drives",
            "serach_for_items_in_a_site_drive: GET graph /sites/root/drive/root/search(q='quarterly%20report')",
            "list_item_permissions: GET graph /sites/root/drive/items/01ABC/permissions",
            "list_items_in_site_drive: GET graph /sites/root/drive/root/children?$top=50&$orderby=name&$select=id%2Cname%2Cfolder%2Cfile",
            "list_items_in_folder: GET graph /sites/root/drive/items/01FOLDER/children?$top=50",
            "get_item: GET graph /sites/root/drive/items/01ABC",
            "download_item: GET graph /sites/root/drive/items/01ABC/content",
        ]
    );
    assert_eq!(path("get_root_site", "{}"), "/sites/root");
    assert_eq!(path("list_columns", r#"{"site_id":"root","list_id":"l"}"#), "/sites/root/lists/l/columns");
}

fn path(operation: &str, input: &str) -> String {
    let _gateway = Gateway::new();
    forwarded(&CONNECTOR, operation, input).path
}

#[test]
fn lists_of_properties_are_joined_with_commas() {
    let input = r#"{"site_id":"root","query":{"$select":["id","name"],"$skiptoken":"a+b="}}"#;
    assert_eq!(
        path("list_items_in_site_drive", input),
        "/sites/root/drive/root/children?$select=id,name&$skiptoken=a%2Bb%3D"
    );
}

#[test]
fn lists_continue_with_the_skip_token() {
    for (operation, items) in [
        ("search_for_sites", true),
        ("list_subsites_for_a_site", true),
        ("list_drives_for_a_site", true),
        ("serach_for_items_in_a_site_drive", true),
        ("list_item_permissions", true),
        ("list_items_in_site_drive", true),
        ("list_items_in_folder", true),
        ("get_site_by_id", false),
        ("get_site_id_by_name", false),
    ] {
        let about = CONNECTOR.operations.iter().find(|known| known.path == operation).expect("a row").about;
        let expected = items.then_some(("/value", "/query/$skiptoken"));
        assert_eq!(about.pages.map(|pages| (pages.items, pages.input)), expected, "{operation}");
    }
}

#[test]
fn searches_and_counts_are_eventually_consistent() {
    let headers = |query: &str| {
        let _gateway = Gateway::new();
        forwarded(&CONNECTOR, "list_items_in_site_drive", &format!(r#"{{"site_id":"root","query":{query}}}"#)).headers
    };
    let eventual = [("ConsistencyLevel".to_owned(), "eventual".to_owned())];
    for query in [r#"{"$search":"x"}"#, r#"{"$count":true}"#, r#"{"$search":"x","$count":false}"#] {
        assert_eq!(headers(query), eventual, "{query}");
    }
    for query in ["{}", r#"{"$count":false}"#, r#"{"$count":"false"}"#, r#"{"$count":null,"$top":5}"#] {
        assert_eq!(headers(query), [], "{query}");
    }
}

#[test]
fn a_path_keeps_its_slashes_and_cannot_climb() {
    let site = |relative: &str| {
        let input = json!({"hostname": "contoso.sharepoint.com", "server_relative_path": relative}).to_string();
        invoke(&CONNECTOR, "get_site_by_path", &input)
    };
    for (relative, path) in [
        ("teams/a b/ü#?", "teams/a%20b/%C3%BC%23%3F"),
        ("/sites/marketing", "sites/marketing"),
        ("sites/a:b", "sites/a%3Ab"),
        ("sites/..hidden", "sites/..hidden"),
    ] {
        let Ok(Outcome::Forward(request)) = site(relative) else { panic!("{relative}") };
        assert_eq!(request.path, format!("/sites/contoso.sharepoint.com:/{path}"));
    }
    for relative in ["", "/", "..", "sites/../x", "./sites", "sites/."] {
        let Err(Fault::InvalidInput(violations)) = site(relative) else { panic!("{relative}") };
        assert_eq!(violations[0].pointer, "/server_relative_path", "{relative}");
    }
}

#[test]
fn quotes_of_a_search_text_are_doubled() {
    let input = r#"{"site_id":"root","q":"it's 100%/2"}"#;
    assert_eq!(
        path("serach_for_items_in_a_site_drive", input),
        "/sites/root/drive/root/search(q='it''s%20100%25%2F2')"
    );
}

/// A site of a search.
fn site(number: u32, display_name: &str, name: &str) -> Value {
    json!({
        "id": format!("contoso.sharepoint.com,da60e844,{number}"),
        "name": name,
        "displayName": display_name,
        "webUrl": format!("https://contoso.sharepoint.com/sites/{number}"),
        "createdDateTime": "2016-10-18T03:05:59Z",
    })
}

fn page(sites: &[Value]) -> Answer {
    Answer::json(200, &json!({"value": sites}).to_string())
}

/// A page with the address of the next one.
fn page_before(next: &str, sites: &[Value]) -> Answer {
    Answer::json(200, &json!({"@odata.nextLink": next, "value": sites}).to_string())
}

fn find(name: &str) -> Result<Outcome, Fault> {
    invoke(&CONNECTOR, "get_site_id_by_name", &json!({"name": name}).to_string())
}

/// The answer to a name, if the search finds these sites.
fn chosen(name: &str, sites: &[Value]) -> Value {
    let _gateway = Gateway::new().answer(page(sites));
    match find(name) {
        Ok(Outcome::Reply(text)) => serde_json::from_str(&text).expect("JSON"),
        other => panic!("{name}: {other:?}"),
    }
}

/// The candidates of a problem.
fn listed(fault: &Fault) -> Vec<Value> {
    let members = match fault {
        Fault::NotFound(explanation) | Fault::Conflict(explanation) => explanation.members.as_deref(),
        other => panic!("{other:?}"),
    };
    let members: Value = serde_json::from_str(members.expect("members")).expect("JSON");
    members["candidates"].as_array().expect("a list").clone()
}

#[test]
fn the_one_site_with_the_name_is_the_answer() {
    let sites = [site(1, "Marketing EMEA", "emea"), site(2, "Marketing", "mktg"), site(3, "Sales", "sales")];
    let mut expected = sites[1].clone();
    expected["exact"] = json!(true);
    for name in ["Marketing", "  mARKETING ", "MKTG"] {
        assert_eq!(chosen(name, &sites), expected, "{name}");
    }
    let unicode = chosen("ÄRZTE", &[site(4, "Ärzte", "aerzte"), site(5, "Arzt", "arzt")]);
    assert_eq!((&unicode["name"], &unicode["exact"]), (&json!("aerzte"), &json!(true)));
}

#[test]
fn the_answer_keeps_the_text_of_graphs_values() {
    let found = r#"{"value":[{"id":"s","displayName":"M","n":1.0,"exact":"x"}]}"#;
    let _gateway = Gateway::new().answer(Answer::json(200, found));
    let expected = r#"{"id":"s","displayName":"M","n":1.0,"exact":true}"#;
    assert!(matches!(find("m"), Ok(Outcome::Reply(text)) if text == expected));
}

#[test]
fn a_single_hit_with_another_name_is_not_exact() {
    let found = chosen("Market", &[site(1, "Marketing", "mktg")]);
    assert_eq!((&found["name"], &found["exact"]), (&json!("mktg"), &json!(false)));
}

#[test]
fn several_sites_with_the_name_are_a_conflict_with_these_sites_as_candidates() {
    let _gateway =
        Gateway::new().answer(page(&[site(1, "Team", "a"), site(2, "Other", "b"), site(3, "Renamed", "team")]));
    let fault = find("Team").expect_err("a conflict");
    assert!(matches!(fault, Fault::Conflict(_)));
    let candidate = |number: u32, name: &str| {
        json!({
            "id": format!("contoso.sharepoint.com,da60e844,{number}"),
            "displayName": name,
            "webUrl": format!("https://contoso.sharepoint.com/sites/{number}"),
        })
    };
    assert_eq!(listed(&fault), [candidate(1, "Team"), candidate(3, "Renamed")]);
}

#[test]
fn a_name_that_fits_no_site_is_not_found_with_at_most_ten_candidates() {
    for (hits, candidates) in [(0, 0), (2, 2), (10, 10), (11, 10)] {
        let sites: Vec<Value> = (0..hits).map(|number| site(number, "Market", "m")).collect();
        let _gateway = Gateway::new().answer(page(&sites));
        let fault = find("Marketing").expect_err("no site");
        assert!(matches!(fault, Fault::NotFound(_)), "{hits}");
        assert_eq!(listed(&fault).len(), candidates, "{hits}");
    }
    let _gateway = Gateway::new().answer(Answer::json(200, r#"{"value":[{"id":"1","displayName":null},{"id":"2"}]}"#));
    let candidates = listed(&find("x").expect_err("no site"));
    assert_eq!(candidates[0], json!({"id": "1", "displayName": null, "webUrl": null}));
}

#[test]
fn three_pages_are_read_before_a_site_is_chosen() {
    let next = "https://graph.microsoft.com/v1.0/sites?search=Team&$skiptoken=n";
    let gateway = Gateway::new()
        .answer(page_before(next, &[site(1, "Team", "a")]))
        .answer(page_before(next, &[site(1, "Team", "a"), site(2, "Other", "b")]))
        .answer(page_before(next, &[site(3, "Team", "c")]));
    let fault = find("Team").expect_err("a conflict");
    assert_eq!(listed(&fault).len(), 2, "the site on two pages counts once");
    let requests = gateway.requests();
    assert_eq!((requests.len(), requests[0].path.as_str()), (3, "/sites?search=Team"));
    for request in &requests[1..] {
        assert_eq!(request.link.as_ref().map(Link::address), Some(next));
    }
}

#[test]
fn a_site_that_comes_twice_is_one_hit() {
    let twice = [site(1, "Marketing", "m"), site(1, "Marketing", "m")];
    assert_eq!(chosen("Marketing", &twice)["exact"], true);
    assert_eq!(chosen("Market", &twice)["exact"], false);
}

/// Path and headers of the first request of a search.
fn searched(query: &Value) -> (String, Vec<(String, String)>) {
    let gateway = Gateway::new().answer(page(&[site(1, "a b", "c")]));
    let outcome = invoke(&CONNECTOR, "get_site_id_by_name", &json!({"name": " a b ", "query": query}).to_string());
    assert!(outcome.is_ok(), "{outcome:?}");
    let request = &gateway.requests()[0];
    assert_eq!((request.method, request.upstream.as_str()), (Method::Get, "graph"));
    (request.path.clone(), request.headers.clone())
}

#[test]
fn the_search_has_the_callers_parameters_and_the_properties_that_the_choice_needs() {
    for (query, expected) in [
        (json!({}), "/sites?search=a%20b"),
        (json!({"$select": "id,webUrl"}), "/sites?search=a%20b&$select=id%2CwebUrl%2Cname%2CdisplayName"),
        (
            json!({"$select": ["description", " name"], "$top": 5}),
            "/sites?search=a%20b&$select=description%2Cname%2Cid%2CdisplayName%2CwebUrl&$top=5",
        ),
        (json!({"$select": ""}), "/sites?search=a%20b&$select=id%2Cname%2CdisplayName%2CwebUrl"),
        (json!({"$orderby": ["a", "b"], "$skiptoken": null}), "/sites?search=a%20b&$orderby=a%2Cb"),
    ] {
        assert_eq!(searched(&query), (expected.to_owned(), Vec::new()), "{query}");
    }
    let eventual = vec![("ConsistencyLevel".to_owned(), "eventual".to_owned())];
    assert_eq!(searched(&json!({"$count": true})), ("/sites?search=a%20b&$count=true".to_owned(), eventual));
    assert_eq!(searched(&json!({"$count": false})).1, []);
}

#[test]
fn every_page_of_a_counted_search_is_eventually_consistent() {
    let gateway =
        Gateway::new().answer(page_before("https://graph.microsoft.com/n", &[])).answer(page(&[site(1, "a", "b")]));
    assert!(invoke(&CONNECTOR, "get_site_id_by_name", r#"{"name":"a","query":{"$count":true}}"#).is_ok());
    assert!(gateway.requests().iter().all(|request| request.headers.len() == 1), "{:?}", gateway.requests());
}

#[test]
fn a_blank_name_is_refused_before_any_request() {
    let gateway = Gateway::new();
    for name in ["", " ", "\t\n\u{a0}"] {
        let Err(Fault::InvalidInput(violations)) = find(name) else { panic!("{name:?}") };
        assert_eq!(violations[0].pointer, "/name");
    }
    assert!(gateway.requests().is_empty());
}

#[test]
fn a_response_that_is_not_a_list_of_sites_is_an_error() {
    for body in ["{}", "[]", r#"{"value":[{"name":"Marketing"}]}"#, r#"{"value":[1]}"#, "not JSON"] {
        let _gateway = Gateway::new().answer(Answer::json(200, body));
        assert!(matches!(find("Marketing"), Err(Fault::Http(Error::BadAnswer(_)))), "{body}");
    }
}

#[test]
fn a_refusal_of_graph_keeps_its_status_and_body() {
    let body = r#"{"error":{"code":"accessDenied","message":"Access denied"}}"#;
    let second = Gateway::new().answer(page_before("https://graph.microsoft.com/n", &[site(1, "a", "b")]));
    let _gateway = second.answer(Answer::json(403, body));
    let Err(Fault::Upstream(failure)) = find("a") else { panic!("the refusal") };
    assert_eq!((failure.status, failure.body.as_deref()), (403, Some(body)));
}

#[test]
fn userinfo_is_the_common_shape() {
    let gateway = Gateway::new().answer(Answer::json(200, r#"{"id":"48d31887","mail":"ada@acme.test"}"#));
    let outcome = invoke(&CONNECTOR, "userinfo", "{}");
    assert!(
        matches!(outcome, Ok(Outcome::Reply(text)) if text.starts_with(r#"{"data":{"id":"48d31887","email":"ada@acme.test""#))
    );
    assert_eq!(gateway.requests()[0].upstream, "graph");
}
