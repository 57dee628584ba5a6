//! Values that a JSON Schema accepts: generated at random, but the same on every run.
//!
//! # Layout
//! - here: values of a schema; [`text`]: strings
//! - [`narrow`]: one schema from two that a value must satisfy

pub(crate) mod narrow;
mod text;

use std::hash::{DefaultHasher, Hash, Hasher};

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Map, Value, json};

/// Depth up to which optional members are generated.
const DEPTH: u32 = 4;

/// Maximum number of items in a list, unless the schema demands more.
const ITEMS: usize = 3;

/// Largest maximum of a text or a list that is tried.
const LARGE: usize = 5000;

/// Members of an answer that name a further page. Without them a connector does not read pages
/// without end.
const NEXT_PAGE: [&str; 4] = ["nextPageToken", "nextSyncToken", "next_token", "@odata.nextLink"];

/// Members of an answer without which most connectors make nothing of it.
const ESSENTIAL: [&str; 4] = ["data", "items", "ok", "value"];

/// Generates values.
pub(crate) struct Generator {
    runner: TestRunner,
    direction: Direction,
}

/// The direction in which a value is sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// To the provider: members that are only to be read are left out.
    Request,
    /// From the provider: identifiers are always there, and there is no further page.
    Answer,
}

impl Generator {
    /// A generator whose values depend on `seed` only.
    pub(crate) fn new(seed: &str, direction: Direction) -> Self {
        let mut hasher = DefaultHasher::new();
        seed.hash(&mut hasher);
        let bytes = [hasher.finish().to_le_bytes(); 4].concat();
        let random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        Self { runner: TestRunner::new_with_rng(Config::default(), random), direction }
    }

    /// A value that a schema accepts. References lead to `$defs` of `root`.
    pub(crate) fn value(&mut self, schema: &Value, root: &Value) -> Value {
        self.value_at(schema, root, 0)
    }

    /// Returns `true` in one of `count` cases.
    pub(crate) fn one_in(&mut self, count: u32) -> bool {
        self.draw(&(0..count)) == 0
    }

    fn draw<S: Strategy>(&mut self, strategy: &S) -> S::Value {
        strategy.new_tree(&mut self.runner).expect("the strategy has values").current()
    }

    fn below(&mut self, end: usize) -> usize {
        self.draw(&(0..end.max(1)))
    }

    fn value_at(&mut self, schema: &Value, root: &Value, depth: u32) -> Value {
        if let Some(name) = schema["$ref"].as_str() {
            let target = root.pointer(name.trim_start_matches('#')).unwrap_or_else(|| panic!("{name} leads nowhere"));
            return self.value_at(target, root, depth);
        }
        if let Some(values) = schema["enum"].as_array() {
            return values[self.below(values.len())].clone();
        }
        if let Some(alternatives) = schema["anyOf"].as_array() {
            let alternative = &alternatives[self.below(alternatives.len())];
            return self.value_at(alternative, root, depth);
        }
        let one = match &schema["type"] {
            Value::Array(types) => types[self.below(types.len())].as_str(),
            Value::String(one) => Some(one.as_str()),
            _ if schema["properties"].is_object() => Some("object"),
            _ => None,
        };
        match one {
            Some("null") => Value::Null,
            Some("boolean") => json!(self.one_in(2)),
            Some("integer") => json!(self.whole_number(schema)),
            // Halves have an exact text.
            Some("number") if schema["maximum"].is_null() => json!(self.whole_number(schema) as f64 + 0.5),
            Some("number") => json!(self.whole_number(schema) as f64),
            Some("array") => self.list(schema, root, depth),
            Some("object") => self.object(schema, root, depth),
            Some("string") | None => Value::String(self.text(schema)),
            Some(other) => panic!("a value of the type {other} is not known"),
        }
    }

    /// A whole number between the schema's bounds. Without bounds it is between 0 and 1,000. The
    /// bounds are frequent.
    fn whole_number(&mut self, schema: &Value) -> i64 {
        let bound = |name: &str| schema[name].as_f64().map(|bound| bound as i64);
        let lower = bound("minimum").unwrap_or_else(|| bound("maximum").map_or(0, |maximum| maximum.min(0)));
        let upper = bound("maximum").unwrap_or_else(|| lower.saturating_add(1000));
        if self.direction == Direction::Answer {
            return self.draw(&(lower.max(0)..=upper));
        }
        match self.below(4) {
            0 => lower,
            1 => upper,
            _ => self.draw(&(lower..=upper)),
        }
    }

    /// A length of a text (`Length`) or a list (`Items`): up to the usual one if the schema accepts
    /// that, and sometimes the maximum, if it is not too large.
    fn size(&mut self, schema: &Value, of: &str, usual: usize) -> usize {
        let bound = |name: &str| schema[format!("{name}{of}")].as_u64().and_then(|size| usize::try_from(size).ok());
        let (least, most) = (bound("min").unwrap_or(0), bound("max"));
        match most.filter(|most| *most <= LARGE) {
            Some(most) if self.direction == Direction::Request && self.one_in(8) => most,
            _ => self.draw(&(least..=most.unwrap_or(usize::MAX).min(least.max(usual)))),
        }
    }

