//! Makes an archive, while gateways serve.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use authoring::output::{print_json, remark};
use connector_gateway::Config;
use flate2::Compression;
use flate2::write::GzEncoder;
use humantime::format_rfc3339_seconds;
use serde_json::json;
use store::Store;
use store::digest::Sha256Reader;
use store::vault::Vault;
use tar::{Builder, EntryType, Header};
use tempfile::{NamedTempFile, TempDir};

use super::archive::{CONFIGURATION, DATA_FOLDERS, DATABASE, FORMAT, FileRecord, MANIFEST, MASTER_KEY, Manifest};
use super::{BackupArguments, BackupError, configuration_file};

type Archive = Builder<GzEncoder<File>>;

/// Makes the archive.
///
/// # Errors
/// See [`BackupError`].
pub(crate) async fn make(
    arguments: &BackupArguments,
    config: &Config,
    named_configuration: Option<&Path>,
) -> Result<(), BackupError> {
    let settings = config.store();
    if settings.database_url.is_some() {
        return Err(BackupError::BackupPostgres);
    }
    if !settings.is_there() {
        return Err(BackupError::NoDatabase(config.data_dir.clone()));
    }
    let file = arguments.file.clone();
    if fs::symlink_metadata(&file).is_ok() {
        return Err(BackupError::Exists(file));
    }
    let folder = match file.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    let scratch = TempDir::new_in(&folder).map_err(BackupError::of_file(&folder))?;
    let copy = scratch.path().join("gateway.db");
    let store = Store::connect(&settings).await?;
    store.database().copy_to(&copy).await?;
    // From the copy, because a rotation of the master key may be in progress.
    let master_keys = Vault::needed_master_keys(&Store::open(scratch.path()).await?).await?;
    let contents = Contents {
        configuration: configuration_file(named_configuration),
        database: copy,
        data_dir: config.data_dir.clone(),
        modules_dir: config.modules_dir.clone(),
        master_key: arguments.with_master_key.then(|| config.master_key_path()),
        master_keys,
    };
    // The archive is written next to the copy, so that a command that a signal stops removes both.
    let (unfinished, target) = (scratch.path().to_owned(), file.clone());
    let written = tokio::task::spawn_blocking(move || contents.write(&unfinished, &target)).await;
    let manifest = written.map_err(io::Error::other)??;
    let needed = manifest.master_keys.join(" and ");
    let key = match manifest.files.contains_key(MASTER_KEY) {
        true => format!("The master key {needed} is in it: everyone who can read the file can read all secrets."),
        false => format!("Keep the master key {needed} apart from it: without the key, the secrets cannot be read."),
    };
    remark(format_args!("Backed up {} files to {}. {key}", manifest.files.len(), file.display()));
    print_json(json!({"file": file, "files": manifest.files.len(), "master_keys": manifest.master_keys}))?;
    Ok(())
}

/// The files of an archive that is made.
struct Contents {
    configuration: Option<PathBuf>,
    /// A copy of the database.
    database: PathBuf,
    data_dir: PathBuf,
    modules_dir: PathBuf,
    /// `None` if the master key is left out.
    master_key: Option<PathBuf>,
    master_keys: Vec<String>,
}

