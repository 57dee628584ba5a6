//! The commands `connectors …` of authors: new, build, pack and check. [`installed`] has those about the connectors of a gateway.

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::json;
use thiserror::Error;

use super::arguments::ConnectorsCommand;
use super::build::{BuildError, Project};
use super::call::{self, CallError};
use super::dev::{self, DevError};
use super::gateway::remote::RemoteError;
use super::new::{self, NewError};
use super::oci::RegistryError;
use super::output::{Results, print, remark};
use super::source;
use super::{check, installed, project_tests, provenance, push};
use crate::config::Config;
use crate::registry::ChangeError;
use crate::serve::ServeError;
use store::StoreError;
use store::vault::VaultError;

/// Why a command failed. Each message is one line that says what to do.
#[derive(Debug, Error)]
pub enum ConnectorsError {
    /// The store does not open.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The master key, which compiled modules are authenticated with, is missing or wrong.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// The sandbox does not start.
    #[error(transparent)]
    Start(#[from] ServeError),
    /// The change was not made.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// `connectors dev` ended early.
    #[error(transparent)]
    Dev(#[from] DevError),
    /// Another gateway did not make the change.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// The project was not created.
    #[error(transparent)]
    New(#[from] NewError),
    /// The project was not built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The registry did not take or give the module.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// The operation was not called, or has failed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The module is refused.
    #[error("`{module}` is refused: {reason}")]
    Refused {
        /// The module.
        module: String,
        /// The cause, for the author of the connector.
        reason: String,
    },
    /// The module asks for more than the version before.
    #[error(
        "`{module}` asks for more than the version before, which stays; if the lines with + are right, run `{command}`"
    )]
    NotAccepted {
        /// The module.
        module: String,
        /// The command that accepts it.
        command: String,
    },
    /// A folder is there in place of a module.
    #[error(
        "`{}` is a folder; name the module, such as `{}`, which `connectors build` makes", folder.display(), module.display()
    )]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The module that its project makes, or an example.
        module: PathBuf,
    },
    /// The file cannot be read or written.
    #[error("`{}`: {source}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The result cannot be written, or the command's own folder cannot be used.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Runs one command. `program` begins the commands that messages name.
///
/// # Errors
/// See [`ConnectorsError`].
pub async fn run(command: &ConnectorsCommand, config: Config, program: &str) -> Result<(), ConnectorsError> {
    match command {
        ConnectorsCommand::New(arguments) => {
            let created = new::write(arguments)?;
            created.left_out.iter().for_each(|line| remark(format_args!("left out: {line}")));
            let folder = created.folder.to_string_lossy();
            remark(format_args!(
                "Created `{folder}`. Build its module with `{program} connectors build {}`.",
                word(&folder)
            ));
            if let Some(sdk) = created.published_sdk {
                remark(format_args!(
                    "It takes the published SDK. To take the SDK of the gateway's source, remove the folder and create it again with \
                     `--sdk SOURCE/{sdk}`, where SOURCE is the folder of the source."
                ));
            }
            Ok(())
        }
        ConnectorsCommand::Build { folder, output } => {
            let project = Project::find(folder)?;
            let output = output.clone().unwrap_or_else(|| project.module());
            build(&project, &output)?;
            Ok(print(output.display())?)
        }
        ConnectorsCommand::Call(arguments) => call::run(arguments, &config).await,
        ConnectorsCommand::Test(arguments) => project_tests::run(arguments, &config).await,
        ConnectorsCommand::Dev(arguments) => dev::run(arguments, config).await,
        ConnectorsCommand::Pack { file, output } => pack(file, output),
        ConnectorsCommand::Push(arguments) => push::run(arguments, &config, program).await,
        ConnectorsCommand::Check { module, list, registry } => {
            let arrived = source::read(module, registry, config.compile.max_module_mb).await?;
            let report = check::run(module, &arrived, &config, program).await?;
            match list.json {
                true => print(format_args!("{:#}", json!(report)))?,
                false => write!(Results::new(), "{report}")?,
            }
            Ok(())
        }
        _ => installed::run(command, config, program).await,
    }
}

pub(super) fn read(file: &Path) -> Result<Vec<u8>, ConnectorsError> {
    fs::read(file).map_err(|source| ConnectorsError::File { file: file.to_owned(), source })
}

/// Builds a project, and writes its module.
pub(super) fn build(project: &Project, output: &Path) -> Result<(), ConnectorsError> {
    let mut component = match project.build(output)? {
        Some(core_module) => component_of(&core_module)?,
        None => read(output)?,
    };
    let added = provenance::of(project).write(&mut component);
    added.map_err(|source| ConnectorsError::File { file: output.to_owned(), source })?;
    write_module(output, &component)
}

fn pack(file: &Path, output: &Path) -> Result<(), ConnectorsError> {
    write_module(output, &component_of(file)?)
}

/// The component of a core module.
pub(super) fn component_of(file: &Path) -> Result<Vec<u8>, ConnectorsError> {
    sandbox::pack(&read(file)?)
        .map_err(|error| ConnectorsError::Refused { module: file.display().to_string(), reason: format!("{error:#}") })
}

/// Writes a module.
fn write_module(output: &Path, component: &[u8]) -> Result<(), ConnectorsError> {
    // An unchanged file is left alone, so that a gateway that watches the folder does not load it again.
    if fs::read(output).is_ok_and(|present| present == component) {
        return Ok(());
    }
    let write = |file: &mut fs::File| {
        // Readable for all: a module is no secret, and the gateway may run as another user than the builder.
        file.set_permissions(Permissions::from_mode(0o644))?;
        file.write_all(component)
    };
    files::write_atomically(output, write).map_err(|source| ConnectorsError::File { file: output.to_owned(), source })
}

/// A word as shells read it.
pub(super) fn word(text: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "_-./:@%+,".contains(character);
    match text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}
