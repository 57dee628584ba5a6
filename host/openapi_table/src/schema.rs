//! From a schema to a field.

use contract_rules::schema::{Field, Kind, Part};
use serde_json::Value;

use crate::document::{Document, lines, text};
use crate::{LeftOut, keyword};

/// Maximum levels of nested objects in a field. Below them, an object may have any members.
const MAX_DEPTH: usize = 3;
/// Maximum members in the objects of one operation. After them, an object may have any members.
const MAX_MEMBERS: usize = 150;
/// Maximum length of the documentation of a field. The rest is cut off at the end of a sentence or
/// word.
const MAX_DOCUMENTATION: usize = 600;

/// Reads the schemas of one operation.
pub(crate) struct Reader<'a> {
    pub(crate) document: &'a Document,
    pub(crate) left_out: &'a mut LeftOut,
    /// The operation. The lines about parts that are left out begin with it.
    operation: String,
    /// The names from the row to the schema that is read.
    path: Vec<String>,
    /// The references that lead to the schema that is read. A schema that refers to one of them is
    /// recursive.
    open: Vec<String>,
    /// `true` while the members of a form with files are read.
    pub(crate) takes_files: bool,
    /// Objects around the schema that is read.
    depth: usize,
    members: usize,
}

/// A field and whether null is a value of it.
pub(crate) struct Read {
    pub(crate) field: Field,
    pub(crate) nullable: bool,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(document: &'a Document, left_out: &'a mut LeftOut, operation: String) -> Self {
        Self {
            document,
            left_out,
            operation,
            path: Vec::new(),
            open: Vec::new(),
            takes_files: false,
            depth: 0,
            members: 0,
        }
    }

    /// Adds a line about the operation.
    pub(crate) fn note_operation(&mut self, what: impl AsRef<str>) {
        self.left_out.add_of(&self.operation, what.as_ref().to_owned());
    }

    /// Adds a line about the schema that is read.
    pub(crate) fn note(&mut self, what: impl AsRef<str>) {
        match self.path.as_slice() {
            [] => self.note_operation(format!("its body: {}", what.as_ref())),
            path => self.left_out.add_of(&self.operation, format!("`{}`: {}", path.join("."), what.as_ref())),
        }
    }

    /// Marks a reference as being read. Returns `false` if it already is, because the schema is
    /// recursive.
    pub(crate) fn opens(&mut self, reference: &str) -> bool {
        let is_new = !self.open.iter().any(|open| open == reference);
        if is_new {
            self.open.push(reference.to_owned());
        }
        is_new
    }

    /// A field. The error says why a table cannot express it.
    pub(crate) fn field(&mut self, name: &str, schema: &Value, required: bool) -> Result<Read, String> {
        let before = self.open.len();
        self.path.push(name.to_owned());
        let read = self.read(name, schema, required);
        self.path.pop();
        self.open.truncate(before);
        read
    }

    fn read(&mut self, name: &str, schema: &Value, required: bool) -> Result<Read, String> {
        let Some(flat) = self.flat(schema)? else {
            self.note("it contains itself, so it takes any object");
            let mut field = Field::new(name, Kind::Object);
            field.optional = !required;
            field.documentation = documentation(schema);
            return Ok(Read { field, nullable: false });
        };
        let (kind, items) = self.kind(&flat)?;
        let mut field = Field::new(name, kind);
        field.optional = !required;
        field.documentation = documentation(&flat);
        keyword::apply(self, &mut field, &flat, items.as_ref());
        self.repair(&mut field)?;
        Ok(Read { field, nullable: is_nullable(&flat) })
    }

    /// Removes the parts that do not belong to the type, which the contract would refuse.
    fn repair(&mut self, field: &mut Field) -> Result<(), String> {
        while let Some((part, broken)) = field.inconsistencies().into_iter().next() {
            match part {
                Part::Bounds => (field.minimum, field.maximum) = (None, None),
                Part::Values => field.values = None,
                Part::Pattern => field.pattern = None,
                Part::Format => field.format = None,
                Part::Default => field.default = None,
                Part::MaxBytes => field.max_bytes = None,
                Part::Kind | Part::Without => return Err(broken.to_string()),
            }
            // A format of a number, such as int32, adds nothing to its type and limits.
            if part != Part::Format {
                self.note(broken.to_string());
            }
        }
        Ok(())
    }

    /// The type, and for a list the schema of its items.
    fn kind(&mut self, schema: &Value) -> Result<(Kind, Option<Value>), String> {
        let types = types(schema);
        let first = match types.as_slice() {
            ["string", "array"] | ["array", "string"] if is_of_strings(self, schema) => {
                return Ok((Kind::StringOrList, None));
            }
            [] => return Err("its schema has no type, so any value would fit".to_owned()),
            [only] => *only,
            [first, ..] => {
                self.note(format!("it has several types; the field takes `{first}` only"));
                *first
            }
        };
        Ok(match first {
            "string" if is_file(schema) && self.takes_files && self.depth == 0 => (Kind::File, None),
            "string" if is_file(schema) => return Err("it is a file".to_owned()),
            "string" => (Kind::String, None),
            "integer" => (Kind::Integer, None),
            "number" => (Kind::Number, None),
            "boolean" => (Kind::Boolean, None),
            "array" => {
                let items = schema.get("items").unwrap_or(&Value::Null);
                let item = self.item(items)?;
                (Kind::List(Box::new(item)), self.flat(items).ok().flatten())
            }
            "object" => (self.object(schema), None),
            other => return Err(format!("`{other}` is not a type of JSON Schema")),
        })
    }

