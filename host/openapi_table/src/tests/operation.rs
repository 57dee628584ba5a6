//! Operations as rows.

use serde_json::{Value, json};

use super::{converted, document, row};
use crate::convert;

#[test]
fn an_operation_whose_body_is_not_an_object_of_json_is_left_out() {
    for (content, reason) in [
        (json!({"image/png": {"schema": {"type": "string"}}}), "`image/png`"),
        (json!({"application/json": {"schema": {"type": "array", "items": {"type": "string"}}}}), "not an object"),
    ] {
        let paths = json!({"/x": {"post": {"requestBody": {"content": content}}, "get": {}}});
        let converted = converted(&document(&paths));
        assert!(
            !converted.table.contains("post_x") && converted.left_out[0].contains(reason),
            "{:?}",
            converted.left_out
        );
    }
}

#[test]
fn a_form_is_a_row_with_the_clause_form() {
    let list = |item: &str| json!({"type": "array", "items": {"type": item}});
    let schema = json!({"type": "object", "required": ["amount"], "properties": {
        "amount": {"type": "integer"}, "card": {"type": "object", "properties": {"number": {"type": "string"}}},
        "expand": list("string"), "ids": list("string"), "tags": list("string"), "lines": list("object"),
    }});
    let encoding = json!({
        "expand": {"style": "deepObject", "explode": true}, "lines": {"style": "deepObject"}, "ids": {"explode": false},
    });
    let form = json!({"application/x-www-form-urlencoded": {"schema": schema, "encoding": encoding}});
    let (row, left_out) = row(json!({"requestBody": {"required": true, "content": form}}));
    for words in [
        "    amount: integer,\n",
        "    card?: {\n        number?: string,\n    },\n",
        "    expand?: [string] as \"expand[]\",\n",
        "    ids?: [string] joined \",\",\n",
        "    tags?: [string],\n",
        "    lines?: [object],\n",
        "} form\n    example { amount: 1 };",
    ] {
        assert!(row.contains(words), "{words} in\n{row}");
    }
    assert_eq!(left_out, [""; 0]);
    // JSON is nearer to what callers send.
    let both = json!({"application/x-www-form-urlencoded": {"schema": schema}, "application/json": {"schema": schema}});
    assert!(!self::row(json!({"requestBody": {"content": both}})).0.contains(" form"));
}

#[test]
fn a_form_with_files_is_a_row_with_the_clause_multipart() {
    let binary = json!({"type": "string", "format": "binary"});
    let schema = json!({"type": "object", "required": ["photo", "title"], "properties": {
        "photo": {"type": "string", "format": "binary", "description": "The photo."},
        "title": {"type": "string"}, "more": {"type": "array", "items": binary}, "sound": {"contentMediaType": "audio/ogg"},
        "cover": {"type": "string", "format": "binary", "nullable": true},
        "about": {"type": "object", "properties": {"author": {"type": "string"}, "portrait": binary}},
    }});
    let (row, left_out) = row(json!({"requestBody": {"content": {"multipart/form-data": {"schema": schema}}}}));
    for words in [
        "    /// The photo.\n    photo: file,\n",
        "    title: string,\n",
        "    more?: [file],\n",
        "    sound?: file,\n",
        "    cover?: file,\n",
        "    about?: {\n        author?: string,\n    },\n",
        "} multipart\n    example { photo: { file_name: \"example.txt\", content_base64: \"ZXhhbXBsZQ==\" }, title: \"example\" };",
    ] {
        assert!(row.contains(words), "{words} in\n{row}");
    }
    assert_eq!(left_out, ["POST /x: `about`: without `portrait`: it is a file"]);
    let json = json!({"application/json": {"schema": schema}});
    let text = document(&json!({"/x": {"post": {"requestBody": {"content": json}}, "get": {}}}));
    assert_eq!(converted(&text).left_out[0], "POST /x: the operation: `photo` of its body: it is a file");
}

