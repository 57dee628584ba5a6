//! Restores an archive into empty folders.
//!
//! The configuration of this machine alone says where files are written. The one of the archive is
//! restored as a file that the gateway does not read: an archive from elsewhere could otherwise
//! write anywhere. No file is replaced.
//!
//! The archive is read twice. The first time checks all digests and writes nothing. The second time
//! writes the files into a folder in `data_dir`, from which they are moved once the database is
//! prepared. The database is moved last: without it, there is no gateway in the folder.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use authoring::output::{print_json, remark};
use connector_gateway::Config;
use flate2::read::GzDecoder;
use serde_json::json;
use store::digest::Sha256Reader;
use store::vault::Vault;
use store::{Restored, Store};
use tar::Archive;
use tempfile::TempDir;

use super::archive::{
    CONFIGURATION, DATABASE, FORMAT, FileRecord, MANIFEST, MASTER_KEY, MAX_MANIFEST_BYTES, Manifest, is_known,
};
use super::{BackupError, RestoreArguments};

/// The name of the archive's configuration file in `data_dir`.
const RESTORED_CONFIGURATION: &str = "restored-gateway.toml";

/// Restores the archive, or prepares a database that other tools restored.
///
/// # Errors
/// See [`BackupError`].
pub(crate) async fn restore(arguments: &RestoreArguments, config: Config) -> Result<(), BackupError> {
    let Some(file) = arguments.file.clone() else { return prepare_database(&config).await };
    let checked = file.clone();
    let checked = tokio::task::spawn_blocking(move || check(&checked)).await;
    let (manifest, configuration) = checked.map_err(io::Error::other)??;
    if config.store().database_url.is_some() {
        return Err(BackupError::RestorePostgres);
    }
    let scratch = empty_folders(&config, &manifest)?;
    let (extracted, archive) = (scratch.path().to_owned(), file.clone());
    let extracting = tokio::task::spawn_blocking(move || extract(&archive, &extracted)).await;
    extracting.map_err(io::Error::other)??;
    let prepared = prepare(&scratch.path().join("data"), &format!("the backup of {}", manifest.made_at)).await?;
    move_into_place(scratch.path(), &config, configuration.as_deref())?;
    if configuration.is_some() {
        remark(format_args!(
            "The configuration of the backup is at {}. The gateway does not read it: compare it with the one of this machine.",
            config.data_dir.join(RESTORED_CONFIGURATION).display()
        ));
    }
    let key = master_key(&config, &manifest).await?;
    remark(format_args!("Restored {} files of the backup of {}. {key}", manifest.files.len(), manifest.made_at));
    report(prepared, &manifest.master_keys)
}

/// Prepares the database of the configuration.
async fn prepare_database(config: &Config) -> Result<(), BackupError> {
    let settings = config.store();
    if !settings.is_there() {
        return Err(BackupError::NoDatabase(config.data_dir.clone()));
    }
    let store = Store::connect(&settings).await?;
    let prepared = store.prepare_restored("a backup of the database server").await?;
    report(prepared, &Vault::needed_master_keys(&store).await?)
}

fn report(prepared: Restored, master_keys: &[String]) -> Result<(), BackupError> {
    let Restored { accounts, cut_off_jobs } = prepared;
    remark(format_args!(
        "The next start refreshes the tokens of {accounts} accounts. A provider refuses a refresh token that was used since the backup; \
         `connector-gateway integrations list --status expired` then lists the account, and its user connects it again. \
         {cut_off_jobs} jobs that change data had not ended. They may have run since, and fail with an unknown outcome."
    ));
    print_json(json!({"accounts": accounts, "cut_off_jobs": cut_off_jobs, "master_keys": master_keys}))?;
    Ok(())
}

fn refused(file: &Path, reason: impl Into<String>) -> BackupError {
    BackupError::Archive { file: file.to_owned(), reason: reason.into() }
}

fn open(file: &Path) -> Result<Archive<GzDecoder<File>>, BackupError> {
    let opened = files::open_regular(file).map_err(BackupError::of_file(file))?;
    Ok(Archive::new(GzDecoder::new(opened)))
}

