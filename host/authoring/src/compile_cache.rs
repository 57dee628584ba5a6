//! The compiled modules of the user who runs the commands. All commands share them, so that a
//! module is compiled once.
//!
//! A compiled module runs as native code, outside of the sandbox. So the files have message
//! authentication codes of a key, and the key is in a folder that only this user can use. A folder
//! or a key that another user could have read or written is not used. A gateway that serves takes
//! nothing from here. The exceptions are the gateway of `connectors dev`, which its author runs,
//! and `connectors add` without `--url`: the user of that command owns the gateway's key too.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Once;

use ring::rand::{SecureRandom, SystemRandom};
use rustix::fs::{Access, AtFlags, Mode, OFlags};
use rustix::io::Errno;
use sandbox::CompiledModules;
use secrecy::SecretBox;
use secrecy::zeroize::Zeroizing;
use thiserror::Error;

use crate::output::remark;

/// The folder in the user's folder of caches.
const FOLDER: &str = "connector-gateway";

/// The file with the key.
const KEY: &str = "key";

const KEY_BYTES: usize = 32;

/// The bits of a mode that let other users do anything.
const OF_OTHERS: u32 = 0o077;

/// This process has said why it does not use the compiled modules of the user.
static SAID: Once = Once::new();

/// Why the compiled modules of the user are not used.
#[derive(Debug, Error)]
enum CacheError {
    #[error("neither XDG_CACHE_HOME nor HOME names a folder")]
    NoFolder,
    #[error("`{}` belongs to another user; set XDG_CACHE_HOME to a folder of yours", .0.display())]
    Foreign(PathBuf),
    #[error("the mode of `{}` is {mode:03o}, so other users may have used it; remove the folder `{}`", path.display(), folder.display())]
    Exposed { path: PathBuf, mode: u32, folder: PathBuf },
    #[error("`{}` is not a key of {KEY_BYTES} bytes; remove the file", .0.display())]
    NoKey(PathBuf),
    #[error("`{}`: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// Opens the compiled modules of the user, and makes their folder at the first time. If they cannot
/// be used, says why. The command then compiles what it needs.
pub(crate) fn open() -> Option<CompiledModules> {
    usable(folder().and_then(|folder| {
        make(&folder)?;
        open_in(&folder)
    }))
}

/// Like [`open`], but makes nothing: an operator who wrote no connector has no compiled modules.
pub(crate) fn open_present() -> Option<CompiledModules> {
    let folder = folder().ok().filter(|folder| folder.join(KEY).exists())?;
    usable(open_in(&folder))
}

fn usable(opened: Result<CompiledModules, CacheError>) -> Option<CompiledModules> {
    let say = |error: CacheError| {
        // A command may open the folder several times.
        SAID.call_once(|| remark(format_args!("Compiled modules are not kept for the next command: {error}.")));
    };
    opened.map_err(say).ok()
}

/// The folder of this user. A relative `XDG_CACHE_HOME` has no meaning.
fn folder() -> Result<PathBuf, CacheError> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let caches = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    Ok(caches.ok_or(CacheError::NoFolder)?.join(FOLDER))
}

/// Makes the folder and the key, if they are missing. If two commands do this at the same time,
/// both use the first key.
fn make(folder: &Path) -> Result<(), CacheError> {
    let failed = |source| CacheError::Io { path: folder.to_owned(), source };
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    let path = folder.join(KEY);
    if fs::symlink_metadata(&path).is_ok() {
        return Ok(());
    }
    // The key is written and forgotten. Then it is read again, as another command would read it.
    let mut key = Zeroizing::new([0_u8; KEY_BYTES]);
    let random = SystemRandom::new().fill(key.as_mut_slice());
    random.map_err(|_| failed(io::Error::other("the operating system gives no random numbers")))?;
    match files::create_atomically(&path, |file| file.write_all(key.as_slice())) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(CacheError::Io { path, source: error }),
        _ => Ok(()),
    }
}