    /// The type of the items of a list.
    fn item(&mut self, items: &Value) -> Result<Kind, String> {
        let before = self.open.len();
        let kind = match self.flat(items)? {
            None => {
                self.note("its items contain themselves, so they are any objects");
                Ok(Kind::Object)
            }
            Some(flat) => self.kind(&flat).map(|(kind, _)| kind),
        };
        self.open.truncate(before);
        match kind? {
            Kind::List(_) | Kind::StringOrList => Err("it is a list of lists".to_owned()),
            kind => Ok(kind),
        }
    }

    /// An object with its members, or any object if the members are unknown or too many.
    fn object(&mut self, schema: &Value) -> Kind {
        let Some(properties) = schema.get("properties").and_then(Value::as_object).filter(|found| !found.is_empty())
        else {
            return Kind::Object;
        };
        if is_open(schema) {
            self.note("members that the document does not name are refused");
        }
        if self.depth >= MAX_DEPTH || self.members + properties.len() > MAX_MEMBERS {
            self.note("its members are too many or too deep, so it takes any object");
            return Kind::Object;
        }
        self.members += properties.len();
        self.depth += 1;
        let mut members = Vec::new();
        let mut is_complete = true;
        for (name, property) in properties {
            if is_read_only(self.document, property) {
                continue;
            }
            let required = requires(schema, name);
            match self.field(name, property, required) {
                // A member that is null is sent as it is. The gateway treats it as absent.
                Ok(read) => members.push(Field { optional: read.field.optional || read.nullable, ..read.field }),
                Err(why) if required => {
                    self.note(format!("it takes any object, because of `{name}`: {why}"));
                    is_complete = false;
                    break;
                }
                Err(why) => self.note(format!("without `{name}`: {why}")),
            }
        }
        self.depth -= 1;
        if is_complete && !members.is_empty() { Kind::Members(members) } else { Kind::Object }
    }
}

/// The names of the types without `null`. If a schema has no type, its keywords tell the type.
pub(crate) fn types(schema: &Value) -> Vec<&str> {
    let mut types: Vec<&str> = match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => {
            let is_text = |key: &str| {
                let values = schema.get(key).and_then(Value::as_array);
                values.is_some_and(|values| !values.is_empty() && values.iter().all(Value::is_string))
            };
            let has = |keys: &[&str]| keys.iter().any(|key| schema.get(key).is_some());
            if has(&["properties", "additionalProperties"]) {
                vec!["object"]
            } else if has(&["items"]) {
                vec!["array"]
            } else if is_text("enum") || has(&["pattern", "maxLength", "minLength", "format", "contentMediaType"]) {
                vec!["string"]
            } else {
                Vec::new()
            }
        }
    };
    types.retain(|name| *name != "null");
    types
}

/// Returns `true` if null is a value: `nullable` of 3.0, a type `null` of 3.1.
pub(crate) fn is_nullable(schema: &Value) -> bool {
    let null = |types: &Vec<Value>| types.iter().any(|name| name == "null");
    schema.get("nullable") == Some(&Value::Bool(true)) || schema.get("type").and_then(Value::as_array).is_some_and(null)
}

/// Returns `true` for bytes: the format of 3.0, or the media type of 3.1.
fn is_file(schema: &Value) -> bool {
    let is_text = |media_type: &str| media_type.is_empty() || crate::body::is_json(media_type);
    text(schema, "format") == "binary"
        || (!is_text(text(schema, "contentMediaType")) && schema.get("contentEncoding").is_none())
}

fn is_of_strings(reader: &mut Reader<'_>, schema: &Value) -> bool {
    let Some(items) = schema.get("items") else { return true };
    let before = reader.open.len();
    let flat = reader.flat(items);
    reader.open.truncate(before);
    matches!(flat, Ok(Some(flat)) if types(&flat) == ["string"])
}

/// Returns `true` if the schema says that other members are permitted.
pub(crate) fn is_open(schema: &Value) -> bool {
    schema.get("additionalProperties").is_some_and(|others| *others != Value::Bool(false))
}

pub(crate) fn is_read_only(document: &Document, schema: &Value) -> bool {
    let says = |schema: &Value| schema.get("readOnly") == Some(&Value::Bool(true));
    says(schema) || document.resolved(schema).is_ok_and(|(schema, _)| says(schema))
}

pub(crate) fn requires(schema: &Value, name: &str) -> bool {
    let names = schema.get("required").and_then(Value::as_array);
    names.is_some_and(|names| names.iter().any(|known| known == name))
}

/// The description, at a length that fits above a field.
pub(crate) fn documentation(schema: &Value) -> String {
    let whole = lines(text(schema, "description"));
    if whole.len() <= MAX_DOCUMENTATION {
        return whole;
    }
    let kept: String = whole.chars().take(MAX_DOCUMENTATION).collect();
    match kept.rfind(". ").or_else(|| kept.rfind(' ')) {
        Some(end) => format!("{} …", kept.get(..=end).unwrap_or(&kept).trim_end()),
        None => kept,
    }
}

/// An example of a schema or a parameter.
pub(crate) fn example(value: &Value) -> Option<Value> {
    value.get("example").or_else(|| value.get("examples").and_then(|examples| examples.get(0))).cloned()
}
