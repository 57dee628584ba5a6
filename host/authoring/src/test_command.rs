//! `connectors test`: builds a project, replays its recordings against the module, and runs its own
//! tests.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use connector_gateway::{AuthorSettings, Config};
use serde_json::Value;
use thiserror::Error;

use crate::build::{self, BuildError};
use crate::call::{CallError, LocalCall, read_recording, replay_to_end, write_recording};
use crate::identity;
use crate::module_file::FileError;
use crate::output::{print, remark};
use crate::project::{Project, ProjectError};
use crate::pushed::{Pushed, PushedError};
use crate::recordings;

/// The options of `connectors test`.
#[derive(Clone, Debug, Args)]
pub struct TestArguments {
    /// The project's folder
    #[arg(default_value = ".")]
    pub folder: PathBuf,
    /// Write the present answers into the recordings, if the requests are the recorded ones
    #[arg(long)]
    pub update: bool,
    /// Leave out the project's own tests
    #[arg(long)]
    pub only_recordings: bool,
}

/// Why the command failed.
#[derive(Debug, Error)]
pub enum TestError {
    /// The project was not built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The folder has no project, or its own tests failed.
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// The module cannot be called.
    #[error(transparent)]
    Call(#[from] CallError),
    /// A notification is not accepted.
    #[error(transparent)]
    Pushed(#[from] PushedError),
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// Recordings differ from what the module does now. They were listed.
    #[error(
        "{failed} of {of} recordings differ; repair the connector, record them again with `connectors call --record`, or write the present \
         answers with --update"
    )]
    Differ {
        /// The number of those that differ.
        failed: usize,
        /// The number of all.
        of: usize,
    },
    /// The result cannot be written.
    #[error(transparent)]
    Output(#[from] io::Error),
}

/// Runs the command.
///
/// # Errors
/// `Differ` if a recording differs, and the errors of building and of the project's own tests.
pub(crate) async fn run(arguments: &TestArguments, config: &Config) -> Result<(), TestError> {
    let project = Project::find(&arguments.folder)?;
    let module = project.module();
    build::write_module(&project, &module)?;
    let folder = arguments.folder.join(recordings::FOLDER);
    let files = recordings::files(&folder)?;
    let mut failed = 0;
    if files.is_empty() {
        remark(format_args!("No recordings in `{}`; `connectors call --record` makes one.", folder.display()));
    } else {
        let mut local = LocalCall::open(&module, config, &AuthorSettings::default()).await?;
        for file in &files {
            let differences = match replay(&mut local, file, arguments.update).await {
                Ok(differences) => differences,
                Err(error) => vec![error.to_string()],
            };
            let outcome = if differences.is_empty() { "ok    " } else { "FAILED" };
            print(format_args!("{outcome} {}", file.display()))?;
            for line in &differences {
                print(format_args!("         {line}"))?;
            }
            for line in lost_pointers(&local, file) {
                print(format_args!("         note: {line}"))?;
            }
            failed += usize::from(!differences.is_empty());
        }
        print(format_args!("recordings: {}, failed: {failed}", files.len()))?;
    }
    if !arguments.only_recordings {
        project.run_tests()?;
    }
    match failed {
        0 => Ok(()),
        failed => Err(TestError::Differ { failed, of: files.len() }),
    }
}

/// Replays a recording. Returns the lines in which the call differs from it.
async fn replay(local: &mut LocalCall, file: &Path, update: bool) -> Result<Vec<String>, TestError> {
    if let Some(pushed) = Pushed::read(file)? {
        return Ok(pushed.replay(local.connector(), file, update)?);
    }
    let mut recording = read_recording(file)?;
    let settings = recording.settings.iter().map(|(name, value)| (name.clone(), Value::from(value))).collect();
    local.configure(&AuthorSettings { settings, ..AuthorSettings::default() }).await?;
    local.check_operation(&recording.operation)?;
    let replayed = replay_to_end(local, &recording).await;
    match replayed.end {
        Some(end) if update && replayed.requests.is_empty() && !replayed.differences.is_empty() => {
            recording.set_end(end);
            write_recording(file, &recording)?;
            Ok(Vec::new())
        }
        _ => Ok([replayed.requests, replayed.differences].concat()),
    }
}

/// The pointers of the connector's identity that find nothing in the answer of a recording.
fn lost_pointers(local: &LocalCall, file: &Path) -> Vec<String> {
    let Ok(recording) = read_recording(file) else { return Vec::new() };
    let lost = |answer| identity::lost(local.connector(), &recording.operation, &Value::from(answer));
    recording.answer().map(lost).unwrap_or_default()
}
