//! The whole table: what the connector wraps, how it gets in, and its rows.

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::parse::{Parse, ParseStream};
use syn::{Ident, LitInt, LitStr, Path, Token};

use crate::field::{self, Entry, Field, Lists};
use crate::json::{Json, Name};
use crate::row::Row;

pub(crate) struct Table {
    pub(crate) documentation: String,
    pub(crate) identifier: Ident,
    pub(crate) title: LitStr,
    /// A Rust expression of the SDK's type `Auth`.
    pub(crate) auth: TokenStream,
    pub(crate) upstreams: Vec<Upstream>,
    pub(crate) rate_limits: Vec<RateLimit>,
    /// `setting name: type default …`
    pub(crate) settings: Vec<Field>,
    /// Path of the SVG image, relative to the source file.
    pub(crate) icon: Option<LitStr>,
    pub(crate) headers: Vec<Header>,
    pub(crate) values: Vec<(Ident, Vec<String>)>,
    /// How lists among the query's entries go upstream.
    pub(crate) lists: Lists,
    /// Function that every row with a request goes through, unless the row names its own.
    pub(crate) via: Option<Path>,
    pub(crate) rows: Vec<Row>,
}

pub(crate) struct Upstream {
    pub(crate) name: Ident,
    pub(crate) base_url: LitStr,
    /// `credential …`: how requests carry the user's credential.
    pub(crate) credential: Option<Ident>,
    /// `links [..]`: other hosts that redirects and links may lead to.
    pub(crate) link_hosts: Vec<LitStr>,
    pub(crate) pacing: Option<Json>,
}

pub(crate) struct RateLimit {
    pub(crate) name: Ident,
    pub(crate) requests: u32,
    pub(crate) period_seconds: u32,
}

pub(crate) struct Header {
    pub(crate) name: LitStr,
    pub(crate) value: LitStr,
    /// Sent only when the query has one of these; always when it is empty.
    pub(crate) when: Vec<Entry>,
}

const STATEMENTS: &str = "expected a statement (`auth`, `upstream`, `rate_limit`, `setting`, `header`, `values`, `lists`, `via` or `icon`) or a row \
                          such as `name: GET api \"/path\";`";

impl Parse for Table {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let documentation = field::documentation(input)?;
        let span = input.span();
        let word: Option<Ident> = input.parse()?;
        if word.is_none_or(|word| word != "connector") {
            return Err(syn::Error::new(span, "a table begins with `connector identifier \"Title\";`"));
        }
        let identifier = input.parse()?;
        let title = input.parse()?;
        input.parse::<Token![;]>()?;
        let mut table = Self {
            documentation,
            identifier,
            title,
            auth: TokenStream::new(),
            upstreams: Vec::new(),
            rate_limits: Vec::new(),
            settings: Vec::new(),
            icon: None,
            headers: Vec::new(),
            values: Vec::new(),
            lists: Lists::Joined(",".to_owned()),
            via: None,
            rows: Vec::new(),
        };
        while !input.is_empty() {
            let documentation = field::documentation(input)?;
            if input.peek2(Token![:]) {
                table.rows.push(Row::parse(documentation, input)?);
            } else {
                table.statement(documentation, input)?;
            }
        }
        Ok(table)
    }
}

impl Table {
    fn statement(&mut self, documentation: String, input: ParseStream<'_>) -> syn::Result<()> {
        let span = input.span();
        let word: Ident = input.parse().map_err(|_| syn::Error::new(span, STATEMENTS))?;
        if !documentation.is_empty() && word != "setting" {
            return Err(syn::Error::new(
                span,
                "a documentation comment (`///`) belongs to a row or a setting; use `//` here",
            ));
        }
        match word.to_string().as_str() {
            "auth" => self.auth = until_semicolon(input)?,
            "upstream" => self.upstreams.push(input.parse()?),
            "rate_limit" => self.rate_limits.push(input.parse()?),
            "setting" => {
                let mut setting: Field = input.parse()?;
                setting.documentation = documentation;
                self.settings.push(setting);
            }
            "icon" => self.icon = Some(input.parse()?),
            "header" => self.headers.push(input.parse()?),
            "values" => self.values.push((input.parse()?, field::strings(input)?)),
            "lists" => self.lists = lists(input)?,
            "via" => self.via = Some(Path::parse_mod_style(input)?),
            _ => return Err(syn::Error::new(span, STATEMENTS)),
        }
        input.parse::<Token![;]>()?;
        Ok(())
    }
}

