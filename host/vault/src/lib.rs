//! Seals secrets before they are stored.
//!
//! A secret is sealed under a *data key*. Data keys are stored in the database, sealed under the
//! *master key*. The master key is in a separate file, so that neither a copy of the database nor a
//! copy of the file alone reveals a secret. Each secret is bound to a context that names its row.
//! In another row it cannot be unsealed.
//!
//! Several gateways may share a database, and all of them serve during a rotation:
//! - A gateway reads the data keys again when a secret needs one that it does not know.
//! - Before a gateway seals a secret, it makes sure that its list of data keys is not older than
//!   [`MAX_AGE`]. A rotation waits for several times as long. Otherwise a gateway could seal a
//!   secret under a previous data key after the rotation has finished, and the secret would not be
//!   sealed again.
//!
//! A gateway may start while its database is away. It then has the master key alone, and reads the
//! data keys for the first secret.
//!
//! The vault knows the tables of the data keys. The store tells it which columns of its tables hold
//! secrets ([`SealedTables`]).
//!
//! Layout:
//! - [`cipher`]: seals and unseals bytes under one key
//! - [`master`]: the master key file
//! - [`rotation`]: replaces all keys
//! - [`data_keys`]: the stored data keys
//! - [`sealed_rows`]: secrets under a previous data key
//! - [`types`]: data keys, and bytes that are sealed under them
//! - [`shown_once`]: a secret that was just made, and is not stored
//! - [`error`]: [`VaultError`], with messages for the operator

mod cipher;
mod data_keys;
mod error;
mod master;
mod rotation;
mod sealed_rows;
mod shown_once;
mod types;

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::str::Utf8Error;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use database::StoreError;
use database::id::random_id;
use secrecy::{SecretBox, SecretSlice, SecretString};
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;
use tokio::time::Instant;

pub use self::cipher::json_of;
use self::cipher::{Cipher, Sealable, text_of};
use self::data_keys::DataKeys;
pub use self::data_keys::{Notes, SealedTables};
pub use self::error::VaultError;
use self::master::{Master, MasterFile};
pub use self::rotation::{RotationEnd, RotationProgress, RotationReport, rotate};
pub use self::sealed_rows::SealedColumn;
pub use self::shown_once::{Shown, ShownOnce};
use self::types::DataKey;
pub use self::types::Sealed;

/// Maximum age of the list of data keys when a secret is sealed. A rotation waits for longer than
/// this before it assumes that no gateway seals under a previous data key.
const MAX_AGE: Duration = Duration::from_secs(1);

/// Minimum time from the retirement of a data key to its deletion. Until then a slow gateway may
/// store a secret that it sealed before the retirement.
const RETIRED_KEY_LIFE: Duration = Duration::from_secs(600);

/// Seals and unseals secrets. Clones share the keys.
#[derive(Clone)]
pub struct Vault {
    inner: Arc<Inner>,
}

struct Inner {
    file: MasterFile,
    data_keys: DataKeys,
    keys: ArcSwap<Keys>,
    /// Locked while the data keys are read again, so that concurrent calls share one read. It has the
    /// beginning of the last read.
    reading: Mutex<Option<Instant>>,
}

/// The keys as of one read.
struct Keys {
    /// Time of the read, for [`MAX_AGE`].
    read_at: Instant,
    /// The keys of the master key file.
    masters: Vec<Master>,
    /// The data keys that these master keys unseal, by id.
    unsealed: HashMap<String, Arc<Cipher>>,
    /// The data key for new secrets: the newest unsealed one. `None` until the data keys are read.
    current: Option<(String, Arc<Cipher>)>,
    /// Id of the newest data key, unsealed or not.
    newest: String,
}

impl Vault {
    /// Opens the vault with the master key file at the path `master_key`. With an empty store and
    /// no file, creates the file and the first data key.
    ///
    /// # Errors
    /// Fails if the file is missing, has the wrong key, or can be read by other users. Fails if the
    /// store is empty although another one depended on the key, because it was then probably lost
    /// ([`Vault::open_new`]). Nothing is changed then. Also fails if the store does.
    pub async fn open(master_key: &Path, store: &impl SealedTables) -> Result<Self, VaultError> {
        Self::open_or_begin(master_key, DataKeys::of(store), false).await
    }

