//! The row of an operation as a connector declares it, from the words of a table.

use std::borrow::Cow;

use contract_rules::schema::Kind;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rows::{
    BodyEncoding, Declaration, DeclaredHeader, DefaultQuery, Encoding, Field as RowField, Lists as RowLists,
    Location as Place, Method, Trigger,
};
use serde_json::Value;
use syn::{Ident, LitStr};

use crate::parse::field::{self, Field, Lists, Location};
use crate::parse::row::{BodyFormat, Row};
use crate::parse::statement::Header;
use crate::parse::table::Table;

/// The characters that are not encoded: RFC 3986's unreserved ones, and `$` and `@`, which OData
/// parameters begin with.
const QUERY: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'$').remove(b'@');

/// The row that a table declares.
pub(crate) fn of(table: &Table, row: &Row, method: &Ident, upstream: &Ident, path: &LitStr) -> Declaration {
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

/// A header that the table declares.
pub(crate) fn header(header: &Header) -> DeclaredHeader {
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
