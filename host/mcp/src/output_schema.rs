//! The schema of the structured results of a tool.
//!
//! Clients refuse a result that its schema does not fit, and a service may answer other values than
//! its documents say. So the structured form of an answer leaves out the members that do not fit.
//! The text of the result has all of them.

use serde_json::{Map, Value, json};

/// The member of a structured result that holds an answer which is no object.
pub const RESULT: &str = "result";

/// The types that a schema of a result promises.
const TYPES: [&str; 6] = ["object", "array", "string", "integer", "number", "boolean"];

/// The levels of members that a schema of a result has.
const LEVELS: usize = 3;

/// The schema of an operation's structured results, from the schema of its answer.
pub fn output_schema(answer: Option<&Value>) -> Value {
    let schema = answer.map_or_else(|| json!({}), |answer| simple(answer, LEVELS, 0));
    match schema["type"].as_str() {
        Some("object") => schema,
        Some(_) => json!({"type": "object", "properties": {RESULT: schema}}),
        None => json!({"type": "object"}),
    }
}

/// A schema with its type, its members and its items. Members of the first level have their
/// descriptions. It promises neither that a member is there nor that there are no others.
fn simple(schema: &Value, levels: usize, depth: usize) -> Value {
    let mut simple = Map::new();
    let described = schema["description"].as_str().filter(|text| !text.is_empty() && depth == 1);
    if let Some(kind) = schema["type"].as_str().filter(|kind| TYPES.contains(kind)) {
        simple.insert("type".to_owned(), kind.into());
    }
    if let Some(text) = described {
        simple.insert("description".to_owned(), text.into());
    }
    match simple.get("type").and_then(Value::as_str) {
        Some("object") if levels > 0 => {
            let members = schema["properties"].as_object().into_iter().flatten();
            let members: Map<String, Value> =
                members.map(|(name, member)| (name.clone(), self::simple(member, levels - 1, depth + 1))).collect();
            if !members.is_empty() {
                simple.insert("properties".to_owned(), members.into());
            }
        }
        Some("array") if schema["items"].is_object() => {
            // The list has the description.
            simple.insert("items".to_owned(), self::simple(&schema["items"], levels, depth + usize::from(depth > 0)));
        }
        _ => {}
    }
    simple.into()
}

/// The names and types of the members of an answer, for a model: an object has its members, a list
/// has what its items are, and any other value the name of its type. Answers of several forms are
/// `anyOf` with each form. Deeper levels are left out until it has at most `max_bytes`.
pub fn members(schema: &Value, max_bytes: usize) -> Value {
    let mut named = Value::Null;
    for levels in (1..=LEVELS).rev() {
        named = names(schema, levels);
        if named.to_string().len() <= max_bytes {
            break;
        }
    }
    named
}

fn names(schema: &Value, levels: usize) -> Value {
    match schema["type"].as_str() {
        Some("object") if levels > 0 && schema["properties"].is_object() => {
            let members = schema["properties"].as_object().into_iter().flatten();
            members.map(|(name, member)| (name.clone(), names(member, levels - 1))).collect::<Map<_, _>>().into()
        }
        Some("array") if schema["items"].is_object() => json!([names(&schema["items"], levels)]),
        Some(kind) => kind.into(),
        None => match schema["anyOf"].as_array() {
            Some(forms) => json!({"anyOf": forms.iter().map(|form| names(form, levels)).collect::<Vec<_>>()}),
            None => "any".into(),
        },
    }
}

