//! A row as a connector declares it. [`Row`] is the form of it that requests are made of.

use std::borrow::Cow;
use std::fmt::{self, Write};

use contract_rules::text::is_hidden;

use crate::check::{Connector, Mistake};
use crate::row::{BodyEncoding, DefaultQuery, Field, Header, Location, Method, Payload, Piece, Row, Text, Trigger};
use crate::template::{self, Part, SETTINGS};

/// An operation that is one request, as a connector declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
pub struct Declaration {
    /// Method of the request.
    pub method: Method,
    /// Name of an upstream.
    pub upstream: String,
    /// The path below the upstream's base URL, with names of fields in braces, and settings as
    /// `{settings.name}`. A query in it is always sent. Percent-encoded.
    pub path: String,
    /// Fields of the input that the request depends on.
    pub fields: Vec<Field>,
    /// Query parameters that are sent unless the caller gives them.
    pub default_query: Vec<DefaultQuery>,
    /// Headers that the row sets.
    pub headers: Vec<DeclaredHeader>,
    /// Members of every body, as the text of a JSON object. `None` if there are none.
    pub fixed_body: Option<String>,
    /// How the body is written.
    pub encoding: BodyEncoding,
}

/// A header that a row sets.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
pub struct DeclaredHeader {
    /// Its name.
    pub name: String,
    /// Its value, with settings as `{settings.name}`.
    pub value: String,
    /// The header is sent only if the caller gave one of these query parameters. If the list is
    /// empty, it is always sent.
    pub when: Vec<Trigger>,
}

impl Declaration {
    /// A request with this method and path, and with nothing else.
    #[must_use]
    pub fn new(method: Method, upstream: &str, path: &str) -> Self {
        Self {
            method,
            upstream: upstream.to_owned(),
            path: path.to_owned(),
            fields: Vec::new(),
            default_query: Vec::new(),
            headers: Vec::new(),
            fixed_body: None,
            encoding: BodyEncoding::Json,
        }
    }
}

impl Row {
    /// The row of a declaration.
    ///
    /// # Errors
    /// Every rule that the declaration breaks.
    pub fn declared(declaration: &Declaration, connector: &Connector<'_>) -> Result<Self, Vec<Mistake>> {
        let mistakes = crate::check::check(declaration, connector);
        if mistakes.is_empty() { Ok(Self::of(declaration)) } else { Err(mistakes) }
    }

    /// The row of a declaration that breaks no rule. [`Row::declared`] checks that.
    #[must_use]
    pub fn of(declaration: &Declaration) -> Self {
        let Declaration { method, upstream, path, fields, default_query, headers, fixed_body, encoding } = declaration;
        let (path, fixed_query) = path.split_once('?').unwrap_or((path, ""));
        Self {
            method: *method,
            upstream: Cow::Owned(upstream.clone()),
            path: pieces(path, fields),
            fixed_query: Cow::Owned(fixed_query.to_owned()),
            fields: Cow::Owned(fields.clone()),
            default_query: Cow::Owned(default_query.clone()),
            headers: headers.iter().map(Header::from).collect(),
            payload: payload(fields, fixed_body.as_deref(), *encoding),
            encoding: *encoding,
        }
    }
}

impl From<&DeclaredHeader> for Header {
    fn from(declared: &DeclaredHeader) -> Self {
        Self {
            name: Cow::Owned(declared.name.clone()),
            value: pieces(&declared.value, &[]),
            when: Cow::Owned(declared.when.clone()),
        }
    }
}

fn pieces(template: &str, fields: &[Field]) -> Cow<'static, [Piece]> {
    let parts = template::parts(template).unwrap_or_default().into_iter();
    let piece = |part| match part {
        Part::Text(text) => Piece::Text(Cow::Owned(text.to_owned())),
        Part::Name(name) => match name.strip_prefix(SETTINGS) {
            Some(setting) => Piece::Setting { name: Cow::Owned(setting.to_owned()), default: None },
            None => Piece::Field(fields.iter().position(|field| field.name == name).unwrap_or(usize::MAX)),
        },
    };
    parts.map(piece).collect()
}

/// The fields that make the body.
fn payload(fields: &[Field], fixed: Option<&str>, encoding: BodyEncoding) -> Payload {
    if let Some(index) = fields.iter().position(|field| field.location == Location::WholeBody) {
        return Payload::Whole(index);
    }
    let path = |(index, field): (usize, &Field)| match &field.location {
        Location::Body(path) => Some((index, path.to_vec())),
        _ => None,
    };
    let mut members: Vec<(usize, Vec<Text>)> = fields.iter().enumerate().filter_map(path).collect();
    if members.is_empty() && fixed.is_none() && encoding != BodyEncoding::Multipart {
        return Payload::None;
    }
    group(&mut members, 0);
    let fixed = fixed.and_then(|object| object.trim().strip_prefix('{')?.strip_suffix('}')).unwrap_or_default().trim();
    Payload::Members {
        fixed: Cow::Owned(fixed.to_owned()),
        fields: members.into_iter().map(|(index, _)| index).collect(),
    }
}

/// Groups the fields of one inner object, and otherwise keeps the order.
fn group(members: &mut Vec<(usize, Vec<Text>)>, depth: usize) {
    let mut grouped: Vec<Vec<(usize, Vec<Text>)>> = Vec::new();
    for member in members.drain(..) {
        let same = |group: &&mut Vec<(usize, Vec<Text>)>| {
            group.first().is_some_and(|(_, path)| path.get(depth) == member.1.get(depth) && path.len() > depth + 1)
        };
        match grouped.iter_mut().find(same) {
            Some(found) => found.push(member),
            None => grouped.push(vec![member]),
        }
    }
    for mut inner in grouped {
        if inner.len() > 1 {
            group(&mut inner, depth + 1);
        }
        members.append(&mut inner);
    }
}

