//! One field.

use contract_rules::schema::{Kind, Part, check_pattern};
use rows::table::TableRow;

use crate::errors::Errors;
use crate::parse::field::Field;
use crate::parse::row::Row;

/// A field of a row. `plain` is the row without spans.
pub(super) fn check(row: &Row, plain: &TableRow, field: &Field, errors: &mut Errors) {
    for (part, broken) in plain.check_field(&field.without_spans()) {
        errors.at(field.span_of(part), broken);
    }
    if !row.is_request() && field.sent {
        errors.at(field.span(Part::Default), "`sent` is for requests: a function gets the default of an absent field");
    }
    if row.is_request() && field.assumed {
        errors.at(
            field.span(Part::Default),
            "`assumed` is for functions: every default of a request that is not `sent` is assumed by the service",
        );
    }
    if field.spec.nullable && !row.is_request() {
        errors.at(
            field.name_span,
            "`nullable` is for an optional member of the body of a request: `name?: type nullable`",
        );
    }
    check_type(field, errors);
}

/// The parts of a field that belong to its type, and the fields inside of it.
pub(super) fn check_type(field: &Field, errors: &mut Errors) {
    for (part, broken) in field.spec.inconsistencies() {
        errors.at(field.span(part), broken);
    }
    if let Some(pattern) = &field.spec.pattern {
        errors.rule(field.span(Part::Pattern), check_pattern(pattern));
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
