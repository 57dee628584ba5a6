//! Files that a crash leaves whole.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Tells apart the temporary files that this process writes at the same time.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Writes a file so that its path holds either what was there before or all of what is written, whatever happens in
/// between; readable by its owner alone.
///
/// # Errors
/// Those of the file system and of `write`; then the path is untouched.
pub fn write_atomically(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    write_beside(path, write, |temporary| fs::rename(temporary, path))
}

/// As [`write_atomically`], unless there is a file already, which stays as it is. Of several who try at once, one succeeds.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`], and those of the file system and of `write`; then the path is untouched.
pub fn create_atomically(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    write_beside(path, write, |temporary| {
        // Unlike a renamed file, a link never takes the place of another.
        fs::hard_link(temporary, path)?;
        fs::remove_file(temporary)
    })
}

/// Writes a temporary file in the same folder, and lets `publish` give it its name.
fn write_beside(
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
    publish: impl FnOnce(&Path) -> io::Result<()>,
) -> io::Result<()> {
    let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or_else(|| Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // The dot keeps it out of sight of whoever watches the folder.
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
        // Nothing is lost when this fails too: the name is never read.
        let _ = fs::remove_file(&temporary);
    }
    result
}
