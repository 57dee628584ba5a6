//! The schemas of answers.

use super::*;

/// An operation with the schema of its answer.
fn answering(schema: &Value) -> Value {
    json!({"responses": {"200": {"description": "Done", "content": {"application/hal+json": {"schema": schema}}}}})
}

/// The file with the schemas of a document.
fn schemas(text: &str) -> Option<Value> {
    Some(serde_json::from_str(&converted(text).answer_schemas?).unwrap())
}

#[test]
fn answers_have_their_schemas_by_the_names_of_the_rows() {
    let named = json!({"$ref": "#/components/schemas/Named"});
    let file = json!({"responses": {"200": {"content": {"image/png": {"schema": named}}}}});
    let paths = json!({
        "/names": {"get": answering(&json!({"type": "array", "items": named})), "post": answering(&named)},
        "/text": {"get": answering(&json!({"type": "string"}))},
        "/photo": {"get": file},
        "/nothing": {"get": {"responses": {"204": {"description": "Done"}}}},
    });
    let object = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    let expected = json!({"get_names": {"type": "array", "items": object}, "post_names": object});
    assert_eq!(schemas(&document(&paths)), Some(expected));
    assert_eq!(schemas(&document(&json!({"/x": {"get": {}}}))), None);
}

#[test]
fn answers_of_version_2_have_their_schemas() {
    let text = json!({
        "swagger": "2.0", "info": {"title": "Old"}, "host": "old.example", "produces": ["application/json"],
        "paths": {"/x": {"get": {"responses": {"200": {"description": "Done", "schema": {"$ref": "#/definitions/X"}}}}}},
        "definitions": {"X": {"type": "object", "properties": {"id": {"type": "integer", "description": "Its id."}}}},
    });
    let expected = json!({"type": "object", "properties": {"id": {"type": "integer", "description": "Its id."}}});
    assert_eq!(schemas(&text.to_string()), Some(json!({"get_x": expected})));
}

#[test]
fn a_file_without_room_has_less_detail_and_the_command_says_so() {
    let mut leaf = json!({"type": "string", "description": "The deepest one."});
    for name in ["c", "b", "a"] {
        leaf = json!({"type": "object", "properties": {name: leaf}});
    }
    let text = document(&json!({"/x": {"get": answering(&leaf)}}));
    for (word, said) in [
        ("deepest", "the descriptions of the schemas of answers"),
        ("\"c\"", "members below the second level, of the schemas of answers"),
        ("\"b\"", "members below the first level, of the schemas of answers"),
        ("", "the schemas of answers, which"),
    ] {
        let converted = convert(&text, "pets", &[], None, |file| !file.contains(word)).unwrap();
        let left_out = &converted.left_out;
        assert!(left_out.len() == 1 && left_out[0].contains(said), "{word}: {left_out:?}");
        assert_eq!(converted.answer_schemas.is_none(), word.is_empty());
    }
}
