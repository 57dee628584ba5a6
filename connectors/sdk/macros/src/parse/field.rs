//! One field: `max_results?: integer(1..=500) as "maxResults" default 100`.

use contract_rules::schema::{self, Entry, Kind, Part};
use proc_macro2::Span;
use rows::table::{FieldPart, RequestPart, TableField, is_file};
use rows::{Encoding, Lists};
use serde_json::{Number, Value};
use syn::parse::ParseStream;
use syn::{Attribute, Error, Expr, ExprLit, Ident, Lit, LitInt, LitStr, Meta, Token, braced, bracketed, parenthesized};

use super::block::{self, Item};
use super::json::Json;
use super::{Name, list, literal, literals, word};
use crate::errors::Errors;

/// A field with the spans of its parts.
#[derive(Clone)]
pub(crate) struct Field {
    /// The part that the contract's rules know.
    pub(crate) spec: schema::Field,
    pub(crate) name_span: Span,
    pub(crate) kind_span: Span,
    /// Spans of the parts that a rule may refuse.
    spans: Vec<(Part, Span)>,
    /// The fields inside of an object, or of the objects in a list.
    pub(crate) members: Vec<Field>,
    /// `in …`. If it is absent, the row decides.
    location: Option<RequestPart>,
    /// `as "…"`: the name that the upstream knows.
    upstream_name: Option<LitStr>,
    /// `default … sent`: the default is sent if the caller leaves the field out.
    pub(crate) sent: bool,
    /// `default … assumed`: a function gets `None` if the caller leaves the field out.
    pub(crate) assumed: bool,
    /// `one_of name`: the name of a `values` statement.
    pub(crate) named_values: Option<Ident>,
    lists: Option<Lists>,
    encoding: Encoding,
    /// A modifier that only fields of a row have.
    pub(crate) row_modifier: Option<Span>,
}

/// The text of `///` comments. A leading space of each line is dropped.
pub(crate) fn documentation(input: ParseStream<'_>) -> syn::Result<String> {
    let mut lines = Vec::new();
    for attribute in Attribute::parse_outer(input)? {
        let text = match &attribute.meta {
            Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
                Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
                _ => None,
            },
            _ => None,
        };
        let Some(text) = text else {
            return Err(Error::new_spanned(
                attribute,
                "a table has documentation comments (`///`) and no other attributes",
            ));
        };
        lines.extend(text.split('\n').map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned()));
    }
    Ok(lines.join("\n").trim().to_owned())
}

impl Field {
    /// A required field with a type.
    pub(crate) fn new(name: Name, kind: Kind, kind_span: Span) -> Self {
        Self {
            spec: schema::Field::new(name.text, kind),
            name_span: name.span,
            kind_span,
            spans: Vec::new(),
            members: Vec::new(),
            location: None,
            upstream_name: None,
            sent: false,
            assumed: false,
            named_values: None,
            lists: None,
            encoding: Encoding::Segment,
            row_modifier: None,
        }
    }

    /// `name?: type(bounds) modifiers`, up to a `,` or `;`. A modifier that is wrong is reported,
    /// and the field remains.
    pub(crate) fn parse(input: ParseStream<'_>, errors: &mut Errors) -> syn::Result<Self> {
        let documentation = documentation(input)?;
        let name: Name = input.parse()?;
        let optional = input.parse::<Option<Token![?]>>()?.is_some();
        let span = input.span();
        input.parse::<Token![:]>().map_err(|_| Error::new(span, "expected `:` and the type of the field"))?;
        let kind_span = input.span();
        let mut members = Vec::new();
        let kind = kind(input, &mut members, errors)?;
        let mut field = Self::new(name, kind, kind_span);
        field.spec.optional = optional;
        field.spec.documentation = documentation;
        field.members = members;
        if input.peek(syn::token::Paren) {
            field.bounds(input)?;
        }
        while !input.is_empty() && !input.peek(Token![,]) && !input.peek(Token![;]) {
            field.modifier(input)?;
        }
        Ok(field)
    }

