//! Reads the file of a module.

use std::io;
use std::path::{Path, PathBuf};

use super::Registry;
use super::refusal::Refusal;
use store::digest::sha256_hex;

/// The digest of a file. `None` if the file is missing. Empty if it cannot be read.
pub(super) async fn digest_of(path: &Path, max_mb: u64) -> Option<String> {
    match read(path.to_owned(), max_mb).await {
        Ok(module) => Some(sha256_hex(&module)),
        Err(ReadError::Missing) => None,
        Err(ReadError::Refused(_)) => Some(String::new()),
    }
}

/// Why a file cannot be read.
pub(super) enum ReadError {
    /// It was removed in the meantime. The next scan notices.
    Missing,
    /// It is too large, or the operating system refuses.
    Refused(Refusal),
}

/// Reads a module of at most `max_mb` MiB.
pub(super) async fn read(path: PathBuf, max_mb: u64) -> Result<Vec<u8>, ReadError> {
    let file = path.clone();
    let reading = tokio::task::spawn_blocking(move || read_now(&file, max_mb)).await;
    let failed =
        |error: &dyn std::fmt::Display| ReadError::Refused(Refusal::Temporary(format!("it cannot be read: {error}")));
    match reading {
        Ok(Ok(module)) => Ok(module),
        Ok(Err(error)) if error.kind() == io::ErrorKind::NotFound => Err(ReadError::Missing),
        Ok(Err(error)) if error.kind() == io::ErrorKind::FileTooLarge => {
            let mb = std::fs::metadata(&path).map_or(max_mb, |metadata| metadata.len().div_ceil(1 << 20));
            Err(ReadError::Refused(Refusal::Module(format!(
                "it has {mb} MB, over the limit of {max_mb} MB (`compile.max_module_mb`)"
            ))))
        }
        Ok(Err(error)) => Err(failed(&error)),
        Err(error) => Err(failed(&error)),
    }
}

/// As [`read`], on the thread of the caller.
fn read_now(path: &Path, max_mb: u64) -> io::Result<Vec<u8>> {
    files::read_regular(path, max_mb << 20)
}

impl Registry {
    /// Reads the file of a module that was live, or of a shipped one. For changes, which do not run
    /// on the threads that serve.
    pub(super) fn read_module(&self, path: &Path) -> io::Result<Vec<u8>> {
        read_now(path, self.config.compile.max_module_mb)
    }
}

/// Reads a small text that the gateway wrote. `None` if it is missing or cannot be read.
pub(super) fn read_mark(path: &Path) -> Option<String> {
    const MAX_BYTES: u64 = 4 << 10;
    String::from_utf8(files::read_regular(path, MAX_BYTES).ok()?).ok()
}
