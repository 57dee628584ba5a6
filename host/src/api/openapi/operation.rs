//! The operations of the connectors.

use serde_json::{Map, Value, json};

use crate::registry::Operation;
use contract::{Answer, Effect, NextPage, Pagination};
use shape::{MAX_FIELDS, MAX_FILTERS, MAX_PATH_CHARACTERS, MAX_VALUES};

/// The path item of an operation.
pub(super) fn path_item(connector: &str, operation: &Operation) -> Value {
    let manifest = &operation.manifest;
    let mut media = Map::new();
    media.insert("schema".to_owned(), body_schema(connector, operation));
    let required = operation
        .schema
        .document()
        .get("required")
        .and_then(Value::as_array)
        .is_some_and(|required| !required.is_empty());
    let example = manifest.example.as_deref().and_then(|text| serde_json::from_str(text).ok());
    if let Some(example) = example.or_else(|| (!required).then(|| json!({}))) {
        media.insert("example".to_owned(), example);
    }
    let mut post = json!({
        "operationId": format!("{connector}.{}", manifest.path),
        "tags": [connector],
        "summary": manifest.summary,
        "description": manifest.description,
        "x-effect": effect(manifest.effect),
        "requestBody": {"required": required, "content": {"application/json": media}},
        "responses": {
            "200": {
                "description": if manifest.background {
                    "The job that runs in the background. If `waiting` is true and there are no `callback_urls`: the answer."
                } else {
                    "The answer, shaped as the request says."
                },
                "headers": headers(manifest),
                "content": answer_content(connector, operation),
            },
            "422": {"$ref": "#/components/responses/ValidationError"},
            "default": {"$ref": "#/components/responses/Problem"},
        },
    });
    if let Some(pages) = &manifest.pagination {
        post["x-pagination"] = pagination(pages);
    }
    json!({"post": post})
}

/// The media types of an answer, by the kind of answer that the operation declares.
fn answer_content(connector: &str, operation: &Operation) -> Value {
    let schema = operation.answer_schema.as_ref().map_or_else(
        || json!({}),
        |schema| with_own_root(schema, &format!("{connector}:{}:answer", operation.manifest.path)),
    );
    let bytes = || json!({"schema": {"type": "string", "format": "binary"}});
    if operation.manifest.background {
        let accepted = json!({"$ref": "#/components/schemas/JobAccepted"});
        return json!({"application/json": {"schema": {"anyOf": [accepted, schema]}}});
    }
    match operation.manifest.answer {
        Answer::Json => json!({"application/json": {"schema": schema}}),
        Answer::File => json!({
            "application/json": {"schema": {"$ref": "#/components/schemas/File"}},
            "*/*": bytes(),
        }),
        Answer::Any => json!({"application/json": {"schema": schema}, "*/*": bytes()}),
    }
}

/// A file as JSON.
pub(super) fn file() -> Value {
    json!({
        "type": "object",
        "description": "A file. If the header `Accept` names its media type, the answer is its bytes instead.",
        "required": ["file_name", "content_type", "size", "content_base64"],
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
        ("X-Upstream-Request-Id", "UpstreamRequestId"),
        ("X-Upstream-RateLimit-Limit", "UpstreamRateLimit"),
        ("X-Upstream-RateLimit-Remaining", "UpstreamRateLimit"),
        ("X-Upstream-RateLimit-Reset", "UpstreamRateLimit"),
        ("X-Upstream-Link", "UpstreamLink"),
    ];
    if manifest.rate_limit.is_some() {
        names.extend([("RateLimit", "RateLimit"), ("RateLimit-Policy", "RateLimitPolicy")]);
    }
    if manifest.effect != Effect::Read {
        names.push(("Idempotent-Replayed", "IdempotentReplayed"));
    }
    let header = |(name, component): (&str, &str)| {
        (name.to_owned(), json!({"$ref": format!("#/components/headers/{component}")}))
    };
    Value::Object(names.into_iter().map(header).collect())
}

/// The name of an effect.
pub(in crate::api) fn effect(effect: Effect) -> &'static str {
    match effect {
        Effect::Read => "read",
        Effect::Write => "write",
        Effect::Destructive => "destructive",
    }
}

/// The extension `x-pagination`; [`PAGINATION`] explains it to callers.
pub(in crate::api) fn pagination(pages: &Pagination) -> Value {
    let mut rule = json!({"items": pages.items, "input": pages.input});
    match &pages.next {
        NextPage::Cursor(pointer) => {
            rule["style"] = "cursor".into();
            rule["next"] = pointer.as_str().into();
        }
        NextPage::Link(link) => {
            rule["style"] = "link".into();
            rule["next"] = link.pointer.as_str().into();
            rule["parameter"] = link.parameter.as_str().into();
        }
        NextPage::PageNumber(first) => {
            rule["style"] = "page_number".into();
            rule["first"] = (*first).into();
        }
        NextPage::Offset => rule["style"] = "offset".into(),
    }
    rule
}

