//! What must hold between the parts of a table. Every error points at the word that is wrong and says what to write.

use proc_macro2::Span;
use syn::{Error, LitStr, Result};

use crate::field::{Encoding, Field, Kind, OneOf, Place};
use crate::json::{Json, Name, Value};
use crate::row::{self, Action, NextPage, Pages, Piece, Row, SETTINGS};
use crate::table::{Table, Upstream, find};

/// All errors of the table at once.
pub(crate) fn check(table: &Table) -> Result<()> {
    let mut errors = Errors(None);
    errors.add(check_head(table));
    for (index, row) in table.rows.iter().enumerate() {
        let earlier = table.rows.get(..index).unwrap_or_default();
        if earlier.iter().any(|known| known.name.text == row.name.text) {
            errors.add(err(row.name.span, format!("`{}` is declared twice", row.name.text)));
        }
        errors.add(check_row(table, row));
        for field in &row.fields {
            errors.add(check_field(table, row, field));
        }
        if let Some(example) = &row.example {
            errors.add(check_example(table, row, example));
        }
    }
    errors.0.map_or(Ok(()), Err)
}

struct Errors(Option<Error>);

impl Errors {
    fn add(&mut self, result: Result<()>) {
        let Err(error) = result else { return };
        match &mut self.0 {
            Some(first) => first.combine(error),
            None => self.0 = Some(error),
        }
    }
}

fn err<T>(span: Span, message: impl std::fmt::Display) -> Result<T> {
    Err(Error::new(span, message))
}

fn check_head(table: &Table) -> Result<()> {
    let identifier = table.identifier.to_string();
    if !identifier.starts_with(|first: char| first.is_ascii_lowercase()) || !is_name(&identifier, false) {
        return err(table.span(), "an identifier is 1 to 64 of `a-z`, `0-9` and `_`, and begins with a letter");
    }
    if table.auth.is_empty() {
        return err(table.span(), "say how users are authenticated: `auth Auth::None;` if they need no account");
    }
    if table.rows.is_empty() {
        return err(table.span(), "a connector has at least one operation");
    }
    for (index, upstream) in table.upstreams.iter().enumerate() {
        let url = upstream.base_url.value();
        let earlier = table.upstreams.get(..index).unwrap_or_default();
        base_url(&url, earlier).or_else(|message| err(upstream.base_url.span(), message))?;
        if let Some(pacing) = &upstream.pacing {
            pacing_of(pacing)?;
        }
    }
    for (index, setting) in table.settings.iter().enumerate() {
        let earlier = table.settings.get(..index).unwrap_or_default();
        check_setting(table, setting, earlier)?;
    }
    for header in &table.headers {
        template(table, &header.value, None)?;
    }
    Ok(())
}

fn check_setting(table: &Table, setting: &Field, earlier: &[Field]) -> Result<()> {
    let name = &setting.name;
    if !is_name(&name.text, false) || name.text.contains(|character: char| character.is_ascii_uppercase()) {
        return err(name.span, "a setting is 1 to 64 of `a-z`, `0-9` and `_`");
    }
    if earlier.iter().any(|known| known.name.text == name.text) {
        return err(name.span, format!("`{}` is declared twice", name.text));
    }
    if setting.optional {
        return err(name.span, "a setting has no `?`: without a default it may be absent");
    }
    if setting.documentation.is_empty() {
        return err(name.span, "say in a `///` comment what the operator sets with this");
    }
    if setting.place.is_some() || setting.upstream_name.is_some() || setting.lists.is_some() {
        return err(setting.span, "`in`, `as`, `joined` and `repeated` are for fields of a row");
    }
    if let Some(default) = setting.default.as_ref().filter(|default| default.sent || default.assumed) {
        return err(default.value.span, "`sent` and `assumed` are for fields of a row");
    }
    check_type(table, setting)?;
    default_fits(table, setting)
}

/// A base URL may begin with that of an upstream before it, as in `{api}/me`.
fn base_url(url: &str, earlier: &[Upstream]) -> std::result::Result<(), String> {
    if url.contains(['?', '#']) || url.ends_with('/') {
        return Err("a base URL has no query, no fragment and no `/` at its end: paths are appended to it".to_owned());
    }
    if let Some((name, rest)) = url.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
        if !earlier.iter().any(|known| known.name == name) {
            let known = Table::known(earlier.iter().map(|upstream| &upstream.name));
            return Err(format!("no upstream `{name}` before this one; {known}"));
        }
        return if rest.starts_with('/') { Ok(()) } else { Err(format!("a path follows `{{{name}}}`")) };
    }
    if url.is_empty() || url.starts_with("https://") || url.starts_with("http://") {
        return Ok(());
    }
    Err("a base URL begins with `https://` or with another upstream, or is empty when only the operator knows it"
        .to_owned())
}

