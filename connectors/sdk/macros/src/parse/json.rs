//! JSON values in a table: `{ calendar_id: "primary", "$top": 25 }`.

use std::str::FromStr;

use proc_macro2::Span;
use serde_json::{Number, Value};
use syn::parse::{Parse, ParseStream};
use syn::{Error, Ident, Lit, Token, braced, bracketed};

use super::Name;

/// A JSON value with the spans of its parts.
#[derive(Clone)]
pub(crate) struct Json {
    pub(crate) value: Value,
    pub(crate) span: Span,
    /// The members of an object by their names, or the items of an array by their indices.
    pub(crate) parts: Vec<(Name, Json)>,
}

impl Json {
    /// The span of the member name or item at the end of these steps, or of the last step that
    /// exists.
    pub(crate) fn span_at(&self, steps: &[String]) -> Span {
        let Some((step, rest)) = steps.split_first() else { return self.span };
        match self.parts.iter().find(|(name, _)| name.text == *step) {
            Some((name, _)) if rest.is_empty() => name.span,
            Some((_, part)) => part.span_at(rest),
            None => self.span,
        }
    }
}

impl Parse for Json {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let span = input.span();
        if input.peek(syn::token::Brace) {
            let content;
            braced!(content in input);
            let parts: Vec<_> = content.parse_terminated(member, Token![,])?.into_iter().collect();
            let value = parts.iter().map(|(name, part)| (name.text.clone(), part.value.clone())).collect();
            return Ok(Self { value: Value::Object(value), span, parts });
        }
        if input.peek(syn::token::Bracket) {
            let content;
            bracketed!(content in input);
            let items: Vec<Self> = content.parse_terminated(Self::parse, Token![,])?.into_iter().collect();
            let value = items.iter().map(|item| item.value.clone()).collect();
            let name = |(index, item): (usize, Self)| (Name { text: index.to_string(), span: item.span }, item);
            return Ok(Self { value, span, parts: items.into_iter().enumerate().map(name).collect() });
        }
        Ok(Self { value: scalar(input)?, span, parts: Vec::new() })
    }
}

/// `name: value`
pub(crate) fn member(input: ParseStream<'_>) -> syn::Result<(Name, Json)> {
    let name = input.parse()?;
    input.parse::<Token![:]>()?;
    Ok((name, input.parse()?))
}

fn scalar(input: ParseStream<'_>) -> syn::Result<Value> {
    let span = input.span();
    if input.peek(Token![-]) {
        input.parse::<Token![-]>()?;
        return number("-", &input.parse()?);
    }
    if input.peek(Lit) {
        return match input.parse()? {
            Lit::Str(text) => Ok(Value::from(text.value())),
            Lit::Bool(boolean) => Ok(Value::Bool(boolean.value)),
            literal => number("", &literal),
        };
    }
    match input.parse::<Ident>() {
        Ok(word) if word == "null" => Ok(Value::Null),
        Ok(word) => Err(Error::new(span, format!("`{word}` is no JSON value; write a string in quotes"))),
        Err(_) => Err(Error::new(span, "expected a JSON value")),
    }
}

fn number(sign: &str, literal: &Lit) -> syn::Result<Value> {
    let (digits, suffix) = match literal {
        Lit::Int(integer) => (integer.base10_digits(), integer.suffix()),
        Lit::Float(float) => (float.base10_digits(), float.suffix()),
        _ => return Err(Error::new(literal.span(), "expected a JSON value")),
    };
    match Number::from_str(&format!("{sign}{digits}")) {
        Ok(number) if suffix.is_empty() => Ok(Value::Number(number)),
        _ => Err(Error::new(literal.span(), "expected a number of JSON, without a suffix")),
    }
}
