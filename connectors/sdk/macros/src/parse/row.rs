//! One operation: the fields that a caller gives, and the request or the function that takes them.

use contract_rules::trigger::Role;
use proc_macro2::{Span, TokenTree};
use rows::table::{TableField, TableRow};
use rows::{BodyEncoding, Method};
use serde_json::Value;
use syn::parse::ParseStream;
use syn::{Error, Ident, LitStr, Path, Token, braced};

use super::block::{self, Item};
use super::clause::{Answers, Pages};
use super::field::Field;
use super::json::{self, Json};
use super::{Name, function, list, literal, skip_statement, word};
use crate::errors::Errors;

/// The clauses: the word of each, and `true` if it is for rows with a request.
const CLAUSES: [(&str, bool); 13] = [
    ("rate_limit", false),
    ("no_envelope", false),
    ("background", false),
    ("check", true),
    ("via", true),
    ("form", true),
    ("multipart", true),
    ("fixed_body", true),
    ("default_query", true),
    ("answers", false),
    ("answer_schema", false),
    ("pages", false),
    ("example", false),
];

pub(crate) struct Row {
    pub(crate) documentation: String,
    pub(crate) name: Name,
    /// `read`, `write` or `destructive` before the method. If it is absent, the method decides.
    pub(crate) effect: Option<Effect>,
    pub(crate) action: Action,
    /// The block in braces, as it is written.
    pub(crate) items: Vec<Item>,
    /// The fields of the block, and those that the path implies. Filled by
    /// [`Table::complete`](super::table::Table::complete).
    pub(crate) fields: Vec<Field>,
    /// `true` if the row has a block of fields. A function without one takes no argument.
    pub(crate) has_block: bool,
    /// The words of the clauses that the row has.
    pub(crate) words: Vec<&'static str>,
    pub(crate) rate_limit: Option<Ident>,
    pub(crate) envelope: bool,
    /// The span of the word `background`, if the row has it.
    pub(crate) background: Option<Span>,
    /// `check …`: a function that refuses inputs before the request is made.
    pub(crate) check: Option<Path>,
    pub(crate) via: Option<Path>,
    /// The word `form` or `multipart`, if the row has one: its body is not sent as JSON.
    pub(crate) body_format: Option<(BodyEncoding, Span)>,
    pub(crate) fixed_body: Vec<(Name, Json)>,
    pub(crate) default_query: Vec<(Name, Json)>,
    pub(crate) default_query_unless: Vec<Name>,
    pub(crate) example: Option<Json>,
    pub(crate) answers: Answers,
    pub(crate) answer_schema: Option<Json>,
    /// An answer of the file that the statement `answer_examples` names.
    pub(crate) answer_example: Option<Value>,
    pub(crate) pages: Option<Pages>,
    /// `true` if the row has a mistake. Its operation is then not emitted.
    pub(crate) broken: bool,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Effect {
    Read,
    Write,
    Destructive,
}

pub(crate) enum Action {
    Request {
        method: Method,
        upstream: Ident,
        path: LitStr,
    },
    Function(Path),
    /// A function that a type of events names.
    Internal {
        role: Role,
        /// The span of the word `internal`.
        span: Span,
        function: Path,
    },
    /// A mistake was reported here.
    Unknown,
}

impl Row {
    /// A row up to its `;`. A part that is wrong is reported, and the rest of the row remains.
    pub(crate) fn parse(documentation: String, input: ParseStream<'_>, errors: &mut Errors) -> syn::Result<Self> {
        let before = errors.count();
        let name: Name = input.parse()?;
        input.parse::<Token![:]>()?;
        let effect = Effect::parse(input);
        let action = Action::parse(input);
        let action = errors.note(action).unwrap_or_else(|| {
            while !input.is_empty() && !input.peek(syn::token::Brace) && !input.peek(Token![;]) {
                let _token = input.parse::<TokenTree>();
            }
            Action::Unknown
        });
        let mut row = Self {
            documentation,
            name,
            effect,
            action,
            items: Vec::new(),
            fields: Vec::new(),
            has_block: false,
            words: Vec::new(),
            rate_limit: None,
            envelope: true,
            background: None,
            check: None,
            via: None,
            body_format: None,
            fixed_body: Vec::new(),
            default_query: Vec::new(),
            default_query_unless: Vec::new(),
            example: None,
            answers: Answers::default(),
            answer_schema: None,
            answer_example: None,
            pages: None,
            broken: false,
        };
        if input.peek(syn::token::Brace) {
            row.items = block::parse(input, errors)?;
            row.has_block = true;
        }
        row.clauses(input, errors);
        row.broken = errors.count() > before;
        Ok(row)
    }

