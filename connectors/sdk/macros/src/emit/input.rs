//! The input types of functions: a struct for each row that is a function with fields or has a
//! check, and how it is read.

use std::collections::HashSet;

use contract_rules::name;
use contract_rules::schema::Kind;
use proc_macro2::{Literal, TokenStream};
use quote::quote;
use serde_json::Value;
use syn::Ident;

use crate::parse::field::Field;
use crate::parse::row::{Action, Row};
use crate::parse::table::Table;

/// The input types. Rows with a mistake have them too, so that the author's functions find them.
pub(super) fn types(table: &Table) -> TokenStream {
    let mut names = HashSet::new();
    let has_type = |row: &&Row| match row.action {
        Action::Request { .. } => row.check.is_some(),
        Action::Function(_) | Action::Unknown => row.has_block,
        Action::Internal { .. } => false,
    };
    table.rows.iter().filter(has_type).filter(|row| names.insert(type_name(row))).map(input_type).collect()
}

/// `get_pairs` takes a `GetPairs` with the row's fields.
fn input_type(row: &Row) -> TokenStream {
    let name = type_name(row);
    let documentation = format!("Input of `{}`.", row.name.text);
    let fields = distinct(&row.fields).map(declaration);
    let reads = distinct(&row.fields).map(read);
    quote! {
        #[doc = #documentation]
        #[derive(Clone, Debug)]
        pub struct #name { #(#fields),* }
        impl ::connector_sdk::input::Input for #name {
            fn read(fields: &::connector_sdk::input::Fields<'_>) -> ::core::result::Result<Self, ::connector_sdk::Fault> {
                ::core::result::Result::Ok(Self { #(#reads),* })
            }
        }
    }
}

/// The name of the input type in the spelling of Rust.
pub(super) fn type_name(row: &Row) -> Ident {
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters.next().map_or_else(String::new, |first| first.to_ascii_uppercase().to_string() + letters.as_str())
    };
    let camel: String =
        row.name.text.split(|character: char| !character.is_ascii_alphanumeric()).map(capital).collect();
    if syn::parse_str::<Ident>(&camel).is_ok() {
        Ident::new(&camel, row.name.span)
    } else {
        Ident::new(&format!("Operation{camel}"), row.name.span)
    }
}

/// The fields that can be declared in Rust. A mistake in a name is already reported, and must not
/// be reported again.
pub(super) fn distinct(fields: &[Field]) -> impl Iterator<Item = &Field> {
    let mut names = HashSet::new();
    let declarable = |field: &&Field| name::field(&field.spec.name, false).is_ok();
    fields.iter().filter(declarable).filter(move |field| names.insert(&field.spec.name))
}

fn declaration(field: &Field) -> TokenStream {
    let name = rust_name(field);
    let spec = &field.spec;
    let documentation = if spec.documentation.is_empty() { &spec.name } else { &spec.documentation };
    let plain = rust_type(&spec.kind);
    let can_be_none = spec.optional && (spec.default.is_none() || field.assumed);
    let ty = if can_be_none { quote!(::core::option::Option<#plain>) } else { plain };
    quote! {
        #[doc = #documentation]
        pub #name: #ty
    }
}

fn read(field: &Field) -> TokenStream {
    let name = rust_name(field);
    let text = &field.spec.name;
    match field.spec.default.as_ref().filter(|_| !field.assumed) {
        None if field.spec.optional => quote!(#name: fields.optional(#text)?),
        None => quote!(#name: fields.required(#text)?),
        Some(default) => {
            let default = default_value(&field.spec.kind, default);
            quote!(#name: match fields.optional(#text)? {
                ::core::option::Option::Some(value) => value,
                ::core::option::Option::None => #default,
            })
        }
    }
}

fn default_value(kind: &Kind, default: &Value) -> TokenStream {
    let json = default.to_string();
    match (kind, default) {
        (Kind::Number, Value::Number(number)) => {
            let number = Literal::f64_unsuffixed(number.as_f64().unwrap_or_default());
            quote!(#number)
        }
        (Kind::Integer, Value::Number(number)) if number.is_i64() => {
            let number = Literal::i64_unsuffixed(number.as_i64().unwrap_or_default());
            quote!(#number)
        }
        (Kind::Boolean, Value::Bool(boolean)) => quote!(#boolean),
        (Kind::String, Value::String(text)) => quote!(::std::string::String::from(#text)),
        _ => quote!(::connector_sdk::input::FromJson::from_json(#json).unwrap_or_default()),
    }
}

/// The field's name in Rust: a raw identifier if it is a keyword, with a `_` before it if it is not
/// an identifier.
pub(super) fn rust_name(field: &Field) -> Ident {
    let text = &field.spec.name;
    if syn::parse_str::<Ident>(text).is_ok() {
        Ident::new(text, field.name_span)
    } else if syn::parse_str::<Ident>(&format!("r#{text}")).is_ok() {
        Ident::new_raw(text, field.name_span)
    } else {
        Ident::new(&format!("_{text}"), field.name_span)
    }
}

pub(super) fn rust_type(kind: &Kind) -> TokenStream {
    match kind {
        Kind::String => quote!(::std::string::String),
        Kind::Integer => quote!(i64),
        Kind::Number => quote!(f64),
        Kind::Boolean => quote!(bool),
        Kind::Object | Kind::Members(_) => quote!(::connector_sdk::input::Json),
        Kind::File => quote!(::connector_sdk::input::File),
        Kind::StringOrList => quote!(::connector_sdk::input::OneOrMany),
        Kind::Entries(_) | Kind::TextEntries(_) => quote!(::connector_sdk::input::Entries),
        Kind::List(item) => {
            let item = rust_type(item);
            quote!(::std::vec::Vec<#item>)
        }
    }
}
