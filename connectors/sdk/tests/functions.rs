//! Functions: links, settings, the table's headers, faults with members; and the parts of a
//! manifest that a row declares.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::panic::catch_unwind;
use std::time::Duration;

use connector_sdk::http::{self, Error, Method};
use connector_sdk::testing::{Answer, Gateway, about, invoke, pages};
use connector_sdk::{Document, Fault, Outcome, Request, clock, connector, progress, random, storage};
use serde_json::{Value, json};

/// Hosts that several connectors could share.
const UPLOAD_HOSTS: &[&str] = &["uploads.example.org", "*.uploads.example.org"];

connector! {
    /// Files of a service.
    connector files "Files";

    auth Auth::OAuth2(OAuth2 {
        provider: "acme",
        form_field: Some("token"),
        identity: Some(Identity::USERINFO),
        ..OAuth2::STANDARD
    });
    icon "icon.svg";
    answer_examples "tests/answers.json";

    upstream api "https://api.example.com/v1" links ["*.files.example.com"];
    upstream uploads "https://uploads.example.com" credential form_field links UPLOAD_HOSTS;
    upstream userinfo "{api}/me" credential standard;

    /// Version of the service's API.
    setting api_version: string default "v1";
    /// Address of the operator.
    setting contact: string;
    /// Most pages that one call reads.
    setting max_pages: integer(1..=10) default 2;

    header "X-Version" "{settings.api_version}";
    header "From" "{settings.contact}";
    header "X-Search" "1" when query ["q"];

    fields paging {
        /// Items of a page
        top?: integer(1..=100),
        query?: entries["$skiptoken", q],
    };

    /// Files, page by page
    list: GET api "/files" { ..paging }
        pages "/value" next link "/@odata.nextLink" parameter "$skiptoken" into "/query/$skiptoken";

    /// Files of a folder
    children: GET api "/folders/{id}/files" { id: string, ..paging }
        answer_schema { type: "object", properties: { value: { type: "array" } } }
        pages "/value" next cursor "/next" into "/query/$skiptoken";

    /// Numbered pages
    numbered: GET api "/numbered" { page?: integer } pages "" next page_number 1 into "/page";

    /// Items after an offset
    skipped: read POST api "/skipped" { range?: { start?: integer } } pages "/items" next offset into "/range/start";

    /// Items after the last one
    continued: GET api "/continued" { after?: string } pages "/data" next last "/id" while "/has_more" into "/after";

    /// A file
    download: GET api "/files/{id}/content" answers file;

    /// Create a contact
    create: POST api "/contacts" {
        name: string,
        address?: { street: string(1..), zip?: string pattern "^[0-9]+$" },
        phones?: [{ number: string }],
    };

    /// All files
    all: read fn all { address?: { street: string } };

    /// Number of files, in the background
    count: read fn count { waiting?: boolean default false } background;

    /// Find a file by its name
    find: read fn find { name: string };

    /// A request that breaks a rule
    wrong: read fn wrong { kind: string };

    /// The connected user
    userinfo: read fn userinfo;
}

/// Reads up to `max_pages` pages by the links that the service gives.
fn all(_: All) -> Result<Outcome, Fault> {
    let mut pages = Vec::new();
    let mut response = http::send(CONNECTOR.request(Method::Get, "api", "/files")?)?.successful()?;
    for _ in 0..settings::max_pages()? {
        pages.push(response.document()?.text());
        let Some(next) = response.body_link("/@odata.nextLink")? else { break };
        response = http::send(Request::follow("api", next).without_credential())?.successful()?;
    }
    Outcome::json(&pages)
}

/// Counts the files of two pages.
fn count(_: Count) -> Result<Outcome, Fault> {
    let mut files = 0;
    for page in 0..2 {
        progress::report(f64::from(page) / 2.0, &format!("page {page}"));
        files +=
            http::send(Request::get("api", "/files").query("page", page))?.successful()?.document()?.items().count();
    }
    Outcome::json(&files)
}

fn find(input: Find) -> Result<Outcome, Fault> {
    let found = http::send(Request::get("api", "/search").query("q", &input.name))?.successful()?.document()?;
    let names: Vec<String> = found.items().filter_map(|item| item.string("/name")).collect();
    match names.as_slice() {
        [] => Err(Fault::not_found("There is no such file. Search for a part of its name.")),
        [_] => Ok(Outcome::ReplyDocument(found)),
        names => Err(Fault::conflict("Several files have this name. Give the id of one.")
            .with_members(&json!({"candidates": names}))),
    }
}

