//! The hot path: an operation that is one request. It reads the input once, borrows from it where
//! possible, and builds the path in one string.

use std::borrow::Cow;

use contract_rules::path::has_dot_segment;

use crate::bindings::gateway::connector::http::Method;
use crate::http::{DOT_SEGMENT, EMPTY_SEGMENT};
use crate::reader::{self, Member};
use crate::table::{Body, BodyEncoding, Encoding, Field, HttpBody, Lists, Location, Piece, Row, Trigger};
use crate::{Fault, Request, encoding, form};

/// The request of a row. It has a path and never a link.
pub struct RowRequest {
    method: Method,
    upstream: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Option<HttpBody>,
}

impl From<RowRequest> for Request {
    fn from(request: RowRequest) -> Self {
        let RowRequest { method, upstream, path, headers, body } = request;
        Self { method, upstream, path, link: None, headers, body, omit_credential: false }
    }
}

#[cfg(target_family = "wasm")]
impl From<RowRequest> for crate::bindings::gateway::connector::http::Request {
    fn from(request: RowRequest) -> Self {
        let RowRequest { method, upstream, path, headers, body } = request;
        let target = crate::bindings::gateway::connector::http::Target::Path(path);
        Self { method, upstream, target, headers, body, omit_credential: false }
    }
}

/// The request of a row for an input.
pub(crate) fn request(row: &'static Row, input: &str) -> Result<RowRequest, Fault> {
    let members = reader::members(input)?;
    let values = Values { row, members: &members };
    values.check()?;
    let mut path = String::with_capacity(128 + input.len());
    values.path(&mut path)?;
    let mut query = Query { separator: '?', watched: Vec::new(), path };
    values.query(&mut query)?;
    let headers = values.headers(&query)?;
    let body = values.body()?;
    Ok(RowRequest { method: row.method, upstream: row.upstream.to_owned(), path: query.path, headers, body })
}

struct Values<'a> {
    row: &'static Row,
    members: &'a [Member<'a>],
}

/// The path, and the part of the query that is already written.
struct Query<'a> {
    separator: char,
    /// Names of the parameters that the caller gave, and their values as JSON text. Filled only if
    /// the row has headers or defaults that depend on them.
    watched: Vec<(Cow<'a, str>, &'a str)>,
    path: String,
}

