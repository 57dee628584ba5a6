//! One operation: `[operations.NAME]` with `request = "GET api /path/{id}"`.

use std::borrow::Cow;

use contract::{Answer, DeclaredRow, Effect, LastItem, NextLink, NextPage, Operation, Pagination, Purpose};
use contract_rules::{schema, text};
use rows::table::TableRow;
use rows::{BodyEncoding, Connector, Declaration, DeclaredHeader, Lists, Method, Place};
use serde_json::{Map, Value};

use crate::field::{self, Field, documentation};
use crate::node::{Mistakes, Node, Table, TableEntry};
use crate::places::Places;

const REQUEST: &str = "a method, an upstream and a path: `request = \"GET api /items/{id}\"`";

/// The parts of the file that operations refer to.
pub(crate) struct Context<'a> {
    pub(crate) upstreams: Vec<&'a str>,
    /// The settings, with the schemas of their values.
    pub(crate) settings: Vec<(&'a str, Value)>,
    pub(crate) rate_limits: Vec<&'a str>,
    pub(crate) headers: Vec<DeclaredHeader>,
    /// How lists among the entries of the query are sent.
    pub(crate) lists: Lists,
    /// Examples of answers, by the names of operations.
    pub(crate) answers: Option<&'a Map<String, Value>>,
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
    entry: TableEntry<'_>,
    context: &Context<'_>,
    places: &mut Places,
    mistakes: &mut Mistakes,
) -> Option<Declared> {
    let name = entry.name;
    let mut table = entry.node.table(&format!("the section `[operations.{name}]` with `request = …`"), mistakes)?;
    places.add(format!("operation `{name}`"), entry.at);
    note(&table, name, places);
    let before = mistakes.count();
    let request = request(&mut table, entry.at, mistakes);
    let doc = doc(&mut table, entry.at, mistakes);
    let declared = table.inner("fields", "fields: `fields = { name = \"string\" }`", mistakes);
    let declared = field::fields(declared, mistakes);
    let example = table.take("example").map(|entry| entry.node);
    let of_effect = table.place("effect");
    let effect = table.take("effect").and_then(|entry| effect(entry.node, mistakes));
    let rate_limit = rate_limit(&mut table, context, mistakes);
    let (pages, last_item) = table.take("pages").and_then(|entry| pages(entry, name, mistakes)).unzip();
    let answer = table.take("answers").map_or(Some(Answer::Json), |entry| answer(entry.node, mistakes));
    let answer_schema = table.take("answer_schema").and_then(|entry| answer_schema(entry.node, mistakes));
    let envelope = !table.flag("no_envelope", mistakes);
    let background = table.flag("background", mistakes);
    let sent = Sent::read(&mut table, mistakes);
    table.end("clause", mistakes);
    let request = request?;
    let written = Written {
        entry: entry.at,
        request: request.at,
        body: sent.body,
        query: sent.query,
        reads: of_effect.filter(|_| matches!(effect, Some(Effect::Read))),
        fields: declared,
    };
    let row = sent.row(&request, &written.fields, envelope);
    let fields: Vec<schema::Field> = row.fields.iter().map(|field| field.spec.clone()).collect();
    let input = schema::object(&fields);
    check_form(&row, &written, mistakes);
    let declaration = row.declaration(request.upstream, &context.headers, &context.lists);
    let connector = Connector { upstreams: &context.upstreams, settings: &context.settings, input: &input };
    check_declaration(&declaration, &connector, &row, &written, mistakes);
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
        input_schema: input.to_string(),
        example: example.and_then(|node| node.json(mistakes)).map(|json| json.to_string()),
        envelope,
        effect: effect.unwrap_or_else(|| effect_of(request.method)),
        answer: answer?,
        answer_schema: answer_schema.map(|json| json.to_string()),
        answer_example: context.answers.and_then(|answers| answers.get(name)).map(Value::to_string),
        pagination: pages,
        background,
        immediate: true,
        rate_limit,
    };
    let row = DeclaredRow { operation: name.to_owned(), row: declaration, purpose: Purpose::Sent };
    Some(Declared { operation, row, last_item: last_item.flatten() })
}

/// Keeps the lines of the clauses that rules of the manifest name.
fn note(table: &Table<'_>, name: &str, places: &mut Places) {
    let parts = [
        (format!("operation `{name}`, background"), "background"),
        (format!("operation `{name}`, pagination"), "pages"),
        (format!("last item of `{name}`"), "pages"),
    ];
    for (part, clause) in parts {
        places.note(part, table, clause);
    }
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
    let Some(method) = Method::ALL.into_iter().find(|known| known.name() == method) else {
        return entry
            .node
            .expected("`GET`, `HEAD`, `POST`, `PUT`, `PATCH` or `DELETE`, an upstream and a path", mistakes);
    };
    Some(Request { at: entry.at, method, upstream, path: path.trim() })
}

/// The documentation. Every operation has one.
fn doc(table: &mut Table<'_>, at: usize, mistakes: &mut Mistakes) -> String {
    let at = table.place("doc").unwrap_or(at);
    let doc = table.text("doc", mistakes).map(|text| documentation(&text)).unwrap_or_default();
    if doc.is_empty() {
        mistakes.at(at, "say in `doc` what the operation does; the first paragraph is the summary");
    }
    doc
}

/// The clauses about the query and the body, and their places.
struct Sent {
    encoding: BodyEncoding,
    fixed_body: Vec<(String, Value)>,
    default_query: Vec<(String, Value)>,
    default_query_unless: Vec<String>,
    body: Option<usize>,
    query: Option<usize>,
}

