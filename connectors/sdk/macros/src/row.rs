//! One operation: what a caller gives, and the request or the function that it becomes.

use proc_macro2::Span;
use syn::parse::{Parse, ParseStream};
use syn::{Ident, LitStr, Path, Token, braced, bracketed};

use crate::field::{self, Field, Kind, Place};
use crate::json::{Json, Member, Name};

pub(crate) struct Row {
    pub(crate) documentation: String,
    pub(crate) name: Name,
    /// `read`, `write` or `destructive` before the method; without it the method decides.
    pub(crate) effect: Option<Effect>,
    pub(crate) action: Action,
    pub(crate) fields: Vec<Field>,
    /// Whether the row has a block of fields. A function without one takes no argument.
    pub(crate) has_fields: bool,
    pub(crate) rate_limit: Option<Ident>,
    pub(crate) envelope: bool,
    pub(crate) background: bool,
    pub(crate) via: Option<Path>,
    pub(crate) fixed_body: Vec<Member>,
    pub(crate) default_query: Vec<Member>,
    pub(crate) default_query_unless: Vec<Name>,
    pub(crate) example: Option<Json>,
    /// `answers json`, `answers file` or `answers any`.
    pub(crate) answers: Answers,
    pub(crate) answer_schema: Option<Json>,
    pub(crate) pages: Option<Pages>,
}

/// The kind of answer.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Answers {
    Json,
    File,
    Any,
}

/// `pages "/items" next cursor "/nextPageToken" into "/query/pageToken"`
pub(crate) struct Pages {
    pub(crate) items: LitStr,
    pub(crate) next: NextPage,
    pub(crate) input: LitStr,
}

/// How the next page is found.
pub(crate) enum NextPage {
    Cursor(LitStr),
    Link { pointer: LitStr, parameter: LitStr },
    PageNumber(u32),
    Offset,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Effect {
    Read,
    Write,
    Destructive,
}

pub(crate) enum Action {
    Request { method: Ident, upstream: Ident, path: LitStr },
    Function(Path),
}

impl Row {
    pub(crate) fn parse(documentation: String, input: ParseStream<'_>) -> syn::Result<Self> {
        let name: Name = input.parse()?;
        input.parse::<Token![:]>()?;
        let effect = Effect::parse(input)?;
        let action = input.parse()?;
        let mut row = Self {
            documentation,
            name,
            effect,
            action,
            fields: Vec::new(),
            has_fields: false,
            rate_limit: None,
            envelope: true,
            background: false,
            via: None,
            fixed_body: Vec::new(),
            default_query: Vec::new(),
            default_query_unless: Vec::new(),
            example: None,
            answers: Answers::Json,
            answer_schema: None,
            pages: None,
        };
        if input.peek(syn::token::Brace) {
            let content;
            braced!(content in input);
            row.fields = content.parse_terminated(Field::parse, Token![,])?.into_iter().collect();
            row.has_fields = true;
        }
        while !input.peek(Token![;]) {
            row.clause(input)?;
        }
        input.parse::<Token![;]>()?;
        row.add_implied_fields();
        Ok(row)
    }
}

impl Row {
    fn clause(&mut self, input: ParseStream<'_>) -> syn::Result<()> {
        let span = input.span();
        let word: Ident = input.parse().map_err(|_| {
            syn::Error::new(span, format!("expected a clause of `{}`, or `;` at its end", self.name.text))
        })?;
        match word.to_string().as_str() {
            "query" => self.entries("query", Place::Query, span, input)?,
            "headers" => self.entries("headers", Place::Header, span, input)?,
            "rate_limit" => self.rate_limit = Some(input.parse()?),
            "no_envelope" => self.envelope = false,
            "background" => self.background = true,
            "via" => self.via = Some(Path::parse_mod_style(input)?),
            "fixed_body" => self.fixed_body = members(input)?,
            "default_query" => {
                self.default_query = members(input)?;
                let unless = input.fork().parse::<Ident>().is_ok_and(|word| word == "unless");
                if unless {
                    input.parse::<Ident>()?;
                    let content;
                    bracketed!(content in input);
                    self.default_query_unless = content.parse_terminated(Name::parse, Token![,])?.into_iter().collect();
                }
            }
            "example" => self.example = Some(input.parse()?),
            "answers" => self.answers = input.parse()?,
            "answer_schema" => self.answer_schema = Some(input.parse()?),
            "pages" => self.pages = Some(input.parse()?),
            other => {
                return Err(syn::Error::new(
                    span,
                    format!(
                        "unknown clause `{other}`; there are `query`, `headers`, `rate_limit`, `no_envelope`, `background`, `via`, \
                         `fixed_body`, `default_query`, `answers`, `answer_schema`, `pages` and `example`, and `;` at the end of the row"
                    ),
                ));
            }
        }
        Ok(())
    }

    /// `query [a, b]` is short for the field `query?: entries[a, b] in query`.
    fn entries(&mut self, name: &str, place: Place, span: Span, input: ParseStream<'_>) -> syn::Result<()> {
        let kind = Kind::Entries(field::entries(input)?);
        let mut field = Field::new(Name { text: name.to_owned(), span }, true, kind, span);
        field.place = Some((place, span));
        self.fields.push(field);
        self.has_fields = true;
        Ok(())
    }

    /// Whether the row goes upstream with a GET, HEAD or DELETE, whose fields belong to the query.
    pub(crate) fn is_bodiless(&self) -> bool {
        matches!(&self.action, Action::Request { method, .. } if method == "GET" || method == "HEAD" || method == "DELETE")
    }