/// The structured form of an answer, which is JSON text: the answer itself if it is an object, else
/// an object with the answer as its member. Members that do not fit `schema` are left out.
pub fn structured(schema: &Value, answer: &str) -> String {
    let answer = answer.trim();
    let whole = match answer.starts_with('{') {
        true => answer.to_owned(),
        false => format!(r#"{{"{RESULT}":{answer}}}"#),
    };
    fitted(schema, &whole).unwrap_or_else(|| "{}".to_owned())
}

/// The part of a JSON text that fits a schema. `None` if nothing of it does.
fn fitted(schema: &Value, text: &str) -> Option<String> {
    let text = text.trim();
    let first = text.bytes().next()?;
    let is_fit = match schema["type"].as_str() {
        Some("object") => {
            let members = json_text::members(text).ok()?;
            let known = schema.get("properties");
            let fit = members.iter().filter_map(|(name, raw)| {
                let value = match known.and_then(|known| known.get(&**name)) {
                    Some(member) => fitted(member, raw.get())?,
                    None => raw.get().to_owned(),
                };
                Some(format!("{}:{value}", Value::from(&**name)))
            });
            return Some(format!("{{{}}}", fit.collect::<Vec<_>>().join(",")));
        }
        Some("array") => {
            let elements = json_text::elements(text).ok()?;
            let Some(items) = schema.get("items") else { return Some(text.to_owned()) };
            let fit = elements.iter().filter_map(|element| fitted(items, element.get()));
            return Some(format!("[{}]", fit.collect::<Vec<_>>().join(",")));
        }
        Some("string") => first == b'"',
        Some("boolean") => matches!(first, b't' | b'f'),
        Some("number") => is_number(first),
        Some("integer") => is_number(first) && is_whole(text),
        _ => true,
    };
    is_fit.then(|| text.to_owned())
}

fn is_number(first: u8) -> bool {
    first == b'-' || first.is_ascii_digit()
}

/// Returns `true` if the text of a number is an integer. `1.0` is one too.
fn is_whole(text: &str) -> bool {
    !text.contains(['.', 'e', 'E']) || text.parse::<f64>().is_ok_and(|number| number.fract() == 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer() -> Value {
        json!({"type": "object", "description": "A page.", "required": ["n"], "additionalProperties": false, "properties": {
            "n": {"type": "integer", "description": "How many.", "nullable": true},
            "items": {"type": "array", "description": "The items.", "items": {"type": "object", "description": "One.", "properties": {
                "id": {"type": "string", "description": "Its id."},
            }}},
            "other": {"$ref": "#/$defs/b"}, "either": {"type": ["string", "null"]},
        }})
    }

    #[test]
    fn a_schema_has_types_and_promises_no_member() {
        let expected = json!({"type": "object", "properties": {
            "n": {"type": "integer", "description": "How many."},
            "items": {"type": "array", "description": "The items.", "items": {"type": "object", "properties": {"id": {"type": "string"}}}},
            "other": {}, "either": {},
        }});
        assert_eq!(output_schema(Some(&answer())), expected);
        let list = json!({"type": "array", "items": {"type": "string"}});
        assert_eq!(output_schema(Some(&list)), json!({"type": "object", "properties": {"result": list}}));
        assert_eq!(output_schema(None), json!({"type": "object"}));
    }

    #[test]
    fn an_answer_that_is_no_object_becomes_a_member_of_one() {
        let any = json!({"type": "object"});
        assert_eq!(structured(&any, r#" {"n":1.0}"#), r#"{"n":1.0}"#);
        assert_eq!(structured(&any, "[1]"), r#"{"result":[1]}"#);
        assert_eq!(structured(&any, "null"), r#"{"result":null}"#);
    }

    #[test]
    fn members_that_do_not_fit_the_schema_are_left_out_of_the_structured_form() {
        let schema = output_schema(Some(&answer()));
        for (whole, fit) in [
            (r#"{"n":12345678901234567890,"more":null}"#, r#"{"n":12345678901234567890,"more":null}"#),
            (r#"{"n":null,"other":[1.10]}"#, r#"{"other":[1.10]}"#),
            (r#"{"n":2.50,"items":[{"id":"a\u0062"},{"id":7,"x":1},null]}"#, r#"{"items":[{"id":"a\u0062"},{"x":1}]}"#),
            (r#"{"n":2.0,"items":{}}"#, r#"{"n":2.0}"#),
            ("[1]", r#"{"result":[1]}"#),
        ] {
            assert_eq!(structured(&schema, whole), fit, "{whole}");
        }
        let list = output_schema(Some(&json!({"type": "array", "items": {"type": "boolean"}})));
        assert_eq!(structured(&list, "[true, 1]"), r#"{"result":[true]}"#);
        assert_eq!(structured(&list, r#"{"error":"x"}"#), r#"{"error":"x"}"#);
        assert_eq!(structured(&list, "7"), "{}");
    }

    #[test]
    fn the_members_are_shown_by_their_names_and_types() {
        let expected = json!({"n": "integer", "items": [{"id": "string"}], "other": "any", "either": "any"});
        assert_eq!(members(&answer(), 1000), expected);
        let shorter = json!({"n": "integer", "items": ["object"], "other": "any", "either": "any"});
        assert_eq!(members(&answer(), 60), shorter);
        assert_eq!(members(&json!({"type": "array", "items": {"type": "string"}}), 100), json!(["string"]));
        let forms = json!({"anyOf": [answer(), {"type": "array", "items": {"type": "object"}}]});
        assert_eq!(members(&forms, 1000), json!({"anyOf": [expected, ["object"]]}));
    }
}