#[test]
fn an_optional_body_of_a_get_is_left_out_and_the_operation_is_not() {
    let body = |media_type: &str, schema: Value| json!({"requestBody": {"content": {media_type: {"schema": schema}}}});
    let filled = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let form = "application/x-www-form-urlencoded";
    let paths = json!({
        "/empty": {"get": body(form, json!({"type": "object", "properties": {}})), "post": body(form, json!({"type": "object"}))},
        "/filled": {"get": body(form, filled.clone())},
        "/file": {"get": body("multipart/form-data", filled)},
    });
    let converted = converted(&document(&paths));
    for row in [
        "get_empty: GET api \"/empty\"\n    example {};",
        "post_empty: POST api \"/empty\"\n    example {};",
        "get_filled: GET api \"/filled\"\n    example {};",
        "get_file: GET",
    ] {
        assert!(converted.table.contains(row), "{row} in\n{}", converted.table);
    }
    assert_eq!(
        converted.left_out,
        ["GET /filled, GET /file: its body, because a GET request has no body"],
        "one line for the reason, in the order of the document"
    );
}

#[test]
fn a_required_parameter_that_cannot_be_sent_leaves_out_the_operation() {
    let cookie = |required: bool| json!({"parameters": [{"name": "c", "in": "cookie", "required": required, "schema": {"type": "string"}}]});
    let converted = converted(&document(&json!({"/x": {"get": cookie(true), "post": cookie(false)}})));
    assert!(!converted.table.contains("get_x") && converted.table.contains("post_x"), "{}", converted.table);
    assert_eq!(converted.left_out.len(), 2, "{:?}", converted.left_out);
}

#[test]
fn lists_are_sent_as_the_document_says() {
    let list = |name: &str, style: Value| {
        let mut parameter =
            json!({"name": name, "in": "query", "schema": {"type": "array", "items": {"type": "string"}}});
        parameter.as_object_mut().unwrap().extend(style.as_object().unwrap().clone());
        parameter
    };
    let parameters = [
        list("a", json!({})),
        list("b", json!({"explode": false})),
        list("c", json!({"style": "pipeDelimited", "explode": false})),
    ];
    let (row, _) = row(json!({"parameters": parameters}));
    let lines: Vec<&str> = row.lines().skip(1).take(3).map(str::trim).collect();
    assert_eq!(
        lines,
        ["a?: [string] in query repeated,", "b?: [string] in query,", "c?: [string] in query joined \"|\","]
    );
}

#[test]
fn names_of_parameters_and_members_do_not_meet() {
    let operation = json!({
        "parameters": [
            {"name": "name", "in": "query", "schema": {"type": "string"}},
            {"name": "response_fields", "in": "query", "schema": {"type": "string"}},
        ],
        "requestBody": {"content": {"application/json": {"schema": {"type": "object", "properties": {
            "name": {"type": "string"}, "body": {"type": "object"}, "@type": {"type": "string"},
        }}}}},
    });
    let (row, _) = row(operation);
    for line in [
        "    name?: string in query,",
        "    response_fields_field?: string in query as \"response_fields\",",
        "    body_name?: string as \"name\",",
        "    body?: object as \"body\",",
        "    type?: string as \"@type\",",
    ] {
        assert!(row.contains(line), "{line} in\n{row}");
    }
}

#[test]
fn a_body_with_dots_in_its_names_is_one_field() {
    let schema = json!({"type": "object", "properties": {"a.b": {"type": "string"}}});
    let (row, _) = row(json!({"requestBody": {"required": true, "content": {"application/json": {"schema": schema}}}}));
    assert!(row.contains("    body: {\n        \"a.b\"?: string,\n    },"), "{row}");
}

