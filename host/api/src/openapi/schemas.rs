//! The component `schemas`: every schema with members has a name here.
//!
//! Tools that generate clients make a type of each name. They make no type, or drop the answer,
//! where a schema with members is written in place. A name has letters and digits only, because
//! tools change the others, each in its own way.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

/// Keywords whose value is an object of schemas.
const MAPS: [&str; 4] = ["properties", "patternProperties", "$defs", "dependentSchemas"];

/// Keywords whose value is a list of schemas.
const LISTS: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];

/// Keywords whose value is a schema.
const SINGLE: [&str; 8] = ["items", "additionalProperties", "contains", "not", "if", "then", "else", "propertyNames"];

/// Keywords that say which members an object has.
const OF_MEMBERS: [&str; 9] = [
    "properties",
    "patternProperties",
    "additionalProperties",
    "unevaluatedProperties",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "$ref",
];

/// References to a definition of the schema begin so.
const DEFINITION: &str = "#/$defs/";

/// The schemas by name.
#[derive(Default)]
pub(super) struct Schemas {
    by_name: Map<String, Value>,
    /// The names in lower case: some tools make a file of each.
    taken: HashSet<String>,
}

impl Schemas {
    /// Schemas of the gateway, which have names already.
    pub(super) fn extend(&mut self, schemas: Map<String, Value>) {
        self.taken.extend(schemas.keys().map(|name| name.to_ascii_lowercase()));
        self.by_name.extend(schemas);
    }

    /// Adds a schema of a connector, and the schemas inside of it that have members. The parts of
    /// `name` are separated by dots. Returns the schema's name: `DemoListRequest` for
    /// `demo.list.request`.
    ///
    /// References in the schema are relative to its own root. They lead to the same schemas after
    /// this.
    pub(super) fn add(&mut self, name: &str, schema: &Value) -> String {
        let mut schema = schema.clone();
        let definitions = definitions(&mut schema);
        let root = self.take_name(name);
        let named = definitions.as_ref().map(|definitions| {
            let name = |definition: &String| self.take_name(&format!("{root}.{definition}"));
            definitions.keys().cloned().zip(definitions.keys().map(name).collect::<Vec<_>>()).collect()
        });
        let origin = Origin { root: root.clone(), definitions: named };
        for (definition, mut inner) in definitions.into_iter().flatten() {
            let name = origin.definition(&definition).unwrap_or(&root).to_owned();
            self.tidy(&name, &origin, &mut inner);
            self.by_name.insert(name, inner);
        }
        self.tidy(&root, &origin, &mut schema);
        self.by_name.insert(root.clone(), schema);
        root
    }

    /// Adds a member to a schema that was added.
    pub(super) fn add_member(&mut self, name: &str, member: &str, schema: Value) {
        if let Some(Value::Object(keywords)) = self.by_name.get_mut(name)
            && let Value::Object(members) = keywords.entry("properties").or_insert_with(|| json!({}))
        {
            members.insert(member.to_owned(), schema);
        }
    }

    /// A member of a schema that was added.
    pub(super) fn member_mut(&mut self, name: &str, member: &str) -> Option<&mut Value> {
        self.by_name.get_mut(name)?.get_mut("properties")?.get_mut(member)
    }

    pub(super) fn into_component(self) -> Value {
        self.by_name.into()
    }

    /// Writes a schema for the document.
    fn tidy(&mut self, name: &str, origin: &Origin, schema: &mut Value) {
        if let Value::Bool(accepts) = schema {
            // Some tools know no schemas that are booleans.
            *schema = if *accepts { json!({}) } else { json!({"not": {}}) };
            return;
        }
        let Value::Object(keywords) = schema else { return };
        for keyword in ["$schema", "$id", contract_rules::schema::NULLABLE] {
            keywords.shift_remove(keyword);
        }
        // Tools take a title for the name of the type. Names of types have to differ, and titles do
        // not.
        if let Some(title) = keywords.shift_remove("title") {
            keywords.entry("description").or_insert(title);
        }
        if let Some(Value::String(reference)) = keywords.get_mut("$ref") {
            *reference = origin.moved(reference);
        }
        // Some tools take an object without known members for one that has no members.
        if is_object(keywords) && !OF_MEMBERS.iter().any(|keyword| keywords.contains_key(*keyword)) {
            keywords.insert("additionalProperties".to_owned(), true.into());
        }
        for (label, inner) in subschemas(keywords) {
            let inner_name = format!("{name}.{label}");
            self.tidy(&inner_name, origin, inner);
            if origin.definitions.is_some() && has_members(inner) {
                let inner_name = self.take_name(&inner_name);
                self.by_name.insert(inner_name.clone(), inner.take());
                *inner = reference(&inner_name);
            }
        }
    }

