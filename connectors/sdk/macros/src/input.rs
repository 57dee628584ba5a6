//! The input types of functions: a struct for each row that is a function with fields, and how it is read.

use proc_macro2::TokenStream;
use quote::quote;
use syn::Ident;

use crate::field::{Field, Kind};
use crate::json::Value;
use crate::row::{Action, Row};

/// `get_pairs` takes a `GetPairs`: a field for each of the row's, typed as the schema says.
pub(crate) fn input_type(row: &Row) -> Option<TokenStream> {
    if !matches!(row.action, Action::Function(_)) || !row.has_fields {
        return None;
    }
    let name = input_name(row);
    let documentation = format!("Input of `{}`.", row.name.text);
    let fields = row.fields.iter().map(input_field);
    let reads = row.fields.iter().map(input_read);
    Some(quote! {
        #[doc = #documentation]
        #[derive(Clone, Debug)]
        pub struct #name { #(#fields),* }
        impl ::connector_sdk::input::Input for #name {
            fn read(fields: &::connector_sdk::input::Fields<'_>) -> ::core::result::Result<Self, ::connector_sdk::Fault> {
                ::core::result::Result::Ok(Self { #(#reads),* })
            }
        }
    })
}

pub(crate) fn input_name(row: &Row) -> Ident {
    let camel: String = row
        .name
        .text
        .split(['_', '-'])
        .map(|word| {
            let mut letters = word.chars();
            letters.next().map_or_else(String::new, |first| first.to_ascii_uppercase().to_string() + letters.as_str())
        })
        .collect();
    Ident::new(&camel, row.name.span)
}

fn input_field(field: &Field) -> TokenStream {
    let name = rust_name(field);
    let documentation = if field.documentation.is_empty() { &field.name.text } else { &field.documentation };
    let plain = rust_type(&field.kind);
    let can_be_none = field.optional && field.default.as_ref().is_none_or(|default| default.assumed);
    let ty = if can_be_none { quote!(::core::option::Option<#plain>) } else { plain };
    quote! {
        #[doc = #documentation]
        pub #name: #ty
    }
}

fn input_read(field: &Field) -> TokenStream {
    let name = rust_name(field);
    let text = &field.name.text;
    match field.default.as_ref().filter(|default| !default.assumed) {
        None if field.optional => quote!(#name: fields.optional(#text)?),
        None => quote!(#name: fields.required(#text)?),
        Some(default) => {
            let default = match &default.value.value {
                Value::Number(text) => text.parse::<TokenStream>().unwrap_or_default(),
                Value::Boolean(boolean) => quote!(#boolean),
                Value::String(text) if field.kind == Kind::String => quote!(::std::string::String::from(#text)),
                _ => {
                    let json = default.value.text();
                    quote!(::connector_sdk::input::FromJson::from_json(#json).unwrap_or_default())
                }
            };
            quote!(#name: match fields.optional(#text)? {
                ::core::option::Option::Some(value) => value,
                ::core::option::Option::None => #default,
            })
        }
    }
}

/// The field's name, raw where it is a word of the language.
pub(crate) fn rust_name(field: &Field) -> Ident {
    match syn::parse_str::<Ident>(&field.name.text) {
        Ok(_) => Ident::new(&field.name.text, field.name.span),
        Err(_) => Ident::new_raw(&field.name.text, field.name.span),
    }
}

pub(crate) fn rust_type(kind: &Kind) -> TokenStream {
    match kind {
        Kind::String => quote!(::std::string::String),
        Kind::Integer => quote!(i64),
        Kind::Number => quote!(f64),
        Kind::Boolean => quote!(bool),
        Kind::Object => quote!(::connector_sdk::input::Json),
        Kind::StringOrList => quote!(::connector_sdk::input::OneOrMany),
        Kind::Entries(_) => quote!(::connector_sdk::input::Entries),
        Kind::List(item) => {
            let item = rust_type(item);
            quote!(::std::vec::Vec<#item>)
        }
    }
}
