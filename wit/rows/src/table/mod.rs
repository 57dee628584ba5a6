//! A row as the author of a table writes it. The parts of its request that the author leaves out follow
//! from the method, the path and the types of the fields.
//!
//! The macro `connector!` and the file `connector.toml` have this form in common.
//!
//! - here: the form, and the declaration that follows from it.
//! - `check`: the rules of the form.

mod check;

use std::borrow::Cow;

use contract_rules::schema::{self, Kind};
use serde_json::Value;

use crate::declaration::{Declaration, DeclaredHeader};
use crate::encoding::push_name;
use crate::row::{BodyEncoding, DefaultQuery, Encoding, Field, Lists, Location, Method};
use crate::template::fields_of;

pub use check::{FieldPart, WAITING, background, next_page, setting_type};

/// A row of a table.
#[derive(Clone, Debug)]
pub struct TableRow {
    /// Method of the request.
    pub method: Method,
    /// The path, with names of fields and settings in braces, and with the query that is always sent.
    pub path: String,
    /// How the body is written.
    pub encoding: BodyEncoding,
    /// The fields of the input.
    pub fields: Vec<TableField>,
    /// Members of every body.
    pub fixed_body: Vec<(String, Value)>,
    /// Query parameters that are sent unless the caller gives them.
    pub default_query: Vec<(String, Value)>,
    /// Further parameters that suppress the parameters of `default_query`.
    pub default_query_unless: Vec<String>,
    /// `true` if callers may shape the answer.
    pub envelope: bool,
}

/// A field of a row.
#[derive(Clone, Debug)]
pub struct TableField {
    /// The part that the schema of the input follows from.
    pub spec: schema::Field,
    /// The part of the request, if the author names one.
    pub part: Option<RequestPart>,
    /// The name that the service knows, if it is another one.
    pub sent_as: Option<String>,
    /// `true` if the default is sent when the caller leaves the field out.
    pub sent: bool,
    /// How a list is sent, if the author says it.
    pub lists: Option<Lists>,
    /// How a value is written into a path.
    pub encoding: Encoding,
}

/// A part of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestPart {
    /// The path.
    Path,
    /// The query.
    Query,
    /// The body.
    Body,
    /// The headers.
    Header,
}

impl TableField {
    /// A field whose author says no more than its schema.
    #[must_use]
    pub fn new(spec: schema::Field) -> Self {
        Self { spec, part: None, sent_as: None, sent: false, lists: None, encoding: Encoding::Segment }
    }

    /// The name that the service knows.
    fn sent_name(&self) -> &str {
        self.sent_as.as_deref().unwrap_or(&self.spec.name)
    }

    /// A dotted name is a path inside the body. Annotations such as
    /// `@microsoft.graph.conflictBehavior` are names as they are.
    fn body_path(&self) -> Vec<&str> {
        let name = self.sent_name();
        if name.starts_with('@') { vec![name] } else { name.split('.').collect() }
    }

    fn is_entries(&self) -> bool {
        matches!(self.spec.kind, Kind::Entries(_) | Kind::TextEntries(_))
    }
}

/// Returns `true` for a file and for a list of files.
#[must_use]
pub fn is_file(kind: &Kind) -> bool {
    match kind {
        Kind::List(item) => matches!(**item, Kind::File),
        kind => matches!(kind, Kind::File),
    }
}

impl TableRow {
    /// A row without fields and clauses.
    #[must_use]
    pub fn new(method: Method, path: &str) -> Self {
        Self {
            method,
            path: path.to_owned(),
            encoding: BodyEncoding::Json,
            fields: Vec::new(),
            fixed_body: Vec::new(),
            default_query: Vec::new(),
            default_query_unless: Vec::new(),
            envelope: true,
        }
    }

    /// Adds the fields that the path implies, which are required strings, and tells each field what
    /// its schema needs to know about its part of the request.
    pub fn complete(&mut self) {
        let mut implied: Vec<&str> = Vec::new();
        for name in fields_of(&self.path) {
            if !implied.contains(&name) && !self.fields.iter().any(|field| field.spec.name == name) {
                implied.push(name);
            }
        }
        let implied: Vec<TableField> =
            implied.into_iter().map(|name| TableField::new(schema::Field::new(name, Kind::String))).collect();
        self.fields.splice(0..0, implied);
        let parts: Vec<RequestPart> = self.fields.iter().map(|field| self.part(field)).collect();
        for (field, part) in self.fields.iter_mut().zip(parts) {
            field.spec.in_path = part == RequestPart::Path;
            if let (Kind::Entries(entries), RequestPart::Header) = (&field.spec.kind, part) {
                field.spec.kind = Kind::TextEntries(entries.clone());
            }
        }
    }

