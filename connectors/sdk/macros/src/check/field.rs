//! One field.

use contract_rules::name;
use contract_rules::schema::{Kind, Part};

use crate::errors::Errors;
use crate::parse::field::{Encoding, Field, Location};
use crate::parse::row::Row;

/// A field of a row.
pub(super) fn check(row: &Row, field: &Field, errors: &mut Errors) {
    errors.rule(field.name_span, name::field(&field.spec.name, row.envelope));
    if row.is_request() {
        let before = errors.count();
        check_location(row, field, errors);
        if field.assumed && errors.count() == before {
            errors.at(
                field.span(Part::Default),
                "`assumed` is for functions: every default of a request that is not `sent` is assumed by the service",
            );
        }
    } else if field.sent {
        errors.at(field.span(Part::Default), "`sent` is for requests: a function gets the default of an absent field");
    }
    if field.spec.default.is_some() && !field.spec.optional {
        errors.at(field.span(Part::Default), format!("a field with a default is optional: `{}?`", field.spec.name));
    }
    let takes_null = row.is_request() && field.spec.optional && row.location(field) == Location::Body;
    if field.spec.nullable && (!takes_null || row.is_whole_body(field)) {
        errors.at(
            field.name_span,
            "`nullable` is for an optional member of the body of a request: `name?: type nullable`",
        );
    }
    check_type(field, errors);
    if field.encoding != Encoding::Segment && !matches!(field.spec.kind, Kind::String) {
        errors.at(field.kind_span, "`keeps_slashes` and `odata_string` are for a string");
    }
}

/// The parts of a field that belong to its type, and the fields inside of it.
pub(super) fn check_type(field: &Field, errors: &mut Errors) {
    for (part, broken) in field.spec.inconsistencies() {
        errors.at(field.span(part), broken);
    }
    if let Some(pattern) = &field.spec.pattern
        && let Err(error) = regex_syntax::Parser::new().parse(pattern)
    {
        let reason = match &error {
            regex_syntax::Error::Parse(error) => error.kind().to_string(),
            regex_syntax::Error::Translate(error) => error.kind().to_string(),
            other => other.to_string(),
        };
        errors.at(field.span(Part::Pattern), format!("the pattern is not a regular expression: {reason}"));
    }
    if field.members.iter().any(Field::is_file) {
        errors.at(field.kind_span, "a `file` is a field of a row, and not inside of an object");
    }
    for (index, member) in field.members.iter().enumerate() {
        if field.members.iter().take(index).any(|known| known.spec.name == member.spec.name) {
            errors.at(member.name_span, format!("`{}` is declared twice", member.spec.name));
        }
        if let Some(span) = member.row_modifier {
            errors.at(span, "an object is sent as it is, so this modifier does not belong to a field inside of it");
        }
        if matches!(member.spec.kind, Kind::Entries(_)) {
            errors.at(member.kind_span, "`entries` do not belong into an object; write its fields in braces");
        }
        check_type(member, errors);
    }
}

fn check_location(row: &Row, field: &Field, errors: &mut Errors) {
    let name = &field.spec.name;
    let in_template = row.placeholders().contains(name);
    let location = row.location(field);
    let location_span = field.location.map_or(field.name_span, |(_, span)| span);
    match (in_template, location == Location::Path) {
        (true, false) => {
            return errors.at(location_span, format!("the path has `{{{name}}}`, so the field is a part of it"));
        }
        (false, true) => return errors.at(location_span, format!("the path has no `{{{name}}}`")),
        _ => {}
    }
    if location == Location::Path && field.spec.optional && !field.sent {
        errors.at(field.name_span, format!("the path needs `{name}`, so the field is not optional"));
    }
    let entries = matches!(field.spec.kind, Kind::Entries(_) | Kind::TextEntries(_));
    let is_object = |kind: &Kind| matches!(kind, Kind::Object | Kind::Members(_));
    let objects = is_object(&field.spec.kind) || matches!(&field.spec.kind, Kind::List(item) if is_object(item));
    if field.is_file() {
        if location != Location::Body || !row.is_multipart() {
            errors
                .at(field.kind_span, "a `file` is in the body of a row with `multipart`; a function can take one too");
        }
        return;
    }
    match location {
        Location::Path if objects || entries => errors.at(field.kind_span, "an object cannot be a part of a path"),
        Location::Query | Location::Header if objects => errors.at(
            field.kind_span,
            "an object cannot be a parameter or a header; `entries[name, …]` makes one of each of its members",
        ),
        Location::Body if entries => errors.at(
            field.kind_span,
            "entries become query parameters or headers; for a member of the body write its fields in braces",
        ),
        _ => {}
    }
}
