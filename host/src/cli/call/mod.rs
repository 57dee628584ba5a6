//! `connectors call`: runs an operation of a module without a server, and keeps or replays the service's answers.
//!
//! - here: the command; [`arguments`]: its options; [`credential`]: the user's credential
//! - [`rehearsal`]: a connector that is ready to be called

mod arguments;
mod credential;
mod rehearsal;

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, str};

use serde_json::Value;
use thiserror::Error;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;

pub use self::arguments::{CallArguments, SurroundingsArguments};
pub(super) use self::rehearsal::{Rehearsal, Reply};

use super::build::Project;
use super::connectors::ConnectorsError;
use super::output::{Results, remark};
use crate::config::{Config, LogFormat};
use crate::recordings::{End, Json, Player, Recorder, Recording, RecordingError};
use egress::{Carrier, Outline, Watcher};

/// Why an operation was not called, or has failed. Each message says what to do.
#[derive(Debug, Error)]
pub enum CallError {
    /// The file cannot be read or written.
    #[error("`{}`: {source}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The cause.
        source: io::Error,
    },
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
    /// The operation of a recording is gone.
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
    /// A request has no answer.
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
    /// Recordings differ from what the module does now. They were listed.
    #[error(
        "{failed} of {of} recordings differ; repair the connector, record them again with `connectors call --record`, or write the answers \
             of now with --update"
    )]
    Differ {
        /// The number of those that differ.
        failed: usize,
        /// The number of all.
        of: usize,
    },
    /// The operation answered with a problem. It was printed.
    #[error("the operation failed: {0}")]
    Failed(String),
    /// The answer cannot be written.
    #[error(transparent)]
    Output(#[from] io::Error),
}

/// Members of an input by which callers shape the answer or its way.
const ENVELOPE: [&str; 4] = ["response_fields", "response_filters", "waiting", "callback_urls"];

/// Shows the connector's lines, as text.
pub(super) fn log(config: &mut Config) {
    config.log_format = LogFormat::Text;
    // The report of a trap is printed apart from the log.
    config.log = Targets::new()
        .with_default(LevelFilter::ERROR)
        .with_target("connector_gateway::problem", LevelFilter::OFF)
        .with_target("connector", LevelFilter::DEBUG)
        // The name before is also the beginning of this one.
        .with_target("connector_gateway", LevelFilter::ERROR);
}

/// Runs the command.
///
/// # Errors
/// See [`CallError`], and the errors of loading the module.
pub(super) async fn run(arguments: &CallArguments, config: &Config) -> Result<(), ConnectorsError> {
    let replayed = arguments.replay.as_deref().map(read_recording).transpose()?;
    let input = match (&arguments.input, &replayed) {
        (Some(input), _) => read_input(input)?,
        (None, Some(recording)) => recording.input.to_string().into_bytes(),
        (None, None) => b"{}".to_vec(),
    };
    let mut settings = arguments.surroundings.settings();
    for (name, value) in replayed.iter().flat_map(|recording| &recording.settings) {
        settings.settings.entry(name.clone()).or_insert_with(|| Value::from(value));
    }
    let rehearsal = Rehearsal::open(&module(&arguments.module)?, config, &settings).await?;
    let called = &arguments.operation;
    if let (Some(file), Some(recording)) = (&arguments.replay, &replayed) {
        rehearsal.check_operation(called)?;
        let player = Arc::new(Player::new(recording));
        let reply = rehearsal.call(called, &input, None, watched(Some(Arc::<Player>::clone(&player)))).await;
        let differences = player.differences();
        if !differences.is_empty() {
            differences.iter().for_each(remark);
            return Err(CallError::Differs(file.clone()).into());
        }
        return Ok(print(&reply, &mut Results::of_service())?);
    }
    let credential = arguments.credential.read(&rehearsal.connector().manifest().auth)?;
    let Some(file) = &arguments.record else {
        let reply = rehearsal.call(called, &input, credential, watched(None)).await;
        return Ok(print(&reply, &mut Results::of_service())?);
    };
    let recorded_input = recordable(&input)?;
    let recorder = Arc::new(Recorder::new(&arguments.headers));
    let reply = rehearsal.call(called, &input, credential, watched(Some(Arc::<Recorder>::clone(&recorder)))).await;
    let printed = print(&reply, &mut Results::of_service());
    let end = reply.end().map_err(|reason| CallError::NotRecorded { file: file.clone(), reason })?;
    let settings = settings.settings.iter().map(|(name, value)| (name.clone(), Json::from(value))).collect();
    let recording = recorder
        .finish(called, recorded_input, settings, end, &arguments.redacted)
        .map_err(|reason| CallError::NotRecorded { file: file.clone(), reason })?;
    let Replayed { requests, differences, .. } = replay_to_end(&rehearsal, &recording).await;
    write_recording(file, &recording)?;
    let count = recording.exchanges.len();
    let noun = if count == 1 { "request" } else { "requests" };
    remark(format_args!("Recorded {count} {noun} in `{}`.", file.display()));
    if !requests.is_empty() || !differences.is_empty() {
        remark("A replay of the recording differs, so a test of it fails:");
        requests.iter().chain(&differences).for_each(|line| remark(format_args!("  {line}")));
    }
    Ok(printed?)
}

