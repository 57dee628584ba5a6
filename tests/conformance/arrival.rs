//! The values that the catalogue says: the caller's fields, the constants and the defaults, looked
//! for in the upstream's request at their places.
//!
//! A specification tells whether a value is valid. It cannot tell whether it is the caller's.

use std::collections::BTreeSet;

use serde_json::Value;
use support::Seen;
use support::catalogue::fields;

use crate::operations::Call;
use crate::upstream::url;

/// The differences between the one request of a thin operation and the catalogue, each as place and
/// sentence.
pub(crate) fn differences(operation: &Value, call: &Call, input: &Value, request: &Seen) -> Vec<(String, String)> {
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let path = call.url.values(url(request)).unwrap_or_default();
    let mut found = Vec::new();
    let mut expected_query = constants(operation, input);
    for (name, field) in fields(operation) {
        let is_default = input[&name].is_null() && field["send_default"] == true;
        let value = if is_default { &field["default"] } else { &input[&name] };
        if value.is_null() {
            continue;
        }
        let upstream = field["upstream_name"].as_str().unwrap_or(&name);
        let join = field["join"].as_str().unwrap_or(",");
        let arrives = match field["in"].as_str() {
            Some("path") => {
                let sent = texts(value).join(join);
                let sent = if field["encoding"] == "odata_string" { sent.replace('\'', "''") } else { sent };
                path.get(&name) == Some(&sent)
            }
            Some("query") => {
                match value.as_object().filter(|_| field["names"].is_array()) {
                    Some(entries) => {
                        let entries = entries.iter().filter(|(_, value)| !value.is_null());
                        expected_query.extend(entries.map(|(name, value)| (name.clone(), value.clone())));
                    }
                    None if join == "repeat" => expected_query.push((upstream.to_owned(), value.clone())),
                    None => expected_query.push((upstream.to_owned(), Value::String(texts(value).join(join)))),
                }
                true
            }
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
        if !arrives {
            found.push((format!("field {name}"), format!("its value {value} does not arrive as `{upstream}`")));
        }
    }
    if !contains(&body, &operation["request"]["fixed_body"]) {
        found.push((
            "fixed_body".to_owned(),
            format!("the body lacks a part of {}", operation["request"]["fixed_body"]),
        ));
    }
    found.extend(query_differences(&expected_query, request));
    found
}

/// The parameters of the query that are always sent, or unless the caller gives them or one of some
/// others.
fn constants(operation: &Value, input: &Value) -> Vec<(String, Value)> {
    let described = &operation["request"];
    let parts = |name: &str| {
        let parts = described[name].as_object().into_iter().flatten();
        parts.map(|(name, value)| (name.clone(), value.clone())).collect::<Vec<_>>()
    };
    let gives = |name: &str| !input["query"][name].is_null();
    let unless = described["default_query_unless"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut constants = parts("fixed_query");
    if !unless.into_iter().any(gives) {
        constants.extend(parts("default_query").into_iter().filter(|(name, _)| !gives(name)));
    }
    constants
}

/// Parameters that are missing in a query, have another value, or are not expected. A list is one
/// parameter, or one for each item.
fn query_differences(expected: &[(String, Value)], request: &Seen) -> Vec<(String, String)> {
    let sent = request.parameters();
    let mut found = Vec::new();
    for (name, value) in expected {
        let texts = texts(value);
        let values: Vec<&String> = sent.iter().filter(|(key, _)| key == name).map(|(_, text)| text).collect();
        if values != texts.iter().collect::<Vec<_>>() && values != [&texts.join(",")] {
            found.push((
                format!("query {name}"),
                format!("it is {values:?}, and the catalogue and the caller say {value}"),
            ));
        }
    }
    let names: BTreeSet<&String> = expected.iter().map(|(name, _)| name).collect();
    for (name, _) in sent.iter().filter(|(name, _)| !names.contains(name)) {
        found.push((format!("query {name}"), "neither the catalogue nor the caller says it".to_owned()));
    }
    found
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
    part.as_object().is_none_or(|members| members.iter().all(|(name, value)| &whole[name] == value))
}

#[cfg(test)]
mod tests {
    use hyper::HeaderMap;
    use serde_json::json;

    use super::*;
    use crate::specifications::Template;

    fn operation() -> Value {
        json!({
            "request": {
                "fixed_query": {"view": "full"}, "fixed_body": {"folder": {}},
                "default_query": {"customer": "mine"}, "default_query_unless": ["domain"],
            },
            "fields": {
                "file_id": {"in": "path", "upstream_name": "fileId"},
                "q": {"in": "path", "encoding": "odata_string"},
                "size": {"in": "query", "upstream_name": "pageSize", "default": 30, "send_default": true},
                "query": {"in": "query", "names": ["domain", "types"]},
                "color": {"in": "body", "upstream_name": "label.color"},
                "note": {"in": "body", "upstream_name": "@odata.note"},
            },
        })
    }

    /// The places of the differences between an input and a request.
    fn places(input: &Value, target: &str, body: &Value) -> Vec<String> {
        let (path, query) = target.split_once('?').unwrap();
        let call = Call {
            shown: String::new(),
            verb: "POST".to_owned(),
            url: Template::parse("host.example/files/{file_id}/search(q='{q}')", |_| false),
            constants: Vec::new(),
            methods: Err(String::new()),
        };
        let request = Seen {
            method: "POST".to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
            headers: HeaderMap::new(),
            body: body.to_string().into(),
        };
        differences(&operation(), &call, input, &request).into_iter().map(|(place, _)| place).collect()
    }

    #[test]
    fn every_value_must_arrive_at_its_place_and_no_other_may() {
        let input = json!({
            "file_id": "a/b", "q": "it's", "query": {"types": ["x", "y"]}, "color": "red", "note": "n", "size": null,
        });
        let path = "host.example/files/a%2Fb/search(q='it''s')";
        let (query, body) = (
            "view=full&customer=mine&pageSize=30&types=x,y",
            json!({"folder": {}, "label": {"color": "red"}, "@odata.note": "n"}),
        );
        assert_eq!(places(&input, &format!("{path}?{query}"), &body), [""; 0]);
        let found = |path: &str, query: &str, body: &Value| places(&input, &format!("{path}?{query}"), body);
        assert_eq!(found("host.example/files/b%2Fa/search(q='it''s')", query, &body), ["field file_id"]);
        assert_eq!(found("host.example/files/a%2Fb/search(q='its')", query, &body), ["field q"]);
        assert_eq!(found(path, &query.replace("x,y", "x&types=y"), &body), [""; 0]);
        assert_eq!(found(path, &query.replace("x,y", "y,x"), &body), ["query types"]);
        assert_eq!(found(path, &query.replace("pageSize=30", "pageSize=20"), &body), ["query pageSize"]);
        assert_eq!(found(path, &query.replace("view=full&", ""), &body), ["query view"]);
        assert_eq!(found(path, &query.replace("customer=mine&", ""), &body), ["query customer"]);
        assert_eq!(found(path, &format!("{query}&more=1"), &body), ["query more"]);
        let without = |name: &str| {
            let mut body = body.clone();
            body.as_object_mut().unwrap().shift_remove(name);
            body
        };
        assert_eq!(found(path, query, &without("label")), ["field color"]);
        assert_eq!(found(path, query, &without("@odata.note")), ["field note"]);
        assert_eq!(found(path, query, &without("folder")), ["fixed_body"]);
    }

    #[test]
    fn a_default_query_is_not_expected_beside_the_parameters_that_replace_it() {
        let input = json!({"file_id": "a", "q": "b", "size": 5, "query": {"domain": "acme.example"}});
        let target = "host.example/files/a/search(q='b')?view=full&pageSize=5&domain=acme.example";
        assert_eq!(places(&input, target, &json!({"folder": {}})), [""; 0]);
    }
}
