//! The body of an operation.

use contract_rules::schema::{Field as Spec, Kind};
use serde_json::{Map, Value};

use crate::document::text;
use crate::name;
use crate::schema::{self, Read, Reader, documentation, is_open, is_read_only, requires};
use crate::table::{Field, Format, Place};

/// The field that is the whole body.
const WHOLE: &str = "body";

/// A body.
#[derive(Default)]
pub(crate) struct Body {
    pub(crate) fields: Vec<Field>,
    pub(crate) format: Format,
}

/// The body of an operation. The error says why a table cannot express it.
pub(crate) fn read(reader: &mut Reader<'_>, operation: &Value, taken: &[Field]) -> Result<Body, String> {
    let Some(body) = operation.get("requestBody") else { return Ok(Body::default()) };
    let document = reader.document;
    let (body, _) = document.resolved(body)?;
    let Some(content) = body.get("content").and_then(Value::as_object).filter(|content| !content.is_empty()) else {
        return Ok(Body::default());
    };
    let of_type = |format: Format, is_wanted: fn(&str) -> bool| {
        let found = content.iter().find(|(media_type, _)| is_wanted(media_type));
        found.map(|(media_type, content)| (format, media_type, content))
    };
    // JSON is nearest to what callers send.
    let found = of_type(Format::Json, is_plain_json)
        .or_else(|| of_type(Format::Json, is_json))
        .or_else(|| of_type(Format::Form, is_form))
        .or_else(|| of_type(Format::Multipart, is_multipart));
    let Some((format, media_type, content)) = found else {
        let types: Vec<String> = content.keys().map(|media_type| format!("`{media_type}`")).collect();
        return Err(format!("its body is {}, and a row sends JSON or a form; write a function", types.join(" or ")));
    };
    reader.takes_files = format == Format::Multipart;
    let fields = fields(reader, body, content, format, taken);
    reader.takes_files = false;
    let fields = fields?;
    if format == Format::Json && !is_plain_json(media_type) && !fields.is_empty() {
        reader.note_operation(format!("the media type of its body, `{media_type}`: a row sends `application/json`"));
    }
    Ok(Body { format: if fields.is_empty() { Format::Json } else { format }, fields })
}

/// Returns `true` if an operation must have a body.
pub(crate) fn is_required(reader: &Reader<'_>, operation: &Value) -> bool {
    let body = operation.get("requestBody").and_then(|body| reader.document.resolved(body).ok());
    body.is_some_and(|(body, _)| body.get("required") == Some(&Value::Bool(true)))
}

fn fields(
    reader: &mut Reader<'_>,
    body: &Value,
    content: &Value,
    format: Format,
    taken: &[Field],
) -> Result<Vec<Field>, String> {
    let document = reader.document;
    let required = body.get("required") == Some(&Value::Bool(true));
    let Some(schema) = content.get("schema") else {
        return Ok(vec![whole(Spec::new(WHOLE, Kind::Object), body, required)]);
    };
    let Some(flat) = reader.flat(schema)? else { return Err("its body contains itself".to_owned()) };
    let names: Vec<&String> =
        flat.get("properties").and_then(Value::as_object).into_iter().flat_map(|all| all.keys()).collect();
    // A dot in the name of a member would separate the names of nested objects.
    let has_dots = names.iter().any(|name| name.contains('.') && !name.starts_with('@'));
    if names.is_empty() && format != Format::Json && !required {
        // Some documents give each operation an empty form.
        return Ok(Vec::new());
    }
    if names.is_empty() || has_dots {
        let read = reader.field(WHOLE, &flat, required).map_err(|why| format!("its body: {why}"))?;
        if !matches!(read.field.kind, Kind::Object | Kind::Members(_)) {
            return Err("its body is not an object, and a row has fields; write a function".to_owned());
        }
        return Ok(vec![whole(read.field, body, required)]);
    }
    if is_open(&flat) {
        reader.note_operation("members of its body that the document does not name are refused");
    }
    let mut fields: Vec<Field> = Vec::new();
    for (given, property) in flat.get("properties").and_then(Value::as_object).into_iter().flatten() {
        if is_read_only(document, property) {
            continue;
        }
        let required = requires(&flat, given);
        let is_taken = |name: &str| taken.iter().chain(&fields).any(|field| field.spec.name == name);
        let wanted = name::field(given);
        let name = if is_taken(&wanted) { name::free(format!("body_{wanted}"), is_taken) } else { wanted };
        match reader.field(&name, property, required) {
            Ok(read) => {
                let mut field = member(read, given, schema::example(property));
                if format != Format::Json {
                    let encoding = content.get("encoding").and_then(|all| all.get(given.as_str()));
                    set_list(&mut field, given, encoding.unwrap_or(&Value::Null));
                }
                fields.push(field);
            }
            Err(why) if required => return Err(format!("`{given}` of its body: {why}")),
            Err(why) => reader.note_operation(format!("`{given}` of its body: {why}")),
        }
    }
    Ok(fields)
}

