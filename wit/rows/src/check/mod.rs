//! The rules of a declaration. A row is checked as strictly as a request is when it is sent, so that
//! what it sends depends on the values of the caller alone.
//!
//! # Layout
//! - here: a row as a whole, its path, its headers and its body.
//! - `field`: one field.
//! - `parameters`: the parameters of the query, and the defaults and headers that depend on them.

mod field;
mod parameters;

use std::fmt;

use contract_rules::limit::HEADERS;
use contract_rules::{Broken, header, path};
use serde_json::Value;

use crate::declaration::{Declaration, DeclaredHeader};
use crate::reader;
use crate::row::{BodyEncoding, Field, Lists, Location, Method};
use crate::template::{self, Part, SETTINGS};

pub use parameters::check_triggers;

use parameters::Parameters;

/// The parts of a row: fields, defaults, headers, and parameters that a header or a default depends on.
const PARTS: usize = 256;

/// All texts of a row together.
const TEXT_BYTES: usize = 64 << 10;

/// The names that a row of a connector refers to.
#[derive(Clone, Copy, Debug)]
pub struct Connector<'a> {
    /// The names of its upstreams.
    pub upstreams: &'a [&'a str],
    /// Its settings: names, and the schemas of their values.
    pub settings: &'a [(&'a str, Value)],
    /// The schema of the operation's input.
    pub input: &'a Value,
}

/// A rule that a declaration breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The part of the row.
    pub place: Place,
    /// The rule.
    pub broken: Broken,
}

/// A part of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The row as a whole.
    Row,
    /// The upstream.
    Upstream,
    /// The path.
    Path,
    /// The field of this name.
    Field(String),
    /// The header of this name.
    Header(String),
    /// The default parameters of the query.
    DefaultQuery,
    /// The body.
    Body,
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Row => formatter.write_str("row"),
            Self::Upstream => formatter.write_str("upstream"),
            Self::Path => formatter.write_str("path"),
            Self::Field(name) => write!(formatter, "field `{}`", name.escape_debug()),
            Self::Header(name) => write!(formatter, "header `{}`", name.escape_debug()),
            Self::DefaultQuery => formatter.write_str("default query"),
            Self::Body => formatter.write_str("body"),
        }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.place, self.broken)
    }
}

/// Every rule that the headers of a connector break. They are in each of its rows.
#[must_use]
pub fn check_headers(headers: &[DeclaredHeader], settings: &[(&str, Value)]) -> Vec<Mistake> {
    let mut mistakes = Mistakes(Vec::new());
    for header in headers {
        mistakes.note(&Place::Header(header.name.clone()), check_header(header, settings));
    }
    mistakes.0
}

impl Declaration {
    /// The rule for an operation with the effect `read`, on which keys, agents and operators rely. A search may be a
    /// `POST`.
    ///
    /// # Errors
    /// If the method changes data.
    pub fn check_read(&self) -> Result<(), Mistake> {
        let changes = matches!(self.method, Method::Put | Method::Patch | Method::Delete);
        let rule = "a request with `PUT`, `PATCH` or `DELETE` changes data, so its effect is `write` or `destructive`";
        ensure(!changes, rule).map_err(|broken| Mistake { place: Place::Row, broken })
    }
}

/// Every rule that a declaration breaks.
pub(crate) fn check(declaration: &Declaration, connector: &Connector<'_>) -> Vec<Mistake> {
    let mut mistakes = Mistakes(Vec::new());
    // A row that is too large is not looked at any further.
    if let Err(broken) = size(declaration) {
        mistakes.note(&Place::Row, Err(broken));
        return mistakes.0;
    }
    mistakes.note(&Place::Upstream, known("upstream", &declaration.upstream, connector.upstreams.iter().copied()));
    mistakes.note(&Place::Path, check_path(declaration, connector));
    let parameters = Parameters::of(declaration, connector.input);
    for (index, field) in declaration.fields.iter().enumerate() {
        let place = Place::Field(field.name.to_string());
        let earlier = declaration.fields.get(..index).unwrap_or_default();
        let checked = field::check(declaration, field, earlier, connector)
            .and_then(|()| parameters.check_field(declaration, index, connector.input));
        mistakes.note(&place, checked);
    }
    mistakes.0.extend(check_headers(&declaration.headers, connector.settings));
    for default in &declaration.default_query {
        mistakes.note(&Place::DefaultQuery, parameters.check_default(default));
    }
    mistakes.note(&Place::Body, check_body(declaration));
    mistakes.0
}