    /// The part of the request that takes a field: the one that the author names, else the one that
    /// follows from the path, the type and the method.
    #[must_use]
    pub fn part(&self, field: &TableField) -> RequestPart {
        match (field.part, &field.spec.kind) {
            (Some(part), _) => part,
            (None, _) if fields_of(&self.path).contains(&field.spec.name.as_str()) => RequestPart::Path,
            (None, Kind::Entries(_) | Kind::TextEntries(_)) if field.spec.name == "headers" => RequestPart::Header,
            (None, Kind::Entries(_) | Kind::TextEntries(_)) => RequestPart::Query,
            (None, _) if matches!(self.method, Method::Get | Method::Head | Method::Delete) => RequestPart::Query,
            (None, _) => RequestPart::Body,
        }
    }

    /// The field that is the whole body, if there is one.
    #[must_use]
    pub fn whole_body(&self) -> Option<usize> {
        self.fields.iter().position(|field| self.is_whole_body(field))
    }

    fn is_whole_body(&self, field: &TableField) -> bool {
        field.spec.name == "body"
            && matches!(field.spec.kind, Kind::Object | Kind::Members(_))
            && field.sent_as.is_none()
            && self.part(field) == RequestPart::Body
    }

    /// The declaration of the row. `headers` are the table's headers, and `entries` says how lists
    /// among the query's entries are sent.
    #[must_use]
    pub fn declaration(&self, upstream: &str, headers: &[DeclaredHeader], entries: &Lists) -> Declaration {
        let fixed = self.fixed_body.iter().map(|(name, json)| format!("{}:{json}", Value::from(name.as_str())));
        let fixed = fixed.collect::<Vec<_>>().join(",");
        Declaration {
            method: self.method,
            upstream: upstream.to_owned(),
            path: self.path.clone(),
            fields: self.fields.iter().map(|field| self.field(field, entries)).collect(),
            default_query: self.default_query.iter().map(|default| self.default(default)).collect(),
            headers: headers.to_vec(),
            fixed_body: (!self.fixed_body.is_empty()).then(|| format!("{{{fixed}}}")),
            encoding: self.encoding,
        }
    }

    fn field(&self, field: &TableField, entries: &Lists) -> Field {
        let spec = &field.spec;
        Field {
            name: Cow::Owned(spec.name.clone()),
            location: self.location(field),
            required: !spec.optional,
            integer: matches!(&spec.kind, Kind::Integer)
                || matches!(&spec.kind, Kind::List(item) if matches!(**item, Kind::Integer)),
            lists: match (&field.lists, &spec.kind) {
                (None, _) if self.part(field) == RequestPart::Body => Lists::AsTheyAre,
                (Some(lists), _) => lists.clone(),
                (None, Kind::Entries(_)) => entries.clone(),
                (None, _) => Lists::Joined(Cow::Borrowed(",")),
            },
            max_bytes: spec.max_bytes.and_then(|bytes| usize::try_from(bytes).ok()),
            default: spec.default.as_ref().filter(|_| field.sent).map(|json| Cow::Owned(json.to_string())),
            nullable: spec.nullable,
        }
    }

    fn location(&self, field: &TableField) -> Location {
        let name = || Cow::Owned(field.sent_name().to_owned());
        match self.part(field) {
            RequestPart::Path => Location::Path(field.encoding),
            RequestPart::Query if field.is_entries() => Location::QueryEntries,
            RequestPart::Query => Location::Query(name()),
            RequestPart::Header if field.is_entries() => Location::HeaderEntries,
            RequestPart::Header => Location::Header(name()),
            RequestPart::Body if self.is_whole_body(field) => Location::WholeBody,
            RequestPart::Body if is_file(&field.spec.kind) => Location::File(name()),
            RequestPart::Body => {
                Location::Body(field.body_path().into_iter().map(|step| Cow::Owned(step.to_owned())).collect())
            }
        }
    }

    fn default(&self, (name, json): &(String, Value)) -> DefaultQuery {
        let value = match json {
            Value::String(text) => Cow::Borrowed(text),
            value => Cow::Owned(value.to_string()),
        };
        let mut parameter = String::new();
        push_name(&mut parameter, name);
        parameter.push('=');
        push_name(&mut parameter, &value);
        let unless = std::iter::once(name).chain(&self.default_query_unless).map(|name| Cow::Owned(name.clone()));
        DefaultQuery { parameter: Cow::Owned(parameter), unless: unless.collect() }
    }
}
