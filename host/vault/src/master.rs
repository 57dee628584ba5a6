//! The master key file. Each line is a key of 32 bytes in base64. During a rotation the file has
//! two lines, and the last one is the new key.

use std::fs::{DirBuilder, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use database::digest::hex;
use ring::hmac;
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretBox};

use super::cipher::{Cipher, KEY_BYTES, Key, new_key};
use super::error::VaultError;
use crate::types::{DataKey, Wrap};

/// Bytes that are read of a master key file. A valid file has far fewer.
const MAX_FILE_BYTES: u64 = 4096;

/// A master key, which data keys are sealed under.
#[derive(Clone)]
pub(super) struct Master {
    /// Computed from the key, but reveals nothing about it. Error messages name a key by its id.
    pub(super) id: String,
    key: Arc<Key>,
}

impl Master {
    pub(super) fn new() -> Result<Self, VaultError> {
        new_key().map(Self::from_key)
    }

    fn from_key(key: Key) -> Self {
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key.expose_secret()), b"connector-gateway master key");
        let id = hex(tag.as_ref().get(..8).unwrap_or_default());
        Self { id: format!("mk_{id}"), key: Arc::new(key) }
    }

    /// A key for one purpose, which reveals nothing about the master key and nothing about keys for
    /// other purposes.
    pub(super) fn derive(&self, purpose: &str) -> Key {
        let master = hmac::Key::new(hmac::HMAC_SHA256, self.key.expose_secret());
        let tag = hmac::sign(&master, format!("connector-gateway key for {purpose}").as_bytes());
        let mut key = Box::new([0; KEY_BYTES]);
        key.copy_from_slice(tag.as_ref());
        SecretBox::new(key)
    }

    /// Seals a data key under this master key.
    pub(super) fn wrap(&self, id: &str, key: &Key) -> Result<Wrap, VaultError> {
        let bytes = Cipher::new(&self.key)?.seal(&["data key", id], key)?;
        Ok(Wrap { master_id: self.id.clone(), bytes })
    }

    fn unwrap(&self, id: &str, wrap: &Wrap) -> Result<Key, VaultError> {
        let damaged = || VaultError::DamagedKey { key_id: id.to_owned() };
        let unsealed = Cipher::new(&self.key)?.unseal(&["data key", id], &wrap.bytes).ok_or_else(damaged)?;
        let key = unsealed.expose_secret().try_into().map_err(|_| damaged())?;
        Ok(SecretBox::new(Box::new(key)))
    }
}

/// Unseals a data key. Returns `None` if it is sealed under none of these master keys.
pub(super) fn unwrap(masters: &[Master], data_key: &DataKey) -> Result<Option<Key>, VaultError> {
    let matching = data_key.wraps.iter().find_map(|wrap| {
        let master = masters.iter().find(|master| master.id == wrap.master_id)?;
        Some((master, wrap))
    });
    matching.map(|(master, wrap)| master.unwrap(&data_key.id, wrap)).transpose()
}

/// The master key file of this machine.
#[derive(Clone, Debug)]
pub(super) struct MasterFile {
    path: PathBuf,
}

