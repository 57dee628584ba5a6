//! Secrets at rest.
//!
//! A secret is sealed under a *data key*, which is kept in the store, itself sealed under the *master key*, which is in a file of
//! its own. Whoever has only the database, or only the file, can open nothing. Each secret is bound to the row it belongs
//! to: moved to another it does not open.
//!
//! Several gateways may share a store. A data key that this one has not seen is looked up when a secret needs it, and before a
//! secret is sealed this one makes sure that its list is no older than a second; so keys are exchanged while all of them serve.
//!
//! - [`cipher`]: sealing and opening bytes under one key
//! - [`master`]: the master key's file
//! - [`rotation`]: exchanging all keys
//! - [`error`]: what can go wrong, in words for the operator

mod cipher;
mod error;
mod master;
mod rotation;

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use secrecy::SecretSlice;
use tokio::sync::Mutex;

use self::cipher::Cipher;
pub use self::error::VaultError;
use self::master::{Master, MasterFile};
pub use self::rotation::{Outcome, Progress, rotate};
use crate::{DataKey, Sealed, Store};

/// How old the list of data keys may be when a secret is sealed. A rotation waits longer than this before it takes it
/// that nobody seals under a former key.
const MAX_AGE: Duration = Duration::from_secs(1);

/// For how long a retired data key is kept after the last secret under it, for a secret that was sealed before and is
/// stored after: its writer may have been stopped, or waited for the database.
const KEPT: Duration = Duration::from_secs(600);

/// Seals and opens secrets. Clones share the keys.
#[derive(Clone)]
pub struct Vault {
    inner: Arc<Inner>,
}

struct Inner {
    file: MasterFile,
    store: Store,
    keys: ArcSwap<Keys>,
    /// One looks up keys at a time, and the others wait for what it finds.
    looking: Mutex<()>,
}

/// The keys as they were at one moment.
struct Keys {
    read_at: Instant,
    masters: Vec<Master>,
    /// Data keys, by id. Those that no master key at hand opens are not among them.
    open: HashMap<String, Arc<Cipher>>,
    /// What new secrets are sealed under: the newest one that is open.
    current: (String, Arc<Cipher>),
    /// The newest one, open or not.
    newest: String,
}

impl Vault {
    /// Opens the vault with the master key in the file `master_key`. The first start with an empty store makes
    /// the file and the first data key.
    ///
    /// # Errors
    /// When the master key is missing, is not the one that the store needs, or can be read by others; then nothing has
    /// been changed. When the store does not answer.
    pub async fn open(master_key: &Path, store: &Store) -> Result<Self, VaultError> {
        let file = MasterFile::new(master_key.to_owned());
        // The store first: a key that another gateway puts there comes after its file.
        let mut data_keys = store.data_keys().await?;
        let masters = file.read_or_create(data_keys.is_empty())?;
        if data_keys.is_empty() {
            let (id, key) = (cipher::new_id()?, cipher::new_key()?);
            let wraps = masters.iter().map(|master| master.wrap(&id, &key)).collect::<Result<_, _>>()?;
            store.create_first_data_key(&id, wraps).await?;
            // Another gateway may have been faster.
            data_keys = store.data_keys().await?;
        }
        let keys = Keys::open(&data_keys, &file, masters, &HashMap::new())?;
        if keys.open.len() < data_keys.len() {
            return Err(file.wrong(&keys.masters, &data_keys));
        }
        store.drop_retired_data_keys(KEPT).await?;
        let inner = Inner { file, store: store.clone(), keys: ArcSwap::from_pointee(keys), looking: Mutex::default() };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Seals a secret for the place that `context` names: with any other it cannot be opened.
    ///
    /// # Errors
    /// When the store does not answer, or there is no randomness.
    pub async fn seal(&self, context: &[&str], secret: &[u8]) -> Result<Sealed, VaultError> {
        self.keys(|keys| keys.read_at.elapsed() < MAX_AGE).await?.seal(context, secret)
    }

    /// Opens what was sealed for the same place.
    ///
    /// # Errors
    /// When it was altered or belongs to another place, when its data key is not at hand, and when the store does not answer.
    pub async fn unseal(&self, context: &[&str], sealed: &Sealed) -> Result<SecretSlice<u8>, VaultError> {
        self.keys(|keys| keys.open.contains_key(&sealed.key_id)).await?.unseal(context, sealed)
    }

    /// The keys, looked up anew unless those at hand will do.
    async fn keys(&self, will_do: impl Fn(&Keys) -> bool) -> Result<Arc<Keys>, VaultError> {
        let inner = &self.inner;
        if will_do(&inner.keys.load()) {
            return Ok(inner.keys.load_full());
        }
        let _turn = inner.looking.lock().await;
        let known = inner.keys.load_full();
        if will_do(&known) {
            return Ok(known);
        }
        let keys = Arc::new(inner.look_up(&known).await?);
        inner.keys.store(Arc::clone(&keys));
        Ok(keys)
    }
}

impl fmt::Debug for Vault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Vault").finish_non_exhaustive()
    }
}

impl Inner {
    async fn look_up(&self, known: &Keys) -> Result<Keys, VaultError> {
        let data_keys = self.store.data_keys().await?;
        let first = Keys::open(&data_keys, &self.file, known.masters.clone(), &known.open);
        if let Ok(keys) = &first
            && keys.open.len() == data_keys.len()
        {
            return first;
        }
        // The master key was exchanged. Its file is some hundred bytes.
        let masters = self.file.read();
        let second = masters.and_then(|masters| Keys::open(&data_keys, &self.file, masters, &known.open));
        let keys = second.or_else(|error| first.map_err(|_| error))?;
        if keys.newest != keys.current.0 && keys.newest != known.newest {
            let reason = self.file.wrong(&keys.masters, &data_keys);
            tracing::error!(%reason, "the new master key is not here: secrets are sealed under a former key until it is");
        }
        Ok(keys)
    }
}

impl Keys {
    /// Opens all data keys that can be opened: those that are `known` to be open already, and those that a master key opens.
    fn open(
        data_keys: &[DataKey],
        file: &MasterFile,
        masters: Vec<Master>,
        known: &HashMap<String, Arc<Cipher>>,
    ) -> Result<Self, VaultError> {
        let mut open = HashMap::new();
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
            open.insert(data_key.id.clone(), cipher);
        }
        let newest = data_keys.first().map(|key| key.id.clone()).unwrap_or_default();
        let current = current.ok_or_else(|| file.wrong(&masters, data_keys))?;
        Ok(Self { read_at: Instant::now(), masters, open, current, newest })
    }

    fn seal(&self, context: &[&str], secret: &[u8]) -> Result<Sealed, VaultError> {
        let (id, cipher) = &self.current;
        Ok(Sealed { key_id: id.clone(), bytes: cipher.seal(context, secret)? })
    }

    fn unseal(&self, context: &[&str], sealed: &Sealed) -> Result<SecretSlice<u8>, VaultError> {
        let cipher = self.open.get(&sealed.key_id);
        let cipher = cipher.ok_or_else(|| VaultError::UnknownKey { key_id: sealed.key_id.clone() })?;
        cipher.open(context, &sealed.bytes).ok_or(VaultError::Altered)
    }
}

#[cfg(test)]
mod tests;
