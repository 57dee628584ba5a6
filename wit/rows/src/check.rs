//! The rules of a declaration. A row is checked as strictly as a request is when it is sent, so that
//! what it sends depends on the values of the caller alone.

use std::fmt;

use contract_rules::limit::HEADERS;
use contract_rules::{Broken, header, path};

use crate::declaration::{Declaration, DeclaredHeader};
use crate::reader;
use crate::row::{BodyEncoding, Field, Lists, Location, Text};
use crate::template::{self, Part, SETTINGS};

/// The parts of a row: fields, defaults, headers, and parameters that a header or a default depends on.
const PARTS: usize = 256;

/// All texts of a row together.
const TEXT_BYTES: usize = 64 << 10;

/// Objects around a member of a body.
const BODY_DEPTH: usize = 16;

/// The names of a connector that its rows refer to.
#[derive(Clone, Copy, Debug)]
pub struct Connector<'a> {
    /// Its upstreams.
    pub upstreams: &'a [&'a str],
    /// Its settings.
    pub settings: &'a [&'a str],
    /// The members of the operation's input.
    pub members: &'a [&'a str],
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

/// Every rule that a declaration breaks.
pub(crate) fn check(declaration: &Declaration, connector: &Connector<'_>) -> Vec<Mistake> {
    let mut mistakes = Mistakes(Vec::new());
    // A row that is too large is not looked at any further.
    if let Err(broken) = size(declaration) {
        mistakes.note(&Place::Row, Err(broken));
        return mistakes.0;
    }
    if !connector.upstreams.contains(&declaration.upstream.as_str()) {
        let rule = format!("the connector has no upstream `{}`", declaration.upstream.escape_debug());
        mistakes.note(&Place::Upstream, Err(rule.into()));
    }
    mistakes.note(&Place::Path, check_path(declaration, connector));
    for (index, field) in declaration.fields.iter().enumerate() {
        let place = Place::Field(field.name.to_string());
        let earlier = declaration.fields.get(..index).unwrap_or_default();
        mistakes.note(&place, check_field(declaration, field, earlier, connector));
    }
    for header in &declaration.headers {
        mistakes.note(&Place::Header(header.name.clone()), check_header(header, connector));
    }
    for default in &declaration.default_query {
        mistakes.note(&Place::DefaultQuery, check_parameter(&default.parameter));
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
                    Some(setting) => known_setting(setting, connector)?,
                    None => {
                        let field = declaration.fields.iter().find(|field| field.name == *name);
                        let is_in_path = field.is_some_and(|field| matches!(field.location, Location::Path(_)));
                        if !is_in_path {
                            return Err(format!("`{{{}}}` is no field of the path", name.escape_debug()).into());
                        }
                    }
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

fn known_setting(name: &str, connector: &Connector<'_>) -> Result<(), Broken> {
    if connector.settings.contains(&name) {
        return Ok(());
    }
    Err(format!("the connector has no setting `{}`", name.escape_debug()).into())
}

fn check_field(
    declaration: &Declaration,
    field: &Field,
    earlier: &[Field],
    connector: &Connector<'_>,
) -> Result<(), Broken> {
    ensure(connector.members.contains(&field.name.as_ref()), "the schema of the input has no such member")?;
    ensure(earlier.iter().all(|known| known.name != field.name), "it is declared twice")?;
    let is_json = |text: &Text| reader::is_value(text);
    ensure(field.default.as_ref().is_none_or(is_json), "its default is JSON text, without blanks around it")?;
    let is_file = matches!(field.location, Location::File(_));
    ensure(
        !is_file || declaration.encoding == BodyEncoding::Multipart,
        "a file is in a body of `multipart/form-data`",
    )?;
    let names = template::parts(declaration.path.split('?').next().unwrap_or_default()).unwrap_or_default();
    match &field.location {
        Location::Path(_) => {
            ensure(names.contains(&Part::Name(&field.name)), "the path does not name it")?;
            ensure(
                field.required || field.default.is_some(),
                "the path needs it, so that it is required or has a default",
            )
        }
        Location::Query(name) => ensure(!name.is_empty(), "the name of a parameter is not empty"),
        Location::Header(name) => header::name(name),
        Location::Body(steps) => {
            ensure(!steps.is_empty() && steps.iter().all(|step| !step.is_empty()), "a name in a body is not empty")?;
            ensure(steps.len() <= BODY_DEPTH, "a member of a body is inside of at most 16 objects")
        }
        Location::File(name) => ensure(!name.is_empty(), "the name of a part is not empty"),
        Location::QueryEntries | Location::HeaderEntries | Location::WholeBody => Ok(()),
    }?;
    let same = |known: &Field| match (&known.location, &field.location) {
        (Location::Query(known), Location::Query(name)) | (Location::File(known), Location::File(name)) => {
            known == name
        }
        (Location::Header(known), Location::Header(name)) => known.eq_ignore_ascii_case(name),
        (Location::Body(known), Location::Body(name)) => known.starts_with(name) || name.starts_with(known),
        _ => false,
    };
    match earlier.iter().find(|known| same(known)) {
        Some(known) => Err(format!("the field `{}` is sent at the same place", known.name.escape_debug()).into()),
        None => Ok(()),
    }
}

fn check_header(declared: &DeclaredHeader, connector: &Connector<'_>) -> Result<(), Broken> {
    header::name(&declared.name)?;
    for part in template::parts(&declared.value)? {
        match part {
            Part::Text(text) => header::value(text)?,
            Part::Name(name) => match name.strip_prefix(SETTINGS) {
                Some(setting) => known_setting(setting, connector)?,
                None => {
                    return Err(
                        format!("`{{{}}}` is not a setting: a header has no fields", name.escape_debug()).into()
                    );
                }
            },
        }
    }
    Ok(())
}

/// A parameter `name=value`, encoded.
fn check_parameter(parameter: &str) -> Result<(), Broken> {
    let is_encoded = parameter.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'&' | b'#' | b'?'));
    let has_name = parameter.split_once('=').is_some_and(|(name, _)| !name.is_empty());
    ensure(is_encoded && has_name, "a parameter is `name=value`, percent-encoded")
}

