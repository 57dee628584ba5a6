//! The values of a connector's settings.

use serde_json::Value;

use super::refusal::Refusal;
use config::{self, Problem};
use contract::words::nearest;
use contract::{Manifest, Setting};
use sandbox::Settings;
use schema::{ValueSchema, Violation};

/// The value of each setting that has one, as JSON text: the operator's, else the default of the
/// manifest.
///
/// # Errors
/// If a schema or default of the manifest is wrong, or if the operator has set unknown settings or
/// wrong values. The refusal names all of the operator's mistakes.
pub(super) fn values(manifest: &Manifest, config: &config::Connector) -> Result<Settings, Refusal> {
    let mut values = Settings::new();
    let mut problems = Vec::new();
    for declared in &manifest.settings {
        let schema = Schema::new(declared)?;
        if let Some(default) = schema.default {
            values.insert(declared.name.clone(), default);
        }
        let Some(given) = config.settings.get(&declared.name) else { continue };
        match accepted(&schema.values, given) {
            Ok(value) => {
                values.insert(declared.name.clone(), value.to_string());
            }
            Err(violations) => problems.push(problem(manifest, &declared.name, given, in_words(&violations))),
        }
    }
    let names = || manifest.settings.iter().map(|setting| setting.name.as_str());
    for (name, given) in &config.settings {
        if names().any(|declared| declared == name) {
            continue;
        }
        let message = match nearest(name, names()) {
            Some(declared) => format!("is not known; the nearest setting is `{declared}`"),
            None if manifest.settings.is_empty() => "is not known; the connector has no settings".to_owned(),
            None => format!("is not known; the settings are {}", names().collect::<Vec<_>>().join(", ")),
        };
        problems.push(problem(manifest, name, given, message));
    }
    problems.sort();
    if problems.is_empty() { Ok(values) } else { Err(Refusal::Settings(problems)) }
}

/// A setting that is ready to validate values.
struct Schema {
    values: ValueSchema,
    /// JSON text.
    default: Option<String>,
}

impl Schema {
    fn new(setting: &Setting) -> Result<Self, Refusal> {
        let wrong = |what: &str| Refusal::Module(format!("setting `{}`: {what}", setting.name));
        let values = ValueSchema::compile(&setting.schema).map_err(|reason| wrong(&format!("its schema {reason}")))?;
        if let Some(default) = &setting.default {
            let value: Value =
                serde_json::from_str(default).map_err(|error| wrong(&format!("its default: {error}")))?;
            if !values.violations(&value).is_empty() {
                return Err(wrong("its default is refused by its schema"));
            }
        }
        Ok(Self { values, default: setting.default.clone() })
    }
}

/// The value that the schema accepts. If the schema refuses the value of an environment variable as
/// a number or another type, its text is tried as a string.
fn accepted(schema: &ValueSchema, given: &config::Setting) -> Result<Value, Vec<Violation>> {
    let violations = schema.violations(&given.value);
    if violations.is_empty() {
        return Ok(given.value.clone());
    }
    let text = given.text.as_deref().map(Value::from).filter(|text| schema.violations(text).is_empty());
    text.ok_or(violations)
}

fn problem(manifest: &Manifest, name: &str, given: &config::Setting, message: String) -> Problem {
    Problem {
        location: given.location.clone(),
        key: format!("connectors.{}.settings.{name}", manifest.identifier),
        message,
    }
}

