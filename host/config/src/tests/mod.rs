//! Reading a configuration.
//!
//! - [`values`]: what is read, and from where
//! - [`refused`]: what is refused, and in which words

mod refused;
mod values;

use std::fs;

use tempfile::TempDir;

use super::Config;

const EXAMPLE: &str = include_str!("../../../gateway.example.toml");

/// Reads `text` as a file named `gateway.toml`, with these environment variables.
fn load(text: &str, variables: &[(&str, &str)]) -> Result<Config, String> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("gateway.toml");
    fs::write(&path, text).unwrap();
    let variables = variables.iter().map(|(name, value)| (name.to_string(), value.to_string()));
    Config::load(Some(&path), variables)
        .map_err(|error| error.to_string().replace(&format!("{}/", folder.path().display()), ""))
}
