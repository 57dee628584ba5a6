//! A simple implementation of shaping on a tree of values, written to be read. The tests compare
//! [`Shape`](super::Shape) with it. It shares no code with the crate.

/// A JSON value. Scalars and names have the text with which they are written. Objects have
/// duplicate names.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Json {
    Scalar(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

use Json::{List, Object, Scalar};

/// A filter of type `string_list`.
#[derive(Debug, Clone)]
pub(super) struct ModelFilter {
    pub(super) root: Option<String>,
    pub(super) field_name: String,
    pub(super) values: Vec<String>,
}

/// Shapes a response.
pub(super) fn shape(mut response: Json, fields: &[String], filters: &[ModelFilter]) -> Json {
    for filter in filters {
        match &filter.root {
            Some(root) => filter.at_root(&mut response, root),
            None => filter.innermost(&mut response, &filter.field_name),
        }
    }
    if fields.is_empty() || matches!(response, Scalar(_)) {
        return response;
    }
    project(response, &fields.iter().map(String::as_str).collect::<Vec<_>>()).unwrap()
}

fn project(value: Json, paths: &[&str]) -> Option<Json> {
    match value {
        Scalar(_) => None,
        List(elements) => Some(List(elements.into_iter().filter_map(|element| project(element, paths)).collect())),
        Object(members) => {
            let keep = |(name, value): (String, Json)| {
                let text = text_of(&name)?;
                if paths.contains(&text.as_str()) {
                    return Some((name, value));
                }
                let prefix = text + ".";
                let rests: Vec<_> = paths.iter().filter_map(|path| path.strip_prefix(&prefix)).collect();
                if rests.is_empty() { None } else { Some((name, project(value, &rests)?)) }
            };
            Some(Object(members.into_iter().filter_map(keep).collect()))
        }
    }
}

impl ModelFilter {
    fn at_root(&self, value: &mut Json, root: &str) {
        match value {
            Scalar(_) => {}
            List(elements) => elements.iter_mut().for_each(|element| self.at_root(element, root)),
            Object(members) => {
                for (member, rest) in next_mut(members, root) {
                    match (rest, member) {
                        (Some(rest), member) => self.at_root(member, &rest),
                        (None, List(list))
                            if is_of_objects(list)
                                && !list.iter().any(|element| crosses(element, &self.field_name)) =>
                        {
                            self.thin(list, &self.field_name);
                        }
                        _ => {}
                    }
                }
            }
        }
    }

    fn innermost(&self, value: &mut Json, path: &str) {
        match value {
            Scalar(_) => {}
            List(list) if is_of_objects(list) && !list.iter().any(|element| crosses(element, path)) => {
                self.thin(list, path);
            }
            List(elements) => elements.iter_mut().for_each(|element| self.innermost(element, path)),
            Object(members) => {
                for (member, rest) in next_mut(members, path) {
                    if let Some(rest) = rest {
                        self.innermost(member, &rest);
                    }
                }
            }
        }
    }

    fn thin(&self, list: &mut Vec<Json>, path: &str) {
        if list.iter().any(|element| !values_at(element, path).is_empty()) {
            list.retain(|element| values_at(element, path).into_iter().any(|value| self.matches(value)));
        }
    }

    fn matches(&self, value: &Json) -> bool {
        match value {
            Scalar(_) => self.matches_scalar(value),
            List(members) => members.iter().any(|member| self.matches_scalar(member)),
            Object(_) => false,
        }
    }

    fn matches_scalar(&self, value: &Json) -> bool {
        let Scalar(text) = value else { return false };
        match text.as_bytes()[0] {
            b'n' => false,
            b'"' => text_of(text).is_some_and(|text| self.values.contains(&text)),
            _ => self.values.contains(text),
        }
    }
}

fn is_of_objects(list: &[Json]) -> bool {
    list.iter().any(|element| matches!(element, Object(_)))
}

/// Returns `true` if the path crosses a list of objects at `value` or inside it.
fn crosses(value: &Json, path: &str) -> bool {
    match value {
        Scalar(_) => false,
        List(list) => is_of_objects(list) || list.iter().any(|element| crosses(element, path)),
        Object(members) => {
            next(members, path).into_iter().any(|(member, rest)| rest.is_some_and(|rest| crosses(member, &rest)))
        }
    }
}

fn values_at<'a>(element: &'a Json, path: &str) -> Vec<&'a Json> {
    let Object(members) = element else { return Vec::new() };
    let found = next(members, path).into_iter();
    found.flat_map(|(member, rest)| rest.map_or(vec![member], |rest| values_at(member, &rest))).collect()
}

