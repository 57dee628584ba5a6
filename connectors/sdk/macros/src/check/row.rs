//! One operation.

use contract_rules::schema::{self, Kind};
use contract_rules::{link, name, path, pointer};
use proc_macro2::Span;
use rows::table::TableRow;
use serde_json::Value;
use syn::LitStr;

use super::{field, template};
use crate::errors::Errors;
use crate::parse::clause::{NextPage, Pages};
use crate::parse::json::Json;
use crate::parse::row::{Action, Row};
use crate::parse::table::{Table, known};

pub(super) fn check(table: &Table, row: &Row, errors: &mut Errors) {
    let before = errors.count();
    let span = row.name.span;
    errors.rule(span, name::operation(&row.name.text));
    if row.documentation.is_empty() {
        errors.at(span, "say in a `///` comment what the operation does; the first paragraph is the summary");
    }
    if let Some(limit) = &row.rate_limit
        && !table.rate_limits.iter().any(|known| known.name == *limit)
    {
        let known = known(table.rate_limits.iter().map(|limit| &limit.name));
        errors.at(limit.span(), format!("there is no rate limit `{limit}`; {known}"));
    }
    let request = row.without_spans();
    for (index, declared) in row.fields.iter().enumerate() {
        if row.fields.iter().take(index).any(|known| known.spec.name == declared.spec.name) {
            errors.at(declared.name_span, format!("`{}` is declared twice", declared.spec.name));
        }
        field::check(row, request.as_ref(), declared, errors);
    }
    check_action(table, row, request.as_ref(), errors);
    if let Some(span) = row.background {
        check_background(row, span, errors);
    }
    if let Some(schema) = row.answer_schema.as_ref().filter(|schema| !schema.value.is_object()) {
        errors.at(schema.span, "the schema of an answer is an object: `{ type: \"object\", … }`");
    }
    // Examples and pages refer to the fields, so these checks would report a mistake in a field
    // again.
    if errors.count() > before {
        return;
    }
    if let Some(pages) = &row.pages {
        check_pages(row, pages, errors);
    }
    if let Some(example) = &row.example {
        check_example(row, example, errors);
    }
}

fn check_action(table: &Table, row: &Row, request: Option<&TableRow>, errors: &mut Errors) {
    match &row.action {
        Action::Request { upstream, path, .. } => {
            if !table.upstreams.iter().any(|known| known.name == *upstream) {
                let known = known(table.upstreams.iter().map(|upstream| &upstream.name));
                errors.at(upstream.span(), format!("there is no upstream `{upstream}`; {known}"));
            }
            check_path(table, row, path, errors);
            if let Some(request) = request {
                check_fields(row, request, errors);
            }
        }
        Action::Function(function) => {
            if row.effect.is_none() {
                let span = function.segments.first().map_or(row.name.span, |segment| segment.ident.span());
                errors.at(
                    span,
                    "say before `fn` what the function does to the user's data: `read`, `write` or `destructive`",
                );
            }
            let of_request = [
                row.check.is_some(),
                row.via.is_some(),
                row.body_format.is_some(),
                !row.fixed_body.is_empty(),
                !row.default_query.is_empty(),
            ];
            if of_request.contains(&true) {
                errors.at(
                    row.name.span,
                    "`check`, `via`, `form`, `multipart`, `fixed_body` and `default_query` are for rows with a request",
                );
            }
        }
        Action::Unknown => {}
    }
}

fn check_path(table: &Table, row: &Row, literal: &LitStr, errors: &mut Errors) {
    let before = errors.count();
    let text = literal.value();
    template::check(table, literal, Some(row), errors);
    let (_, query) = text.split_once('?').unwrap_or((&text, ""));
    if query.contains(['{', '}']) {
        errors.at(literal.span(), "the query in a path is fixed; declare the other parameters as fields");
    }
    if errors.count() == before {
        errors.rule(literal.span(), path::check(&template::filled(&text)));
    }
}

/// The rules between the fields of a request.
fn check_fields(row: &Row, request: &TableRow, errors: &mut Errors) {
    let format = row.body_format.map_or(row.name.span, |(_, span)| span);
    for (index, broken) in request.check_body() {
        errors.at(index.and_then(|index| row.fields.get(index)).map_or(format, |field| field.name_span), broken);
    }
    for (index, part, broken) in request.check_sent_names() {
        if let Some(field) = row.fields.get(index) {
            errors.at(field.span_of(part), broken);
        }
    }
}

/// The gateway reads the field by which callers wait.
fn check_background(row: &Row, span: Span, errors: &mut Errors) {
    const FORM: &str = "a row with `background` has the field `waiting?: boolean default false`, by which callers wait";
    match row.fields.iter().find(|field| field.spec.name == "waiting") {
        None => errors.at(span, FORM),
        Some(field) if !matches!(field.spec.kind, Kind::Boolean) => errors.at(field.kind_span, FORM),
        Some(_) => {}
    }
}

/// The pointers have the form of pointers, and the last leads to a declared field.
fn check_pages(row: &Row, pages: &Pages, errors: &mut Errors) {
    let next = match &pages.next {
        // The link is in the header of this name.
        NextPage::Link { pointer, .. } if pointer.value() == link::HEADER => None,
        NextPage::Cursor(pointer) | NextPage::Link { pointer, .. } => Some(pointer),
        NextPage::PageNumber(_) | NextPage::Offset => None,
    };
    let before = errors.count();
    for literal in [Some(&pages.items), next, Some(&pages.input)].into_iter().flatten() {
        errors.rule(literal.span(), pointer::check(&literal.value()));
    }
    if errors.count() > before {
        return;
    }
    let input = pages.input.value();
    let steps: Vec<_> = pointer::steps(&input).collect();
    let fields: Vec<schema::Field> = row.fields.iter().map(|field| field.spec.clone()).collect();
    if let Err(message) = leads_to_field(&row.name.text, &fields, &steps) {
        errors.at(pages.input.span(), message);
    }
}

fn leads_to_field(owner: &str, fields: &[schema::Field], steps: &[impl AsRef<str>]) -> Result<(), String> {
    let Some((name, rest)) = steps.split_first() else {
        return Err(format!("say which field of `{owner}` takes the next page, as in `/page`"));
    };
    let name = name.as_ref();
    let Some(field) = fields.iter().find(|field| field.name == name) else {
        return Err(format!("`{owner}` has no field `{name}`"));
    };
    match (&field.kind, rest) {
        (Kind::Members(fields), rest) => leads_to_field(name, fields, rest),
        (Kind::Entries(entries) | Kind::TextEntries(entries), [entry]) => {
            let known = entries.iter().any(|known| known.name == entry.as_ref());
            if known { Ok(()) } else { Err(format!("`{name}` has no entry `{}`", entry.as_ref())) }
        }
        (Kind::Entries(_) | Kind::TextEntries(_), _) => {
            Err(format!("say which entry takes the next page: `/{name}/…`"))
        }
        (Kind::Object, _) | (_, []) => Ok(()),
        _ => Err(format!("`{name}` is not an object")),
    }
}

fn check_example(row: &Row, example: &Json, errors: &mut Errors) {
    let fields: Vec<schema::Field> = row.fields.iter().map(|field| field.spec.clone()).collect();
    if let Value::Object(_) = &example.value {
        if let Err(mismatch) = schema::accept_object(&fields, &example.value) {
            errors.at(example.span_at(&mismatch.steps), format!("the example does not fit: {}", mismatch.reason));
        }
    } else {
        errors.at(example.span, "an example is an object: `{ … }`");
    }
}
