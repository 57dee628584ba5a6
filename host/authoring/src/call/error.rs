//! Why an operation was not called, or has failed.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::module_file::{FileError, RefusedModule};
use crate::project::ProjectError;
use crate::recordings::RecordingError;
use crate::scratch_registry::ScratchError;

/// Why an operation was not called, or has failed. Each message says what to do.
#[derive(Debug, Error)]
pub enum CallError {
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The folder has no project.
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// There is no registry to load the module in.
    #[error(transparent)]
    Scratch(#[from] ScratchError),
    /// The module is refused.
    #[error(transparent)]
    Refused(#[from] RefusedModule),
    /// The folder has a project without a module.
    #[error("`{}` is not there; build the project with `connector-gateway connectors build {}`", module.display(), folder.display())]
    NotBuilt {
        /// The folder.
        folder: PathBuf,
        /// The module.
        module: PathBuf,
    },
    /// An upstream is not in the manifest.
    #[error("--upstream: the connector has no upstream `{name}`; did you mean `{known}`?")]
    Upstream {
        /// The name.
        name: String,
        /// Those that it has.
        known: String,
    },
    /// The address of the account is missing or cannot be used.
    #[error("--address: {0}")]
    Address(String),
    /// The credential is missing or cannot be used.
    #[error("the credential: {0}")]
    Credential(String),
    /// The file of a recording cannot be used.
    #[error("`{}`: {source}", file.display())]
    Recording {
        /// The file.
        file: PathBuf,
        /// The cause.
        source: RecordingError,
    },
    /// The connector does not have the operation of a recording.
    #[error("`{connector}` has no operation `{operation}`; name another one, {known}, or delete the recording")]
    NoOperation {
        /// The connector.
        connector: String,
        /// The operation.
        operation: String,
        /// The nearest name, or what lists the names.
        known: String,
    },
    /// The input cannot be recorded.
    #[error("the input is not JSON, so the call cannot be recorded")]
    InputIsNotJson,
    /// A recording would have a part of the answer.
    #[error("a recording has whole answers; leave `{0}` out of the input")]
    Shaped(&'static str),
    /// A request has no response, or the call has no recordable end.
    #[error("`{}` was not written: {reason}", file.display())]
    NotRecorded {
        /// The file.
        file: PathBuf,
        /// The cause.
        reason: String,
    },
    /// The requests are not the recorded ones. They were listed.
    #[error("the call is not the one of `{}`; change the input, or record it again with --record", .0.display())]
    Differs(PathBuf),
    /// The operation answered with a problem. It was printed.
    #[error("the operation failed: {0}")]
    Failed(String),
    /// The answer cannot be written.
    #[error(transparent)]
    Output(#[from] io::Error),
}
