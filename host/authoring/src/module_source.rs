//! The place that a module is read from: a file, or a registry.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use connector_gateway::signature_of;
use thiserror::Error;

use crate::module_file::{FileError, read as read_file};
use crate::oci::{self, ModuleReference, Pulled, RegistryError, SCHEME};
use crate::options::RegistryArguments;
use crate::project::Project;

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
pub struct FetchedModule {
    /// The module.
    pub module: Vec<u8>,
    /// The text of its signature.
    pub signature: Option<String>,
    /// The name by digest, if it was pulled.
    pub pulled: Option<ModuleReference>,
}

/// Why a module was not read.
#[derive(Debug, Error)]
pub enum SourceError {
    /// The path of a folder was given for a module.
    #[error(
        "`{}` is a folder; name the module, such as `{}`, which `connectors build` makes", folder.display(), module.display()
    )]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The module that its project makes, or an example.
        module: PathBuf,
    },
    /// The module or its signature cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The module cannot be pulled.
    #[error(transparent)]
    Registry(#[from] RegistryError),
}

/// Reads a module and its signature. `limit_mb` is the maximum size of a pulled module, in MiB.
///
/// # Errors
/// See [`SourceError`].
pub async fn read(
    source: &ModuleSource,
    arguments: &RegistryArguments,
    limit_mb: u64,
) -> Result<FetchedModule, SourceError> {
    match source {
        ModuleSource::File(file) => {
            if file.is_dir() {
                let project = Project::find(file).ok();
                let module = project.as_ref().map_or_else(|| "dictionary.wasm".into(), Project::module);
                let module = file.join(module.file_name().unwrap_or_default());
                return Err(SourceError::Folder { folder: file.clone(), module });
            }
            let module = read_file(file)?;
            let signature = signature_of(file);
            let signature = signature.map_err(|source| FileError { file: file.clone(), source })?;
            Ok(FetchedModule { module, signature, pulled: None })
        }
        ModuleSource::Registry(reference) => {
            let Pulled { module, signature, reference } = oci::pull(reference, arguments, limit_mb).await?;
            Ok(FetchedModule { module, signature, pulled: Some(reference) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_message_about_a_folder_names_the_module_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let message = async || {
            let source = ModuleSource::File(folder.path().to_owned());
            read(&source, &RegistryArguments::default(), 1).await.err().unwrap().to_string()
        };
        let expected = |module: &str| {
            let folder = folder.path().display();
            format!(
                "`{folder}` is a folder; name the module, such as `{folder}/{module}`, which `connectors build` makes"
            )
        };
        assert_eq!(message().await, expected("dictionary.wasm"));
        std::fs::write(folder.path().join("Cargo.toml"), "package.name = \"words\"").unwrap();
        assert_eq!(message().await, expected("words.wasm"));
    }
}
