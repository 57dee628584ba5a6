//! One operation: its part of the manifest, and the code that runs it.

use contract_rules::{schema, text};
use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use serde_json::Value;
use syn::{Ident, Path};

use super::{input, is_forward, is_immediate, optional, optional_text, request, triggers};
use crate::parse::clause::{Answers, NextPage, Pages};
use crate::parse::row::{Action, Effect, Row};
use crate::parse::table::Table;

pub(super) fn operation(table: &Table, row: &Row) -> TokenStream {
    let path = &row.name.text;
    let about = about(table, row);
    let code = match &row.action {
        Action::Request { upstream, .. } => {
            let request = request::request(table, &table.declaration(&row.without_spans(), upstream));
            // The parameter of the closures. With a span of the table, the name would be another one if a macro
            // has written the table.
            let input = quote!(input);
            let run = match row.via.as_ref().or(table.via.as_ref()) {
                None => quote!(::connector_sdk::run::forward(&REQUEST, input)),
                Some(function) => {
                    quote_spanned!(span_of(function)=> ::connector_sdk::run::via(&REQUEST, #input, #function))
                }
            };
            let code = if is_forward(table, row) {
                quote! {
                    #[cfg(target_family = "wasm")]
                    const RUN: fn(&str) -> ::connector_sdk::run::Answer = ::connector_sdk::run::declared;
                    #[cfg(not(target_family = "wasm"))]
                    const RUN: fn(&str) -> ::connector_sdk::run::Answer = |input| #run;
                    const ROW: ::core::option::Option<&'static ::connector_sdk::table::Row> =
                        ::core::option::Option::Some(&REQUEST);
                }
            } else {
                let check = row.check.as_ref().map(|function| {
                    let ty = input::type_name(row);
                    quote_spanned!(span_of(function)=> ::connector_sdk::run::check::<#ty>(#input, #function)?;)
                });
                without_row(&quote!(|input| { #check #run }))
            };
            quote!(static REQUEST: ::connector_sdk::table::Row = #request; #code)
        }
        Action::Function(function) => without_row(&call(row, function)),
        Action::Internal { role, function, .. } => without_row(&triggers::call(*role, function)),
        Action::Unknown => return TokenStream::new(),
    };
    quote!({
        #code
        ::connector_sdk::table::Operation { path: #path, run: RUN, row: ROW, about: &#about }
    })
}

/// The texts of an operation, in the order in which the SDK reads them. A missing text is empty.
pub(super) fn texts(row: &Row) -> [String; 6] {
    let (summary, description) = text::summary(&row.documentation);
    let fields: Vec<schema::Field> = row.fields.iter().map(|field| field.spec.clone()).collect();
    let json = |json: Option<&Value>| json.map(Value::to_string).unwrap_or_default();
    let (summary, input) = match &row.action {
        Action::Internal { role, .. } if summary.is_empty() => {
            (role.summary().to_owned(), role.input_schema().to_owned())
        }
        Action::Internal { role, .. } => (summary, role.input_schema().to_owned()),
        _ => (summary, schema::object(&fields).to_string()),
    };
    [
        summary,
        description,
        input,
        json(row.example.as_ref().map(|json| &json.value)),
        json(row.answer_schema.as_ref().map(|json| &json.value)),
        json(row.answer_example.as_ref()),
    ]
}

fn about(table: &Table, row: &Row) -> TokenStream {
    let rate_limit = optional_text(row.rate_limit.as_ref().map(Ident::to_string));
    let pages = optional(row.pages.as_ref().map(pages));
    let envelope = row.envelope && !matches!(row.action, Action::Internal { .. });
    let (background, immediate) = (row.background.is_some(), is_immediate(table, row));
    let effect = match row.effect() {
        Some(Effect::Read) => quote!(Read),
        Some(Effect::Write) | None => quote!(Write),
        Some(Effect::Destructive) => quote!(Destructive),
    };
    let answer = match row.answers {
        Answers::Json => quote!(Json),
        Answers::File => quote!(File),
        Answers::Any => quote!(Any),
    };
    quote! {
        ::connector_sdk::table::About {
            envelope: #envelope,
            effect: ::connector_sdk::table::Effect::#effect,
            answer: ::connector_sdk::table::AnswerKind::#answer,
            pages: #pages,
            background: #background,
            immediate: #immediate,
            rate_limit: #rate_limit,
        }
    }
}

fn pages(pages: &Pages) -> TokenStream {
    let Pages { items, next, input } = pages;
    let next = match next {
        NextPage::Cursor(pointer) => quote!(Cursor(#pointer)),
        NextPage::Link { pointer, parameter } => quote!(Link { pointer: #pointer, parameter: #parameter }),
        NextPage::PageNumber(first) => quote!(PageNumber(#first)),
        NextPage::Offset => quote!(Offset),
        NextPage::LastItem { pointer, more } => {
            let more = optional(more.as_ref().map(|more| quote!(#more)));
            quote!(LastItem { pointer: #pointer, more: #more })
        }
    };
    quote!(::connector_sdk::table::Pages {
        items: #items,
        next: ::connector_sdk::table::NextPage::#next,
        input: #input,
    })
}

/// The code has the span of the function's name, so that the compiler reports a wrong signature
/// there.
fn call(row: &Row, function: &Path) -> TokenStream {
    let span = span_of(function);
    if row.has_block {
        let input = input::type_name(row);
        quote_spanned!(span=> |input| ::connector_sdk::run::call::<#input, _>(input, #function))
    } else {
        quote_spanned!(span=> |_| ::connector_sdk::run::call_without_input(#function))
    }
}

fn without_row(run: &TokenStream) -> TokenStream {
    quote! {
        const RUN: fn(&str) -> ::connector_sdk::run::Answer = #run;
        const ROW: ::core::option::Option<&'static ::connector_sdk::table::Row> = ::core::option::Option::None;
    }
}

pub(super) fn span_of(path: &Path) -> Span {
    path.segments.last().map_or_else(Span::call_site, |segment| segment.ident.span())
}
