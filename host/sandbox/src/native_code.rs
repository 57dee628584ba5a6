//! Native code in memory.
//!
//! The code of a module is mapped from a file that has no name. The operating system then reads
//! only the pages that run, and may drop them when memory is short. The file is a copy: a file of
//! the cache can be opened by others, who could change it after its check.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use wasmtime::Engine;
use wasmtime::component::Component;

/// Loads a compiled module. `folder` is on the file system for its copy.
///
/// # Errors
/// If another version of the engine, or one with other settings, compiled the module.
pub(super) fn load(engine: &Engine, artifact: &[u8], folder: &Path) -> wasmtime::Result<Component> {
    match file_without_name(artifact, folder) {
        Ok((_file, path)) => from_file(engine, &path),
        Err(error) => {
            tracing::debug!(%error, "the code of a module is held in memory, because it cannot be mapped from a file");
            from_bytes(engine, artifact)
        }
    }
}

/// Writes a file that no other process can open. Returns it with the path by which this process
/// opens it again. Some file systems have no such files.
fn file_without_name(content: &[u8], folder: &Path) -> io::Result<(File, PathBuf)> {
    let flags = OFlags::TMPFILE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::open(folder, flags, Mode::RUSR | Mode::WUSR)?);
    file.write_all(content)?;
    let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    // Fails where `/proc` is not mounted.
    path.metadata()?;
    Ok((file, path))
}

#[expect(unsafe_code, reason = "wasmtime cannot check that its compiler made the native code")]
fn from_file(engine: &Engine, path: &Path) -> wasmtime::Result<Component> {
    // SAFETY: the file has the bytes that the caller of `load` has checked, as below. It has no
    // name, so no other process changes it.
    unsafe { Component::deserialize_file(engine, path) }
}

#[expect(unsafe_code, reason = "wasmtime cannot check that its compiler made the native code")]
fn from_bytes(engine: &Engine, artifact: &[u8]) -> wasmtime::Result<Component> {
    // SAFETY: the bytes come from the compiler process that `Sandbox::compile` ran, or from the
    // cache, which returns only files with a message authentication code of the gateway's key.
    unsafe { Component::deserialize(engine, artifact) }
}
