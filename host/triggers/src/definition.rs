//! The definitions of triggers by their callers, checked.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::TriggerError;
use contract_rules::pointer;
use schema::Schema;
use shape::Shape;

/// The most filters, and the most values of one.
const MAX_FILTERS: usize = 16;
const MAX_VALUES: usize = 100;

/// Labels and their sizes, as integrations have them.
const MAX_LABELS: usize = 16;
const MAX_LABEL_NAME: usize = 64;
const MAX_LABEL_VALUE: usize = 256;

/// The intervals of reads that a caller may ask for, in seconds.
const POLL_S: std::ops::RangeInclusive<u32> = 60..=86_400;

/// The most bytes of a definition, as JSON text. It is read for each event.
const MAX_DEFINITION: usize = 64 << 10;

/// The part of a trigger that the gateway keeps sealed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Definition {
    pub(super) parameters: Value,
    pub(super) urls: Vec<String>,
    pub(super) filters: Vec<Filter>,
    pub(super) response_fields: Vec<String>,
}

/// An event is dropped unless the value at the pointer is one of these.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Filter {
    pub(super) pointer: String,
    #[serde(rename = "in")]
    pub(super) values: Vec<Value>,
}

/// The violations of a body: a JSON Pointer and a sentence for each.
#[derive(Default)]
pub(super) struct Violations(Vec<(String, String)>);

impl Violations {
    pub(super) fn add(&mut self, pointer: impl Into<String>, detail: impl Into<String>) {
        self.0.push((pointer.into(), detail.into()));
    }

    pub(super) fn finish(self) -> Result<(), TriggerError> {
        if self.0.is_empty() { Ok(()) } else { Err(TriggerError::Invalid(self.0)) }
    }

    /// Checks the parameters by the schema of the type.
    pub(super) fn check_parameters(&mut self, schema: &str, parameters: &Value) -> Result<(), TriggerError> {
        let schema = Schema::compile(schema, false).map_err(TriggerError::Damaged)?;
        match schema.parse(parameters.to_string().as_bytes()) {
            Ok(_) => {}
            Err(schema::InputError::Invalid(violations)) => {
                for violation in violations {
                    self.add(format!("/parameters{}", violation.pointer), violation.detail);
                }
            }
            Err(other) => self.add("/parameters", other.to_string()),
        }
        Ok(())
    }

    /// Reads filters.
    pub(super) fn read_filters(&mut self, given: &Value) -> Vec<Filter> {
        const FORM: &str =
            "Give a list of objects with `pointer`, a JSON Pointer into `data`, and `in`, a list of values.";
        let Value::Array(list) = given else {
            if !given.is_null() {
                self.add("/filters", FORM);
            }
            return Vec::new();
        };
        if list.len() > MAX_FILTERS {
            self.add("/filters", format!("There are {} filters; {MAX_FILTERS} is the limit.", list.len()));
            return Vec::new();
        }
        let mut filters = Vec::with_capacity(list.len());
        for (index, entry) in list.iter().enumerate() {
            let at = format!("/filters/{index}");
            let Ok(filter) = serde_json::from_value::<Filter>(entry.clone()) else {
                self.add(at, FORM);
                continue;
            };
            if entry.as_object().is_some_and(|members| members.len() != 2) {
                self.add(at.clone(), "A filter has only `pointer` and `in`. Remove the other members.");
            }
            if pointer::check(&filter.pointer).is_err() {
                self.add(format!("{at}/pointer"), "Must be a JSON Pointer into `data`, such as `/action`.");
            }
            let is_scalar = |value: &Value| !value.is_array() && !value.is_object();
            if filter.values.is_empty() || filter.values.len() > MAX_VALUES || !filter.values.iter().all(is_scalar) {
                self.add(format!("{at}/in"), format!("Must be 1 to {MAX_VALUES} texts, numbers, booleans or nulls."));
            }
            filters.push(filter);
        }
        filters
    }

    /// Reads response fields.
    pub(super) fn read_response_fields(&mut self, given: &Value) -> Vec<String> {
        if given.is_null() {
            return Vec::new();
        }
        match to_raw_value(given).map(|raw| Shape::from_members(Some(&raw), None)) {
            Ok(Ok(_)) => serde_json::from_value(given.clone()).unwrap_or_default(),
            Ok(Err(violations)) => {
                violations.into_iter().for_each(|violation| self.add(violation.pointer, violation.detail));
                Vec::new()
            }
            Err(_) => Vec::new(),
        }
    }

    /// Checks labels.
    pub(super) fn check_labels(&mut self, labels: &BTreeMap<String, String>) {
        if labels.len() > MAX_LABELS {
            self.add("/labels", format!("There are {} labels; {MAX_LABELS} is the limit.", labels.len()));
        }
        for (name, value) in labels {
            let is_name = !name.is_empty() && name.len() <= MAX_LABEL_NAME;
            if !is_name || value.len() > MAX_LABEL_VALUE || (name.clone() + value).chars().any(char::is_control) {
                self.add(
                    format!("/labels/{}", name.replace('~', "~0").replace('/', "~1")),
                    format!("A name has 1 to {MAX_LABEL_NAME} bytes, a value at most {MAX_LABEL_VALUE}, without control characters."),
                );
            }
        }
    }

