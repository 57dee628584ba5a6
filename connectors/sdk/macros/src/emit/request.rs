//! The request of a row as constant data.

use contract_rules::schema::Kind;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use proc_macro2::{Literal, TokenStream};
use quote::quote;
use serde_json::Value;
use syn::{Ident, LitStr};

use super::{optional, optional_text};
use crate::parse::field::{Encoding, Field, Lists, Location};
use crate::parse::row::{self, BodyFormat, Piece, Row, SETTINGS};
use crate::parse::statement::Header;
use crate::parse::table::Table;

/// The characters that are not encoded: RFC 3986's unreserved ones, and `$` and `@`, which OData
/// parameters begin with.
const QUERY: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'$').remove(b'@');

pub(super) fn request(table: &Table, row: &Row, method: &Ident, upstream: &Ident, path: &LitStr) -> TokenStream {
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
    let default_query = default_query(row);
    let headers = table.headers.iter().map(|header| self::header(table, Some(row), header));
    let body = body(row);
    let encoding = match row.body_format {
        None => quote!(Json),
        Some((BodyFormat::Form, _)) => quote!(Form),
        Some((BodyFormat::Multipart, _)) => quote!(Multipart(::connector_sdk::multipart::row_body)),
    };
    quote! {
        ::connector_sdk::table::Row {
            method: ::connector_sdk::http::Method::#method,
            upstream: #upstream,
            path: &[#(#pieces),*],
            fixed_query: #fixed_query,
            fields: &[#(#fields),*],
            default_query: &[#(#default_query),*],
            headers: &[#(#headers),*],
            body: #body,
            encoding: ::connector_sdk::table::BodyEncoding::#encoding,
        }
    }
}

fn default_query(row: &Row) -> impl Iterator<Item = TokenStream> {
    row.default_query.iter().map(|(name, json)| {
        let name = &name.text;
        let value = match &json.value {
            Value::String(text) => text.clone(),
            value => value.to_string(),
        };
        let parameter = format!("{}={}", utf8_percent_encode(name, QUERY), utf8_percent_encode(&value, QUERY));
        let unless = row.default_query_unless.iter().map(|name| &name.text);
        quote!(::connector_sdk::table::DefaultQuery { parameter: #parameter, unless: &[#name #(, #unless)*] })
    })
}

fn pieces(table: &Table, row: Option<&Row>, template: &str) -> Vec<TokenStream> {
    let piece = |piece| match piece {
        Piece::Text(text) => quote!(::connector_sdk::table::Piece::Text(#text)),
        Piece::Placeholder(name) => match name.strip_prefix(SETTINGS) {
            Some(setting) => {
                let declared = table.settings.iter().find(|known| known.spec.name == setting);
                let default = declared.and_then(|known| known.spec.default.as_ref()).map(Value::to_string);
                let default = optional_text(default);
                quote!(::connector_sdk::table::Piece::Setting(
                    #setting,
                    || ::connector_sdk::config::text(#setting, #default)
                ))
            }
            None => {
                let index = row.and_then(|row| row.fields.iter().position(|field| field.spec.name == name));
                let index = index.unwrap_or(usize::MAX);
                quote!(::connector_sdk::table::Piece::Field(#index))
            }
        },
    };
    row::pieces(template).unwrap_or_default().into_iter().map(piece).collect()
}

/// A header of the table, for a row or for requests of functions.
pub(super) fn header(table: &Table, row: Option<&Row>, header: &Header) -> TokenStream {
    let name = &header.name;
    let value = pieces(table, row, &header.value.value());
    let when = header.when.iter().map(|trigger| {
        let parameter = &trigger.parameter.text;
        let unless = optional(trigger.unless.as_ref().map(|value| quote!(#value)));
        quote!(::connector_sdk::table::Trigger { parameter: #parameter, unless: #unless })
    });
    quote!(::connector_sdk::table::Header { name: #name, value: &[#(#value),*], when: &[#(#when),*] })
}

fn field(table: &Table, row: &Row, field: &Field) -> TokenStream {
    let spec = &field.spec;
    let name = &spec.name;
    let location = location(row, field);
    let required = !spec.optional;
    let integer = matches!(&spec.kind, Kind::Integer)
        || matches!(&spec.kind, Kind::List(item) if matches!(**item, Kind::Integer));
    let lists = lists(table, row, field);
    let max_bytes = optional(spec.max_bytes.map(|bytes| {
        let bytes = Literal::u32_unsuffixed(bytes);
        quote!(#bytes)
    }));
    let default = optional_text(spec.default.as_ref().filter(|_| field.sent).map(Value::to_string));
    let nullable = spec.nullable;
    quote!(::connector_sdk::table::Field {
        name: #name,
        location: ::connector_sdk::table::Location::#location,
        required: #required,
        integer: #integer,
        lists: ::connector_sdk::table::Lists::#lists,
        max_bytes: #max_bytes,
        default: #default,
        nullable: #nullable,
    })
}

fn lists(table: &Table, row: &Row, field: &Field) -> TokenStream {
    let lists = match (&field.lists, &field.spec.kind) {
        (None, _) if row.location(field) == Location::Body => return quote!(AsTheyAre),
        (Some(lists), _) => lists,
        (None, Kind::Entries(_)) => &table.lists,
        (None, _) => return quote!(Joined(",")),
    };
    match lists {
        Lists::Joined(separator) => quote!(Joined(#separator)),
        Lists::Repeated => quote!(Repeated),
    }
}

fn location(row: &Row, field: &Field) -> TokenStream {
    let entries = matches!(field.spec.kind, Kind::Entries(_) | Kind::TextEntries(_));
    let upstream_name = field.sent_name();
    match row.location(field) {
        Location::Path => {
            let encoding = match field.encoding {
                Encoding::Segment => quote!(Segment),
                Encoding::Path => quote!(Path),
                Encoding::ODataString => quote!(ODataString),
            };
            quote!(Path(::connector_sdk::table::Encoding::#encoding))
        }
        Location::Query if entries => quote!(QueryEntries),
        Location::Query => quote!(Query(#upstream_name)),
        Location::Header if entries => quote!(HeaderEntries),
        Location::Header => quote!(Header(#upstream_name)),
        Location::Body if row.is_whole_body(field) => quote!(WholeBody),
        Location::Body if field.is_file() => quote!(File(#upstream_name)),
        Location::Body => {
            let names = field.body_path().into_iter().map(|name| Value::String(name).to_string());
            quote!(Body(&[#(#names),*]))
        }
    }
}

fn body(row: &Row) -> TokenStream {
    if let Some(index) = row.fields.iter().position(|field| row.is_whole_body(field)) {
        return quote!(::connector_sdk::table::Body::Whole(#index));
    }
    let in_body = |field: &Field| row.location(field) == Location::Body && !field.is_file();
    let fields = row.fields.iter().enumerate().filter(|(_, field)| in_body(field));
    let mut members: Vec<_> = fields.map(|(index, field)| (index, field.body_path())).collect();
    if members.is_empty() && row.fixed_body.is_empty() && !row.is_multipart() {
        return quote!(::connector_sdk::table::Body::None);
    }
    group(&mut members, 0);
    let order = members.iter().map(|(index, _)| index);
    let fixed: Vec<String> = row
        .fixed_body
        .iter()
        .map(|(name, json)| format!("{}:{}", Value::from(name.text.as_str()), json.value))
        .collect();
    let fixed = fixed.join(",");
    quote!(::connector_sdk::table::Body::Members { fixed: #fixed, fields: &[#(#order),*] })
}

/// Groups the fields of one inner object, and otherwise keeps the order.
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
