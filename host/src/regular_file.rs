//! Opens files in folders that other users may write to. No other code opens a file of
//! `modules_dir`, `shipped_dir` or the stored versions: `make lint` checks it.
//!
//! - A named pipe or a device never makes the gateway wait: a file is opened without blocking, and
//!   the open descriptor must be a regular file.
//! - A symbolic link is followed if it leads to a file in the same folder or below it, as the links
//!   of a Kubernetes volume do. The folder itself may be a link. No link leads out of the folder.
//! - A read has a limit, and [`read`] runs on a thread for blocking work.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, open as open_folder, openat2};
use rustix::io::Errno;

/// Opens a regular file for reading.
///
/// # Errors
/// Fails with [`io::ErrorKind::InvalidInput`] and a sentence without a full stop if the file is not
/// regular or its link leads elsewhere, and with the errors of the operating system.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let file = open_inside(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
    regular(&file.metadata()?)?;
    Ok(file)
}

/// The metadata of a regular file. The file is not opened for reading.
///
/// # Errors
/// As [`open`].
pub(crate) fn metadata(path: &Path) -> io::Result<Metadata> {
    let metadata = open_inside(path, OFlags::PATH)?.metadata()?;
    regular(&metadata)?;
    Ok(metadata)
}

/// Reads a regular file on a thread for blocking work. A file with more than `limit` bytes is cut
/// there.
///
/// # Errors
/// As [`open`].
pub(crate) async fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let path = path.to_owned();
    tokio::task::spawn_blocking(move || read_now(&path, limit)).await.map_err(io::Error::other)?
}

/// As [`read`], on the current thread. This is for short files.
///
/// # Errors
/// As [`open`].
pub(crate) fn read_now(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    open(path)?.take(limit).read_to_end(&mut content)?;
    Ok(content)
}

fn regular(metadata: &Metadata) -> io::Result<()> {
    if metadata.is_file() { Ok(()) } else { Err(refused("it is not a regular file; replace it by one")) }
}

/// Opens a file below its folder.
fn open_inside(path: &Path, flags: OFlags) -> io::Result<File> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(refused("it is not a regular file; replace it by one"));
    };
    let folder = if folder == Path::new("") { Path::new(".") } else { folder };
    let flags = flags | OFlags::CLOEXEC;
    let inside = open_folder(folder, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let opened = openat2(&inside, name, flags, Mode::empty(), ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS);
    match opened {
        Ok(file) => Ok(File::from(file)),
        Err(Errno::NOSYS | Errno::PERM) => open_resolved(folder, path, flags),
        Err(error) => Err(reason(error)),
    }
}

/// As [`open_inside`], for kernels and sandboxes without the call `openat2`. A folder that is
/// exchanged for a link between the two steps is not noticed.
fn open_resolved(folder: &Path, path: &Path, flags: OFlags) -> io::Result<File> {
    let resolved = fs::canonicalize(path).map_err(|error| match error.raw_os_error() {
        Some(code) => reason(Errno::from_raw_os_error(code)),
        None => error,
    })?;
    if !resolved.starts_with(fs::canonicalize(folder)?) {
        return Err(reason(Errno::XDEV));
    }
    let file = rustix::fs::openat(CWD, &resolved, flags | OFlags::NOFOLLOW, Mode::empty()).map_err(reason)?;
    Ok(File::from(file))
}

fn reason(error: Errno) -> io::Error {
    match error {
        Errno::XDEV => refused("it is a symbolic link that leads out of its folder; put the file itself there"),
        Errno::LOOP => refused("its symbolic links lead in a circle; put the file itself there"),
        // A socket, or a device without a driver.
        Errno::NXIO | Errno::NODEV => refused("it is not a regular file; replace it by one"),
        error => error.into(),
    }
}

fn refused(reason: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}

#[cfg(test)]
mod tests;