impl<'a> Values<'a> {
    /// The JSON text of a field's value, or of its default.
    fn get(&self, field: &'static Field) -> Option<&'a str> {
        let given = self.members.iter().find(|member| member.name == field.name).map(|member| member.value);
        given.filter(|value| *value != "null" || field.nullable).or(field.default)
    }

    /// Checks sizes in bytes, which the schema cannot limit, and that required fields are there.
    fn check(&self) -> Result<(), Fault> {
        for field in self.row.fields {
            match self.get(field) {
                None if field.required => return Err(refuse(field, "Give a value: the operation needs it.")),
                Some(value) if field.max_bytes.is_some_and(|most| value.len() > most) => too_long(field, value)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn path(&self, path: &mut String) -> Result<(), Fault> {
        for piece in self.row.path {
            match piece {
                Piece::Text(text) => path.push_str(text),
                Piece::Setting(name, read) => match read()? {
                    Some(text) => path.push_str(&text),
                    None => return Err(Fault::Failed(unset(name))),
                },
                Piece::Field(index) => {
                    let Some(field) = self.row.fields.get(*index) else { continue };
                    let Some(value) = self.get(field) else { continue };
                    let start = path.len();
                    push_path_value(path, field, value)?;
                    if path.len() == start {
                        return Err(refuse(field, EMPTY_SEGMENT));
                    }
                }
            }
        }
        // Only a value with a dot, encoded or not, can make a dot segment: `connector!` checks the
        // table's own text.
        let suspects = || self.row.fields.iter().filter(|field| self.may_climb(field));
        match suspects().next() {
            Some(first) if has_dot_segment(path) => {
                let climbs = |field: &&'static Field| {
                    self.get(field).and_then(reader::scalar).is_some_and(|text| has_dot_segment(&text))
                };
                // Several values together make the dot segment, so no single field is to blame.
                Err(refuse(suspects().find(climbs).unwrap_or(first), DOT_SEGMENT))
            }
            _ => Ok(()),
        }
    }

    /// Returns `true` if the value may contain a dot segment, which would lead out of the path (RFC
    /// 3986, section 5.2.4).
    fn may_climb(&self, field: &'static Field) -> bool {
        let dot = |value: &str| value.bytes().any(|byte| matches!(byte, b'.' | b'\\' | b'%'));
        matches!(field.location, Location::Path(_)) && self.get(field).is_some_and(dot)
    }

    fn query(&self, query: &mut Query<'a>) -> Result<(), Fault> {
        if !self.row.fixed_query.is_empty() {
            query.raw(self.row.fixed_query);
        }
        let watches =
            !self.row.default_query.is_empty() || self.row.headers.iter().any(|header| !header.when.is_empty());
        for field in self.row.fields {
            let Some(value) = self.get(field) else { continue };
            match field.location {
                Location::Query(name) => {
                    query.parameter(name, value, field)?;
                    if watches {
                        query.watched.push((Cow::Borrowed(name), value));
                    }
                }
                Location::QueryEntries => {
                    for entry in reader::members(value)? {
                        if entry.value != "null" {
                            query.parameter(&entry.name, entry.value, field)?;
                            if watches {
                                query.watched.push((entry.name, entry.value));
                            }
                        }
                    }
                }
                _ => {}
            }
        }
        for default in self.row.default_query {
            if !query.has_any(default.unless) {
                query.raw(default.parameter);
            }
        }
        Ok(())
    }

    fn headers(&self, query: &Query<'_>) -> Result<Vec<(String, String)>, Fault> {
        let mut headers = Vec::new();
        for header in self.row.headers {
            if header.when.is_empty() || header.when.iter().any(|trigger| query.has(trigger)) {
                headers.extend(header.pair()?);
            }
        }
        for field in self.row.fields {
            let Some(value) = self.get(field) else { continue };
            match field.location {
                Location::Header(name) => headers.push((name.to_owned(), header_value(field, value)?)),
                Location::HeaderEntries => {
                    for entry in reader::members(value)? {
                        if entry.value != "null" {
                            headers.push((entry.name.into_owned(), header_value(field, entry.value)?));
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(headers)
    }

    fn body(&self) -> Result<Option<HttpBody>, Fault> {
        let json = match self.row.body {
            Body::None => return Ok(None),
            Body::Whole(index) => {
                let Some(field) = self.row.fields.get(index) else { return Ok(None) };
                let Some(value) = self.get(field) else { return Ok(None) };
                as_sent(field, value).into_owned()
            }
            Body::Members { fixed, fields } => self.members(fixed, fields)?,
        };
        Ok(Some(match self.row.encoding {
            BodyEncoding::Json => HttpBody::Json(json),
            BodyEncoding::Form => HttpBody::Form(form::pairs(&json)?),
            BodyEncoding::Multipart(body) => body(self.row, self.members, &json)?,
        }))
    }

    /// Returns `true` if values of the body are sent as text.
    fn is_form(&self) -> bool {
        !matches!(self.row.encoding, BodyEncoding::Json)
    }

    /// An object of the given fields. Fields of one inner object follow one another.
    fn members(&self, fixed: &str, fields: &[usize]) -> Result<String, Fault> {
        let mut json =
            String::with_capacity(64 + self.members.iter().map(|member| member.value.len() + 24).sum::<usize>());
        json.push('{');
        json.push_str(fixed);
        let mut open: &[&str] = &[];
        for field in fields.iter().filter_map(|index| self.row.fields.get(*index)) {
            let Location::Body([outer @ .., name]) = field.location else { continue };
            let Some(value) = self.get(field) else { continue };
            let common = open.iter().zip(outer).take_while(|(left, right)| left == right).count();
            json.extend(open.iter().skip(common).map(|_| '}'));
            for segment in outer.iter().skip(common) {
                member_name(&mut json, segment);
                json.push('{');
            }
            open = outer;
            member_name(&mut json, name);
            match field.lists {
                Lists::Joined(separator) if value.starts_with('[') => {
                    let items: Vec<String> = reader::items(value)?
                        .into_iter()
                        .map(|item| text(field, item).map(Cow::into_owned))
                        .collect::<Result<_, _>>()?;
                    reader::push_quoted(&mut json, &items.join(separator));
                }
                // The caller may write an integer as `1.0`. In JSON this is the number 1, but in a form it is
                // another text.
                _ if self.is_form() && field.integer && !value.starts_with('[') && value != "null" => {
                    json.push_str(&text(field, value)?);
                }
                _ => json.push_str(&as_sent(field, value)),
            }
        }
        json.extend(open.iter().map(|_| '}'));
        json.push('}');
        Ok(json)
    }
}

fn member_name(json: &mut String, quoted: &str) {
    if !json.ends_with('{') {
        json.push(',');
    }
    json.push_str(quoted);
    json.push(':');
}

impl Query<'_> {
    fn raw(&mut self, parameters: &str) {
        self.path.push(self.separator);
        self.path.push_str(parameters);
        self.separator = '&';
    }

    fn name(&mut self, name: &str) {
        self.path.push(self.separator);
        encoding::push_name(&mut self.path, name);
        self.path.push('=');
        self.separator = '&';
    }

    fn parameter(&mut self, name: &str, value: &str, field: &Field) -> Result<(), Fault> {
        if !value.starts_with('[') {
            self.name(name);
            encoding::push(&mut self.path, &text(field, value)?, b"");
            return Ok(());
        }
        let items = reader::items(value)?;
        if let (Lists::Joined(separator), [_, ..]) = (&field.lists, items.as_slice()) {
            self.name(name);
            return push_joined(&mut self.path, field, &items, separator);
        }
        for item in items {
            self.name(name);
            encoding::push(&mut self.path, &text(field, item)?, b"");
        }
        Ok(())
    }

    fn has_any(&self, names: &[&str]) -> bool {
        self.watched.iter().any(|(name, _)| names.contains(&name.as_ref()))
    }

    fn has(&self, trigger: &Trigger) -> bool {
        let counts = |value| trigger.unless.is_none() || reader::scalar(value).as_deref() != trigger.unless;
        self.watched.iter().any(|(name, value)| name == trigger.parameter && counts(value))
    }
}

fn push_path_value(path: &mut String, field: &Field, value: &str) -> Result<(), Fault> {
    if let (Lists::Joined(separator), true) = (&field.lists, value.starts_with('[')) {
        return push_joined(path, field, &reader::items(value)?, separator);
    }
    let text = text(field, value)?;
    match field.location {
        Location::Path(Encoding::Path) => {
            let text = if path.ends_with('/') { text.strip_prefix('/').unwrap_or(&text) } else { &text };
            encoding::push(path, text, b"/");
        }
        Location::Path(Encoding::ODataString) => encoding::push(path, &text.replace('\'', "''"), b"'"),
        _ => encoding::push(path, &text, b""),
    }
    Ok(())
}

/// Commas between items are not encoded. Commas inside an item are percent-encoded.
fn push_joined(path: &mut String, field: &Field, items: &[&str], separator: &str) -> Result<(), Fault> {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            encoding::push(path, separator, b",");
        }
        encoding::push(path, &text(field, item)?, b"");
    }
    Ok(())
}

/// A scalar as text: a string without its quotes, any other scalar as the caller wrote it.
fn text<'a>(field: &Field, value: &'a str) -> Result<Cow<'a, str>, Fault> {
    match reader::scalar(value) {
        Some(text) if field.integer => {
            Ok(reader::integer(&text).map_or_else(|| text.clone(), |digits| Cow::Owned(digits.into_owned())))
        }
        Some(text) => Ok(text),
        None => Err(refuse(field, "Give a string, a number or a boolean here.")),
    }
}

fn header_value(field: &Field, value: &str) -> Result<String, Fault> {
    let text = text(field, value)?;
    if text.contains(['\r', '\n', '\0']) {
        return Err(refuse(field, "Give a value without line breaks: it is sent as a header."));
    }
    Ok(text.into_owned())
}

/// An object that fits its limit only in its compact form is sent in this form, so that the service
/// gets no more bytes than the limit.
fn as_sent<'a>(field: &Field, value: &'a str) -> Cow<'a, str> {
    match field.max_bytes {
        Some(most) if value.len() > most && value.starts_with(['{', '[']) => Cow::Owned(reader::compact(value)),
        _ => Cow::Borrowed(value),
    }
}

/// The limit is in bytes of the value: quotes and escapes of a string do not count, and an object
/// counts in its compact form.
fn too_long(field: &Field, value: &str) -> Result<(), Fault> {
    let length = reader::scalar(value).map_or_else(|| reader::compact(value).len(), |text| text.len());
    match field.max_bytes {
        Some(most) if length > most => Err(refuse(field, &format!("Give at most {most} bytes; these are {length}."))),
        _ => Ok(()),
    }
}

fn unset(setting: &str) -> String {
    format!("The operation needs the setting `{setting}` of this connector, which the operator has not set.")
}

fn refuse(field: &Field, detail: &str) -> Fault {
    Fault::invalid_input(format!("/{}", field.name), detail)
}
