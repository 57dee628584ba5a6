//! Finds the module that a gateway serves, without a registry.

use std::path::PathBuf;

use super::folders::{ACCEPTED, default_shipped_dir};
use super::module_file::read_mark;
use super::origin::Origin;
use super::versions::Versions;
use config::Config;

/// The file of the version of a connector that a gateway with this configuration serves. This is
/// the version that the operator accepted last, else the file in a folder of modules. `None` if the
/// connector is not installed. Nothing is created.
pub fn present_module(config: &Config, identifier: &str) -> Option<PathBuf> {
    let file = format!("{identifier}.wasm");
    let foreign = config.modules_dir.join(&file);
    if foreign.is_file() {
        let accepted = read_mark(&config.data_dir.join(ACCEPTED).join(identifier));
        let accepted = accepted.map(|digest| Versions::at(&config.data_dir).file(identifier, Origin::Foreign, &digest));
        return Some(accepted.filter(|path| path.is_file()).unwrap_or(foreign));
    }
    let shipped = config.shipped_dir.clone().or_else(default_shipped_dir)?.join(file);
    shipped.is_file().then_some(shipped)
}