fn until_semicolon(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    let mut tokens = TokenStream::new();
    while !input.peek(Token![;]) {
        tokens.extend([input.parse::<TokenTree>()?]);
    }
    Ok(tokens)
}

fn lists(input: ParseStream<'_>) -> syn::Result<Lists> {
    let word: Ident = input.parse()?;
    match word.to_string().as_str() {
        "joined" => Ok(Lists::Joined(input.parse::<LitStr>()?.value())),
        "repeated" => Ok(Lists::Repeated),
        _ => Err(syn::Error::new(word.span(), "expected `joined \",\"` or `repeated`")),
    }
}

impl Parse for Upstream {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut upstream = Self {
            name: input.parse()?,
            base_url: input.parse()?,
            credential: None,
            link_hosts: Vec::new(),
            pacing: None,
        };
        while let Some(word) = input.parse::<Option<Ident>>()? {
            match word.to_string().as_str() {
                "credential" => upstream.credential = Some(credential(input)?),
                "links" => upstream.link_hosts = field::literals(input)?,
                "pacing" => upstream.pacing = Some(input.parse()?),
                _ => {
                    return Err(syn::Error::new(
                        word.span(),
                        "expected `credential standard`, `links [\"host\"]` or \
                         `pacing { interval_ms: …, concurrency: …, max_wait_ms: … }`",
                    ));
                }
            }
        }
        Ok(upstream)
    }
}

fn credential(input: ParseStream<'_>) -> syn::Result<Ident> {
    let word: Ident = input.parse()?;
    if ["standard", "none", "form_field"].iter().any(|known| word == known) {
        return Ok(word);
    }
    Err(syn::Error::new(word.span(), "expected `standard`, `none` or `form_field`"))
}

impl Parse for RateLimit {
    /// `market 300 per minute`, `market 300 per 15 minutes`
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name = input.parse()?;
        let requests = input.parse::<LitInt>()?.base10_parse()?;
        let per: Ident = input.parse()?;
        if per != "per" {
            return Err(syn::Error::new(per.span(), "expected `per`, as in `300 per minute`"));
        }
        let count: u32 = match input.parse::<Option<LitInt>>()? {
            Some(count) => count.base10_parse()?,
            None => 1,
        };
        let unit: Ident = input.parse()?;
        let seconds = match unit.to_string().trim_end_matches('s') {
            "second" => 1,
            "minute" => 60,
            "hour" => 3600,
            "day" => 86_400,
            _ => return Err(syn::Error::new(unit.span(), "expected `second`, `minute`, `hour` or `day`")),
        };
        if requests == 0 || count == 0 {
            return Err(syn::Error::new(unit.span(), "a rate limit of nothing"));
        }
        Ok(Self { name, requests, period_seconds: count.saturating_mul(seconds) })
    }
}

impl Parse for Header {
    /// `"Name" "value"`, `"Name" "value" when query ["$search"]`
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut header = Self { name: input.parse()?, value: input.parse()?, when: Vec::new() };
        if let Some(word) = input.parse::<Option<Ident>>()? {
            let query: Ident = input.parse()?;
            if word != "when" || query != "query" {
                return Err(syn::Error::new(word.span(), "expected `when query [..]`"));
            }
            header.when = field::entries(input)?;
        }
        Ok(header)
    }
}

/// The place of a missing statement: the connector's name.
impl Table {
    pub(crate) fn span(&self) -> Span {
        self.identifier.span()
    }

    /// The values of a field's `one_of`.
    pub(crate) fn values_of(&self, field: &field::Field) -> Option<Vec<String>> {
        match field.one_of.as_ref()? {
            field::OneOf::Values(values) => Some(values.clone()),
            field::OneOf::Named(name) => {
                self.values.iter().find(|(known, _)| known == name).map(|(_, values)| values.clone())
            }
        }
    }

    /// How a field's list goes upstream.
    pub(crate) fn lists_of(&self, field: &field::Field) -> Lists {
        field.lists.clone().unwrap_or_else(|| match field.kind {
            field::Kind::Entries(_) => self.lists.clone(),
            _ => Lists::Joined(",".to_owned()),
        })
    }

    /// Name for lookups in `names`.
    pub(crate) fn known<'a>(names: impl Iterator<Item = &'a Ident>) -> String {
        let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
        if names.is_empty() { "none is declared".to_owned() } else { format!("declared: {}", names.join(", ")) }
    }
}

/// Whether an example's member belongs to the row.
pub(crate) fn find<'a>(row: &'a Row, name: &Name) -> Option<&'a field::Field> {
    row.fields.iter().find(|field| field.name.text == name.text)
}