    /// Takes the name of this text, with a number if it is taken.
    fn take_name(&mut self, text: &str) -> String {
        let name = as_name(text);
        let mut free = name.clone();
        let mut number = 2;
        while !self.taken.insert(free.to_ascii_lowercase()) {
            free = format!("{name}{number}");
            number += 1;
        }
        self.by_name.insert(free.clone(), Value::Null);
        free
    }
}

/// The schema of a connector that another schema was a part of.
struct Origin {
    /// Its name in the component.
    root: String,
    /// The names of its definitions in the component. `None` if each part has to stay in its place.
    definitions: Option<HashMap<String, String>>,
}

impl Origin {
    fn definition(&self, definition: &str) -> Option<&str> {
        self.definitions.as_ref()?.get(definition).map(String::as_str)
    }

    /// A reference as it is in the document.
    fn moved(&self, reference: &str) -> String {
        let definition = reference.strip_prefix(DEFINITION).map(unescaped);
        match definition.and_then(|definition| self.definition(&definition)) {
            Some(name) => format!("#/components/schemas/{name}"),
            None => format!("#/components/schemas/{}{}", self.root, reference.trim_start_matches('#')),
        }
    }
}

/// A reference to a schema of the component.
pub(super) fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// Takes the definitions out of a schema. `None` if a reference leads to another place than a whole
/// definition: then each part has to stay in its place.
fn definitions(schema: &mut Value) -> Option<Map<String, Value>> {
    let is_movable = |reference: &str| {
        reference.strip_prefix(DEFINITION).is_some_and(|name| !name.is_empty() && !name.contains('/'))
    };
    if !all_references(schema, &is_movable) {
        return None;
    }
    match schema.as_object_mut().and_then(|keywords| keywords.shift_remove("$defs")) {
        Some(Value::Object(definitions)) => Some(definitions),
        _ => Some(Map::new()),
    }
}

/// Returns `true` if `is_good` does for every reference in a schema.
fn all_references(schema: &mut Value, is_good: &impl Fn(&str) -> bool) -> bool {
    let Value::Object(keywords) = schema else { return true };
    keywords.get("$ref").and_then(Value::as_str).is_none_or(is_good)
        && subschemas(keywords).into_iter().all(|(_, inner)| all_references(inner, is_good))
}

/// The schemas inside of a schema, each with a label.
fn subschemas(keywords: &mut Map<String, Value>) -> Vec<(String, &mut Value)> {
    let mut found = Vec::new();
    for (keyword, value) in keywords {
        let keyword = keyword.as_str();
        if MAPS.contains(&keyword) {
            let members = value.as_object_mut().into_iter().flatten();
            found.extend(members.map(|(name, inner)| (name.clone(), inner)));
        } else if LISTS.contains(&keyword) {
            let label = |index| if index == 0 { keyword.to_owned() } else { format!("{keyword}{index}") };
            let items = value.as_array_mut().into_iter().flatten().enumerate();
            found.extend(items.map(|(index, inner)| (label(index), inner)));
        } else if SINGLE.contains(&keyword) && value.is_object() {
            found.push((if keyword == "items" { "item" } else { keyword }.to_owned(), value));
        }
    }
    found
}

/// Returns `true` if a schema describes members of an object.
fn has_members(schema: &Value) -> bool {
    schema.get("properties").and_then(Value::as_object).is_some_and(|members| !members.is_empty())
}

/// Returns `true` if a schema accepts objects by its type.
fn is_object(keywords: &Map<String, Value>) -> bool {
    match keywords.get("type") {
        Some(Value::String(kind)) => kind == "object",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        _ => false,
    }
}

/// The letters and digits of a text. Each word begins with a capital letter.
fn as_name(text: &str) -> String {
    let words = text.split(|character: char| !character.is_ascii_alphanumeric());
    words
        .flat_map(|word| {
            let mut letters = word.chars();
            letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters)
        })
        .collect()
}

