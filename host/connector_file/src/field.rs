//! A field of an operation, or a setting: `"page?" = { type = "integer", min = 1 }`, or
//! `"page?" = "integer"` for a type alone.

use std::borrow::Cow;

use contract_rules::schema::{self, Entry as Choice, Kind, Part};
use rows::table::{FieldPart, RequestPart, TableField, is_file, setting_type};
use rows::{Encoding, Lists};
use serde_json::{Number, Value};
use toml::de::DeValue;

use crate::node::{Mistakes, Node, Table, TableEntry};

const FORM: &str = "a type such as `\"string\"`, or a table such as `{ type = \"string\", doc = \"…\" }`";

/// A field with the places of its parts.
pub(crate) struct Field {
    pub(crate) row: TableField,
    /// The place of its name.
    pub(crate) at: usize,
    places: Vec<(&'static str, usize)>,
    /// The fields inside of an object, or of the objects in a list.
    members: Vec<Field>,
    /// A modifier that only fields of an operation have.
    row_modifier: Option<usize>,
}

/// The modifiers that only fields of an operation have.
const OF_ROWS: [&str; 8] = ["in", "as", "sent", "joined", "repeated", "keeps_slashes", "odata_string", "nullable"];

impl Field {
    /// The place of a modifier, or of the name.
    fn place(&self, modifier: &str) -> usize {
        self.places.iter().find(|(name, _)| *name == modifier).map_or(self.at, |(_, at)| *at)
    }

