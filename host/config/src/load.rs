//! Reads the configuration file and the environment.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use secrecy::SecretString;

use super::declare::Entry;
use super::error::ConfigError;
use super::kind::Shown;
use super::list::List;
use super::section::Section;
use super::settings::Config;
use super::{read, source};

/// Read if no file is named and this one exists.
const DEFAULT_FILE: &str = "gateway.toml";

/// Names the file, unless the command line does.
const FILE_VARIABLE: &str = "GATEWAY_CONFIG";

/// Contains the first API key. The file has no such key, so that no one writes the secret into it.
const BOOTSTRAP_KEY_VARIABLE: &str = "GATEWAY_BOOTSTRAP_KEY";

/// The first key, which operators see among the keys of the file. The file cannot set it.
pub(super) struct BootstrapKey;

impl Entry<Option<SecretString>> for BootstrapKey {
    fn read(&self, _: &mut Section<'_>, _: &'static str, _: &mut Option<SecretString>) {}

    fn show(&self, list: &mut List, variable: &'static str, key: &Option<SecretString>) {
        list.add(variable, Shown::Secret(key.is_some()));
    }
}

impl Config {
    /// Reads the file, and the environment variables that replace its values.
    ///
    /// Without `file`, the file is the one that `GATEWAY_CONFIG` names, else `gateway.toml` in the
    /// working directory if it exists.
    ///
    /// # Errors
    /// If a named file is missing or is not TOML, or if keys are unknown or values wrong. The error
    /// lists all of them.
    pub fn load(file: Option<&Path>, environment: impl Iterator<Item = (String, String)>) -> Result<Self, ConfigError> {
        let variables: BTreeMap<String, String> = environment.collect();
        let named = file.map(Path::to_owned).or_else(|| {
            let name = variables.get(FILE_VARIABLE).filter(|name| !name.is_empty())?;
            Some(PathBuf::from(name))
        });
        let text = match &named {
            Some(path) => Some(source::read_file(path)?),
            None => source::read_file(Path::new(DEFAULT_FILE))
                .map(Some)
                .or_else(|error| if error.is_missing_file() { Ok(None) } else { Err(error) })?,
        };
        let path = named.unwrap_or_else(|| DEFAULT_FILE.into());
        let source = source::Source::new(&path, text.as_deref().unwrap_or_default(), &variables)?;
        let mut config = read::read_config(source)?;
        let key = variables.get(BOOTSTRAP_KEY_VARIABLE).map(|key| files::secret_of(key));
        config.bootstrap_key = key.filter(|key| !key.is_empty()).map(Into::into);
        Ok(config)
    }
}

impl Config {
    /// Reads the text of a file as [`Config::load`] does, without any variable.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub fn of_text(text: &str) -> Result<Self, ConfigError> {
        read::read_config(source::Source::new(Path::new(DEFAULT_FILE), text, &BTreeMap::new())?)
    }
}

/// The variables of the process whose names begin with `GATEWAY_`. In a value that is not Unicode,
/// wrong bytes are replaced, so that reading it fails with the variable's name.
pub fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, value)| {
        let name = name.into_string().ok().filter(|name| name.starts_with("GATEWAY_"))?;
        Some((name, value.to_string_lossy().into_owned()))
    })
}