/// The explanation of `x-pagination` in the document.
pub(super) const PAGINATION: &str = "Operations with further pages have the extension `x-pagination`. `items` is a JSON Pointer \
    to the items in the answer, and `input` is a JSON Pointer to the member of the request body that selects the page. `style` \
    says how the value of `input` for the next page is found. `cursor`: the answer has it at the JSON Pointer `next`; on the \
    last page it is absent, null or empty. `link`: the answer has a URL at `next`, and the query parameter `parameter` of this \
    URL is the value; on the last page the URL is absent. `page_number`: count pages up from `first`. `offset`: the number of \
    items to skip. With the last two, a page without items follows the last page. Do not remove `next` with `response_fields`.";

/// The schema of the request body, with the members of the envelope.
fn body_schema(connector: &str, operation: &Operation) -> Value {
    let mut schema = with_own_root(operation.schema.document(), &format!("{connector}:{}", operation.manifest.path));
    let has_own_root = schema.get("$id").is_some();
    if operation.schema.envelope()
        && let Value::Object(members) = &mut schema
        && let Value::Object(properties) = members.entry("properties").or_insert_with(|| json!({}))
    {
        for (name, component, inline) in [
            ("response_fields", "ResponseFields", response_fields as fn() -> Value),
            ("response_filters", "ResponseFilters", response_filters),
        ] {
            let member =
                if has_own_root { inline() } else { json!({"$ref": format!("#/components/schemas/{component}")}) };
            properties.insert(name.to_owned(), member);
        }
    }
    schema
}

/// A schema of a connector, for use inside of the document.
///
/// References in the schema are relative to its own root. So a schema with references becomes a resource with an `$id`. In turn,
/// such a schema cannot refer to other parts of the document.
fn with_own_root(schema: &Value, name: &str) -> Value {
    let mut schema = schema.clone();
    if let Value::Object(members) = &mut schema {
        members.remove("$schema");
        if Value::from(members.clone()).to_string().contains("\"$ref\"") {
            members.entry("$id").or_insert_with(|| format!("urn:connector-gateway:schema:{name}").into());
        }
    }
    schema
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
        "items": {
            "type": "object", "additionalProperties": false,
            "required": ["field_name", "type", "values"],
            "properties": {
                "field_name": {
                    "type": "string", "minLength": 1, "maxLength": MAX_PATH_CHARACTERS,
                    "description": "Field to test; dots lead into objects.",
                },
                "type": {"const": "string_list"},
                "values": {
                    "type": "array", "maxItems": MAX_VALUES, "items": {"type": "string"}, "description": "Values to match.",
                },
                "root": {
                    "type": ["string", "null"], "maxLength": MAX_PATH_CHARACTERS,
                    "description": "Path to the array whose elements are tested.",
                },
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use contract::NextLink;

    use super::*;

    fn rule(next: NextPage) -> Value {
        pagination(&Pagination { items: "/items".to_owned(), next, input: "/query/page".to_owned() })
    }

    #[test]
    fn each_style_of_pagination_says_where_the_next_page_comes_from() {
        let cursor = rule(NextPage::Cursor("/nextPageToken".to_owned()));
        let common = json!({"items": "/items", "input": "/query/page", "style": "cursor", "next": "/nextPageToken"});
        assert_eq!(cursor, common);
        let link = NextLink { pointer: "/@odata.nextLink".to_owned(), parameter: "$skiptoken".to_owned() };
        let link = rule(NextPage::Link(link));
        assert_eq!((&link["style"], &link["next"]), (&json!("link"), &json!("/@odata.nextLink")));
        assert_eq!(link["parameter"], "$skiptoken");
        let number = rule(NextPage::PageNumber(1));
        assert_eq!((&number["style"], &number["first"]), (&json!("page_number"), &json!(1)));
        assert_eq!(rule(NextPage::Offset)["style"], "offset");
    }

    #[test]
    fn a_schema_with_references_is_a_resource_of_its_own() {
        let with = with_own_root(&json!({"$schema": "x", "properties": {"a": {"$ref": "#/$defs/a"}}}), "demo:list");
        assert_eq!((with.get("$schema"), &with["$id"]), (None, &json!("urn:connector-gateway:schema:demo:list")));
        assert_eq!(with_own_root(&json!({"type": "object"}), "demo:list"), json!({"type": "object"}));
    }
}
