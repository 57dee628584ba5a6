//! The parsed document and its references.

use serde_json::{Map, Value};

use crate::{OpenapiError, version2};

/// Maximum length of a chain of references. A longer chain is not followed.
const MAX_REFERENCES: usize = 32;

/// An OpenAPI document of version 3.
pub(crate) struct Document {
    root: Value,
}

impl Document {
    pub(crate) fn parse(text: &str) -> Result<Self, OpenapiError> {
        let syntax = |error: &dyn std::fmt::Display| OpenapiError::Syntax(error.to_string());
        let root: Value = if text.trim_start().starts_with('{') {
            serde_json::from_str(text).map_err(|error| syntax(&error))?
        } else {
            yaml_serde::from_str(text).map_err(|error| syntax(&error))?
        };
        let version = |key: &str| root.get(key).map(|version| version.to_string().replace('"', "")).unwrap_or_default();
        if version("openapi").starts_with("3.") {
            Ok(Self { root })
        } else if version("swagger") == "2.0" {
            Ok(Self { root: version2::upgraded(root) })
        } else {
            Err(OpenapiError::Version)
        }
    }

    /// The whole document.
    pub(crate) fn root(&self) -> &Value {
        &self.root
    }

    /// A member of the document.
    pub(crate) fn get(&self, pointer: &str) -> Option<&Value> {
        self.root.pointer(pointer)
    }

    /// The value that a local reference names, and the last reference of the chain. A value without
    /// `$ref` is returned as it is.
    pub(crate) fn resolved<'a>(&'a self, value: &'a Value) -> Result<(&'a Value, Option<&'a str>), String> {
        let mut value = value;
        let mut last = None;
        for _ in 0..MAX_REFERENCES {
            let Some(reference) = value.get("$ref").and_then(Value::as_str) else { return Ok((value, last)) };
            if !reference.starts_with('#') {
                return Err(format!("`{reference}` is in another document"));
            }
            value = target(&self.root, reference).ok_or_else(|| format!("`{reference}` leads nowhere"))?;
            last = Some(reference);
        }
        Err("its references lead to each other".to_owned())
    }

    /// The paths with their items, or with the reason why an item cannot be read.
    /// Names with `x-` are extensions of the document.
    pub(crate) fn paths(&self) -> impl Iterator<Item = (&str, Result<&Map<String, Value>, String>)> {
        let paths = self.root.get("paths").and_then(Value::as_object).into_iter().flatten();
        paths.filter(|(name, _)| !name.starts_with("x-")).map(|(path, item)| {
            let item = self.resolved(item).and_then(|(item, _)| item.as_object().ok_or("it is no object".to_owned()));
            (path.as_str(), item)
        })
    }

    /// The title in one line.
    pub(crate) fn title(&self, identifier: &str) -> String {
        let title = self.root.pointer("/info/title").and_then(Value::as_str).map(line).unwrap_or_default();
        if title.is_empty() { identifier.to_owned() } else { title }
    }

    /// The first paragraph of the description.
    pub(crate) fn description(&self) -> String {
        let text = self.root.pointer("/info/description").and_then(Value::as_str).unwrap_or_default();
        let first = line(text.trim().split("\n\n").next().unwrap_or_default());
        if first.is_empty() { self.title("") } else { first }
    }
}

/// The value in a document that a local reference names.
pub(crate) fn target<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    root.pointer(&decoded(reference.strip_prefix('#')?))
}

/// Percent-encoding in the fragment of a reference is undone for the characters that paths have.
fn decoded(pointer: &str) -> String {
    pointer.replace("%7B", "{").replace("%7D", "}").replace("%7b", "{").replace("%7d", "}").replace("%24", "$")
}

/// A text in one line.
pub(crate) fn line(text: &str) -> String {
    text.split(|character: char| character.is_whitespace() || character.is_control())
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// A text of several lines, without control characters and without blanks at the ends of lines.
pub(crate) fn lines(text: &str) -> String {
    let clean = |line: &str| {
        let line: String = line.chars().map(|character| if character.is_control() { ' ' } else { character }).collect();
        line.trim_end().to_owned()
    };
    text.trim().lines().map(clean).collect::<Vec<_>>().join("\n")
}

/// A text member of a value.
pub(crate) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}
