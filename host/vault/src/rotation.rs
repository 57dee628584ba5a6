//! Rotation: replaces the master key and the data key while gateways serve.
//!
//! After each step, gateways that know only the previous keys and gateways that know the new ones
//! can unseal every secret. A rotation may therefore be killed at any moment. The next one
//! continues after the last finished step:
//!
//! 1. Add a new master key to the file.
//! 2. Store a new data key, sealed under both master keys. Gateways use it for new secrets from
//!    their next read of the keys.
//! 3. Seal all secrets again that are sealed under a previous data key. Repeat this until no
//!    gateway can be sealing under a previous one.
//! 4. Seal the previous data keys under the new master key as well, because a slow gateway may
//!    still store a secret under one. A later start or rotation deletes them when they have no
//!    secret.
//! 5. Forget the previous master key: first delete the copies of data keys that are sealed under
//!    it, then its line in the file. Gateways on other machines need a copy of the file before this
//!    step.

use std::path::Path;
use std::slice;
use std::sync::Arc;
use std::time::{Duration, Instant};

use database::Database;
use database::id::random_id;
use database::process_lock::ProcessLock;
use tokio::time::sleep;

use super::cipher::new_key;
use super::master::{self, Master};
use super::{Keys, MAX_AGE, Vault, VaultError};
use crate::data_keys::{DataKeys, Notes, SealedTables};
use crate::types::DataKey;

/// Number of secrets that one transaction replaces. A transaction of this size is too short to
/// delay the writes of gateways.
const BATCH: u32 = 100;

/// Time after which no gateway seals under a previous data key: all have read the new one, and have
/// stored everything that they sealed before.
const PROPAGATION_TIME: Duration = MAX_AGE.saturating_mul(3);

/// Delay between two searches for secrets under a previous data key.
const SEARCH_INTERVAL: Duration = Duration::from_millis(250);

/// Number of attempts to take the lock of rotations, and the delay between two of them.
const LOCK_ATTEMPTS: u32 = 20;
const LOCK_DELAY: Duration = Duration::from_millis(100);

/// The progress of a rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RotationProgress {
    /// Number of secrets that are sealed again.
    pub done: u64,
    /// Number of secrets that had to be sealed again.
    pub total: u64,
}

/// The end of a rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RotationEnd {
    /// The previous master key stays in the file, so that gateways can start with the previous file
    /// until the rotation is finished.
    KeepPrevious,
    /// The previous master key is forgotten.
    ForgetPrevious,
    /// As [`RotationEnd::ForgetPrevious`], but only finishes an unfinished rotation. Does not begin
    /// a new one.
    ForgetPreviousOfUnfinished,
}

/// The result of a rotation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RotationReport {
    /// `true` if this rotation continued one that was interrupted or not finished.
    pub resumed: bool,
    /// Number of secrets that were sealed again.
    pub resealed: u64,
    /// Number of secrets that cannot be unsealed and were left unchanged.
    pub unreadable: u64,
    /// `true` if the previous master key is no longer needed and was removed from the file.
    pub finished: bool,
}

/// Rotates the keys, or continues an interrupted rotation. `report` is called after each batch of
/// secrets. Returns `None` if only an unfinished rotation was to be finished, and there is no such
/// rotation.
///
/// # Errors
/// Fails if another process rotates the keys, if the master key file cannot be written or is not
/// the latest one, and as [`Vault::open`]. Every secret can be unsealed after an error.
pub async fn rotate(
    master_key: &Path,
    store: &impl SealedTables,
    end: RotationEnd,
    report: &mut (dyn FnMut(RotationProgress) + Send),
) -> Result<Option<RotationReport>, VaultError> {
    let notes = store.rotation_notes();
    let _lock = lock(store.database()).await?;
    let vault = Vault::open(master_key, store).await?;
    Rotation::new(vault, notes, PROPAGATION_TIME)?.run(end, report).await
}

/// Takes the lock of rotations. Waits a moment for it: a server releases the lock of a process only
/// when it has noticed the end of the process.
async fn lock(database: &Database) -> Result<ProcessLock, VaultError> {
    for _ in 0..LOCK_ATTEMPTS {
        if let Some(lock) = database.try_process_lock("rotation").await? {
            return Ok(lock);
        }
        sleep(LOCK_DELAY).await;
    }
    Err(VaultError::Busy)
}

/// A rotation in progress. [`Rotation::run`] calls its steps in order.
pub(super) struct Rotation {
    pub(super) vault: Vault,
    notes: Notes,
    /// The keys of the master key file.
    masters: Vec<Master>,
    /// The last of them, which replaces the others.
    pub(super) newest: Master,
    /// [`PROPAGATION_TIME`], which tests shorten.
    settle_time: Duration,
}

/// The result of one search for secrets under a previous data key.
#[derive(Default)]
struct Pass {
    resealed: u64,
    unreadable: u64,
}

impl Rotation {
    pub(super) fn new(vault: Vault, notes: Notes, settle_time: Duration) -> Result<Self, VaultError> {
        let masters = vault.inner.file.read()?;
        let newest = masters.last().cloned().ok_or_else(|| vault.inner.file.missing())?;
        Ok(Self { vault, notes, masters, newest, settle_time })
    }

    fn data_keys(&self) -> &DataKeys {
        &self.vault.inner.data_keys
    }