fn wrong(input: Wrong) -> Result<Outcome, Fault> {
    let request = match input.kind.as_str() {
        "header" => Request::get("api", "/a").header("Host", "evil.example"),
        "path" => Request::get("api", "/../a"),
        "upstream" => Request::get("other", "/a"),
        "pointer" => return Err(Fault::invalid_input("kind", "Give another kind.")),
        "value" => {
            storage::set("a", &[0; 65 << 10], None)?;
            Request::get("api", "/a")
        }
        _ => {
            let response = http::send(Request::get("api", "/a"))?;
            let link = response.header_link("location")?.expect("the test gives one");
            Request::follow("api", link).query("a", 1)
        }
    };
    Ok(Outcome::Forward(request))
}

fn userinfo() -> Result<Outcome, Fault> {
    Ok(Outcome::ReplyDocument(Document::parse("{}").map_err(Fault::Failed)?))
}

fn reply(outcome: Result<Outcome, Fault>) -> Value {
    let Ok(Outcome::Reply(text)) = outcome else { panic!("{outcome:?}") };
    serde_json::from_str(&text).expect("JSON")
}

fn manifest() -> connector_sdk::bindings::Manifest {
    connector_sdk::run::manifest(&CONNECTOR)
}

fn schema(operation: &str, field: &str) -> Value {
    serde_json::from_str::<Value>(&about(&CONNECTOR, operation).input_schema).expect("JSON")["properties"][field].take()
}

#[test]
fn the_pages_of_a_table_are_listed_row_by_row() {
    assert_eq!(
        pages(&CONNECTOR),
        [
            "list: /value, next link /@odata.nextLink parameter $skiptoken, into /query/$skiptoken",
            "children: /value, next cursor /next, into /query/$skiptoken",
            "numbered: , next page_number 1, into /page",
            "skipped: /items, next offset, into /range/start",
            "continued: /data, next last /id while /has_more, into /after",
        ]
    );
}