    fn clauses(&mut self, input: ParseStream<'_>, errors: &mut Errors) {
        while !input.peek(Token![;]) {
            // A `;` is missing if the next row or the end of the table follows.
            if input.is_empty() || input.peek(Token![#]) || input.peek2(Token![:]) {
                errors.at(self.name.span, format!("expected `;` at the end of `{}`", self.name.text));
                return;
            }
            let clause = self.clause(input);
            if errors.note(clause).is_none() {
                break;
            }
        }
        skip_statement(input);
    }

    fn clause(&mut self, input: ParseStream<'_>) -> syn::Result<()> {
        let span = input.span();
        let clause = word(input, &format!("expected a clause of `{}`, or `;` at its end", self.name.text))?;
        self.words.extend(CLAUSES.iter().map(|(word, _)| *word).find(|word| clause == word));
        match clause.to_string().as_str() {
            "rate_limit" => self.rate_limit = Some(word(input, "expected the name of a rate limit")?),
            "no_envelope" => self.envelope = false,
            "background" => self.background = Some(span),
            "check" => self.check = Some(function(input)?),
            "via" => self.via = Some(function(input)?),
            "form" => self.body_format = Some((BodyEncoding::Form, span)),
            "multipart" => self.body_format = Some((BodyEncoding::Multipart, span)),
            "fixed_body" => self.fixed_body = members(input)?,
            "default_query" => {
                self.default_query = members(input)?;
                if input.fork().parse::<Ident>().is_ok_and(|word| word == "unless") {
                    input.parse::<Ident>()?;
                    self.default_query_unless = list(input, |item| item.parse())?;
                }
            }
            "example" => self.example = Some(input.parse()?),
            "answers" => self.answers = input.parse()?,
            "answer_schema" => self.answer_schema = Some(input.parse()?),
            "pages" => self.pages = Some(input.parse()?),
            "query" | "headers" => {
                return Err(Error::new(
                    span,
                    format!("`{clause}` is a field: write `{clause}?: entries[…]` in the braces of the row"),
                ));
            }
            other => {
                let known = listed(&CLAUSES.map(|(word, _)| word));
                return Err(Error::new(
                    span,
                    format!("unknown clause `{other}`; the clauses are {known}, and a row ends with `;`"),
                ));
            }
        }
        Ok(())
    }

    pub(crate) fn is_request(&self) -> bool {
        matches!(self.action, Action::Request { .. })
    }

    /// The clauses that are for rows with a request, for a message. `None` if the row has none of them.
    pub(crate) fn clauses_of_requests(&self) -> Option<String> {
        let of_requests: Vec<&str> =
            CLAUSES.iter().filter(|(_, is_theirs)| *is_theirs).map(|(word, _)| *word).collect();
        self.words.iter().any(|word| of_requests.contains(word)).then(|| listed(&of_requests))
    }

    /// The row without spans. A function has no request, so its fields are treated as the
    /// fields of a POST.
    pub(crate) fn without_spans(&self) -> TableRow {
        let fields = self.fields.iter().map(Field::without_spans).collect();
        let Action::Request { method, path, .. } = &self.action else {
            return TableRow { fields, envelope: self.envelope, ..TableRow::new(Method::Post, "") };
        };
        let members = |members: &[(Name, Json)]| {
            members.iter().map(|(name, json)| (name.text.clone(), json.value.clone())).collect()
        };
        TableRow {
            method: *method,
            path: path.value(),
            encoding: self.body_format.map_or(BodyEncoding::Json, |(encoding, _)| encoding),
            fields,
            fixed_body: members(&self.fixed_body),
            default_query: members(&self.default_query),
            default_query_unless: self.default_query_unless.iter().map(|name| name.text.clone()).collect(),
            envelope: self.envelope,
        }
    }

    /// Adds the fields that the path implies, and what the part of the request says about the schema of
    /// a field.
    pub(crate) fn complete(&mut self) {
        let mut completed = self.without_spans();
        completed.complete();
        let span = if let Action::Request { path, .. } = &self.action { path.span() } else { self.name.span };
        let name = |field: &TableField| Name { text: field.spec.name.clone(), span };
        let declared = std::mem::take(&mut self.fields);
        let implied = completed.fields.iter().take(completed.fields.len().saturating_sub(declared.len()));
        let implied = implied.map(|field| Field::new(name(field), field.spec.kind.clone(), span));
        self.fields = implied.chain(declared).collect();
        for (field, completed) in self.fields.iter_mut().zip(completed.fields.iter()) {
            field.spec = completed.spec.clone();
        }
    }

    /// The effect that the row declares, else the effect that the method implies.
    pub(crate) fn effect(&self) -> Option<Effect> {
        self.effect.or(match &self.action {
            Action::Request { method: Method::Get | Method::Head, .. } => Some(Effect::Read),
            Action::Request { method: Method::Delete, .. } => Some(Effect::Destructive),
            Action::Request { .. } => Some(Effect::Write),
            Action::Internal { role: Role::Read | Role::Identify, .. } => Some(Effect::Read),
            Action::Internal { .. } => Some(Effect::Write),
            Action::Function(_) | Action::Unknown => None,
        })
    }
}

/// `` `a`, `b` and `c` ``
fn listed(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    words.split_last().map_or_else(String::new, |(last, others)| format!("{} and {last}", others.join(", ")))
}

/// `{ name: value }`
fn members(input: ParseStream<'_>) -> syn::Result<Vec<(Name, Json)>> {
    if !input.peek(syn::token::Brace) {
        return Err(input.error("expected members in braces: `{ name: value }`"));
    }
    let content;
    braced!(content in input);
    Ok(content.parse_terminated(json::member, Token![,])?.into_iter().collect())
}

impl Effect {
    fn parse(input: ParseStream<'_>) -> Option<Self> {
        let effect = match input.fork().parse::<Ident>().ok()?.to_string().as_str() {
            "read" => Self::Read,
            "write" => Self::Write,
            "destructive" => Self::Destructive,
            _ => return None,
        };
        input.parse::<Ident>().ok().map(|_| effect)
    }
}

impl Action {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        const FORMS: &str = "expected `GET`, `HEAD`, `POST`, `PUT`, `PATCH` or `DELETE`, an upstream and a path, or `fn` and a \
                             function; `read`, `write` or `destructive` may be before it";
        if input.fork().parse::<Ident>().is_ok_and(|word| word == "internal") {
            return Self::internal(input);
        }
        if input.parse::<Option<Token![fn]>>()?.is_some() {
            return Ok(Self::Function(function(input)?));
        }
        let method = word(input, FORMS)?;
        let known = Method::ALL.into_iter().find(|known| method == known.name());
        let method = known.ok_or_else(|| Error::new(method.span(), FORMS))?;
        let upstream = word(input, "expected the name of an upstream")?;
        Ok(Self::Request { method, upstream, path: literal(input, "a path")? })
    }

    /// `internal read fn function`
    fn internal(input: ParseStream<'_>) -> syn::Result<Self> {
        const FORM: &str =
            "expected `subscribe`, `renew`, `unsubscribe`, `read`, `recover` or `identify`, and `fn` and a function";
        let span = input.parse::<Ident>()?.span();
        let named = word(input, FORM)?;
        let role = Role::ALL.into_iter().find(|role| named == role.name());
        let role = role.ok_or_else(|| Error::new(named.span(), FORM))?;
        if input.parse::<Option<Token![fn]>>()?.is_none() {
            return Err(Error::new(input.span(), FORM));
        }
        Ok(Self::Internal { role, span, function: function(input)? })
    }
}
