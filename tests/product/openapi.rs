//! The OpenAPI description, checked by an independent validator.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use support::catalogue::CONFIGURED;
use support::description::inlined;
use support::{Gateway, Setup, module};
use url::Url;

fn gateway() -> Gateway {
    Setup::new().shipped("preprint_archive").shipped("dex_market_data").guest("hostile").start()
}

fn document(gateway: &Gateway) -> Value {
    gateway.anonymous().get("/openapi.json").ok()
}

#[test]
fn every_operation_has_an_example_that_its_schema_accepts() {
    let gateway = Setup::new().shipped("preprint_archive").shipped("dex_market_data").start();
    let document = document(&gateway);
    let mut operations = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        if !path.starts_with("/connectors/") || path.contains('{') {
            continue;
        }
        operations += 1;
        let media = &item["post"]["requestBody"]["content"]["application/json"];
        let mut schema = media["schema"].clone();
        schema["components"] = document["components"].clone();
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        let wrong: Vec<String> = validator.iter_errors(&media["example"]).map(|error| error.to_string()).collect();
        assert!(media["example"].is_object() && wrong.is_empty(), "{path}: {wrong:?}");
    }
    assert_eq!(operations, 15);
}

/// The reason why an operation's example of an answer is wrong.
fn wrong_answer(operation: &Value) -> Option<&'static str> {
    let content = &operation["responses"]["200"]["content"];
    let Some(example) = content["application/json"].get("example") else { return Some("it has no example") };
    if example.to_string().len() > 2048 {
        return Some("the example has more than 2 KiB");
    }
    if content.get("*/*").is_some() {
        let file = example["content_base64"].as_str().and_then(|content| STANDARD.decode(content).ok());
        let is_file = ["file_name", "content_type"].iter().all(|name| example[*name].is_string())
            && file.is_some_and(|file| example["size"] == file.len());
        return (!is_file).then_some("the example is no file in its JSON form");
    }
    let pages = operation.get("x-pagination")?;
    let at = |name: &str| example.pointer(pages[name].as_str()?);
    if !at("items").is_some_and(Value::is_array) {
        return Some("the example has no list of items");
    }
    let has_next = match (pages["style"].as_str(), at("next")) {
        (Some("cursor"), next) => next.is_some_and(|next| next.is_string() || next.is_number()),
        (Some("link"), next) => {
            next.and_then(Value::as_str).and_then(|next| Url::parse(next).ok()).is_some_and(|next| {
                next.query_pairs().any(|(name, value)| pages["parameter"] == *name && !value.is_empty())
            })
        }
        _ => true,
    };
    (!has_next).then_some("the example does not lead to the next page")
}

