//! The request of a row as constant data.

use std::borrow::Cow;

use contract_rules::schema::Kind;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use proc_macro2::TokenStream;
use quote::quote;
use rows::{
    BodyEncoding, Declaration, DeclaredHeader, DefaultQuery, Encoding, Field as RowField, Header as RowHeader,
    Lists as RowLists, Location as Place, Method, Payload, Piece, Row as Request, Trigger,
};
use serde_json::Value;
use syn::{Ident, LitStr};

use super::optional;
use crate::parse::field::{self, Field, Lists, Location};
use crate::parse::row::{BodyFormat, Row};
use crate::parse::statement::Header;
use crate::parse::table::Table;

/// The characters that are not encoded: RFC 3986's unreserved ones, and `$` and `@`, which OData
/// parameters begin with.
const QUERY: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'$').remove(b'@');

/// The row that a table declares.
fn declaration(table: &Table, row: &Row, method: &Ident, upstream: &Ident, path: &LitStr) -> Declaration {
    let fixed = row.fixed_body.iter().map(|(name, json)| format!("{}:{}", Value::from(name.text.as_str()), json.value));
    let fixed = fixed.collect::<Vec<_>>().join(",");
    Declaration {
        method: match method.to_string().as_str() {
            "GET" => Method::Get,
            "HEAD" => Method::Head,
            "POST" => Method::Post,
            "PUT" => Method::Put,
            "PATCH" => Method::Patch,
            _ => Method::Delete,
        },
        upstream: upstream.to_string(),
        path: path.value(),
        fields: row.fields.iter().map(|field| self::field(table, row, field)).collect(),
        default_query: default_query(row),
        headers: table.headers.iter().map(header).collect(),
        fixed_body: (!row.fixed_body.is_empty()).then(|| format!("{{{fixed}}}")),
        encoding: match row.body_format {
            None => BodyEncoding::Json,
            Some((BodyFormat::Form, _)) => BodyEncoding::Form,
            Some((BodyFormat::Multipart, _)) => BodyEncoding::Multipart,
        },
    }
}

fn default_query(row: &Row) -> Vec<DefaultQuery> {
    let default = |(name, json): &(crate::parse::Name, crate::parse::json::Json)| {
        let value = match &json.value {
            Value::String(text) => text.clone(),
            value => value.to_string(),
        };
        let parameter = format!("{}={}", utf8_percent_encode(&name.text, QUERY), utf8_percent_encode(&value, QUERY));
        let unless = std::iter::once(name).chain(&row.default_query_unless).map(|name| Cow::Owned(name.text.clone()));
        DefaultQuery { parameter: parameter.into(), unless: unless.collect() }
    };
    row.default_query.iter().map(default).collect()
}

fn header(header: &Header) -> DeclaredHeader {
    let when = header.when.iter().map(|trigger| Trigger {
        parameter: trigger.parameter.text.clone().into(),
        unless: trigger.unless.as_ref().map(|value| value.value().into()),
    });
    DeclaredHeader { name: header.name.value(), value: header.value.value(), when: when.collect() }
}

fn field(table: &Table, row: &Row, field: &Field) -> RowField {
    let spec = &field.spec;
    RowField {
        name: spec.name.clone().into(),
        location: location(row, field),
        required: !spec.optional,
        integer: matches!(&spec.kind, Kind::Integer)
            || matches!(&spec.kind, Kind::List(item) if matches!(**item, Kind::Integer)),
        lists: lists(table, row, field),
        max_bytes: spec.max_bytes.and_then(|bytes| usize::try_from(bytes).ok()),
        default: spec.default.as_ref().filter(|_| field.sent).map(|json| json.to_string().into()),
        nullable: spec.nullable,
    }
}

fn lists(table: &Table, row: &Row, field: &Field) -> RowLists {
    let lists = match (&field.lists, &field.spec.kind) {
        (None, _) if row.location(field) == Location::Body => return RowLists::AsTheyAre,
        (Some(lists), _) => lists,
        (None, Kind::Entries(_)) => &table.lists,
        (None, _) => return RowLists::Joined(",".into()),
    };
    match lists {
        Lists::Joined(separator) => RowLists::Joined(separator.clone().into()),
        Lists::Repeated => RowLists::Repeated,
    }
}

fn location(row: &Row, field: &Field) -> Place {
    let entries = matches!(field.spec.kind, Kind::Entries(_) | Kind::TextEntries(_));
    let upstream_name = field.sent_name();
    match row.location(field) {
        Location::Path => Place::Path(match field.encoding {
            field::Encoding::Segment => Encoding::Segment,
            field::Encoding::Path => Encoding::Path,
            field::Encoding::ODataString => Encoding::ODataString,
        }),
        Location::Query if entries => Place::QueryEntries,
        Location::Query => Place::Query(upstream_name.into()),
        Location::Header if entries => Place::HeaderEntries,
        Location::Header => Place::Header(upstream_name.into()),
        Location::Body if row.is_whole_body(field) => Place::WholeBody,
        Location::Body if field.is_file() => Place::File(upstream_name.into()),
        Location::Body => Place::Body(field.body_path().into_iter().map(Cow::Owned).collect()),
    }
}

