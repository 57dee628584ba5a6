//! The place that a module is read from: a file, or a registry.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::arguments::RegistryArguments;
use super::connectors::{ConnectorsError, read as read_file};
use super::oci::{self, ModuleReference, SCHEME};

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
            let module = read_file(file)?;
            Ok(Arrived { module, signature: signature_of(file)?, pulled: None })
        }
        ModuleSource::Registry(reference) => {
            let oci::Pulled { module, signature, reference } = oci::pull(reference, arguments, limit_mb).await?;
            Ok(Arrived { module, signature, pulled: Some(reference) })
        }
    }
}

/// The text of the signature beside a file, if there is one.
fn signature_of(file: &Path) -> Result<Option<String>, ConnectorsError> {
    let mut name = file.as_os_str().to_owned();
    name.push(".minisig");
    let path = PathBuf::from(name);
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ConnectorsError::File { file: path, source }),
    }
}
