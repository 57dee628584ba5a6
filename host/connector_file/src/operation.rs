//! One operation: `[operations.NAME]` with `request = "GET api /path/{id}"`.

use std::borrow::Cow;

use contract::{Answer, DeclaredRow, Effect, LastItem, NextLink, NextPage, Operation, Pagination, Purpose};
use contract_rules::{schema, text};
use rows::table::TableRow;
use rows::{BodyEncoding, DeclaredHeader, Lists, Method};
use serde_json::{Map, Value};

use crate::field::{self, Field, documentation};
use crate::node::{Entry, Mistakes, Node, Table};
use crate::places::Places;

const REQUEST: &str = "a method, an upstream and a path: `request = \"GET api /items/{id}\"`";

/// The parts of the file that operations refer to.
pub(crate) struct Context {
    pub(crate) upstreams: Vec<String>,
    pub(crate) rate_limits: Vec<String>,
    pub(crate) headers: Vec<DeclaredHeader>,
    /// How lists among the entries of the query are sent.
    pub(crate) lists: Lists,
    /// Examples of answers, by the names of operations.
    pub(crate) answers: Map<String, Value>,
}

/// `GET api /items/{id}`
struct Request<'a> {
    at: usize,
    method: Method,
    upstream: &'a str,
    path: &'a str,
}

/// An operation, as a file declares it.
pub(crate) struct Declared {
    pub(crate) operation: Operation,
    pub(crate) row: DeclaredRow,
    /// Set if the last item of a page leads to the next page.
    pub(crate) last_item: Option<LastItem>,
}

/// An operation and its request. `None` if its request is not known.
pub(crate) fn operation(
    entry: Entry<'_>,
    context: &Context,
    places: &mut Places,
    mistakes: &mut Mistakes,
) -> Option<Declared> {
    let name = entry.name;
    let mut table = entry.node.table(&format!("the section `[operations.{name}]` with `request = …`"), mistakes)?;
    let before = mistakes.count();
    let request = request(&mut table, entry.at, mistakes);
    let doc = table.text("doc", mistakes).map(|text| documentation(&text)).unwrap_or_default();
    if doc.is_empty() {
        mistakes.at(entry.at, "say in `doc` what the operation does; the first paragraph is the summary");
    }
    let declared = table.inner("fields", "fields: `fields = { name = \"string\" }`", mistakes);
    let declared = field::fields(declared, mistakes);
    let example = table.take("example").map(|entry| entry.node);
    let effect = table.take("effect").and_then(|entry| effect(entry.node, mistakes));
    let rate_limit = rate_limit(&mut table, context, mistakes);
    let (pages, last_item) = table.take("pages").and_then(|entry| pages(entry, name, mistakes)).unzip();
    let answer = table.take("answers").map_or(Some(Answer::Json), |entry| answer(entry.node, mistakes));
    let answer_schema = table.take("answer_schema").and_then(|entry| {
        let schema = entry.node.json(mistakes)?;
        if schema.is_object() {
            Some(schema)
        } else {
            entry.node.expected("an object: `{ type = \"object\" }`", mistakes)
        }
    });
    let envelope = !table.flag("no_envelope", mistakes);
    let background = table.flag("background", mistakes);
    let encoding = encoding(&mut table, entry.at, mistakes);
    let fixed_body = table.members("fixed_body", mistakes);
    let default_query = table.members("default_query", mistakes);
    let default_query_unless = table.texts("default_query_unless", mistakes).unwrap_or_default();
    table.end("clause", mistakes);
    let request = request?;
    let mut row = TableRow {
        method: request.method,
        path: request.path.to_owned(),
        encoding,
        fields: declared.iter().map(|field| field.row.clone()).collect(),
        fixed_body,
        default_query,
        default_query_unless,
        envelope,
    };
    row.complete();
    // The fields that the path implies are before the others, and have the place of the request.
    let implied = row.fields.len().saturating_sub(declared.len());
    let at_of = |index: usize| index.checked_sub(implied).and_then(|index| declared.get(index));
    check(&row, &declared, implied, &request, context, mistakes);
    places.add(format!("operation `{name}`"), entry.at);
    places.add(format!("row of `{name}`"), request.at);
    for (index, field) in row.fields.iter().enumerate() {
        let at = at_of(index).map_or(request.at, |declared| declared.at);
        places.add(format!("row of `{name}`, field `{}`", field.spec.name), at);
    }
    let fields: Vec<schema::Field> = row.fields.iter().map(|field| field.spec.clone()).collect();
    // An example refers to the fields, so this would report a mistake in a field again.
    if mistakes.count() == before
        && let Some(example) = example
    {
        check_example(&fields, example, mistakes);
    }
    let (summary, description) = text::summary(&doc);
    let operation = Operation {
        path: name.to_owned(),
        summary,
        description,
        input_schema: schema::object(&fields).to_string(),
        example: example.and_then(|node| node.json(mistakes)).map(|json| json.to_string()),
        envelope,
        effect: effect.unwrap_or(match request.method {
            Method::Get | Method::Head => Effect::Read,
            Method::Delete => Effect::Destructive,
            Method::Post | Method::Put | Method::Patch => Effect::Write,
        }),
        answer: answer?,
        answer_schema: answer_schema.map(|json| json.to_string()),
        answer_example: context.answers.get(name).map(Value::to_string),
        pagination: pages,
        background,
        immediate: true,
        rate_limit,
    };
    let row = row.declaration(request.upstream, &context.headers, &context.lists);
    let row = DeclaredRow { operation: name.to_owned(), row, purpose: Purpose::Sent };
    Some(Declared { operation, row, last_item: last_item.flatten() })
}