struct Mistakes(Vec<Mistake>);

impl Mistakes {
    fn note(&mut self, place: &Place, checked: Result<(), Broken>) {
        self.0.extend(checked.err().map(|broken| Mistake { place: place.clone(), broken }));
    }
}

fn ensure(holds: bool, rule: &'static str) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err(rule.into()) }
}

/// The number of parts, and the bytes of all texts.
fn size(declaration: &Declaration) -> Result<(), Broken> {
    let Declaration { upstream, path, fields, default_query, headers, fixed_body, .. } = declaration;
    let when = headers.iter().flat_map(|header| &header.when);
    let unless = default_query.iter().flat_map(|default| default.unless.iter());
    let steps = fields.iter().flat_map(|field| match &field.location {
        Location::Body(steps) => steps.as_ref(),
        _ => &[],
    });
    let parts = fields.len() + headers.len() + default_query.len() + when.clone().count() + unless.clone().count();
    ensure(parts <= PARTS && headers.len() <= HEADERS, "a row has at most 256 parts, of which 64 are headers")?;
    let of_field = |field: &Field| {
        let location = match &field.location {
            Location::Query(name) | Location::File(name) | Location::Header(name) => name.len(),
            _ => 0,
        };
        let separator = if let Lists::Joined(separator) = &field.lists { separator.len() } else { 0 };
        field.name.len() + location + separator + field.default.as_ref().map_or(0, |default| default.len())
    };
    let bytes = upstream.len()
        + path.len()
        + fixed_body.as_ref().map_or(0, String::len)
        + fields.iter().map(of_field).sum::<usize>()
        + steps.map(|step| step.len()).sum::<usize>()
        + default_query.iter().map(|default| default.parameter.len()).sum::<usize>()
        + unless.map(|name| name.len()).sum::<usize>()
        + headers.iter().map(|header| header.name.len() + header.value.len()).sum::<usize>()
        + when.map(|when| when.parameter.len() + when.unless.as_ref().map_or(0, |text| text.len())).sum::<usize>();
    ensure(bytes <= TEXT_BYTES, "the texts of a row have at most 65536 bytes")
}

/// A name is one of those that the connector has.
fn known<'a>(what: &str, name: &str, mut known: impl Iterator<Item = &'a str> + Clone) -> Result<(), Broken> {
    if known.clone().any(|known| known == name) {
        return Ok(());
    }
    let has = match known.next() {
        None => "none".to_owned(),
        Some(first) => known.fold(format!("`{first}`"), |list, name| format!("{list}, `{name}`")),
    };
    Err(format!("the connector has no {what} `{}`; it has {}", name.escape_debug(), has.escape_debug()).into())
}

fn check_path(declaration: &Declaration, connector: &Connector<'_>) -> Result<(), Broken> {
    let (template, query) = declaration.path.split_once('?').unwrap_or((&declaration.path, ""));
    ensure(!query.contains(['{', '}']), "the query in a path is fixed; declare the other parameters as fields")?;
    let parts = template::parts(template)?;
    // The value of a setting at the beginning of a path begins with `/` itself.
    let is_setting = |part: &Part<'_>| matches!(part, Part::Name(name) if name.starts_with(SETTINGS));
    let mut example = if parts.first().is_some_and(is_setting) { "/".to_owned() } else { String::new() };
    for part in &parts {
        match part {
            Part::Text(text) => example.push_str(text),
            Part::Name(name) => {
                example.push('x');
                match name.strip_prefix(SETTINGS) {
                    Some(setting) => check_setting(setting, connector.settings)?,
                    None => check_placeholder(name, &declaration.fields)?,
                }
            }
        }
    }
    if !query.is_empty() {
        example.push('?');
        example.push_str(query);
    }
    path::check(&example)
}

