//! Answers of operations, as agents and generators of clients know them: the schemas that a
//! module has next to its manifest.

use std::fs;
use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::{Value, json};
use support::home::path;
use support::{Gateway, Reply, Setup, Upstream, module, wait_for};

use super::{Agent, result, text_of};

/// The answers of the operations `get_item` and `get_limited_item`.
fn schemas() -> Value {
    json!({
        "get_item": {"type": "object", "properties": {
            "id": {"type": "integer", "description": "The number of the item."},
            "owner": {"$ref": "#/$defs/person", "nullable": true},
            "watchers": {"type": "array", "items": {"$ref": "#/$defs/person"}},
        }},
        "get_limited_item": {"type": "array", "items": {"type": "string"}},
        "$defs": {"person": {"type": "object", "properties": {"name": {"type": "string"}}}},
    })
}

/// The connector `bench` with this section of schemas.
fn with_schemas(schemas: &Value) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(schemas.to_string().as_bytes()).unwrap();
    module::with_custom(&module::guest("bench"), "answer-schemas", &encoder.finish().unwrap())
}

/// A gateway with this module, at a service.
fn world(module: Vec<u8>, config: &str) -> (Gateway, Upstream) {
    let service = Upstream::start();
    let gateway = Setup::new().module("bench", module).upstream("bench", "api", &service.url()).config(config).start();
    (gateway, service)
}

#[test]
fn a_described_operation_has_the_names_and_types_of_its_answer() {
    let (gateway, _service) = world(with_schemas(&schemas()), "[mcp]\ndirect_tools = 0");
    let agent = Agent::new(&gateway.client(), "/mcp");
    let names = json!({"names": ["bench/get_item", "bench/get_limited_item"]});
    let described: Value = serde_json::from_str(&agent.text("describe_operations", names)).unwrap();
    let expected = json!({"id": "integer", "owner": {"name": "string"}, "watchers": [{"name": "string"}]});
    assert_eq!((&described[0]["answer"], &described[1]["answer"]), (&expected, &json!(["string"])));
}

#[test]
fn a_described_operation_has_the_example_of_its_answer() {
    let gateway = Setup::new().shipped("dex_market_data").config("[mcp]\ndirect_tools = 0").start();
    let agent = Agent::new(&gateway.client(), "/mcp");
    let names = json!({"names": ["dex_market_data/get_top_token_boosts"]});
    let described: Value = serde_json::from_str(&agent.text("describe_operations", names)).unwrap();
    assert!(described[0]["answer_example"][0]["chainId"].is_string(), "{described}");
    assert_eq!(described[0]["answer"][0]["chainId"], "string", "{described}");
}

#[test]
fn structured_results_fit_the_types_of_their_schema_whatever_the_service_answers() {
    let (gateway, service) = world(with_schemas(&schemas()), "");
    let client = gateway.client();
    let set = json!({"name": "items", "allow": ["bench"], "structured": true});
    assert_eq!(client.post("/mcp-sets", set).status, 201);
    let agent = Agent::new(&client, "/mcp/sets/items");
    let tools = agent.tools();
    let schema = |name: &str| &tools.iter().find(|tool| tool["name"] == name).unwrap()["outputSchema"];
    let expected = json!({"type": "object", "properties": {
        "id": {"type": "integer", "description": "The number of the item."},
        "owner": {"type": "object", "properties": {"name": {"type": "string"}}},
        "watchers": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
    }});
    assert_eq!(schema("bench__get_item"), &expected);
    let list = json!({"type": "object", "properties": {"result": {"type": "array", "items": {"type": "string"}}}});
    assert_eq!(schema("bench__get_limited_item"), &list);

    let validator = jsonschema::validator_for(&expected).unwrap();
    for (answer, fit) in [
        (json!({"id": 7, "owner": {"name": "Ada", "more": 1}}), json!({"id": 7, "owner": {"name": "Ada", "more": 1}})),
        (json!({"id": "7", "owner": null, "watchers": [{"name": 7}, "x"]}), json!({"watchers": [{}]})),
        (json!([1]), json!({"result": [1]})),
    ] {
        service.reply("/items/17", Reply::json(answer.clone()));
        let answered = result(&agent.call("bench__get_item", json!({"item_id": "17"})));
        assert_eq!(serde_json::from_str::<Value>(&text_of(&answered)).unwrap(), answer, "the text has all of it");
        assert_eq!(answered["structuredContent"], fit, "{answer}");
        assert!(validator.is_valid(&answered["structuredContent"]), "{answered}");
    }
}