/// The three numbers of a pacing.
pub(crate) fn pacing_of(pacing: &Json) -> Result<[u32; 3]> {
    const NAMES: [&str; 3] = ["interval_ms", "concurrency", "max_wait_ms"];
    let Value::Object(members) = &pacing.value else {
        return err(pacing.span, "expected `{ interval_ms: …, concurrency: …, max_wait_ms: … }`");
    };
    let mut numbers = [None; 3];
    for member in members {
        let number = match &member.value.value {
            Value::Number(text) => text.parse::<u32>().ok(),
            _ => None,
        };
        match (NAMES.iter().position(|name| *name == member.name.text), number) {
            (Some(index), Some(number)) => {
                if let Some(slot) = numbers.get_mut(index) {
                    *slot = Some(number);
                }
            }
            (None, _) => return err(member.name.span, "expected `interval_ms`, `concurrency` or `max_wait_ms`"),
            (_, None) => return err(member.value.span, "expected a whole number"),
        }
    }
    match numbers {
        [Some(interval), Some(concurrency), Some(wait)] if concurrency > 0 => Ok([interval, concurrency, wait]),
        _ => err(pacing.span, "give `interval_ms`, `concurrency` (at least 1) and `max_wait_ms`"),
    }
}

fn check_row(table: &Table, row: &Row) -> Result<()> {
    let span = row.name.span;
    if !is_name(&row.name.text, true) {
        return err(span, "the path of an operation is 1 to 64 of `a-z`, `A-Z`, `0-9`, `_` and `-`");
    }
    if row.documentation.is_empty() {
        return err(span, "say in a `///` comment what the operation does: its first line is the summary");
    }
    if let Some(limit) = &row.rate_limit
        && !table.rate_limits.iter().any(|known| known.name == *limit)
    {
        let known = Table::known(table.rate_limits.iter().map(|limit| &limit.name));
        return err(limit.span(), format!("no rate limit `{limit}`; {known}"));
    }
    for (index, field) in row.fields.iter().enumerate() {
        if row.fields.iter().take(index).any(|known| known.name.text == field.name.text) {
            return err(field.name.span, format!("`{}` is declared twice", field.name.text));
        }
    }
    if let Some(pages) = &row.pages {
        check_pages(row, pages)?;
    }
    match &row.action {
        Action::Request { upstream, path, .. } => {
            if !table.upstreams.iter().any(|known| known.name == *upstream) {
                let known = Table::known(table.upstreams.iter().map(|upstream| &upstream.name));
                return err(upstream.span(), format!("no upstream `{upstream}`; {known}"));
            }
            check_path(table, row, path)?;
            check_body(row)
        }
        Action::Function(path) => {
            let at = path.segments.first().map_or(span, |segment| segment.ident.span());
            if row.effect.is_none() {
                return err(
                    at,
                    "say before `fn` what the function does to the user's data: `read`, `write` or `destructive`",
                );
            }
            if row.via.is_some() || !row.fixed_body.is_empty() || !row.default_query.is_empty() {
                return err(
                    span,
                    "`via`, `fixed_body` and `default_query` belong to rows with a request; a function does it itself",
                );
            }
            Ok(())
        }
    }
}

/// The input of the next page is a declared field, or an entry of one.
fn check_pages(row: &Row, pages: &Pages) -> Result<()> {
    let pointers = [
        Some(&pages.items),
        match &pages.next {
            NextPage::Cursor(pointer) | NextPage::Link { pointer, .. } => Some(pointer),
            NextPage::PageNumber(_) | NextPage::Offset => None,
        },
    ];
    for pointer in pointers.into_iter().flatten() {
        let text = pointer.value();
        if !text.is_empty() && !text.starts_with('/') {
            return err(pointer.span(), "a JSON Pointer is empty or begins with `/`, as in `/data/items`");
        }
    }
    let input = pages.input.value();
    let mut steps = input.strip_prefix('/').unwrap_or_default().split('/');
    let name = steps.next().unwrap_or_default();
    let Some(field) = row.fields.iter().find(|field| field.name.text == name) else {
        return err(pages.input.span(), format!("`{}` has no field `{name}`", row.name.text));
    };
    match (&field.kind, steps.next()) {
        (Kind::Entries(entries), Some(entry)) if entries.iter().all(|known| known.name.text != entry) => {
            err(pages.input.span(), format!("`{name}` has no entry `{entry}`"))
        }
        (Kind::Entries(_), None) => err(pages.input.span(), format!("say which entry: `/{name}/…`")),
        _ => Ok(()),
    }
}

