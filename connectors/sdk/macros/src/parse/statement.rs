//! The statements of a table that have their own grammar.

use proc_macro2::{TokenStream, TokenTree};
use rows::{DeclaredHeader, Lists};
use serde_json::Value;
use syn::parse::{Parse, ParseStream};
use syn::{Error, Ident, LitInt, LitStr, Path, Token, braced};

use super::json::Json;
use super::{Name, field, keyword, list, literal, literals, path, word};

pub(crate) struct Upstream {
    pub(crate) name: Ident,
    pub(crate) base_url: LitStr,
    /// `credential …`: how requests carry the user's credential.
    pub(crate) credential: Option<Ident>,
    /// `links …`: other hosts that redirects and links may lead to.
    pub(crate) links: Links,
    /// `pacing { .. }`: interval, concurrency and maximum wait.
    pub(crate) pacing: Option<[u32; 3]>,
    /// `site "example.com"`: the domain that the hosts of all accounts are below.
    pub(crate) site: Option<LitStr>,
}

/// Other hosts of an upstream.
pub(crate) enum Links {
    /// `["files.example.com"]`
    Hosts(Vec<LitStr>),
    /// `acme::FILE_HOSTS`, a constant that connectors share.
    Constant(Path),
}

pub(crate) struct RateLimit {
    pub(crate) name: Ident,
    pub(crate) requests: u32,
    pub(crate) period_seconds: u32,
}

pub(crate) struct Header {
    pub(crate) name: LitStr,
    pub(crate) value: LitStr,
    /// The header is sent only if the caller gives one of these. If the list is empty, it is always
    /// sent.
    pub(crate) when: Vec<Trigger>,
}

/// `"$search"`, `"$count" unless "false"`
pub(crate) struct Trigger {
    pub(crate) parameter: Name,
    pub(crate) unless: Option<LitStr>,
}

impl Header {
    /// The header without spans.
    pub(crate) fn without_spans(&self) -> DeclaredHeader {
        let when = self.when.iter().map(|trigger| rows::Trigger {
            parameter: trigger.parameter.text.clone().into(),
            unless: trigger.unless.as_ref().map(|value| value.value().into()),
        });
        DeclaredHeader { name: self.name.value(), value: self.value.value(), when: when.collect() }
    }
}

impl Parse for Upstream {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        const CLAUSES: &str =
            "expected `credential standard`, `links [\"host\"]`, `pacing { .. }`, `site \"example.com\"` or `;`";
        let mut upstream = Self {
            name: word(input, "expected the name of an upstream")?,
            base_url: literal(input, "a base URL")?,
            credential: None,
            links: Links::Hosts(Vec::new()),
            pacing: None,
            site: None,
        };
        while !input.peek(Token![;]) {
            let clause = word(input, CLAUSES)?;
            match clause.to_string().as_str() {
                "credential" => upstream.credential = Some(credential(input)?),
                "links" => upstream.links = input.parse()?,
                "pacing" => upstream.pacing = Some(pacing(&input.parse()?)?),
                "site" => upstream.site = Some(literal(input, "a domain")?),
                _ => return Err(Error::new(clause.span(), CLAUSES)),
            }
        }
        Ok(upstream)
    }
}

impl Parse for Links {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.peek(Ident) {
            path(input, "the path of a constant").map(Self::Constant)
        } else {
            literals(input).map(Self::Hosts)
        }
    }
}

fn credential(input: ParseStream<'_>) -> syn::Result<Ident> {
    const USES: &str = "expected `standard`, `none` or `form_field`";
    let word = word(input, USES)?;
    if ["standard", "none", "form_field"].iter().any(|known| word == known) {
        Ok(word)
    } else {
        Err(Error::new(word.span(), USES))
    }
}

/// `{ interval_ms: 3000, concurrency: 1, max_wait_ms: 15000 }`
fn pacing(pacing: &Json) -> syn::Result<[u32; 3]> {
    const FORM: &str = "expected `{ interval_ms: …, concurrency: …, max_wait_ms: … }` with whole numbers and a concurrency of at \
                        least 1";
    let number = |name: &str| pacing.value.get(name).and_then(Value::as_u64).and_then(|number| number.try_into().ok());
    match (number("interval_ms"), number("concurrency"), number("max_wait_ms")) {
        (Some(interval), Some(concurrency @ 1..), Some(wait)) if pacing.parts.len() == 3 => {
            Ok([interval, concurrency, wait])
        }
        _ => Err(Error::new(pacing.span, FORM)),
    }
}

