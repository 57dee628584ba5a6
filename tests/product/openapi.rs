//! The OpenAPI description, checked by an independent validator.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};
use support::{Gateway, Setup, module};

fn gateway() -> Gateway {
    Setup::new().shipped("preprint_archive").shipped("dex_market_data").guest("hostile").start()
}

/// Runs a Python script with the validator on the description.
fn judge(gateway: &Gateway, script: &str) {
    let tools = module::root().join("target/python");
    assert!(tools.join("openapi_spec_validator").is_dir(), "the validator is missing; `make test` installs it");
    let file = gateway.home().config().with_file_name("openapi.json");
    fs::write(&file, gateway.stranger().get("/openapi.json").body).unwrap();
    let output = Command::new("python3")
        .args(["-c", script])
        .arg(&file)
        .env("PYTHONPATH", tools)
        .output()
        .expect("python3 runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

fn document(gateway: &Gateway) -> Value {
    gateway.stranger().get("/openapi.json").ok()
}

#[test]
fn the_description_is_valid_openapi() {
    judge(
        &gateway(),
        "import json, sys\n\
         from openapi_spec_validator import OpenAPIV31SpecValidator\n\
         OpenAPIV31SpecValidator(json.load(open(sys.argv[1]))).validate()",
    );
}

#[test]
fn every_operation_has_an_example_that_its_schema_accepts() {
    let gateway = Setup::new().shipped("preprint_archive").shipped("dex_market_data").start();
    judge(
        &gateway,
        "import json, sys\n\
         from jsonschema import Draft202012Validator\n\
         document = json.load(open(sys.argv[1]))\n\
         wrong = []\n\
         for path, item in document['paths'].items():\n\
         \x20   media = item.get('post', {}).get('requestBody', {}).get('content', {}).get('application/json')\n\
         \x20   if not path.startswith('/connectors/') or '{' in path:\n\
         \x20       continue\n\
         \x20   schema = {**media['schema'], 'components': document['components']}\n\
         \x20   if 'example' not in media:\n\
         \x20       wrong.append(f'{path} has no example')\n\
         \x20   else:\n\
         \x20       wrong += [f'{path}: {error.message}' for error in Draft202012Validator(schema).iter_errors(media['example'])]\n\
         sys.exit('\\n'.join(wrong) or None)",
    );
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
    let urns = problem["properties"]["type"]["examples"].as_array().unwrap();
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
        assert_eq!(again("\"other\"").ok(), first.json(), "{path}");
        gateway.home().put("hostile", &module::with_note(&module::guest("hostile"), path));
        support::wait_for("the change to be told", || {
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
            let answer = gateway.stranger().request(&method.to_uppercase(), &path).send();
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
    let document = document(&gateway);
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
    let filter = &filters["items"]["properties"];
    assert_eq!((&filters["maxItems"], &filter["values"]["maxItems"]), (&json!(100), &json!(1000)));
    assert_eq!((&filter["field_name"]["maxLength"], &filter["root"]["maxLength"]), (&json!(512), &json!(512)));
}

#[test]
fn the_address_in_the_description_is_the_public_one() {
    let home = Setup::new().config("public_url = \"https://gateway.example.com/base\"").prepare();
    let document: Value = serde_json::from_str(&home.run_ok(&["openapi"])).unwrap();
    assert_eq!(document["servers"], json!([{"url": "https://gateway.example.com/base"}]));
}
