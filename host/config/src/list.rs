//! The list of keys with their values, which operators see.

use std::mem;

use serde_json::Value;

use super::kind::Shown;

/// The value of one key.
#[derive(Clone, Debug, PartialEq)]
pub struct EffectiveSetting {
    /// The section of the file, such as `connectors.mail.limits`. Empty for keys outside of
    /// sections.
    pub section: String,
    /// The key within the section.
    pub key: String,
    /// The value as in the file. Null if the key is not set, or if the value is secret.
    pub value: Value,
    /// `true` if a secret is set. `None` if the value is no secret.
    pub secret_is_set: Option<bool>,
    /// `true` if the value is another one than the default.
    pub changed: bool,
}

/// The settings that were listed, and the section that further ones belong to.
#[derive(Default)]
pub(super) struct List {
    section: String,
    pub(super) settings: Vec<EffectiveSetting>,
}

impl List {
    /// Lists a key of the current section.
    pub(super) fn add(&mut self, key: &str, value: impl Into<Shown>) {
        let (value, secret_is_set) = match value.into() {
            Shown::Value(value) => (value, None),
            Shown::Secret(is_set) => (Value::Null, Some(is_set)),
        };
        let (section, key) = (self.section.clone(), key.to_owned());
        self.settings.push(EffectiveSetting { section, key, value, secret_is_set, changed: false });
    }

    /// Lists the keys of a section within the current one.
    pub(super) fn section(&mut self, name: &str, show: impl FnOnce(&mut Self)) {
        let section = if self.section.is_empty() { name.to_owned() } else { format!("{}.{name}", self.section) };
        let outer = mem::replace(&mut self.section, section);
        show(self);
        self.section = outer;
    }
}