fn request<'a>(table: &mut Table<'a>, at: usize, mistakes: &mut Mistakes) -> Option<Request<'a>> {
    let Some(entry) = table.take("request") else {
        mistakes.at(at, format!("say in `request` what the operation sends: {REQUEST}"));
        return None;
    };
    let mut words = entry.node.text(REQUEST, mistakes)?.splitn(3, ' ');
    let (Some(method), Some(upstream), Some(path)) = (words.next(), words.next(), words.next()) else {
        return entry.node.expected(REQUEST, mistakes);
    };
    const METHODS: [Method; 6] = [Method::Get, Method::Head, Method::Post, Method::Put, Method::Patch, Method::Delete];
    let Some(method) = METHODS.into_iter().find(|known| known.name() == method) else {
        return entry
            .node
            .expected("`GET`, `HEAD`, `POST`, `PUT`, `PATCH` or `DELETE`, an upstream and a path", mistakes);
    };
    Some(Request { at: entry.at, method, upstream, path: path.trim() })
}

/// The rules between the parts of a row.
fn check(
    row: &TableRow,
    declared: &[Field],
    implied: usize,
    request: &Request<'_>,
    context: &Context,
    mistakes: &mut Mistakes,
) {
    let at_of = |index: usize| index.checked_sub(implied).and_then(|index| declared.get(index));
    if !context.upstreams.iter().any(|known| known == request.upstream) {
        let known = known(&context.upstreams);
        mistakes.at(request.at, format!("there is no upstream `{}`; {known}", request.upstream.escape_debug()));
    }
    for (index, field) in row.fields.iter().enumerate() {
        for (part, broken) in row.check_field(field) {
            mistakes.at(at_of(index).map_or(request.at, |declared| declared.place_of(part)), broken);
        }
    }
    for field in declared {
        field::check_type(field, mistakes);
    }
    for (index, broken) in row.check_body() {
        mistakes.at(index.and_then(at_of).map_or(request.at, |declared| declared.at), broken);
    }
    for (index, part, broken) in row.check_sent_names() {
        mistakes.at(at_of(index).map_or(request.at, |declared| declared.place_of(part)), broken);
    }
}