fn check_path(table: &Table, row: &Row, path: &LitStr) -> Result<()> {
    let text = path.value();
    let first_is_setting = text.starts_with(&format!("{{{SETTINGS}"));
    if !text.is_empty() && !text.starts_with('/') && !first_is_setting {
        return err(path.span(), "a path begins with `/`");
    }
    let (before, query) = text.split_once('?').unwrap_or((&text, ""));
    if query.contains(['{', '}']) {
        return err(path.span(), "only fixed parameters may stand in the path's query; declare the others as fields");
    }
    if before.split('/').any(|segment| segment == "." || segment == "..") {
        return err(path.span(), "a path has no dot segments");
    }
    template(table, path, Some(row))?;
    for piece in row::pieces(&text).unwrap_or_default() {
        let Piece::Text(text) = piece else { continue };
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/?%".contains(&byte);
        if let Some(byte) = text.bytes().find(|byte| !legal(*byte)) {
            return err(
                path.span(),
                format!("`{}` may not stand in a path as it is; percent-encode it", char::from(byte)),
            );
        }
    }
    Ok(())
}

/// Braces close, and every placeholder is a field of `row` that goes into the path, or a setting.
fn template(table: &Table, literal: &LitStr, row: Option<&Row>) -> Result<()> {
    let pieces = row::pieces(&literal.value()).or_else(|problem| err(literal.span(), problem))?;
    for piece in pieces {
        let Piece::Placeholder(name) = piece else { continue };
        if let Some(setting) = name.strip_prefix(SETTINGS) {
            let Some(known) = table.settings.iter().find(|known| known.name.text == setting) else {
                return err(
                    literal.span(),
                    format!("no setting `{setting}`; declare it: `setting {setting}: string default \"…\";`"),
                );
            };
            if !matches!(known.kind, Kind::String | Kind::Integer | Kind::Number | Kind::Boolean) {
                return err(literal.span(), format!("the setting `{setting}` is not a string, number or boolean"));
            }
        } else if row.is_none() {
            return err(literal.span(), format!("`{{{name}}}` is no setting; only `{{settings.name}}` may stand here"));
        } else if !is_name(&name, false) {
            return err(literal.span(), format!("`{{{name}}}` is no name of a field"));
        }
    }
    Ok(())
}

fn check_body(row: &Row) -> Result<()> {
    let whole = row.fields.iter().find(|field| row.is_whole_body(field));
    let member = row.fields.iter().find(|field| row.place(field) == Place::Body && !row.is_whole_body(field));
    if let (Some(_), Some(member)) = (whole, member) {
        return err(
            member.name.span,
            format!(
                "`body` is the whole request body, so `{}` cannot be a member of it; say `in query`, or drop one",
                member.name.text
            ),
        );
    }
    if let (Some(whole), false) = (whole, row.fixed_body.is_empty()) {
        return err(whole.name.span, "`body` is passed as it is and cannot be merged with `fixed_body`");
    }
    Ok(())
}

fn check_field(table: &Table, row: &Row, field: &Field) -> Result<()> {
    let name = &field.name;
    if !is_name(&name.text, false) {
        return err(name.span, "a field is 1 to 64 of `a-z`, `A-Z`, `0-9` and `_`");
    }
    if matches!(row.action, Action::Request { .. }) {
        check_place(row, field)?;
        if let Some(default) = field.default.as_ref().filter(|default| default.assumed) {
            return err(
                default.value.span,
                "`assumed` is for functions: of a request, every default that is not `sent` is assumed by the service",
            );
        }
    }
    check_type(table, field)?;
    check_default(table, field)
}

/// The modifiers that belong to the field's type.
fn check_type(table: &Table, field: &Field) -> Result<()> {
    let strings = matches!(&field.kind, Kind::String | Kind::StringOrList)
        || matches!(&field.kind, Kind::List(item) if **item == Kind::String);
    if field.one_of.is_some()
        || field.pattern.is_some()
        || field.format.is_some()
        || field.encoding != Encoding::Segment
    {
        if !strings {
            return err(
                field.span,
                "`one_of`, `pattern`, `format`, `keeps_slashes` and `odata_string` are for strings",
            );
        }
        if field.encoding != Encoding::Segment && field.kind != Kind::String {
            return err(field.span, "`keeps_slashes` and `odata_string` are for a single string");
        }
    }
    if let Some(OneOf::Named(values)) = &field.one_of
        && !table.values.iter().any(|(known, _)| known == values)
    {
        let known = Table::known(table.values.iter().map(|(name, _)| name));
        return err(values.span(), format!("no values `{values}`; {known}"));
    }
    if let (Some(span), Kind::Boolean | Kind::Object | Kind::Entries(_)) = (field.bounds.span, &field.kind) {
        return err(span, "bounds are for numbers (value), strings (characters) and lists (items)");
    }
    if !field.without.is_empty() && field.kind != Kind::Object {
        return err(field.span, "`without` is for objects");
    }
    if matches!(&field.kind, Kind::List(item) if matches!(**item, Kind::List(_) | Kind::StringOrList | Kind::Entries(_)))
    {
        return err(field.span, "a list holds strings, numbers, booleans or objects");
    }
    Ok(())
}

