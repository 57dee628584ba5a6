//! One operation.

use contract_rules::schema::{self, Kind};
use contract_rules::{header, link, name, path, pointer};
use proc_macro2::Span;
use serde_json::Value;
use syn::LitStr;

use super::{field, template};
use crate::errors::Errors;
use crate::parse::clause::{NextPage, Pages};
use crate::parse::field::{Field, Location};
use crate::parse::json::Json;
use crate::parse::row::{Action, BodyFormat, Row};
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
    for (index, declared) in row.fields.iter().enumerate() {
        if row.fields.iter().take(index).any(|known| known.spec.name == declared.spec.name) {
            errors.at(declared.name_span, format!("`{}` is declared twice", declared.spec.name));
        }
        field::check(row, declared, errors);
    }
    check_action(table, row, errors);
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

fn check_action(table: &Table, row: &Row, errors: &mut Errors) {
    match &row.action {
        Action::Request { upstream, path, .. } => {
            if !table.upstreams.iter().any(|known| known.name == *upstream) {
                let known = known(table.upstreams.iter().map(|upstream| &upstream.name));
                errors.at(upstream.span(), format!("there is no upstream `{upstream}`; {known}"));
            }
            check_path(table, row, path, errors);
            check_body(row, errors);
            check_sent_names(row, errors);
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

fn check_body(row: &Row, errors: &mut Errors) {
    let in_body = |field: &&Field| row.location(field) == Location::Body;
    if let Some((format, span)) = row.body_format
        && row.fixed_body.is_empty()
        && !row.fields.iter().any(|field| in_body(&field))
    {
        let word = if format == BodyFormat::Form { "form" } else { "multipart" };
        errors.at(span, format!("a row with `{word}` has a field in its body, which is sent as a form"));
    }
    let Some(whole) = row.fields.iter().find(|field| row.is_whole_body(field)) else { return };
    for member in row.fields.iter().filter(in_body).filter(|field| !row.is_whole_body(field)) {
        errors.at(
            member.name_span,
            format!(
                "`body` is the whole request body, so `{0}` cannot be a member of it; write `{0}` with `in query`, or leave one out",
                member.spec.name
            ),
        );
    }
    if !row.fixed_body.is_empty() {
        errors.at(whole.name_span, "`body` is sent as it is, so it cannot have the members of `fixed_body`");
    }
}

/// Two fields of a row must not have the same place in its request, nor one inside of the other.
fn check_sent_names(row: &Row, errors: &mut Errors) {
    for (index, field) in row.fields.iter().enumerate() {
        let location = row.location(field);
        let earlier = row.fields.iter().take(index);
        // A field of entries is sent under the names of its entries.
        let is_sent = |known: &&Field| !matches!(known.spec.kind, Kind::Entries(_) | Kind::TextEntries(_));
        let others = earlier
            .filter(|known| row.location(known) == location && known.spec.name != field.spec.name)
            .filter(is_sent);
        match &field.spec.kind {
            Kind::Entries(entries) | Kind::TextEntries(entries) => {
                let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
                let twice =
                    names.iter().enumerate().find(|(at, name)| names.iter().take(*at).any(|known| known == *name));
                if let Some((_, name)) = twice {
                    errors.at(field.kind_span, format!("the entry `{name}` is there twice"));
                }
                if location == Location::Header {
                    names.iter().for_each(|name| errors.rule(field.kind_span, header::name(name)));
                }
            }
            _ if row.is_whole_body(field) => {}
            _ => check_sent_name(location, field, others, errors),
        }
    }
}

fn check_sent_name<'a>(
    location: Location,
    field: &Field,
    mut others: impl Iterator<Item = &'a Field>,
    errors: &mut Errors,
) {
    let (name, span) = (field.sent_name(), field.sent_name_span());
    let same = |known: &&Field| match location {
        Location::Path => false,
        Location::Header => known.sent_name().eq_ignore_ascii_case(&name),
        Location::Query | Location::Body => known.sent_name() == name,
    };
    match location {
        Location::Path => return,
        Location::Query if name.is_empty() => return errors.at(span, "the name of a parameter is not empty"),
        Location::Query => {}
        Location::Header => errors.rule(span, header::name(&name)),
        Location::Body if field.body_path().iter().any(String::is_empty) => {
            return errors
                .at(span, "a part of the name is empty: dots lead into inner objects, as in `color.textColor`");
        }
        Location::Body => {}
    }
    let path = field.body_path();
    let around = |known: &&Field| {
        let known = known.body_path();
        location == Location::Body && (known.starts_with(&path) || path.starts_with(&known))
    };
    let Some(known) = others.find(|known| same(known) || around(known)) else { return };
    let declared = &known.spec.name;
    if same(&known) {
        errors.at(
            span,
            format!("the field `{declared}` is sent under this name too; give one of them another name with `as`"),
        );
    } else {
        errors.at(
            span,
            format!(
                "the field `{declared}` is sent as `{}`, and one of the two would be inside of the other",
                known.sent_name()
            ),
        );
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