impl MasterFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Returns whether a database has depended on the key.
    pub(super) fn is_in_use(&self) -> bool {
        self.mark().exists()
    }

    /// Notes that a database depends on the key. Without the note, a lost database is not noticed,
    /// but the gateway works: the folder of the key may be read-only.
    pub(super) fn mark_in_use(&self) {
        const NOTE: &[u8] = b"A database depends on this master key. If it was lost, restore it, or \
            begin a new one with `connector-gateway serve --new-database`.\n";
        if !self.is_in_use()
            && let Err(error) = files::write_atomically(&self.mark(), |file| file.write_all(NOTE))
        {
            tracing::debug!(%error, "the use of the master key cannot be noted");
        }
    }

    fn mark(&self) -> PathBuf {
        self.path.with_added_extension("used")
    }

    /// Reads the keys in the file, of which the last one is the newest.
    pub(super) fn read(&self) -> Result<Vec<Master>, VaultError> {
        self.read_if_present()?.ok_or_else(|| self.missing())
    }

    /// As [`MasterFile::read`]. If there is no file and `may_create` is true, creates it with a new
    /// key.
    pub(super) fn read_or_create(&self, may_create: bool) -> Result<Vec<Master>, VaultError> {
        if let Some(masters) = self.read_if_present()? {
            return Ok(masters);
        }
        if !may_create {
            return Err(self.missing());
        }
        if let Some(folder) = self.path.parent() {
            let created = DirBuilder::new().recursive(true).mode(0o700).create(folder);
            created.map_err(|error| self.unwritable(error))?;
        }
        let masters = vec![Master::new()?];
        match files::create_atomically(&self.path, |file| write(file, &masters)) {
            Ok(()) => Ok(masters),
            // Another gateway started at the same time and created the file first.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => self.read(),
            Err(error) => Err(self.unwritable(error)),
        }
    }

    /// Replaces the keys in the file.
    pub(super) fn write(&self, masters: &[Master]) -> Result<(), VaultError> {
        files::write_atomically(&self.path, |file| write(file, masters)).map_err(|error| self.unwritable(error))
    }

    pub(super) fn missing(&self) -> VaultError {
        VaultError::Missing { path: self.path.clone() }
    }

    pub(super) fn without_database(&self) -> VaultError {
        VaultError::NoDatabase { path: self.path.clone() }
    }

    pub(super) fn begun_elsewhere(&self, master_id: &str) -> VaultError {
        VaultError::BegunElsewhere { path: self.path.clone(), master_id: master_id.to_owned() }
    }

    /// The error for data keys that these master keys do not unseal.
    pub(super) fn wrong(&self, masters: &[Master], data_keys: &[DataKey]) -> VaultError {
        let found: Vec<_> = masters.iter().map(|master| master.id.as_str()).collect();
        let needed = data_keys
            .iter()
            .map(|key| key.wraps.iter().map(|wrap| wrap.master_id.as_str()).collect::<Vec<_>>())
            .find(|needed| !needed.iter().any(|id| found.contains(id)))
            .unwrap_or_default();
        VaultError::Wrong { path: self.path.clone(), found: found.join(" and "), needed: needed.join(" or ") }
    }

    /// Reads the keys. `None` if there is no file.
    pub(super) fn read_if_present(&self) -> Result<Option<Vec<Master>>, VaultError> {
        let unreadable = |source| VaultError::Unreadable { path: self.path.clone(), source };
        let file = match files::open_regular(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unreadable(error)),
        };
        self.make_private(&file)?;
        let mut text = Zeroizing::new(String::with_capacity(MAX_FILE_BYTES as usize));
        file.take(MAX_FILE_BYTES).read_to_string(&mut text).map_err(unreadable)?;
        self.parse(&text).map(Some)
    }

    fn parse(&self, text: &str) -> Result<Vec<Master>, VaultError> {
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let masters = lines.map(|(index, line)| {
            let malformed = || VaultError::Malformed { path: self.path.clone(), line: index + 1 };
            let bytes = Zeroizing::new(BASE64_STANDARD.decode(line.trim()).map_err(|_| malformed())?);
            let key: [u8; KEY_BYTES] = bytes.as_slice().try_into().map_err(|_| malformed())?;
            Ok(Master::from_key(SecretBox::new(Box::new(key))))
        });
        let masters = masters.collect::<Result<Vec<_>, VaultError>>()?;
        if masters.is_empty() { Err(VaultError::Empty { path: self.path.clone() }) } else { Ok(masters) }
    }

    /// Makes the file private. A copy that an operator put here may have the mode of an ordinary
    /// file.
    fn make_private(&self, file: &File) -> Result<(), VaultError> {
        let unreadable = |source| VaultError::Unreadable { path: self.path.clone(), source };
        let mode = file.metadata().map_err(unreadable)?.permissions().mode() & 0o777;
        if mode & 0o077 == 0 {
            return Ok(());
        }
        file.set_permissions(Permissions::from_mode(0o600)).map_err(|source| VaultError::Exposed {
            path: self.path.clone(),
            mode,
            source,
        })?;
        tracing::warn!(
            path = %self.path.display(),
            mode = format!("{mode:03o}"),
            "other users could read the master key file; the gateway has set its mode to 600"
        );
        Ok(())
    }

    fn unwritable(&self, source: io::Error) -> VaultError {
        VaultError::Unwritable { path: self.path.clone(), source }
    }
}

fn write(file: &mut File, masters: &[Master]) -> io::Result<()> {
    for master in masters {
        let line = Zeroizing::new(BASE64_STANDARD.encode(master.key.expose_secret()));
        writeln!(file, "{}", *line)?;
    }
    Ok(())
}
