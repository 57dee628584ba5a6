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
use rustix::mm::{Advice, madvise};
use wasmtime::Engine;
use wasmtime::component::Component;

/// A module that is loaded.
pub(super) struct NativeCode {
    pub(super) component: Component,
    /// `false` if the code is held in memory.
    is_mapped: bool,
}

impl NativeCode {
    /// Loads a compiled module. `folder` is on the file system for its copy.
    ///
    /// # Errors
    /// If another version of the engine, or one with other settings, compiled the module.
    pub(super) fn load(engine: &Engine, artifact: &[u8], folder: &Path) -> wasmtime::Result<Self> {
        match file_without_name(artifact, folder) {
            Ok((_file, path)) => Ok(Self { component: from_file(engine, &path)?, is_mapped: true }),
            Err(error) => {
                tracing::debug!(%error, "the code of a module is held in memory, because it cannot be mapped from a file");
                Ok(Self { component: from_bytes(engine, artifact)?, is_mapped: false })
            }
        }
    }

    /// Gives back the memory of the code until it runs again. A gateway may have many connectors
    /// that are seldom called, and `describe` has run most of their code.
    #[expect(unsafe_code, reason = "wasmtime has no function for it")]
    pub(super) fn release(&self) {
        if !self.is_mapped {
            return;
        }
        let image = self.component.image_range();
        let length = image.end.addr() - image.start.addr();
        // SAFETY: the image is the whole mapping of a file. Nothing has written to its pages: wasmtime
        // refuses files whose code it would have to change, and maps them for reading only. So the
        // pages have the content of the file, and this thread or another one reads them from there
        // again.
        if let Err(error) = unsafe { madvise(image.start.cast_mut().cast(), length, Advice::LinuxDontNeed) } {
            tracing::debug!(%error, "the memory of a module's code is not given back");
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
