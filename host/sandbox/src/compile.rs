//! The compilation of a module, in a child process.
//!
//! A hostile module of a few hundred kilobytes can make the compiler take gigabytes of memory or minutes of time. So each
//! compilation runs in a process of its own with limits of memory and time. If it breaks a limit, only that process ends.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use std::{fs, io};

use rustix::process::{Resource, Rlimit, setrlimit};
use thiserror::Error;
use tokio::io::AsyncReadExt;
use tokio::process::Command;

use super::{CompileLimits, engine};

/// Address space that the child needs without the compilation: for the binary, and the stacks and arenas of its threads.
const BASELINE: u64 = 1 << 30;

/// Maximum length of the message of the child, which is usually one sentence.
const MAX_MESSAGE_BYTES: u64 = 4 << 10;

/// The exit code of the child if the module is wrong. Its message then has the reason.
const REFUSED: i32 = 3;

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
    #[error("the compiler process could not be run")]
    Io(#[from] io::Error),
}

/// Compiles the module in `source` into `artifact`, in a child process under the limits of `[compile]`.
pub(super) async fn run(source: &Path, artifact: &Path, limits: &CompileLimits) -> Result<(), CompileError> {
    // The path of the binary may have another version by now.
    let mut child = Command::new("/proc/self/exe")
        .arg("compile")
        .arg("--input")
        .arg(source)
        .arg("--output")
        .arg(artifact)
        .arg("--memory-mb")
        .arg(limits.memory_mb.to_string())
        .arg("--cpu-s")
        .arg(limits.cpu_s.to_string())
        // The compiler needs no environment variables.
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let stderr = child.stderr.take();
    let message = async {
        let mut message = String::new();
        if let Some(stderr) = stderr {
            // A message that is not text is left out.
            let _ = stderr.take(MAX_MESSAGE_BYTES).read_to_string(&mut message).await;
        }
        message
    };
    // The kernel limits the CPU time. This limit also ends a child that sleeps.
    let wall = Duration::from_secs(limits.cpu_s.saturating_mul(2).saturating_add(5));
    let finished = tokio::time::timeout(wall, async { tokio::join!(child.wait(), message) }).await;
    let Ok((status, message)) = finished else {
        child.kill().await?;
        return Err(CompileError::Limit { limit: format!("{} s", wall.as_secs()) });
    };
    let status = status?;
    match status.code() {
        Some(0) => Ok(()),
        Some(REFUSED) => Err(CompileError::Invalid(message.trim().to_owned())),
        _ => Err(CompileError::Limit { limit: format!("{} MB or {} s of CPU", limits.memory_mb, limits.cpu_s) }),
    }
}

/// The work of the child: sets the limits for its own process, and compiles.
pub fn child(source: &Path, artifact: &Path, limits: &CompileLimits) -> std::process::ExitCode {
    match compile(source, artifact, limits) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            std::process::ExitCode::from(REFUSED as u8)
        }
    }
}

fn compile(source: &Path, artifact: &Path, limits: &CompileLimits) -> wasmtime::Result<()> {
    let memory = BASELINE.saturating_add(limits.memory_mb.saturating_mul(1 << 20));
    limit(Resource::As, memory)?;
    limit(Resource::Cpu, limits.cpu_s)?;
    limit(Resource::Core, 0)?;
    let engine = engine::compiler()?;
    let compiled = engine.precompile_component(&fs::read(source)?)?;
    fs::write(artifact, compiled)?;
    Ok(())
}

fn limit(resource: Resource, value: u64) -> io::Result<()> {
    setrlimit(resource, Rlimit { current: Some(value), maximum: Some(value) })?;
    Ok(())
}
