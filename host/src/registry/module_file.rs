//! Reads the file of a module, and the signature next to it.

use std::io;
use std::path::Path;

use super::refusal::Refusal;
use super::trust;
use crate::regular_file;
use store::digest::sha256_hex;

/// The digest of a file. `None` if the file is missing. Empty if it cannot be read.
pub(super) async fn digest_of(path: &Path, max_mb: u64) -> Option<String> {
    match read(path, max_mb).await {
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

impl From<ReadError> for io::Error {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Missing => io::ErrorKind::NotFound.into(),
            ReadError::Refused(refusal) => Self::other(refusal.to_string()),
        }
    }
}

/// Reads a module of at most `max_mb` MiB. The length is checked first, because a sparse file may
/// have any length.
pub(super) async fn read(path: &Path, max_mb: u64) -> Result<Vec<u8>, ReadError> {
    let too_large = |length: u64| {
        ReadError::Refused(Refusal::Module(format!(
            "it has {} MB, over the limit of {max_mb} MB (`compile.max_module_mb`)",
            length >> 20
        )))
    };
    let limit = max_mb << 20;
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => ReadError::Missing,
        io::ErrorKind::InvalidInput => ReadError::Refused(Refusal::Module(error.to_string())),
        _ => ReadError::Refused(Refusal::Temporary(format!("it cannot be read: {error}"))),
    };
    let length = regular_file::metadata(path).map_err(failed)?.len();
    if length >= limit {
        return Err(too_large(length));
    }
    // The file may have grown since its length was read.
    let module = regular_file::read(path, limit + 1).await.map_err(failed)?;
    if module.len() as u64 >= limit { Err(too_large(module.len() as u64)) } else { Ok(module) }
}

/// Reads a module and its signature.
///
/// # Errors
/// If the module is missing, or if one of the files cannot be read.
pub(super) async fn read_signed(path: &Path, max_mb: u64) -> io::Result<(Vec<u8>, Option<String>)> {
    Ok((read(path, max_mb).await?, trust::signature_of(path).await?))
}