#[test]
fn the_description_has_typed_answers_when_it_is_asked_for_them() {
    let (gateway, _service) = world(with_schemas(&schemas()), "");
    let (without, _other) = world(module::guest("bench"), "");
    let get = |gateway: &Gateway, query: &str| gateway.anonymous().get(&format!("/openapi.json{query}"));
    let connectors_of = |gateway: &Gateway| {
        let document = get(gateway, "?connector=bench").json();
        json!([document["paths"], document["components"]])
    };
    assert_eq!(connectors_of(&gateway), connectors_of(&without), "the plain description is as before");
    for query in ["?answers=typed", "?connector=bench&answers=typed"] {
        let document = get(&gateway, query).ok();
        let answer = |operation: &str| {
            let operation = &document["paths"][format!("/connectors/bench/{operation}")]["post"];
            let schema = &operation["responses"]["200"]["content"]["application/json"]["schema"];
            document["components"]["schemas"][schema["$ref"].as_str().unwrap().rsplit('/').next().unwrap()].clone()
        };
        let item = answer("get_item");
        assert_eq!(item["properties"]["id"], json!({"type": "integer", "description": "The number of the item."}));
        let owner = item["properties"]["owner"]["$ref"].as_str().unwrap().rsplit('/').next().unwrap();
        assert_eq!(document["components"]["schemas"][owner]["type"], json!(["object", "null"]), "{item}");
        assert_eq!(answer("get_limited_item"), json!({"type": "array", "items": {"type": "string"}}));
    }
    let violations = get(&gateway, "?answers=plain").violations();
    assert!(violations[0].0 == "/answers" && violations[0].1.contains("`typed`"), "{violations:?}");
}

#[test]
fn a_module_whose_answer_schemas_break_a_rule_is_refused_with_the_rule() {
    let gateway = Setup::new().start();
    for (note, schemas, words) in [
        ("form", json!({"get_item": {"type": ["object", "null"]}}), "`type` must be one of"),
        (
            "circle",
            json!({"get_item": {"$ref": "#/$defs/a"}, "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}}}),
            "part of itself",
        ),
        ("unknown", json!({"get_items": {"type": "object"}}), "`get_items`, but there is no such operation"),
    ] {
        gateway.home().put("bench", &module::with_note(&with_schemas(&schemas), note));
        wait_for(words, || {
            gateway.refusal("bench.wasm").filter(|refused| refused["reason"].to_string().contains(words))
        });
    }
}

#[test]
fn a_project_without_a_language_gets_the_schemas_of_the_file_in_its_folder() {
    let home = Setup::new().prepare();
    let folder = home.config().with_file_name("words");
    home.run_ok(&["connectors", "new", "words", "--lang", "none", "--folder", path(&folder)]);
    let file = folder.join("answer_schemas.json");
    fs::write(
        &file,
        json!({"define": {"type": "array", "items": {"type": "object", "properties": {"word": {"type": "string"}}}}})
            .to_string(),
    )
    .unwrap();
    home.run_ok(&["connectors", "build", path(&folder)]);
    let packed = folder.join("packed.wasm");
    let pack =
        ["connectors", "pack", path(&folder.join("connector.toml")), "--output", path(&packed)].map(str::to_owned);
    let pack =
        |more: &[&str]| home.run(&pack.iter().map(String::as_str).chain(more.iter().copied()).collect::<Vec<_>>());
    assert_eq!(pack(&["--answer-schemas", path(&file)]).code, Some(0));
    for module in ["words.wasm", "packed.wasm"] {
        let gateway = Setup::new().module("words", fs::read(folder.join(module)).unwrap()).start();
        let document = gateway.anonymous().get("/openapi.json?connector=words&answers=typed").ok();
        let schema = &document["components"]["schemas"]["WordsDefineAnswer"];
        assert_eq!(schema["type"], "array", "{module}: {document}");
    }
    fs::write(&file, r#"{"define": {"type": "array", "items": true}}"#).unwrap();
    let failed = pack(&["--answer-schemas", path(&file)]);
    assert!(
        failed.code == Some(1)
            && failed.stderr.contains("the answer schema of `define`: each schema must be an object"),
        "{}",
        failed.stderr
    );
}
