//! The place that a module is read from: a file, or a registry.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use super::arguments::RegistryArguments;
use super::build::Project;
use super::connectors::{ConnectorsError, read as read_file};
use super::oci::{self, ModuleReference, SCHEME};
use crate::registry::signature_of;

/// The place that a module is read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModuleSource {
    /// A file. Its signature is in the file of the same name with `.minisig` at the end.
    File(PathBuf),
    /// A registry. The signature comes with the module.
    Registry(ModuleReference),
}

impl FromStr for ModuleSource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.starts_with(SCHEME) {
            true => text.parse().map(Self::Registry),
            false => Ok(Self::File(text.into())),
        }
    }
}

impl fmt::Display for ModuleSource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(out),
            Self::Registry(reference) => reference.fmt(out),
        }
    }
}

/// A module that was read.
pub(super) struct Arrived {
    pub(super) module: Vec<u8>,
    /// The text of its signature.
    pub(super) signature: Option<String>,
    /// The name by digest, if it was pulled.
    pub(super) pulled: Option<ModuleReference>,
}

/// Reads a module and its signature. `limit_mb` is the maximum size of one that is pulled, in MiB.
///
/// # Errors
/// If the file cannot be read, or the registry does not give it.
pub(super) async fn read(
    source: &ModuleSource,
    arguments: &RegistryArguments,
    limit_mb: u64,
) -> Result<Arrived, ConnectorsError> {
    match source {
        ModuleSource::File(file) => {
            if file.is_dir() {
                let project = Project::find(file).ok();
                let module = project.as_ref().map_or_else(|| "dictionary.wasm".into(), Project::module);
                let module = file.join(module.file_name().unwrap_or_default());
                return Err(ConnectorsError::Folder { folder: file.clone(), module });
            }
            let module = read_file(file)?;
            let signature = signature_of(file).await;
            let signature = signature.map_err(|source| ConnectorsError::File { file: file.clone(), source })?;
            Ok(Arrived { module, signature, pulled: None })
        }
        ModuleSource::Registry(reference) => {
            let oci::Pulled { module, signature, reference } = oci::pull(reference, arguments, limit_mb).await?;
            Ok(Arrived { module, signature, pulled: Some(reference) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_folder_in_place_of_a_module_is_told_with_the_module_to_name() {
        let folder = tempfile::tempdir().unwrap();
        let said = async || {
            let source = ModuleSource::File(folder.path().to_owned());
            read(&source, &RegistryArguments::default(), 1).await.err().unwrap().to_string()
        };
        let expected = |module: &str| {
            let folder = folder.path().display();
            format!(
                "`{folder}` is a folder; name the module, such as `{folder}/{module}`, which `connectors build` makes"
            )
        };
        assert_eq!(said().await, expected("dictionary.wasm"));
        std::fs::write(folder.path().join("Cargo.toml"), "package.name = \"words\"").unwrap();
        assert_eq!(said().await, expected("words.wasm"));
    }
}