    /// As [`Vault::open`], but takes an empty store for a new one, although another one depended on
    /// the master key file.
    ///
    /// # Errors
    /// As [`Vault::open`].
    pub async fn open_new(master_key: &Path, store: &impl SealedTables) -> Result<Self, VaultError> {
        Self::open_or_begin(master_key, DataKeys::of(store), true).await
    }

    /// Opens the vault of a store that cannot be reached now. The first secret needs the store.
    ///
    /// # Errors
    /// If the master key file is missing, damaged, or can be read by other users.
    pub fn open_later(master_key: &Path, store: &impl SealedTables) -> Result<Self, VaultError> {
        let file = MasterFile::new(master_key.to_owned());
        let keys = Keys::unread(file.read()?);
        Ok(Self::with_keys(file, DataKeys::of(store), keys))
    }

    /// Checks that the master key file has the keys that the stored data keys need, and returns
    /// their ids. Creates neither a file nor a data key: without both, there are no ids.
    ///
    /// # Errors
    /// As [`Vault::open`].
    pub async fn check(master_key: &Path, store: &impl SealedTables) -> Result<Vec<String>, VaultError> {
        let file = MasterFile::new(master_key.to_owned());
        let data_keys = DataKeys::of(store).list().await?;
        if data_keys.is_empty() && file.is_in_use() {
            return Err(file.without_database());
        }
        let Some(masters) = file.read_if_present()? else {
            return if data_keys.is_empty() { Ok(Vec::new()) } else { Err(file.missing()) };
        };
        let ids = masters.iter().map(|master| master.id.clone()).collect();
        if !data_keys.is_empty() {
            let keys = Keys::unseal_all(&data_keys, &file, masters, &HashMap::new())?;
            if keys.unsealed.len() < data_keys.len() {
                return Err(file.wrong(&keys.masters, &data_keys));
            }
        }
        Ok(ids)
    }

    /// The ids of the master keys that the stored data keys need. During a rotation, one of two is
    /// enough.
    ///
    /// # Errors
    /// Fails if the database does not answer.
    pub async fn needed_master_keys(store: &impl SealedTables) -> Result<Vec<String>, StoreError> {
        let data_keys = DataKeys::of(store).list().await?;
        let mut ids: Vec<String> = data_keys.into_iter().flat_map(|key| key.wraps).map(|wrap| wrap.master_id).collect();
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }

    async fn open_or_begin(master_key: &Path, data_keys: DataKeys, is_new: bool) -> Result<Self, VaultError> {
        let file = MasterFile::new(master_key.to_owned());
        let keys = Keys::read_first(&file, &data_keys, is_new).await?;
        Ok(Self::with_keys(file, data_keys, keys))
    }

    fn with_keys(file: MasterFile, data_keys: DataKeys, keys: Keys) -> Self {
        let inner = Inner { file, data_keys, keys: ArcSwap::from_pointee(keys), reading: Mutex::default() };
        Self { inner: Arc::new(inner) }
    }

    /// Reads the data keys, if the vault was opened without its store.
    ///
    /// # Errors
    /// As [`Vault::open`].
    pub async fn reach(&self) -> Result<(), VaultError> {
        self.keys(|keys| keys.current.is_some()).await.map(drop)
    }

    /// A key for one purpose, derived from the newest master key. A rotation of the master key
    /// changes it.
    ///
    /// # Errors
    /// If there is no master key.
    pub fn derive(&self, purpose: &str) -> Result<SecretBox<[u8; 32]>, VaultError> {
        let keys = self.inner.keys.load();
        keys.masters.last().map(|master| master.derive(purpose)).ok_or_else(|| self.inner.file.missing())
    }

    /// Seals a secret for the row that `context` names. With another context it cannot be unsealed.
    ///
    /// # Errors
    /// Fails if the store does, or if the operating system provides no random numbers.
    pub async fn seal(&self, context: &[&str], secret: &(impl Sealable + ?Sized)) -> Result<Sealed, VaultError> {
        self.keys(|keys| keys.current.is_some() && keys.read_at.elapsed() < MAX_AGE).await?.seal(context, secret)
    }

    /// As [`Vault::seal`], but does not check whether the newest known data key is still the newest
    /// of all. For a value that is sealed again, or deleted, before the key may be deleted: within
    /// minutes; or after [`Vault::know_newest_key`].
    ///
    /// # Errors
    /// If the operating system provides no random numbers.
    pub fn seal_with_known_key(
        &self,
        context: &[&str],
        secret: &(impl Sealable + ?Sized),
    ) -> Result<Sealed, VaultError> {
        self.inner.keys.load().seal(context, secret)
    }

