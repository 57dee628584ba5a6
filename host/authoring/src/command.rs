//! The commands `connectors …` for authors, and their start.

use std::path::PathBuf;

use clap::Subcommand;
use connector_gateway::Config;
use thiserror::Error;

use crate::build::{self, BuildError};
use crate::call::{self, CallArguments, CallError};
use crate::check::{self, CheckArguments, CheckError};
use crate::dev::{self, DevArguments, DevError};
use crate::module_file::{self, PackError};
use crate::new::{self, NewArguments, NewError};
use crate::push::{self, PushArguments, PushError};
use crate::test_command::{self, TestArguments, TestError};

/// The commands `connectors …` for authors.
#[derive(Clone, Debug, Subcommand)]
pub enum AuthorCommand {
    /// Create the project of a connector, from a template or an OpenAPI document
    New(NewArguments),
    /// Build a connector from its project, and write the module
    Build {
        /// The project's folder
        #[arg(default_value = ".")]
        folder: PathBuf,
        /// The file to write the module to [default: in the project's folder, with the project's
        /// name]
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Check if a module would be accepted, and report what it is, what it asks for and what
    /// changed since the previous version. Needs no gateway, and changes nothing
    Check(CheckArguments),
    /// Run an operation of a module without a server, as the gateway does. All hosts that the
    /// module names are granted. The answer is printed; a failure is printed as the problem
    /// document that callers of the gateway get, and the exit code is 1
    Call(CallArguments),
    /// Build a project, replay its recordings in the folder `recordings` against the module, and
    /// run its own tests (`cargo test`, `node --test` or `python -m unittest`). The exit code is 1
    /// if a recording differs or a test fails
    Test(TestArguments),
    /// Build a project whenever a source is saved, and swap the module into a gateway that this
    /// command runs, or into another one (--url). The log of the connector, its requests and the
    /// compiler's messages are on the screen. Ctrl-C ends it
    Dev(DevArguments),
    /// Turn a core module that a toolchain built, or a file `connector.toml`, into a component
    Pack {
        /// The core module or the file
        file: PathBuf,
        /// The file to write the component to
        #[arg(long, value_name = "FILE")]
        output: PathBuf,
        /// A file with the schemas of the answers
        #[arg(long, value_name = "FILE")]
        answer_schemas: Option<PathBuf>,
    },
    /// Check a module and push it into a registry, with its signature if the file FILE.minisig has
    /// one
    Push(PushArguments),
}

/// Why a command failed. Each message is one line that says what to do.
#[derive(Debug, Error)]
pub enum AuthorError {
    /// The project was not created.
    #[error(transparent)]
    New(#[from] NewError),
    /// The project was not built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The module was not checked, or is refused.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// The operation was not called, or has failed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// A recording differs, or a test failed.
    #[error(transparent)]
    Test(#[from] TestError),
    /// `connectors dev` ended early.
    #[error(transparent)]
    Dev(#[from] DevError),
    /// The component was not written.
    #[error(transparent)]
    Pack(#[from] PackError),
    /// The module was not pushed.
    #[error(transparent)]
    Push(#[from] PushError),
}

impl AuthorCommand {
    /// Sets the log of the command: the lines of the connector, if the command runs it.
    pub fn set_log(&self, config: &mut Config) {
        match self {
            Self::Call(_) | Self::Test(_) => call::set_log(config),
            Self::Dev(_) => dev::set_log(config),
            Self::New(_) | Self::Build { .. } | Self::Check(_) | Self::Pack { .. } | Self::Push(_) => {}
        }
    }

    /// Runs the command. `program` begins the commands that messages name.
    ///
    /// # Errors
    /// See [`AuthorError`].
    pub async fn run(&self, config: Config, program: &str) -> Result<(), AuthorError> {
        match self {
            Self::New(arguments) => new::run(arguments, program)?,
            Self::Build { folder, output } => build::run(folder, output.as_deref())?,
            Self::Check(arguments) => check::run(arguments, &config, program).await?,
            Self::Call(arguments) => call::run(arguments, &config).await?,
            Self::Test(arguments) => test_command::run(arguments, &config).await?,
            Self::Dev(arguments) => dev::run(arguments).await?,
            Self::Pack { file, output, answer_schemas } => module_file::pack(file, output, answer_schemas.as_deref())?,
            Self::Push(arguments) => push::run(arguments, &config, program).await?,
        }
        Ok(())
    }
}