/// A name in the path is a field that is a part of it.
fn check_placeholder(name: &str, fields: &[Field]) -> Result<(), Broken> {
    let shown = name.escape_debug();
    match fields.iter().find(|field| field.name == name) {
        Some(field) if matches!(field.location, Location::Path(_)) => Ok(()),
        Some(_) => Err(format!("the path has `{{{shown}}}`, so that the field `{shown}` is a part of it").into()),
        None => Err(format!("`{{{shown}}}` is no field of the row").into()),
    }
}

/// A setting that is a part of a text.
fn check_setting(name: &str, settings: &[(&str, Value)]) -> Result<(), Broken> {
    known("setting", name, settings.iter().map(|(name, _)| *name))?;
    let schema = settings.iter().find(|(known, _)| *known == name).map(|(_, schema)| schema);
    match schema {
        Some(schema) if types(schema).any(|name| matches!(name, "object" | "array")) => {
            Err(format!("the setting `{}` is not a string, a number or a boolean", name.escape_debug()).into())
        }
        _ => Ok(()),
    }
}

/// The types of a schema, without null. Empty if it does not say them at its beginning.
fn types(schema: &Value) -> impl Iterator<Item = &str> {
    let declared = schema.get("type");
    let several = declared.and_then(Value::as_array).into_iter().flatten();
    several.chain(declared).filter_map(Value::as_str).filter(|name| *name != "null")
}

fn check_header(declared: &DeclaredHeader, settings: &[(&str, Value)]) -> Result<(), Broken> {
    header::name(&declared.name)?;
    for part in template::parts(&declared.value)? {
        match part {
            Part::Text(text) => header::value(text)?,
            Part::Name(name) => match name.strip_prefix(SETTINGS) {
                Some(setting) => check_setting(setting, settings)?,
                None => {
                    return Err(format!(
                        "`{{{}}}` is not a setting; a header may have `{{settings.name}}` only",
                        name.escape_debug()
                    )
                    .into());
                }
            },
        }
    }
    Ok(())
}

fn check_body(declaration: &Declaration) -> Result<(), Broken> {
    let Declaration { method, fields, fixed_body, encoding, .. } = declaration;
    let whole = fields.iter().filter(|field| field.location == Location::WholeBody).count();
    let has_members = fields.iter().any(|field| matches!(field.location, Location::Body(_) | Location::File(_)));
    ensure(whole <= 1, "one field is the whole body")?;
    ensure(
        whole == 0 || (!has_members && fixed_body.is_none()),
        "a field is the whole body, so that the body has no other members",
    )?;
    ensure(
        *encoding == BodyEncoding::Json || whole + usize::from(has_members) > 0 || fixed_body.is_some(),
        "a row with `form` or `multipart` has a field in its body, which is sent as a form",
    )?;
    let Some(text) = fixed_body else { return Ok(()) };
    ensure(
        !matches!(method, Method::Get | Method::Head),
        "a request with `GET` or `HEAD` has no fixed members of a body; write what is always sent into the query of the \
         path",
    )?;
    ensure(
        text.trim() == text && text.starts_with('{') && reader::is_value(text),
        "the fixed members of a body are the text of a JSON object",
    )?;
    check_fixed(text, fields)
}

/// No member of a body is there twice: some services take the first one, and others the last one.
fn check_fixed(text: &str, fields: &[Field]) -> Result<(), Broken> {
    let members = reader::members(text).unwrap_or_default();
    let sends = |field: &Field, name: &str| match &field.location {
        Location::Body(steps) => steps.first().is_some_and(|step| step == name),
        Location::File(file) => file == name,
        _ => false,
    };
    for (index, member) in members.iter().enumerate() {
        let shown = member.name.escape_debug();
        if members.iter().take(index).any(|known| known.name == member.name) {
            return Err(format!("the fixed member `{shown}` is there twice").into());
        }
        if let Some(field) = fields.iter().find(|field| sends(field, &member.name)) {
            let field = field.name.escape_debug();
            return Err(format!(
                "the field `{field}` is sent at the place of the fixed member `{shown}`, or inside of it; leave out one \
                 of the two"
            )
            .into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
