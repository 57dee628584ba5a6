//! The request of a row as constant data.

use proc_macro2::TokenStream;
use quote::quote;
use rows::{
    Declaration, DefaultQuery, Field, Header as RowHeader, Lists, Location, Payload, Piece, Row as Request, Trigger,
};
use serde_json::Value;
use syn::Ident;

use super::optional;
use crate::parse::statement::Header;
use crate::parse::table::Table;

/// The row as a constant.
pub(super) fn request(table: &Table, declaration: &Declaration) -> TokenStream {
    let Request { method, upstream, path, fixed_query, fields, default_query, headers, payload, encoding } =
        Request::of(declaration);
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
    constant_header(table, &RowHeader::from(&header.without_spans()))
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

fn constant_field(field: &Field) -> TokenStream {
    let Field { name, location, required, integer, lists, max_bytes, default, nullable } = field;
    let name = text(name);
    let location = match location {
        Location::Path(encoding) => {
            let encoding = self::name(encoding);
            quote!(Path(::connector_sdk::table::Encoding::#encoding))
        }
        Location::Query(name) => named("Query", name),
        Location::File(name) => named("File", name),
        Location::Header(name) => named("Header", name),
        Location::QueryEntries => quote!(QueryEntries),
        Location::HeaderEntries => quote!(HeaderEntries),
        Location::WholeBody => quote!(WholeBody),
        Location::Body(steps) => {
            let steps = list(steps.iter().map(text));
            quote!(Body(#steps))
        }
    };
    let lists = match lists {
        Lists::AsTheyAre => quote!(AsTheyAre),
        Lists::Joined(separator) => named("Joined", separator),
        Lists::Repeated => quote!(Repeated),
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
