//! The request body: checked against the operation's schema, and parted into what shapes the answer and what the
//! connector gets.

use std::borrow::Cow;
use std::fmt::{self, Write};

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{ValidationError, Validator};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use shape::Shape;

/// Violations named in one answer; a body with more has its rest counted.
pub const MAX_VIOLATIONS: usize = 100;

/// A member of a body that is wrong.
#[derive(Debug)]
pub struct Violation {
    /// JSON Pointer (RFC 6901) into the body.
    pub pointer: String,
    /// A sentence that says what to do.
    pub detail: String,
}

/// The schema of an operation's body, compiled once.
pub struct Schema {
    document: Value,
    validator: Validator,
    /// Whether callers may shape the answer.
    envelope: bool,
}

/// A body that its schema accepted.
pub struct Input<'a> {
    /// JSON text of an object, for the connector: what the caller wrote, less the envelope's members and nulls.
    pub text: Cow<'a, str>,
    /// What to keep of the answer.
    pub shape: Shape,
}

/// A body that goes no further.
#[derive(Debug)]
pub enum Rejection {
    /// It is not JSON; says where.
    NotJson(String),
    /// It breaks the schema; all violations at once.
    Invalid(Vec<Violation>),
}

impl Schema {
    /// Compiles a JSON Schema of draft 2020-12.
    ///
    /// # Errors
    /// Says what is wrong with the schema.
    pub fn compile(text: &str, envelope: bool) -> Result<Self, String> {
        let document: Value = serde_json::from_str(text).map_err(|error| format!("is not JSON: {error}"))?;
        if document.get("type").and_then(Value::as_str) != Some("object") {
            return Err("must have \"type\": \"object\"".to_owned());
        }
        jsonschema::draft202012::meta::validate(&document)
            .map_err(|error| format!("is no JSON Schema: {} at {}", error.masked(), error.instance_path()))?;
        let validator = jsonschema::draft202012::options()
            // Patterns come from connectors and are run on input from callers: no backtracking.
            .with_pattern_options(jsonschema::PatternOptions::regex())
            .should_validate_formats(false)
            .build(&document)
            .map_err(|error| format!("cannot be compiled: {}", error.masked()))?;
        Ok(Self { document, validator, envelope })
    }

    /// The schema as the connector gave it.
    pub fn document(&self) -> &Value {
        &self.document
    }

    /// Whether callers may shape the answer.
    pub fn envelope(&self) -> bool {
        self.envelope
    }

    /// Checks a request body. Nothing but white space counts as `{}`, and so does `null`.
    ///
    /// # Errors
    /// When it is not JSON, or breaks the schema or the rules of the envelope.
    pub fn read<'a>(&self, body: &'a [u8]) -> Result<Input<'a>, Rejection> {
        let body = body.trim_ascii();
        let body = if body.is_empty() || body == b"null" { b"{}" } else { body };
        let text = std::str::from_utf8(body)
            .map_err(|error| Rejection::NotJson(format!("the body is not UTF-8 at byte {}", error.valid_up_to())))?;
        let not_json = |error: serde_json::Error| Rejection::NotJson(format!("the body is not JSON: {error}"));
        if !text.starts_with('{') {
            serde_json::from_str::<&RawValue>(text).map_err(not_json)?;
            return Err(Rejection::Invalid(vec![Violation {
                pointer: String::new(),
                detail: "The body must be a JSON object.".to_owned(),
            }]));
        }
        let Members(members) = serde_json::from_str(text).map_err(not_json)?;
        self.part(text, &members)
    }

    fn part<'a>(&self, text: &'a str, members: &[(Cow<'a, str>, &'a RawValue)]) -> Result<Input<'a>, Rejection> {
        let not_json = |error: serde_json::Error| Rejection::NotJson(format!("the body is not JSON: {error}"));
        let mut violations = Vec::new();
        let mut value = serde_json::Map::with_capacity(members.len());
        let (mut fields, mut filters) = (None, None);
        let mut kept = Vec::with_capacity(members.len());
        for (name, raw) in members {
            let is_null = raw.get() == "null";
            if self.envelope && name == "response_fields" {
                fields = Some(serde_json::from_str(raw.get()).map_err(not_json)?);
            } else if self.envelope && name == "response_filters" {
                filters = Some(serde_json::from_str(raw.get()).map_err(not_json)?);
            } else if name == "query" && is_null {
                // Callers that always send `query` may leave it empty everywhere.
            } else {
                let member = serde_json::from_str(raw.get()).map_err(not_json)?;
                if value.insert(name.clone().into_owned(), member).is_some() {
                    violations.push(Violation {
                        pointer: format!("/{}", escape(name)),
                        detail: format!("`{name}` stands in the body more than once; send it once."),
                    });
                }
                if !is_null {
                    kept.push((name, *raw));
                }
            }
        }
        let shape = Shape::from_members(fields.as_ref(), filters.as_ref());
        if let Err(wrong) = &shape {
            violations.extend(
                wrong.iter().map(|violation| Violation {
                    pointer: violation.pointer.clone(),
                    detail: violation.detail.clone(),
                }),
            );
        }
        let value = Value::Object(value);
        if !self.validator.is_valid(&value) {
            for error in self.validator.iter_errors(&value) {
                self.explain(&error, &mut violations);
            }
        }
        let (true, Ok(shape)) = (violations.is_empty(), shape) else {
            let over = violations.len().saturating_sub(MAX_VIOLATIONS);
            if over > 0 {
                violations.truncate(MAX_VIOLATIONS);
                violations.push(Violation {
                    pointer: String::new(),
                    detail: format!("{over} more violations are not listed."),
                });
            }
            return Err(Rejection::Invalid(violations));
        };
        let text = if kept.len() == members.len() { Cow::Borrowed(text) } else { Cow::Owned(join(&kept)) };
        Ok(Input { text, shape })
    }

    /// Says what to do about a violation. The caller's values are not repeated: they may be secrets.
    fn explain(&self, error: &ValidationError<'_>, violations: &mut Vec<Violation>) {
        let pointer = error.instance_path().as_str();
        let mut add = |pointer: String, detail: String| violations.push(Violation { pointer, detail });
        match error.kind() {
            ValidationErrorKind::AdditionalProperties { unexpected } => {
                let declared = self.declared(error);
                for name in unexpected {
                    add(format!("{pointer}/{}", escape(name)), unknown_field(name, &declared));
                }
            }
            ValidationErrorKind::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                add(format!("{pointer}/{}", escape(name)), format!("`{name}` is required."));
            }
            kind => add(pointer.to_owned(), sentence(kind).unwrap_or_else(|| format!("{}.", error.masked()))),
        }
    }

    /// Names that the schema declares where an undeclared one was found.
    fn declared(&self, error: &ValidationError<'_>) -> Vec<&str> {
        error
            .schema_path()
            .as_str()
            .strip_suffix("/additionalProperties")
            .and_then(|parent| self.document.pointer(&format!("{parent}/properties")))
            .and_then(Value::as_object)
            .map(|properties| properties.keys().map(String::as_str).collect())
            .unwrap_or_default()
    }
}

