//! The files of recordings, and calls whose requests are answered from a recording.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::{CallError, LocalCall};
use crate::module_file::FileError;
use crate::recordings::{End, Player, Recording};
use egress::Transport;

/// A call whose requests were answered from a recording.
pub(crate) struct Replayed {
    /// The differences between its requests and the recorded ones.
    pub(crate) requests: Vec<String>,
    /// The differences between its end and the recorded one. Empty if the requests differ.
    pub(crate) differences: Vec<String>,
    /// `None` if the answer is not JSON.
    pub(crate) end: Option<End>,
}

/// Calls the operation of a recording, and answers its requests from the recording.
pub(crate) async fn replay_to_end(local: &LocalCall, recording: &Recording) -> Replayed {
    let player = Arc::new(Player::new(recording));
    let input = recording.input.to_string();
    let transport: Arc<dyn Transport> = Arc::<Player>::clone(&player);
    let outcome = local.run(&recording.operation, input.as_bytes(), None, transport).await;
    let requests = player.differences();
    let (end, differences) = match outcome.end() {
        Ok(end) => (Some(end.clone()), recording.differences(&end)),
        Err(reason) => (None, vec![reason]),
    };
    // A request that the recording lacks fails, so the end differs too.
    let differences = if requests.is_empty() { differences } else { Vec::new() };
    Replayed { requests, differences, end }
}

/// Reads a recording.
///
/// # Errors
/// If the file cannot be read, or is no recording.
pub(crate) fn read_recording(file: &Path) -> Result<Recording, CallError> {
    let text = fs::read(file).map_err(|source| FileError { file: file.to_owned(), source })?;
    Recording::read(json_text::without_mark(&text))
        .map_err(|source| CallError::Recording { file: file.to_owned(), source })
}

/// Writes a recording. Its folder is made if it is missing.
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn write_recording(file: &Path, recording: &Recording) -> Result<(), FileError> {
    let write = || -> io::Result<()> {
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(file, recording.write()?)
    };
    write().map_err(|source| FileError { file: file.to_owned(), source })
}