/// A member of the body.
fn member(read: Read, given: &str, example: Option<Value>) -> Field {
    let mut spec = read.field;
    // A field with this name would be the whole body.
    let needs_name = spec.name != given || (given == WHOLE && matches!(spec.kind, Kind::Object | Kind::Members(_)));
    if read.nullable {
        spec.optional = true;
        spec.nullable = !matches!(spec.kind, Kind::File);
    }
    let upstream_name = needs_name.then(|| given.to_owned());
    Field { spec, place: Place::Body, upstream_name, encoding: None, example }
}

/// How a list in a form is sent, if it is not one pair for each item under the name of the list.
fn set_list(field: &mut Field, given: &str, encoding: &Value) {
    let Kind::List(item) = &field.spec.kind else { return };
    if matches!(**item, Kind::Object | Kind::Members(_)) {
        return;
    }
    if text(encoding, "style") == "deepObject" {
        field.upstream_name = Some(format!("{given}[]"));
    } else if encoding.get("explode") == Some(&Value::Bool(false)) {
        field.encoding = Some("joined \",\"".to_owned());
    }
}

fn whole(mut spec: Spec, body: &Value, required: bool) -> Field {
    spec.optional = !required;
    spec.default = None;
    if spec.documentation.is_empty() {
        spec.documentation = documentation(body);
    }
    Field { spec, place: Place::Body, upstream_name: None, encoding: None, example: None }
}

/// Returns `true` for JSON, in any of its media types, and for a range of media types that includes
/// it.
pub(crate) fn is_json(media_type: &str) -> bool {
    let (name, _) = media_type.split_once(';').unwrap_or((media_type, ""));
    let name = name.trim().to_ascii_lowercase();
    is_plain_json(&name) || name == "text/json" || (name.starts_with("application/") && name.ends_with("+json"))
}

/// Returns `true` for the media type that rows send, and for a range that includes it.
fn is_plain_json(media_type: &str) -> bool {
    ["application/json", "application/*", "*/*"].iter().any(|known| is_type(media_type, known))
}

/// Returns `true` for a form without files.
fn is_form(media_type: &str) -> bool {
    is_type(media_type, "application/x-www-form-urlencoded")
}

/// Returns `true` for a form that may have files.
fn is_multipart(media_type: &str) -> bool {
    is_type(media_type, "multipart/form-data")
}

fn is_type(media_type: &str, wanted: &str) -> bool {
    let (name, _) = media_type.split_once(';').unwrap_or((media_type, ""));
    name.trim().eq_ignore_ascii_case(wanted)
}

/// The content of the first successful response that has a body, by its media types.
pub(crate) fn response_content<'a>(reader: &Reader<'a>, operation: &'a Value) -> Option<&'a Map<String, Value>> {
    let responses = operation.get("responses").and_then(Value::as_object).into_iter().flatten();
    let mut successes = responses.filter(|(status, _)| status.starts_with('2'));
    successes.find_map(|(_, response)| {
        let (response, _) = reader.document.resolved(response).ok()?;
        response.get("content")?.as_object().filter(|content| !content.is_empty())
    })
}

/// Summary and description of an operation. The first paragraph is the summary.
pub(crate) fn operation_documentation(operation: &Value, otherwise: &str) -> String {
    let description = crate::document::lines(text(operation, "description"));
    let summary = crate::document::line(text(operation, "summary"));
    match (summary.as_str(), description.as_str()) {
        ("", "") => otherwise.to_owned(),
        ("", description) => description.to_owned(),
        (summary, "") => summary.to_owned(),
        (summary, description) if description.trim_end_matches('.') == summary.trim_end_matches('.') => {
            summary.to_owned()
        }
        (summary, description) => format!("{summary}\n\n{description}"),
    }
}