fn check_example(fields: &[schema::Field], example: Node<'_>, mistakes: &mut Mistakes) {
    let Some(json) = example.json(mistakes) else { return };
    if !json.is_object() {
        mistakes.at(example.at, "an example is an object: `{ … }`");
    } else if let Err(mismatch) = schema::accept_object(fields, &json) {
        mistakes.at(example.place_of(&mismatch.steps), format!("the example does not fit: {}", mismatch.reason));
    }
}

fn rate_limit(table: &mut Table<'_>, context: &Context, mistakes: &mut Mistakes) -> Option<String> {
    let entry = table.take("rate_limit")?;
    let limit = entry.node.text("the name of a rate limit", mistakes)?;
    if !context.rate_limits.iter().any(|known| known == limit) {
        let known = known(&context.rate_limits);
        mistakes.at(entry.at, format!("there is no rate limit `{}`; {known}", limit.escape_debug()));
    }
    Some(limit.to_owned())
}

/// The declared names, for a message about an unknown name.
pub(crate) fn known(names: &[String]) -> Cow<'static, str> {
    if names.is_empty() {
        return Cow::Borrowed("nothing of the kind is declared");
    }
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    Cow::Owned(format!("declared: {}", names.join(", ")))
}

fn encoding(table: &mut Table<'_>, at: usize, mistakes: &mut Mistakes) -> BodyEncoding {
    match (table.flag("form", mistakes), table.flag("multipart", mistakes)) {
        (false, false) => BodyEncoding::Json,
        (true, false) => BodyEncoding::Form,
        (false, true) => BodyEncoding::Multipart,
        (true, true) => {
            mistakes.at(at, "a body is sent as a `form` or as `multipart`, which is a form with files; leave one out");
            BodyEncoding::Multipart
        }
    }
}

fn effect(node: Node<'_>, mistakes: &mut Mistakes) -> Option<Effect> {
    match node.value.as_str() {
        Some("read") => Some(Effect::Read),
        Some("write") => Some(Effect::Write),
        Some("destructive") => Some(Effect::Destructive),
        _ => node.expected("`read`, `write` or `destructive`", mistakes),
    }
}

fn answer(node: Node<'_>, mistakes: &mut Mistakes) -> Option<Answer> {
    match node.value.as_str() {
        Some("json") => Some(Answer::Json),
        Some("file") => Some(Answer::File),
        Some("any") => Some(Answer::Any),
        _ => node.expected("`json`, `file` or `any`", mistakes),
    }
}

/// `{ items = "/items", cursor = "/next", into = "/page" }`
fn pages(entry: Entry<'_>, operation: &str, mistakes: &mut Mistakes) -> Option<(Pagination, Option<LastItem>)> {
    const FORM: &str = "`items` and `into`, and how the next page is found: `cursor`, `last` with or without `while`, `link` with \
                        `parameter`, `page_number` or `offset = true`";
    let mut table = entry.node.table(FORM, mistakes)?;
    let (items, input) = (table.text("items", mistakes), table.text("into", mistakes));
    let (cursor, link) = (table.text("cursor", mistakes), table.text("link", mistakes));
    let parameter = table.text("parameter", mistakes);
    let (last, more) = (table.text("last", mistakes), table.text("while", mistakes));
    let (number, offset) = (table.number("page_number", mistakes), table.flag("offset", mistakes));
    table.end("clause", mistakes);
    let last_item = last.is_some().then(|| LastItem { operation: operation.to_owned(), more: more.clone() });
    let next = match (cursor, last, more, link, parameter, number, offset) {
        (Some(pointer), None, None, None, None, None, false) | (None, Some(pointer), _, None, None, None, false) => {
            NextPage::Cursor(pointer)
        }
        (None, None, None, Some(pointer), Some(parameter), None, false) => {
            NextPage::Link(NextLink { pointer, parameter })
        }
        (None, None, None, None, None, Some(first), false) => NextPage::PageNumber(first),
        (None, None, None, None, None, None, true) => NextPage::Offset,
        _ => return entry.node.expected(FORM, mistakes),
    };
    match (items, input) {
        (Some(items), Some(input)) => Some((Pagination { items, next, input }, last_item)),
        _ => entry.node.expected(FORM, mistakes),
    }
}