#[test]
fn every_shipped_operation_has_an_example_of_its_answer() {
    let home = Setup::new().every_shipped().config(CONFIGURED).prepare();
    let document: Value = serde_json::from_str(&home.run_ok(&["openapi"])).unwrap();
    let operations = document["paths"].as_object().unwrap().iter();
    let operations = operations.filter(|(path, _)| path.starts_with("/connectors/") && !path.contains('{'));
    let wrong: Vec<String> =
        operations.filter_map(|(path, item)| Some(format!("{path}: {}", wrong_answer(&item["post"])?))).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_command_prints_the_description_that_callers_get_also_with_types() {
    let gateway = Setup::new().shipped("dex_market_data").start();
    let served = |path| gateway.anonymous().get(path).text();
    let (plain, typed) = (served("/openapi.json"), served("/openapi.json?answers=typed"));
    assert_ne!(plain, typed);
    for (served, arguments) in [(plain, &["openapi"][..]), (typed, &["openapi", "--typed"])] {
        let printed: Value = serde_json::from_str(&gateway.home().run_ok(arguments)).unwrap();
        // The command does not know on which port the gateway listens.
        let url = printed["servers"][0]["url"].as_str().unwrap();
        let served: Value = serde_json::from_str(&served.replace(&gateway.address(), url)).unwrap();
        assert!(printed == served, "{arguments:?} prints another document");
    }
}

#[test]
fn every_example_of_an_answer_fits_its_typed_schema() {
    let gateway = Setup::new().every_shipped().config(CONFIGURED).start();
    let document = gateway.anonymous().get("/openapi.json?answers=typed").ok();
    let mut found = Vec::new();
    inline_objects("", &document, &mut found);
    assert!(found.is_empty(), "{found:?}");
    let operations = document["paths"].as_object().unwrap().iter();
    let operations = operations.filter(|(path, _)| path.starts_with("/connectors/") && !path.contains('{'));
    let mut untyped = Vec::new();
    for (path, item) in operations {
        let media = &item["post"]["responses"]["200"]["content"]["application/json"];
        let mut schema = media["schema"].clone();
        let text = schema.to_string();
        if text.contains("/schemas/Answer\"") && media["example"] != json!({}) {
            untyped.push(path);
        }
        schema["components"] = document["components"].clone();
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        let wrong: Vec<String> = validator.iter_errors(&media["example"]).map(|error| error.to_string()).collect();
        assert!(wrong.is_empty(), "{path}: {wrong:?}");
    }
    assert!(untyped.is_empty(), "only files and empty answers have no members: {untyped:?}");
}

#[test]
fn every_operation_is_described_as_it_is_served() {
    let gateway = gateway();
    let document = document(&gateway);
    let listed = gateway.client().get("/connectors").ok();
    let mut count = 0;
    for connector in listed["connectors"].as_array().unwrap() {
        for operation in connector["operations"].as_array().unwrap() {
            let (connector, path) = (connector["connector"].as_str().unwrap(), operation["path"].as_str().unwrap());
            let described = &document["paths"][format!("/connectors/{connector}/{path}")]["post"];
            assert_eq!(described["summary"], operation["summary"], "{connector}/{path}");
            assert_eq!(described["operationId"], format!("{connector}.{path}"));
            for response in ["200", "422", "default"] {
                assert!(described["responses"][response].is_object(), "{connector}/{path}: {response}");
            }
            count += 1;
        }
    }
    let described = document["paths"]
        .as_object()
        .unwrap()
        .keys()
        .filter(|path| path.starts_with("/connectors/") && !path.contains('{'))
        .count();
    assert_eq!(described, count);
}

#[test]
fn the_gateways_own_routes_and_problems_are_described() {
    let gateway = gateway();
    let document = document(&gateway);
    for path in [
        "/connectors",
        "/healthz",
        "/readyz",
        "/metrics",
        "/openapi.json",
        "/admin/connectors",
        "/admin/connectors/{connector}",
    ] {
        assert!(document["paths"][path].is_object(), "{path}");
    }
    assert_eq!(document["components"]["securitySchemes"]["bearer"]["scheme"], "bearer");
    let problem = &document["components"]["schemas"]["Problem"];
    for member in ["type", "title", "status", "detail", "instance", "owner", "retryable"] {
        assert!(problem["properties"][member].is_object(), "{member}");
    }
    let urns = document["components"]["schemas"]["ProblemType"]["examples"].as_array().unwrap();
    assert!(urns.contains(&json!("urn:connector-gateway:problem:validation")));
}

#[test]
fn documents_that_did_not_change_are_not_sent_again() {
    let gateway = gateway();
    for path in ["/openapi.json", "/connectors"] {
        let first = gateway.client().get(path);
        first.ok();
        let tag = first.header("etag").to_owned();
        let again = |tag: &str| gateway.client().request("GET", path).header("if-none-match", tag).send();
        let same = again(&tag);
        assert_eq!((same.status, same.body.len(), same.header("etag")), (304, 0, tag.as_str()), "{path}");
        assert_eq!(same.header("vary"), "Accept-Encoding", "{path}");
        assert_eq!(first.header("vary"), "Accept-Encoding", "{path}");
        assert_eq!(again("\"other\"").ok(), first.json(), "{path}");
        gateway.home().put("hostile", &module::with_note(&module::guest("hostile"), path));
        support::wait_for("the change to be visible", || {
            (again(&tag).status == 200 || path == "/openapi.json").then_some(())
        });
    }
}

#[test]
fn the_list_of_connectors_says_how_operations_are_paged_as_the_description_does() {
    let gateway = Setup::new().shipped("code_hosting").shipped("workspace_calendar").start();
    let document = document(&gateway);
    let mut paged = 0;
    for name in ["code_hosting", "workspace_calendar"] {
        for operation in gateway.connector(name).unwrap()["operations"].as_array().unwrap() {
            let path = operation["path"].as_str().unwrap();
            let described = &document["paths"][format!("/connectors/{name}/{path}")]["post"];
            assert_eq!(operation.get("x-pagination"), described.get("x-pagination"), "{name}/{path}");
            assert_eq!(operation["effect"], described["x-effect"], "{name}/{path}");
            paged += usize::from(operation.get("x-pagination").is_some());
        }
    }
    assert!(paged > 0);
}

#[test]
fn every_route_that_is_not_public_answers_401_without_a_token() {
    let gateway = gateway();
    let document = document(&gateway);
    let mut guarded = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap().iter().filter(|(name, _)| *name != "parameters") {
            let path = path.replace("{connector}", "hostile").replace("{user_identifier}", "ann");
            let answer = gateway.anonymous().request(&method.to_uppercase(), &path).send();
            if operation["security"] == json!([]) {
                assert_ne!(answer.status, 401, "{method} {path}");
            } else {
                answer.problem(401, "unauthenticated");
                guarded += 1;
            }
        }
    }
    assert!(guarded > 10, "{guarded} routes need a token");
}

