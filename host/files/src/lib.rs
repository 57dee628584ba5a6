//! Writes files that stay whole in a crash.

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

/// Like [`write_atomically`], but never replaces a file. If several processes create the same file,
/// one of them succeeds.
///
/// # Errors
/// Fails with [`io::ErrorKind::AlreadyExists`] if the file exists, and with the errors of the file
/// system and of `write`. An existing file is then unchanged.
pub fn create_atomically(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
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
        // A leftover file does no harm if this fails too: its name is never read.
        let _ = fs::remove_file(&temporary);
    }
    result
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_file_is_replaced_and_only_its_owner_can_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        for content in ["old", "new"] {
            write_atomically(&path, |file| file.write_all(content.as_bytes())).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        }
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(names(folder.path()), ["key"]);
    }

    #[test]
    fn a_failed_write_leaves_the_old_content_and_no_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        write_atomically(&path, |file| file.write_all(b"old")).unwrap();
        let failed = write_atomically(&path, |file| {
            file.write_all(b"half")?;
            Err(io::Error::other("no space"))
        });
        assert_eq!(failed.unwrap_err().to_string(), "no space");
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), names(folder.path()).len()), ("old", 1));
    }

    #[test]
    fn an_existing_file_is_never_created_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        create_atomically(&path, |file| file.write_all(b"first")).unwrap();
        let second = create_atomically(&path, |file| file.write_all(b"second"));
        assert_eq!(second.unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), names(folder.path()).len()), ("first", 1));
    }
}