    pub(crate) fn place_of(&self, part: FieldPart) -> usize {
        match part {
            FieldPart::Name => self.at,
            FieldPart::Kind => self.place("type"),
            FieldPart::Default => self.place("default"),
        }
    }
}

/// The fields of a table. A name that ends with `?` is optional.
pub(crate) fn fields(entries: Vec<TableEntry<'_>>, mistakes: &mut Mistakes) -> Vec<Field> {
    entries.into_iter().filter_map(|entry| field(entry, mistakes)).collect()
}

/// Refuses two fields of one name, one of which is optional. The rules of rows say the same of the
/// fields of an operation.
pub(crate) fn check_names(fields: &[Field], mistakes: &mut Mistakes) {
    for (index, field) in fields.iter().enumerate() {
        let name = &field.row.spec.name;
        if fields.iter().take(index).any(|known| known.row.spec.name == *name) {
            mistakes.at(field.at, format!("`{name}` is declared twice"));
        }
    }
}

fn field(entry: TableEntry<'_>, mistakes: &mut Mistakes) -> Option<Field> {
    let (name, optional) = match entry.name.strip_suffix('?') {
        Some(name) => (name, true),
        None => (entry.name, false),
    };
    let mut spec = schema::Field::new(name, Kind::String);
    spec.optional = optional;
    let mut field =
        Field { row: TableField::new(spec), at: entry.at, places: Vec::new(), members: Vec::new(), row_modifier: None };
    if let DeValue::String(kind) = entry.node.value {
        field.row.spec.kind = self::kind(kind).or_else(|| unknown_type(kind, entry.node, mistakes))?;
        return Some(field);
    }
    let mut table = Modifiers { table: entry.node.table(FORM, mistakes)?, places: Vec::new() };
    read_kind(&mut field, &mut table, mistakes)?;
    read_schema(&mut field.row.spec, &mut table, mistakes);
    read_request(&mut field.row, &mut table, mistakes);
    field.row_modifier = table.places.iter().find(|(name, _)| OF_ROWS.contains(name)).map(|(_, at)| *at);
    field.places = table.places;
    table.table.end("modifier", mistakes);
    Some(field)
}

/// The modifiers of a field, and the places of those that were taken.
struct Modifiers<'a> {
    table: Table<'a>,
    places: Vec<(&'static str, usize)>,
}

impl<'a> Modifiers<'a> {
    fn take(&mut self, name: &'static str) -> Option<Node<'a>> {
        let entry = self.table.take(name)?;
        self.places.push((name, entry.at));
        Some(entry.node)
    }

    fn text(&mut self, name: &'static str, mistakes: &mut Mistakes) -> Option<String> {
        self.take(name)?.text(&format!("a text: `{name} = \"…\"`"), mistakes).map(str::to_owned)
    }

    fn texts(&mut self, name: &'static str, mistakes: &mut Mistakes) -> Option<Vec<String>> {
        self.take(name)?.texts(&format!("a list of texts: `{name} = [\"…\"]`"), mistakes)
    }

    fn flag(&mut self, name: &'static str, mistakes: &mut Mistakes) -> bool {
        match self.take(name).map(|node| (node, node.value)) {
            None => false,
            Some((_, DeValue::Boolean(flag))) => *flag,
            Some((node, _)) => node.expected(&format!("`{name} = true`"), mistakes).unwrap_or(false),
        }
    }

    fn number(&mut self, name: &'static str, mistakes: &mut Mistakes) -> Option<Number> {
        let node = self.take(name)?;
        match node.json(mistakes)? {
            Value::Number(number) => Some(number),
            _ => node.expected("a number", mistakes),
        }
    }
}

/// The type: a word, the fields of an object, or the names of entries.
fn read_kind(field: &mut Field, table: &mut Modifiers<'_>, mistakes: &mut Mistakes) -> Option<()> {
    let written = match table.take("type") {
        Some(node) => {
            let text = node.text("a type such as `\"string\"`", mistakes)?;
            Some((node, kind(text).or_else(|| unknown_type(text, node, mistakes))?))
        }
        None => None,
    };
    let fields = table.take("fields");
    let entries = table.take("entries");
    field.row.spec.kind = match (written, fields, entries) {
        (Some((_, kind)), None, None) => kind,
        (None, None, Some(entries)) => Kind::Entries(choices(entries, mistakes)?),
        (written, Some(fields), None) => {
            let inner = fields.table("fields: `fields = { street = \"string\" }`", mistakes)?;
            field.members = self::fields(inner.named(), mistakes);
            let members = Kind::Members(field.members.iter().map(|member| member.row.spec.clone()).collect());
            match written {
                None | Some((_, Kind::Object)) => members,
                Some((_, Kind::List(item))) if matches!(*item, Kind::Object) => Kind::List(Box::new(members)),
                Some((node, _)) => return node.expected("`object` or `[object]`, which has `fields`", mistakes),
            }
        }
        (_, _, Some(entries)) => return entries.expected("`entries` alone, without `type` and `fields`", mistakes),
        (None, None, None) => {
            mistakes.at(field.at, "say the type of the field: `type = \"string\"`");
            return None;
        }
    };
    Some(())
}

/// A type as text.
fn kind(text: &str) -> Option<Kind> {
    let text = text.trim();
    if let Some(item) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        return kind(item).map(|item| Kind::List(Box::new(item)));
    }
    Some(match text {
        "string" => Kind::String,
        "integer" => Kind::Integer,
        "number" => Kind::Number,
        "boolean" => Kind::Boolean,
        "object" => Kind::Object,
        "file" => Kind::File,
        "string | [string]" => Kind::StringOrList,
        _ => return None,
    })
}

fn unknown_type<T>(text: &str, node: Node<'_>, mistakes: &mut Mistakes) -> Option<T> {
    mistakes.at(
        node.at,
        format!(
            "unknown type `{}`; the types are `string`, `integer`, `number`, `boolean`, `object`, `file`, lists such as `[string]` and \
             `string | [string]`; in place of a type, `fields` has the fields of an object, and `entries` the names of parameters",
            text.escape_debug()
        ),
    );
    None
}

/// `["$select", { "$orderby" = ["name", "size"], "$top" = { doc = "size of a page" } }]`
fn choices(node: Node<'_>, mistakes: &mut Mistakes) -> Option<Vec<Choice>> {
    const FORM: &str = "names: `entries = [\"page\", { order = [\"asc\", \"desc\"] }]`";
    let mut choices = Vec::new();
    for item in node.items(FORM, mistakes)? {
        match item.value {
            DeValue::String(name) => {
                choices.push(Choice { name: name.to_string(), values: None, documentation: String::new() });
            }
            _ => {
                for entry in item.table(FORM, mistakes)?.named() {
                    choices.push(choice(entry, mistakes)?);
                }
            }
        }
    }
    Some(choices)
}

/// `order = ["asc", "desc"]`, or `order = { one_of = ["asc", "desc"], doc = "…" }`.
fn choice(entry: TableEntry<'_>, mistakes: &mut Mistakes) -> Option<Choice> {
    const FORM: &str = "a list of texts, or a table such as `{ one_of = [\"…\"], doc = \"…\" }`";
    let name = entry.name.to_owned();
    if let DeValue::Array(_) = entry.node.value {
        let values = entry.node.texts("a list of texts", mistakes)?;
        return Some(Choice { name, values: Some(values), documentation: String::new() });
    }
    let mut table = entry.node.table(FORM, mistakes)?;
    let values = table.texts("one_of", mistakes);
    let documentation = table.text("doc", mistakes).map(|text| documentation(&text)).unwrap_or_default();
    table.end("modifier", mistakes);
    Some(Choice { name, values, documentation })
}

fn read_schema(spec: &mut schema::Field, table: &mut Modifiers<'_>, mistakes: &mut Mistakes) {
    spec.documentation = table.text("doc", mistakes).map(|text| documentation(&text)).unwrap_or_default();
    spec.minimum = table.number("min", mistakes);
    spec.maximum = table.number("max", mistakes);
    spec.values = table.texts("one_of", mistakes);
    spec.pattern = table.text("pattern", mistakes);
    spec.format = table.text("format", mistakes);
    spec.max_bytes = table.number("max_bytes", mistakes).and_then(|number| number.as_u64()?.try_into().ok());
    spec.default = table.take("default").and_then(|node| node.json(mistakes));
    spec.without = table.texts("without", mistakes).unwrap_or_default();
    spec.secret = table.flag("secret", mistakes);
    spec.nullable = table.flag("nullable", mistakes);
}

fn read_request(field: &mut TableField, table: &mut Modifiers<'_>, mistakes: &mut Mistakes) {
    field.part = table.take("in").and_then(|node| match node.value.as_str() {
        Some("path") => Some(RequestPart::Path),
        Some("query") => Some(RequestPart::Query),
        Some("body") => Some(RequestPart::Body),
        Some("header") => Some(RequestPart::Header),
        _ => node.expected("`path`, `query`, `body` or `header`", mistakes),
    });
    field.sent_as = table.text("as", mistakes);
    field.sent = table.flag("sent", mistakes);
    let joined = table.text("joined", mistakes).map(|separator| Lists::Joined(Cow::Owned(separator)));
    field.lists = joined.or(table.flag("repeated", mistakes).then_some(Lists::Repeated));
    if table.flag("keeps_slashes", mistakes) {
        field.encoding = Encoding::Path;
    }
    if table.flag("odata_string", mistakes) {
        field.encoding = Encoding::ODataString;
    }
}

/// A documentation without blanks at the ends of its lines.
pub(crate) fn documentation(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n").trim().to_owned()
}

/// The rules of the type of a field, and of the fields inside of it.
pub(crate) fn check_type(field: &Field, mistakes: &mut Mistakes) {
    let spec = &field.row.spec;
    for (part, broken) in spec.inconsistencies() {
        mistakes.at(field.place(modifier(part)), broken);
    }
    if let Some(pattern) = &spec.pattern
        && let Err(broken) = schema::check_pattern(pattern)
    {
        mistakes.at(field.place("pattern"), broken);
    }
    check_names(&field.members, mistakes);
    for member in &field.members {
        if is_file(&member.row.spec.kind) {
            mistakes.at(member.at, "a `file` is a field of a row, and not inside of an object");
        }
        if let Some(at) = member.row_modifier {
            mistakes.at(at, "an object is sent as it is, so this modifier does not belong to a field inside of it");
        }
        if matches!(member.row.spec.kind, Kind::Entries(_)) {
            mistakes.at(member.at, "`entries` do not belong into an object; write its `fields`");
        }
        check_type(member, mistakes);
    }
}

fn modifier(part: Part) -> &'static str {
    match part {
        Part::Kind => "type",
        // One of the two is there.
        Part::Bounds => "min",
        Part::Values => "one_of",
        Part::Pattern => "pattern",
        Part::Format => "format",
        Part::Default => "default",
        Part::Without => "without",
        Part::MaxBytes => "max_bytes",
    }
}

/// The rules of a setting.
pub(crate) fn check_setting(setting: &Field, mistakes: &mut Mistakes) {
    let spec = &setting.row.spec;
    if spec.optional {
        mistakes.at(setting.at, "a setting has no `?`: the operator may always leave it out");
    }
    if spec.documentation.is_empty() {
        mistakes.at(setting.at, "say in `doc` what the operator sets with this");
    }
    if let Some(at) = setting.row_modifier {
        mistakes.at(at, "this modifier is for fields of a row");
    }
    if let Err(broken) = setting_type(&spec.kind) {
        mistakes.at(setting.at, broken);
    }
    check_type(setting, mistakes);
}