/// The members to which the next step of a path leads, each with the rest of the path.
fn next<'a>(members: &'a [(String, Json)], path: &str) -> Vec<(&'a Json, Option<String>)> {
    let Some((name, rest)) = step(members, path) else { return Vec::new() };
    let named = members.iter().filter(|(member, _)| text_of(member).as_ref() == Some(&name));
    named.map(|(_, value)| (value, rest.clone())).collect()
}

fn next_mut<'a>(members: &'a mut [(String, Json)], path: &str) -> Vec<(&'a mut Json, Option<String>)> {
    let Some((name, rest)) = step(members, path) else { return Vec::new() };
    let named = members.iter_mut().filter(|(member, _)| text_of(member).as_ref() == Some(&name));
    named.map(|(_, value)| (value, rest.clone())).collect()
}

fn step(members: &[(String, Json)], path: &str) -> Option<(String, Option<String>)> {
    let names = members.iter().filter_map(|(name, _)| text_of(name));
    let name = names.filter(|name| path == name || path.starts_with(&format!("{name}."))).max_by_key(String::len)?;
    let rest = path[name.len()..].strip_prefix('.').map(str::to_owned);
    Some((name, rest))
}

/// The decoded text of a string. `None` if it contains half a surrogate pair.
fn text_of(written: &str) -> Option<String> {
    serde_json::from_str(written).ok()
}

impl Json {
    /// Prints the value with `gap` in every position in which whitespace is allowed.
    pub(super) fn print(&self, gap: &str) -> String {
        let items = match self {
            Scalar(text) => return text.clone(),
            List(elements) => elements.iter().map(|element| element.print(gap)).collect::<Vec<_>>(),
            Object(members) => {
                members.iter().map(|(name, value)| format!("{name}{gap}:{gap}{}", value.print(gap))).collect()
            }
        };
        let (open, close) = if matches!(self, List(_)) { ('[', ']') } else { ('{', '}') };
        format!("{open}{gap}{}{gap}{close}", items.join(&format!("{gap},{gap}")))
    }

    /// Reads a valid document.
    pub(super) fn parse(document: &str) -> Json {
        let (value, rest) = Self::parse_value(document.trim());
        assert_eq!(rest, "", "something follows the value of {document}");
        value
    }

    fn parse_value(text: &str) -> (Json, &str) {
        let text = text.trim_start();
        if let Some(mut rest) = text.strip_prefix('[').map(str::trim_start) {
            let mut elements = Vec::new();
            while !rest.starts_with(']') {
                let (element, after) = Self::parse_value(rest);
                elements.push(element);
                rest = after.trim_start().strip_prefix(',').unwrap_or(after).trim_start();
            }
            return (List(elements), &rest[1..]);
        }
        if let Some(mut rest) = text.strip_prefix('{').map(str::trim_start) {
            let mut members = Vec::new();
            while !rest.starts_with('}') {
                let (name, after) = rest.split_at(scalar_length(rest));
                let (value, after) = Self::parse_value(after.trim_start().strip_prefix(':').unwrap());
                members.push((name.to_owned(), value));
                rest = after.trim_start().strip_prefix(',').unwrap_or(after).trim_start();
            }
            return (Object(members), &rest[1..]);
        }
        let (scalar, rest) = text.split_at(scalar_length(text));
        (Scalar(scalar.to_owned()), rest)
    }
}

fn scalar_length(text: &str) -> usize {
    if !text.starts_with('"') {
        return text.find([',', ':', ']', '}', ' ', '\n', '\t', '\r']).unwrap_or(text.len());
    }
    let mut escaped = false;
    let is_end = |(_, character): &(usize, char)| {
        let ends = *character == '"' && !escaped;
        escaped = *character == '\\' && !escaped;
        ends
    };
    text.char_indices().skip(1).find(is_end).unwrap().0 + 1
}
