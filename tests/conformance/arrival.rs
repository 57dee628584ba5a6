//! The values of a caller's fields, looked for in the upstream's request at the place that the catalogue says.
//!
//! A specification tells whether a value is valid. It cannot tell whether it is the caller's.

use serde_json::Value;
use support::Seen;
use support::catalogue::fields;

use crate::operations::Call;
use crate::upstream::url;

/// The differences between the fields of an input and the one request of a thin operation, each as place and sentence.
pub(crate) fn differences(operation: &Value, call: &Call, input: &Value, request: &Seen) -> Vec<(String, String)> {
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let path = call.url.values(url(request)).unwrap_or_default();
    let mut found = Vec::new();
    for (name, field) in fields(operation) {
        let value = &input[&name];
        if value.is_null() {
            continue;
        }
        let upstream = field["upstream_name"].as_str().unwrap_or(&name);
        let join = field["join"].as_str().unwrap_or(",");
        let arrived = match field["in"].as_str() {
            Some("path") => {
                let sent = texts(value).join(join);
                let sent = if field["encoding"] == "odata_string" { sent.replace('\'', "''") } else { sent };
                path.get(&name) == Some(&sent)
            }
            Some("query") => match value.as_object().filter(|_| field["names"].is_array()) {
                Some(entries) => entries.iter().all(|(name, value)| has_parameter(request, name, value, join)),
                None => has_parameter(request, upstream, value, join),
            },
            Some("header") => value.as_object().is_none_or(|entries| {
                entries.iter().all(|(name, value)| value.is_null() || request.header(name) == texts(value).join(","))
            }),
            Some("body") if name == "body" && value.is_object() => contains(&body, value),
            Some("body") => {
                let names: Vec<&str> =
                    if upstream.starts_with('@') { vec![upstream] } else { upstream.split('.').collect() };
                let sent = names.into_iter().fold(&body, |body, name| &body[name]);
                sent == value || sent == &Value::String(texts(value).join(join))
            }
            _ => true,
        };
        if !arrived {
            found.push((format!("field {name}"), format!("its value {value} does not arrive as `{upstream}`")));
        }
    }
    found
}

/// Returns `true` if a query has a parameter with this value. A list is one parameter, or one for each item. Null means
/// that the caller gives no value.
fn has_parameter(request: &Seen, name: &str, value: &Value, join: &str) -> bool {
    if value.is_null() {
        return true;
    }
    let texts = texts(value);
    let found: Vec<String> =
        request.parameters().into_iter().filter(|(key, _)| key == name).map(|(_, text)| text).collect();
    found == texts || found == [texts.join(join)]
}

/// The items of a list, or the value itself, as they are written into a URL.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::String(text) => vec![text.clone()],
        other => vec![other.to_string()],
    }
}

/// Returns `true` if an object has all members of another one.
fn contains(whole: &Value, part: &Value) -> bool {
    part.as_object().is_some_and(|members| members.iter().all(|(name, value)| &whole[name] == value))
}