fn check_body(declaration: &Declaration) -> Result<(), Broken> {
    let Declaration { fields, fixed_body, encoding, .. } = declaration;
    let whole = fields.iter().filter(|field| field.location == Location::WholeBody).count();
    let has_members = fields.iter().any(|field| matches!(field.location, Location::Body(_) | Location::File(_)));
    ensure(whole <= 1, "one field is the whole body")?;
    ensure(
        whole == 0 || (!has_members && fixed_body.is_none()),
        "a field that is the whole body has no members beside it",
    )?;
    ensure(
        *encoding == BodyEncoding::Json || whole + usize::from(has_members) > 0 || fixed_body.is_some(),
        "a form has a field in its body",
    )?;
    match fixed_body {
        Some(text) => ensure(
            text.trim() == text && text.starts_with('{') && reader::is_value(text),
            "the fixed members of a body are the text of a JSON object",
        ),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::row::{DefaultQuery, Encoding, Method, Trigger};

    fn field(name: &'static str, location: Location) -> Field {
        Field {
            name: Cow::Borrowed(name),
            location,
            required: true,
            integer: false,
            lists: Lists::Joined(Cow::Borrowed(",")),
            max_bytes: None,
            default: None,
            nullable: false,
        }
    }

    fn declaration() -> Declaration {
        Declaration {
            method: Method::Post,
            upstream: "api".to_owned(),
            path: "/{settings.version}/items/{id}?all=1".to_owned(),
            fields: vec![
                field("id", Location::Path(Encoding::Segment)),
                field("name", Location::Body(Cow::Borrowed(&[Cow::Borrowed("item"), Cow::Borrowed("name")]))),
            ],
            default_query: Vec::new(),
            headers: Vec::new(),
            fixed_body: None,
            encoding: BodyEncoding::Json,
        }
    }

    fn mistakes(change: impl FnOnce(&mut Declaration)) -> Vec<String> {
        let connector =
            Connector { upstreams: &["api"], settings: &["version"], members: &["id", "name", "other", "query"] };
        let mut declaration = declaration();
        change(&mut declaration);
        check(&declaration, &connector).iter().map(ToString::to_string).collect()
    }

    #[track_caller]
    fn only(change: impl FnOnce(&mut Declaration), expected: &str) {
        assert_eq!(mistakes(change), [expected]);
    }

    #[test]
    fn a_row_that_keeps_the_rules_breaks_none() {
        assert!(mistakes(|_| {}).is_empty());
    }

    #[test]
    fn a_row_names_what_the_connector_has() {
        only(|row| row.upstream = "other".to_owned(), "upstream: the connector has no upstream `other`");
        only(|row| row.path = "/{settings.other}/{id}".to_owned(), "path: the connector has no setting `other`");
        only(|row| row.path = "/{id}/{name}".to_owned(), "path: `{name}` is no field of the path");
        only(
            |row| row.fields.push(field("unknown", Location::Query("q".into()))),
            "field `unknown`: the schema of the input has no such member",
        );
        only(|row| row.path = "/items".to_owned(), "field `id`: the path does not name it");
    }

    #[test]
    fn a_path_leads_to_one_place_below_the_upstream() {
        for path in ["items/{id}", "//evil.example/{id}", "/a/../{id}", "/%2e%2e/{id}", "/{id}#x", "/a b/{id}", "/{id"]
        {
            let found = mistakes(|row| row.path = path.to_owned());
            assert!(found.iter().any(|mistake| mistake.starts_with("path: ")), "{path}: {found:?}");
        }
        only(
            |row| row.path = "/{id}?a={name}".to_owned(),
            "path: the query in a path is fixed; declare the other parameters as fields",
        );
    }

    #[test]
    fn a_header_of_the_gateway_is_refused() {
        let header = |name: &str, value: &str| {
            let (name, value) = (name.to_owned(), value.to_owned());
            move |row: &mut Declaration| row.headers.push(DeclaredHeader { name, value, when: Vec::new() })
        };
        for name in ["Authorization", "Host", "X-Original-URL", "Cookie"] {
            let found = mistakes(header(name, "x"));
            assert!(found.iter().any(|mistake| mistake.starts_with(&format!("header `{name}`: "))), "{found:?}");
        }
        assert!(!mistakes(header("X-A", "a\r\nb: c")).is_empty());
        only(header("X-A", "{id}"), "header `X-A`: `{id}` is not a setting: a header has no fields");
        let location = Location::Header("authorization".into());
        assert_eq!(mistakes(|row| row.fields.push(field("other", location))).len(), 1);
    }

    #[test]
    fn no_two_fields_are_sent_at_one_place() {
        for path in [vec!["item"], vec!["item", "name"], vec!["item", "name", "first"]] {
            let location = Location::Body(path.iter().map(|step| Cow::Owned((*step).to_owned())).collect());
            only(
                |row| row.fields.push(field("other", location)),
                "field `other`: the field `name` is sent at the same place",
            );
        }
        only(
            |row| row.fields.push(field("other", Location::WholeBody)),
            "body: a field that is the whole body has no members beside it",
        );
        only(
            |row| row.fields.push(field("other", Location::File("file".into()))),
            "field `other`: a file is in a body of `multipart/form-data`",
        );
    }

    #[test]
    fn texts_that_are_sent_as_they_are_have_the_form_of_what_they_stand_for() {
        for fixed in ["", "[]", "{", "{\"a\":1}x", " {\"a\":1}"] {
            only(
                |row| row.fixed_body = Some(fixed.to_owned()),
                "body: the fixed members of a body are the text of a JSON object",
            );
        }
        for parameter in ["a", "=b", "a=b&c=d", "a=b c", "a=b#c", "a=\u{e9}"] {
            let default = DefaultQuery { parameter: parameter.to_owned().into(), unless: Cow::Borrowed(&[]) };
            only(|row| row.default_query.push(default), "default query: a parameter is `name=value`, percent-encoded");
        }
        only(
            |row| row.fields[1].default = Some("1,\"b\":2".into()),
            "field `name`: its default is JSON text, without blanks around it",
        );
    }

    #[test]
    fn a_row_has_a_size() {
        let many = |row: &mut Declaration| {
            let when = Trigger { parameter: "a".into(), unless: None };
            row.headers.push(DeclaredHeader { name: "X-A".to_owned(), value: String::new(), when: vec![when; 300] });
        };
        only(many, "row: a row has at most 256 parts, of which 64 are headers");
        only(
            |row| row.fixed_body = Some(format!("{{\"a\":\"{}\"}}", "a".repeat(TEXT_BYTES))),
            "row: the texts of a row have at most 65536 bytes",
        );
    }
}