#[test]
fn the_schema_of_an_operation_names_its_fields_and_the_envelope() {
    let gateway = gateway();
    let document = inlined(document(&gateway));
    let schema = |path: &str| {
        let content = &document["paths"][path]["post"]["requestBody"]["content"];
        content["application/json"]["schema"].clone()
    };
    let pools = schema("/connectors/dex_market_data/get_token_pools");
    let names: Vec<_> = pools["properties"].as_object().unwrap().keys().collect();
    for name in ["chain_id", "token_address", "response_fields", "response_filters"] {
        assert!(names.iter().any(|found| *found == name), "{name} in {names:?}");
    }
    assert_eq!(pools["additionalProperties"], false);
    let categories = schema("/connectors/preprint_archive/get_categories");
    assert!(categories["properties"].get("response_fields").is_none(), "{categories}");
}

#[test]
fn the_schema_of_the_envelope_tells_its_limits() {
    let document = document(&gateway());
    let schemas = &document["components"]["schemas"];
    let (fields, filters) = (&schemas["ResponseFields"], &schemas["ResponseFilters"]);
    assert_eq!((&fields["maxItems"], &fields["items"]["maxLength"]), (&json!(1000), &json!(512)));
    let filter = &schemas["ResponseFilter"]["properties"];
    assert_eq!((&filters["maxItems"], &filter["values"]["maxItems"]), (&json!(100), &json!(1000)));
    assert_eq!((&filter["field_name"]["maxLength"], &filter["root"]["maxLength"]), (&json!(512), &json!(512)));
}

#[test]
fn the_schema_of_a_background_operation_tells_how_many_urls_it_takes() {
    let document = document(&Setup::new().shipped("code_hosting").start());
    let body = &document["components"]["schemas"]["CodeHostingSearchIssuesRequest"];
    let urls = &body["properties"]["callback_urls"];
    assert_eq!((&urls["maxItems"], &urls["items"]["maxLength"]), (&json!(10), &json!(2048)));
}

#[test]
fn the_address_in_the_description_is_the_public_one() {
    let home = Setup::new().config("public_url = \"https://gateway.example.com/base\"").prepare();
    let document: Value = serde_json::from_str(&home.run_ok(&["openapi"])).unwrap();
    assert_eq!(document["servers"], json!([{"url": "https://gateway.example.com/base"}]));
}

