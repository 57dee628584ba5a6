//! Compiles the text of a JSON Schema to a validator.

use jsonschema::Validator;
use serde_json::Value;

use super::cost::{Cost, MAX_COMPILED_PATTERN_BYTES, TooManySteps};
use super::explain::explain;
use super::violations::{Violation, Violations};

/// The schema library builds every violation before it returns the first one. If a value has more
/// parts than this, only its first violation is requested.
const MANY_PARTS: usize = 10_000;

/// The library writes the whole pointer to a part into each violation. If the pointers to all parts
/// of a value have more bytes than this and [`POINTER_BYTES`] for each part, no violation is
/// requested.
const MANY_POINTER_BYTES: usize = 4 << 20;

/// Fewer bytes than the memory that a part takes.
const POINTER_BYTES: usize = 64;

/// The detail of a violation that has no pointer.
const SOMEWHERE: &str = "A part does not fit the schema. The names that lead to it are too long to tell its place: \
                         send it with shorter names.";

/// A JSON Schema (draft 2020-12), parsed and compiled.
pub struct ValueSchema {
    document: Value,
    validator: Validator,
    cost: Cost,
}

impl ValueSchema {
    /// Compiles the text of a schema.
    ///
    /// # Errors
    /// A phrase that says what is wrong, to follow the name of the schema.
    pub fn compile(text: &str) -> Result<Self, String> {
        let document: Value = serde_json::from_str(text).map_err(|error| format!("is not JSON: {error}"))?;
        jsonschema::draft202012::meta::validate(&document)
            .map_err(|error| format!("is not a JSON Schema: {} at {}", error.masked(), error.instance_path()))?;
        let cost = Cost::measure(&document)?;
        let patterns = jsonschema::PatternOptions::regex()
            .size_limit(MAX_COMPILED_PATTERN_BYTES)
            .dfa_size_limit(MAX_COMPILED_PATTERN_BYTES);
        let validator = jsonschema::draft202012::options()
            // Patterns come from connectors and are matched with text from callers, so they must
            // not backtrack.
            .with_pattern_options(patterns)
            .should_validate_formats(true)
            // The text of a caller would be compiled.
            .with_format("regex", |_: &str| true)
            .build(&document)
            .map_err(|error| format!("cannot be compiled: {}", error.masked()))?;
        Ok(Self { document, validator, cost })
    }

    /// Checks that a value can be validated in few enough steps. `bytes` is its length as text.
    ///
    /// # Errors
    /// If it cannot.
    pub fn admit(&self, value: &Value, bytes: usize) -> Result<(), TooManySteps> {
        self.cost.admit(&self.document, value, bytes)
    }

    /// The schema as the connector wrote it.
    pub fn document(&self) -> &Value {
        &self.document
    }

    /// Validates a value. Returns its violations, as many as an answer lists.
    pub fn violations(&self, value: &Value) -> Vec<Violation> {
        let mut violations = Violations::default();
        self.validate(value, &[], &mut violations);
        violations.into_list()
    }

    /// Validates a value, and adds its violations to others. `also_known` are names of members
    /// that the whole value may have in addition to the members of the schema.
    pub(super) fn validate(&self, value: &Value, also_known: &[&str], violations: &mut Violations) {
        if self.validator.is_valid(value) {
            return;
        }
        let parts = Parts::of(value);
        if parts.have_long_pointers() {
            violations.add(String::new(), SOMEWHERE);
            violations.note_more();
            return;
        }
        if parts.count > MANY_PARTS {
            if let Err(error) = self.validator.validate(value) {
                explain(&self.document, &error, also_known, violations);
            }
            violations.note_more();
            return;
        }
        for error in self.validator.iter_errors(value) {
            explain(&self.document, &error, also_known, violations);
            if violations.is_over() {
                return;
            }
        }
    }
}

/// The parts of a value, itself included.
#[derive(Default)]
struct Parts {
    count: usize,
    /// Bytes of the pointers to all of them.
    pointers: usize,
}

impl Parts {
    fn of(value: &Value) -> Self {
        let mut parts = Self::default();
        parts.add(value, 0);
        parts
    }

    /// Adds a value to which a pointer of this length leads.
    fn add(&mut self, value: &Value, pointer: usize) {
        self.count += 1;
        self.pointers = self.pointers.saturating_add(pointer);
        match value {
            // An index has a few digits.
            Value::Array(items) => items.iter().for_each(|item| self.add(item, pointer + "/0".len())),
            Value::Object(members) => {
                members.iter().for_each(|(name, member)| self.add(member, pointer + "/".len() + name.len()));
            }
            _ => {}
        }
    }

    /// Returns `true` if the pointers take more memory than the value. A long name around many parts
    /// is in the pointers to all of them.
    fn have_long_pointers(&self) -> bool {
        self.pointers > self.count.saturating_mul(POINTER_BYTES).saturating_add(MANY_POINTER_BYTES)
    }
}