fn check_place(row: &Row, field: &Field) -> Result<()> {
    let name = &field.name;
    let in_template = row.placeholders().contains(&name.text);
    let place = row.place(field);
    if (place == Place::Path) != in_template {
        let span = field.place.map_or(name.span, |(_, span)| span);
        return err(
            span,
            match in_template {
                true => format!("the path has `{{{}}}`, so the field goes there", name.text),
                false => format!("the path has no `{{{}}}`", name.text),
            },
        );
    }
    if place == Place::Path && field.optional && field.default.as_ref().is_none_or(|default| !default.sent) {
        return err(name.span, format!("the path needs `{}`, so it cannot be optional", name.text));
    }
    let scalar_like =
        !matches!(field.kind, Kind::Object) && !matches!(&field.kind, Kind::List(item) if **item == Kind::Object);
    match place {
        Place::Path if !scalar_like || matches!(field.kind, Kind::Entries(_)) => {
            err(field.span, "an object cannot stand in a path")
        }
        Place::Query | Place::Header if !scalar_like => {
            err(field.span, "an object cannot stand here; `entries[name, …]` spreads its members over parameters")
        }
        Place::Body if matches!(field.kind, Kind::Entries(_)) => {
            err(field.span, "entries go into the query or the headers; a body takes `object`")
        }
        Place::Body if row.is_bodiless() && field.place.is_none() => {
            err(field.span, "a request of this method has no body")
        }
        _ => Ok(()),
    }
}

fn check_default(table: &Table, field: &Field) -> Result<()> {
    let Some(default) = &field.default else { return Ok(()) };
    if !field.optional {
        return err(default.value.span, format!("a field with a default is optional: `{}?`", field.name.text));
    }
    default_fits(table, field)
}

fn default_fits(table: &Table, field: &Field) -> Result<()> {
    let Some(default) = &field.default else { return Ok(()) };
    let values = table.values_of(field);
    let fits = match (&field.kind, &default.value.value) {
        (Kind::String | Kind::StringOrList, Value::String(text)) => values.is_none_or(|values| values.contains(text)),
        (Kind::Integer, Value::Number(text)) => !text.contains('.'),
        (Kind::Number, Value::Number(_)) | (Kind::Boolean, Value::Boolean(_)) => true,
        (Kind::List(_) | Kind::StringOrList, Value::Array(_)) | (Kind::Object, Value::Object(_)) => true,
        _ => false,
    };
    if fits { Ok(()) } else { err(default.value.span, "the default is not of the field's type, or none of its values") }
}

fn check_example(table: &Table, row: &Row, example: &Json) -> Result<()> {
    let Value::Object(members) = &example.value else { return err(example.span, "an example is an object: `{ … }`") };
    for member in members {
        let Some(field) = find(row, &member.name) else {
            return err(member.name.span, format!("`{}` has no field `{}`", row.name.text, member.name.text));
        };
        check_value(table, field, &member.value)?;
    }
    let given = |name: &Name| members.iter().any(|member| member.name.text == name.text);
    match row.fields.iter().find(|field| !field.optional && !given(&field.name)) {
        Some(missing) => err(example.span, format!("`{}` is required, so the example has it too", missing.name.text)),
        None => Ok(()),
    }
}

fn check_value(table: &Table, field: &Field, json: &Json) -> Result<()> {
    let values = table.values_of(field);
    let is_value = |text: &String| values.as_ref().is_none_or(|values| values.contains(text));
    let fits = match (&field.kind, &json.value) {
        (Kind::Entries(entries), Value::Object(members)) => {
            for member in members {
                if !entries.iter().any(|entry| entry.name.text == member.name.text) {
                    return err(member.name.span, format!("`{}` has no entry `{}`", field.name.text, member.name.text));
                }
            }
            true
        }
        (Kind::String | Kind::StringOrList, Value::String(text)) => is_value(text),
        (Kind::Integer, Value::Number(text)) => !text.contains('.'),
        (Kind::Number, Value::Number(_)) | (Kind::Boolean, Value::Boolean(_)) => true,
        (Kind::List(_) | Kind::StringOrList, Value::Array(_)) | (Kind::Object, Value::Object(_)) => true,
        (_, Value::Null) => field.optional,
        _ => false,
    };
    if fits { Ok(()) } else { err(json.span, format!("`{}` does not accept this value", field.name.text)) }
}

fn is_name(text: &str, path: bool) -> bool {
    let legal = |character: char| character.is_ascii_alphanumeric() || character == '_' || (path && character == '-');
    (1..=64).contains(&text.len()) && text.chars().all(legal)
}
