//! One field.

use contract_rules::name;
use contract_rules::schema::{Entry, Kind, Part};

use crate::errors::Errors;
use crate::parse::field::{Encoding, Field, Location};
use crate::parse::row::Row;

/// A field of a row.
pub(super) fn check(row: &Row, field: &Field, errors: &mut Errors) {
    errors.rule(field.name_span, name::field(&field.spec.name, row.envelope));
    if !row.is_request() && field.sent {
        errors.at(field.span(Part::Default), "`sent` is for requests: a function gets the default of an absent field");
    }
    if row.is_request() && field.assumed {
        errors.at(
            field.span(Part::Default),
            "`assumed` is for functions: every default of a request that is not `sent` is assumed by the service",
        );
    }
    if let Kind::Entries(entries) | Kind::TextEntries(entries) = &field.spec.kind {
        check_entries(row, field, entries, errors);
    }
    if field.spec.default.is_some() && !field.spec.optional {
        errors.at(field.span(Part::Default), format!("a field with a default is optional: `{}?`", field.spec.name));
    }
    if field.spec.nullable && !row.is_request() {
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

/// The names of entries, and that a request has a place for them.
fn check_entries(row: &Row, field: &Field, entries: &[Entry], errors: &mut Errors) {
    let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    let twice = names.iter().enumerate().find(|(at, name)| names.iter().take(*at).any(|known| known == *name));
    if let Some((_, name)) = twice {
        errors.at(field.kind_span, format!("the entry `{name}` is there twice"));
    }
    if row.is_request() && !matches!(row.location(field), Location::Query | Location::Header) {
        errors.at(
            field.kind_span,
            "entries become query parameters or headers; for a member of the body write its fields in braces",
        );
    }
}
