//! Describes violations in words that say what to do.

use std::fmt;

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::Value;

use super::fields::Fields;
use super::violations::Violations;
use contract::words::shortened;
use contract_rules::pointer;

/// Adds the violations that an error of the schema library stands for. They do not repeat values of
/// the caller, which may be secrets. `also_known` are names of members that the whole value may
/// have in addition to the members of the schema.
pub(super) fn explain(schema: &Value, error: &ValidationError<'_>, also_known: &[&str], violations: &mut Violations) {
    let parent = error.instance_path().as_str();
    match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let mut declared = declared(schema, error);
            if parent.is_empty() {
                declared.extend(also_known);
            }
            for name in unexpected {
                if violations.is_over() {
                    return;
                }
                violations.add_unknown_field(parent, name, &declared);
            }
        }
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            violations.add(format!("{parent}{}", pointer::of(name)), format!("`{}` is required.", shortened(name)));
        }
        ValidationErrorKind::Type { kind } if is_encoded(error.instance(), kind) => {
            violations.add(parent.to_owned(), format!("Must be {}, and not a string of JSON.", types(kind)));
        }
        kind => violations.add(parent.to_owned(), requirement(kind).unwrap_or_else(|| format!("{}.", error.masked()))),
    }
}

/// The fields that the schema declares for the object in which an undeclared name was found.
fn declared<'a>(schema: &'a Value, error: &ValidationError<'_>) -> Fields<'a> {
    let path = error.schema_path().as_str();
    path.strip_suffix("/additionalProperties")
        .or_else(|| path.strip_suffix("/unevaluatedProperties"))
        .and_then(|parent| schema.pointer(parent))
        .map(Fields::of)
        .unwrap_or_default()
}

/// A sentence for a broken keyword; `None` if the words of the schema library are good enough.
fn requirement(kind: &ValidationErrorKind) -> Option<String> {
    let text = match kind {
        ValidationErrorKind::Type { kind } => format!("Must be {}.", types(kind)),
        ValidationErrorKind::Enum { options } => match options.as_array() {
            // `null` stands for an absent field, which callers know.
            Some(options) => {
                format!("Must be one of {}.", join_names(options.iter().filter(|option| !option.is_null())))
            }
            None => return None,
        },
        ValidationErrorKind::Constant { expected_value } => format!("Must be {expected_value}."),
        ValidationErrorKind::Minimum { limit } => format!("Must be at least {limit}."),
        ValidationErrorKind::Maximum { limit } => format!("Must be at most {limit}."),
        ValidationErrorKind::MinLength { limit } => format!("Must have at least {limit} characters."),
        ValidationErrorKind::MaxLength { limit } => format!("Must have at most {limit} characters."),
        ValidationErrorKind::MinItems { limit } => format!("Must have at least {limit} items."),
        ValidationErrorKind::MaxItems { limit } => format!("Must have at most {limit} items."),
        ValidationErrorKind::Format { format } => match format.as_str() {
            "date-time" => "Must be a date and time with its offset, such as 2026-01-31T09:30:00Z.".to_owned(),
            "date" => "Must be a date, such as 2026-01-31.".to_owned(),
            "email" => "Must be an email address.".to_owned(),
            "uri" => "Must be a URI with its scheme, such as https://example.com/page.".to_owned(),
            format => format!("Must have the format `{format}`."),
        },
        ValidationErrorKind::UniqueItems => "Must not contain an item twice.".to_owned(),
        ValidationErrorKind::Pattern { pattern } => format!("Must match the pattern {pattern}."),
        ValidationErrorKind::Not { schema } => {
            format!("Must be none of {}.", join_names(schema.get("enum")?.as_array()?.iter()))
        }
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            let mut reasons: Vec<String> =
                context.iter().flatten().filter_map(|error| requirement(error.kind())).collect();
            reasons.dedup();
            if reasons.is_empty() {
                return None;
            }
            reasons.join(" Or: ")
        }
        _ => return None,
    };
    Some(text)
}

/// Returns `true` if a string is in the place of an object or a list, and looks like its JSON text.
fn is_encoded(instance: &Value, kind: &TypeKind) -> bool {
    let wanted = types(kind);
    let is_text_of = |open: char, name: &str| {
        wanted.contains(name) && instance.as_str().is_some_and(|text| text.trim_start().starts_with(open))
    };
    is_text_of('{', "an object") || is_text_of('[', "an array")
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(kind) => article(&kind.to_string()),
        TypeKind::Multiple(kinds) => {
            let names: Vec<String> = kinds.iter().map(|kind| article(&kind.to_string())).collect();
            names.join(" or ")
        }
    }
}

fn article(kind: &str) -> String {
    match kind {
        "null" => kind.to_owned(),
        "integer" | "object" | "array" => format!("an {kind}"),
        _ => format!("a {kind}"),
    }
}

fn join_names<T: fmt::Display>(items: impl Iterator<Item = T>) -> String {
    let items: Vec<String> = items.map(|item| item.to_string()).collect();
    items.join(", ")
}
