//! Rules of a schema in words, for the description. They are as short as the descriptions of
//! manifests: parts that a semicolon separates.

use serde_json::{Map, Value};

use super::flat::{FURTHER, USUAL};

/// The longest pattern, default or value that a description shows, in characters.
const MAX_SHOWN: usize = 120;

/// The most values that a description lists.
const MAX_LISTED: usize = 20;

/// Keywords whose rules this module does not put into words.
const WITHOUT_WORDS: [&str; 14] = [
    "not",
    "if",
    "then",
    "else",
    "patternProperties",
    "propertyNames",
    "contains",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "unevaluatedProperties",
    "unevaluatedItems",
    "prefixItems",
    FURTHER,
];

/// Keywords that tell the type of a schema which names none.
const TELLING_TYPE: [&str; 5] = ["properties", "items", "prefixItems", "enum", USUAL];

/// A description, and what is said in addition.
pub(super) fn joined(description: &str, said: &[String]) -> String {
    let description = description.trim();
    let said = said.join("; ");
    match (description.is_empty(), said.is_empty()) {
        (_, true) => description.to_owned(),
        (true, false) => said,
        (false, false) => format!("{}; {said}", description.trim_end_matches('.')),
    }
}

/// Returns `true` for a value and a list of such values.
pub(super) fn is_one_or_several(one: &str, other: &str, flat: &Map<String, Value>) -> bool {
    let item = flat.get("items").and_then(|items| items.get("type")).and_then(Value::as_str);
    let is_pair = |item: Option<&str>| [(one, other), (other, one)].contains(&(item.unwrap_or_default(), "array"));
    is_pair(item)
}

/// The types that a value may have in addition to the chosen one.
pub(super) fn other_types(chosen: &str, allowed: &[String], flat: &Map<String, Value>) -> Option<String> {
    let others: Vec<&str> = allowed.iter().map(String::as_str).filter(|name| *name != chosen).collect();
    let others = match others.as_slice() {
        [] if allowed.is_empty() && !TELLING_TYPE.iter().any(|key| flat.contains_key(*key)) => {
            return Some("any JSON value".to_owned());
        }
        [] => return None,
        [only] if chosen == "array" && is_one_or_several(chosen, only, flat) => {
            return Some(format!("or one {only} alone"));
        }
        others => others.iter().map(|name| with_article(name)).collect::<Vec<_>>(),
    };
    Some(format!("or {}", alternatives(&others)))
}

fn with_article(name: &str) -> String {
    match name {
        "array" => "a list".to_owned(),
        "integer" | "object" => format!("an {name}"),
        name => format!("a {name}"),
    }
}

/// `a, b or c`
fn alternatives(names: &[String]) -> String {
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

/// The rules for a value of the chosen type. `has_values` is set if the values are listed already.
pub(super) fn rules(chosen: &str, flat: &Map<String, Value>, has_values: bool) -> Vec<String> {
    let mut said = Vec::new();
    if !has_values && let Some(values) = flat.get("enum").and_then(Value::as_array) {
        said.extend(listed("one of", values));
    }
    if let Some(values) = flat.get(USUAL).and_then(Value::as_array) {
        said.extend(listed("usually one of", values));
    }
    let number = |key: &str| flat.get(key).and_then(Value::as_number).map(ToString::to_string);
    let text = |key: &str| flat.get(key).and_then(Value::as_str).filter(|text| text.chars().count() <= MAX_SHOWN);
    match chosen {
        "string" => {
            // Nobody expects that an empty text is of use.
            let least = number("minLength").filter(|least| least != "0" && least != "1");
            said.extend(range(least, number("maxLength"), " characters"));
            said.extend(text("format").map(format_in_words));
            said.extend(text("contentEncoding").map(|encoding| format!("in {encoding}")));
            match (flat.contains_key("pattern"), text("pattern")) {
                (true, Some(pattern)) => said.push(format!("pattern {pattern}")),
                (true, None) => said.push("a pattern holds".to_owned()),
                (false, _) => {}
            }
        }
        "integer" | "number" => {
            said.extend(range(number("minimum"), number("maximum"), ""));
            said.extend(number("exclusiveMinimum").map(|limit| format!("more than {limit}")));
            said.extend(number("exclusiveMaximum").map(|limit| format!("less than {limit}")));
            said.extend(number("multipleOf").map(|factor| format!("a multiple of {factor}")));
        }
        "array" => {
            said.extend(range(number("minItems").filter(|least| least != "0"), number("maxItems"), " items"));
            said.extend((flat.get("uniqueItems") == Some(&Value::Bool(true))).then(|| "no item twice".to_owned()));
        }
        "object" => {
            said.extend(range(number("minProperties"), number("maxProperties"), " members"));
            if let Some(Value::Object(member)) = flat.get("additionalProperties") {
                let kind =
                    member.get("type").and_then(Value::as_str).map_or_else(|| "a value".to_owned(), with_article);
                let further = if flat.contains_key("properties") { "further members: each" } else { "each member is" };
                said.push(format!("{further} {kind}"));
            }
        }
        _ => {}
    }
    if flat.keys().any(|key| WITHOUT_WORDS.contains(&key.as_str())) {
        said.push("further rules hold".to_owned());
    }
    let default = flat.get("default").filter(|default| !default.is_null()).map(ToString::to_string);
    said.extend(default.filter(|text| text.chars().count() <= MAX_SHOWN).map(|text| format!("default {text}")));
    said
}

/// `1 to 100`, `at least 1`, `at most 100`
fn range(least: Option<String>, most: Option<String>, unit: &str) -> Option<String> {
    Some(match (least, most) {
        (Some(least), Some(most)) if least == most => format!("{least}{unit}"),
        (Some(least), Some(most)) => format!("{least} to {most}{unit}"),
        (Some(least), None) => format!("at least {least}{unit}"),
        (None, Some(most)) => format!("at most {most}{unit}"),
        (None, None) => return None,
    })
}

/// The values, each as JSON.
fn listed(lead: &str, values: &[Value]) -> Option<String> {
    let shown: Vec<String> = values.iter().filter(|value| !value.is_null()).map(ToString::to_string).collect();
    let is_short = shown.len() <= MAX_LISTED && shown.iter().all(|text| text.chars().count() <= MAX_SHOWN);
    match shown.as_slice() {
        [] => None,
        [only] if is_short && lead == "one of" => Some(format!("always {only}")),
        _ if is_short => Some(format!("{lead} {}", shown.join(", "))),
        _ => Some(format!("{lead} {} values", shown.len())),
    }
}

fn format_in_words(format: &str) -> String {
    match format {
        "date-time" => "a time with its offset, such as 2026-01-31T09:30:00Z".to_owned(),
        "date" => "a date, such as 2026-01-31".to_owned(),
        "time" => "a time of the day, such as 09:30:00Z".to_owned(),
        "email" => "an email address".to_owned(),
        "uri" => "a URI with its scheme".to_owned(),
        "uuid" => "a UUID".to_owned(),
        format => format!("format {format}"),
    }
}
