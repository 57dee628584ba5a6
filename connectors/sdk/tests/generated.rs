//! Requests of the rows of the shared table for generated inputs. `generated.json` has a digest of all
//! answers of each row, and the first of them in full. `UPDATE=1` writes it anew. The other SDKs have
//! the same declarations and the same crate, so that they need no such test.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "shared/answer.rs"]
mod answer;
#[path = "shared/rows.rs"]
mod rows;

use std::path::Path;
use std::{env, fs};

use connector_sdk::run;
use connector_sdk::testing::{Gateway, about};
use connector_sdk::triggers::is_named;
use rows::CONNECTOR;
use serde_json::{Value, json};

/// Inputs of each row.
const INPUTS: usize = 600;
/// Those of them that are in the file.
const SHOWN: usize = 10;

/// Characters of strings, as they are written in JSON: those that paths, queries, forms and JSON
/// itself encode, and those that lead elsewhere.
const CHARACTERS: [&str; 38] = [
    "a",
    "b",
    "Z",
    "0",
    "9",
    "-",
    ".",
    "_",
    "~",
    "..",
    "/",
    "\\\\",
    "%",
    "%2e",
    "%2F",
    "?",
    "#",
    "&",
    "=",
    "+",
    ";",
    ":",
    ",",
    "'",
    "(",
    ")",
    "*",
    "!",
    "@",
    "$",
    " ",
    "\\\"",
    "\\n",
    "\\u00fc",
    "ü",
    "\\ud83d\\ude00",
    "\\ud800",
    "[x]",
];

#[test]
fn the_requests_for_generated_inputs_are_those_that_the_file_has() {
    let gateway = Gateway::new();
    let mut found = Vec::new();
    for operation in CONNECTOR.operations.iter().map(|operation| operation.path) {
        // They run a function on the answer, or on the input.
        if matches!(operation, "guarded" | "typed") || is_named(CONNECTOR.triggers, operation) {
            continue;
        }
        let schema: Value = serde_json::from_str(&about(&CONNECTOR, operation).input_schema).expect("JSON");
        let mut random = Random(digest(FIRST, operation));
        let mut all = FIRST;
        let mut shown = Vec::new();
        for index in 0..INPUTS {
            let input = random.value(&schema);
            let answer = answer::of(&gateway, run::invoke(&CONNECTOR, operation, &input));
            all = digest(all, &answer.to_string());
            if index < SHOWN {
                shown.push(json!({"input": input, "answer": answer}));
            }
        }
        found.push(json!({"operation": operation, "digest": format!("{all:016x}"), "cases": shown}));
    }
    assert!(found.len() * SHOWN >= 180, "the file has about 200 cases");
    let text = format!("[\n{}\n]\n", found.iter().map(line).collect::<Vec<_>>().join(",\n"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/shared/generated.json");
    if env::var_os("UPDATE").is_some() {
        fs::write(&path, &text).expect("the file can be written");
    }
    let known: Vec<Value> = serde_json::from_str(&fs::read_to_string(&path).expect("the file is there")).expect("JSON");
    for (known, found) in known.iter().zip(&found) {
        assert!(known == found, "{} makes other requests than before", found["operation"]);
    }
    assert_eq!(known.len(), found.len());
}

/// A row of the file, with each case in a line.
fn line(row: &Value) -> String {
    let cases = row["cases"].as_array().expect("a list").iter().map(|case| format!("  {case}")).collect::<Vec<_>>();
    format!(
        "{{\"operation\": {}, \"digest\": {}, \"cases\": [\n{}\n]}}",
        row["operation"],
        row["digest"],
        cases.join(",\n")
    )
}

/// FNV-1a.
const FIRST: u64 = 0xcbf2_9ce4_8422_2325;

fn digest(state: u64, text: &str) -> u64 {
    text.bytes().fold(state, |state, byte| (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// SplitMix64, so that the inputs are the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % end as u64).expect("it is less than `end`")
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// Blanks between tokens.
    fn blank(&mut self) -> &'static str {
        self.one_of(&["", "", "", "", " ", "\n\t"])
    }

    /// JSON text that a schema accepts, in any of its forms.
    fn value(&mut self, schema: &Value) -> String {
        if let Some(values) = schema["enum"].as_array() {
            return values[self.below(values.len())].to_string();
        }
        if let Some(choices) = schema["anyOf"].as_array() {
            let chosen = self.below(choices.len());
            return self.value(&choices[chosen]);
        }
        let types: Vec<&str> = match &schema["type"] {
            Value::Array(types) => types.iter().filter_map(Value::as_str).collect(),
            name => name.as_str().into_iter().collect(),
        };
        if types.is_empty() {
            return self.one_of(&["1", "\"x\"", "null", "{}", "[1, {\"a\":[]}]"]).to_owned();
        }
        match self.one_of(&types) {
            "null" => "null".to_owned(),
            "boolean" => self.one_of(&["true", "false"]).to_owned(),
            "integer" => self.one_of(&["1", "7.0", "2e0", "0.3e1", "50.00e-1"]).to_owned(),
            "number" => self.one_of(&["0", "-1.50", "3e2", "12345678901234567890"]).to_owned(),
            "string" if schema["contentEncoding"] == "base64" => self.one_of(&["\"\"", "\"AA==\"", "\"?\""]).to_owned(),
            "string" => self.string(schema),
            "array" => {
                let least = usize::try_from(schema["minItems"].as_u64().unwrap_or(0)).expect("a small number");
                let length = least + self.below(4);
                let items: Vec<String> = (0..length).map(|_| self.value(&schema["items"])).collect();
                let separator = format!("{},{}", self.blank(), self.blank());
                format!("[{}]", items.join(&separator))
            }
            _ => self.object(schema),
        }
    }

    fn string(&mut self, schema: &Value) -> String {
        let least = usize::from(schema["minLength"].as_u64().is_some_and(|least| least > 0));
        let length = least + self.below(5);
        let text: String = (0..length).map(|_| self.one_of(&CHARACTERS)).collect();
        format!("\"{text}\"")
    }

    fn object(&mut self, schema: &Value) -> String {
        let Some(properties) = schema["properties"].as_object().filter(|_| schema["additionalProperties"] == false)
        else {
            return self.one_of(&["{}", "{ \"a\" : [1.0, {\"b\":null}] }", "{\"\\u00fc\":\"x y\"}"]).to_owned();
        };
        let is_required = |name: &String| schema["required"].as_array().is_some_and(|all| all.contains(&json!(name)));
        let mut members = Vec::new();
        for (name, schema) in properties {
            if is_required(name) || self.below(2) == 0 {
                let (before, after) = (self.blank(), self.blank());
                members.push(format!("{before}\"{name}\"{after}:{before}{}{after}", self.value(schema)));
            }
        }
        // Members come in any order.
        if self.below(3) == 0 {
            members.reverse();
        }
        format!("{{{}}}", members.join(","))
    }
}