    /// Makes sure that the known data key is the newest one, for [`Vault::seal_with_known_key`] in a
    /// transaction that follows at once.
    ///
    /// # Errors
    /// As [`Vault::seal`].
    pub async fn know_newest_key(&self) -> Result<(), VaultError> {
        self.keys(|keys| keys.current.is_some() && keys.read_at.elapsed() < MAX_AGE).await.map(drop)
    }

    /// Unseals a secret that was sealed with the same context.
    ///
    /// # Errors
    /// Fails with [`VaultError::Altered`] if the secret was altered or has another context, with
    /// [`VaultError::UnknownKey`] if its data key is not available, or if the store fails.
    pub async fn unseal(&self, context: &[&str], sealed: &Sealed) -> Result<SecretSlice<u8>, VaultError> {
        self.cipher_of(sealed).await?.unseal(context, &sealed.bytes).ok_or(VaultError::Altered)
    }

    /// Unseals a secret that is text. The inner error says that it is not UTF-8.
    ///
    /// # Errors
    /// As [`Vault::unseal`].
    pub async fn unseal_text(
        &self,
        context: &[&str],
        sealed: &Sealed,
    ) -> Result<Result<SecretString, Utf8Error>, VaultError> {
        let bytes = self.unseal(context, sealed).await?;
        Ok(text_of(&bytes))
    }

    /// Unseals a value that is JSON. The inner error says that it has another form.
    ///
    /// # Errors
    /// As [`Vault::unseal`].
    pub async fn unseal_json<T: DeserializeOwned>(
        &self,
        context: &[&str],
        sealed: &Sealed,
    ) -> Result<serde_json::Result<T>, VaultError> {
        let bytes = self.unseal(context, sealed).await?;
        Ok(json_of(&bytes))
    }

    /// Unseals content that the gateway sends on as it is, such as the body of an event. It is not
    /// overwritten in memory, so this is not for the credentials of accounts.
    ///
    /// # Errors
    /// As [`Vault::unseal`].
    pub async fn unseal_content(&self, context: &[&str], sealed: &Sealed) -> Result<Vec<u8>, VaultError> {
        self.cipher_of(sealed).await?.unseal_content(context, &sealed.bytes).ok_or(VaultError::Altered)
    }

    /// The data key of a sealed secret.
    async fn cipher_of(&self, sealed: &Sealed) -> Result<Arc<Cipher>, VaultError> {
        let keys = self.keys(|keys| keys.unsealed.contains_key(&sealed.key_id)).await?;
        let cipher = keys.unsealed.get(&sealed.key_id).cloned();
        cipher.ok_or_else(|| VaultError::UnknownKey { key_id: sealed.key_id.clone() })
    }

    /// Returns the known keys if `suffice` accepts them. Otherwise reads the keys again, unless a read
    /// has begun since this was called.
    async fn keys(&self, suffice: impl Fn(&Keys) -> bool) -> Result<Arc<Keys>, VaultError> {
        let inner = &self.inner;
        if suffice(&inner.keys.load()) {
            return Ok(inner.keys.load_full());
        }
        let asked = Instant::now();
        let mut last_read = inner.reading.lock().await;
        let known = inner.keys.load_full();
        // Anyone can send a value that names a data key, and no read finds one that is not there.
        let is_read_since = last_read.is_some_and(|began| began > asked) && known.read_at.elapsed() < MAX_AGE;
        if suffice(&known) || is_read_since {
            return Ok(known);
        }
        let began = Instant::now();
        let keys = Arc::new(inner.read(&known).await?);
        inner.keys.store(Arc::clone(&keys));
        *last_read = Some(began);
        Ok(keys)
    }
}

impl fmt::Debug for Vault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Vault").finish_non_exhaustive()
    }
}