    /// The field without spans.
    pub(crate) fn without_spans(&self) -> TableField {
        TableField {
            spec: self.spec.clone(),
            part: self.location,
            sent_as: self.upstream_name.as_ref().map(LitStr::value),
            sent: self.sent,
            lists: self.lists.clone(),
            encoding: self.encoding,
        }
    }

    /// Returns `true` for a file and for a list of files.
    pub(crate) fn is_file(&self) -> bool {
        is_file(&self.spec.kind)
    }

    /// The span of a part of the field that a rule of tables is about.
    pub(crate) fn span_of(&self, part: FieldPart) -> Span {
        match part {
            FieldPart::Name => self.name_span,
            FieldPart::Kind => self.kind_span,
            FieldPart::Default => self.span(Part::Default),
        }
    }

    /// The span of a part of the field.
    pub(crate) fn span(&self, part: Part) -> Span {
        self.spans.iter().find(|(known, _)| *known == part).map_or(self.kind_span, |(_, span)| *span)
    }

    /// `(1..=500)`, `(1..)` or `(..=500)`
    fn bounds(&mut self, input: ParseStream<'_>) -> syn::Result<()> {
        const FORM: &str = "expected bounds such as `1..=500`, `1..` or `..=500`";
        self.spans.push((Part::Bounds, input.span()));
        let content;
        parenthesized!(content in input);
        let bound = || -> syn::Result<Number> {
            match content.parse::<Json>()? {
                Json { value: Value::Number(number), .. } => Ok(number),
                other => Err(Error::new(other.span, "expected a number")),
            }
        };
        if !content.peek(Token![..]) {
            self.spec.minimum = Some(bound()?);
        }
        if content.peek(Token![..=]) {
            content.parse::<Token![..=]>()?;
            self.spec.maximum = Some(bound()?);
        } else {
            content.parse::<Token![..]>().map_err(|error| Error::new(error.span(), FORM))?;
        }
        if content.is_empty() { Ok(()) } else { Err(content.error(FORM)) }
    }

    fn modifier(&mut self, input: ParseStream<'_>) -> syn::Result<()> {
        let span = input.span();
        let modifier = word(input, "expected a modifier of the field, or `,` and the next field")?.to_string();
        if matches!(
            modifier.as_str(),
            "in" | "as" | "joined" | "repeated" | "keeps_slashes" | "odata_string" | "nullable"
        ) {
            self.row_modifier = Some(span);
        }
        match modifier.as_str() {
            "in" => self.location = Some(location(input)?),
            "as" => self.upstream_name = Some(literal(input, "the name that the service knows")?),
            "default" => self.default(input)?,
            "one_of" if input.peek(syn::token::Bracket) => {
                self.spans.push((Part::Values, span));
                self.spec.values = Some(literals(input)?.iter().map(LitStr::value).collect());
            }
            "one_of" => {
                self.spans.push((Part::Values, span));
                self.named_values =
                    Some(word(input, "expected a list of values, or the name of a `values` statement")?);
            }
            "max_bytes" => {
                self.spans.push((Part::MaxBytes, span));
                let span = input.span();
                let bytes = input.parse::<LitInt>().and_then(|number| number.base10_parse());
                self.spec.max_bytes = Some(bytes.map_err(|_| Error::new(span, "expected a number of bytes"))?);
            }
            "pattern" => {
                let pattern = literal(input, "a regular expression")?;
                self.spans.push((Part::Pattern, pattern.span()));
                self.spec.pattern = Some(pattern.value());
            }
            "format" => {
                self.spans.push((Part::Format, span));
                self.spec.format = Some(literal(input, "a format such as \"date-time\"")?.value());
            }
            "joined" => self.lists = Some(Lists::Joined(literal(input, "a separator")?.value().into())),
            "repeated" => self.lists = Some(Lists::Repeated),
            "keeps_slashes" => self.encoding = Encoding::Path,
            "odata_string" => self.encoding = Encoding::ODataString,
            "without" => {
                self.spans.push((Part::Without, span));
                self.spec.without =
                    list(input, |item| item.parse::<Name>())?.into_iter().map(|name| name.text).collect();
            }
            "secret" => self.spec.secret = true,
            "nullable" => self.spec.nullable = true,
            other => {
                return Err(Error::new(
                    span,
                    format!(
                        "unknown modifier `{other}`; the modifiers are `in`, `as`, `default`, `one_of`, `max_bytes`, `pattern`, \
                         `format`, `joined`, `repeated`, `keeps_slashes`, `odata_string`, `without`, `nullable` and `secret`; bounds are in \
                         parentheses after the type, as in `integer(1..=100)`"
                    ),
                ));
            }
        }
        Ok(())
    }

