//! An input for each row: its required fields.

use contract_rules::schema::{self, Kind};
use serde_json::{Map, Value, json};

use crate::Call;
use crate::table::{Field, Place, Row};

/// Maximum bytes of an example, so that a row stays readable.
const MAX_BYTES: usize = 400;

/// An input that fits the fields. `None` if every such input is long.
pub(crate) fn for_row(row: &Row) -> Option<Value> {
    let specs: Vec<schema::Field> = row.fields.iter().map(|field| field.spec.clone()).collect();
    let required = row.fields.iter().filter(|field| !field.spec.optional);
    let members = required.map(|field| Some((field.spec.name.clone(), given(field).or_else(|| value(&field.spec))?)));
    let example = Value::Object(members.collect::<Option<_>>()?);
    let fits = example.to_string().len() <= MAX_BYTES && accepts(&schema::object(&specs), &example);
    fits.then_some(example)
}

/// Returns `true` if a schema accepts a value. The gateway refuses a connector with an example that
/// its schema does not accept.
fn accepts(schema: &Value, value: &Value) -> bool {
    let options = jsonschema::draft202012::options();
    let validator = options.with_pattern_options(jsonschema::PatternOptions::regex()).build(schema);
    validator.is_ok_and(|validator| validator.is_valid(value))
}

/// The example of the document, if it fits.
fn given(field: &Field) -> Option<Value> {
    let example = field.example.clone()?;
    accepts(&field.spec.schema(), &example).then_some(example)
}

fn object(fields: &[schema::Field]) -> Option<Value> {
    let members = fields.iter().filter(|field| !field.optional);
    members
        .map(|field| Some((field.name.clone(), value(field)?)))
        .collect::<Option<Map<String, Value>>>()
        .map(Value::Object)
}

fn value(field: &schema::Field) -> Option<Value> {
    match &field.kind {
        Kind::List(item) => {
            let item = of_kind(field, item)?;
            let count = field.minimum.as_ref().and_then(serde_json::Number::as_u64).unwrap_or(1).max(1);
            (count <= 3).then(|| Value::Array(vec![item; usize::try_from(count).unwrap_or(1)]))
        }
        kind => of_kind(field, kind),
    }
}

fn of_kind(field: &schema::Field, kind: &Kind) -> Option<Value> {
    Some(match kind {
        Kind::String | Kind::StringOrList => json!(string(field)?),
        Kind::Integer | Kind::Number => match (&field.kind, &field.minimum, &field.maximum) {
            (Kind::List(_), ..) | (_, None, None) => json!(1),
            (_, Some(bound), _) | (_, None, Some(bound)) => Value::Number(bound.clone()),
        },
        Kind::Boolean => json!(true),
        Kind::Members(fields) => object(fields)?,
        Kind::Object => json!({}),
        Kind::File => json!({"file_name": "example.txt", "content_base64": "ZXhhbXBsZQ=="}),
        Kind::List(_) | Kind::Entries(_) | Kind::TextEntries(_) => return None,
    })
}

fn string(field: &schema::Field) -> Option<String> {
    if let Some(values) = &field.values {
        return values.first().cloned();
    }
    if let Some(format) = &field.format {
        let text = match format.as_str() {
            "date-time" => "2026-01-31T12:00:00Z",
            "date" => "2026-01-31",
            "time" => "12:00:00Z",
            "duration" => "PT1H",
            "email" => "ada@example.com",
            "hostname" => "example.com",
            "ipv4" => "192.0.2.1",
            "ipv6" => "2001:db8::1",
            "uri" => "https://example.com",
            "uuid" => "3fa85f64-5717-4562-b3fc-2c963f66afa6",
            _ => return None,
        };
        return Some(text.to_owned());
    }
    let is_list = matches!(field.kind, Kind::List(_));
    let limit = |bound: &Option<serde_json::Number>| {
        bound
            .as_ref()
            .filter(|_| !is_list)
            .and_then(serde_json::Number::as_u64)
            .and_then(|bound| usize::try_from(bound).ok())
    };
    let least = limit(&field.minimum).filter(|least| *least <= MAX_BYTES).unwrap_or(0);
    let most = limit(&field.maximum).unwrap_or(usize::MAX);
    // Many patterns match digits or letters. The gateway's validator decides if one of these texts
    // fits.
    let candidates = ["example", "1", "1234567890", "EXAMPLE"];
    let texts = candidates.map(|text| text.chars().cycle().take(text.len().max(least).min(most)).collect::<String>());
    let schema = field.pattern.as_ref().map(|pattern| json!({"pattern": pattern}));
    texts.into_iter().find(|text| schema.as_ref().is_none_or(|schema| accepts(schema, &json!(text))))
}

/// A call of the row with its example, if the request's path follows from plain values.
pub(crate) fn call(row: &Row) -> Option<Call> {
    let example = row.example.as_ref()?;
    let is_plain = |text: &str| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    let mut path = row.path.clone();
    let mut query = Vec::new();
    for field in &row.fields {
        let Some(value) = example.get(&field.spec.name) else { continue };
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            _ if matches!(field.place, Place::Body | Place::Header) => continue,
            _ => return None,
        };
        match field.place {
            Place::Path if is_plain(&text) => path = path.replace(&format!("{{{}}}", field.spec.name), &text),
            Place::Query if is_plain(&text) => {
                let name = field.upstream_name.as_ref().unwrap_or(&field.spec.name);
                if !is_plain(name) {
                    return None;
                }
                query.push(format!("{name}={text}"));
            }
            Place::Path | Place::Query => return None,
            Place::Body | Place::Header => {}
        }
    }
    if path.contains(['{', '?', '\'', '"']) {
        return None;
    }
    let separator = if query.is_empty() { "" } else { "?" };
    Some(Call {
        operation: row.name.clone(),
        input: example.to_string(),
        path: format!("{path}{separator}{}", query.join("&")),
    })
}
