//! The peer of shaping: it parses into serde_json's `Value`, filters and projects that value, and
//! prints it. The rules are the gateway's.

use serde_json::{Map, Value};

use crate::settings::Outcome;

/// A filter of strings.
pub(crate) struct Filter<'a> {
    /// Dotted path of the list; `None` for the innermost list on the way to the field.
    pub(crate) root: Option<&'a str>,
    /// Dotted path of the field.
    pub(crate) field_name: &'a str,
    /// Accepted values.
    pub(crate) values: &'a [&'a str],
}

/// Parses, filters, projects and prints a document.
pub(crate) fn shape(document: &[u8], fields: &[&str], filters: &[Filter<'_>]) -> Outcome<Vec<u8>> {
    let mut value: Value = serde_json::from_slice(document)?;
    for filter in filters {
        match filter.root {
            Some(root) => filter_at_root(&mut value, root, filter),
            None => filter_innermost(&mut value, filter.field_name, filter),
        }
    }
    if !fields.is_empty() && (value.is_object() || value.is_array()) {
        project(&mut value, fields);
    }
    Ok(serde_json::to_vec(&value)?)
}

/// Keeps only the parts of a value that the paths name. Returns `false` when the value itself is to
/// be removed.
fn project(value: &mut Value, paths: &[&str]) -> bool {
    match value {
        Value::Object(members) => {
            members.retain(|name, member| {
                if paths.contains(&name.as_str()) {
                    return true;
                }
                let rests: Vec<&str> =
                    paths.iter().filter_map(|path| path.strip_prefix(name.as_str())?.strip_prefix('.')).collect();
                !rests.is_empty() && project(member, &rests)
            });
            true
        }
        Value::Array(elements) => {
            elements.retain_mut(|element| project(element, paths));
            true
        }
        _ => false,
    }
}

fn is_list_of_objects(list: &[Value]) -> bool {
    list.iter().any(Value::is_object)
}

/// The name of a path's next step, and the rest of the path after it.
fn step<'p>(members: &Map<String, Value>, path: &'p str) -> Option<(&'p str, Option<&'p str>)> {
    let mut ends = path.match_indices('.').map(|(dot, _)| dot).chain([path.len()]);
    let end = ends.rfind(|end| members.contains_key(&path[..*end]))?;
    Some((&path[..end], path.get(end + 1..)))
}

fn crosses(value: &Value, path: &str) -> bool {
    match value {
        Value::Object(members) => match step(members, path) {
            Some((name, Some(rest))) => crosses(&members[name], rest),
            _ => false,
        },
        Value::Array(list) => is_list_of_objects(list) || list.iter().any(|element| crosses(element, path)),
        _ => false,
    }
}

fn filter_innermost(value: &mut Value, path: &str, filter: &Filter<'_>) {
    match value {
        Value::Object(members) => {
            if let Some((name, Some(rest))) = step(members, path) {
                filter_innermost(&mut members[name], rest, filter);
            }
        }
        Value::Array(list) => {
            if !is_list_of_objects(list) || list.iter().any(|element| crosses(element, path)) {
                list.iter_mut().for_each(|element| filter_innermost(element, path, filter));
            } else {
                filter_list(list, path, filter);
            }
        }
        _ => {}
    }
}

fn filter_at_root(value: &mut Value, root: &str, filter: &Filter<'_>) {
    match value {
        Value::Object(members) => match step(members, root) {
            Some((name, Some(rest))) => filter_at_root(&mut members[name], rest, filter),
            Some((name, None)) => {
                if let Value::Array(list) = &mut members[name]
                    && is_list_of_objects(list)
                    && !list.iter().any(|element| crosses(element, filter.field_name))
                {
                    filter_list(list, filter.field_name, filter);
                }
            }
            None => {}
        },
        Value::Array(list) => list.iter_mut().for_each(|element| filter_at_root(element, root, filter)),
        _ => {}
    }
}

fn filter_list(list: &mut Vec<Value>, path: &str, filter: &Filter<'_>) {
    if list.iter().any(|element| value_at(element, path).is_some()) {
        list.retain(|element| value_at(element, path).is_some_and(|value| matches(value, filter)));
    }
}

fn value_at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    let members = value.as_object()?;
    match step(members, path)? {
        (name, Some(rest)) => value_at(&members[name], rest),
        (name, None) => members.get(name),
    }
}

fn matches(value: &Value, filter: &Filter<'_>) -> bool {
    match value {
        Value::Array(list) => list.iter().any(|element| !element.is_array() && matches(element, filter)),
        Value::String(text) => filter.values.contains(&text.as_str()),
        Value::Number(_) | Value::Bool(_) => filter.values.contains(&value.to_string().as_str()),
        _ => false,
    }
}
