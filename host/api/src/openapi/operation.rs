//! The operations of the connectors.

use serde_json::{Map, Value, json};

use super::components::parameter_references;
use super::schemas::{Schemas, reference};
use super::{notes, problems};
use contract::{Answer, AnswerSchemas, AuthScheme, Effect};
use contract_rules::schema::NULLABLE;
use endpoint::pagination::pagination_rule;
use registry::{Connector, Operation};
use schema::{CALLBACK_URLS, MAX_CALLBACK_URLS};
use shape::{MAX_FIELDS, MAX_FILTERS, MAX_PATH_CHARACTERS, MAX_VALUES};
use webhooks::MAX_URL_BYTES;

/// The path item of an operation. Its schemas are added to `schemas`. `further` are the schemas of
/// answers that are not in the manifest.
pub(super) fn path_item(
    connector: &Connector,
    operation: &Operation,
    further: &AnswerSchemas,
    schemas: &mut Schemas,
) -> Value {
    let (identifier, manifest) = (&connector.manifest().identifier, &operation.manifest);
    let has_accounts = !matches!(connector.manifest().auth, AuthScheme::None);
    let mut media = Map::new();
    media.insert("schema".to_owned(), request_schema(identifier, operation, schemas));
    let input_schema = operation.input_schema();
    let required = input_schema["required"].as_array().is_some_and(|required| !required.is_empty());
    let example = manifest.example.as_deref().and_then(|text| serde_json::from_str(text).ok());
    if let Some(example) = example.or_else(|| (!required).then(|| json!({}))) {
        media.insert("example".to_owned(), example);
    }
    let mut responses = Map::new();
    responses.insert(
        "200".to_owned(),
        json!({
            "description": if manifest.background {
                "The job that runs in the background. If `waiting` is true and there are no `callback_urls`: the answer."
            } else {
                "The answer, shaped as the request says."
            },
            "headers": headers(manifest),
            "content": answer_content(identifier, operation, further, schemas),
        }),
    );
    if answers_ranges(manifest) {
        responses.insert("206".to_owned(), json!({"$ref": "#/components/responses/Part"}));
    }
    responses.extend(problems::of_operations(has_accounts));
    let mut post = json!({
        "operationId": format!("{identifier}.{}", manifest.path),
        "tags": [identifier],
        "summary": manifest.summary,
        "description": notes::description(manifest, &input_schema),
        "x-effect": manifest.effect.name(),
        "parameters": parameters(manifest, has_accounts),
        "requestBody": {"required": required, "content": {"application/json": media}},
        "responses": responses,
    });
    if let Some(pages) = pagination_rule(operation) {
        post["x-pagination"] = pages;
    }
    let limit = connector.manifest().rate_limits.iter().find(|limit| Some(&limit.name) == manifest.rate_limit.as_ref());
    if let Some(limit) = limit {
        post["x-rate-limit"] =
            json!({"name": limit.name, "requests": limit.requests, "period_s": limit.period_seconds});
    }
    json!({"post": post})
}

/// Returns `true` if `Range` selects a part of the file: the gateway sends the header to the
/// service. An operation that sends requests itself may answer another file than the service.
fn answers_ranges(manifest: &contract::Operation) -> bool {
    manifest.answer != Answer::Json && manifest.immediate
}

fn parameters(manifest: &contract::Operation, has_accounts: bool) -> Value {
    let mut names = vec!["Prefer", "RequestTimeout", "Debug"];
    if answers_ranges(manifest) {
        names.push("Range");
    }
    if manifest.effect != Effect::Read {
        names.push("IdempotencyKey");
    }
    if has_accounts {
        names.push("UserIdentifier");
    }
    parameter_references(&names)
}

/// The media types of an answer, by the kind of answer that the operation declares.
fn answer_content(connector: &str, operation: &Operation, further: &AnswerSchemas, schemas: &mut Schemas) -> Value {
    let manifest = &operation.manifest;
    let mut json_media = Map::new();
    let known = operation.answer_schema().or_else(|| further.get(&manifest.path).map(with_null));
    let schema = known.map_or_else(
        || reference("Answer"),
        |schema| reference(&schemas.add(&format!("{connector}.{}.answer", manifest.path), &schema)),
    );
    let schema = match manifest.answer {
        Answer::File => reference("File"),
        Answer::Any => json!({"anyOf": [reference("File"), schema]}),
        Answer::Json => schema,
    };
    let schema = if manifest.background { json!({"anyOf": [reference("JobAccepted"), schema]}) } else { schema };
    json_media.insert("schema".to_owned(), schema);
    let example = manifest.answer_example.as_deref().and_then(|text| serde_json::from_str(text).ok());
    if let Some(example) = example {
        json_media.insert("example".to_owned(), example);
    }
    let mut content = Map::new();
    content.insert("application/json".to_owned(), json_media.into());
    if manifest.answer != Answer::Json {
        content.insert("*/*".to_owned(), bytes());
    }
    content.into()
}

