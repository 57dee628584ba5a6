//! The table of a connector, and the schemas of its answers, from an OpenAPI document.
//!
//! The result is a first version for an author, not a full translation. A table can express less
//! than JSON Schema. The parts that it cannot express are left out and listed, and never guessed.
//! Names are changed if the contract requires it.
//!
//! # Layout
//! - here: the conversion, its input and its result
//! - `document`: the parsed document and its references
//! - `version2`: documents of OpenAPI 2.0, turned into 3.0
//! - `operation`: from an operation to a row
//! - `parameter`: the parameters of an operation
//! - `body`: the members of its body
//! - `schema`: from a schema to a field
//! - `combined`: `allOf`, `oneOf` and `anyOf`
//! - `keyword`: limits, values and defaults
//! - `pattern`: patterns of strings
//! - `server`: base URLs
//! - `security`: how users authenticate
//! - `name`: names that fit the contract
//! - `example`: an input for each row
//! - [`answer_schema`]: the schemas of answers; [`answer_file`]: the file with them
//! - `table`: the parts of a table
//! - `text`: the table as text

pub mod answer_file;
pub mod answer_schema;
mod body;
mod combined;
mod document;
mod example;
mod keyword;
mod name;
mod operation;
mod parameter;
mod pattern;
mod schema;
mod security;
mod server;
mod table;
mod text;
mod version2;

use std::collections::BTreeMap;

use contract_rules::limit::OPERATIONS;
use thiserror::Error;

use document::Document;
use operation::Operation;
use server::Servers;
use table::Table;

/// Why a document cannot be converted. Each message is one line that says what to do.
#[derive(Debug, Error)]
pub enum OpenapiError {
    /// The text is neither JSON nor YAML.
    #[error("the document is neither JSON nor YAML: {0}")]
    Syntax(String),
    /// The document is not an OpenAPI document of a known version.
    #[error(
        "the document does not say `openapi: 3.…` or `swagger: 2.0`; name an OpenAPI document of version 2.0, 3.0 or 3.1"
    )]
    Version,
    /// An operation was named that the document does not have.
    #[error("the document has no operation `{name}`{}", nearest(near))]
    Unknown {
        /// The name.
        name: String,
        /// A name that is similar.
        near: Option<String>,
    },
    /// No operation can be a row.
    #[error("the document has no operation that a table can express{}", reason(first))]
    Empty {
        /// Why the first one cannot.
        first: Option<String>,
    },
}

fn nearest(near: &Option<String>) -> String {
    near.as_ref().map(|near| format!("; the nearest is `{near}`")).unwrap_or_default()
}

fn reason(first: &Option<String>) -> String {
    first.as_ref().map(|first| format!(": {first}")).unwrap_or_default()
}

/// How users authenticate, if the author chooses it in place of the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Auth {
    /// Users need no account.
    None,
    /// With a key.
    ApiKey,
    /// By OAuth 2.0.
    Oauth2,
}

/// A table.
#[derive(Debug)]
pub struct Converted {
    /// The title of the service.
    pub title: String,
    /// The inside of `connector! { … }`.
    pub table: String,
    /// A call of one of the operations, for a test.
    pub call: Option<Call>,
    /// The file with the schemas of answers. `None` if the document describes no answer.
    pub answer_schemas: Option<String>,
    /// The name of the first operation.
    pub first: String,
    /// The parts of the document that the table does not have, a line each with the reason.
    pub left_out: Vec<String>,
    /// The assumptions of the table where the document says nothing, a line each. Each line says
    /// what to do if the assumption is wrong.
    pub assumed: Vec<String>,
}

/// A call of an operation, and its request.
#[derive(Debug)]
pub struct Call {
    /// The operation.
    pub operation: String,
    /// The body of the call.
    pub input: String,
    /// The path of the request, with its query.
    pub path: String,
}

/// The parts that were left out so far. A part is added once.
#[derive(Default)]
struct LeftOut {
    /// Each reason with the operations that it is about. No operation if it is about the document.
    reasons: Vec<(String, Vec<String>)>,
    /// The place of each reason in the list.
    known: BTreeMap<String, usize>,
}

impl LeftOut {
    /// Adds a part of the document.
    fn add(&mut self, reason: String) {
        self.of(reason);
    }

    /// Adds a part of an operation or of a path.
    fn add_of(&mut self, operation: &str, reason: String) {
        let operations = self.of(reason);
        if operations.last().is_none_or(|last| last != operation) {
            operations.push(operation.to_owned());
        }
    }

    /// The operations of a reason.
    fn of(&mut self, reason: String) -> &mut Vec<String> {
        let new = self.reasons.len();
        let at = *self.known.entry(reason.clone()).or_insert(new);
        if at == new {
            self.reasons.push((reason, Vec::new()));
        }
        &mut self.reasons[at].1
    }

    /// A line for each reason, with all operations that it is about.
    fn lines(self) -> Vec<String> {
        let line = |(reason, operations): (String, Vec<String>)| match operations.as_slice() {
            [] => reason,
            operations => format!("{}: {reason}", operations.join(", ")),
        };
        self.reasons.into_iter().map(line).collect()
    }
}

/// Converts a document. `operations` has the operations to take, by their operationId, as `GET
/// /path`, or by their name in the table. If it is empty, the first 512 are taken. `fits` says if a
/// module has room for a file with schemas of answers.
///
/// # Errors
/// See [`OpenapiError`].
pub fn convert(
    text: &str,
    identifier: &str,
    operations: &[String],
    auth: Option<Auth>,
    fits: impl Fn(&str) -> bool,
) -> Result<Converted, OpenapiError> {
    let document = Document::parse(text)?;
    let mut left_out = LeftOut::default();
    let mut chosen = operation::chosen(&document, operations, &mut left_out)?;
    if chosen.len() > OPERATIONS {
        left_out.add(format!(
            "{} operations after the first {OPERATIONS}, which is the limit of a connector; name those that you need with --operations",
            chosen.len() - OPERATIONS
        ));
        chosen.truncate(OPERATIONS);
    }
    let auth = security::auth(&document, &chosen, identifier, auth, &mut left_out);
    let mut assumed: Vec<String> = auth.assumed.iter().cloned().collect();
    let mut servers = Servers::new(&document, auth.has_credential(), &mut left_out);
    let key = auth.key.as_ref();
    let rows: Vec<_> = chosen
        .iter()
        .filter_map(|operation: &Operation<'_>| operation.row(&document, &mut servers, key, &mut left_out))
        .collect();
    let Some(first) = rows.first() else {
        return Err(OpenapiError::Empty { first: left_out.lines().into_iter().next() });
    };
    let first = first.name.clone();
    assumed.extend(servers.assumed());
    let table = Table {
        identifier: identifier.to_owned(),
        title: document.title(identifier),
        documentation: document.description(),
        auth: auth.statement,
        upstreams: servers.into_upstreams(),
        rows,
    };
    let call = table.rows.iter().find_map(example::call);
    let answer_schemas = answer_file::of_rows(&document, &table.rows, fits, &mut left_out);
    Ok(Converted {
        title: table.title.clone(),
        table: text::render(&table),
        call,
        answer_schemas,
        first,
        left_out: left_out.lines(),
        assumed,
    })
}

#[cfg(test)]
mod tests;
