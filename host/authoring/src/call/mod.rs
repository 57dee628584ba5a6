//! `connectors call`: runs an operation of a module without a server, and records or replays the
//! upstreams' responses.
//!
//! - here: the command
//! - [`arguments`]: its options
//! - [`credential`]: the user's credential
//! - [`error`]: why an operation was not called, or has failed
//! - [`local_call`]: a connector that is ready to be called
//! - [`replay`]: the files of recordings, and calls whose requests are answered from one

mod arguments;
mod credential;
mod error;
mod local_call;
mod replay;

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use connector_gateway::{Config, LogFormat};
use serde_json::Value;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;

pub(crate) use self::arguments::CallArguments;
pub(crate) use self::error::CallError;
pub(crate) use self::local_call::{LocalCall, Outcome};
pub(crate) use self::replay::{Replayed, read_recording, replay_to_end, write_recording};

use contract::words::json_printable;

use crate::identity;
use crate::module_file::FileError;
use crate::output::{Results, remark};
use crate::project::Project;
use crate::recordings::{Json, Player, Recorder};
use egress::{Outline, Transport, Watcher};

/// Members of an input by which callers shape the answer, or choose how they get it.
const ENVELOPE: [&str; 4] = ["response_fields", "response_filters", "waiting", "callback_urls"];

/// Shows the lines that the connector logs, as text.
pub(crate) fn set_log(config: &mut Config) {
    config.log_format = LogFormat::Text;
    // The report of a trap is printed, so it is not logged.
    config.log = Targets::new()
        .with_default(LevelFilter::ERROR)
        .with_target("problem", LevelFilter::OFF)
        .with_target("connector", LevelFilter::DEBUG)
        // This target also begins with the previous one, which would match it.
        .with_target("connector_gateway", LevelFilter::ERROR);
}

/// Runs the command.
///
/// # Errors
/// See [`CallError`].
pub(crate) async fn run(arguments: &CallArguments, config: &Config) -> Result<(), CallError> {
    let replayed = arguments.replay.as_deref().map(read_recording).transpose()?;
    let input = match (&arguments.input, &replayed) {
        (Some(input), _) => read_input(input)?,
        (None, Some(recording)) => recording.input.to_string().into_bytes(),
        (None, None) => b"{}".to_vec(),
    };
    let mut settings = arguments.connector.settings();
    for (name, value) in replayed.iter().flat_map(|recording| &recording.settings) {
        settings.settings.entry(name.clone()).or_insert_with(|| Value::from(value));
    }
    let mut local = LocalCall::open(&module(&arguments.module)?, config, &settings).await?;
    let called = &arguments.operation;
    let address = arguments.connector.address();
    if arguments.replay.is_none() || !address.is_empty() {
        local.set_address(address)?;
    }
    if let (Some(file), Some(recording)) = (&arguments.replay, &replayed) {
        local.check_operation(called)?;
        let player = Arc::new(Player::new(recording));
        let outcome = local.run(called, &input, None, watched(Some(Arc::<Player>::clone(&player)))).await;
        let differences = player.differences();
        if !differences.is_empty() {
            differences.iter().for_each(remark);
            return Err(CallError::Differs(file.clone()));
        }
        let printed = print(&outcome, &mut Results::of_service());
        note_identity(&local, called, &outcome);
        return printed;
    }
    let connector = local.connector();
    let credential = arguments.credential.read(
        &connector.manifest().auth,
        connector.auth_additions(),
        &arguments.connector.address(),
    )?;
    let Some(file) = &arguments.record else {
        let outcome = local.run(called, &input, credential, watched(None)).await;
        let printed = print(&outcome, &mut Results::of_service());
        note_identity(&local, called, &outcome);
        return printed;
    };
    let recorded_input = recordable(&input)?;
    let recorder = Arc::new(Recorder::new(&arguments.headers));
    let outcome = local.run(called, &input, credential, watched(Some(Arc::<Recorder>::clone(&recorder)))).await;
    let printed = print(&outcome, &mut Results::of_service());
    note_identity(&local, called, &outcome);
    let end = outcome.end().map_err(|reason| CallError::NotRecorded { file: file.clone(), reason })?;
    let settings = settings.settings.iter().map(|(name, value)| (name.clone(), Json::from(value))).collect();
    let recording = recorder
        .finish(called, recorded_input, settings, end, &arguments.redacted)
        .map_err(|reason| CallError::NotRecorded { file: file.clone(), reason })?;
    let Replayed { requests, differences, .. } = replay_to_end(&local, &recording).await;
    write_recording(file, &recording)?;
    let count = recording.exchanges.len();
    let noun = if count == 1 { "request" } else { "requests" };
    remark(format_args!("Recorded {count} {noun} in `{}`.", file.display()));
    if !requests.is_empty() || !differences.is_empty() {
        remark("A replay of the recording differs, so a test of it fails:");
        requests.iter().chain(&differences).for_each(|line| remark(format_args!("  {line}")));
    }
    printed
}

/// Writes an outline of each request to standard error.
fn watched(next: Option<Arc<dyn Transport>>) -> Arc<dyn Transport> {
    Arc::new(Watcher { report: |outline: &Outline| remark(outline), next })
}

/// Names the pointers of the connector's identity that find nothing in the answer, if the operation
/// tells the identity.
fn note_identity(local: &LocalCall, operation: &str, outcome: &Outcome) {
    let Outcome::Answer(body) = outcome else { return };
    let Ok(answer) = serde_json::from_slice(body) else { return };
    identity::lost(local.connector(), operation, &answer).iter().for_each(|line| remark(format_args!("note: {line}")));
}

/// The module of a path: the file itself, or the module of the project in the folder.
fn module(path: &Path) -> Result<PathBuf, CallError> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let module = Project::find(path)?.module();
    if module.is_file() { Ok(module) } else { Err(CallError::NotBuilt { folder: path.to_owned(), module }) }
}

fn read_input(argument: &str) -> Result<Vec<u8>, CallError> {
    let mut input = Vec::new();
    match argument.strip_prefix('@') {
        Some(file) => {
            let file = PathBuf::from(file);
            let text = fs::read(&file).map_err(|source| FileError { file, source })?;
            input.extend_from_slice(json_text::without_mark(&text));
        }
        None if argument == "-" => {
            let failed = |source| FileError { file: "standard input".into(), source };
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

/// Prints an answer, or a problem.
///
/// # Errors
/// `Failed` if it is a problem.
fn print(outcome: &Outcome, out: &mut impl Write) -> Result<(), CallError> {
    match outcome {
        Outcome::Problem(problem) => {
            writeln!(out, "{}", json_printable(&format!("{problem:#}")))?;
            let detail = problem.get("detail").and_then(Value::as_str).unwrap_or_default();
            Err(CallError::Failed(detail.to_owned()))
        }
        Outcome::Answer(body) => {
            match Json::parse(body) {
                Ok(json) => writeln!(out, "{}", json_printable(&json.to_string()))?,
                Err(_) => out.write_all(body)?,
            }
            Ok(out.flush()?)
        }
    }
}