/// What to do about a violation, where the schema library's own words would not say.
fn sentence(kind: &ValidationErrorKind) -> Option<String> {
    let text = match kind {
        ValidationErrorKind::Type { kind } => format!("Must be {}.", types(kind)),
        ValidationErrorKind::Enum { options } => match options.as_array() {
            // That null stands for an absent field need not be said.
            Some(options) => format!("Must be one of {}.", list(options.iter().filter(|option| !option.is_null()))),
            None => return None,
        },
        ValidationErrorKind::Constant { expected_value } => format!("Must be {expected_value}."),
        ValidationErrorKind::Minimum { limit } => format!("Must be at least {limit}."),
        ValidationErrorKind::Maximum { limit } => format!("Must be at most {limit}."),
        ValidationErrorKind::MinLength { limit } => format!("Must have at least {limit} characters."),
        ValidationErrorKind::MaxLength { limit } => format!("Must have at most {limit} characters."),
        ValidationErrorKind::MinItems { limit } => format!("Must have at least {limit} items."),
        ValidationErrorKind::MaxItems { limit } => format!("Must have at most {limit} items."),
        ValidationErrorKind::UniqueItems => "Must not have the same item twice.".to_owned(),
        ValidationErrorKind::Pattern { pattern } => format!("Must match the pattern {pattern}."),
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            let mut reasons: Vec<String> =
                context.iter().flatten().filter_map(|error| sentence(error.kind())).collect();
            reasons.dedup();
            if reasons.is_empty() {
                return None;
            }
            reasons.join(" Or: ")
        }
        _ => return None,
    };
    Some(text)
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(kind) => article(&kind.to_string()),
        TypeKind::Multiple(kinds) => {
            let names: Vec<String> = kinds.iter().map(|kind| article(&kind.to_string())).collect();
            names.join(" or ")
        }
    }
}

fn article(kind: &str) -> String {
    match kind {
        "null" => kind.to_owned(),
        "integer" | "object" | "array" => format!("an {kind}"),
        _ => format!("a {kind}"),
    }
}

/// The sentence for a field that is not declared, with the nearest declared one.
pub fn unknown_field(name: &str, declared: &[&str]) -> String {
    match nearest(name, declared.iter().copied()) {
        Some(nearest) => format!("`{name}` is not a field here; did you mean `{nearest}`?"),
        None if declared.is_empty() => format!("`{name}` is not a field here; no fields are declared."),
        None => format!("`{name}` is not a field here; the fields are {}.", list(declared.iter())),
    }
}

/// The candidate most like a name, if any is like it at all.
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(_, candidate)| candidate)
}

fn list<T: fmt::Display>(items: impl Iterator<Item = T>) -> String {
    let items: Vec<String> = items.map(|item| item.to_string()).collect();
    items.join(", ")
}

/// Escapes a name for a JSON Pointer (RFC 6901).
fn escape(name: &str) -> Cow<'_, str> {
    if name.contains(['~', '/']) { Cow::Owned(name.replace('~', "~0").replace('/', "~1")) } else { Cow::Borrowed(name) }
}

