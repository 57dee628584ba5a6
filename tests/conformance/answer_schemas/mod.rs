//! The schemas of answers that the connectors of the product have: they are made from the
//! providers' specifications and samples, and written into `answer_schemas.json` of each connector.
//!
//! With `UPDATE_ANSWER_SCHEMAS` set, the test writes the files. Otherwise it compares them.
//!
//! # Layout
//! - here: which operations have a schema, and the comparison
//! - [`derive`](self::derive): makes a schema of samples. The crate `openapi_table` makes one of a
//!   specification, and `connectors new --from-openapi` uses the same code
//! - [`samples`]: the recorded answers
//! - [`further`]: answers of the connectors that differ from their examples

mod derive;
mod further;
mod samples;

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use openapi_table::answer_file;
use openapi_table::answer_schema::{Detail, Reader};
use serde_json::{Map, Value, json};
use support::module;

use self::derive::{agree, of_values};
pub(crate) use self::samples::Samples;
use crate::answers;
use crate::check::violations;
use crate::operations::Connector;
use crate::specifications::{Answer, Method};
use crate::table;

const HEAD: [&str; 5] = ["connector", "operations", "with a schema", "schemas of members", "bytes in the module"];

/// The most that the module of a connector may grow by.
const MAX_BYTES: usize = 20 << 10;

/// Checks the files of all connectors, or writes them, and returns what is wrong, each as a
/// sentence.
pub(crate) fn wrong(connectors: &[Connector], description: &Value, samples: &Samples) -> Vec<String> {
    let is_update = std::env::var_os("UPDATE_ANSWER_SCHEMAS").is_some();
    let mut rows = vec![HEAD.map(str::to_owned).to_vec()];
    let mut wrong = further::unknown(connectors);
    for connector in connectors {
        let file = file(&connector.id);
        let present = fs::read_to_string(&file).ok();
        let schemas = made(connector, description, samples);
        let expected = (!schemas.is_empty()).then(|| answer_file::text(&schemas));
        if is_update {
            match &expected {
                Some(text) => fs::write(&file, text).unwrap(),
                None if present.is_some() => fs::remove_file(&file).unwrap(),
                None => {}
            }
        } else if present != expected {
            wrong.push(format!(
                "{}: the schemas are not those of the specifications; `UPDATE_ANSWER_SCHEMAS=1 make test-conformance` writes them",
                file.display()
            ));
        }
        let Some(text) = expected else { continue };
        let bytes = compressed(&text);
        if bytes > MAX_BYTES {
            wrong.push(format!("{}: the schemas would take {bytes} bytes of the module", connector.id));
        }
        let numbers = [connector.operations.len(), schemas.len(), schemas.values().map(parts).sum(), bytes];
        rows.push([connector.id.clone()].into_iter().chain(numbers.map(|number| number.to_string())).collect());
        wrong.extend(misfits(connector, description, samples, &schemas));
    }
    table::print("Schemas of answers, from the specifications and samples of the providers", &rows);
    wrong
}

fn file(connector: &str) -> PathBuf {
    module::root().join("connectors").join(connector).join("answer_schemas.json")
}

/// The schemas of a connector's operations.
fn made(connector: &Connector, description: &Value, samples: &Samples) -> Map<String, Value> {
    let mut schemas = Map::new();
    for operation in &connector.operations {
        let (name, content) = named(connector, &operation.path, description);
        let example = &content["application/json"]["example"];
        let answers_file = content.get("*/*").is_some();
        if answers_file || has_schema(content, description) {
            continue;
        }
        let mut shown = further::answers(&name);
        shown.insert(0, example.clone());
        let specified = answers::method(&name, operation, example).and_then(|method| schema(method, &shown, samples));
        // An answer that no specification describes is the connector's own, as its examples show it.
        if let Some(schema) = specified.or_else(|| of_examples(&shown)) {
            schemas.insert(operation.path.clone(), schema);
        }
    }
    schemas
}