/// The places of schemas with members that have no name.
fn inline_objects(place: &str, value: &Value, found: &mut Vec<String>) {
    let is_named = place.starts_with("/components/schemas/") && place.matches('/').count() == 3;
    // `properties` can also be the name of a member.
    if value["properties"].is_object() && !place.ends_with("/properties") && !is_named {
        found.push(place.to_owned());
    }
    match value {
        Value::Object(members) => {
            let schemas =
                members.iter().filter(|(name, _)| !matches!(name.as_str(), "example" | "examples" | "default"));
            schemas.for_each(|(name, inner)| {
                inline_objects(&format!("{place}/{}", name.replace('/', "~1")), inner, found)
            });
        }
        Value::Array(items) => items.iter().for_each(|item| inline_objects(&format!("{place}/item"), item, found)),
        _ => {}
    }
}

#[test]
fn every_schema_with_members_has_a_name() {
    let home = Setup::new().every_shipped().guest("hostile").config(CONFIGURED).prepare();
    let document: Value = serde_json::from_str(&home.run_ok(&["openapi"])).unwrap();
    let mut found = Vec::new();
    inline_objects("", &document, &mut found);
    assert!(found.is_empty(), "{found:?}");
    let schemas = document["components"]["schemas"].as_object().unwrap();
    for name in ["Problem", "Job", "WorkspaceCalendarEventsInsertRequest", "WorkspaceCalendarEventsListRequestQuery"] {
        assert!(schemas[name]["properties"].is_object(), "{name}");
    }
    for name in schemas.keys() {
        assert!(name.chars().all(|character| character.is_ascii_alphanumeric()), "{name}");
    }
    inlined(document);
}

#[test]
fn every_operation_has_a_description() {
    let home = Setup::new().every_shipped().config(CONFIGURED).prepare();
    let document: Value = serde_json::from_str(&home.run_ok(&["openapi"])).unwrap();
    let operations = document["paths"].as_object().unwrap().iter();
    let operations = operations.filter(|(path, _)| path.starts_with("/connectors/") && !path.contains('{'));
    let silent: Vec<&String> = operations
        .filter(|(_, item)| item["post"]["description"].as_str().is_none_or(str::is_empty))
        .map(|(path, _)| path)
        .collect();
    assert!(silent.is_empty(), "{silent:?}");
}

/// The places of objects whose members are free, and that do not say so.
fn closed_objects(place: &str, value: &Value, found: &mut Vec<String>) {
    if let Value::Object(keywords) = value {
        if keywords.get("type") == Some(&json!("object"))
            && keywords.keys().all(|name| name == "type" || name == "description")
        {
            found.push(place.to_owned());
        }
        let schemas = keywords.iter().filter(|(name, _)| !matches!(name.as_str(), "example" | "examples" | "default"));
        schemas.for_each(|(name, inner)| closed_objects(&format!("{place}/{name}"), inner, found));
    } else if let Value::Array(items) = value {
        items.iter().for_each(|item| closed_objects(place, item, found));
    }
}

