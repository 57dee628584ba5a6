//! The compilation of a module, in a child process.

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use thiserror::Error;

use super::cache::MAX_FILE_BYTES;
use super::child::{self, ChildError, ChildLimits};
use super::{CompileLimits, engine};

/// Why a module cannot be compiled.
#[derive(Debug, Error)]
pub enum CompileError {
    /// The compiler refused it.
    #[error("the module does not compile: {0}")]
    Invalid(String),
    /// The compilation took more than the limits of `[compile]`.
    #[error(
        "compiling the module took more than {limit}; raise `compile.memory_mb` or `compile.cpu_s` if you trust it"
    )]
    Limit {
        /// The limits in words.
        limit: String,
    },
    /// The child process could not be run.
    #[error("the compiler process could not be run: {0}")]
    Io(#[from] std::io::Error),
}

impl From<ChildError> for CompileError {
    fn from(error: ChildError) -> Self {
        match error {
            ChildError::Refused(reason) => Self::Invalid(reason),
            ChildError::Limit(limit) => Self::Limit { limit },
            ChildError::Io(error) => Self::Io(error),
        }
    }
}

/// Compiles the module in `source` into `artifact`, in a child process under the limits of
/// `[compile]`.
pub(super) async fn compile_in_child(
    source: &Path,
    artifact: &Path,
    limits: &CompileLimits,
) -> Result<(), CompileError> {
    let arguments = [
        OsStr::new("compile"),
        OsStr::new("--input"),
        source.as_os_str(),
        OsStr::new("--output"),
        artifact.as_os_str(),
    ];
    let limits = ChildLimits { memory_mb: limits.memory_mb, cpu_s: limits.cpu_s };
    Ok(child::run_child(arguments, limits).await?)
}

/// The work of the child: compiles under the limits.
pub fn child(source: &Path, artifact: &Path, limits: ChildLimits) -> ExitCode {
    child::work(limits, || compile(source, artifact))
}

/// Compiles in this process, for the simulation.
#[cfg(feature = "simulation")]
pub(super) fn compile_here(module: &[u8]) -> wasmtime::Result<Vec<u8>> {
    engine::compiler()?.precompile_component(module)
}

fn compile(source: &Path, artifact: &Path) -> wasmtime::Result<()> {
    let engine = engine::compiler()?;
    let compiled = engine.precompile_component(&files::read_regular(source, MAX_FILE_BYTES)?)?;
    files::create_regular(artifact)?.write_all(&compiled)?;
    Ok(())
}