/// The row as a constant.
pub(super) fn request(table: &Table, row: &Row, method: &Ident, upstream: &Ident, path: &LitStr) -> TokenStream {
    let Request { method, upstream, path, fixed_query, fields, default_query, headers, payload, encoding } =
        Request::of(&declaration(table, row, method, upstream, path));
    let (method, encoding) = (name(&method), name(&encoding));
    let (upstream, fixed_query) = (text(&upstream), text(&fixed_query));
    let path = list(path.iter().map(|piece| self::piece(table, piece)));
    let fields = list(fields.iter().map(constant_field));
    let default_query = list(default_query.iter().map(|DefaultQuery { parameter, unless }| {
        let (parameter, unless) = (text(parameter), list(unless.iter().map(text)));
        quote!(::connector_sdk::table::DefaultQuery { parameter: #parameter, unless: #unless })
    }));
    let headers = list(headers.iter().map(|header| constant_header(table, header)));
    let payload = match payload {
        Payload::None => quote!(None),
        Payload::Whole(index) => quote!(Whole(#index)),
        Payload::Members { fixed, fields } => {
            let (fixed, fields) = (text(&fixed), list(fields.iter().map(|index| quote!(#index))));
            quote!(Members { fixed: #fixed, fields: #fields })
        }
    };
    quote! {
        ::connector_sdk::table::Row {
            method: ::connector_sdk::table::RowMethod::#method,
            upstream: #upstream,
            path: #path,
            fixed_query: #fixed_query,
            fields: #fields,
            default_query: #default_query,
            headers: #headers,
            payload: ::connector_sdk::table::Payload::#payload,
            encoding: ::connector_sdk::table::BodyEncoding::#encoding,
        }
    }
}

/// A header of the table, for requests of functions.
pub(super) fn table_header(table: &Table, header: &Header) -> TokenStream {
    constant_header(table, &RowHeader::from(&self::header(header)))
}

fn constant_header(table: &Table, header: &RowHeader) -> TokenStream {
    let name = text(&header.name);
    let value = list(header.value.iter().map(|piece| self::piece(table, piece)));
    let when = list(header.when.iter().map(|Trigger { parameter, unless }| {
        let (parameter, unless) = (text(parameter), optional(unless.as_ref().map(text)));
        quote!(::connector_sdk::table::Trigger { parameter: #parameter, unless: #unless })
    }));
    quote!(::connector_sdk::table::Header { name: #name, value: #value, when: #when })
}

fn piece(table: &Table, piece: &Piece) -> TokenStream {
    match piece {
        Piece::Text(fixed) => {
            let fixed = text(fixed);
            quote!(::connector_sdk::table::Piece::Text(#fixed))
        }
        Piece::Field(index) => quote!(::connector_sdk::table::Piece::Field(#index)),
        Piece::Setting { name, .. } => {
            let declared = table.settings.iter().find(|known| known.spec.name == *name);
            let default = declared.and_then(|known| known.spec.default.as_ref()).map(Value::to_string);
            let (name, default) = (text(name), optional(default.map(text)));
            quote!(::connector_sdk::table::Piece::Setting { name: #name, default: #default })
        }
    }
}

fn constant_field(field: &RowField) -> TokenStream {
    let RowField { name, location, required, integer, lists, max_bytes, default, nullable } = field;
    let name = text(name);
    let location = match location {
        Place::Path(encoding) => {
            let encoding = self::name(encoding);
            quote!(Path(::connector_sdk::table::Encoding::#encoding))
        }
        Place::Query(name) => named("Query", name),
        Place::File(name) => named("File", name),
        Place::Header(name) => named("Header", name),
        Place::QueryEntries => quote!(QueryEntries),
        Place::HeaderEntries => quote!(HeaderEntries),
        Place::WholeBody => quote!(WholeBody),
        Place::Body(steps) => {
            let steps = list(steps.iter().map(text));
            quote!(Body(#steps))
        }
    };
    let lists = match lists {
        RowLists::AsTheyAre => quote!(AsTheyAre),
        RowLists::Joined(separator) => named("Joined", separator),
        RowLists::Repeated => quote!(Repeated),
    };
    let max_bytes = optional(max_bytes.map(|bytes| quote!(#bytes)));
    let default = optional(default.as_ref().map(text));
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

fn text(text: impl AsRef<str>) -> TokenStream {
    let text = text.as_ref();
    quote!(::std::borrow::Cow::Borrowed(#text))
}

fn list(items: impl Iterator<Item = TokenStream>) -> TokenStream {
    quote!(::std::borrow::Cow::Borrowed(&[#(#items),*]))
}

/// The variant of an enumeration without values.
fn name(variant: &impl std::fmt::Debug) -> Ident {
    Ident::new(&format!("{variant:?}"), proc_macro2::Span::call_site())
}

fn named(variant: &str, value: &str) -> TokenStream {
    let (variant, value) = (Ident::new(variant, proc_macro2::Span::call_site()), text(value));
    quote!(#variant(#value))
}
