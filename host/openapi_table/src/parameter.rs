//! The parameters of an operation.

use contract_rules::header;
use contract_rules::schema::{Field as Spec, Kind};
use serde_json::{Map, Value, json};

use crate::document::{Document, text};
use crate::name;
use crate::schema::{Reader, documentation, example};
use crate::table::{Field, Place};

/// Headers that a document describes elsewhere.
const DESCRIBED_ELSEWHERE: [&str; 3] = ["accept", "content-type", "authorization"];

/// Parameters for a credential. The gateway adds the credential to requests.
const CREDENTIALS: [&str; 2] = ["token", "access_token"];

/// The parameters of an operation and of its path. A parameter of the operation replaces the same
/// one of the path. `left_out` gets the reason why a parameter cannot be read.
pub(crate) fn parameters<'a>(
    document: &'a Document,
    item: &'a Map<String, Value>,
    operation: &'a Value,
    mut left_out: impl FnMut(String),
) -> Vec<&'a Value> {
    let mut list = |value: Option<&'a Value>| -> Vec<&'a Value> {
        let mut found = Vec::new();
        for parameter in value.and_then(Value::as_array).into_iter().flatten() {
            match document.resolved(parameter) {
                Ok((parameter, _)) => found.push(parameter),
                Err(why) => left_out(format!("a parameter: {why}")),
            }
        }
        found
    };
    let own = list(operation.get("parameters"));
    let is_own = |known: &&Value| {
        own.iter().any(|own| text(own, "name") == text(known, "name") && text(own, "in") == text(known, "in"))
    };
    let mut all = list(item.get("parameters"));
    all.retain(|known| !is_own(known));
    all.extend(&own);
    all
}

/// Notes a parameter for the credential of users.
pub(crate) fn note_credential(reader: &mut Reader<'_>, name: &str) {
    reader.note_operation(format!("the parameter `{name}`, because the gateway adds the credential itself"));
}

/// The field of a parameter. `Ok(None)` if it needs no field.
///
/// # Errors
/// Says why a table cannot express a parameter that the operation needs.
pub(crate) fn field(
    reader: &mut Reader<'_>,
    parameter: &Value,
    path: &str,
    has_credential: bool,
    taken: &[Field],
) -> Result<Option<Field>, String> {
    let given = text(parameter, "name");
    let required = parameter.get("required") == Some(&Value::Bool(true));
    let place = match text(parameter, "in") {
        "path" if path.contains(&format!("{{{given}}}")) => Place::Path,
        "path" => return refused(reader, given, false, "the path does not contain it"),
        "query" => Place::Query,
        "header" if DESCRIBED_ELSEWHERE.iter().any(|known| given.eq_ignore_ascii_case(known)) => return Ok(None),
        "header" => Place::Header,
        other => return refused(reader, given, required, &format!("a parameter in `{other}` is not sent")),
    };
    if has_credential && place != Place::Path && CREDENTIALS.contains(&given) {
        note_credential(reader, given);
        return Ok(None);
    }
    let is_set = |given: &str| header::name(given).is_err() || given.eq_ignore_ascii_case("accept-encoding");
    if place == Place::Header && is_set(given) {
        return refused(reader, given, required, "the gateway sets this header itself");
    }
    let Some(schema) = parameter.get("schema") else {
        return refused(reader, given, required, "its value is a separate document");
    };
    let name = name::free(name::field(given), |name| taken.iter().any(|field| field.spec.name == name));
    // Every name in a path has a value, so its field is required.
    let read = match reader.field(&name, &typed(schema), required || place == Place::Path) {
        Ok(read) => read,
        Err(why) => return refused(reader, given, required || place == Place::Path, &why),
    };
    let mut spec = read.field;
    if is_object(&spec.kind) {
        return refused(reader, given, required || place == Place::Path, "an object cannot be a parameter");
    }
    if place == Place::Header && matches!(spec.kind, Kind::List(_) | Kind::StringOrList) {
        return refused(reader, given, required, "a list cannot be a header");
    }
    if !text(parameter, "description").is_empty() {
        spec.documentation = documentation(parameter);
    }
    // An empty list is not sent.
    if required && matches!(spec.kind, Kind::List(_)) && spec.minimum.is_none() {
        spec.minimum = Some(1.into());
    }
    spec.in_path = place == Place::Path;
    let upstream_name = (place != Place::Path && name != given).then(|| given.to_owned());
    let example = example(parameter).or_else(|| example(schema));
    Ok(Some(Field { encoding: encoding(parameter, &spec, place, path), spec, place, upstream_name, example }))
}

/// Leaves a parameter out, or the operation if it needs the parameter.
fn refused(reader: &mut Reader<'_>, name: &str, required: bool, why: &str) -> Result<Option<Field>, String> {
    let line = format!("the parameter `{name}`: {why}");
    if required {
        return Err(line);
    }
    reader.note_operation(line);
    Ok(None)
}

/// A parameter without a type is a string.
fn typed(schema: &Value) -> Value {
    match schema.as_object() {
        Some(members) if members.keys().all(|key| matches!(key.as_str(), "description" | "example" | "default")) => {
            let mut members = members.clone();
            members.insert("type".to_owned(), json!("string"));
            Value::Object(members)
        }
        _ => schema.clone(),
    }
}

fn is_object(kind: &Kind) -> bool {
    match kind {
        Kind::Object | Kind::Members(_) => true,
        Kind::List(item) => is_object(item),
        _ => false,
    }
}

/// How the value is sent, if it is not the default of tables.
fn encoding(parameter: &Value, spec: &Spec, place: Place, path: &str) -> Option<String> {
    let says = |key: &str| parameter.get(key) == Some(&Value::Bool(true));
    match (&spec.kind, place) {
        (Kind::String, Place::Path) if says("x-multi-segment") || says("allowReserved") => {
            Some("keeps_slashes".to_owned())
        }
        (Kind::String, Place::Path) if path.contains(&format!("'{{{}}}'", text(parameter, "name"))) => {
            Some("odata_string".to_owned())
        }
        (Kind::List(_) | Kind::StringOrList, Place::Query) => match text(parameter, "style") {
            "spaceDelimited" => Some("joined \" \"".to_owned()),
            "pipeDelimited" => Some("joined \"|\"".to_owned()),
            // The style `form` repeats the parameter unless it says otherwise.
            _ if parameter.get("explode") == Some(&Value::Bool(false)) => None,
            _ => Some("repeated".to_owned()),
        },
        _ => None,
    }
}

/// The path with other names in braces.
pub(crate) fn renamed_path(path: &str, mut name: impl FnMut(&str) -> String) -> String {
    let mut renamed = String::new();
    let mut rest = path;
    while let Some((text, tail)) = rest.split_once('{') {
        let Some((given, tail)) = tail.split_once('}') else { break };
        renamed.push_str(&format!("{text}{{{}}}", name(given)));
        rest = tail;
    }
    renamed + rest
}
