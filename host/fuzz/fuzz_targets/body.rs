//! Fuzzes the validation of a request body by a schema. It must never panic, must bound its
//! violations, and must give the connector only a JSON object that the schema accepts as well.
//!
//! The input is the schema in the first line, and the body in the further ones.

#![no_main]

use connector_gateway::fuzzing::{InputError, MAX_VIOLATIONS, Schema};
use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value};

/// Longest detail of a violation: a sentence with names that were cut.
const MAX_DETAIL_BYTES: usize = 4 << 10;

fuzz_target!(|input: &[u8]| {
    let Some(end) = input.iter().position(|byte| *byte == b'\n') else { return };
    let (schema, body) = (&input[..end], &input[end + 1..]);
    let Ok(schema) = str::from_utf8(schema) else { return };
    let Ok(schema) = Schema::compile(schema, true) else { return };
    match schema.parse(body) {
        Ok(input) => {
            let object: Map<String, Value> = serde_json::from_str(&input.text).expect("the connector gets an object");
            assert!(!object.contains_key("response_fields") && !object.contains_key("response_filters"));
            // Nulls that mean an absent member are gone, and the rest is accepted again, unless the
            // schema wants the member.
            let again = schema.parse(input.text.as_bytes());
            assert!(matches!(again, Ok(_) | Err(InputError::Invalid(_))), "{again:?}", again = again.err());
        }
        Err(InputError::Invalid(violations)) => {
            assert!((1..=MAX_VIOLATIONS + 1).contains(&violations.len()), "{} violations", violations.len());
            for violation in &violations {
                assert!(violation.detail.len() <= MAX_DETAIL_BYTES, "{violation:?}");
                assert!(violation.pointer.is_empty() || violation.pointer.starts_with('/'), "{violation:?}");
            }
        }
        Err(InputError::NotJson(_)) => {
            let text = str::from_utf8(body.trim_ascii());
            let is_object = text.is_ok_and(|text| serde_json::from_str::<Map<String, Value>>(text).is_ok());
            assert!(!is_object, "refused an object");
        }
        Err(InputError::TooCostly(_)) => {}
        Err(InputError::NotCompiled(reason)) => panic!("{reason}"),
    }
});
