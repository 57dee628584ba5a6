//! One field of a row: `max_results?: integer(1..=500) as "maxResults" default 100`.

use proc_macro2::Span;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Expr, ExprLit, Ident, Lit, LitStr, Meta, Token, bracketed, parenthesized};

use crate::json::{Json, Name, Value};

pub(crate) struct Field {
    pub(crate) documentation: String,
    pub(crate) name: Name,
    /// Written with `?`: callers may leave it out, or give null.
    pub(crate) optional: bool,
    pub(crate) kind: Kind,
    pub(crate) span: Span,
    /// Bounds in parentheses after the type: of a number's value, a string's characters, a list's items.
    pub(crate) bounds: Bounds,
    /// `in …`; without it the row decides.
    pub(crate) place: Option<(Place, Span)>,
    /// `as "…"`: the name that the upstream knows it by.
    pub(crate) upstream_name: Option<LitStr>,
    pub(crate) default: Option<Default>,
    pub(crate) one_of: Option<OneOf>,
    pub(crate) max_bytes: Option<u32>,
    pub(crate) pattern: Option<LitStr>,
    pub(crate) format: Option<LitStr>,
    pub(crate) lists: Option<Lists>,
    pub(crate) encoding: Encoding,
    /// `without [..]`: members that an object must not have.
    pub(crate) without: Vec<Name>,
    /// `secret`: never shown or logged.
    pub(crate) secret: bool,
}

#[derive(Clone, PartialEq)]
pub(crate) enum Kind {
    String,
    Integer,
    Number,
    Boolean,
    Object,
    List(Box<Kind>),
    /// `string | [string]`
    StringOrList,
    /// `entries[…]`: an object with these names only, whose values are scalars or lists of scalars.
    Entries(Vec<Entry>),
}

#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) name: Name,
    pub(crate) one_of: Option<Vec<String>>,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.name.text == other.name.text
    }
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Place {
    Path,
    Query,
    Body,
    Header,
}

#[derive(std::default::Default)]
pub(crate) struct Bounds {
    pub(crate) minimum: Option<String>,
    pub(crate) maximum: Option<String>,
    pub(crate) span: Option<Span>,
}

pub(crate) struct Default {
    pub(crate) value: Json,
    /// `default … sent`: goes upstream when the caller leaves the field out.
    pub(crate) sent: bool,
    /// `default … assumed`: a function gets none when the caller leaves the field out.
    pub(crate) assumed: bool,
}

pub(crate) enum OneOf {
    Values(Vec<String>),
    /// The name of a `values` statement.
    Named(Ident),
}

/// How a list goes upstream.
#[derive(Clone, PartialEq)]
pub(crate) enum Lists {
    Joined(String),
    Repeated,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Encoding {
    /// Everything but RFC 3986's unreserved characters is percent-encoded.
    Segment,
    /// Slashes are kept.
    Path,
    /// Single quotes are doubled first.
    ODataString,
}

/// The text of `///` comments; a leading blank of each line is dropped.
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
            return Err(syn::Error::new_spanned(attribute, "only documentation comments (`///`) may stand here"));
        };
        lines.extend(text.split('\n').map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned()));
    }
    Ok(lines.join("\n").trim().to_owned())
}

impl Parse for Field {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let documentation = documentation(input)?;
        let name: Name = input.parse()?;
        let optional = input.parse::<Option<Token![?]>>()?.is_some();
        input.parse::<Token![:]>()?;
        let span = input.span();
        let kind = input.parse()?;
        let bounds = Bounds::parse(input)?;
        let mut field = Self::new(name, optional, kind, span);
        field.documentation = documentation;
        field.bounds = bounds;
        while !input.is_empty() && !input.peek(Token![,]) && !input.peek(Token![;]) {
            field.modifier(input)?;
        }
        Ok(field)
    }
}

impl Field {
    pub(crate) fn new(name: Name, optional: bool, kind: Kind, span: Span) -> Self {
        Self {
            documentation: String::new(),
            name,
            optional,
            kind,
            span,
            bounds: Bounds::default(),
            place: None,
            upstream_name: None,
            default: None,
            one_of: None,
            max_bytes: None,
            pattern: None,
            format: None,
            lists: None,
            encoding: Encoding::Segment,
            without: Vec::new(),
            secret: false,
        }
    }

