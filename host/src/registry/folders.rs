//! The two folders of modules.
//!
//! `shipped_dir` has the modules that came with the gateway, which only reads it. `modules_dir` has all others, which are foreign.
//! A foreign module takes the identifier of a shipped one only if the operator put it in that one's place. The record of this is
//! in `data_dir`, because other users may be allowed to write to `modules_dir`. It has the digest of the module, so that it does
//! not hold for another file of the same name.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::trust;
use super::versions::Versions;
use crate::config::Config;

/// The name of the folder beside the binary that `shipped_dir` is by default.
const BESIDE_THE_BINARY: &str = "connectors";

/// The folder in `data_dir` with the digests of accepted versions.
const ACCEPTED: &str = "accepted";

/// The origin of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Origin {
    /// `shipped_dir`.
    Shipped,
    /// `modules_dir`.
    Foreign,
}

/// The state of a file when the registry last looked, to notice that it changed.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) origin: Origin,
    pub(super) length: u64,
    modified: SystemTime,
    inode: u64,
    /// The same of the file with its signature.
    signature: Option<(u64, SystemTime, u64)>,
    /// `true` if a shipped connector has the identifier, and no module was put in its place.
    reserved: bool,
}

impl Seen {
    /// The state of a file that stands for a connector.
    pub(super) fn now(path: &Path, origin: Origin) -> io::Result<Self> {
        Self::of(path, &fs::metadata(path)?, origin)
    }

    fn of(path: &Path, metadata: &fs::Metadata, origin: Origin) -> io::Result<Self> {
        let state =
            |metadata: &fs::Metadata| Ok::<_, io::Error>((metadata.len(), metadata.modified()?, metadata.ino()));
        let (length, modified, inode) = state(metadata)?;
        let signature = match origin {
            Origin::Shipped => None,
            Origin::Foreign => fs::metadata(trust::file(path)).ok().map(|metadata| state(&metadata)).transpose()?,
        };
        Ok(Self { origin, length, modified, inode, signature, reserved: false })
    }
}

/// The folders.
pub(super) struct Folders {
    /// `None` if nothing came with the gateway.
    shipped: Option<PathBuf>,
    modules: PathBuf,
    /// Has a file for each shipped connector in whose place a module was put, with the digest of that module.
    replacements: PathBuf,
    /// Has a file for each foreign connector, with the digest of the version that the operator accepted.
    accepted: PathBuf,
}

