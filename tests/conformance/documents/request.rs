//! The check of a request: against the operation of the document, and for the caller's values.

use std::collections::HashMap;

use jsonschema::Validator;
use serde_json::Value;
use support::Seen;

use super::credential;
use super::project::{Project, Row, shape};
use super::shown;
use crate::check::{validator, violations};
use crate::specifications::{Method, openapi};

/// The operations of a document with their compiled schemas.
pub(super) struct Described<'a> {
    project: &'a Project,
    methods: HashMap<String, (Method, Validator)>,
}

impl<'a> Described<'a> {
    pub(super) fn of(project: &'a Project) -> Self {
        let methods = openapi::methods(&project.document).into_iter().map(|method| {
            let title = method.names.last().cloned().unwrap();
            let validator = validator(&method);
            (title, (method, validator))
        });
        Self { project, methods: methods.collect() }
    }

    /// The operations of the document that no row is made of.
    pub(super) fn missing(&self) -> Vec<String> {
        let is_row = |title: &&String| self.project.rows.iter().any(|row| row.title() == **title);
        let mut missing: Vec<String> = self.methods.keys().filter(|title| !is_row(title)).cloned().collect();
        missing.sort();
        missing
    }

    /// The differences between a request and the document, each as place and sentence.
    pub(super) fn differences(&self, row: &Row, input: &Value, request: &Seen) -> Vec<(String, String)> {
        let Some((method, validator)) = self.methods.get(&row.title()) else {
            return vec![("the operation".to_owned(), format!("the document has no {}", row.title()))];
        };
        debug_assert_eq!(shape(row.title().split_once(' ').unwrap().1), shape(&row.path));
        let Some(mut document) = method.read(request.path.trim_start_matches('/'), request) else {
            return vec![("the operation".to_owned(), format!("it sent {} {}", request.method, request.path))];
        };
        credential::remove(&self.project.document, method, &mut document);
        let mut found = violations(&document, validator);
        if let Some(detail) = credential::missing(self.project, row, request) {
            found.push(("security".to_owned(), detail));
        }
        let sent = sent(&document);
        for (name, value) in input.as_object().into_iter().flatten() {
            for text in texts(value) {
                if !sent.iter().any(|sent| sent.contains(&text)) {
                    found.push((
                        format!("/input/{name}"),
                        format!("its value {} does not arrive in {}", shown(value), shown(&document)),
                    ));
                }
            }
        }
        found
    }
}

/// The texts of all values of a request, as a service reads it.
fn sent(document: &Value) -> Vec<String> {
    ["path", "query", "headers", "body"].iter().flat_map(|place| texts(&document[place])).collect()
}

/// The texts of the values inside of a value. A file is its content.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Null => Vec::new(),
        Value::String(text) => vec![text.clone()],
        Value::Object(members) if members.contains_key("content_base64") => vec!["content".to_owned()],
        Value::Object(members) => members.values().flat_map(texts).collect(),
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        other => vec![other.to_string()],
    }
}
