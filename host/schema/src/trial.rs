//! The trial of a module's schemas, in a process with limits of memory and time.
//!
//! The bounds of a schema's cost are counted, and a count may be wrong. So the schemas of a
//! module are first compiled and tried in a process where this does no harm.

use std::fs;
use std::io::{self, Error};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{InputError, Schema, ValueSchema, check_module};
use contract::{Manifest, Trigger};

/// Memory that all compiled schemas of a module may take.
const MAX_COMPILED_MB: u64 = 64;

/// Largest file of schemas that is read. The schemas of a module are a part of its manifest.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// The schemas of a module, with the values that they must accept.
#[derive(Serialize, Deserialize)]
pub struct Trial(Vec<Tried>);

/// One schema.
#[derive(Serialize, Deserialize)]
struct Tried {
    /// The operation, setting or type of events that it belongs to.
    owner: String,
    /// The name of the schema there.
    part: String,
    schema: String,
    kind: Kind,
    /// A value that it must accept, as JSON text.
    example: Option<String>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
enum Kind {
    Input { envelope: bool, background: bool },
    Answer,
    Setting,
    Payload,
}

impl Kind {
    /// The name of the value that the schema must accept.
    fn example(self) -> &'static str {
        match self {
            Self::Input { .. } | Self::Payload => "example",
            Self::Answer => "answer-example",
            Self::Setting => "default",
        }
    }
}

impl Trial {
    /// The schemas of a manifest, and of the types of events.
    pub fn of_manifest(manifest: &Manifest, triggers: &[Trigger]) -> Self {
        let mut tried = Vec::new();
        for operation in &manifest.operations {
            let owner = || format!("operation `{}`", operation.path);
            tried.push(Tried {
                owner: owner(),
                part: "input-schema".to_owned(),
                schema: operation.input_schema.clone(),
                kind: Kind::Input { envelope: operation.envelope, background: operation.background },
                example: operation.example.clone(),
            });
            if let Some(schema) = &operation.answer_schema {
                tried.push(Tried {
                    owner: owner(),
                    part: "answer-schema".to_owned(),
                    schema: schema.clone(),
                    kind: Kind::Answer,
                    example: operation.answer_example.clone(),
                });
            }
        }
        for setting in &manifest.settings {
            tried.push(Tried {
                owner: format!("setting `{}`", setting.name),
                part: "schema".to_owned(),
                schema: setting.schema.clone(),
                kind: Kind::Setting,
                example: setting.default.clone(),
            });
        }
        for trigger in triggers {
            let owner = || format!("trigger `{}`", trigger.name);
            tried.push(Tried {
                owner: owner(),
                part: "parameters".to_owned(),
                schema: trigger.parameters.clone(),
                kind: Kind::Input { envelope: false, background: false },
                example: None,
            });
            tried.push(Tried {
                owner: owner(),
                part: "payload".to_owned(),
                schema: trigger.payload.clone(),
                kind: Kind::Payload,
                example: Some(trigger.example.clone()),
            });
        }
        Self(tried)
    }

    /// The trial as the file that [`run_file`] reads.
    ///
    /// # Errors
    /// Never: every part of it can be written.
    pub fn to_bytes(&self) -> io::Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(Error::from)
    }

    /// Compiles the schemas and validates their examples.
    ///
    /// # Errors
    /// A sentence without a full stop that says what is wrong.
    fn run_trial(&self) -> Result<(), String> {
        check_module(self.0.iter().map(|tried| tried.schema.as_str()))?;
        // All of them are held until the end, as a live connector holds them.
        let mut inputs = Vec::new();
        let mut values = Vec::new();
        let before = peak_memory_kb();
        for tried in &self.0 {
            let wrong = |reason: String| format!("{}: its {} {reason}", tried.owner, tried.part);
            let example = tried.example.as_deref();
            let refusal = match tried.kind {
                Kind::Input { envelope, background } => {
                    let schema = Schema::compile(&tried.schema, envelope).map_err(wrong)?;
                    let schema = if background { schema.in_background(|_| Ok(())) } else { schema };
                    let refusal = example.and_then(|example| schema.parse(example.as_bytes()).err());
                    inputs.push(schema);
                    refusal
                }
                Kind::Answer | Kind::Setting | Kind::Payload => {
                    let schema = ValueSchema::compile(&tried.schema).map_err(wrong)?;
                    let refusal = example.and_then(|example| refusal_of(&schema, example));
                    values.push(schema);
                    refusal
                }
            };
            if let Some(reason) = refusal {
                let example = tried.kind.example();
                return Err(format!("{}: its {example} is refused by its {}: {reason}", tried.owner, tried.part));
            }
            if peak_memory_kb().saturating_sub(before) > MAX_COMPILED_MB << 10 {
                return Err(format!("its schemas take more than {MAX_COMPILED_MB} MB when they are compiled"));
            }
        }
        Ok(())
    }
}

