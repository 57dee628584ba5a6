//! The schema of the structured results of a tool.
//!
//! Clients refuse a result that its schema does not fit. A service may answer more, less or other
//! values than the manifest says, and `response_fields` leaves members out. So the schema names the
//! members, and promises neither that they are there nor their types.

use serde_json::{Map, Value, json};

/// The member of a structured result that holds an answer which is no object.
pub const RESULT: &str = "result";

/// The schema of an operation's structured results.
pub fn output_schema(answer: Option<&Value>) -> Value {
    let mut properties = Map::new();
    for (name, member) in answer.and_then(|schema| schema["properties"].as_object()).into_iter().flatten() {
        let description = member["description"].as_str().filter(|description| !description.is_empty());
        properties.insert(name.clone(), description.map_or_else(|| json!({}), |text| json!({"description": text})));
    }
    match properties.is_empty() {
        true => json!({"type": "object"}),
        false => json!({"type": "object", "properties": properties}),
    }
}

/// The structured form of an answer, which is JSON text: the answer itself if it is an object, else
/// an object with the answer as its member.
pub fn structured(answer: &str) -> String {
    match answer.trim_start().starts_with('{') {
        true => answer.to_owned(),
        false => format!(r#"{{"{RESULT}":{answer}}}"#),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_names_members_and_promises_nothing() {
        let answer = json!({"type": "object", "required": ["a"], "additionalProperties": false,
            "properties": {"a": {"type": "integer", "description": "how many"}, "b": {"$ref": "#/$defs/b"}}});
        let expected = json!({"type": "object", "properties": {"a": {"description": "how many"}, "b": {}}});
        assert_eq!(output_schema(Some(&answer)), expected);
        assert_eq!(output_schema(Some(&json!({"type": "array"}))), json!({"type": "object"}));
        assert_eq!(output_schema(None), json!({"type": "object"}));
    }

    #[test]
    fn an_answer_that_is_no_object_becomes_a_member_of_one() {
        assert_eq!(structured(r#" {"n":1.0}"#), r#" {"n":1.0}"#);
        assert_eq!(structured("[1]"), r#"{"result":[1]}"#);
        assert_eq!(structured("null"), r#"{"result":null}"#);
    }
}