impl Parse for RateLimit {
    /// `market 300 per minute`, `market 300 per 15 minutes`
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        const FORM: &str = "expected a rate such as `300 per minute` or `300 per 15 minutes`";
        const UNITS: &str = "expected `second`, `minute`, `hour` or `day`";
        let name = word(input, "expected the name of the rate limit")?;
        let span = input.span();
        let requests: u32 =
            input.parse::<LitInt>().and_then(|number| number.base10_parse()).map_err(|_| Error::new(span, FORM))?;
        let per = word(input, FORM)?;
        if per != "per" {
            return Err(Error::new(per.span(), FORM));
        }
        let count: u32 = match input.parse::<Option<LitInt>>()? {
            Some(count) => count.base10_parse()?,
            None => 1,
        };
        let unit = word(input, UNITS)?;
        let seconds = match unit.to_string().trim_end_matches('s') {
            "second" => 1,
            "minute" => 60,
            "hour" => 3600,
            "day" => 86_400,
            _ => return Err(Error::new(unit.span(), UNITS)),
        };
        if requests == 0 || count == 0 {
            return Err(Error::new(span, "the numbers of a rate limit are at least 1"));
        }
        Ok(Self { name, requests, period_seconds: count.saturating_mul(seconds) })
    }
}

impl Parse for Header {
    /// `"Name" "value"`, `"Name" "value" when query ["$search", "$count" unless "false"]`
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        const WHEN: &str = "expected `when query [..]` or `;`";
        let mut header = Self {
            name: literal(input, "the name of a header")?,
            value: literal(input, "the value of the header")?,
            when: Vec::new(),
        };
        if !input.peek(Token![;]) {
            for expected in ["when", "query"] {
                let found = word(input, WHEN)?;
                if found != expected {
                    return Err(Error::new(found.span(), WHEN));
                }
            }
            header.when = list(input, |item| item.parse())?;
        }
        Ok(header)
    }
}

impl Parse for Trigger {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let parameter = input.parse()?;
        let unless = if input.is_empty() || input.peek(Token![,]) {
            None
        } else {
            keyword(input, "unless", "expected `unless` and a value, `,` or `]`")?;
            Some(literal(input, "a value of the parameter")?)
        };
        Ok(Self { parameter, unless })
    }
}

/// `joined ","` or `repeated`
pub(crate) fn lists(input: ParseStream<'_>) -> syn::Result<Lists> {
    const FORMS: &str = "expected `joined \",\"` or `repeated`";
    let word = word(input, FORMS)?;
    match word.to_string().as_str() {
        "joined" => Ok(Lists::Joined(literal(input, "a separator")?.value().into())),
        "repeated" => Ok(Lists::Repeated),
        _ => Err(Error::new(word.span(), FORMS)),
    }
}

/// `{ name, "other name" }`, each with a comment: the descriptions of entries.
pub(crate) fn entries(input: ParseStream<'_>) -> syn::Result<Vec<(Name, String)>> {
    if !input.peek(syn::token::Brace) {
        return Err(input.error("expected the names of entries in braces, each after a `///` comment"));
    }
    let content;
    braced!(content in input);
    Ok(content.parse_terminated(described_entry, Token![,])?.into_iter().collect())
}

fn described_entry(input: ParseStream<'_>) -> syn::Result<(Name, String)> {
    let documentation = field::documentation(input)?;
    let name: Name = input.parse()?;
    if documentation.is_empty() {
        return Err(Error::new(name.span, "say in a `///` comment what the entry means"));
    }
    Ok((name, documentation))
}

/// Tokens of Rust up to a `;`.
pub(crate) fn expression(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    let mut tokens = TokenStream::new();
    while !input.is_empty() && !input.peek(Token![;]) {
        tokens.extend([input.parse::<TokenTree>()?]);
    }
    if tokens.is_empty() { Err(input.error("expected a constant such as `Auth::None`")) } else { Ok(tokens) }
}
