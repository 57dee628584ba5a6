//! Fuzzes shaping. It must never panic, must accept only JSON, must answer with JSON, and
//! projecting twice must equal projecting once.
//!
//! The input is a line of response fields, a line of filters, and the document. Spaces separate
//! paths and values. A filter is `root field values…`, and semicolons separate filters. The root
//! `-` means that the filter has no root.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use shape::{Shape, ShapeError};

fuzz_target!(|input: &[u8]| {
    let mut parts = input.splitn(3, |byte| *byte == b'\n');
    let (Some(fields), Some(filters), Some(document)) = (parts.next(), parts.next(), parts.next()) else { return };
    let (Ok(fields), Ok(filters)) = (str::from_utf8(fields), str::from_utf8(filters)) else { return };
    let fields: Value = fields.split_whitespace().collect();
    let filters: Value = filters.split(';').filter_map(filter).collect();

    check(&fields, &filters, document);
    if let Some(projected) = check(&fields, &Value::Null, document) {
        assert_eq!(check(&fields, &Value::Null, &projected), Some(projected), "projecting twice");
    }
});

/// Reads one filter of the input.
fn filter(text: &str) -> Option<Value> {
    let mut words = text.split_whitespace();
    let root = words.next().filter(|root| *root != "-");
    let field = words.next()?;
    Some(json!({"root": root, "field_name": field, "type": "string_list", "values": words.collect::<Vec<_>>()}))
}

/// Shapes the document. Returns `None` if it was refused for a good reason.
fn check(fields: &Value, filters: &Value, document: &[u8]) -> Option<Vec<u8>> {
    let raw = |value: &Value| serde_json::value::to_raw_value(value).expect("JSON");
    // An envelope over its limits is refused.
    let shape = Shape::from_members(Some(&raw(fields)), Some(&raw(filters))).ok()?;
    match shape.apply(document) {
        Ok(answer) => {
            assert!(
                is_json(document.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(document)),
                "accepted a document that is not JSON"
            );
            assert!(is_json(&answer), "answered with {:?}", String::from_utf8_lossy(&answer));
            Some(answer)
        }
        Err(ShapeError::TooDeep { .. } | ShapeError::TooLarge | ShapeError::NoMemory | ShapeError::OutOfTime) => None,
        Err(error) => {
            assert!(!is_json(document), "refused JSON: {error}");
            None
        }
    }
}

/// Asks serde_json. `IgnoredAny` checks only the grammar. A `Value` would also refuse numbers that
/// do not fit a float, and escapes that are half a surrogate pair.
fn is_json(document: &[u8]) -> bool {
    str::from_utf8(document).is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok())
}