/// The violations of one value, to follow its key.
fn in_words(violations: &[Violation]) -> String {
    let words = |violation: &Violation| {
        let mut detail = violation.detail.trim_end_matches('.').to_owned();
        if let Some(first) = detail.get_mut(..1) {
            first.make_ascii_lowercase();
        }
        if violation.pointer.is_empty() { detail } else { format!("at `{}`: {detail}", violation.pointer) }
    };
    violations.iter().map(words).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use contract::{AuthScheme, Imprint};
    use serde_json::json;

    use super::*;
    use config::Location;

    fn manifest(settings: &[(&str, &str, Option<&str>)]) -> Manifest {
        let settings = settings.iter().map(|(name, schema, default)| Setting {
            name: (*name).to_owned(),
            schema: (*schema).to_owned(),
            default: default.map(str::to_owned),
            documentation: String::new(),
        });
        Manifest {
            identifier: "demo".to_owned(),
            version: String::new(),
            title: String::new(),
            description: String::new(),
            imprint: Imprint { license: String::new(), homepage: None, author: None, icon: None },
            auth: AuthScheme::None,
            upstreams: Vec::new(),
            rate_limits: Vec::new(),
            settings: settings.collect(),
            operations: Vec::new(),
        }
    }

    fn config(values: &[(&str, Value, Option<&str>)]) -> config::Connector {
        let setting = |(line, (name, value, text)): (usize, &(&str, Value, Option<&str>))| {
            let location = Location::File(PathBuf::from("gateway.toml"), line + 1);
            let setting = config::Setting { value: value.clone(), text: text.map(str::to_owned), location };
            ((*name).to_owned(), setting)
        };
        config::Connector { settings: values.iter().enumerate().map(setting).collect(), ..config::Connector::default() }
    }

    const ORGANIZATION: (&str, &str, Option<&str>) =
        ("default_organization", r#"{"type":"string","minLength":1}"#, None);
    const PAGES: (&str, &str, Option<&str>) = ("pages", r#"{"type":"integer","maximum":10}"#, Some("3"));

    #[test]
    fn a_setting_has_the_operators_value_else_the_default_else_none() {
        let manifest = manifest(&[ORGANIZATION, PAGES]);
        let none = values(&manifest, &config(&[])).unwrap();
        assert_eq!((none.get("default_organization"), none["pages"].as_str()), (None, "3"));
        let set = [("default_organization", json!("acme"), None), ("pages", json!(5), None)];
        let set = values(&manifest, &config(&set)).unwrap();
        assert_eq!((set["default_organization"].as_str(), set["pages"].as_str()), ("\"acme\"", "5"));
    }

    #[test]
    fn unknown_and_wrong_settings_are_all_named_with_their_places() {
        let set = [
            ("default_organisation", json!("acme"), None),
            ("pages", json!(11), None),
            ("default_organization", json!({"secret": "hunter2"}), None),
        ];
        let refusal = values(&manifest(&[ORGANIZATION, PAGES]), &config(&set)).unwrap_err().to_string();
        for words in [
            "gateway.toml:1: `connectors.demo.settings.default_organisation` is not known",
            "the nearest setting is `default_organization`",
            "gateway.toml:2: `connectors.demo.settings.pages` must be at most 10",
            "`connectors.demo.settings.default_organization` must be a string",
        ] {
            assert!(refusal.contains(words), "{words} in {refusal}");
        }
        assert!(!refusal.contains("hunter2"), "{refusal}");
        let refusal = values(&manifest(&[]), &config(&[("a", json!(1), None)])).unwrap_err().to_string();
        assert!(refusal.contains("the connector has no settings"), "{refusal}");
    }

    #[test]
    fn a_variable_that_reads_as_a_number_can_be_a_string() {
        let manifest = manifest(&[ORGANIZATION, PAGES]);
        let set = [("default_organization", json!(1e9), Some("1e9")), ("pages", json!(4), Some("4"))];
        let set = values(&manifest, &config(&set)).unwrap();
        assert_eq!((set["default_organization"].as_str(), set["pages"].as_str()), ("\"1e9\"", "4"));
    }

    #[test]
    fn a_wrong_schema_or_default_is_the_modules_fault() {
        for (schema, default) in [
            (r#"{"type":"text"}"#, None),
            (r#"{"pattern":"("}"#, None),
            (r#"{"type":"string"}"#, Some("1")),
            ("{}", Some("x")),
        ] {
            let refusal = values(&manifest(&[("a", schema, default)]), &config(&[])).unwrap_err();
            assert!(matches!(&refusal, Refusal::Module(reason) if reason.starts_with("setting `a`")), "{refusal}");
        }
    }
}