    /// The effect as it is written, else as the method says.
    pub(crate) fn effect(&self) -> Option<Effect> {
        self.effect.or(match &self.action {
            Action::Request { method, .. } if method == "GET" || method == "HEAD" => Some(Effect::Read),
            Action::Request { method, .. } if method == "DELETE" => Some(Effect::Destructive),
            Action::Request { .. } => Some(Effect::Write),
            Action::Function(_) => None,
        })
    }

    /// The names in braces of the path, in their order.
    pub(crate) fn placeholders(&self) -> Vec<String> {
        let Action::Request { path, .. } = &self.action else { return Vec::new() };
        pieces(&path.value())
            .unwrap_or_default()
            .into_iter()
            .filter_map(|piece| match piece {
                Piece::Placeholder(name) => Some(name),
                Piece::Text(_) => None,
            })
            .collect()
    }

    /// Where a field goes: as it says, else by its name in the path, else by the method.
    pub(crate) fn place(&self, field: &Field) -> Place {
        match field.place {
            Some((place, _)) => place,
            None if self.placeholders().contains(&field.name.text) => Place::Path,
            None if self.is_bodiless() => Place::Query,
            None => Place::Body,
        }
    }

    /// Whether `field` is the whole request body, not a member of it.
    pub(crate) fn is_whole_body(&self, field: &Field) -> bool {
        field.name.text == "body"
            && field.kind == Kind::Object
            && field.upstream_name.is_none()
            && self.place(field) == Place::Body
    }

    /// A name in the path that no field declares is a required string.
    fn add_implied_fields(&mut self) {
        let Action::Request { path, .. } = &self.action else { return };
        let span = path.span();
        let mut implied = Vec::new();
        for name in self.placeholders() {
            let declared = self.fields.iter().chain(&implied).any(|field: &Field| field.name.text == name);
            if !declared && !name.starts_with(SETTINGS) {
                implied.push(Field::new(Name { text: name, span }, false, Kind::String, span));
            }
        }
        self.fields.splice(0..0, implied);
    }
}

/// A placeholder that begins so stands for a setting, not for a field.
pub(crate) const SETTINGS: &str = "settings.";

/// A part of a path or of a header's value.
pub(crate) enum Piece {
    Text(String),
    Placeholder(String),
}

/// Splits `/a/{b}` at its placeholders.
pub(crate) fn pieces(template: &str) -> Result<Vec<Piece>, &'static str> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some(open) = rest.find(['{', '}']) {
        let (text, tail) = rest.split_at(open);
        if tail.starts_with('}') {
            return Err("a `}` without `{`");
        }
        let Some((name, tail)) = tail[1..].split_once('}') else { return Err("a `{` without `}`") };
        if !text.is_empty() {
            pieces.push(Piece::Text(text.to_owned()));
        }
        pieces.push(Piece::Placeholder(name.to_owned()));
        rest = tail;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest.to_owned()));
    }
    Ok(pieces)
}

fn members(input: ParseStream<'_>) -> syn::Result<Vec<Member>> {
    let content;
    braced!(content in input);
    Ok(content.parse_terminated(Member::parse, Token![,])?.into_iter().collect())
}

impl Parse for Answers {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let word: Ident = input.parse()?;
        match word.to_string().as_str() {
            "json" => Ok(Self::Json),
            "file" => Ok(Self::File),
            "any" => Ok(Self::Any),
            _ => Err(syn::Error::new(word.span(), "expected `json`, `file` or `any`")),
        }
    }
}

impl Parse for Pages {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let items = input.parse()?;
        let word = |expected: &str| match input.parse::<Ident>() {
            Ok(word) if word == expected => Ok(()),
            Ok(word) => Err(syn::Error::new(word.span(), format!("expected `{expected}`"))),
            Err(error) => Err(syn::Error::new(error.span(), format!("expected `{expected}`"))),
        };
        word("next")?;
        let kind: Ident = input.parse()?;
        let next = match kind.to_string().as_str() {
            "cursor" => NextPage::Cursor(input.parse()?),
            "link" => {
                let pointer = input.parse()?;
                word("parameter")?;
                NextPage::Link { pointer, parameter: input.parse()? }
            }
            "page_number" => NextPage::PageNumber(input.parse::<syn::LitInt>()?.base10_parse()?),
            "offset" => NextPage::Offset,
            _ => {
                return Err(syn::Error::new(
                    kind.span(),
                    "expected `cursor \"/pointer\"`, `link \"/pointer\" parameter \"name\"`, `page_number 1` or `offset`",
                ));
            }
        };
        word("into")?;
        Ok(Self { items, next, input: input.parse()? })
    }
}

impl Effect {
    fn parse(input: ParseStream<'_>) -> syn::Result<Option<Self>> {
        let effect = match input.fork().parse::<Ident>() {
            Ok(word) if word == "read" => Self::Read,
            Ok(word) if word == "write" => Self::Write,
            Ok(word) if word == "destructive" => Self::Destructive,
            _ => return Ok(None),
        };
        input.parse::<Ident>()?;
        Ok(Some(effect))
    }
}

impl Parse for Action {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.parse::<Option<Token![fn]>>()?.is_some() {
            return Ok(Self::Function(Path::parse_mod_style(input)?));
        }
        let span = input.span();
        let expected = "expected `GET`, `HEAD`, `POST`, `PUT`, `PATCH` or `DELETE`, an upstream and a path, or `fn` and a function";
        let method: Ident = input.parse().map_err(|_| syn::Error::new(span, expected))?;
        if !["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"].iter().any(|known| method == known) {
            return Err(syn::Error::new(span, expected));
        }
        Ok(Self::Request { method, upstream: input.parse()?, path: input.parse()? })
    }
}
