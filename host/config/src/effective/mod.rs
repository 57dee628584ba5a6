//! The settings in force, for operators: the values of the file and of variables, and the defaults
//! of all other keys. Secrets are left out, and an operator sees only if they are set.

use std::collections::BTreeMap;

use serde_json::Value;

use super::connector::Connector;
use super::declare::Settings;
use super::list::{EffectiveSetting, List};
use super::settings::Config;

/// Lists the value of every key, in the order of `gateway.example.toml`.
pub fn effective(config: &Config) -> Vec<EffectiveSetting> {
    let connectors = config.connectors.keys().map(|name| (name.clone(), Connector::default())).collect();
    let mut defaults = Config { connectors, ..Config::default() };
    if !config.public_url_is_set {
        defaults.public_url = config.public_url.clone();
    }
    let defaults: BTreeMap<(String, String), (Value, Option<bool>)> = listed(&defaults)
        .into_iter()
        .map(|setting| ((setting.section, setting.key), (setting.value, setting.secret_is_set)))
        .collect();
    let mut settings = listed(config);
    for setting in &mut settings {
        let (value, is_set) = match defaults.get(&(setting.section.clone(), setting.key.clone())) {
            Some((value, is_set)) => (value, is_set.unwrap_or_default()),
            None => (&Value::Null, false),
        };
        setting.changed = setting.value != *value || setting.secret_is_set.unwrap_or_default() != is_set;
    }
    settings
}

fn listed(config: &Config) -> Vec<EffectiveSetting> {
    let mut list = List::default();
    config.show(&mut list);
    list.settings
}

#[cfg(test)]
mod tests;