    /// `default 10`, `default 10 sent` or `default 10 assumed`
    fn default(&mut self, input: ParseStream<'_>) -> syn::Result<()> {
        let default: Json = input.parse()?;
        self.spans.push((Part::Default, default.span));
        self.spec.default = Some(default.value);
        let next = input.fork().parse::<Ident>();
        let is_next = |word: &str| next.as_ref().is_ok_and(|next| next == word);
        (self.sent, self.assumed) = (is_next("sent"), is_next("assumed"));
        if self.sent || self.assumed {
            self.row_modifier = Some(input.span());
            input.parse::<Ident>()?;
        }
        Ok(())
    }
}

/// A type. The fields of an object in braces are added to `members`.
fn kind(input: ParseStream<'_>, members: &mut Vec<Field>, errors: &mut Errors) -> syn::Result<Kind> {
    if input.peek(syn::token::Bracket) {
        let content;
        bracketed!(content in input);
        let item = kind(&content, members, errors)?;
        return if content.is_empty() { Ok(Kind::List(Box::new(item))) } else { Err(content.error("expected `]`")) };
    }
    if input.peek(syn::token::Brace) {
        let content;
        braced!(content in input);
        for item in block::items(&content, errors) {
            match item {
                Item::Field(field) => members.push(*field),
                Item::Shared(name) => {
                    errors.at(name.span(), "shared fields belong to a row, not to an object inside of it")
                }
            }
        }
        return Ok(Kind::Members(Vec::new()));
    }
    let span = input.span();
    let name = word(input, "expected a type such as `string`")?;
    Ok(match name.to_string().as_str() {
        "string" if input.peek(Token![|]) => {
            input.parse::<Token![|]>()?;
            let list_span = input.span();
            match kind(input, members, errors)? {
                Kind::List(item) if matches!(*item, Kind::String) => Kind::StringOrList,
                _ => {
                    return Err(Error::new(
                        list_span,
                        "`string |` is followed by `[string]`; there are no other choices",
                    ));
                }
            }
        }
        "string" => Kind::String,
        "integer" => Kind::Integer,
        "number" => Kind::Number,
        "boolean" => Kind::Boolean,
        "object" => Kind::Object,
        "file" => Kind::File,
        "entries" => Kind::Entries(list(input, entry)?),
        other => {
            return Err(Error::new(
                span,
                format!(
                    "unknown type `{other}`; the types are `string`, `integer`, `number`, `boolean`, `object`, `file`, \
                     `{{ name: type }}`, lists such as `[string]`, `string | [string]` and `entries[name, …]`"
                ),
            ));
        }
    })
}

/// `name`, `"other name" one_of ["a", "b"]`, each with a comment if its description is not in the
/// statement `entries`.
fn entry(input: ParseStream<'_>) -> syn::Result<Entry> {
    let documentation = documentation(input)?;
    let name: Name = input.parse()?;
    let values = match input.parse::<Option<Ident>>()? {
        Some(word) if word == "one_of" => Some(literals(input)?.iter().map(LitStr::value).collect()),
        Some(word) => return Err(Error::new(word.span(), "an entry has no modifier but `one_of [..]`")),
        None => None,
    };
    Ok(Entry { name: name.text, values, documentation })
}

fn location(input: ParseStream<'_>) -> syn::Result<RequestPart> {
    const PLACES: &str = "expected `path`, `query`, `body` or `header`";
    let word = word(input, PLACES)?;
    match word.to_string().as_str() {
        "path" => Ok(RequestPart::Path),
        "query" => Ok(RequestPart::Query),
        "body" => Ok(RequestPart::Body),
        "header" => Ok(RequestPart::Header),
        _ => Err(Error::new(word.span(), PLACES)),
    }
}
