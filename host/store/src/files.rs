//! Writes files that a crash cannot leave half-written.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of the next temporary file, so that two files that this process writes at the same time
/// have different names.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Replaces a file. After a crash the path holds either the old content or all of the new content.
/// Only the owner can read the file.
///
/// # Errors
/// Fails with the errors of the file system and of `write`. The path then keeps its old content.
pub fn write_atomically(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    write_temporary(path, write, |temporary| fs::rename(temporary, path))
}

/// As [`write_atomically`], but never replaces a file. If several processes create the same file,
/// one of them succeeds.
///
/// # Errors
/// Fails with [`io::ErrorKind::AlreadyExists`] if the file exists, and with the errors of the file
/// system and of `write`. An existing file is then unchanged.
pub(crate) fn create_atomically(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    write_temporary(path, write, |temporary| {
        // A rename would replace an existing file. A link does not.
        fs::hard_link(temporary, path)?;
        fs::remove_file(temporary)
    })
}

/// Writes a temporary file in the same folder. `publish` then gives it its final name.
fn write_temporary(
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
    publish: impl FnOnce(&Path) -> io::Result<()>,
) -> io::Result<()> {
    let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or_else(|| Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // A process that watches the folder ignores names that begin with a dot.
    let temporary =
        folder.join(format!(".{name}.{}-{}.part", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
    let result = (|| {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
        write(&mut file)?;
        file.sync_all()?;
        publish(&temporary)?;
        File::open(folder)?.sync_all()
    })();
    if result.is_err() {
        // If this fails too, the leftover file does no harm, because its name is never read.
        let _ = fs::remove_file(&temporary);
    }
    result
}