    /// Takes all steps.
    pub(super) async fn run(
        mut self,
        end: RotationEnd,
        report: &mut (dyn FnMut(RotationProgress) + Send),
    ) -> Result<Option<RotationReport>, VaultError> {
        let resumed = self.is_under_way().await?;
        if !resumed {
            if end == RotationEnd::ForgetPreviousOfUnfinished {
                return Ok(None);
            }
            self.add_master()?;
        }
        self.replace_data_key().await?;
        let (resealed, unreadable) = self.reseal(report).await?;
        self.wrap_previous_data_keys().await?;
        let finished = end != RotationEnd::KeepPrevious && self.forget_previous_master().await?;
        Ok(Some(RotationReport { resumed, resealed, unreadable, finished }))
    }

    /// Returns `true` if an earlier rotation is not finished.
    ///
    /// # Errors
    /// Fails if the file lacks a master key that the store uses: the rotation began with another
    /// copy of the file.
    pub(super) async fn is_under_way(&self) -> Result<bool, VaultError> {
        let data_keys = self.data_keys().list().await?;
        let mut in_use = data_keys.iter().flat_map(|key| &key.wraps).map(|wrap| &wrap.master_id);
        match in_use.find(|id| !self.masters.iter().any(|master| master.id == **id)) {
            Some(missing) => Err(self.vault.inner.file.begun_elsewhere(missing)),
            None => Ok(self.masters.len() > 1),
        }
    }

    /// Step 1.
    pub(super) fn add_master(&mut self) -> Result<(), VaultError> {
        self.newest = Master::new()?;
        self.masters.push(self.newest.clone());
        self.vault.inner.file.write(&self.masters)
    }

    /// Step 2. Does nothing if the current data key is already sealed under the new master key.
    pub(super) async fn replace_data_key(&self) -> Result<(), VaultError> {
        let data_keys = self.data_keys().list().await?;
        if data_keys.first().is_some_and(|current| self.is_under_newest(current)) {
            return Ok(());
        }
        let (id, key) = (random_id("dk_")?, new_key()?);
        let wraps = self.masters.iter().map(|master| master.wrap(&id, &key)).collect::<Result<_, _>>()?;
        Ok(self.data_keys().replace(&id, wraps, Arc::clone(&self.notes)).await?)
    }

    /// Step 3. Returns the number of secrets that were sealed again, and the number of secrets that
    /// cannot be unsealed.
    pub(super) async fn reseal(
        &self,
        report: &mut (dyn FnMut(RotationProgress) + Send),
    ) -> Result<(u64, u64), VaultError> {
        let started = Instant::now();
        let keys = self.vault.keys(|_| false).await?;
        let total = self.data_keys().count_secrets_under_other_keys(&keys.current()?.0).await?;
        let mut done = 0;
        report(RotationProgress { done, total });
        loop {
            let before = started.elapsed();
            let pass = self.reseal_once(&keys, |batch| {
                done += batch;
                report(RotationProgress { done, total: total.max(done) });
            });
            let pass = pass.await?;
            if pass.resealed == 0 && before >= self.settle_time {
                return Ok((done, pass.unreadable));
            }
            tokio::time::sleep(SEARCH_INTERVAL.min(self.settle_time)).await;
        }
    }

    /// Seals all secrets again that are sealed under a previous data key.
    async fn reseal_once(&self, keys: &Keys, mut report: impl FnMut(u64)) -> Result<Pass, VaultError> {
        let mut pass = Pass::default();
        let mut after = None;
        loop {
            let rows = self.data_keys().secrets_under_other_keys(&keys.current()?.0, after, BATCH).await?;
            let Some(last) = rows.last() else { return Ok(pass) };
            after = Some(last.place.clone());
            let mut resealed = Vec::with_capacity(rows.len());
            for row in rows {
                match self.vault.unseal(&row.context(), &row.sealed).await {
                    Ok(secret) => {
                        let sealed = keys.seal(&row.context(), &secret)?;
                        resealed.push((row, sealed));
                    }
                    Err(VaultError::Altered | VaultError::UnknownKey { .. }) => pass.unreadable += 1,
                    Err(error) => return Err(error),
                }
            }
            let written = self.data_keys().replace_secrets(resealed).await?;
            pass.resealed += written;
            report(written);
        }
    }

    /// Step 4. Data keys that are already sealed under the new master key are left unchanged.
    pub(super) async fn wrap_previous_data_keys(&self) -> Result<(), VaultError> {
        let mut wraps = Vec::new();
        for data_key in self.data_keys().list().await? {
            if self.is_under_newest(&data_key) {
                continue;
            }
            let key = master::unwrap(&self.masters, &data_key)?;
            let key = key.ok_or_else(|| VaultError::UnknownKey { key_id: data_key.id.clone() })?;
            let wrap = self.newest.wrap(&data_key.id, &key)?;
            wraps.push((data_key.id, wrap));
        }
        Ok(self.data_keys().add_wraps(wraps).await?)
    }

    /// Step 5. Returns `false` and changes nothing if a data key is not sealed under the new master
    /// key.
    pub(super) async fn forget_previous_master(&self) -> Result<bool, VaultError> {
        // The file is written last. Until the store has deleted the copies under the previous
        // master keys, gateways may need these keys.
        let is_forgotten = self.data_keys().keep_one_master(&self.newest.id, Arc::clone(&self.notes)).await?;
        if is_forgotten {
            self.vault.inner.file.write(slice::from_ref(&self.newest))?;
        }
        Ok(is_forgotten)
    }

    fn is_under_newest(&self, data_key: &DataKey) -> bool {
        data_key.wraps.iter().any(|wrap| wrap.master_id == self.newest.id)
    }
}
