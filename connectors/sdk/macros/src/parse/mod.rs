//! From tokens to the table, as the author wrote it.
//!
//! # Layout
//! - here: names and literals, and how the parser continues after a mistake.
//! - `table`: the head, the statements in their order, and the rows.
//! - `statement`: one statement.
//! - `address`: the statement about a part of accounts' addresses.
//! - `row`: one operation.
//! - `clause`: the clauses of a row.
//! - `field`: a field, its type and its modifiers.
//! - `block`: the fields in braces.
//! - `json`: JSON values in the table.
//! - `answers`: the file with examples of answers.

pub(crate) mod address;
mod answers;
mod block;
pub(crate) mod clause;
pub(crate) mod field;
pub(crate) mod json;
pub(crate) mod row;
pub(crate) mod statement;
pub(crate) mod table;

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Error, Ident, LitStr, Path, Token, bracketed};

use crate::errors::Errors;
use table::Table;

/// Parses the table of a `connector!` invocation. Parts with mistakes are left out.
pub(crate) fn table(tokens: TokenStream, errors: &mut Errors) -> Table {
    let mut table = None;
    let parser = |input: ParseStream<'_>| {
        table = Some(Table::parse(input, errors));
        Ok(())
    };
    // After a mistake syn also reports the tokens that were skipped.
    let result = parser.parse2(tokens);
    if errors.count() == 0 {
        errors.note(result);
    }
    table.unwrap_or_default()
}

/// Skips the tokens up to a `;` and the `;` itself.
fn skip_statement(input: ParseStream<'_>) {
    while !input.is_empty() {
        let token = input.parse::<TokenTree>();
        if matches!(token, Ok(TokenTree::Punct(punct)) if punct.as_char() == ';') {
            return;
        }
    }
}

/// Skips the tokens up to a `,`, without the `,`.
fn skip_item(input: ParseStream<'_>) {
    while !input.is_empty() && !input.peek(Token![,]) {
        let _token = input.parse::<TokenTree>();
    }
}

/// A name that is written as an identifier, or as a string if it is not one.
#[derive(Clone)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) span: Span,
}

impl Parse for Name {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.peek(LitStr) {
            let literal: LitStr = input.parse()?;
            return Ok(Self { text: literal.value(), span: literal.span() });
        }
        let span = input.span();
        let ident = input
            .call(syn::ext::IdentExt::parse_any)
            .map_err(|_: Error| Error::new(span, "expected a name, in quotes if it is not an identifier"))?;
        Ok(Self { text: syn::ext::IdentExt::unraw(&ident).to_string(), span: Ident::span(&ident) })
    }
}

/// An identifier; `expected` says which words are possible.
fn word(input: ParseStream<'_>, expected: &str) -> syn::Result<Ident> {
    let span = input.span();
    input.call(syn::ext::IdentExt::parse_any).map_err(|_: Error| Error::new(span, expected))
}

/// A string literal; `expected` says what it is.
fn literal(input: ParseStream<'_>, expected: &str) -> syn::Result<LitStr> {
    let span = input.span();
    input.parse().map_err(|_: Error| Error::new(span, format!("expected {expected} in quotes")))
}

/// The word `expected`; `message` says which words are possible.
fn keyword(input: ParseStream<'_>, expected: &str, message: &str) -> syn::Result<()> {
    let found = word(input, message)?;
    if found == expected { Ok(()) } else { Err(Error::new(found.span(), message)) }
}

/// The path of a function or a constant, for example `pages::by_token`; `expected` says what it is.
fn path(input: ParseStream<'_>, expected: &str) -> syn::Result<Path> {
    let span = input.span();
    Path::parse_mod_style(input).map_err(|_| Error::new(span, format!("expected {expected}")))
}

/// The path of a function.
fn function(input: ParseStream<'_>) -> syn::Result<Path> {
    path(input, "the path of a function")
}

/// `[a, b]`
fn list<T>(input: ParseStream<'_>, item: fn(ParseStream<'_>) -> syn::Result<T>) -> syn::Result<Vec<T>> {
    let span = input.span();
    if !input.peek(syn::token::Bracket) {
        return Err(Error::new(span, "expected a list in brackets: `[…]`"));
    }
    let content;
    bracketed!(content in input);
    Ok(Punctuated::<T, Token![,]>::parse_terminated_with(&content, item)?.into_iter().collect())
}

/// `["a", "b"]`
fn literals(input: ParseStream<'_>) -> syn::Result<Vec<LitStr>> {
    list(input, |item| literal(item, "a string"))
}
