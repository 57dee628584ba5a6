//! The two folders of modules.
//!
//! `shipped_dir` has the modules that came with the gateway. The gateway only reads this folder.
//! `modules_dir` has all other modules, which are foreign. A foreign module may replace the shipped
//! connector of its identifier only if the operator says so. The mark of the replacement is in
//! `data_dir`, because other users may be allowed to write to `modules_dir`. The mark has the
//! digest of the module, so that it does not hold for another file of the same name.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use parking_lot::Mutex;

use super::files::FileState;
use super::module_file::read_mark;
use super::origin::Origin;
use super::record::Record;
use super::trust;
use config::Config;

/// The folders are read at this interval, for network file systems without change notifications,
/// and for modules that could not be checked before.
pub(super) const POLL: Duration = Duration::from_secs(10);

/// The default of `shipped_dir`: a folder of this name next to the binary.
const DEFAULT_SHIPPED_DIR: &str = "connectors";

/// The folder in `data_dir` with the digests of accepted versions.
pub(super) const ACCEPTED: &str = "accepted";

/// The folders of modules, and the folders of the operator's marks.
pub(super) struct Folders {
    /// `None` if the gateway was installed without connectors.
    shipped: Option<PathBuf>,
    modules: PathBuf,
    /// Has a file for each shipped connector that the operator replaced, with the digest of the
    /// module that replaces it.
    replacements: PathBuf,
    /// Has a file for each foreign connector, with the digest of the version that the operator
    /// accepted.
    accepted: PathBuf,
}