    fn list(&mut self, schema: &Value, root: &Value, depth: u32) -> Value {
        let usual = if depth < DEPTH { ITEMS } else { 0 };
        let count = self.size(schema, "Items", usual);
        let mut items: Vec<Value> = Vec::new();
        for _ in 0..count {
            let item = self.value_at(&schema["items"], root, depth + 1);
            if schema["uniqueItems"] != true || !items.contains(&item) {
                items.push(item);
            }
        }
        Value::Array(items)
    }

    fn object(&mut self, schema: &Value, root: &Value, depth: u32) -> Value {
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let mut members = Map::new();
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let is_essential = is_identifier(name, property) || ESSENTIAL.contains(&name.as_str());
            let is_needed = required.contains(&name.as_str()) || (self.direction == Direction::Answer && is_essential);
            let is_hidden = match self.direction {
                Direction::Request => property["readOnly"] == true,
                Direction::Answer => NEXT_PAGE.contains(&name.as_str()),
            };
            // The deeper an object is, the fewer optional members it has.
            if is_needed || (!is_hidden && depth < DEPTH && self.one_in(depth + 2)) {
                let value = match self.direction {
                    // Connectors use identifiers of answers in further requests.
                    Direction::Answer if is_identifier(name, property) => {
                        json!(self.draw(&(1..1_000_000_000_u64)).to_string())
                    }
                    _ => self.value_at(property, root, depth + 1),
                };
                members.insert(name.clone(), value);
            }
        }
        if schema["properties"].is_null() && schema["additionalProperties"] != false && depth < DEPTH && self.one_in(2)
        {
            let value = match &schema["additionalProperties"] {
                Value::Object(_) => self.value_at(&schema["additionalProperties"], root, depth + 1),
                _ => json!("value"),
            };
            members.insert("member".to_owned(), value);
        }
        Value::Object(members)
    }
}

/// Returns `true` for a member that is an identifier of no special form.
fn is_identifier(name: &str, schema: &Value) -> bool {
    let is_named_so = name == "id" || name.ends_with("_id") || name.ends_with("Id");
    is_named_so && schema["type"] == "string" && ["pattern", "format", "enum"].iter().all(|key| schema[key].is_null())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Value {
        json!({
            "type": "object",
            "required": ["id", "when"],
            "additionalProperties": false,
            "properties": {
                "id": {"type": "string", "pattern": "^[a-z]{2}(-[0-9]+)?$", "maxLength": 8},
                "when": {"type": "string", "format": "date-time"},
                "day": {"type": ["string", "null"], "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"},
                "text": {"type": "string", "minLength": 3, "maxLength": 40},
                "count": {"type": "integer", "minimum": -5, "maximum": 5},
                "share": {"type": "number", "minimum": 0, "maximum": 1},
                "kind": {"enum": ["a", "b", null]},
                "either": {"anyOf": [{"type": "boolean"}, {"type": "array", "items": {"type": "integer"}, "minItems": 1}]},
                "tags": {"type": "array", "items": {"enum": ["x", "y"]}, "uniqueItems": true, "maxItems": 2},
                "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
                "map": {"type": "object", "additionalProperties": {"type": "integer"}},
            },
            "$defs": {"Node": {
                "type": "object",
                "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
            }},
        })
    }

    #[test]
    fn a_schema_accepts_every_value_that_is_generated_from_it() {
        let schema = schema();
        let validator = jsonschema::options().should_validate_formats(true).build(&schema).unwrap();
        for direction in [Direction::Request, Direction::Answer] {
            for seed in 0..300 {
                let value = Generator::new(&seed.to_string(), direction).value(&schema, &schema);
                assert!(validator.is_valid(&value), "{value}");
            }
        }
    }

    #[test]
    fn optional_members_are_there_and_not_there_and_bounds_are_met() {
        let schema = schema();
        let values: Vec<Value> = (0..100)
            .map(|seed| Generator::new(&seed.to_string(), Direction::Request).value(&schema, &schema))
            .collect();
        for name in
            schema["properties"].as_object().unwrap().keys().filter(|name| !["id", "when"].contains(&name.as_str()))
        {
            assert!(values.iter().any(|value| value.get(name).is_some()), "{name} is there");
            assert!(values.iter().any(|value| value.get(name).is_none()), "{name} is not there");
        }
        let counts: Vec<&Value> = values.iter().map(|value| &value["count"]).collect();
        assert!(counts.contains(&&json!(-5)) && counts.contains(&&json!(5)), "{counts:?}");
        assert!(values.iter().any(|value| value["text"].as_str().is_some_and(|text| text.chars().count() == 40)));
        assert!(
            values
                .iter()
                .any(|value| value["text"].as_str().is_some_and(|text| text.contains(['/', '?', '%', '&', 'ä'])))
        );
    }

    #[test]
    fn the_same_seed_gives_the_same_value() {
        let schema = schema();
        let value = |seed: &str| Generator::new(seed, Direction::Request).value(&schema, &schema);
        assert_eq!(value("one"), value("one"));
        assert_ne!(value("one"), value("two"));
    }
}