/// A schema of an answer that is not in the manifest, as one of this document: a value that may be
/// null has two types.
fn with_null(mut schema: Value) -> Value {
    if let Some(Value::Object(members)) = schema.get_mut("properties") {
        members.values_mut().for_each(|member| *member = with_null(member.take()));
    }
    if let Some(items) = schema.get_mut("items") {
        *items = with_null(items.take());
    }
    if let Value::Object(keywords) = &mut schema
        && keywords.shift_remove(NULLABLE).is_some()
        && let Some(kind) = keywords.get_mut("type")
    {
        *kind = json!([kind, "null"]);
    }
    schema
}

/// The bytes of a file.
pub(super) fn bytes() -> Value {
    json!({"schema": {"type": "string", "format": "binary"}})
}

/// An answer that its connector does not describe.
pub(super) fn answer() -> Value {
    json!({"description": "The JSON of the service, unchanged or shaped. It is `{}` if the service sends nothing."})
}

/// A file as JSON.
pub(super) fn file() -> Value {
    json!({
        "type": "object",
        "description": "A file. If the header `Accept` names its media type, the answer is its bytes instead. It has all of these members \
                        but `sha256`, unless `response_fields` leaves them out.",
        "properties": {
            "file_name": {"type": "string"},
            "content_type": {"type": "string", "description": "The media type."},
            "size": {"type": "integer", "description": "Number of bytes."},
            "sha256": {"type": "string", "description": "Digest of the bytes in hexadecimal digits, if the operation gives it."},
            "content_base64": {"type": "string", "contentEncoding": "base64"},
        },
    })
}

/// The headers of an answer.
fn headers(manifest: &contract::Operation) -> Value {
    let mut names = vec![
        ("X-Request-Id", "RequestId"),
        ("Content-Encoding", "ContentEncoding"),
        ("Vary", "Vary"),
        ("Preference-Applied", "PreferenceApplied"),
    ];
    names.extend(problems::UPSTREAM);
    if manifest.answer != Answer::Json {
        names.push(("Content-Disposition", "ContentDisposition"));
    }
    if manifest.rate_limit.is_some() {
        names.extend(problems::RATE_LIMIT);
    }
    if manifest.envelope {
        names.push(("X-Response-Fields-Unmatched", "ResponseFieldsUnmatched"));
    }
    if manifest.effect != Effect::Read {
        names.push(("Idempotent-Replayed", "IdempotentReplayed"));
    }
    problems::headers(names)
}

/// The schema of the request body, with the members of the envelope.
fn request_schema(connector: &str, operation: &Operation, schemas: &mut Schemas) -> Value {
    let name = schemas.add(&format!("{connector}.{}.request", operation.manifest.path), &operation.input_schema());
    if operation.manifest.envelope {
        schemas.add_member(&name, "response_fields", reference("ResponseFields"));
        schemas.add_member(&name, "response_filters", reference("ResponseFilters"));
    }
    if operation.manifest.background
        && let Some(Value::Object(urls)) = schemas.member_mut(&name, CALLBACK_URLS)
    {
        urls.insert("maxItems".to_owned(), MAX_CALLBACK_URLS.into());
        if let Some(Value::Object(url)) = urls.get_mut("items") {
            url.insert("maxLength".to_owned(), MAX_URL_BYTES.into());
        }
    }
    reference(&name)
}

/// The member `response_fields` of the envelope.
pub(super) fn response_fields() -> Value {
    json!({
        "type": ["array", "null"], "maxItems": MAX_FIELDS,
        "items": {"type": "string", "minLength": 1, "maxLength": MAX_PATH_CHARACTERS},
        "description": "Dot-notation paths of the fields to keep.",
        "examples": [["id", "authors.name"]],
    })
}

/// The member `response_filters` of the envelope.
pub(super) fn response_filters() -> Value {
    json!({
        "type": ["array", "null"], "maxItems": MAX_FILTERS,
        "description": "Filters applied to items of the answer, one after the other, before the fields are chosen.",
        "items": reference("ResponseFilter"),
    })
}

/// One filter of the envelope.
pub(super) fn response_filter() -> Value {
    json!({
        "type": "object", "additionalProperties": false,
        "required": ["field_name", "type", "values"],
        "properties": {
            "field_name": {
                "type": "string", "minLength": 1, "maxLength": MAX_PATH_CHARACTERS,
                "description": "Field to test; dots lead into objects.",
            },
            "type": {"type": "string", "const": "string_list"},
            "values": {
                "type": "array", "maxItems": MAX_VALUES, "items": {"type": "string"}, "description": "Values to match.",
            },
            "root": {
                "type": ["string", "null"], "maxLength": MAX_PATH_CHARACTERS,
                "description": "Path to the array whose elements are tested.",
            },
        },
    })
}

#[test]
fn a_member_of_an_answer_that_may_be_null_has_two_types() {
    let schema = json!({"type": "array", "items": {"type": "object", "nullable": true, "properties": {
        "nullable": {"type": "string", "nullable": true}, "id": {"type": "integer"},
    }}});
    let expected = json!({"type": "array", "items": {"type": ["object", "null"], "properties": {
        "nullable": {"type": ["string", "null"]}, "id": {"type": "integer"},
    }}});
    assert_eq!(with_null(schema), expected);
}
