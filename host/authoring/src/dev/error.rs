//! Why `connectors dev` ended early.

use std::io;
use std::path::PathBuf;

use connector_gateway::ServeError;
use thiserror::Error;

use crate::build::BuildError;
use crate::gateway::GatewayError;
use crate::module_file::FileError;
use crate::project::ProjectError;
use store::StoreError;

/// Why the command ended early.
#[derive(Debug, Error)]
pub enum DevError {
    /// The project was not found or built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The gateway of the command, or its registry, does not start.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The store of the gateway does not open.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The other gateway cannot be used.
    #[error(transparent)]
    Gateway(#[from] GatewayError),
    /// The credential cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The temporary folder cannot be used, or the stand-in cannot listen.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The sources cannot be watched.
    #[error("the folder `{}` cannot be watched: {source}", folder.display())]
    Watch {
        /// The project.
        folder: PathBuf,
        /// The cause.
        source: notify::Error,
    },
    /// An upstream is not in the manifest.
    #[error("--upstream: the connector has no upstream `{name}`; it has {known}")]
    Upstream {
        /// The name.
        name: String,
        /// The upstreams that it has.
        known: String,
    },
    /// `--oauth` was given, and users of the connector do not authorize.
    #[error("--oauth: users of this connector do not authorize at a provider; leave the option out")]
    NoProvider,
    /// The gateway cannot listen at the port.
    #[error(
        "--port: another process listens at port {0}; choose another port, or leave the option out to take a free one"
    )]
    PortTaken(u16),
    /// No account was connected.
    #[error("no account was connected: {0}")]
    Account(String),
}

impl From<ProjectError> for DevError {
    fn from(error: ProjectError) -> Self {
        Self::Build(error.into())
    }
}