impl Folders {
    /// # Errors
    /// If a configured folder is missing, both are the same, or the folder of the records cannot be created.
    pub(super) fn open(config: &Config) -> io::Result<Self> {
        let modules = config.modules_dir.clone();
        if modules == Config::default().modules_dir {
            fs::create_dir_all(&modules).map_err(|error| unmade(&modules, &error))?;
        }
        if !modules.is_dir() {
            return Err(missing(&modules, "make it, or set `modules_dir` to the folder of your modules"));
        }
        let shipped = match &config.shipped_dir {
            Some(folder) if !folder.is_dir() => {
                return Err(missing(
                    folder,
                    "set `shipped_dir` to the folder of the modules that came with the gateway",
                ));
            }
            Some(folder) => Some(folder.clone()),
            None => beside_the_binary(),
        };
        if let Some(shipped) = &shipped
            && fs::canonicalize(shipped)? == fs::canonicalize(&modules)?
        {
            let problem = format!(
                "`shipped_dir` and `modules_dir` are the same folder, `{}`; give modules from others a folder of their own",
                modules.display()
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        let replacements = config.data_dir.join("replacements");
        let accepted = config.data_dir.join(ACCEPTED);
        fs::create_dir_all(&replacements)?;
        fs::create_dir_all(&accepted)?;
        Ok(Self { shipped, modules, replacements, accepted })
    }

    /// The folders that modules are read from.
    pub(super) fn all(&self) -> impl Iterator<Item = &Path> {
        self.shipped.iter().chain([&self.modules]).map(PathBuf::as_path)
    }

    /// The place of a foreign module.
    pub(super) fn foreign(&self, identifier: &str) -> PathBuf {
        self.modules.join(format!("{identifier}.wasm"))
    }

    /// The file of a shipped module. `None` if there is none of this identifier.
    pub(super) fn shipped(&self, identifier: &str) -> Option<PathBuf> {
        let path = self.shipped.as_ref()?.join(format!("{identifier}.wasm"));
        path.is_file().then_some(path)
    }

    /// The file that a module of this origin is read from. `None` if it is missing.
    pub(super) fn file(&self, origin: Origin, identifier: &str) -> Option<PathBuf> {
        match origin {
            Origin::Shipped => self.shipped(identifier),
            Origin::Foreign => Some(self.foreign(identifier)).filter(|path| path.is_file()),
        }
    }

    /// Checks that a foreign module may have this identifier: no shipped connector has it, or the operator put this module in its
    /// place.
    ///
    /// # Errors
    /// A sentence without a full stop that says what to do.
    pub(super) fn permit(&self, identifier: &str, digest: &str) -> Result<(), String> {
        if self.shipped(identifier).is_none() || self.replacement(identifier).as_deref() == Some(digest) {
            return Ok(());
        }
        Err(format!(
            "its identifier `{identifier}` is that of a connector that came with the gateway; give it another identifier, or put \
             it in that one's place with `connector-gateway connectors add --replace-shipped FILE`"
        ))
    }

    /// Records that a module takes the place of the shipped connector of this identifier.
    pub(super) fn replace(&self, identifier: &str, digest: &str) -> io::Result<()> {
        files::write_atomically(&self.replacements.join(identifier), |file| file.write_all(digest.as_bytes()))
    }

    /// Records that the operator has accepted a version of a foreign connector.
    pub(super) fn accept(&self, identifier: &str, digest: &str) -> io::Result<()> {
        files::write_atomically(&self.accepted.join(identifier), |file| file.write_all(digest.as_bytes()))
    }

    /// The digest of the version that the operator accepted last.
    pub(super) fn accepted(&self, identifier: &str) -> Option<String> {
        fs::read_to_string(self.accepted.join(identifier)).ok()
    }

    /// Writes the file of a foreign module, with its signature beside it.
    pub(super) fn write(&self, identifier: &str, module: &[u8], signature: Option<&str>) -> io::Result<PathBuf> {
        let path = self.foreign(identifier);
        // Before the module, because a running gateway may refuse a module without it.
        match signature {
            Some(text) => files::write_atomically(&trust::file(&path), |file| file.write_all(text.as_bytes()))?,
            None => remove_file(&trust::file(&path))?,
        }
        files::write_atomically(&path, |file| file.write_all(module))?;
        Ok(path)
    }

    /// Removes a foreign module, its signature, and the records that it takes a shipped one's place and that it was accepted.
    pub(super) fn remove(&self, identifier: &str) -> io::Result<()> {
        let module = self.foreign(identifier);
        let signature = trust::file(&module);
        for path in [module, signature, self.replacements.join(identifier), self.accepted.join(identifier)] {
            remove_file(&path)?;
        }
        Ok(())
    }

    /// The digest of the module that was put in the place of a shipped one.
    fn replacement(&self, identifier: &str) -> Option<String> {
        fs::read_to_string(self.replacements.join(identifier)).ok()
    }

    /// The files that stand for connectors. A shipped module that another one replaces is not among them.
    ///
    /// # Errors
    /// If a folder cannot be read.
    pub(super) fn list(&self) -> io::Result<HashMap<PathBuf, Seen>> {
        let mut found = list(&self.modules, Origin::Foreign)?;
        let Some(shipped) = &self.shipped else { return Ok(found) };
        for (path, seen) in list(shipped, Origin::Shipped)? {
            let identifier = identifier_of(&path).to_owned();
            match found.get_mut(&self.foreign(&identifier)) {
                Some(_) if self.replacement(&identifier).is_some() => continue,
                Some(foreign) => foreign.reserved = true,
                None => {}
            }
            found.insert(path, seen);
        }
        Ok(found)
    }
}

/// The file of the version of a connector that a gateway with this configuration serves: the version that the operator has accepted
/// last, else the one in a folder of modules. `None` if there is none. Nothing is created.
pub fn present_module(config: &Config, identifier: &str) -> Option<PathBuf> {
    let file = format!("{identifier}.wasm");
    let foreign = config.modules_dir.join(&file);
    if foreign.is_file() {
        let accepted = fs::read_to_string(config.data_dir.join(ACCEPTED).join(identifier)).ok();
        let accepted = accepted.map(|digest| Versions::at(&config.data_dir).file(identifier, Origin::Foreign, &digest));
        return Some(accepted.filter(|path| path.is_file()).unwrap_or(foreign));
    }
    let shipped = config.shipped_dir.clone().or_else(beside_the_binary)?.join(file);
    shipped.is_file().then_some(shipped)
}

/// Removes a file if it is there.
pub(super) fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The identifier that the name of a file gives.
pub(super) fn identifier_of(path: &Path) -> &str {
    path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default()
}

/// The default of `shipped_dir`. `None` if it is missing: then the gateway was installed without connectors.
fn beside_the_binary() -> Option<PathBuf> {
    let folder = std::env::current_exe().ok()?.with_file_name(BESIDE_THE_BINARY);
    if !folder.is_dir() {
        tracing::info!(
            folder = %folder.display(),
            "no connectors came with this gateway; it serves those in `modules_dir` only"
        );
        return None;
    }
    Some(folder)
}

fn missing(folder: &Path, advice: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("the folder `{}` does not exist; {advice}", folder.display()))
}

fn unmade(folder: &Path, error: &io::Error) -> io::Error {
    let problem = format!("the folder `{}` cannot be made: {error}; set `modules_dir`", folder.display());
    io::Error::new(error.kind(), problem)
}

/// The modules of a folder. Hidden files are ignored, because programs use such names for incomplete files.
fn list(folder: &Path, origin: Origin) -> io::Result<HashMap<PathBuf, Seen>> {
    let unreadable = |error: io::Error| {
        io::Error::new(error.kind(), format!("the folder `{}` cannot be read: {error}", folder.display()))
    };
    let mut found = HashMap::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry?.path();
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if hidden || path.extension().is_none_or(|extension| extension != "wasm") {
            continue;
        }
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_file() => {
                let seen = Seen::of(&path, &metadata, origin)?;
                found.insert(path, seen);
            }
            Ok(_) => {}
            // The file was removed after the folder was read.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}
