//! JSON Schemas (draft 2020-12).
//!
//! # Layout
//! - here: fields, and the schema that follows from them.
//! - `consistent`: checks that the parts of a field fit together.
//! - `accept`: checks that a field accepts a value.
//! - `pattern`: checks the regular expression of a field.
//! - `text`: the rules for schemas and examples in a manifest.

mod accept;
mod consistent;
#[cfg(feature = "regex-syntax")]
mod pattern;
mod text;

use serde_json::{Map, Number, Value, json};

use crate::limit::FILE_NAME_BYTES;

pub use accept::{Mismatch, accept_object};
pub use consistent::Part;
#[cfg(feature = "regex-syntax")]
pub use pattern::check_pattern;
pub use text::{closed, example, input, names, size};

/// The keyword of a property whose null the gateway passes to the connector.
pub const NULLABLE: &str = "nullable";

/// A field of an operation's input, a member of an object, or a setting.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
pub struct Field {
    /// The name in the input.
    pub name: String,
    /// `true` if callers may leave it out or give null.
    pub optional: bool,
    /// The type.
    pub kind: Kind,
    /// Lower bound: of a number's value, a string's characters, or a list's items.
    pub minimum: Option<Number>,
    /// Upper bound, as `minimum`.
    pub maximum: Option<Number>,
    /// `true` if the value is a part of a path, so that it must not be empty.
    #[cfg_attr(feature = "serde", serde(default))]
    pub in_path: bool,
    /// The only values of a string, or of the strings in a list.
    pub values: Option<Vec<String>>,
    /// Regular expression for a string, or for the strings in a list.
    pub pattern: Option<String>,
    /// Format of a string, or of the strings in a list, for example `date-time`.
    pub format: Option<String>,
    /// The value that holds for an absent field.
    pub default: Option<Value>,
    /// Maximum size of a string in UTF-8.
    pub max_bytes: Option<u32>,
    /// Members that an object must not have.
    #[cfg_attr(feature = "serde", serde(default))]
    pub without: Vec<String>,
    /// `true` if the value is a secret, which documentation does not show.
    #[cfg_attr(feature = "serde", serde(default))]
    pub secret: bool,
    /// `true` if null is a value of the field, and does not mean that the field is absent. The
    /// schema says so with [`NULLABLE`].
    #[cfg_attr(feature = "serde", serde(default))]
    pub nullable: bool,
    /// Documentation for callers, in CommonMark.
    #[cfg_attr(feature = "serde", serde(default))]
    pub documentation: String,
}

/// The type of a field.
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(tag = "tag", content = "val", rename_all = "kebab-case")
)]
pub enum Kind {
    /// A string.
    String,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// A boolean.
    Boolean,
    /// An object with any members.
    Object,
    /// An object with these members only.
    Members(Vec<Field>),
    /// A list of items of one type.
    List(Box<Kind>),
    /// A string or a list of strings.
    StringOrList,
    /// An object with these names only, whose values are scalars or lists of scalars.
    Entries(Vec<Entry>),
    /// An object with these names only, whose values are strings.
    TextEntries(Vec<Entry>),
    /// A file: its name, its media type, and its content in base64.
    File,
}

/// A name in [`Kind::Entries`].
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
pub struct Entry {
    /// The name.
    pub name: String,
    /// The only values, if they are limited.
    pub values: Option<Vec<String>>,
    /// Documentation for callers, in CommonMark.
    #[cfg_attr(feature = "serde", serde(default))]
    pub documentation: String,
}

impl Field {
    /// A required field without further rules.
    #[must_use]
    pub fn new(name: impl Into<String>, kind: Kind) -> Self {
        Self {
            name: name.into(),
            optional: false,
            kind,
            minimum: None,
            maximum: None,
            in_path: false,
            values: None,
            pattern: None,
            format: None,
            default: None,
            max_bytes: None,
            without: Vec::new(),
            secret: false,
            nullable: false,
            documentation: String::new(),
        }
    }