#[test]
fn an_operation_with_a_server_of_its_own_has_its_upstream() {
    let paths = json!({"/x": {"get": {"servers": [{"url": "https://{region}.files.example", "variables": {"region": {"default": "eu"}}}]}, "put": {}}});
    let table = converted(&document(&paths)).table;
    assert!(
        table.contains("upstream api_2 \"https://eu.files.example\";") && table.contains("GET api_2 \"/x\""),
        "{table}"
    );
    let without = document(&json!({"/x": {"get": {}}})).replace("https://pets.example", "");
    let converted = converted(&without);
    assert!(converted.left_out[0].contains("https://api.example.com"), "{:?}", converted.left_out);
}

#[test]
fn operations_are_chosen_by_id_by_path_and_by_name() {
    let text = document(&json!({"/a": {"get": {"operationId": "readIt"}, "put": {}}, "/b": {"get": {}}}));
    let rows = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        convert(&text, "pets", &names, None, |_| true).map(|converted| {
            converted.table.matches(": GET api").count() + converted.table.matches(": PUT api").count()
        })
    };
    assert_eq!(rows(&["readIt"]).unwrap(), 1);
    assert_eq!(rows(&["PUT /a", "get_b", "read_it"]).unwrap(), 3);
    let error = rows(&["readlt"]).unwrap_err().to_string();
    assert!(error.contains("`readlt`") && error.contains("the nearest is `readIt`"), "{error}");
}

#[test]
fn a_connector_has_at_most_512_operations() {
    let paths: serde_json::Map<String, Value> =
        (0..600).map(|index| (format!("/p{index}"), json!({"get": {}}))).collect();
    let converted = converted(&document(&Value::Object(paths)));
    assert_eq!(converted.table.matches(": GET api").count(), 512);
    assert!(converted.left_out[0].contains("88 operations"), "{:?}", converted.left_out);
}

#[test]
fn a_body_of_json_with_another_media_type_is_noted_if_there_is_no_plain_one() {
    let body = |content: Value| {
        let (row, left_out) = row(json!({"requestBody": {"content": content}}));
        assert!(row.contains("a?: string"), "{row}");
        left_out
    };
    let schema = |name: &str| json!({"schema": {"type": "object", "properties": {name: {"type": "string"}}}});
    for plain in ["application/json", "application/json; charset=utf-8", "*/*"] {
        assert_eq!(body(json!({"application/hal+json": schema("b"), plain: schema("a")})), [""; 0], "{plain}");
    }
    let lines = body(json!({"application/merge-patch+json": schema("a")}));
    assert!(lines.len() == 1 && lines[0].contains("`application/merge-patch+json`"), "{lines:?}");
}

#[test]
fn a_required_parameter_that_is_a_list_has_an_item_and_the_encoding_of_answers_is_the_gateways() {
    let list = json!({"type": "array", "items": {"type": "string"}});
    let parameters = json!([
        {"name": "point", "in": "query", "required": true, "schema": list},
        {"name": "via", "in": "query", "schema": list},
        {"name": "Accept-Encoding", "in": "header", "schema": {"type": "string"}},
    ]);
    let (row, left_out) = row(json!({"parameters": parameters}));
    assert!(row.contains("point: [string](1..) in query repeated,\n    via?: [string] in query repeated,\n}"), "{row}");
    assert!(left_out.len() == 1 && left_out[0].contains("`Accept-Encoding`"), "{left_out:?}");
}

#[test]
fn a_list_is_no_header() {
    let list = json!({"type": "array", "items": {"type": "string"}});
    let (row, left_out) = row(json!({"parameters": [{"name": "X-List", "in": "header", "schema": list}]}));
    assert!(!row.contains("X-List"), "{row}");
    assert!(left_out.len() == 1 && left_out[0].contains("`X-List`: a list cannot be a header"), "{left_out:?}");
}

#[test]
fn a_member_may_be_required_next_to_the_reference_to_its_object() {
    let schema = json!({"$ref": "#/components/schemas/Tree", "required": ["leaf"]});
    let (row, _) = row(json!({"requestBody": {"content": {"application/json": {"schema": schema}}}}));
    assert!(row.contains("    leaf: string,"), "{row}");
}
