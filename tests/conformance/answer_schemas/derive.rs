//! Schemas of answers from samples of them.

use openapi_table::answer_schema::{Detail, object, united};
use serde_json::{Value, json};

/// The schema that fits all of these values.
pub(super) fn of_values<'a>(values: impl IntoIterator<Item = &'a Value>, detail: Detail) -> Option<Value> {
    let mut found: Option<Value> = None;
    let mut has_null = false;
    for value in values {
        let Some(one) = of_value(value, detail) else {
            has_null |= value.is_null();
            continue;
        };
        found = Some(match found {
            Some(before) => united(before, one)?,
            None => one,
        });
    }
    if has_null && let Some(found) = &mut found {
        found["nullable"] = json!(true);
    }
    found
}

fn of_value(value: &Value, detail: Detail) -> Option<Value> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(_) => json!({"type": "boolean"}),
        Value::Number(number) if number.is_f64() => json!({"type": "number"}),
        Value::Number(_) => json!({"type": "integer"}),
        Value::String(_) => json!({"type": "string"}),
        Value::Array(items) => match of_values(items, detail) {
            Some(items) => json!({"type": "array", "items": items}),
            None => json!({"type": "array"}),
        },
        Value::Object(members) => {
            let members =
                members.iter().filter_map(|(name, value)| Some((name.clone(), of_value(value, detail.below())?)));
            object(members.collect(), detail)
        }
    })
}

/// Takes out of a schema what a value contradicts. Returns `false` if that is the whole schema.
pub(super) fn agree(schema: &mut Value, value: &Value) -> bool {
    match (schema["type"].as_str().unwrap_or_default(), value) {
        (_, Value::Null) => {
            schema["nullable"] = json!(true);
            true
        }
        ("object", Value::Object(values)) => {
            if let Some(members) = schema.get_mut("properties").and_then(Value::as_object_mut) {
                members.retain(|name, member| values.get(name).is_none_or(|value| agree(member, value)));
            }
            true
        }
        ("array", Value::Array(values)) => {
            if let Some(items) = schema.get_mut("items")
                && !values.iter().all(|value| agree(items, value))
                && let Some(schema) = schema.as_object_mut()
            {
                schema.shift_remove("items");
            }
            true
        }
        ("integer", Value::Number(number)) => {
            if number.is_f64() {
                schema["type"] = json!("number");
            }
            true
        }
        (kind, value) => {
            kind == match value {
                Value::Null => "null",
                Value::Bool(_) => "boolean",
                Value::Number(_) => "number",
                Value::String(_) => "string",
                Value::Array(_) => "array",
                Value::Object(_) => "object",
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_on_which_samples_do_not_agree_are_left_out() {
        let values =
            [json!({"a": 1, "b": "x", "c": [{"d": null}], "e": null}), json!({"a": 1.5, "b": true, "c": [{"d": "x"}]})];
        let expected = json!({"type": "object", "properties": {
            "a": {"type": "number"},
            "c": {"type": "array", "items": {"type": "object", "properties": {"d": {"type": "string"}}}},
        }});
        assert_eq!(of_values(&values, Detail::FULL).unwrap(), expected);
    }

    #[test]
    fn what_a_sample_contradicts_is_taken_out() {
        let mut schema = json!({"type": "object", "properties": {
            "a": {"type": "integer"}, "b": {"type": "string"}, "c": {"type": "array", "items": {"type": "string"}}, "d": {"type": "boolean"},
        }});
        assert!(agree(&mut schema, &json!({"a": 1.5, "b": 2, "c": [{}], "d": null})));
        let expected = json!({"type": "object", "properties": {
            "a": {"type": "number"}, "c": {"type": "array"}, "d": {"type": "boolean", "nullable": true},
        }});
        assert_eq!(schema, expected);
        assert!(!agree(&mut schema, &json!([])));
    }
}