    /// The schema of the field's value.
    #[must_use]
    pub fn schema(&self) -> Value {
        let mut schema = Map::new();
        match &self.kind {
            Kind::StringOrList if self.values.is_some() => {
                // An `enum` next to `"type": ["string", "array"]` would refuse every list.
                let mut choices =
                    vec![self.item(&Kind::String), json!({"type": "array", "items": self.item(&Kind::String)})];
                choices.extend(self.optional.then(|| json!({"type": "null"})));
                schema.insert("anyOf".to_owned(), Value::Array(choices));
            }
            Kind::StringOrList => {
                schema.insert("type".to_owned(), self.types(&["string", "array"]));
                self.string_keywords(&mut schema, false);
                schema.insert("items".to_owned(), self.item(&Kind::String));
            }
            Kind::List(item) => {
                schema.insert("type".to_owned(), self.types(&["array"]));
                schema.insert("items".to_owned(), self.item(item));
            }
            Kind::Entries(entries) => {
                schema.insert("type".to_owned(), self.types(&["object"]));
                insert_entries(&mut schema, entries, scalars);
            }
            Kind::TextEntries(entries) => {
                schema.insert("type".to_owned(), self.types(&["object"]));
                insert_entries(&mut schema, entries, |_| json!({"type": ["string", "null"]}));
            }
            Kind::Members(fields) => {
                schema.insert("type".to_owned(), self.types(&["object"]));
                insert_fields(&mut schema, fields);
            }
            Kind::File => {
                schema.insert("type".to_owned(), self.types(&["object"]));
                insert_file(&mut schema);
            }
            Kind::Object => {
                schema.insert("type".to_owned(), self.types(&["object"]));
                if !self.without.is_empty() {
                    let refused = self.without.iter().map(|name| (name.clone(), Value::Bool(false)));
                    schema.insert("properties".to_owned(), Value::Object(refused.collect()));
                    // Some tools report members that are not in `properties` as misspelt.
                    schema.insert("additionalProperties".to_owned(), Value::Bool(true));
                }
            }
            kind => {
                schema.insert("type".to_owned(), self.types(&[type_name(kind)]));
                self.string_keywords(&mut schema, self.optional);
            }
        }
        self.insert_bounds(&mut schema);
        if let Some(default) = &self.default {
            schema.insert("default".to_owned(), default.clone());
        }
        if self.nullable {
            schema.insert(NULLABLE.to_owned(), Value::Bool(true));
        }
        if self.secret {
            schema.insert("writeOnly".to_owned(), Value::Bool(true));
        }
        if !self.documentation.is_empty() {
            schema.insert("description".to_owned(), Value::from(self.documentation.as_str()));
        }
        Value::Object(schema)
    }

    /// `type` with these names, and `null` for an optional field.
    fn types(&self, names: &[&str]) -> Value {
        let names: Vec<&str> = names.iter().copied().chain(self.optional.then_some("null")).collect();
        match names.as_slice() {
            [name] => Value::from(*name),
            _ => Value::from(names),
        }
    }

    /// The schema of an item of a list.
    fn item(&self, kind: &Kind) -> Value {
        let mut schema = Map::new();
        schema.insert("type".to_owned(), Value::from(type_name(kind)));
        match kind {
            Kind::String => self.string_keywords(&mut schema, false),
            Kind::Members(fields) => insert_fields(&mut schema, fields),
            Kind::File => insert_file(&mut schema),
            _ => {}
        }
        Value::Object(schema)
    }

    fn string_keywords(&self, schema: &mut Map<String, Value>, null: bool) {
        if let Some(values) = &self.values {
            schema.insert("enum".to_owned(), choices(values, null));
        }
        if let Some(pattern) = &self.pattern {
            schema.insert("pattern".to_owned(), Value::from(pattern.as_str()));
        }
        if let Some(format) = &self.format {
            schema.insert("format".to_owned(), Value::from(format.as_str()));
        }
    }