/// Opens the folder, and the key in it. Both must belong to this user alone.
fn open_in(folder: &Path) -> Result<CompiledModules, CacheError> {
    let path = folder.join(KEY);
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error: Errno| CacheError::Io { path, source: error.into() }
    };
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::open(folder, flags | OFlags::DIRECTORY, Mode::empty()).map_err(failed(folder))?;
    let opened = File::from(opened);
    check(&opened, folder, folder)?;
    // The key is opened in the folder that was checked. The path may name another one by now.
    let key = rustix::fs::openat(&opened, KEY, flags | OFlags::NONBLOCK, Mode::empty()).map_err(failed(&path))?;
    let mut key = File::from(key);
    check(&key, &path, folder)?;
    let writable = rustix::fs::accessat(&opened, ".", Access::WRITE_OK, AtFlags::EACCESS);
    writable.map_err(failed(folder))?;
    let mut bytes = Box::new([0; KEY_BYTES]);
    let is_whole = key.read_exact(bytes.as_mut_slice()).is_ok() && key.read(&mut [0]).is_ok_and(|more| more == 0);
    let key = SecretBox::new(bytes);
    if !is_whole {
        return Err(CacheError::NoKey(path));
    }
    Ok(CompiledModules { data_dir: folder.to_owned(), key })
}

/// Checks that an opened file or folder belongs to this user, and that no one else can use it.
fn check(opened: &File, path: &Path, folder: &Path) -> Result<(), CacheError> {
    let metadata = opened.metadata().map_err(|source| CacheError::Io { path: path.to_owned(), source })?;
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(CacheError::Foreign(path.to_owned()));
    }
    let mode = metadata.mode() & 0o777;
    if mode & OF_OTHERS != 0 {
        return Err(CacheError::Exposed { path: path.to_owned(), mode, folder: folder.to_owned() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use store::digest::{sha256, sha256_of_secret};

    /// The digest of the key that is opened. It is the one of the file.
    fn key(folder: &Path) -> Result<[u8; 32], String> {
        let opened = make(folder).and_then(|()| open_in(folder));
        let digest = opened.map(|modules| sha256_of_secret(&modules.key)).map_err(|error| error.to_string())?;
        assert_eq!(digest, sha256(&fs::read(folder.join(KEY)).unwrap()));
        Ok(digest)
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn the_first_command_makes_a_key_that_the_next_ones_use_and_that_is_private() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("caches/connector-gateway");
        let first = key(&folder).unwrap();
        assert_ne!(first, sha256(&[0; KEY_BYTES]));
        assert_eq!(key(&folder).unwrap(), first);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&folder.join(KEY))), (0o700, 0o600));
    }

    #[test]
    fn a_folder_or_a_key_that_others_could_use_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("connector-gateway");
        key(&folder).unwrap();
        for (path, own) in [(folder.clone(), 0o700), (folder.join(KEY), 0o600)] {
            for mode in [own | 0o040, own | 0o002] {
                set_mode(&path, mode);
                let error = key(&folder).unwrap_err();
                let words = format!("the mode of `{}` is {mode:03o}", path.display());
                assert!(error.starts_with(&words), "{error}");
            }
            set_mode(&path, own);
        }
        key(&folder).unwrap();
    }

    #[test]
    fn links_and_keys_of_another_length_are_refused() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("connector-gateway");
        key(&folder).unwrap();
        let good = fs::read(folder.join(KEY)).unwrap();
        for content in [&good[..31], &[&good[..], &[0]].concat(), b""] {
            fs::write(folder.join(KEY), content).unwrap();
            assert!(key(&folder).unwrap_err().contains("is not a key of 32 bytes"));
        }
        let elsewhere = home.path().join("elsewhere");
        fs::rename(folder.join(KEY), &elsewhere).unwrap();
        fs::write(&elsewhere, good).unwrap();
        std::os::unix::fs::symlink(&elsewhere, folder.join(KEY)).unwrap();
        key(&folder).unwrap_err();
        let link = home.path().join("link");
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        assert!(open_in(&link).is_err());
    }
}
