//! The request of a row for an input. It reads the input once, borrows from it where possible, and
//! builds the path in one string.
//!
//! A request takes a few times the memory of its input. A part that the input could multiply has a
//! limit, which is checked while the part is made.

use std::borrow::Cow;

use contract_rules::header;
use contract_rules::limit::HEADERS;
use contract_rules::path::has_dot_segment;

use crate::body::{self, Body};
use crate::form;
use crate::path::{Query, push_path_value};
use crate::reader::{self, Member};
use crate::refusal::{Refusal, text};
use crate::row::{BodyEncoding, Field, Header, Lists, Location, Method, Payload, Piece, Row, Text};

/// The sentence for a caller whose value has the dots of a path that leads elsewhere.
pub const DOT_SEGMENT: &str =
    "Give a value that does not contain `.` or `..` as a segment, in any encoding: it is a part of a path.";
/// The sentence for a caller whose value of a path is empty.
pub const EMPTY_SEGMENT: &str = "Give a value that is not empty: it is a part of a path.";

/// The sentence for a caller whose value would make the path begin with the name of a host (RFC
/// 3986, section 4.2).
const DOUBLE_SLASH: &str =
    "Give a value that does not begin with `//`. The path of the request would begin with `//`, which names a host.";

/// The sentence for a caller who gives a header that no request has.
const HEADER_NAME: &str =
    "Give names of headers: letters, digits and `-`, without headers that the gateway sets itself, such as `Host`.";

/// The request of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// The method.
    pub method: Method,
    /// Name of the upstream.
    pub upstream: &'a str,
    /// Path and query below the base URL of the upstream, percent-encoded.
    pub path: String,
    /// The headers, without the headers of the body.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Option<Body>,
}

/// The values of the connector's settings.
pub trait Settings {
    /// The value of a setting as JSON text. `None` if neither the operator nor the manifest sets it.
    fn get(&self, name: &str) -> Option<Cow<'_, str>>;
}

impl Row {
    /// The request for an input, which is JSON text that the schema of the operation has accepted.
    ///
    /// # Errors
    /// If a value cannot be where the row puts it, if the request is too large, or if a setting has no
    /// value.
    pub fn request(&self, input: &str, settings: &dyn Settings) -> Result<Request<'_>, Refusal> {
        let mut members = Vec::with_capacity(8);
        for member in reader::each_member(input) {
            let member = member?;
            // An input may have any number of members that the row does not send.
            if self.fields.iter().any(|field| member.name == field.name) {
                members.push(member);
            }
        }
        let values = Values { row: self, members: &members, settings };
        values.check()?;
        let mut path = String::with_capacity(128 + input.len().min(4096));
        values.path(&mut path)?;
        let mut query = Query::after(path);
        values.query(&mut query)?;
        let headers = values.headers(&query)?;
        let body = values.body()?;
        Ok(Request { method: self.method, upstream: &self.upstream, path: query.path, headers, body })
    }
}

/// The text of a setting for a path or a header. `None` if it has no value.
fn setting(settings: &dyn Settings, name: &str, default: Option<&str>) -> Result<Option<String>, Refusal> {
    let Some(json) = settings.get(name).or(default.map(Cow::Borrowed)) else { return Ok(None) };
    match reader::scalar(&json) {
        Some(text) => Ok(Some(text.into_owned())),
        None => Err(Refusal::Setting(misfit(name, &json))),
    }
}

/// Says that a setting has a value of another type than the connector declares.
#[must_use]
pub fn misfit(name: &str, json: &str) -> String {
    format!("The setting `{name}` of this connector is {json}, which is not of the declared type.")
}

struct Values<'r, 'a> {
    row: &'r Row,
    members: &'a [Member<'a>],
    settings: &'a dyn Settings,
}