impl Contents {
    /// Writes the archive in a folder, and then gives it its name. Only its owner can read it, and a
    /// file that exists is not replaced.
    fn write(self, folder: &Path, target: &Path) -> Result<Manifest, BackupError> {
        let temporary = NamedTempFile::new_in(folder).map_err(BackupError::of_file(folder))?;
        let out = temporary.reopen().map_err(BackupError::of_file(target))?;
        let mut archive = Builder::new(GzEncoder::new(out, Compression::default()));
        let mut manifest = Manifest {
            format: FORMAT,
            gateway_version: env!("CARGO_PKG_VERSION").to_owned(),
            made_at: format_rfc3339_seconds(SystemTime::now()).to_string(),
            master_keys: self.master_keys,
            files: BTreeMap::new(),
        };
        if let Some(path) = &self.configuration {
            add(&mut archive, &mut manifest, CONFIGURATION, path)?;
        }
        add(&mut archive, &mut manifest, DATABASE, &self.database)?;
        for name in DATA_FOLDERS {
            add_folder(&mut archive, &mut manifest, &format!("data/{name}"), &self.data_dir.join(name))?;
        }
        add_modules(&mut archive, &mut manifest, &self.modules_dir)?;
        if let Some(path) = &self.master_key {
            add(&mut archive, &mut manifest, MASTER_KEY, path)?;
        }
        let finish = || {
            let text = serde_json::to_vec_pretty(&manifest)?;
            archive.append_data(&mut header(text.len() as u64, SystemTime::now()), MANIFEST, text.as_slice())?;
            let mut out = archive.into_inner()?.finish()?;
            out.flush()?;
            out.sync_all()
        };
        finish().map_err(BackupError::of_file(target))?;
        match temporary.persist_noclobber(target) {
            Ok(_) => Ok(manifest),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                Err(BackupError::Exists(target.to_owned()))
            }
            Err(error) => Err(BackupError::of_file(target)(error.error)),
        }
    }
}

fn header(size: u64, modified: SystemTime) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Regular);
    header.set_mode(0o600);
    header.set_size(size);
    // The order of the versions of a module is the order of these times.
    header.set_mtime(modified.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs());
    header
}

/// Adds a file. One that is removed in the meantime is left out.
fn add(archive: &mut Archive, manifest: &mut Manifest, name: &str, path: &Path) -> Result<(), BackupError> {
    let file = match files::open_regular(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened.map_err(BackupError::of_file(path))?,
    };
    let add = || {
        let metadata = file.metadata()?;
        let size = metadata.len();
        let mut content = Sha256Reader::new(file.take(size));
        archive.append_data(&mut header(size, metadata.modified()?), name, &mut content)?;
        let (read, sha256) = content.finish();
        match read == size {
            true => Ok(FileRecord { size, sha256 }),
            false => Err(io::Error::other("it became shorter while it was read; run the command again")),
        }
    };
    let record = add().map_err(BackupError::of_file(path))?;
    manifest.files.insert(name.to_owned(), record);
    Ok(())
}

/// Adds the regular files of a folder and of the folders in it.
fn add_folder(archive: &mut Archive, manifest: &mut Manifest, name: &str, folder: &Path) -> Result<(), BackupError> {
    for (entry, is_folder) in entries(folder)? {
        let (name, path) = (format!("{name}/{entry}"), folder.join(&entry));
        match is_folder {
            true => add_folder(archive, manifest, &name, &path)?,
            false => add(archive, manifest, &name, &path)?,
        }
    }
    Ok(())
}

/// Adds the files of `modules_dir`.
fn add_modules(archive: &mut Archive, manifest: &mut Manifest, folder: &Path) -> Result<(), BackupError> {
    for (entry, is_folder) in entries(folder)? {
        if !is_folder {
            add(archive, manifest, &format!("modules/{entry}"), &folder.join(&entry))?;
        }
    }
    Ok(())
}

/// The names of the regular files and of the folders in a folder, sorted. The flag says that it is
/// a folder. Files that are being written, whose names begin with a dot, and links are left out.
/// Empty if there is no such folder.
fn entries(folder: &Path) -> Result<Vec<(String, bool)>, BackupError> {
    let failed = BackupError::of_file(folder);
    let listed = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        listed => listed.and_then(Iterator::collect::<io::Result<Vec<_>>>),
    };
    let mut found = Vec::new();
    for entry in listed.map_err(failed)? {
        let kind = match entry.file_type() {
            // It was removed in the meantime.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            kind => kind.map_err(BackupError::of_file(folder))?,
        };
        if let Ok(name) = entry.file_name().into_string()
            && !name.starts_with('.')
            && (kind.is_file() || kind.is_dir())
        {
            found.push((name, kind.is_dir()));
        }
    }
    found.sort_unstable();
    Ok(found)
}
