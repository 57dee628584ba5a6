//! Reads the module that a gateway serves, without a registry.

use std::io;

use super::folders::{ACCEPTED, default_shipped_dir, read_mark};
use super::module_file;
use super::origin::Origin;
use super::versions::Versions;
use crate::config::Config;

/// The module of the version of a connector that a gateway with this configuration serves. This is
/// the version that the operator accepted last, else the file in a folder of modules. `None` if the
/// connector is not installed. Nothing is created.
///
/// # Errors
/// If the file cannot be read.
pub async fn present_module(config: &Config, identifier: &str) -> io::Result<Option<Vec<u8>>> {
    let file = format!("{identifier}.wasm");
    let foreign = config.modules_dir.join(&file);
    let path = if foreign.is_file() {
        let accepted = read_mark(&config.data_dir.join(ACCEPTED), identifier);
        let accepted = accepted.map(|digest| Versions::at(&config.data_dir).file(identifier, Origin::Foreign, &digest));
        accepted.filter(|path| path.is_file()).unwrap_or(foreign)
    } else {
        match config.shipped_dir.clone().or_else(default_shipped_dir).map(|folder| folder.join(file)) {
            Some(path) if path.is_file() => path,
            _ => return Ok(None),
        }
    };
    Ok(Some(module_file::read(&path, config.compile.max_module_mb).await?))
}