/// An object's text from the texts of its members.
fn join(members: &[(&Cow<'_, str>, &RawValue)]) -> String {
    let mut text = String::from("{");
    for (index, (name, value)) in members.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        // Writing to a string does not fail.
        let _ = write!(text, "{comma}{}:{}", Value::from(name.as_ref()), value.get());
    }
    text.push('}');
    text
}

/// The members of an object, each value as its text.
struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(Name(name)) = map.next_key()? {
                    members.push((name, map.next_value()?));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

/// A member's name, borrowed from the text where it has no escapes.
struct Name<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Borrow;
        impl<'de> Visitor<'de> for Borrow {
            type Value = Name<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a name")
            }

            fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
                Ok(Name(Cow::Borrowed(name)))
            }

            fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
                Ok(Name(Cow::Owned(name.to_owned())))
            }
        }
        deserializer.deserialize_str(Borrow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Schema {
        Schema::compile(
            r#"{
                "type": "object", "additionalProperties": false, "required": ["calendar_id"],
                "properties": {
                    "calendar_id": {"type": "string", "minLength": 1},
                    "count": {"type": ["integer", "null"], "minimum": 1, "maximum": 10},
                    "body": {"type": ["object", "null"]},
                    "query": {"type": ["object", "null"], "additionalProperties": false,
                              "properties": {"maxResults": {}, "pageToken": {}}}
                }
            }"#,
            true,
        )
        .unwrap()
    }

    fn violations(body: &str) -> Vec<(String, String)> {
        match schema().read(body.as_bytes()).map(|_| ()) {
            Err(Rejection::Invalid(violations)) => violations.into_iter().map(|v| (v.pointer, v.detail)).collect(),
            other => panic!("expected violations, got {other:?}"),
        }
    }

    #[test]
    fn a_plain_body_reaches_the_connector_as_it_was_written() {
        let body = br#"{"calendar_id": "a", "body": {"n": 1.0, "big": 123456789012345678901234567890}}"#;
        let schema = schema();
        let input = schema.read(body).unwrap();
        assert!(matches!(input.text, Cow::Borrowed(_)));
        assert_eq!(input.text.as_bytes(), body);
    }

    #[test]
    fn the_envelope_and_nulls_are_taken_out() {
        let schema = schema();
        let body = br#"{"calendar_id":"a","response_fields":["x"],"count":null,"query":null,"body":{"n":1.0}}"#;
        let input = schema.read(body).unwrap();
        assert_eq!(input.text, r#"{"calendar_id":"a","body":{"n":1.0}}"#);
        assert!(!input.shape.is_identity());
    }

    #[test]
    fn all_violations_are_named_at_once_with_their_pointers() {
        let found = violations(r#"{"count": 11, "query": {"maxResult": 1}, "calender_id": "x", "response_fields": 1}"#);
        let pointers: Vec<&str> = found.iter().map(|(pointer, _)| pointer.as_str()).collect();
        for pointer in ["/count", "/query/maxResult", "/calender_id", "/calendar_id", "/response_fields"] {
            assert!(pointers.contains(&pointer), "{pointer} in {pointers:?}");
        }
        let text = format!("{found:?}");
        assert!(text.contains("did you mean `maxResults`?"), "{text}");
        assert!(text.contains("did you mean `calendar_id`?"), "{text}");
        assert!(text.contains("Must be at most 10."), "{text}");
    }

    #[test]
    fn values_are_not_repeated_in_a_violation() {
        let found = violations(r#"{"calendar_id": ["hunter2"], "count": "hunter2"}"#);
        assert!(!format!("{found:?}").contains("hunter2"), "{found:?}");
    }

    #[test]
    fn an_empty_body_counts_as_an_empty_object() {
        for body in ["", "  \n", "null", "{}"] {
            assert_eq!(violations(body), [("/calendar_id".to_owned(), "`calendar_id` is required.".to_owned())]);
        }
    }

    #[test]
    fn what_is_not_an_object_is_a_violation_and_what_is_not_json_is_not() {
        assert_eq!(violations("[1]")[0].0, "");
        for body in ["{", "{\"a\":}", "nul", "\u{feff}{}"] {
            assert!(matches!(schema().read(body.as_bytes()), Err(Rejection::NotJson(_))), "{body}");
        }
        assert!(matches!(schema().read(b"\xff\xfe"), Err(Rejection::NotJson(_))));
    }

    #[test]
    fn a_member_sent_twice_is_a_violation() {
        assert!(format!("{:?}", violations(r#"{"calendar_id":"a","calendar_id":"b"}"#)).contains("more than once"));
    }

    #[test]
    fn a_schema_that_is_none_is_refused() {
        assert!(Schema::compile("{", true).is_err());
        assert!(Schema::compile("[]", true).is_err());
        assert!(Schema::compile(r#"{"type":"object","properties":7}"#, true).is_err());
        assert!(Schema::compile(r#"{"type":"object","properties":{"a":{"pattern":"("}}}"#, true).is_err());
    }
}