#[test]
fn a_function_reports_its_progress() {
    let pages = || Answer::json(200, r#"[{"name": "a"}, {"name": "b"}]"#);
    let gateway = Gateway::new().answer(pages()).answer(pages());
    assert_eq!(reply(invoke(&CONNECTOR, "count", "{}")), 4);
    assert_eq!(gateway.progress(), [(0.0, "page 0".to_owned()), (0.5, "page 1".to_owned())]);
}

#[test]
fn random_values_are_new_in_each_call_and_have_any_length() {
    let _gateway = Gateway::new();
    let (first, second): ([u8; 16], [u8; 16]) = (random::array(), random::array());
    assert_ne!(first, second);
    // More than one call of the contract gives.
    let mut long = vec![0; 200_000];
    random::fill(&mut long);
    assert!((90_000..110_000).contains(&long.iter().filter(|byte| **byte >= 128).count()));
    let (one, other) = (random::uuid(), random::uuid());
    assert_ne!(one, other);
    let lengths: Vec<_> = one.split('-').map(str::len).collect();
    assert_eq!((lengths, &one[14..15]), (vec![8, 4, 4, 4, 12], "4"), "{one}");
    assert!("89ab".contains(&one[19..20]), "{one}");
}

#[test]
fn a_test_does_not_wait_for_a_function_that_sleeps() {
    let _gateway = Gateway::new().now(1000);
    clock::sleep(Duration::from_secs(3600));
    clock::sleep(Duration::from_micros(1500));
    assert_eq!(clock::now(), 1000 + 3_600_000 + 2);
}

#[test]
fn a_function_follows_the_links_of_responses() {
    let gateway = Gateway::new()
        .answer(Answer::json(200, r#"{"n":1,"@odata.nextLink":"https://eu.files.example.com/2"}"#))
        .answer(Answer::json(200, r#"{"n":2,"@odata.nextLink":null}"#));
    let pages = reply(invoke(&CONNECTOR, "all", "{}"));
    assert_eq!(pages.as_array().map(Vec::len), Some(2));
    let requests = gateway.requests();
    let followed = requests[1].link.as_ref().expect("a link");
    assert_eq!((followed.address(), requests[1].path.as_str()), ("https://eu.files.example.com/2", ""));
    assert!(requests[1].omit_credential && !requests[0].omit_credential);
}

#[test]
fn several_lines_of_a_header_are_one_value() {
    let answer = Answer::json(200, "{}").header("Link", "<a>; rel=\"prev\"").header("link", "<b>; rel=\"next\"");
    let gateway = Gateway::new().answer(answer);
    let response = http::send(Request::get("api", "/a")).expect("a response");
    assert_eq!(response.header("link").as_deref(), Some("<a>; rel=\"prev\", <b>; rel=\"next\""));
    assert_eq!(response.header("etag"), None);
    drop(gateway);
}

#[test]
fn an_absent_link_is_none_and_a_value_that_is_no_address_is_an_error() {
    let gateway = Gateway::new()
        .answer(Answer::json(201, r#"{"next":1}"#).header("Location", "/a"))
        .answer(Answer::json(200, "{}"));
    let response = http::send(Request::get("api", "/a")).expect("a response");
    assert_eq!(response.header_link("location").expect("a link").expect("a header").address(), "/a");
    assert!(matches!(response.header_link("link"), Ok(None)));
    assert!(matches!(response.body_link("/next"), Err(Error::BadAnswer(_))));
    assert!(matches!(response.body_link("/other"), Ok(None)));
    drop(gateway);
}

#[test]
fn a_functions_request_has_the_headers_of_the_table() {
    let gateway = Gateway::new().setting("contact", r#""ops@example.org""#);
    let headers = |request: Result<Request, Fault>| request.expect("a request").headers;
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        headers(CONNECTOR.request(Method::Get, "api", "/a")),
        [pair("X-Version", "v1"), pair("From", "ops@example.org")]
    );
    drop(gateway);
    let _gateway = Gateway::new();
    assert_eq!(headers(CONNECTOR.request(Method::Get, "api", "/a")), [pair("X-Version", "v1")], "without the setting");
}

#[test]
fn settings_have_the_declared_type_and_default() {
    let gateway = Gateway::new();
    assert!(matches!((settings::max_pages(), settings::contact()), (Ok(2), Ok(None))));
    drop(gateway);
    let _gateway = Gateway::new().setting("max_pages", "7").setting("contact", "1");
    assert!(matches!(settings::max_pages(), Ok(7)));
    assert!(matches!(settings::contact(), Err(Fault::Failed(why)) if why.contains("`contact` of this connector is 1")));
}

#[test]
fn a_conflict_has_members() {
    let _gateway =
        Gateway::new().answer(Answer::json(200, r#"[{"name":"a"},{"name":"b"}]"#)).answer(Answer::json(200, "[]"));
    let Err(Fault::Conflict(conflict)) = invoke(&CONNECTOR, "find", r#"{"name":"a"}"#) else { panic!("a conflict") };
    assert_eq!(conflict.members.as_deref(), Some(r#"{"candidates":["a","b"]}"#));
    let Err(Fault::NotFound(nothing)) = invoke(&CONNECTOR, "find", r#"{"name":"a"}"#) else { panic!("not found") };
    assert!(nothing.members.is_none());
}

#[test]
fn the_tests_gateway_refuses_requests_that_break_a_rule() {
    for (kind, rule) in [
        ("header", "sets this header"),
        ("path", "no segments"),
        ("upstream", "no upstream `other`"),
        ("link", "follows a link"),
    ] {
        let _gateway =
            Gateway::new().answer(Answer::json(200, "{}").header("location", "https://a.files.example.com/"));
        let Err(Fault::Http(Error::InvalidRequest(detail))) =
            invoke(&CONNECTOR, "wrong", &format!(r#"{{"kind":"{kind}"}}"#))
        else {
            panic!("{kind} is accepted")
        };
        assert!(detail.contains(rule), "{detail}");
    }
}

#[test]
fn the_tests_gateway_refuses_a_violation_without_a_pointer() {
    let invoked = catch_unwind(|| invoke(&CONNECTOR, "wrong", r#"{"kind":"pointer"}"#));
    let message = invoked.err().and_then(|failure| failure.downcast::<String>().ok()).expect("it panics with a text");
    assert_eq!(
        *message,
        "wrong refuses the input at `kind` (Give another kind.): a JSON Pointer is empty or begins with `/`, as in `/data/items`"
    );
}

#[test]
fn a_refused_value_of_the_storage_has_a_message() {
    let _gateway = Gateway::new();
    let refused = invoke(&CONNECTOR, "wrong", r#"{"kind":"value"}"#);
    let Err(Fault::Failed(message)) = refused else { panic!("{refused:?}") };
    assert_eq!(message, "The storage refuses the key or the value: a key is 1 to 256 bytes, a value at most 64 KiB");
}

#[test]
fn the_first_upstream_gets_the_credential_and_others_as_they_say() {
    let uses: Vec<String> = manifest().upstreams.iter().map(|upstream| format!("{:?}", upstream.credential)).collect();
    assert_eq!(uses, ["CredentialUse::Standard", "CredentialUse::FormField", "CredentialUse::Standard"]);
    assert_eq!(manifest().upstreams[0].link_hosts, ["*.files.example.com"]);
    assert_eq!(manifest().upstreams[1].link_hosts, UPLOAD_HOSTS);
}

#[test]
fn the_imprint_is_that_of_the_crate() {
    let imprint = manifest().imprint;
    assert_eq!((imprint.license.as_str(), imprint.homepage), ("Apache-2.0", None));
    assert!(imprint.icon.is_some_and(|icon| icon.starts_with("<svg")));
}

#[test]
fn settings_are_declared_with_schema_and_default() {
    let settings = manifest().settings;
    let pages = settings.iter().find(|setting| setting.name == "max_pages").expect("a setting");
    assert_eq!(pages.schema, r#"{"type":"integer","minimum":1,"maximum":10}"#);
    assert_eq!(
        (pages.default.as_deref(), pages.documentation.as_str()),
        (Some("2"), "Most pages that one call reads.")
    );
}

#[test]
fn answers_and_pages_are_declared() {
    let operations = manifest().operations;
    let find = |name: &str| operations.iter().find(|operation| operation.path == name).expect("an operation");
    assert_eq!(format!("{:?}", find("download").answer), "Answer::File");
    assert_eq!(format!("{:?}", find("list").answer), "Answer::Json");
    assert_eq!(
        find("children").answer_schema.as_deref(),
        Some(r#"{"type":"object","properties":{"value":{"type":"array"}}}"#)
    );
    assert_eq!(find("children").answer_example.as_deref(), Some(r#"{"value":[{"id":"7","name":"notes.txt"}]}"#));
    assert_eq!(find("list").answer_example, None);
    let pages = |name: &str| format!("{:?}", find(name).pagination.as_ref().expect("pages").next);
    assert!(pages("list").contains("$skiptoken") && pages("list").contains("/@odata.nextLink"));
    assert_eq!(
        (pages("children"), pages("numbered"), pages("skipped")),
        ("NextPage::Cursor(\"/next\")".to_owned(), "NextPage::PageNumber(1)".to_owned(), "NextPage::Offset".to_owned())
    );
    assert_eq!(find("list").pagination.as_ref().map(|pages| pages.input.as_str()), Some("/query/$skiptoken"));
}

#[test]
fn shared_fields_are_those_of_every_row_that_names_them() {
    assert_eq!(schema("list", "top"), schema("children", "top"));
    assert_eq!(schema("list", "top")["description"], "Items of a page");
    assert_eq!(schema("children", "query")["additionalProperties"], false);
}

#[test]
fn an_object_has_the_declared_members_only() {
    let zip = json!({"type": ["string", "null"], "pattern": "^[0-9]+$"});
    assert_eq!(
        schema("create", "address"),
        json!({
            "type": ["object", "null"],
            "properties": {"street": {"type": "string", "minLength": 1}, "zip": zip},
            "required": ["street"],
            "additionalProperties": false,
        })
    );
    assert_eq!(schema("create", "phones")["items"]["required"], json!(["number"]));
    let input = r#"{"name":"n","address":{"street":"s"},"phones":[{"number":"1"}]}"#;
    let _gateway = Gateway::new();
    let request = connector_sdk::testing::forwarded(&CONNECTOR, "create", input);
    assert!(matches!(request.body, Some(http::Body::Json(body)) if body == input));
}
