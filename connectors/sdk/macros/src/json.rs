//! JSON values as they are written in a table: `{ calendar_id: "primary", "$top": 25 }`.

use proc_macro2::Span;
use syn::parse::{Parse, ParseStream};
use syn::{Ident, Lit, Token, braced, bracketed};

/// A JSON value with the place it stands at.
pub(crate) struct Json {
    pub(crate) value: Value,
    pub(crate) span: Span,
}

pub(crate) enum Value {
    Null,
    Boolean(bool),
    /// A number with the text it was written with.
    Number(String),
    String(String),
    Array(Vec<Json>),
    Object(Vec<Member>),
}

pub(crate) struct Member {
    pub(crate) name: Name,
    pub(crate) value: Json,
}

/// A name that is written as an identifier, or as a string where it is none.
#[derive(Clone)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) span: Span,
}

impl Parse for Name {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.peek(syn::LitStr) {
            let literal: syn::LitStr = input.parse()?;
            return Ok(Self { text: literal.value(), span: literal.span() });
        }
        let ident = input.call(syn::ext::IdentExt::parse_any).map_err(|error: syn::Error| {
            syn::Error::new(error.span(), "expected a name, in quotes if it is not an identifier")
        })?;
        Ok(Self { text: syn::ext::IdentExt::unraw(&ident).to_string(), span: Ident::span(&ident) })
    }
}

impl Parse for Json {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let span = input.span();
        let value = if input.peek(syn::token::Brace) {
            let content;
            braced!(content in input);
            let members = content.parse_terminated(Member::parse, Token![,])?;
            Value::Object(members.into_iter().collect())
        } else if input.peek(syn::token::Bracket) {
            let content;
            bracketed!(content in input);
            Value::Array(content.parse_terminated(Json::parse, Token![,])?.into_iter().collect())
        } else if input.peek(Token![-]) {
            input.parse::<Token![-]>()?;
            Value::Number(format!("-{}", number(&input.parse()?)?))
        } else if input.peek(Lit) {
            match input.parse()? {
                Lit::Str(text) => Value::String(text.value()),
                Lit::Bool(boolean) => Value::Boolean(boolean.value),
                literal => Value::Number(number(&literal)?),
            }
        } else {
            let word: Ident = input.parse().map_err(|error| syn::Error::new(error.span(), "expected a JSON value"))?;
            if word != "null" {
                return Err(syn::Error::new(span, format!("`{word}` is no JSON value; write a string in quotes")));
            }
            Value::Null
        };
        Ok(Self { value, span })
    }
}

impl Parse for Member {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name = input.parse()?;
        input.parse::<Token![:]>()?;
        Ok(Self { name, value: input.parse()? })
    }
}

fn number(literal: &Lit) -> syn::Result<String> {
    let (digits, suffix) = match literal {
        Lit::Int(integer) => (integer.base10_digits().to_owned(), integer.suffix()),
        Lit::Float(float) => (float.base10_digits().to_owned(), float.suffix()),
        _ => return Err(syn::Error::new(literal.span(), "expected a JSON value")),
    };
    if suffix.is_empty() { Ok(digits) } else { Err(syn::Error::new(literal.span(), "a number in JSON has no suffix")) }
}

impl Json {
    /// The value as JSON text.
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        match &self.value {
            Value::Null => out.push_str("null"),
            Value::Boolean(boolean) => out.push_str(if *boolean { "true" } else { "false" }),
            Value::Number(text) => out.push_str(text),
            Value::String(text) => quote(text, out),
            Value::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write(out);
                }
                out.push(']');
            }
            Value::Object(members) => {
                out.push('{');
                for (index, member) in members.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    quote(&member.name.text, out);
                    out.push(':');
                    member.value.write(out);
                }
                out.push('}');
            }
        }
    }
}

/// Appends `text` as a JSON string.
pub(crate) fn quote(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            control if control < ' ' => out.push_str(&format!("\\u{:04x}", control as u32)),
            other => out.push(other),
        }
    }
    out.push('"');
}