    /// The declared bounds, and a lower bound for values in a path, which has no empty segments.
    fn insert_bounds(&self, schema: &mut Map<String, Value>) {
        let at_least_one = || self.minimum.clone().or_else(|| self.in_path.then(|| 1.into()));
        let bytes = || self.max_bytes.map(Number::from);
        let bounds = match &self.kind {
            Kind::Integer | Kind::Number => vec![("minimum", self.minimum.clone()), ("maximum", self.maximum.clone())],
            Kind::String => {
                vec![("minLength", at_least_one()), ("maxLength", self.maximum.clone().or_else(bytes))]
            }
            Kind::List(_) => vec![("minItems", at_least_one()), ("maxItems", self.maximum.clone())],
            Kind::StringOrList => vec![
                ("minLength", self.in_path.then(|| 1.into())),
                ("minItems", at_least_one()),
                ("maxItems", self.maximum.clone()),
            ],
            _ => Vec::new(),
        };
        for (keyword, bound) in bounds {
            if let Some(bound) = bound {
                schema.insert(keyword.to_owned(), Value::Number(bound));
            }
        }
    }
}

/// The schema of an object with these members only.
#[must_use]
pub fn object(fields: &[Field]) -> Value {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), Value::from("object"));
    insert_fields(&mut schema, fields);
    Value::Object(schema)
}

fn insert_fields(schema: &mut Map<String, Value>, fields: &[Field]) {
    let properties = fields.iter().map(|field| (field.name.clone(), field.schema()));
    schema.insert("properties".to_owned(), Value::Object(properties.collect()));
    let required = fields.iter().filter(|field| !field.optional).map(|field| Value::from(field.name.as_str()));
    let required: Vec<Value> = required.collect();
    if !required.is_empty() {
        schema.insert("required".to_owned(), Value::Array(required));
    }
    schema.insert("additionalProperties".to_owned(), Value::Bool(false));
}

/// The members of a file, which files in answers have too.
fn insert_file(schema: &mut Map<String, Value>) {
    let properties = json!({
        "file_name": {"type": "string", "minLength": 1, "maxLength": FILE_NAME_BYTES},
        "content_type": {"type": ["string", "null"], "maxLength": FILE_NAME_BYTES},
        "content_base64": {"type": "string", "contentEncoding": "base64"},
    });
    schema.insert("properties".to_owned(), properties);
    schema.insert("required".to_owned(), json!(["file_name", "content_base64"]));
    schema.insert("additionalProperties".to_owned(), Value::Bool(false));
}

fn insert_entries(schema: &mut Map<String, Value>, entries: &[Entry], value: fn(&Entry) -> Value) {
    let properties = entries.iter().map(|entry| {
        let mut schema = value(entry);
        if !entry.documentation.is_empty() {
            schema["description"] = Value::from(entry.documentation.as_str());
        }
        (entry.name.clone(), schema)
    });
    schema.insert("properties".to_owned(), Value::Object(properties.collect()));
    schema.insert("additionalProperties".to_owned(), Value::Bool(false));
}

fn scalars(entry: &Entry) -> Value {
    match &entry.values {
        Some(values) => json!({"enum": choices(values, true)}),
        None => json!({
            "type": ["string", "number", "boolean", "array", "null"],
            "items": {"type": ["string", "number", "boolean"]},
        }),
    }
}

fn choices(values: &[String], null: bool) -> Value {
    values.iter().map(|value| Value::from(value.as_str())).chain(null.then_some(Value::Null)).collect()
}