#[test]
fn objects_whose_members_are_free_say_so() {
    let home = Setup::new().every_shipped().config(CONFIGURED).prepare();
    let document: Value = serde_json::from_str(&home.run_ok(&["openapi"])).unwrap();
    let mut found = Vec::new();
    closed_objects("", &document, &mut found);
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn every_problem_of_an_operation_is_described_with_its_schema_and_headers() {
    let document = document(&Setup::new().shipped("preprint_archive").shipped("code_hosting").start());
    let responses = |operation: &str| &document["paths"][format!("/connectors/{operation}")]["post"]["responses"];
    let (read, write, file) = (
        responses("code_hosting/get_issue"),
        responses("code_hosting/create_issue"),
        responses("preprint_archive/download_paper"),
    );
    for (status, schema, header) in [
        ("400", "Problem", "X-Error-Source"),
        ("401", "Problem", "WWW-Authenticate"),
        ("403", "Problem", "X-Request-Id"),
        ("404", "Problem", "X-Upstream-Request-Id"),
        ("409", "ConflictProblem", "Retry-After"),
        ("413", "Problem", "X-Error-Source"),
        ("415", "Problem", "X-Error-Source"),
        ("422", "ValidationProblem", "X-Error-Source"),
        ("424", "AccountProblem", "X-Error-Source"),
        ("429", "Problem", "RateLimit"),
        ("500", "Problem", "X-Error-Source"),
        ("502", "Problem", "Retry-After"),
        ("503", "Problem", "Retry-After"),
        ("504", "Problem", "X-Error-Source"),
        ("default", "Problem", "X-Upstream-RateLimit-Reset"),
    ] {
        let name = read[status]["$ref"].as_str().unwrap_or_else(|| panic!("{status}")).rsplit('/').next().unwrap();
        let response = &document["components"]["responses"][name];
        let media = &response["content"]["application/problem+json"];
        assert_eq!(media["schema"]["$ref"], format!("#/components/schemas/{schema}"), "{status}");
        assert!(response["headers"][header]["$ref"].is_string(), "{status} {header}");
        assert_eq!((&write[status], file[status].is_null()), (&read[status], status == "424"), "{status}");
    }
    for name in ["BadGateway", "ValidationError", "TimedOut", "Rejected"] {
        let headers = &document["components"]["responses"][name]["headers"];
        assert!(headers["Idempotent-Replayed"].is_object(), "{name}: a problem may be the first answer");
    }
    assert!(read["200"]["headers"]["Idempotent-Replayed"].is_null());
    let unmatched = "X-Response-Fields-Unmatched";
    let of_service = ["X-Upstream-Link", "X-Upstream-RateLimit", "X-Upstream-RateLimit-Policy"];
    let of_gateway = ["Idempotent-Replayed", "Content-Encoding", "Vary", "X-Request-Id", unmatched];
    for header in of_service.into_iter().chain(of_gateway) {
        assert!(write["200"]["headers"][header]["$ref"].is_string(), "{header}");
    }
    assert_eq!(file["200"]["content"]["*/*"]["schema"]["format"], "binary");
}

#[test]
fn a_part_of_a_file_is_described_where_the_service_sends_it() {
    let document =
        document(&Setup::new().shipped("preprint_archive").shipped("office_drive").config(CONFIGURED).start());
    let takes_range = |operation: &str| {
        let post = &document["paths"][format!("/connectors/{operation}")]["post"];
        let parameters = post["parameters"].as_array().unwrap();
        let is_parameter = parameters.contains(&json!({"$ref": "#/components/parameters/Range"}));
        assert_eq!(post["responses"]["206"].is_object(), is_parameter, "{operation}");
        is_parameter
    };
    assert!(takes_range("office_drive/download_item"));
    // The connector sends the request itself, and always for the whole file.
    assert!(!takes_range("preprint_archive/download_paper"));
    assert!(!takes_range("preprint_archive/get_categories"));
}

#[test]
fn effects_and_limits_are_explained() {
    let gateway = Setup::new()
        .shipped("dex_market_data")
        .general("max_body_mb = 7")
        .config("[connectors.dex_market_data]\nlimits.timeout_s = 47")
        .start();
    let document = document(&gateway);
    let explained = document["info"]["description"].as_str().unwrap();
    for words in ["`x-effect`", "`destructive`", "`x-rate-limit`", "at most 7 MiB", "`Idempotency-Key`", "`retryable`"]
    {
        assert!(explained.contains(words), "{words} in: {explained}");
    }
    let about = document["tags"].as_array().unwrap().iter().find(|tag| tag["name"] == "dex_market_data").unwrap();
    assert!(about["description"].as_str().unwrap().ends_with("A call ends after 47 s."), "{about}");
    let limit = &document["paths"]["/connectors/dex_market_data/get_token_profiles"]["post"]["x-rate-limit"];
    assert_eq!((&limit["requests"], &limit["period_s"]), (&json!(60), &json!(60)));
}