/// The name of an operation, and the content of its answer in the description.
fn named<'a>(connector: &Connector, path: &str, description: &'a Value) -> (String, &'a Value) {
    let name = format!("{}/{path}", connector.id);
    let described = &description["paths"][format!("/connectors/{name}")]["post"]["responses"]["200"];
    (name, &described["content"])
}

/// Returns `true` if the manifest has a schema of an answer. A connector must not have a second one
/// of the same answer.
fn has_schema(content: &Value, description: &Value) -> bool {
    let unknown = &description["components"]["schemas"]["Answer"];
    let described = &content["application/json"]["schema"];
    // An operation that runs in the background answers with its job, or with the answer.
    let is_unknown = described == unknown || described["anyOf"].as_array().is_some_and(|all| all.contains(unknown));
    !is_unknown
}

/// The schema of the answer of a method: the members of its specification with which no sample and
/// no example disagrees. The first example is the one of the operation.
fn schema(method: &Method, examples: &[Value], samples: &Samples) -> Option<Value> {
    let recorded = samples.of(method);
    let mut schema = match &method.answer {
        Answer::Schema(schema) => Reader::new(schema).read(schema, Detail::FULL)?,
        Answer::Sample(sample) => of_values([sample].into_iter().chain(recorded.iter().copied()), Detail::FULL)?,
        Answer::Empty if !recorded.is_empty() => of_values(recorded.iter().copied(), Detail::FULL)?,
        Answer::Empty | Answer::File => return None,
    };
    // The document may describe an item of the list that the service returns.
    if examples[0].is_array() && schema["type"] == "object" {
        schema = json!({"type": "array", "items": schema});
    }
    let fits = recorded.into_iter().chain(examples).all(|value| agree(&mut schema, value));
    (fits && answer_file::says_members(&schema)).then_some(schema)
}

/// The schema of a connector's own answers, from examples of them.
fn of_examples(examples: &[Value]) -> Option<Value> {
    let mut schema = of_values(examples, Detail::FULL)?;
    // The schema has the members of all examples. It does not have the nulls in place of members yet.
    let fits = examples.iter().all(|value| agree(&mut schema, value));
    (fits && answer_file::says_members(&schema)).then_some(schema)
}

/// The number of schemas in a schema.
fn parts(schema: &Value) -> usize {
    let members = schema["properties"].as_object().into_iter().flatten().map(|(_, member)| parts(member));
    1 + members.sum::<usize>() + schema.get("items").map_or(0, parts)
}

/// The samples and examples that a validator refuses, each as a sentence.
fn misfits(connector: &Connector, description: &Value, samples: &Samples, schemas: &Map<String, Value>) -> Vec<String> {
    let mut wrong = Vec::new();
    for operation in connector.operations.iter().filter(|operation| schemas.contains_key(&operation.path)) {
        let (name, content) = named(connector, &operation.path, description);
        let example = &content["application/json"]["example"];
        let recorded = answers::method(&name, operation, example).map(|method| samples.of(method)).unwrap_or_default();
        let validator = jsonschema::validator_for(&with_null(&schemas[&operation.path])).unwrap();
        let further = further::answers(&name);
        for value in recorded.into_iter().chain(&further).chain([example]) {
            wrong
                .extend(violations(value, &validator).into_iter().map(|(place, why)| format!("{name}: {place} {why}")));
        }
    }
    wrong
}

/// A schema as validators know it: a value that may be null has two types.
fn with_null(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(members) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        members.values_mut().for_each(|member| *member = with_null(member));
    }
    if let Some(items) = schema.get_mut("items") {
        *items = with_null(items);
    }
    if schema["nullable"] == true {
        schema["type"] = json!([schema["type"], "null"]);
    }
    schema
}

/// The size of a text in a module.
fn compressed(text: &str) -> usize {
    // The module has the same value without white space.
    let text = serde_json::from_str::<Value>(text).unwrap().to_string();
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap().len()
}