/// The request of the row, for people: `GET api /repos/{owner}/{repo}/issues?state&labels`. Default parameters are
/// in brackets, and the fixed members of the body follow the query. Headers are left out.
impl fmt::Display for Row {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {} ", self.method.name(), self.upstream)?;
        for piece in self.path.iter() {
            match piece {
                Piece::Text(text) => formatter.write_str(text)?,
                Piece::Setting { name, .. } => write!(formatter, "{{{SETTINGS}{name}}}")?,
                Piece::Field(index) => {
                    write!(formatter, "{{{}}}", self.fields.get(*index).map_or("", |field| &field.name))?;
                }
            }
        }
        let mut separator = '?';
        let mut parameter = |formatter: &mut fmt::Formatter<'_>, text: &str| {
            formatter.write_char(std::mem::replace(&mut separator, '&'))?;
            formatter.write_str(text)
        };
        if !self.fixed_query.is_empty() {
            parameter(formatter, &self.fixed_query)?;
        }
        for field in self.fields.iter() {
            match &field.location {
                Location::Query(name) => parameter(formatter, name)?,
                Location::QueryEntries => parameter(formatter, &format!("{{{}}}", field.name))?,
                _ => {}
            }
        }
        for default in self.default_query.iter() {
            parameter(formatter, &format!("[{}]", default.parameter))?;
        }
        match &self.payload {
            Payload::Members { fixed, .. } if !fixed.is_empty() => write!(formatter, " {{{}}}", Visible(fixed)),
            _ => Ok(()),
        }
    }
}

/// A text whose hidden characters are escaped: the fixed members may have them, and people read them.
struct Visible<'a>(&'a str);

impl fmt::Display for Visible<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|character| {
            if is_hidden(character) {
                write!(formatter, "{}", character.escape_unicode())
            } else {
                formatter.write_char(character)
            }
        })
    }
}

/// The declaration of a row, in whose texts settings have no default: the manifest has them.
impl From<&Row> for Declaration {
    fn from(row: &Row) -> Self {
        let template = |pieces: &[Piece]| {
            pieces.iter().fold(String::new(), |template, piece| match piece {
                Piece::Text(text) => template + text,
                Piece::Setting { name, .. } => format!("{template}{{{SETTINGS}{name}}}"),
                Piece::Field(index) => {
                    format!("{template}{{{}}}", row.fields.get(*index).map_or("", |field| &field.name))
                }
            })
        };
        let query = if row.fixed_query.is_empty() { String::new() } else { format!("?{}", row.fixed_query) };
        let fixed = match &row.payload {
            Payload::Members { fixed, .. } if !fixed.is_empty() => Some(format!("{{{fixed}}}")),
            _ => None,
        };
        let header = |header: &Header| DeclaredHeader {
            name: header.name.clone().into_owned(),
            value: template(&header.value),
            when: header.when.to_vec(),
        };
        Self {
            method: row.method,
            upstream: row.upstream.clone().into_owned(),
            path: template(&row.path) + &query,
            fields: row.fields.to_vec(),
            default_query: row.default_query.to_vec(),
            headers: row.headers.iter().map(header).collect(),
            fixed_body: fixed,
            encoding: row.encoding,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Encoding;

    fn body(path: &'static [&'static str]) -> Location {
        Location::Body(path.iter().map(|step| Cow::Borrowed(*step)).collect())
    }

    fn declaration() -> Declaration {
        Declaration {
            fields: vec![
                Field::new("owner", Location::Path(Encoding::Segment)),
                Field::new("a", body(&["outer", "a"])),
                Field::new("state", Location::Query("state".into())),
                Field::new("b", body(&["b"])),
                Field::new("c", body(&["outer", "c"])),
                Field::new("query", Location::QueryEntries),
            ],
            headers: vec![DeclaredHeader {
                name: "X-Version".to_owned(),
                value: "v{settings.version}".to_owned(),
                when: Vec::new(),
            }],
            fixed_body: Some("{\"kind\":\"issue\"}".to_owned()),
            ..Declaration::new(Method::Patch, "api", "{settings.base}/repos/{owner}/issues?all=1")
        }
    }

    #[test]
    fn people_read_what_a_row_sends() {
        let default = DefaultQuery { parameter: "sort=new".into(), unless: vec!["sort".into()].into() };
        let declared = Declaration { default_query: vec![default], ..declaration() };
        let request = "PATCH api {settings.base}/repos/{owner}/issues?all=1&state&{query}&[sort=new]";
        assert_eq!(Row::of(&declared).to_string(), format!(r#"{request} {{"kind":"issue"}}"#));
        let fixed_body = Some("{\"a\":\n\"\u{202e}b\"}".to_owned());
        let words = Row::of(&Declaration { fixed_body, ..declared }).to_string();
        assert_eq!(words, format!(r#"{request} {{"a":\u{{a}}"\u{{202e}}b"}}"#));
    }

    #[test]
    fn fields_of_one_inner_object_follow_one_another() {
        let Payload::Members { fixed, fields } = Row::of(&declaration()).payload else { panic!("a body") };
        assert_eq!((fixed.as_ref(), fields.as_ref()), ("\"kind\":\"issue\"", &[1, 4, 3][..]));
    }

    #[test]
    fn the_declaration_of_a_row_is_the_one_that_made_it() {
        assert_eq!(Declaration::from(&Row::of(&declaration())), declaration());
    }
}