impl Sent {
    fn read(table: &mut Table<'_>, mistakes: &mut Mistakes) -> Self {
        // A clause has no place once it is taken.
        let body = ["fixed_body", "multipart", "form"].into_iter().find_map(|clause| table.place(clause));
        let query = table.place("default_query");
        Self {
            encoding: encoding(table, mistakes),
            fixed_body: table.members("fixed_body", mistakes),
            default_query: table.members("default_query", mistakes),
            default_query_unless: table.texts("default_query_unless", mistakes).unwrap_or_default(),
            body,
            query,
        }
    }

    fn row(self, request: &Request<'_>, fields: &[Field], envelope: bool) -> TableRow {
        let mut row = TableRow {
            method: request.method,
            path: request.path.to_owned(),
            encoding: self.encoding,
            fields: fields.iter().map(|field| field.row.clone()).collect(),
            fixed_body: self.fixed_body,
            default_query: self.default_query,
            default_query_unless: self.default_query_unless,
            envelope,
        };
        row.complete();
        row
    }
}

/// The places of the parts of a row.
struct Written {
    /// The name of the operation.
    entry: usize,
    request: usize,
    /// `fixed_body`, `multipart` or `form`, if the row has one.
    body: Option<usize>,
    /// `default_query`, if the row has it.
    query: Option<usize>,
    /// `effect`, if it says that the operation reads.
    reads: Option<usize>,
    fields: Vec<Field>,
}

impl Written {
    /// A field of the row. `None` for those that the path implies, which are before the others.
    fn field(&self, row: &TableRow, index: usize) -> Option<&Field> {
        let implied = row.fields.len().saturating_sub(self.fields.len());
        self.fields.get(index.checked_sub(implied)?)
    }

    /// The place of a part. `None` for headers, which all rows have, and which are checked once.
    fn place(&self, row: &TableRow, part: &Place) -> Option<usize> {
        Some(match part {
            Place::Row => self.entry,
            Place::Upstream | Place::Path => self.request,
            Place::DefaultQuery => self.query.unwrap_or(self.request),
            Place::Field(name) => {
                let named = self.fields.iter().rfind(|field| field.row.spec.name == *name);
                named.map_or(self.request, |field| field.at)
            }
            Place::Header(_) => return None,
            Place::Body => {
                let whole = row.whole_body().and_then(|index| self.field(row, index));
                whole.map(|field| field.at).or(self.body).unwrap_or(self.request)
            }
        })
    }
}

/// The rules of what the author of a row writes.
fn check_form(row: &TableRow, written: &Written, mistakes: &mut Mistakes) {
    for (index, field) in row.fields.iter().enumerate() {
        let declared = written.field(row, index);
        for (part, broken) in row.check_field(field) {
            mistakes.at(declared.map_or(written.request, |declared| declared.place_of(part)), broken);
        }
    }
    for field in &written.fields {
        field::check_type(field, mistakes);
    }
}

/// The rules of the declaration of a row.
fn check_declaration(
    declaration: &Declaration,
    connector: &Connector<'_>,
    row: &TableRow,
    written: &Written,
    mistakes: &mut Mistakes,
) {
    for mistake in rows::Row::declared(declaration, connector).err().unwrap_or_default() {
        if let Some(at) = written.place(row, &mistake.place) {
            mistakes.at(at, mistake);
        }
    }
    if let Some(at) = written.reads
        && let Err(mistake) = declaration.check_read()
    {
        mistakes.at(at, mistake);
    }
}

fn check_example(fields: &[schema::Field], example: Node<'_>, mistakes: &mut Mistakes) {
    let Some(json) = example.json(mistakes) else { return };
    if !json.is_object() {
        mistakes.at(example.at, "an example is an object: `{ … }`");
    } else if let Err(mismatch) = schema::accept_object(fields, &json) {
        mistakes.at(example.place_of(&mismatch.steps), mismatch.of_example());
    }
}

fn rate_limit(table: &mut Table<'_>, context: &Context<'_>, mistakes: &mut Mistakes) -> Option<String> {
    let entry = table.take("rate_limit")?;
    let limit = entry.node.text("the name of a rate limit", mistakes)?;
    if !context.rate_limits.contains(&limit) {
        let known = known(&context.rate_limits);
        mistakes.at(entry.at, format!("there is no rate limit `{}`; {known}", limit.escape_debug()));
    }
    Some(limit.to_owned())
}

/// The declared names, for a message about an unknown name.
fn known(names: &[&str]) -> Cow<'static, str> {
    if names.is_empty() {
        return Cow::Borrowed("nothing of the kind is declared");
    }
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    Cow::Owned(format!("declared: {}", names.join(", ")))
}

fn encoding(table: &mut Table<'_>, mistakes: &mut Mistakes) -> BodyEncoding {
    let at = table.place("multipart").unwrap_or_default();
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

/// The effect of an operation whose section does not say it.
fn effect_of(method: Method) -> Effect {
    match method {
        Method::Get | Method::Head => Effect::Read,
        Method::Delete => Effect::Destructive,
        Method::Post | Method::Put | Method::Patch => Effect::Write,
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

fn answer_schema(node: Node<'_>, mistakes: &mut Mistakes) -> Option<Value> {
    let schema = node.json(mistakes)?;
    if schema.is_object() { Some(schema) } else { node.expected("an object: `{ type = \"object\" }`", mistakes) }
}

/// `{ items = "/items", cursor = "/next", into = "/page" }`
fn pages(entry: TableEntry<'_>, operation: &str, mistakes: &mut Mistakes) -> Option<(Pagination, Option<LastItem>)> {
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
