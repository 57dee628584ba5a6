//! One operation.

use contract_rules::{link, name, pointer, schema};
use proc_macro2::Span;
use rows::table::{TableRow, WAITING, background, next_page};
use rows::{Connector, Place};
use serde_json::Value;
use syn::Ident;

use super::field;
use crate::errors::Errors;
use crate::parse::clause::{NextPage, Pages};
use crate::parse::json::Json;
use crate::parse::row::{Action, Effect, Row};
use crate::parse::table::{Table, known};

pub(super) fn check(table: &Table, row: &Row, errors: &mut Errors) {
    let before = errors.count();
    let span = row.name.span;
    errors.rule(span, name::operation(&row.name.text));
    if row.documentation.is_empty() && !matches!(row.action, Action::Internal { .. }) {
        errors.at(span, "say in a `///` comment what the operation does; the first paragraph is the summary");
    }
    if let Some(limit) = &row.rate_limit
        && !table.rate_limits.iter().any(|known| known.name == *limit)
    {
        let known = known(table.rate_limits.iter().map(|limit| &limit.name));
        errors.at(limit.span(), format!("there is no rate limit `{limit}`; {known}"));
    }
    let plain = row.without_spans();
    for (index, declared) in row.fields.iter().enumerate() {
        let is_twice = || row.fields.iter().take(index).any(|known| known.spec.name == declared.spec.name);
        if !row.is_request() && is_twice() {
            errors.at(declared.name_span, format!("`{}` is declared twice", declared.spec.name));
        }
        field::check(row, &plain, declared, errors);
    }
    check_action(table, row, &plain, errors);
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

fn check_action(table: &Table, row: &Row, plain: &TableRow, errors: &mut Errors) {
    match &row.action {
        Action::Request { upstream, .. } => check_request(table, row, plain, upstream, errors),
        Action::Function(function) => {
            if row.effect.is_none() {
                let span = function.segments.first().map_or(row.name.span, |segment| segment.ident.span());
                errors.at(
                    span,
                    "say before `fn` what the function does to the user's data: `read`, `write` or `destructive`",
                );
            }
            if let Some(clauses) = row.clauses_of_requests() {
                errors.at(row.name.span, format!("{clauses} are for rows with a request"));
            }
        }
        Action::Internal { span, .. } => check_internal(row, *span, errors),
        Action::Unknown => {}
    }
}

/// The contract has the input and the answer of such a row, which callers cannot invoke.
fn check_internal(row: &Row, span: Span, errors: &mut Errors) {
    if row.effect.is_some() || row.has_block || row.words.iter().any(|word| *word != "rate_limit") {
        errors.at(span, "a row with `internal` has no effect and no fields, and of the clauses only `rate_limit`");
    }
}

/// The rules of rows, which are the same in all languages.
fn check_request(table: &Table, row: &Row, plain: &TableRow, upstream: &Ident, errors: &mut Errors) {
    let upstreams: Vec<String> = table.upstreams.iter().map(|upstream| upstream.name.to_string()).collect();
    let upstreams: Vec<&str> = upstreams.iter().map(String::as_str).collect();
    let fields: Vec<schema::Field> = row.fields.iter().map(|field| field.spec.clone()).collect();
    let connector = Connector { upstreams: &upstreams, settings: &settings(table), input: &schema::object(&fields) };
    let declaration = table.declaration(plain, upstream);
    let mut mistakes = rows::Row::declared(&declaration, &connector).err().unwrap_or_default();
    if row.effect == Some(Effect::Read) {
        mistakes.extend(declaration.check_read().err());
    }
    for mistake in mistakes {
        if let Some(span) = span_of(row, plain, &mistake.place) {
            errors.at(span, mistake);
        }
    }
}

/// The parameters of `when` in the headers are ones of rows. The table has no other mistake: a row with one may lack a
/// parameter.
pub(super) fn check_triggers(table: &Table, errors: &mut Errors) {
    let declared = table.rows.iter().filter_map(|row| {
        let Action::Request { upstream, .. } = &row.action else { return None };
        let fields: Vec<schema::Field> = row.fields.iter().map(|field| field.spec.clone()).collect();
        Some((table.declaration(&row.without_spans(), upstream), schema::object(&fields)))
    });
    let declared: Vec<_> = declared.collect();
    for mistake in rows::check_triggers(declared.iter().map(|(row, input)| (row, input))) {
        let is_named = |name: &str| mistake.place == Place::Header(name.to_owned());
        let header = table.headers.iter().find(|header| !header.when.is_empty() && is_named(&header.name.value()));
        if let Some(header) = header {
            errors.at(header.name.span(), &mistake);
        }
    }
}

/// The settings of a table, with their schemas.
pub(super) fn settings(table: &Table) -> Vec<(&str, Value)> {
    table.settings.iter().map(|setting| (setting.spec.name.as_str(), setting.spec.schema())).collect()
}

/// The words of a table that a part of its declaration comes from. `None` for headers, which all rows
/// have, and which are checked once.
fn span_of(row: &Row, plain: &TableRow, place: &Place) -> Option<Span> {
    let Action::Request { upstream, path, .. } = &row.action else { return None };
    Some(match place {
        Place::Upstream => upstream.span(),
        Place::Path => path.span(),
        Place::Field(name) => {
            let named = row.fields.iter().rfind(|field| field.spec.name == *name);
            named.map_or(row.name.span, |field| field.name_span)
        }
        Place::Header(_) => return None,
        Place::Body => {
            let whole = plain.whole_body().and_then(|index| row.fields.get(index)).map(|field| field.name_span);
            let fixed = row.fixed_body.first().map(|(name, _)| name.span);
            let format = row.body_format.map(|(_, span)| span);
            whole.or(fixed).or(format).unwrap_or(row.name.span)
        }
        Place::Row | Place::DefaultQuery => row.name.span,
    })
}

/// `span` is the one of the word `background`.
fn check_background(row: &Row, span: Span, errors: &mut Errors) {
    let fields: Vec<schema::Field> = row.fields.iter().map(|field| field.spec.clone()).collect();
    let declared = row.fields.iter().find(|field| field.spec.name == WAITING);
    errors.rule(declared.map_or(span, |field| field.kind_span), background(&fields));
}

/// The pointers have the form of pointers, and the last leads to a declared field.
fn check_pages(row: &Row, pages: &Pages, errors: &mut Errors) {
    let (next, more) = match &pages.next {
        // The link is in the header of this name.
        NextPage::Link { pointer, .. } if pointer.value() == link::HEADER => (None, None),
        NextPage::Cursor(pointer) | NextPage::Link { pointer, .. } => (Some(pointer), None),
        NextPage::PageNumber(_) | NextPage::Offset => (None, None),
        NextPage::LastItem { pointer, more } => (Some(pointer), more.as_ref()),
    };
    let before = errors.count();
    for literal in [Some(&pages.items), next, more, Some(&pages.input)].into_iter().flatten() {
        errors.rule(literal.span(), pointer::check(&literal.value()));
    }
    if let Some(more) = more.filter(|more| more.value().is_empty()) {
        errors.at(more.span(), "the answer is no boolean; say which member of it is, as in `/has_more`");
    }
    if errors.count() > before {
        return;
    }
    let fields: Vec<schema::Field> = row.fields.iter().map(|field| field.spec.clone()).collect();
    errors.rule(pages.input.span(), next_page(&row.name.text, &fields, &pages.input.value()));
}

fn check_example(row: &Row, example: &Json, errors: &mut Errors) {
    let fields: Vec<schema::Field> = row.fields.iter().map(|field| field.spec.clone()).collect();
    if let Value::Object(_) = &example.value {
        if let Err(mismatch) = schema::accept_object(&fields, &example.value) {
            errors.at(example.span_at(&mismatch.steps), mismatch.of_example());
        }
    } else {
        errors.at(example.span, "an example is an object: `{ … }`");
    }
}
