//! The Rust code of a table: a static, the exports of the component, an input type for every function with fields, and a test.

use proc_macro2::{Literal, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Ident, LitStr, Path};

use crate::check;
use crate::field::{Encoding, Field, Kind, Lists, Place};
use crate::input;
use crate::json::{Value, quote as json_quote};
use crate::row::{self, Action, Answers, Effect, NextPage, Pages, Piece, Row, SETTINGS};
use crate::schema;
use crate::table::{Header, Table, Upstream};

pub(crate) fn table(table: &Table) -> TokenStream {
    let Table { title, documentation, auth, .. } = table;
    let identifier = table.identifier.to_string();
    let upstreams = table.upstreams.iter().map(upstream);
    let rate_limits = table.rate_limits.iter().map(|limit| {
        let (name, requests, seconds) = (limit.name.to_string(), limit.requests, limit.period_seconds);
        quote!(::connector_sdk::table::RateLimit { name: #name, requests: #requests, period_seconds: #seconds })
    });
    let settings = table.settings.iter().map(|setting| self::setting(table, setting));
    let accessors = accessors(table);
    let headers = table.headers.iter().map(|header| self::header(table, None, header));
    let icon = match &table.icon {
        Some(path) => quote!(::core::option::Option::Some(::core::include_str!(#path))),
        None => quote!(::core::option::Option::None),
    };
    let operations = table.rows.iter().map(|row| operation(table, row));
    let inputs = table.rows.iter().filter_map(input::input_type);
    let invoke = if table.rows.iter().all(|row| is_forward(table, row)) {
        quote!(
            ::connector_sdk::run::invoke_forward(&super::CONNECTOR, &operation, &input)
                .map(|request| ::connector_sdk::bindings::Outcome::Forward(request.into()))
        )
    } else {
        quote!(::connector_sdk::run::invoke(&super::CONNECTOR, &operation, &input))
    };
    quote! {
        #[doc = #documentation]
        pub static CONNECTOR: ::connector_sdk::table::Connector = ::connector_sdk::table::Connector {
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
            upstreams: &[#(#upstreams),*],
            rate_limits: &[#(#rate_limits),*],
            settings: &[#(#settings),*],
            headers: &[#(#headers),*],
            operations: &[#(#operations),*],
        };
        #(#inputs)*
        #accessors
        #[cfg(target_family = "wasm")]
        mod component {
            struct Component;
            impl ::connector_sdk::bindings::Guest for Component {
                fn describe() -> ::connector_sdk::bindings::Manifest {
                    ::connector_sdk::run::manifest(&super::CONNECTOR)
                }
                fn invoke(operation: ::std::string::String, input: ::std::string::String) -> ::connector_sdk::run::Answer {
                    #invoke
                }
            }
            ::connector_sdk::bindings::export!(Component with_types_in ::connector_sdk::bindings);
        }
        #[cfg(all(test, not(target_family = "wasm")))]
        #[test]
        fn the_manifest_keeps_the_contract() {
            ::connector_sdk::testing::check(&CONNECTOR);
        }
    }
}

fn setting(table: &Table, setting: &Field) -> TokenStream {
    let (name, documentation) = (&setting.name.text, &setting.documentation);
    let schema = schema::of_setting(table, setting);
    let default = optional(setting.default.as_ref().map(|default| default.value.text()));
    quote!(::connector_sdk::table::Setting {
        name: #name,
        schema: #schema,
        default: #default,
        documentation: #documentation,
    })
}

/// A function for each setting, which reads its value.
fn accessors(table: &Table) -> Option<TokenStream> {
    let functions = table.settings.iter().map(|setting| {
        let (name, documentation) = (&setting.name.text, &setting.documentation);
        let (function, ty) = (input::rust_name(setting), input::rust_type(&setting.kind));
        let (result, read) = match &setting.default {
            Some(default) => {
                let default = default.value.text();
                (quote!(#ty), quote!(get(#name, #default)))
            }
            None => (quote!(::core::option::Option<#ty>), quote!(find(#name))),
        };
        quote! {
            #[doc = #documentation]
            ///
            /// # Errors
            /// [`Fault::Failed`](::connector_sdk::Fault::Failed) if the value is not of the declared type.
            pub fn #function() -> ::core::result::Result<#result, ::connector_sdk::Fault> {
                ::connector_sdk::config::#read
            }
        }
    });
    if table.settings.is_empty() {
        return None;
    }
    Some(quote! {
        /// The operator's settings for this connector.
        #[allow(dead_code, reason = "settings in paths and headers need no function")]
        pub mod settings { #(#functions)* }
    })
}

fn upstream(upstream: &Upstream) -> TokenStream {
    let Upstream { base_url, link_hosts, .. } = upstream;
    let credential = match &upstream.credential {
        Some(word) => {
            let variant = match word.to_string().as_str() {
                "standard" => quote!(Standard),
                "form_field" => quote!(FormField),
                _ => quote!(None),
            };
            quote!(::core::option::Option::Some(::connector_sdk::table::CredentialUse::#variant))
        }
        None => quote!(::core::option::Option::None),
    };
    let name = upstream.name.to_string();
    let pacing = match upstream.pacing.as_ref().map(check::pacing_of) {
        Some(Ok([interval, concurrency, wait])) => quote!(::core::option::Option::Some(::connector_sdk::table::Pacing {
            interval_ms: #interval,
            concurrency: #concurrency,
            max_wait_ms: #wait,
        })),
        _ => quote!(::core::option::Option::None),
    };
    quote!(::connector_sdk::table::Upstream {
        name: #name,
        base_url: #base_url,
        credential: #credential,
        link_hosts: &[#(#link_hosts),*],
        pacing: #pacing,
    })
}

fn operation(table: &Table, row: &Row) -> TokenStream {
    let path = &row.name.text;
    let (summary, description) = row.documentation.split_once("\n\n").unwrap_or((&row.documentation, ""));
    let summary = summary.replace('\n', " ");
    let summary = summary.strip_suffix('.').unwrap_or(&summary);
    let description = description.trim();
    let input_schema = schema::of_row(table, row);
    let example = optional(row.example.as_ref().map(crate::json::Json::text));
    let rate_limit = optional(row.rate_limit.as_ref().map(Ident::to_string));
    let (envelope, background) = (row.envelope, row.background);
    let via = row.via.as_ref().or(table.via.as_ref());
    let immediate = is_forward(table, row);
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
    let answer_schema = optional(row.answer_schema.as_ref().map(crate::json::Json::text));
    let pages = pages(row);
    let run = match &row.action {
        Action::Function(function) => call(row, function),
        Action::Request { method, upstream, path } => request(table, row, method, upstream, path, via),
    };
    quote!({
        #run
        ::connector_sdk::table::Operation {
            path: #path,
            run: RUN,
            row: ROW,
            about: &::connector_sdk::table::About {
                summary: #summary,
                description: #description,
                input_schema: #input_schema,
                example: #example,
                envelope: #envelope,
                effect: ::connector_sdk::table::Effect::#effect,
                answer: ::connector_sdk::table::AnswerKind::#answer,
                answer_schema: #answer_schema,
                pages: #pages,
                background: #background,
                immediate: #immediate,
                rate_limit: #rate_limit,
            },
        }
    })
}

fn pages(row: &Row) -> TokenStream {
    let Some(Pages { items, next, input }) = &row.pages else { return quote!(::core::option::Option::None) };
    let next = match next {
        NextPage::Cursor(pointer) => quote!(Cursor(#pointer)),
        NextPage::Link { pointer, parameter } => quote!(Link { pointer: #pointer, parameter: #parameter }),
        NextPage::PageNumber(first) => quote!(PageNumber(#first)),
        NextPage::Offset => quote!(Offset),
    };
    quote!(::core::option::Option::Some(::connector_sdk::table::Pages {
        items: #items,
        next: ::connector_sdk::table::NextPage::#next,
        input: #input,
    }))
}

/// Whether the operation is its request and nothing else.
fn is_forward(table: &Table, row: &Row) -> bool {
    matches!(row.action, Action::Request { .. }) && row.via.is_none() && table.via.is_none()
}

fn optional(text: Option<String>) -> TokenStream {
    match text {
        Some(text) => quote!(::core::option::Option::Some(#text)),
        None => quote!(::core::option::Option::None),
    }
}

/// The span is that of the function's name, so that a wrong signature is reported there.
fn call(row: &Row, function: &Path) -> TokenStream {
    let span = span_of(function);
    let run = if row.has_fields {
        let input = input::input_name(row);
        quote_spanned!(span=> |input| ::connector_sdk::run::call::<#input>(input, #function))
    } else {
        quote_spanned!(span=> |_| ::connector_sdk::run::call_without_input(#function))
    };
    run_and_row(&run, &quote!(::core::option::Option::None))
}

/// The two constants that an operation is made of.
fn run_and_row(run: &TokenStream, row: &TokenStream) -> TokenStream {
    quote! {
        const RUN: fn(&str) -> ::connector_sdk::run::Answer = #run;
        const ROW: ::core::option::Option<&'static ::connector_sdk::table::Row> = #row;
    }
}

fn span_of(path: &Path) -> Span {
    path.segments.last().map_or_else(Span::call_site, |segment| segment.ident.span())
}

fn request(
    table: &Table,
    row: &Row,
    method: &Ident,
    upstream: &Ident,
    path: &LitStr,
    via: Option<&Path>,
) -> TokenStream {
    let method = match method.to_string().as_str() {
        "GET" => quote!(Get),
        "HEAD" => quote!(Head),
        "POST" => quote!(Post),
        "PUT" => quote!(Put),
        "PATCH" => quote!(Patch),
        _ => quote!(Delete),
    };
    let upstream = upstream.to_string();
    let path = path.value();
    let (path, fixed_query) = path.split_once('?').unwrap_or((&path, ""));
    let pieces = pieces(table, Some(row), path);
    let fields = row.fields.iter().map(|field| self::field(table, row, field));
    let default_query = row.default_query.iter().map(|member| {
        let name = &member.name.text;
        let value = match &member.value.value {
            Value::String(text) => text.clone(),
            _ => member.value.text(),
        };
        let parameter = format!("{}={}", encoded(name), encoded(&value));
        let unless = row.default_query_unless.iter().map(|name| &name.text);
        quote!(::connector_sdk::table::DefaultQuery { parameter: #parameter, unless: &[#name #(, #unless)*] })
    });
    let headers = table.headers.iter().map(|header| self::header(table, Some(row), header));
    let body = body(row);
    let run = match via {
        None => quote!(|input| ::connector_sdk::run::forward(&REQUEST, input)),
        Some(function) => {
            quote_spanned!(span_of(function)=> |input| ::connector_sdk::run::via(&REQUEST, input, #function))
        }
    };
    let constants = run_and_row(
        &run,
        &match via {
            None => quote!(::core::option::Option::Some(&REQUEST)),
            Some(_) => quote!(::core::option::Option::None),
        },
    );
    quote! {
        static REQUEST: ::connector_sdk::table::Row = ::connector_sdk::table::Row {
            method: ::connector_sdk::http::Method::#method,
            upstream: #upstream,
            path: &[#(#pieces),*],
            fixed_query: #fixed_query,
            fields: &[#(#fields),*],
            default_query: &[#(#default_query),*],
            headers: &[#(#headers),*],
            body: #body,
        };
        #constants
    }
}

fn pieces(table: &Table, row: Option<&Row>, template: &str) -> Vec<TokenStream> {
    let pieces = row::pieces(template).unwrap_or_default();
    let piece = |piece| match piece {
        Piece::Text(text) => quote!(::connector_sdk::table::Piece::Text(#text)),
        Piece::Placeholder(name) => match name.strip_prefix(SETTINGS) {
            Some(setting) => {
                let declared = table.settings.iter().find(|known| known.name.text == setting);
                let default = declared.and_then(|known| known.default.as_ref()).map(|default| default.value.text());
                let default = optional(default);
                quote!(::connector_sdk::table::Piece::Setting(#setting, || ::connector_sdk::config::text(#setting, #default)))
            }
            None => {
                let index = row.and_then(|row| row.fields.iter().position(|field| field.name.text == name));
                let index = index.unwrap_or(usize::MAX);
                quote!(::connector_sdk::table::Piece::Field(#index))
            }
        },
    };
    pieces.into_iter().map(piece).collect()
}

fn header(table: &Table, row: Option<&Row>, header: &Header) -> TokenStream {
    let name = &header.name;
    let value = pieces(table, row, &header.value.value());
    let when = header.when.iter().map(|entry| &entry.name.text);
    quote!(::connector_sdk::table::Header { name: #name, value: &[#(#value),*], when: &[#(#when),*] })
}

fn field(table: &Table, row: &Row, field: &Field) -> TokenStream {
    let name = &field.name.text;
    let place = place(row, field);
    let required = !field.optional;
    let integer =
        matches!(&field.kind, Kind::Integer) || matches!(&field.kind, Kind::List(item) if **item == Kind::Integer);
    let in_body = row.place(field) == Place::Body && field.lists.is_none();
    let lists = match table.lists_of(field) {
        _ if in_body => quote!(AsTheyAre),
        Lists::Joined(separator) => quote!(Joined(#separator)),
        Lists::Repeated => quote!(Repeated),
    };
    let max_bytes = match field.max_bytes {
        Some(bytes) => {
            let bytes = Literal::u32_unsuffixed(bytes);
            quote!(::core::option::Option::Some(#bytes))
        }
        None => quote!(::core::option::Option::None),
    };
    let default = optional(field.default.as_ref().filter(|default| default.sent).map(|default| default.value.text()));
    quote!(::connector_sdk::table::Field {
        name: #name,
        place: ::connector_sdk::table::Place::#place,
        required: #required,
        integer: #integer,
        lists: ::connector_sdk::table::Lists::#lists,
        max_bytes: #max_bytes,
        default: #default,
    })
}

fn place(row: &Row, field: &Field) -> TokenStream {
    let entries = matches!(field.kind, Kind::Entries(_));
    let upstream_name = upstream_name(field);
    match row.place(field) {
        Place::Path => {
            let encoding = match field.encoding {
                Encoding::Segment => quote!(Segment),
                Encoding::Path => quote!(Path),
                Encoding::ODataString => quote!(ODataString),
            };
            quote!(Path(::connector_sdk::table::Encoding::#encoding))
        }
        Place::Query if entries => quote!(QueryEntries),
        Place::Query => quote!(Query(#upstream_name)),
        Place::Header if entries => quote!(HeaderEntries),
        Place::Header => quote!(Header(#upstream_name)),
        Place::Body if row.is_whole_body(field) => quote!(WholeBody),
        Place::Body => {
            let names = body_path(field).into_iter().map(|name| {
                let mut quoted = String::new();
                json_quote(&name, &mut quoted);
                quoted
            });
            quote!(Body(&[#(#names),*]))
        }
    }
}

fn upstream_name(field: &Field) -> String {
    field.upstream_name.as_ref().map_or_else(|| field.name.text.clone(), LitStr::value)
}

/// A dotted name is a path inside the body, but for annotations such as `@microsoft.graph.conflictBehavior`.
fn body_path(field: &Field) -> Vec<String> {
    let name = upstream_name(field);
    if name.starts_with('@') { vec![name] } else { name.split('.').map(str::to_owned).collect() }
}

fn body(row: &Row) -> TokenStream {
    if let Some(index) = row.fields.iter().position(|field| row.is_whole_body(field)) {
        return quote!(::connector_sdk::table::Body::Whole(#index));
    }
    let mut members: Vec<(usize, Vec<String>)> = row
        .fields
        .iter()
        .enumerate()
        .filter(|(_, field)| row.place(field) == Place::Body)
        .map(|(index, field)| (index, body_path(field)))
        .collect();
    if members.is_empty() && row.fixed_body.is_empty() {
        return quote!(::connector_sdk::table::Body::None);
    }
    group(&mut members, 0);
    let order = members.iter().map(|(index, _)| index);
    let fixed: Vec<String> = row
        .fixed_body
        .iter()
        .map(|member| {
            let mut text = String::new();
            json_quote(&member.name.text, &mut text);
            format!("{text}:{}", member.value.text())
        })
        .collect();
    let fixed = fixed.join(",");
    quote!(::connector_sdk::table::Body::Members { fixed: #fixed, fields: &[#(#order),*] })
}

/// Brings the fields of one inner object together, and keeps the order otherwise.
fn group(members: &mut Vec<(usize, Vec<String>)>, depth: usize) {
    let mut grouped: Vec<Vec<(usize, Vec<String>)>> = Vec::new();
    for member in members.drain(..) {
        let same = |group: &&mut Vec<(usize, Vec<String>)>| {
            group.first().is_some_and(|(_, path)| path.get(depth) == member.1.get(depth) && path.len() > depth + 1)
        };
        match grouped.iter_mut().find(same) {
            Some(found) => found.push(member),
            None => grouped.push(vec![member]),
        }
    }
    for mut inner in grouped {
        if inner.len() > 1 {
            group(&mut inner, depth + 1);
        }
        members.append(&mut inner);
    }
}

fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~$@".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}