/// Why a schema refuses an example, which is JSON. `None` if it accepts the example.
fn refusal_of(schema: &ValueSchema, example: &str) -> Option<InputError> {
    let value = match serde_json::from_str(example) {
        Ok(value) => value,
        Err(error) => return Some(InputError::NotJson(format!("it is not JSON: {error}"))),
    };
    if let Err(too_many) = schema.admit(&value, example.len()) {
        return Some(InputError::TooCostly(too_many));
    }
    Some(schema.violations(&value)).filter(|violations| !violations.is_empty()).map(InputError::Invalid)
}

/// Runs the trial in a file. This is the work of the limited process.
///
/// # Errors
/// A sentence without a full stop that says what is wrong.
pub fn run_file(file: &Path) -> Result<(), String> {
    let text =
        files::read_regular(file, MAX_FILE_BYTES).map_err(|error| format!("its schemas cannot be read: {error}"))?;
    let trial: Trial = serde_json::from_slice(&text).map_err(|error| format!("its schemas cannot be read: {error}"))?;
    trial.run_trial()
}

/// The most memory that this process has used. 0 if the kernel does not report it. Only the limit
/// of the process applies then.
fn peak_memory_kb() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use contract::sample;

    use super::*;

    fn trial(schema: &str, kind: Kind, example: Option<&str>) -> Result<(), String> {
        let example = example.map(str::to_owned);
        let (owner, part) = ("setting `a`".to_owned(), "schema".to_owned());
        Trial(vec![Tried { owner, part, schema: schema.to_owned(), kind, example }]).run_trial()
    }

    #[test]
    fn the_schemas_of_types_of_events_are_tried() {
        let manifest = sample::manifest();
        let trial = |trigger: Trigger| Trial::of_manifest(&manifest, &[trigger]).run_trial();
        let sound = || sample::trigger("message");
        assert_eq!(trial(sound()), Ok(()));
        let wrong = r#"{"type":"object","properties":{"text":{"type":"text"}},"additionalProperties":false}"#;
        let refusal = trial(Trigger { parameters: wrong.to_owned(), ..sound() }).unwrap_err();
        assert!(refusal.starts_with("trigger `message`: its parameters"), "{refusal}");
        let refusal = trial(Trigger { example: "7".to_owned(), ..sound() }).unwrap_err();
        assert!(refusal.starts_with("trigger `message`: its example is refused by its payload"), "{refusal}");
    }

    #[test]
    fn every_schema_accepts_its_example() {
        let input = Kind::Input { envelope: true, background: false };
        let schema = r#"{"type": "object", "properties": {"a": {"type": "integer"}}}"#;
        assert_eq!(trial(schema, input, Some(r#"{"a": 1, "response_fields": ["a"]}"#)), Ok(()));
        for (schema, kind, example, words) in [
            (schema, input, Some(r#"{"a": "1"}"#), "its example is refused by its schema: /a: Must be an integer"),
            (
                schema,
                Kind::Answer,
                Some(r#"{"a": "1"}"#),
                "its answer-example is refused by its schema: /a: Must be an integer",
            ),
            (
                schema,
                Kind::Setting,
                Some(r#"{"a": "1"}"#),
                "its default is refused by its schema: /a: Must be an integer",
            ),
            ("{", Kind::Setting, None, "its schema is not JSON"),
            (r#"{"type": "text"}"#, Kind::Setting, None, "is not a JSON Schema"),
            (r#"{"type": "string"}"#, input, None, r#""type": "object""#),
        ] {
            assert!(trial(schema, kind, example).is_err_and(|reason| reason.contains(words)), "{schema}: {words}");
        }
    }
}