impl Inner {
    /// Reads the data keys. Reads the master key file again if a data key cannot be unsealed.
    async fn read(&self, known: &Keys) -> Result<Keys, VaultError> {
        if known.current.is_none() {
            return Keys::read_first(&self.file, &self.data_keys, false).await;
        }
        let data_keys = self.data_keys.list().await?;
        let first = Keys::unseal_all(&data_keys, &self.file, known.masters.clone(), &known.unsealed);
        if let Ok(keys) = &first
            && keys.unsealed.len() == data_keys.len()
        {
            return first;
        }
        // The master key was rotated. The file has a few hundred bytes, so this read hardly blocks
        // the thread.
        let masters = self.file.read();
        let second = masters.and_then(|masters| Keys::unseal_all(&data_keys, &self.file, masters, &known.unsealed));
        let keys = second.or_else(|error| first.map_err(|_| error))?;
        if keys.newest != keys.current()?.0 && keys.newest != known.newest {
            let reason = self.file.wrong(&keys.masters, &data_keys);
            tracing::error!(
                %reason,
                "the master key file of this machine lacks the new master key, so secrets are sealed under a previous one; copy \
                 the file from the machine that rotated the key"
            );
        }
        Ok(keys)
    }
}

impl Keys {
    /// The keys before the data keys are read.
    fn unread(masters: Vec<Master>) -> Self {
        Self { read_at: Instant::now(), masters, unsealed: HashMap::new(), current: None, newest: String::new() }
    }

    /// Reads the data keys for the first time. With an empty store, creates the first one, and the
    /// master key if there is no file. `is_new` takes an empty store for a new one, although
    /// another one depended on the file.
    async fn read_first(file: &MasterFile, stored: &DataKeys, is_new: bool) -> Result<Self, VaultError> {
        // The mark is read before the store: another gateway stores its data key before it sets the
        // mark, so that the data key of a mark that is found here is already in the store.
        let is_in_use = file.is_in_use();
        // The store is read before the file. Another gateway creates the file before it stores its
        // data key, so that the file of a data key that is found here already exists.
        let mut data_keys = stored.list().await?;
        if data_keys.is_empty() && !is_new && is_in_use {
            return Err(file.without_database());
        }
        let masters = file.read_or_create(data_keys.is_empty())?;
        if data_keys.is_empty() {
            let (id, key) = (random_id("dk_")?, cipher::new_key()?);
            let wraps = masters.iter().map(|master| master.wrap(&id, &key)).collect::<Result<_, _>>()?;
            stored.create_first(&id, wraps).await?;
            // Another gateway may have stored its data key first.
            data_keys = stored.list().await?;
        }
        let keys = Self::unseal_all(&data_keys, file, masters, &HashMap::new())?;
        if keys.unsealed.len() < data_keys.len() {
            return Err(file.wrong(&keys.masters, &data_keys));
        }
        file.mark_in_use();
        stored.drop_retired(RETIRED_KEY_LIFE).await?;
        Ok(keys)
    }

    /// Unseals all data keys that the master keys unseal, except those in `known`, which are
    /// already unsealed.
    fn unseal_all(
        data_keys: &[DataKey],
        file: &MasterFile,
        masters: Vec<Master>,
        known: &HashMap<String, Arc<Cipher>>,
    ) -> Result<Self, VaultError> {
        let mut unsealed = HashMap::new();
        let mut current = None;
        for data_key in data_keys {
            let cipher = match known.get(&data_key.id) {
                Some(cipher) => Arc::clone(cipher),
                None => match master::unwrap(&masters, data_key)? {
                    Some(key) => Arc::new(Cipher::new(&key)?),
                    None => continue,
                },
            };
            current.get_or_insert_with(|| (data_key.id.clone(), Arc::clone(&cipher)));
            unsealed.insert(data_key.id.clone(), cipher);
        }
        let newest = data_keys.first().map(|key| key.id.clone()).unwrap_or_default();
        let current = current.ok_or_else(|| file.wrong(&masters, data_keys))?;
        Ok(Self { read_at: Instant::now(), masters, unsealed, current: Some(current), newest })
    }

    /// The data key for new secrets, with its id.
    fn current(&self) -> Result<&(String, Arc<Cipher>), VaultError> {
        self.current.as_ref().ok_or_else(|| StoreError::NotReached.into())
    }

    fn seal(&self, context: &[&str], secret: &(impl Sealable + ?Sized)) -> Result<Sealed, VaultError> {
        let (id, cipher) = self.current()?;
        Ok(Sealed { key_id: id.clone(), bytes: cipher.seal(context, secret)? })
    }
}

#[cfg(test)]
mod tests;