impl<'r: 'a, 'a> Values<'r, 'a> {
    /// The JSON text of a field's value, or of its default.
    fn get(&self, field: &'r Field) -> Option<&'a str> {
        let given = self.members.iter().find(|member| member.name == field.name).map(|member| member.value);
        given.filter(|value| *value != "null" || field.nullable).or(field.default.as_deref())
    }

    /// Checks sizes in bytes, which the schema cannot limit, and that required fields are there.
    fn check(&self) -> Result<(), Refusal> {
        for field in self.row.fields.iter() {
            match self.get(field) {
                None if field.required => return Err(Refusal::of(field, "Give a value: the operation needs it.")),
                Some(value) if field.max_bytes.is_some_and(|most| value.len() > most) => too_long(field, value)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn path(&self, path: &mut String) -> Result<(), Refusal> {
        for piece in self.row.path.iter() {
            match piece {
                Piece::Text(text) => path.push_str(text),
                Piece::Setting { name, default } => match setting(self.settings, name, default.as_deref())? {
                    Some(text) => path.push_str(&text),
                    None => return Err(Refusal::Setting(unset(name))),
                },
                Piece::Field(index) => {
                    let Some(field) = self.row.fields.get(*index) else { continue };
                    let Some(value) = self.get(field) else { continue };
                    let start = path.len();
                    push_path_value(path, field, value)?;
                    if path.len() == start {
                        return Err(Refusal::of(field, EMPTY_SEGMENT));
                    }
                    // Without the value, the path has at most its first slash.
                    if start < 2 && path.starts_with("//") {
                        return Err(Refusal::of(field, DOUBLE_SLASH));
                    }
                }
            }
        }
        // Only a value with a dot, encoded or not, can make a dot segment: `connector!` checks the
        // table's own text.
        let suspects = || self.row.fields.iter().filter(|field| self.may_climb(field));
        match suspects().next() {
            Some(first) if has_dot_segment(path) => {
                let climbs = |field: &&'r Field| {
                    self.get(field).and_then(reader::scalar).is_some_and(|text| has_dot_segment(&text))
                };
                // Several values together make the dot segment, so no single field is to blame.
                Err(Refusal::of(suspects().find(climbs).unwrap_or(first), DOT_SEGMENT))
            }
            _ => Ok(()),
        }
    }

    /// Returns `true` if the value may contain a dot segment, which would lead out of the path (RFC
    /// 3986, section 5.2.4).
    fn may_climb(&self, field: &'r Field) -> bool {
        let dot = |value: &str| value.bytes().any(|byte| matches!(byte, b'.' | b'\\' | b'%'));
        matches!(field.location, Location::Path(_)) && self.get(field).is_some_and(dot)
    }

    fn query(&self, query: &mut Query<'a>) -> Result<(), Refusal> {
        if !self.row.fixed_query.is_empty() {
            query.raw(&self.row.fixed_query);
        }
        let watches =
            !self.row.default_query.is_empty() || self.row.headers.iter().any(|header| !header.when.is_empty());
        for field in self.row.fields.iter() {
            let Some(value) = self.get(field) else { continue };
            match &field.location {
                Location::Query(name) => {
                    query.parameter(name, value, field)?;
                    if watches {
                        query.watched.push((Cow::Borrowed(name.as_ref()), value));
                    }
                }
                Location::QueryEntries => {
                    for entry in reader::each_member(value) {
                        let entry = entry?;
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
        for default in self.row.default_query.iter() {
            if !query.has_any(&default.unless) {
                query.raw(&default.parameter);
            }
        }
        Ok(())
    }

    fn headers(&self, query: &Query<'_>) -> Result<Vec<(String, String)>, Refusal> {
        let mut headers = Vec::new();
        for header in self.row.headers.iter() {
            if header.when.is_empty() || header.when.iter().any(|trigger| query.has(trigger)) {
                headers.extend(header.pair(self.settings)?);
            }
        }
        for field in self.row.fields.iter() {
            let Some(value) = self.get(field) else { continue };
            match &field.location {
                Location::Header(name) => headers.push((name.clone().into_owned(), header_value(field, value)?)),
                Location::HeaderEntries => {
                    for entry in reader::each_member(value) {
                        let entry = entry?;
                        if entry.value == "null" {
                            continue;
                        }
                        // A schema that names no entries lets the caller choose their names.
                        if header::name(&entry.name).is_err() {
                            return Err(Refusal::of(field, HEADER_NAME));
                        }
                        if headers.len() >= HEADERS {
                            return Err(Refusal::of(
                                field,
                                &format!("Give fewer: a request has at most {HEADERS} headers."),
                            ));
                        }
                        headers.push((entry.name.into_owned(), header_value(field, entry.value)?));
                    }
                }
                _ => {}
            }
        }
        Ok(headers)
    }

    fn body(&self) -> Result<Option<Body>, Refusal> {
        let (place, json) = match &self.row.payload {
            Payload::None => return Ok(None),
            Payload::Whole(index) => {
                let Some(field) = self.row.fields.get(*index) else { return Ok(None) };
                let Some(value) = self.get(field) else { return Ok(None) };
                (format!("/{}", field.name), as_sent(field, value))
            }
            Payload::Members { fixed, fields } => (String::new(), Cow::Owned(self.members(fixed, fields)?)),
        };
        Ok(Some(match self.row.encoding {
            BodyEncoding::Json => Body::Json(json.into_owned()),
            BodyEncoding::Form => Body::Form(form::pairs(&json).map_err(|refusal| refusal.inside(&place))?),
            BodyEncoding::Multipart => Body::Parts(body::parts(self.row, self.members, &json)?),
        }))
    }

    /// Returns `true` if values of the body are sent as text.
    fn is_form(&self) -> bool {
        self.row.encoding != BodyEncoding::Json
    }

    /// An object of the given fields. Fields of one inner object follow one another.
    fn members(&self, fixed: &str, fields: &[usize]) -> Result<String, Refusal> {
        let mut json =
            String::with_capacity(64 + self.members.iter().map(|member| member.value.len() + 24).sum::<usize>());
        json.push('{');
        json.push_str(fixed);
        let mut open: &[Text] = &[];
        for field in fields.iter().filter_map(|index| self.row.fields.get(*index)) {
            let Location::Body(names) = &field.location else { continue };
            let [outer @ .., name] = names.as_ref() else { continue };
            let Some(value) = self.get(field) else { continue };
            let common = open.iter().zip(outer).take_while(|(left, right)| left == right).count();
            json.extend(open.iter().skip(common).map(|_| '}'));
            for segment in outer.iter().skip(common) {
                member_name(&mut json, segment);
                json.push('{');
            }
            open = outer;
            member_name(&mut json, name);
            match &field.lists {
                Lists::Joined(separator) if value.starts_with('[') => {
                    let mut joined = String::new();
                    for (index, item) in reader::each_item(value).enumerate() {
                        if index > 0 {
                            joined.push_str(separator);
                        }
                        joined.push_str(&text(field, item?)?);
                    }
                    reader::push_quoted(&mut json, &joined);
                }
                // The caller may write an integer as `1.0`. In JSON this is the number 1, but in a form it is
                // another text.
                // A string is not written without its quotes: its text could be further members.
                _ if self.is_form() && field.integer && !value.starts_with(['[', '"']) && value != "null" => {
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

fn member_name(json: &mut String, name: &str) {
    if !json.ends_with('{') {
        json.push(',');
    }
    reader::push_quoted(json, name);
    json.push(':');
}

fn header_value(field: &Field, value: &str) -> Result<String, Refusal> {
    let text = text(field, value)?;
    if text.contains(['\r', '\n', '\0']) {
        return Err(Refusal::of(field, "Give a value without line breaks: it is sent as a header."));
    }
    if header::value(&text).is_err() {
        return Err(Refusal::of(field, "Give a value without control characters: it is sent as a header."));
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
fn too_long(field: &Field, value: &str) -> Result<(), Refusal> {
    let length = reader::scalar(value).map_or_else(|| reader::compact(value).len(), |text| text.len());
    match field.max_bytes {
        Some(most) if length > most => {
            Err(Refusal::of(field, &format!("Give at most {most} bytes; these are {length}.")))
        }
        _ => Ok(()),
    }
}

fn unset(setting: &str) -> String {
    format!("The operation needs the setting `{setting}` of this connector, which the operator has not set.")
}

impl Header {
    /// Name and value. `None` if a setting in the value has no value.
    ///
    /// # Errors
    /// If a setting is no text.
    pub fn pair(&self, settings: &dyn Settings) -> Result<Option<(String, String)>, Refusal> {
        let mut value = String::new();
        for piece in self.value.iter() {
            match piece {
                Piece::Text(text) => value.push_str(text),
                Piece::Setting { name, default } => match setting(settings, name, default.as_deref())? {
                    Some(text) => value.push_str(&text),
                    None => return Ok(None),
                },
                Piece::Field(_) => {}
            }
        }
        Ok(Some((self.name.clone().into_owned(), value)))
    }
}

#[cfg(test)]
mod tests;
