//! Reads the file of a module.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::refusal::Refusal;
use store::digest::sha256_hex;

/// The digest of a file. `None` if the file is missing. Empty if it cannot be read.
pub(super) async fn digest_of(path: &Path, max_mb: u64) -> Option<String> {
    let length = fs::metadata(path).ok()?.len();
    match read(path.to_owned(), length, max_mb).await {
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

/// Reads a module of at most `max_mb` MiB. The length is checked first, because a sparse file may
/// have any length.
pub(super) async fn read(path: PathBuf, length: u64, max_mb: u64) -> Result<Vec<u8>, ReadError> {
    let too_large = |length: u64| {
        ReadError::Refused(Refusal::Module(format!(
            "it has {} MB, over the limit of {max_mb} MB (`compile.max_module_mb`)",
            length >> 20
        )))
    };
    let limit = max_mb << 20;
    if length >= limit {
        return Err(too_large(length));
    }
    let reading = tokio::task::spawn_blocking(move || {
        let mut module = Vec::new();
        // The file may have grown since its length was read.
        File::open(path)?.take(limit + 1).read_to_end(&mut module).map(|_| module)
    });
    let failed =
        |error: &dyn std::fmt::Display| ReadError::Refused(Refusal::Temporary(format!("it cannot be read: {error}")));
    match reading.await {
        Ok(Ok(module)) if module.len() as u64 >= limit => Err(too_large(module.len() as u64)),
        Ok(Ok(module)) => Ok(module),
        Ok(Err(error)) if error.kind() == io::ErrorKind::NotFound => Err(ReadError::Missing),
        Ok(Err(error)) => Err(failed(&error)),
        Err(error) => Err(failed(&error)),
    }
}
