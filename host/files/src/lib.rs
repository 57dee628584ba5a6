//! Writes files that stay whole in a crash, and reads files of folders that others may write to.
//! Also reads a text as the one who wrote it meant it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{FallocateFlags, OFlags};
use rustix::io::Errno;

/// Some editors write it at the beginning of a file.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Number of the next temporary file, so that two files that this process writes at the same time
/// have different names.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Reads a file of a folder that others may write to, with at most `max_bytes`. Never blocks: a
/// FIFO, a device or a socket of this name is an error. A link is followed only inside its folder,
/// so that it cannot show another file of the machine.
///
/// # Errors
/// [`io::ErrorKind::FileTooLarge`] if the file is longer, [`io::ErrorKind::InvalidInput`] if it is
/// not a regular file or its link leaves the folder, and the errors of the file system.
pub fn read_regular(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or_else(|| Path::new("."));
    let target = fs::canonicalize(path)?;
    if !target.starts_with(fs::canonicalize(folder)?) {
        return Err(invalid("it is a link that leaves its folder"));
    }
    // `target` has no link. One that appears in the meantime is not followed.
    let file = open(OpenOptions::new().read(true), OFlags::NOFOLLOW, &target)?;
    let metadata = file.metadata()?;
    let mut content = Vec::new();
    // The length comes first: a sparse file may have any length. The file may still grow.
    if metadata.len() <= max_bytes {
        content.try_reserve_exact(usize::try_from(metadata.len()).unwrap_or(usize::MAX))?;
        file.take(max_bytes.saturating_add(1)).read_to_end(&mut content)?;
    }
    if metadata.len() > max_bytes || content.len() as u64 > max_bytes {
        let length = metadata.len().max(content.len() as u64);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has {length} bytes")));
    }
    Ok(content)
}

/// A secret as it was meant: without white space and a byte order mark at its ends, which editors,
/// shells and stores of secrets add.
pub fn secret_of(text: &str) -> &str {
    text.trim_matches(|character: char| character.is_whitespace() || character == BYTE_ORDER_MARK)
}

/// A text without the byte order mark that it may begin with.
pub fn without_mark(text: &str) -> &str {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

/// Opens a file that the operator has named, for reading. Never blocks. A link is followed.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] if it is not a regular file, and the errors of the file system.
pub fn open_regular(path: &Path) -> io::Result<File> {
    open(OpenOptions::new().read(true), OFlags::empty(), path)
}

/// Opens a file that the operator has named, for writing at its end. Makes it if it is missing,
/// and only its owner can then read it. Never blocks. A link is followed.
///
/// # Errors
/// As [`open_regular`]. A FIFO is an error of the file system.
pub fn open_or_create(path: &Path) -> io::Result<File> {
    open(OpenOptions::new().append(true).create(true).mode(0o600), OFlags::empty(), path)
}

/// Makes an empty file that only its owner can read, or empties a file. Never blocks, and follows
/// no link.
///
/// # Errors
/// As [`open_or_create`], and if the path is a link.
pub fn create_regular(path: &Path) -> io::Result<File> {
    open(OpenOptions::new().write(true).create(true).truncate(true).mode(0o600), OFlags::NOFOLLOW, path)
}

/// Makes an empty file `bytes` long, and gives it this room on the disk.
///
/// # Errors
/// If the disk has no room.
pub fn allocate(file: &mut File, bytes: u64) -> io::Result<()> {
    match rustix::fs::fallocate(&*file, FallocateFlags::empty(), 0, bytes) {
        // A network file system may not know the call.
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
            io::copy(&mut io::repeat(0).take(bytes), file)?;
            file.rewind()
        }
        done => Ok(done?),
    }
}

/// Opens a file without blocking. A FIFO would block until someone opens its other end.
fn open(options: &mut OpenOptions, flags: OFlags, path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | flags;
    let file = options.custom_flags(flags.bits().cast_signed()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(invalid("it is not a regular file"));
    }
    Ok(file)
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what.to_owned())
}

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

    #[test]
    fn what_editors_and_shells_add_is_no_part_of_a_text() {
        for text in ["a b", "a b\n", "\u{feff}a b\r\n", " \u{feff}\ta b "] {
            assert_eq!(secret_of(text), "a b", "{text:?}");
        }
        assert_eq!(secret_of("\u{feff}\n"), "");
        assert_eq!((without_mark("\u{feff}a\n"), without_mark("a\u{feff}")), ("a\n", "a\u{feff}"));
    }

    #[test]
    fn only_regular_files_of_the_folder_are_read_and_nothing_blocks() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), b"content").unwrap();
        fs::write(other.path().join("secret"), b"secret").unwrap();
        std::os::unix::fs::symlink("file", at("inside")).unwrap();
        std::os::unix::fs::symlink(other.path().join("secret"), at("outside")).unwrap();
        std::os::unix::fs::symlink("loop", at("loop")).unwrap();
        make_fifo(&at("fifo"));
        for name in ["file", "inside"] {
            assert_eq!(read_regular(&at(name), 7).unwrap(), b"content");
            assert_eq!(read_regular(&at(name), 6).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        }
        for name in ["fifo", "outside", "."] {
            assert_eq!(read_regular(&at(name), 100).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{name}");
        }
        read_regular(&at("loop"), 100).unwrap_err();
        assert_eq!(read_regular(&at("missing"), 100).unwrap_err().kind(), io::ErrorKind::NotFound);
        // A sparse file of a terabyte takes neither time nor memory.
        File::create(at("sparse")).unwrap().set_len(1 << 40).unwrap();
        assert_eq!(read_regular(&at("sparse"), 100).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }

    fn make_fifo(path: &Path) {
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    }

    #[test]
    fn a_file_that_is_not_regular_is_never_opened_to_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        make_fifo(&at("fifo"));
        fs::write(at("file"), b"content").unwrap();
        std::os::unix::fs::symlink("file", at("link")).unwrap();
        assert_eq!(open_regular(&at("fifo")).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        type Open = fn(&Path) -> io::Result<File>;
        for (open, name) in [(create_regular as Open, "new"), (open_or_create, "other")] {
            open(&at("fifo")).unwrap_err();
            open(folder.path()).unwrap_err();
            let mut file = open(&at(name)).unwrap();
            file.write_all(b"1").unwrap();
            assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
        create_regular(&at("link")).unwrap_err();
        open_or_create(&at("link")).unwrap().write_all(b" and more").unwrap();
        let mut text = String::new();
        open_regular(&at("link")).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "content and more");
        create_regular(&at("file")).unwrap();
        assert_eq!(fs::read(at("file")).unwrap(), b"");
    }

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
