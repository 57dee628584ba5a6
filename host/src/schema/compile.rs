//! From the text of a JSON Schema to a validator.

use jsonschema::Validator;
use serde_json::Value;

use super::Violation;
use super::explain::explain;

/// A JSON Schema (draft 2020-12), parsed and compiled.
pub struct ValueSchema {
    document: Value,
    validator: Validator,
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
        let validator = jsonschema::draft202012::options()
            // Patterns come from connectors and are matched with text from callers, so they must not backtrack.
            .with_pattern_options(jsonschema::PatternOptions::regex())
            .should_validate_formats(false)
            .build(&document)
            .map_err(|error| format!("cannot be compiled: {}", error.masked()))?;
        Ok(Self { document, validator })
    }

    /// The schema as the connector wrote it.
    pub fn document(&self) -> &Value {
        &self.document
    }

    /// Validates a value. Returns every violation.
    pub fn violations(&self, value: &Value) -> Vec<Violation> {
        let mut violations = Vec::new();
        if !self.validator.is_valid(value) {
            for error in self.validator.iter_errors(value) {
                explain(&self.document, &error, &mut violations);
            }
        }
        violations
    }
}
