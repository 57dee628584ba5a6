//! Schemas as fields.

use serde_json::{Value, json};

use super::{assert_member, assert_partly, member, row};

#[test]
fn types_and_their_keywords_are_taken() {
    assert_member(json!({"type": "string", "minLength": 1, "maxLength": 9}), "m?: string(1..=9)");
    assert_member(
        json!({"type": "string", "pattern": "^a\"$", "default": "a"}),
        r#"m?: string pattern "^a\"$" default "a""#,
    );
    assert_member(json!({"enum": ["b", "a", "b"]}), r#"m?: string one_of ["b", "a"]"#);
    assert_member(json!({"type": "string", "format": "date-time"}), r#"m?: string format "date-time""#);
    assert_member(json!({"type": "string", "format": "password"}), "m?: string secret");
    assert_member(
        json!({"type": "integer", "format": "int32", "minimum": 0, "exclusiveMinimum": true}),
        "m?: integer(1..)",
    );
    assert_member(json!({"type": "integer", "exclusiveMaximum": 10, "minimum": 1.0}), "m?: integer(1..=9)");
    assert_member(json!({"type": "number", "minimum": 0.5}), "m?: number(0.5..)");
    assert_member(json!({"type": "boolean", "default": false}), "m?: boolean default false");
    assert_member(
        json!({"type": "array", "maxItems": 3, "items": {"enum": ["a"]}}),
        r#"m?: [string](..=3) one_of ["a"]"#,
    );
    assert_member(json!({"type": "object"}), "m?: object");
    assert_member(json!({"type": "string", "nullable": true}), "m?: string nullable");
    assert_member(json!({"type": ["integer", "null"]}), "m?: integer nullable");
}

#[test]
fn objects_have_their_members_and_lists_have_objects() {
    let object = json!({"type": "object", "required": ["a b"], "properties": {
        "a b": {"type": "string"}, "type": {"type": "string", "nullable": true}, "id": {"type": "string", "readOnly": true},
    }});
    let members = "{\n        \"a b\": string,\n        type?: string,\n    }";
    assert_member(object.clone(), &format!("m?: {members}"));
    assert_member(json!({"type": "array", "items": object}), &format!("m?: [{members}]"));
}

#[test]
fn combinations_become_what_they_have_in_common() {
    let named = json!({"$ref": "#/components/schemas/Named"});
    assert_member(json!({"anyOf": [named, {"type": "null"}]}), "m?: {\n        name: string,\n    } nullable");
    assert_member(
        json!({"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
        "m?: string | [string]",
    );
    assert_member(json!({"anyOf": [{"enum": ["a"]}, {"enum": ["b"]}]}), r#"m?: string one_of ["a", "b"]"#);
    assert_partly(
        json!({"oneOf": [named, {"type": "object", "properties": {"x": {"type": "string"}}}]}),
        "m?: object",
        "several objects",
    );
    assert_partly(json!({"oneOf": [{"type": "integer"}, {"type": "string"}]}), "m?: integer", "`integer` only");
    assert_partly(json!({"type": ["integer", "string"]}), "m?: integer", "`integer` only");
}

#[test]
fn what_a_table_cannot_say_is_listed() {
    let tree = "m?: {\n        leaf?: string,\n        left?: object,\n    }";
    assert_partly(json!({"$ref": "#/components/schemas/Tree"}), tree, "contains itself");
    assert_partly(
        json!({"type": "array", "items": {"type": "array", "items": {"type": "string"}}}),
        "",
        "list of lists",
    );
    assert_partly(json!({"$ref": "other.json#/Pet"}), "", "another document");
    assert_partly(json!({"$ref": "#/nowhere"}), "", "leads nowhere");
    assert_partly(json!({}), "", "no type");
    assert_partly(json!({"type": "string", "pattern": "(?=a)"}), "m?: string", "`(?=a)`");
    assert_partly(json!({"type": "integer", "enum": [1, 2]}), "m?: integer", "list of values");
    assert_partly(json!({"type": "integer", "multipleOf": 5}), "m?: integer", "`multipleOf`");
    assert_partly(json!({"type": "integer", "maximum": 5, "default": 9}), "m?: integer(..=5)", "default");
}

#[test]
fn an_example_fits_its_field_or_there_is_none() {
    let example = |schema: Value, example: Value| {
        let parameter = json!({"name": "a", "in": "query", "required": true, "schema": schema, "example": example});
        let (row, _) = row(json!({"parameters": [parameter]}));
        row.split_once("example { a: ").map(|(_, rest)| rest.split_once(" }").unwrap().0.to_owned())
    };
    let digits = json!({"type": "string", "pattern": "^[0-9]{10}$"});
    assert_eq!(example(digits.clone(), json!("0123456789")).as_deref(), Some("\"0123456789\""));
    assert_eq!(example(digits, json!("x")).as_deref(), Some("\"1234567890\""));
    assert_eq!(example(json!({"type": "string", "pattern": "^%%%$"}), json!("x")), None);
    assert_eq!(example(json!({"type": "integer", "minimum": 5}), json!("x")).as_deref(), Some("5"));
    assert_eq!(example(json!({"type": "string", "minLength": 9}), Value::Null).as_deref(), Some("\"exampleex\""));
}

#[test]
fn objects_that_are_too_deep_take_any_object() {
    let deep = (0..8).fold(json!({"type": "string"}), |inner, _| json!({"type": "object", "properties": {"a": inner}}));
    let (field, left_out) = member(deep);
    assert!(
        field.contains("a?: object") && left_out.len() == 1 && left_out[0].contains("too deep"),
        "{field} {left_out:?}"
    );
}

/// A gateway refuses a schema with a larger pattern.
#[test]
fn a_pattern_has_the_digits_of_json_schema_so_that_it_is_small() {
    assert_member(
        json!({"type": "string", "pattern": r"^[a-z\d-]{1,255}$"}),
        r#"m?: string pattern "^[a-z0-9-]{1,255}$""#,
    );
    assert_partly(json!({"type": "string", "pattern": r"^\p{L}{0,20}$"}), "m?: string", "too large for a gateway");
}