/// Calls `with` for each entry of an archive, with its path and the time of its last change.
fn each_entry(
    file: &Path,
    mut with: impl FnMut(&str, SystemTime, &mut dyn Read) -> Result<(), BackupError>,
) -> Result<(), BackupError> {
    let damaged = |error: io::Error| refused(file, format!("it is damaged or no backup: {error}"));
    for entry in open(file)?.entries().map_err(damaged)? {
        let mut entry = entry.map_err(damaged)?;
        if !entry.header().entry_type().is_file() {
            return Err(refused(file, "it has an entry that is no file"));
        }
        let path = entry.path().map_err(damaged)?.to_string_lossy().into_owned();
        let modified = UNIX_EPOCH + Duration::from_secs(entry.header().mtime().map_err(damaged)?);
        with(&path, modified, &mut entry)?;
    }
    Ok(())
}

/// Checks that the archive is whole. Returns its manifest, and the text of its configuration.
fn check(file: &Path) -> Result<(Manifest, Option<Vec<u8>>), BackupError> {
    let damaged = |error: io::Error| refused(file, format!("it is damaged: {error}"));
    let (mut found, mut manifest, mut configuration) = (BTreeMap::new(), None, None);
    each_entry(file, |path, _, content| {
        if path == MANIFEST {
            let mut text = Vec::new();
            content.take(MAX_MANIFEST_BYTES).read_to_end(&mut text).map_err(damaged)?;
            manifest = Some(text);
            return Ok(());
        }
        if !is_known(path) {
            return Err(refused(file, format!("it has a file `{path}`, which no backup has")));
        }
        let mut content = Sha256Reader::new(content);
        if path == CONFIGURATION {
            let mut text = Vec::new();
            (&mut content).take(MAX_MANIFEST_BYTES).read_to_end(&mut text).map_err(damaged)?;
            configuration = Some(text);
        }
        io::copy(&mut content, &mut io::sink()).map_err(damaged)?;
        let (size, sha256) = content.finish();
        found.insert(path.to_owned(), FileRecord { size, sha256 });
        Ok(())
    })?;
    let manifest =
        manifest.ok_or_else(|| refused(file, format!("it is cut off or no backup: it has no {MANIFEST}")))?;
    let manifest: Manifest = serde_json::from_slice(&manifest)
        .map_err(|error| refused(file, format!("its {MANIFEST} cannot be read: {error}")))?;
    if manifest.format != FORMAT {
        let reason = format!(
            "it has the format {}, and this release knows {FORMAT}; use the release that made it",
            manifest.format
        );
        return Err(refused(file, reason));
    }
    let wrong = manifest.files.iter().find(|(path, record)| found.get(*path) != Some(record));
    if let Some((path, _)) = wrong {
        return Err(refused(file, format!("`{path}` is missing or differs from its digest; use another backup")));
    }
    if let Some(path) = found.keys().find(|path| !manifest.files.contains_key(*path)) {
        return Err(refused(file, format!("`{path}` is not in its {MANIFEST}; use another backup")));
    }
    if !manifest.files.contains_key(DATABASE) {
        return Err(refused(file, "it has no database"));
    }
    Ok((manifest, configuration))
}

/// The place of a file of the archive, or of the folder that it is moved with.
fn target(path: &str, config: &Config) -> PathBuf {
    match path.split('/').collect::<Vec<_>>().as_slice() {
        _ if path == CONFIGURATION => config.data_dir.join(RESTORED_CONFIGURATION),
        _ if path == MASTER_KEY => config.master_key_path(),
        ["modules", name] => config.modules_dir.join(name),
        [_, name, ..] => config.data_dir.join(name),
        _ => config.data_dir.join(path),
    }
}

/// Checks that no gateway is in the folders of the configuration and that nothing is where a file
/// of the archive belongs. Makes a folder for these files.
fn empty_folders(config: &Config, manifest: &Manifest) -> Result<TempDir, BackupError> {
    if config.store().is_there() {
        return Err(BackupError::NotEmpty(config.data_dir.clone()));
    }
    let is_visible = |entry: &fs::DirEntry| !entry.file_name().to_string_lossy().starts_with('.');
    if fs::read_dir(&config.modules_dir).into_iter().flatten().flatten().any(|entry| is_visible(&entry)) {
        return Err(BackupError::NotEmpty(config.modules_dir.clone()));
    }
    for target in manifest.files.keys().map(|path| target(path, config)) {
        // A gateway that has no database yet may have made empty folders.
        let is_empty_folder = fs::read_dir(&target).is_ok_and(|mut entries| entries.next().is_none());
        if fs::symlink_metadata(&target).is_ok() && !is_empty_folder {
            return Err(BackupError::Occupied(target));
        }
    }
    let made = DirBuilder::new().recursive(true).mode(0o700).create(&config.data_dir);
    made.map_err(BackupError::of_file(&config.data_dir))?;
    TempDir::new_in(&config.data_dir).map_err(BackupError::of_file(&config.data_dir))
}