    /// Checks the size of what the caller has given. The pointer is the largest part, as that is
    /// the one to make smaller.
    pub(super) fn check_size(&mut self, definition: &Definition) -> Result<(), TriggerError> {
        let Definition { parameters, urls, filters, response_fields } = definition;
        let parts = [
            ("/parameters", serde_json::to_vec(parameters)?.len()),
            ("/urls", serde_json::to_vec(urls)?.len()),
            ("/filters", serde_json::to_vec(filters)?.len()),
            ("/response_fields", serde_json::to_vec(response_fields)?.len()),
        ];
        let bytes: usize = parts.iter().map(|(_, bytes)| bytes).sum();
        if bytes > MAX_DEFINITION
            && let Some((pointer, _)) = parts.into_iter().max_by_key(|(_, bytes)| *bytes)
        {
            self.add(
                pointer,
                format!(
                    "`parameters`, `urls`, `filters` and `response_fields` have {bytes} bytes; {MAX_DEFINITION} is the limit."
                ),
            );
        }
        Ok(())
    }

    /// Checks the interval of reads.
    pub(super) fn check_poll_s(&mut self, poll_s: Option<u32>) {
        if poll_s.is_some_and(|seconds| !POLL_S.contains(&seconds)) {
            self.add("/poll_s", format!("Must be {} to {} seconds.", POLL_S.start(), POLL_S.end()));
        }
    }
}

impl Definition {
    /// Returns `true` if the data of an event passes all filters.
    pub(super) fn admits(&self, data: &Value) -> bool {
        let null = Value::Null;
        self.filters.iter().all(|filter| filter.values.contains(data.pointer(&filter.pointer).unwrap_or(&null)))
    }

    /// The data of an event with the fields that the caller wants.
    pub(super) fn shape(&self, data: &str) -> Result<String, TriggerError> {
        if self.response_fields.is_empty() {
            return Ok(data.to_owned());
        }
        let fields: Box<RawValue> = to_raw_value(&self.response_fields)?;
        let damaged = || TriggerError::Damaged("the response fields of a trigger".to_owned());
        let shape = Shape::from_members(Some(&fields), None).map_err(|_| damaged())?;
        let shaped = shape.apply(data.as_bytes()).map_err(|error| TriggerError::Damaged(error.to_string()))?;
        String::from_utf8(shaped).map_err(|_| damaged())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn violations(check: impl FnOnce(&mut Violations)) -> Vec<String> {
        let mut violations = Violations::default();
        check(&mut violations);
        violations.0.into_iter().map(|(pointer, _)| pointer).collect()
    }

    #[test]
    fn filters_have_a_pointer_and_scalars() {
        let mut read = Violations::default();
        let filters = read.read_filters(&json!([{"pointer": "/action", "in": ["opened", 1, null]}]));
        assert_eq!((read.0.len(), filters.len()), (0, 1));
        for (wrong, at) in [
            (json!({}), "/filters"),
            (json!([{"pointer": "action", "in": [1]}]), "/filters/0/pointer"),
            (json!([{"pointer": "/a", "in": []}]), "/filters/0/in"),
            (json!([{"pointer": "/a", "in": [{}]}]), "/filters/0/in"),
            (json!([{"pointer": "/a"}]), "/filters/0"),
            (json!([{"pointer": "/a", "in": [1], "not": 1}]), "/filters/0"),
        ] {
            assert_eq!(violations(|found| drop(found.read_filters(&wrong))), [at], "{wrong}");
        }
    }

    #[test]
    fn an_event_passes_all_filters_or_is_dropped() {
        let mut read = Violations::default();
        let filters =
            read.read_filters(&json!([{"pointer": "/a", "in": ["x", null]}, {"pointer": "/b/c", "in": [1, true]}]));
        let definition = Definition { filters, ..Definition::default() };
        assert!(definition.admits(&json!({"a": "x", "b": {"c": 1}})));
        assert!(definition.admits(&json!({"b": {"c": true}})));
        assert!(!definition.admits(&json!({"a": "y", "b": {"c": 1}})));
        assert!(!definition.admits(&json!({"a": "x"})));
    }

    #[test]
    fn data_has_the_fields_that_the_caller_wants() {
        let definition = Definition { response_fields: vec!["a.b".to_owned()], ..Definition::default() };
        assert_eq!(definition.shape(r#"{"a":{"b":1,"c":2},"d":3}"#).unwrap(), r#"{"a":{"b":1}}"#);
        assert_eq!(Definition::default().shape(r#"{"a":1.0}"#).unwrap(), r#"{"a":1.0}"#);
    }

    #[test]
    fn parameters_are_checked_by_the_schema_of_the_type() {
        let schema = r#"{"type":"object","properties":{"owner":{"type":"string"}},"required":["owner"],"additionalProperties":false}"#;
        let found = violations(|found| found.check_parameters(schema, &json!({"owner": 1, "other": 2})).unwrap());
        assert_eq!(found, ["/parameters/owner", "/parameters/other"]);
        assert!(violations(|found| found.check_parameters(schema, &json!({"owner": "a"})).unwrap()).is_empty());
    }

    #[test]
    fn a_definition_has_a_limit_and_the_largest_part_is_named() {
        let of = |bytes: usize| Definition {
            parameters: json!({ "query": "x".repeat(bytes) }),
            urls: vec!["https://app.example/".to_owned()],
            ..Definition::default()
        };
        assert!(violations(|found| found.check_size(&of(MAX_DEFINITION - 100)).unwrap()).is_empty());
        assert_eq!(violations(|found| found.check_size(&of(MAX_DEFINITION)).unwrap()), ["/parameters"]);
    }

    #[test]
    fn intervals_and_labels_have_limits() {
        assert_eq!(violations(|found| found.check_poll_s(Some(59))), ["/poll_s"]);
        assert!(violations(|found| found.check_poll_s(Some(60))).is_empty());
        let labels = |name: &str, value: &str| BTreeMap::from([(name.to_owned(), value.to_owned())]);
        assert!(violations(|found| found.check_labels(&labels("team", "blue"))).is_empty());
        assert_eq!(violations(|found| found.check_labels(&labels("a/b", "line\nend"))), ["/labels/a~1b"]);
    }
}