    fn modifier(&mut self, input: ParseStream<'_>) -> syn::Result<()> {
        let span = input.span();
        let word: Ident = input.call(syn::ext::IdentExt::parse_any).map_err(|_: syn::Error| {
            syn::Error::new(span, "expected a modifier of the field, or `,` and the next field")
        })?;
        match word.to_string().as_str() {
            "in" => self.place = Some((Place::parse(input)?, span)),
            "as" => self.upstream_name = Some(input.parse()?),
            "default" => {
                let value = input.parse()?;
                let next = input.fork().parse::<Ident>();
                let [sent, assumed] = ["sent", "assumed"].map(|word| next.as_ref().is_ok_and(|next| next == word));
                if sent || assumed {
                    input.parse::<Ident>()?;
                }
                self.default = Some(Default { value, sent, assumed });
            }
            "one_of" if input.peek(syn::token::Bracket) => self.one_of = Some(OneOf::Values(strings(input)?)),
            "one_of" => self.one_of = Some(OneOf::Named(input.parse()?)),
            "max_bytes" => self.max_bytes = Some(input.parse::<syn::LitInt>()?.base10_parse()?),
            "pattern" => self.pattern = Some(input.parse()?),
            "format" => self.format = Some(input.parse()?),
            "joined" => self.lists = Some(Lists::Joined(input.parse::<LitStr>()?.value())),
            "repeated" => self.lists = Some(Lists::Repeated),
            "keeps_slashes" => self.encoding = Encoding::Path,
            "odata_string" => self.encoding = Encoding::ODataString,
            "without" => {
                let content;
                bracketed!(content in input);
                self.without = content.parse_terminated(Name::parse, Token![,])?.into_iter().collect();
            }
            "secret" => self.secret = true,
            other => {
                return Err(syn::Error::new(
                    span,
                    format!(
                        "unknown modifier `{other}`; there are `in`, `as`, `default`, `one_of`, `max_bytes`, `pattern`, `format`, \
                         `joined`, `repeated`, `keeps_slashes`, `odata_string`, `without` and `secret`; bounds stand in \
                         parentheses after the type, as in `integer(1..=100)`"
                    ),
                ));
            }
        }
        Ok(())
    }
}

impl Parse for Kind {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let span = input.span();
        if input.peek(syn::token::Bracket) {
            let content;
            bracketed!(content in input);
            return Ok(Self::List(Box::new(content.parse()?)));
        }
        let word: Ident = input.parse()?;
        Ok(match word.to_string().as_str() {
            "string" if input.peek(Token![|]) => {
                input.parse::<Token![|]>()?;
                let list_span = input.span();
                match input.parse()? {
                    Self::List(item) if *item == Self::String => Self::StringOrList,
                    _ => return Err(syn::Error::new(list_span, "only `string | [string]` is known")),
                }
            }
            "string" => Self::String,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            "object" => Self::Object,
            "entries" => Self::Entries(entries(input)?),
            other => {
                return Err(syn::Error::new(
                    span,
                    format!(
                        "unknown type `{other}`; there are `string`, `integer`, `number`, `boolean`, `object`, lists such as \
                         `[string]`, `string | [string]` and `entries[name, …]`"
                    ),
                ));
            }
        })
    }
}

/// `[name, "other name" one_of ["a", "b"], …]`
pub(crate) fn entries(input: ParseStream<'_>) -> syn::Result<Vec<Entry>> {
    let content;
    bracketed!(content in input);
    let entry = |input: ParseStream<'_>| {
        let name = input.parse()?;
        let one_of = match input.parse::<Option<Ident>>()? {
            Some(word) if word == "one_of" => Some(strings(input)?),
            Some(word) => return Err(syn::Error::new(word.span(), "only `one_of [..]` may follow a name here")),
            None => None,
        };
        Ok(Entry { name, one_of })
    };
    Ok(content.parse_terminated(entry, Token![,])?.into_iter().collect())
}

/// `["a", "b"]`
pub(crate) fn strings(input: ParseStream<'_>) -> syn::Result<Vec<String>> {
    Ok(literals(input)?.iter().map(LitStr::value).collect())
}

/// As [`strings`], with the places of the strings.
pub(crate) fn literals(input: ParseStream<'_>) -> syn::Result<Vec<LitStr>> {
    let content;
    bracketed!(content in input);
    Ok(content.parse_terminated(<LitStr as Parse>::parse, Token![,])?.into_iter().collect())
}

impl Place {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let word: Ident = input.parse()?;
        match word.to_string().as_str() {
            "path" => Ok(Self::Path),
            "query" => Ok(Self::Query),
            "body" => Ok(Self::Body),
            "header" => Ok(Self::Header),
            other => Err(syn::Error::new(
                word.span(),
                format!("`{other}` is no place in a request; there are `path`, `query`, `body` and `header`"),
            )),
        }
    }
}

impl Bounds {
    /// `(1..=500)`, `(1..)` or `(..=500)`; empty when there are no parentheses.
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if !input.peek(syn::token::Paren) {
            return Ok(Self::default());
        }
        let span = input.span();
        let content;
        parenthesized!(content in input);
        let bound = |content: ParseStream<'_>| -> syn::Result<String> {
            match content.parse::<Json>()? {
                Json { value: Value::Number(text), .. } => Ok(text),
                other => Err(syn::Error::new(other.span, "expected a number")),
            }
        };
        let mut bounds = Self { minimum: None, maximum: None, span: Some(span) };
        if !content.peek(Token![..]) {
            bounds.minimum = Some(bound(&content)?);
        }
        if content.peek(Token![..=]) {
            content.parse::<Token![..=]>()?;
            bounds.maximum = Some(bound(&content)?);
        } else {
            content.parse::<Token![..]>().map_err(|error| {
                syn::Error::new(error.span(), "expected bounds such as `1..=500`, `1..` or `..=500`")
            })?;
        }
        if content.is_empty() {
            Ok(bounds)
        } else {
            Err(content.error("expected bounds such as `1..=500`, `1..` or `..=500`"))
        }
    }
}