/// Writes the files of an archive into a folder.
fn extract(file: &Path, folder: &Path) -> Result<(), BackupError> {
    each_entry(file, |path, modified, content| {
        // The configuration was read before.
        if !is_known(path) || path == CONFIGURATION {
            return Ok(());
        }
        let target = folder.join(path);
        let mut write = || {
            if let Some(parent) = target.parent() {
                DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
            }
            let mut out = files::create_regular(&target)?;
            io::copy(content, &mut out)?;
            out.set_modified(modified)?;
            out.sync_all()
        };
        write().map_err(BackupError::of_file(&target))
    })
}

/// Prepares the database in a folder. `origin` is for the audit.
async fn prepare(folder: &Path, origin: &str) -> Result<Restored, BackupError> {
    let store = Store::open(folder).await?;
    let prepared = store.prepare_restored(origin).await?;
    store.database().checkpoint_at_end().await?;
    Ok(prepared)
}

/// Moves the files to the folders of the configuration.
fn move_into_place(from: &Path, config: &Config, configuration: Option<&[u8]>) -> Result<(), BackupError> {
    let made = fs::create_dir_all(&config.modules_dir);
    made.map_err(BackupError::of_file(&config.modules_dir))?;
    for (name, path) in entries(&from.join("modules"))? {
        copy(&path, &config.modules_dir.join(name))?;
    }
    if let Some(text) = configuration {
        let path = target(CONFIGURATION, config);
        files::create_atomically(&path, |file| file.write_all(text)).map_err(BackupError::of_file(&path))?;
    }
    let mut of_data = entries(&from.join("data"))?;
    of_data.sort_by_key(|(name, _)| DATABASE.ends_with(&format!("/{name}")));
    for (name, path) in of_data {
        let archived = format!("data/{name}");
        let target = target(&archived, config);
        if archived == MASTER_KEY {
            copy(&path, &target)?;
            continue;
        }
        let _ = fs::remove_dir(&target);
        if fs::symlink_metadata(&target).is_ok() {
            return Err(BackupError::Occupied(target));
        }
        fs::rename(&path, &target).map_err(BackupError::of_file(&target))?;
    }
    Ok(())
}

/// Copies a file to a place that may be on another disk. A file that is there is not replaced.
fn copy(from: &Path, to: &Path) -> Result<(), BackupError> {
    let copied = files::open_regular(from)
        .and_then(|mut file| files::create_atomically(to, |out| io::copy(&mut file, out).map(drop)));
    copied.map_err(BackupError::of_file(to))
}

/// The names and the paths in a folder. Empty if there is no such folder. A write-ahead log is left
/// out, because it is empty.
fn entries(folder: &Path) -> Result<Vec<(String, PathBuf)>, BackupError> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let listed = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let named = |entry: fs::DirEntry| (entry.file_name().to_string_lossy().into_owned(), entry.path());
    let found = listed.map_err(BackupError::of_file(folder))?.into_iter().map(named);
    Ok(found.filter(|(name, _)| !name.ends_with("-wal") && !name.ends_with("-shm")).collect())
}

/// A sentence about the master key that the restored database needs.
async fn master_key(config: &Config, manifest: &Manifest) -> Result<String, BackupError> {
    let path = config.master_key_path();
    let needed = manifest.master_keys.join(" or ");
    if manifest.master_keys.is_empty() {
        return Ok("It needs no master key.".to_owned());
    }
    if !path.exists() {
        return Ok(format!(
            "It needs the master key {needed}: put a copy of it at {} before the start.",
            path.display()
        ));
    }
    let store = Store::connect(&config.store()).await?;
    match Vault::check(&path, &store).await {
        Ok(_) => Ok(format!("The master key at {} fits.", path.display())),
        Err(error) => Ok(format!("It needs the master key {needed}, but {error}.")),
    }
}