impl Folders {
    /// # Errors
    /// If a configured folder is missing, if both are the same, or if a folder of marks cannot be
    /// created.
    pub(super) fn open(config: &Config) -> io::Result<Self> {
        let modules = config.modules_dir.clone();
        if modules == Config::default().modules_dir {
            fs::create_dir_all(&modules).map_err(|error| not_created(&modules, &error))?;
        }
        if !modules.is_dir() {
            return Err(missing(&modules, "create it, or set `modules_dir` to the folder of your modules"));
        }
        let shipped = match &config.shipped_dir {
            Some(folder) if !folder.is_dir() => {
                return Err(missing(
                    folder,
                    "set `shipped_dir` to the folder of the modules that came with the gateway",
                ));
            }
            Some(folder) => Some(folder.clone()),
            None => default_shipped_dir(),
        };
        if let Some(shipped) = &shipped
            && fs::canonicalize(shipped)? == fs::canonicalize(&modules)?
        {
            let problem = format!(
                "`shipped_dir` and `modules_dir` are the same folder, `{}`; use another folder for foreign modules",
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

    /// The path of a foreign module. The file may be missing.
    pub(super) fn foreign(&self, identifier: &str) -> PathBuf {
        self.modules.join(format!("{identifier}.wasm"))
    }

    /// The file of a shipped module. `None` if no shipped connector has this identifier.
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

    /// Checks that a module may have this identifier. A foreign module may not have the identifier
    /// of a shipped connector, unless the operator replaced the connector with this module.
    ///
    /// # Errors
    /// A sentence without a full stop that says what to do.
    pub(super) fn check_identifier(&self, origin: Origin, identifier: &str, digest: &str) -> Result<(), String> {
        let is_free = origin == Origin::Shipped || self.shipped(identifier).is_none();
        if is_free || self.replacement(identifier).as_deref() == Some(digest) {
            return Ok(());
        }
        Err(format!(
            "its identifier `{identifier}` belongs to a connector that came with the gateway; choose another identifier, \
             or replace that connector with `connector-gateway connectors add --replace-shipped FILE`"
        ))
    }

    /// The digest of the version that the operator accepted last.
    pub(super) fn accepted(&self, identifier: &str) -> Option<String> {
        read_mark(&self.accepted.join(identifier))
    }

    /// Marks a version of a foreign connector as accepted by the operator.
    pub(super) fn accept(&self, record: &Record<'_>) -> io::Result<()> {
        mark(&self.accepted, record)
    }

    /// Writes all that the next start needs to make a foreign module live. Returns the path of the
    /// module.
    ///
    /// # Errors
    /// If a file cannot be written. Marks, signature and module are then still the
    /// previous ones.
    pub(super) fn keep(&self, record: &Record<'_>) -> io::Result<PathBuf> {
        let path = self.foreign(record.identifier);
        let [replacement, accepted] = [&self.replacements, &self.accepted].map(|marks| marks.join(record.identifier));
        let previous = [replacement, accepted, trust::file(&path)].map(|file| (read_mark(&file), file));
        let written = self.write(record, &path);
        if written.is_err() {
            for (content, file) in previous {
                // The caller gets the first error.
                let _ = match content {
                    Some(content) => files::write_atomically(&file, |file| file.write_all(content.as_bytes())),
                    None => remove_file(&file),
                };
            }
        }
        written.map(|()| path)
    }

    /// Writes marks, signature and module. The module comes last, because a running gateway may
    /// refuse a file whose marks or signature are missing.
    fn write(&self, record: &Record<'_>, path: &Path) -> io::Result<()> {
        if self.shipped(record.identifier).is_some() {
            mark(&self.replacements, record)?;
        }
        self.accept(record)?;
        match record.signature {
            Some(text) => files::write_atomically(&trust::file(path), |file| file.write_all(text.as_bytes()))?,
            None => remove_file(&trust::file(path))?,
        }
        files::write_atomically(path, |file| file.write_all(record.module))
    }

    /// Removes a foreign module, its signature and its marks.
    pub(super) fn remove(&self, identifier: &str) -> io::Result<()> {
        let module = self.foreign(identifier);
        let signature = trust::file(&module);
        for path in [module, signature, self.replacements.join(identifier), self.accepted.join(identifier)] {
            remove_file(&path)?;
        }
        Ok(())
    }

    /// The digest of the module that replaces a shipped connector.
    fn replacement(&self, identifier: &str) -> Option<String> {
        read_mark(&self.replacements.join(identifier))
    }

    /// The files of all connectors. Shipped modules that the operator replaced are left out.
    ///
    /// # Errors
    /// If a folder cannot be read.
    pub(super) fn list(&self) -> io::Result<HashMap<PathBuf, FileState>> {
        let mut found = list(&self.modules, Origin::Foreign)?;
        let Some(shipped) = &self.shipped else { return Ok(found) };
        for (path, state) in list(shipped, Origin::Shipped)? {
            let identifier = identifier_of(&path).to_owned();
            match found.get_mut(&self.foreign(&identifier)) {
                Some(_) if self.replacement(&identifier).is_some() => continue,
                Some(foreign) => foreign.reserved = true,
                None => {}
            }
            found.insert(path, state);
        }
        Ok(found)
    }
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

/// The default of `shipped_dir`. `None` if the folder is missing, because the gateway was installed
/// without connectors.
pub(super) fn default_shipped_dir() -> Option<PathBuf> {
    let folder = std::env::current_exe().ok()?.with_file_name(DEFAULT_SHIPPED_DIR);
    if !folder.is_dir() {
        tracing::info!(
            folder = %folder.display(),
            "no connectors came with this gateway; it serves only those in `modules_dir`"
        );
        return None;
    }
    Some(folder)
}

fn missing(folder: &Path, advice: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("the folder `{}` does not exist; {advice}", folder.display()))
}

fn not_created(folder: &Path, error: &io::Error) -> io::Error {
    let problem = format!("the folder `{}` cannot be created: {error}; set `modules_dir`", folder.display());
    io::Error::new(error.kind(), problem)
}

/// The modules of a folder. Hidden files are ignored, because programs use such names for
/// incomplete files. An entry that cannot be examined is left out, with a line of the log: it must
/// not keep the other modules from loading.
fn list(folder: &Path, origin: Origin) -> io::Result<HashMap<PathBuf, FileState>> {
    let unreadable = |error: io::Error| {
        io::Error::new(error.kind(), format!("the folder `{}` cannot be read: {error}", folder.display()))
    };
    let mut found = HashMap::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if hidden || path.extension().is_none_or(|extension| extension != "wasm") {
            continue;
        }
        let state = fs::metadata(&path).and_then(|metadata| match metadata.is_file() {
            true => FileState::from_metadata(&path, &metadata, origin),
            false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
        });
        match state {
            Ok(state) => {
                found.insert(path, state);
            }
            // The file was removed after the folder was read.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => note_unusable(&path, &error),
        }
    }
    Ok(found)
}

/// Logs an entry of a folder that cannot be a module, once for each path: the folders are read
/// again and again.
fn note_unusable(path: &Path, error: &io::Error) {
    static NOTED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    const MAX_NOTED: usize = 1000;
    let mut noted = NOTED.lock();
    if noted.len() < MAX_NOTED && noted.insert(path.to_owned()) {
        tracing::warn!(file = %path.display(), %error, "an entry of a folder of modules is ignored");
    }
}

/// Writes the digest of a module to the file of its connector in a folder of marks.
fn mark(folder: &Path, record: &Record<'_>) -> io::Result<()> {
    files::write_atomically(&folder.join(record.identifier), |file| file.write_all(record.digest.as_bytes()))
}
