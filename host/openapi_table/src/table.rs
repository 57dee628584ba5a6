//! The parts of a table.

use contract_rules::schema;
use serde_json::Value;

/// A table.
pub(crate) struct Table {
    pub(crate) identifier: String,
    pub(crate) title: String,
    pub(crate) documentation: String,
    /// The statement `auth`, as it is written.
    pub(crate) auth: String,
    pub(crate) upstreams: Vec<Upstream>,
    pub(crate) rows: Vec<Row>,
}

/// An upstream.
pub(crate) struct Upstream {
    pub(crate) name: String,
    pub(crate) base_url: String,
}

/// An operation.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) documentation: String,
    /// In upper case.
    pub(crate) method: String,
    pub(crate) upstream: String,
    /// The names in braces are names of fields.
    pub(crate) path: String,
    pub(crate) fields: Vec<Field>,
    pub(crate) format: Format,
    pub(crate) answers: Answers,
    /// The schema of a JSON answer, as the document has it.
    pub(crate) answer: Option<Value>,
    pub(crate) example: Option<Value>,
}

/// How a body is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Format {
    #[default]
    Json,
    /// `application/x-www-form-urlencoded`
    Form,
    /// `multipart/form-data`
    Multipart,
}

/// The kind of answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Answers {
    Json,
    File,
    Any,
}

/// A field of a row.
#[derive(Clone)]
pub(crate) struct Field {
    pub(crate) spec: schema::Field,
    pub(crate) place: Place,
    /// The name that the upstream expects, if it is different.
    pub(crate) upstream_name: Option<String>,
    /// `joined`, `repeated`, `keeps_slashes` or `odata_string`, as it is written.
    pub(crate) encoding: Option<String>,
    /// A value from the document.
    pub(crate) example: Option<Value>,
}

/// The part of a request that takes a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Place {
    Path,
    Query,
    Header,
    Body,
}

impl Row {
    /// Returns `true` if fields without a stated place belong to the query.
    pub(crate) fn is_bodiless(&self) -> bool {
        matches!(self.method.as_str(), "GET" | "HEAD" | "DELETE")
    }
}