/// The name that a part of a JSON Pointer in a URL means.
fn unescaped(part: &str) -> String {
    percent_encoding::percent_decode_str(part).decode_utf8_lossy().replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(schema: &Value) -> Map<String, Value> {
        let mut schemas = Schemas::default();
        assert_eq!(schemas.add("demo.list.request", schema), "DemoListRequest");
        schemas.by_name
    }

    #[test]
    fn schemas_with_members_get_names_of_their_own() {
        let found = added(&json!({
            "$schema": "x", "type": "object", "title": "List",
            "properties": {
                "body": {"type": ["object", "null"], "properties": {"a b": {"items": {"properties": {"n": true}}}}},
                "free": {"type": "object"}, "never": false, "reset": {"type": "null", "nullable": true},
            },
        }));
        let names: Vec<_> = found.keys().collect();
        assert_eq!(names, ["DemoListRequest", "DemoListRequestBodyABItem", "DemoListRequestBody"]);
        assert_eq!(
            found["DemoListRequest"],
            json!({
                "type": "object", "description": "List",
                "properties": {
                    "body": reference("DemoListRequestBody"), "free": {"type": "object", "additionalProperties": true},
                    "never": {"not": {}},
                    "reset": {"type": "null"},
                },
            })
        );
        assert_eq!(
            found["DemoListRequestBody"]["properties"]["a b"],
            json!({"items": reference("DemoListRequestBodyABItem")})
        );
        assert_eq!(found["DemoListRequestBodyABItem"], json!({"properties": {"n": {}}}));
    }

    #[test]
    fn an_object_whose_members_are_free_says_so() {
        let free = |schema: Value| added(&schema)["DemoListRequest"].get("additionalProperties").cloned();
        assert_eq!(free(json!({"type": "object"})), Some(json!(true)));
        assert_eq!(free(json!({"type": ["null", "object"], "minProperties": 1})), Some(json!(true)));
        assert_eq!(free(json!({"type": "object", "additionalProperties": false})), Some(json!(false)));
        assert_eq!(free(json!({"type": "object", "properties": {"a": {"type": "string"}}})), None);
        assert_eq!(free(json!({"type": "object", "anyOf": [{"required": ["a"]}]})), None);
        assert_eq!(free(json!({"type": "string"})), None);
    }

    #[test]
    fn definitions_get_names_of_their_own() {
        let found = added(&json!({
            "properties": {"x": {"$ref": "#/$defs/a~1b"}},
            "$defs": {"a/b": {"properties": {"y": {"$ref": "#/$defs/c"}}}, "c": {"type": "string"}},
        }));
        assert_eq!(found["DemoListRequest"], json!({"properties": {"x": reference("DemoListRequestAB")}}));
        assert_eq!(found["DemoListRequestAB"], json!({"properties": {"y": reference("DemoListRequestC")}}));
        assert_eq!(found["DemoListRequestC"], json!({"type": "string"}));
    }

    #[test]
    fn a_schema_with_other_references_stays_in_one_piece() {
        let found = added(&json!({
            "properties": {
                "x": {"properties": {"y": {"type": "string"}}}, "z": {"$ref": "#/properties/x/properties/y"},
                "d": {"$ref": "#/$defs/d"},
            },
            "$defs": {"d": {"type": "integer"}},
        }));
        assert_eq!(found.len(), 1);
        let schema = &found["DemoListRequest"];
        for (member, pointer) in [("z", "/properties/x/properties/y"), ("d", "/$defs/d")] {
            let reference = format!("#/components/schemas/DemoListRequest{pointer}");
            assert_eq!(schema["properties"][member], json!({"$ref": reference}));
            assert!(schema.pointer(pointer).is_some());
        }
    }

    #[test]
    fn two_schemas_never_share_a_name() {
        let mut schemas = Schemas::default();
        let object = json!({"properties": {"a": {"type": "string"}}});
        let with = |member: &str| json!({"properties": {member: object}});
        assert_eq!((schemas.add("a.b", &object), schemas.add("a.b", &with("@"))), ("AB".to_owned(), "AB2".to_owned()));
        schemas.add("c", &json!({"properties": {"@": object, "$": object}}));
        assert_eq!(schemas.add("ab", &object), "Ab3", "files of these names may differ in more than capitals");
        let names: Vec<_> = schemas.by_name.keys().collect();
        assert_eq!(names, ["AB", "AB2", "AB22", "C", "C2", "C3", "Ab3"]);
    }
}