/// The name of a type in JSON Schema.
fn type_name(kind: &Kind) -> &'static str {
    match kind {
        Kind::String => "string",
        Kind::Integer => "integer",
        Kind::Number => "number",
        Kind::Boolean => "boolean",
        Kind::Object | Kind::Members(_) | Kind::Entries(_) | Kind::TextEntries(_) | Kind::File => "object",
        Kind::List(_) | Kind::StringOrList => "array",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Entry, Field, Kind, object};

    fn optional(name: &str, kind: Kind) -> Field {
        Field { optional: true, ..Field::new(name, kind) }
    }

    #[test]
    fn an_object_refuses_members_that_are_not_declared_at_every_depth() {
        let address = Kind::Members(vec![Field::new("street", Kind::String), optional("number", Kind::Integer)]);
        let inner = json!({
            "type": "object",
            "properties": {"street": {"type": "string"}, "number": {"type": ["integer", "null"]}},
            "required": ["street"],
            "additionalProperties": false,
        });
        let schema =
            object(&[Field::new("address", address.clone()), optional("others", Kind::List(Box::new(address)))]);
        assert_eq!(schema["properties"]["address"], inner);
        assert_eq!(schema["properties"]["others"], json!({"type": ["array", "null"], "items": inner}));
        assert_eq!((&schema["required"], &schema["additionalProperties"]), (&json!(["address"]), &json!(false)));
    }

    #[test]
    fn an_entry_has_its_description() {
        let entry = |name: &str, values: Option<Vec<String>>, documentation: &str| Entry {
            name: name.to_owned(),
            values,
            documentation: documentation.to_owned(),
        };
        let entries = vec![
            entry("order", Some(vec!["asc".to_owned()]), "the direction"),
            entry("page", None, "from 1"),
            entry("q", None, ""),
        ];
        let scalar = json!(["string", "number", "boolean"]);
        let mut page = json!({"type": ["string", "number", "boolean", "array", "null"], "items": {"type": scalar}});
        let q = page.clone();
        page["description"] = json!("from 1");
        let order = json!({"enum": ["asc", null], "description": "the direction"});
        let schema = Field::new("query", Kind::Entries(entries)).schema();
        assert_eq!(schema["properties"], json!({"order": order, "page": page, "q": q}));
        let headers = Field::new("headers", Kind::TextEntries(vec![entry("Prefer", None, "a time zone")])).schema();
        let prefer = json!({"type": ["string", "null"], "description": "a time zone"});
        assert_eq!(headers["properties"], json!({"Prefer": prefer}));
    }

    #[test]
    fn a_string_or_list_with_values_accepts_both_forms() {
        let field = Field { values: Some(vec!["a".to_owned()]), ..optional("x", Kind::StringOrList) };
        let text = json!({"type": "string", "enum": ["a"]});
        assert_eq!(field.schema(), json!({"anyOf": [text, {"type": "array", "items": text}, {"type": "null"}]}),);
    }

    #[test]
    fn a_file_has_a_name_and_a_content() {
        let file = json!({
            "type": "object",
            "properties": {
                "file_name": {"type": "string", "minLength": 1, "maxLength": 255},
                "content_type": {"type": ["string", "null"], "maxLength": 255},
                "content_base64": {"type": "string", "contentEncoding": "base64"},
            },
            "required": ["file_name", "content_base64"],
            "additionalProperties": false,
        });
        assert_eq!(Field::new("x", Kind::File).schema(), file);
        let list = optional("x", Kind::List(Box::new(Kind::File)));
        assert_eq!(list.schema(), json!({"type": ["array", "null"], "items": file}));
    }

    #[test]
    fn a_nullable_field_says_that_null_is_a_value() {
        let field = Field { nullable: true, ..optional("x", Kind::Integer) };
        assert_eq!(field.schema(), json!({"type": ["integer", "null"], "nullable": true}));
    }

    #[test]
    fn a_value_in_a_path_is_not_empty() {
        let schema = |kind| Field { in_path: true, ..Field::new("x", kind) }.schema();
        assert_eq!(schema(Kind::String), json!({"type": "string", "minLength": 1}));
        assert_eq!(schema(Kind::Integer), json!({"type": "integer"}));
        let list = json!({"type": "array", "items": {"type": "string"}, "minItems": 1});
        assert_eq!(schema(Kind::List(Box::new(Kind::String))), list);
    }
}
