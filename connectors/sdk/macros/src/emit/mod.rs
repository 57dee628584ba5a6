//! The Rust code of a table: a static, the exports of the component, the functions of the settings,
//! an input type for every function with fields, and a test.
//!
//! # Layout
//! - here: the whole, and the parts of the manifest.
//! - `address`: a part of accounts' addresses.
//! - `auth_additions`: further ways in which accounts get access tokens.
//! - `operation`: one operation.
//! - `request`: the request of a row.
//! - `settings`: a function for each setting.
//! - `input`: the input types of functions.
//! - `triggers`: the inboxes and the types of events.

mod address;
mod auth_additions;
mod input;
mod operation;
mod request;
mod settings;
mod triggers;

use miniz_oxide::deflate::compress_to_vec;
use proc_macro2::{Literal, TokenStream};
use quote::{quote, quote_spanned};

use crate::parse::clause::NextPage;
use crate::parse::row::{Action, Row};
use crate::parse::statement::{Links, Upstream};
use crate::parse::table::Table;

/// The compression level with the smallest result.
const SMALLEST: u8 = 10;

pub(crate) fn table(table: &Table) -> TokenStream {
    let connector = connector(table);
    let inputs = input::types(table);
    let settings = settings::functions(table);
    let component = component(table);
    let documentation = &table.documentation;
    let identifier = table.head.as_ref().map_or_else(String::new, |head| head.identifier.to_string());
    // Only the compiler can evaluate the auth scheme. The span makes it point at the identifier.
    let check = quote_spanned! {table.span()=>
        const _: () = ::core::assert!(
            !::connector_sdk::auth::is_provider(#identifier, &CONNECTOR.auth),
            "the identifier is the name of the connector's provider; give the connector another identifier"
        );
    };
    let additions = auth_additions::checks(table);
    let events = triggers::checks(table);
    quote! {
        #check
        #additions
        #events
        #[doc = #documentation]
        pub static CONNECTOR: ::connector_sdk::table::Connector = #connector;
        #inputs
        #settings
        #component
        #[cfg(all(test, not(target_family = "wasm")))]
        #[test]
        fn the_manifest_keeps_the_contract() {
            ::connector_sdk::testing::check(&CONNECTOR);
        }
    }
}

fn connector(table: &Table) -> TokenStream {
    let (identifier, title) = match &table.head {
        Some(head) => (head.identifier.to_string(), head.title.value()),
        None => (String::new(), String::new()),
    };
    let documentation = &table.documentation;
    let auth = table.auth.clone().unwrap_or_else(|| quote!(Auth::None));
    let auth_additions = auth_additions::field(table);
    // This makes Cargo build the connector again if the file changes.
    let answers = table.answer_examples.as_ref().map(|answers| {
        let path = answers.path();
        quote!(
            const _: &str = ::core::include_str!(#path);
        )
    });
    let icon = optional(table.icon.as_ref().map(|path| quote!(::core::include_str!(#path))));
    let upstreams = table.upstreams.iter().map(upstream);
    let address = table.address.iter().map(address::part);
    let rate_limits = table.rate_limits.iter().map(|limit| {
        let (name, requests, seconds) = (limit.name.to_string(), limit.requests, limit.period_seconds);
        quote!(::connector_sdk::table::RateLimit { name: #name, requests: #requests, period_seconds: #seconds })
    });
    let settings = table.settings.iter().map(settings::setting);
    let headers = table.headers.iter().map(|header| request::table_header(table, header));
    let rows = || table.rows.iter().filter(|row| !row.broken && !matches!(row.action, Action::Unknown));
    let operations = rows().map(|row| operation::operation(table, row));
    let texts: Vec<String> = rows().flat_map(operation::texts).collect();
    let texts = Literal::byte_string(&compress_to_vec(texts.join("\0").as_bytes(), SMALLEST));
    let events = triggers::fields(table);
    let connector = quote! {
        ::connector_sdk::table::Connector {
            identifier: #identifier,
            version: ::core::env!("CARGO_PKG_VERSION"),
            title: #title,
            description: #documentation,
            imprint: ::connector_sdk::table::Imprint {
                license: ::core::env!("CARGO_PKG_LICENSE"),
                homepage: ::core::env!("CARGO_PKG_HOMEPAGE"),
                authors: ::core::env!("CARGO_PKG_AUTHORS"),
                icon: #icon,
            },
            auth: {
                use ::connector_sdk::auth::*;
                #auth
            },
            auth_additions: #auth_additions,
            upstreams: &[#(#upstreams),*],
            address: &[#(#address),*],
            rate_limits: &[#(#rate_limits),*],
            settings: &[#(#settings),*],
            headers: &[#(#headers),*],
            #events
            operations: &[#(#operations),*],
            texts: #texts,
        }
    };
    quote!({ #answers #connector })
}

/// The exports.
fn component(table: &Table) -> TokenStream {
    let declaration = auth_additions::declaration(table);
    // A component imports only what it calls, so that it also runs on gateways without the rest.
    let declares = (!table.address.is_empty()).then(|| quote!(::connector_sdk::run::declare(&super::CONNECTOR);));
    let has_rows = table.rows.iter().any(|row| is_forward(table, row));
    let declares_rows = has_rows.then(|| quote!(::connector_sdk::declare::rows(&super::CONNECTOR);));
    let declares_last_items =
        table.rows.iter().any(has_last_item).then(|| quote!(::connector_sdk::declare::last_items(&super::CONNECTOR);));
    let declares_events = triggers::declarations(table);
    quote! {
        #[cfg(target_family = "wasm")]
        mod component {
            struct Component;
            impl ::connector_sdk::bindings::Guest for Component {
                fn describe() -> ::connector_sdk::bindings::Manifest {
                    #declaration
                    #declares
                    #declares_rows
                    #declares_last_items
                    #declares_events
                    ::connector_sdk::run::manifest(&super::CONNECTOR)
                }
                fn invoke(operation: ::std::string::String, input: ::std::string::String) -> ::connector_sdk::run::Answer {
                    ::connector_sdk::run::invoke(&super::CONNECTOR, &operation, &input)
                }
            }
            ::connector_sdk::bindings::export!(Component with_types_in ::connector_sdk::bindings);
        }
    }
}

fn upstream(upstream: &Upstream) -> TokenStream {
    let base_url = &upstream.base_url;
    let link_hosts = match &upstream.links {
        Links::Hosts(hosts) => quote!(&[#(#hosts),*]),
        Links::Constant(constant) => quote!(#constant),
    };
    let name = upstream.name.to_string();
    let credential = optional(upstream.credential.as_ref().map(|word| match word.to_string().as_str() {
        "standard" => quote!(::connector_sdk::table::CredentialUse::Standard),
        "form_field" => quote!(::connector_sdk::table::CredentialUse::FormField),
        _ => quote!(::connector_sdk::table::CredentialUse::None),
    }));
    let site = optional(upstream.site.as_ref().map(|site| quote!(#site)));
    let pacing = optional(upstream.pacing.map(|[interval, concurrency, wait]| {
        quote!(::connector_sdk::table::Pacing {
            interval_ms: #interval,
            concurrency: #concurrency,
            max_wait_ms: #wait,
        })
    }));
    quote!(::connector_sdk::table::Upstream {
        name: #name,
        base_url: #base_url,
        credential: #credential,
        link_hosts: #link_hosts,
        pacing: #pacing,
        site: #site,
    })
}

/// Returns `true` if the operation is its request and nothing else.
fn is_forward(table: &Table, row: &Row) -> bool {
    is_immediate(table, row) && row.check.is_none()
}

/// Returns `true` if the last item of a page leads to the next page.
fn has_last_item(row: &Row) -> bool {
    row.pages.as_ref().is_some_and(|pages| matches!(pages.next, NextPage::LastItem { .. }))
}

/// Returns `true` if the request follows from the input alone.
fn is_immediate(table: &Table, row: &Row) -> bool {
    row.is_request() && row.via.is_none() && table.via.is_none()
}

fn optional(tokens: Option<TokenStream>) -> TokenStream {
    match tokens {
        Some(tokens) => quote!(::core::option::Option::Some(#tokens)),
        None => quote!(::core::option::Option::None),
    }
}

fn optional_text(text: Option<String>) -> TokenStream {
    optional(text.map(|text| quote!(#text)))
}
