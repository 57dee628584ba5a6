//! The settings in force, for operators: the values of the file and of variables, and the defaults
//! of all other keys. Secrets are left out, and an operator sees only if they are set.

use std::collections::BTreeMap;
use std::mem;

use serde_json::Value;

use super::connector::Connector;
use super::declare::Settings;
use super::kind::Shown;
use super::settings::Config;

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

/// Lists the value of every key, in the order of `gateway.example.toml`.
pub fn effective(config: &Config) -> Vec<EffectiveSetting> {
    let connectors = config.connectors.keys().map(|name| (name.clone(), Connector::default())).collect();
    let mut defaults = Config { connectors, ..Config::default() };
    if !config.public_url_is_set {
        defaults.public_url = config.public_url.clone();
    }
    let defaults: BTreeMap<(String, String), (Value, Option<bool>)> = List::of(&defaults)
        .into_iter()
        .map(|setting| ((setting.section, setting.key), (setting.value, setting.secret_is_set)))
        .collect();
    let mut settings = List::of(config);
    for setting in &mut settings {
        let (value, is_set) = match defaults.get(&(setting.section.clone(), setting.key.clone())) {
            Some((value, is_set)) => (value, is_set.unwrap_or_default()),
            None => (&Value::Null, false),
        };
        setting.changed = setting.value != *value || setting.secret_is_set.unwrap_or_default() != is_set;
    }
    settings
}

/// The settings that were listed, and the section that further ones belong to.
#[derive(Default)]
pub(super) struct List {
    section: String,
    settings: Vec<EffectiveSetting>,
}

impl List {
    fn of(config: &Config) -> Vec<EffectiveSetting> {
        let mut list = Self::default();
        config.show(&mut list);
        list.settings
    }

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

#[cfg(test)]
mod tests;