/// A call whose requests were answered from a recording.
pub(super) struct Replayed {
    /// The differences between its requests and the recorded ones.
    pub(super) requests: Vec<String>,
    /// The differences between its end and the recorded one. Empty if the requests differ.
    pub(super) differences: Vec<String>,
    /// `None` if the answer is not JSON.
    pub(super) end: Option<End>,
}

/// Calls the operation of a recording, and answers its requests from the recording.
pub(super) async fn replay_to_end(rehearsal: &Rehearsal, recording: &Recording) -> Replayed {
    let player = Arc::new(Player::new(recording));
    let input = recording.input.to_string();
    let carrier: Arc<dyn Carrier> = Arc::<Player>::clone(&player);
    let reply = rehearsal.call(&recording.operation, input.as_bytes(), None, carrier).await;
    let requests = player.differences();
    let (end, differences) = match reply.end() {
        Ok(end) => (Some(end.clone()), recording.differences(&end)),
        Err(reason) => (None, vec![reason]),
    };
    // A request that the recording lacks fails, and so does what follows.
    let differences = if requests.is_empty() { differences } else { Vec::new() };
    Replayed { requests, differences, end }
}

/// Writes an outline of each request to standard error.
fn watched(next: Option<Arc<dyn Carrier>>) -> Arc<dyn Carrier> {
    Arc::new(Watcher { report: |outline: &Outline| remark(outline), next })
}

/// The module of a path: the file, or that of the project in the folder.
fn module(path: &Path) -> Result<PathBuf, ConnectorsError> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let module = Project::find(path)?.module();
    if module.is_file() { Ok(module) } else { Err(CallError::NotBuilt { folder: path.to_owned(), module }.into()) }
}

fn read_input(argument: &str) -> Result<Vec<u8>, CallError> {
    let mut input = Vec::new();
    match argument.strip_prefix('@') {
        Some(file) => {
            let file = PathBuf::from(file);
            input = fs::read(&file).map_err(|source| CallError::File { file, source })?;
        }
        None if argument == "-" => {
            let failed = |source| CallError::File { file: "standard input".into(), source };
            io::stdin().read_to_end(&mut input).map_err(failed)?;
        }
        None => input.extend_from_slice(argument.as_bytes()),
    }
    Ok(input)
}

/// The input as a recording has it.
fn recordable(input: &[u8]) -> Result<Json, CallError> {
    let input = Json::parse(input).map_err(|_| CallError::InputIsNotJson)?;
    match ENVELOPE.into_iter().find(|name| input.has(name)) {
        Some(name) => Err(CallError::Shaped(name)),
        None => Ok(input),
    }
}

/// Reads a recording.
///
/// # Errors
/// If the file cannot be read, or is no recording.
pub(super) fn read_recording(file: &Path) -> Result<Recording, CallError> {
    let text = fs::read(file).map_err(|source| CallError::File { file: file.to_owned(), source })?;
    Recording::read(&text).map_err(|source| CallError::Recording { file: file.to_owned(), source })
}

/// Writes a recording, and the folder that it is in.
///
/// # Errors
/// If the file cannot be written.
pub(super) fn write_recording(file: &Path, recording: &Recording) -> Result<(), CallError> {
    let write = || -> io::Result<()> {
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(file, recording.write()?)
    };
    write().map_err(|source| CallError::File { file: file.to_owned(), source })
}

/// Prints an answer, or a problem.
///
/// # Errors
/// `Failed` if it is a problem.
fn print(reply: &Reply, out: &mut impl Write) -> Result<(), CallError> {
    match reply {
        Reply::Problem(problem) => {
            writeln!(out, "{problem:#}")?;
            let detail = problem.get("detail").and_then(Value::as_str).unwrap_or_default();
            Err(CallError::Failed(detail.to_owned()))
        }
        Reply::Answer(body) => {
            match Json::parse(body) {
                Ok(json) => writeln!(out, "{json}")?,
                Err(_) => out.write_all(body)?,
            }
            Ok(out.flush()?)
        }
    }
}
