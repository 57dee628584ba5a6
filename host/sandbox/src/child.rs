//! Work on an untrusted module, in a child process with limits of memory and time.
//!
//! A hostile module of a few hundred kilobytes can make its compilation take gigabytes of memory or
//! minutes of time. If it breaks a limit, only the child ends.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::process::{ExitCode, Stdio};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, setrlimit};
use thiserror::Error;
use tokio::io::AsyncReadExt;
use tokio::process::Command;

/// Address space that a child needs in addition to its work: for the binary, and the stacks and
/// arenas of its threads.
const BASELINE: u64 = 1 << 30;

/// The allocator of a child reserves its address space in parts of this size. By default each has 1
/// GiB, which is the baseline.
const SMALL_ARENAS: (&str, &str) = ("MIMALLOC_ARENA_RESERVE", "64M");

/// Maximum length of the message of a child, which is usually one sentence.
const MAX_MESSAGE_BYTES: u64 = 4 << 10;

/// The exit code of a child that refuses the module. Its message then has the reason.
const REFUSED: u8 = 3;

/// The limits of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChildLimits {
    /// Memory, in MiB.
    pub memory_mb: u64,
    /// CPU time over all cores, in seconds.
    pub cpu_s: u64,
}

/// Why a child did not do its work.
#[derive(Debug, Error)]
pub enum ChildError {
    /// It refused the module.
    #[error("{0}")]
    Refused(String),
    /// It broke a limit, which this text names.
    #[error("it took more than {0}")]
    Limit(String),
    /// It could not be run.
    #[error("the process for it could not be run: {0}")]
    Io(#[from] io::Error),
}

/// Runs a command of this binary in a child process. The command gets the limits as its options and
/// applies them with [`work`].
pub(super) async fn run_child<I, S>(arguments: I, limits: ChildLimits) -> Result<(), ChildError>
where
    I: IntoIterator<Item = S>,
    S: AsRef<OsStr>,
{
    // The file at the path of the binary may be another version by now.
    let mut child = Command::new("/proc/self/exe")
        .args(arguments)
        .arg("--memory-mb")
        .arg(limits.memory_mb.to_string())
        .arg("--cpu-s")
        .arg(limits.cpu_s.to_string())
        // The child needs no other environment variables.
        .env_clear()
        .envs([SMALL_ARENAS])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    // Closed when this process ends for any reason, which ends the child.
    let _lifeline = child.stdin.take();
    let stderr = child.stderr.take();
    let message = async {
        let mut message = String::new();
        if let Some(stderr) = stderr {
            // A message that is not text is left out.
            let _ = stderr.take(MAX_MESSAGE_BYTES).read_to_string(&mut message).await;
        }
        message
    };
    // The kernel limits the CPU time. This limit also ends a child that sleeps. A child yields to
    // calls, and may get a small part of a core for a long time.
    let wall = Duration::from_secs(limits.cpu_s.saturating_mul(10).saturating_add(5));
    let finished = tokio::time::timeout(wall, async { tokio::join!(child.wait(), message) }).await;
    let Ok((status, message)) = finished else {
        child.kill().await?;
        return Err(ChildError::Limit(format!("{} s", wall.as_secs())));
    };
    match status?.code() {
        Some(0) => Ok(()),
        Some(code) if code == i32::from(REFUSED) => Err(ChildError::Refused(message.trim().to_owned())),
        _ => Err(ChildError::Limit(format!("{} MB or {} s of CPU", limits.memory_mb, limits.cpu_s))),
    }
}

/// The work of a child: sets the limits for its own process, then does the work.
pub fn work<E: std::fmt::Display>(limits: ChildLimits, work: impl FnOnce() -> Result<(), E>) -> ExitCode {
    let refused = |reason: String| {
        eprintln!("{reason}");
        ExitCode::from(REFUSED)
    };
    if let Err(error) = set_limits(limits).and_then(|()| end_with_parent()) {
        return refused(format!("the limits of the process cannot be set: {error}"));
    }
    match work() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => refused(format!("{error:#}")),
    }
}

/// Ends this process when its standard input is closed. No one writes to it.
fn end_with_parent() -> io::Result<()> {
    std::thread::Builder::new().name("lifeline".to_owned()).spawn(|| {
        let _ = io::stdin().read(&mut [0]);
        std::process::exit(1)
    })?;
    Ok(())
}

fn set_limits(limits: ChildLimits) -> io::Result<()> {
    let memory = BASELINE.saturating_add(limits.memory_mb.saturating_mul(1 << 20));
    for (resource, value) in [(Resource::As, memory), (Resource::Cpu, limits.cpu_s), (Resource::Core, 0)] {
        setrlimit(resource, Rlimit { current: Some(value), maximum: Some(value) })?;
    }
    Ok(())
}
