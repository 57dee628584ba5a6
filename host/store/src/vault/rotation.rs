//! Exchanging the master key and the data key while gateways serve.
//!
//! Each step leaves every secret readable, for gateways that know the former keys only and for those that know the new ones, so
//! that a rotation may be killed at any moment; the next one goes on where it stopped:
//!
//! 1. The new master key is added to the file.
//! 2. A new data key is stored, under both master keys. Gateways seal under it from their next look at the keys.
//! 3. What is sealed under a former data key is sealed anew, until no gateway can still be sealing under a former one.
//! 4. The former data keys are put under the new master key too: one may hold a secret that is written only now. They are
//!    dropped by a later start or rotation, once they hold nothing.
//! 5. The former master key is forgotten: first what is sealed under it, then its line in the file. Gateways on other
//!    machines must have a copy of the file by then.

use std::path::Path;
use std::slice;
use std::time::{Duration, Instant};

use secrecy::ExposeSecret;

use super::cipher::{new_id, new_key};
use super::master::{self, Master};
use super::{Keys, MAX_AGE, Vault, VaultError};
use crate::{DataKey, Place, SealedRow, Store};

/// Secrets that are written in one transaction: few enough that gateways do not notice.
const BATCH: u32 = 100;

/// How long after a new data key no gateway seals under a former one: all have looked, and what they sealed before is written.
const SETTLED: Duration = MAX_AGE.saturating_mul(3);

/// Pause between two looks for what is still sealed under a former data key.
const PAUSE: Duration = Duration::from_millis(250);

/// How far a rotation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Secrets that were sealed anew.
    pub done: u64,
    /// Those that there are to do.
    pub total: u64,
}

/// What a rotation did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Whether it went on with one that was interrupted, or not finished.
    pub resumed: bool,
    /// Secrets that were sealed anew.
    pub resealed: u64,
    /// Secrets that do not open, and were left as they are.
    pub unreadable: u64,
    /// Whether the former master key is forgotten.
    pub finished: bool,
}

/// Exchanges the keys; or goes on with an exchange that was interrupted. With `finish` the former master key is forgotten in
/// the end; without it, every gateway can start with the former file until this is run again with `finish`.
///
/// # Errors
/// When another process exchanges the keys, when the master key's file cannot be written or is not the latest one, and as
/// [`Vault::open`]. Then every secret can still be opened.
pub async fn rotate(
    master_key: &Path,
    store: &Store,
    finish: bool,
    report: &mut (dyn FnMut(Progress) + Send),
) -> Result<Outcome, VaultError> {
    let _claim = store.try_claim("rotation").await?.ok_or(VaultError::Busy)?;
    let vault = Vault::open(master_key, store).await?;
    let mut rotation = Rotation::new(vault, SETTLED)?;
    let mut outcome = Outcome { resumed: !rotation.add_master().await?, ..Outcome::default() };
    rotation.replace_data_key().await?;
    (outcome.resealed, outcome.unreadable) = rotation.reseal(report).await?;
    rotation.wrap_former_data_keys().await?;
    if finish {
        outcome.finished = rotation.forget_former_master().await?;
    }
    Ok(outcome)
}

/// A rotation under way. Its steps are called in the order they stand in.
pub(super) struct Rotation {
    pub(super) vault: Vault,
    /// As in the file.
    masters: Vec<Master>,
    pub(super) newest: Master,
    settled: Duration,
}

/// What one look for former secrets came to.
#[derive(Default)]
struct Pass {
    resealed: u64,
    unreadable: u64,
}

impl Rotation {
    pub(super) fn new(vault: Vault, settled: Duration) -> Result<Self, VaultError> {
        let masters = vault.inner.file.read()?;
        let newest = masters.last().cloned().ok_or_else(|| vault.inner.file.missing())?;
        Ok(Self { vault, masters, newest, settled })
    }

    fn store(&self) -> &Store {
        &self.vault.inner.store
    }

    /// Adds a new master key to the file, unless there is one that is not in use everywhere yet, and says whether it did.
    pub(super) async fn add_master(&mut self) -> Result<bool, VaultError> {
        let data_keys = self.store().data_keys().await?;
        let mut in_use = data_keys.iter().flat_map(|key| &key.wraps).map(|wrap| &wrap.master_id);
        if let Some(foreign) = in_use.clone().find(|id| !self.masters.iter().any(|master| master.id == **id)) {
            return Err(self.vault.inner.file.elsewhere(foreign));
        }
        let is_settled = self.masters.len() == 1 && in_use.all(|id| *id == self.newest.id);
        if is_settled {
            self.newest = Master::new()?;
            self.masters.push(self.newest.clone());
            self.vault.inner.file.write(&self.masters)?;
        }
        Ok(is_settled)
    }

    /// Stores a new data key, unless the current one is under the new master key already.
    pub(super) async fn replace_data_key(&self) -> Result<(), VaultError> {
        let data_keys = self.store().data_keys().await?;
        if data_keys.first().is_some_and(|current| self.is_under_newest(current)) {
            return Ok(());
        }
        let (id, key) = (new_id()?, new_key()?);
        let wraps = self.masters.iter().map(|master| master.wrap(&id, &key)).collect::<Result<_, _>>()?;
        Ok(self.store().replace_data_key(&id, wraps).await?)
    }

    /// Seals anew what is sealed under a former data key; gives the numbers of secrets that were, and that do not open.
    pub(super) async fn reseal(&self, report: &mut (dyn FnMut(Progress) + Send)) -> Result<(u64, u64), VaultError> {
        let started = Instant::now();
        let keys = self.vault.keys(|_| false).await?;
        let total = self.store().count_sealed_otherwise(&keys.current.0).await?;
        let mut done = 0;
        report(Progress { done, total });
        loop {
            let before = started.elapsed();
            let pass = self.reseal_once(&keys, |batch| {
                done += batch;
                report(Progress { done, total: total.max(done) });
            });
            let pass = pass.await?;
            if pass.resealed == 0 && before >= self.settled {
                return Ok((done, pass.unreadable));
            }
            tokio::time::sleep(PAUSE.min(self.settled)).await;
        }
    }

    async fn reseal_once(&self, keys: &Keys, mut report: impl FnMut(u64)) -> Result<Pass, VaultError> {
        let mut pass = Pass::default();
        let mut after = None;
        loop {
            let rows = self.store().sealed_otherwise(&keys.current.0, after, BATCH).await?;
            let Some(last) = rows.last() else { return Ok(pass) };
            after = Some(last.place.clone());
            let mut resealed = Vec::with_capacity(rows.len());
            for row in rows {
                match self.vault.unseal(&context(&row), &row.sealed).await {
                    Ok(secret) => {
                        let sealed = keys.seal(&context(&row), secret.expose_secret())?;
                        resealed.push((row, sealed));
                    }
                    Err(VaultError::Altered | VaultError::UnknownKey { .. }) => pass.unreadable += 1,
                    Err(error) => return Err(error),
                }
            }
            let written = self.store().write_resealed(resealed).await?;
            pass.resealed += written;
            report(written);
        }
    }

    /// Puts the former data keys under the new master key.
    pub(super) async fn wrap_former_data_keys(&self) -> Result<(), VaultError> {
        let mut wraps = Vec::new();
        for data_key in self.store().data_keys().await? {
            if self.is_under_newest(&data_key) {
                continue;
            }
            let key = master::unwrap(&self.masters, &data_key)?;
            let key = key.ok_or_else(|| VaultError::UnknownKey { key_id: data_key.id.clone() })?;
            let wrap = self.newest.wrap(&data_key.id, &key)?;
            wraps.push((data_key.id, wrap));
        }
        Ok(self.store().wrap_data_keys(wraps).await?)
    }

    /// Forgets the former master keys, unless one of them is still needed, and says whether it did.
    pub(super) async fn forget_former_master(&self) -> Result<bool, VaultError> {
        // The file last: until the store has forgotten them, gateways may need its former keys.
        let is_forgotten = self.store().keep_one_master(&self.newest.id).await?;
        if is_forgotten {
            self.vault.inner.file.write(slice::from_ref(&self.newest))?;
        }
        Ok(is_forgotten)
    }

    fn is_under_newest(&self, data_key: &DataKey) -> bool {
        data_key.wraps.iter().any(|wrap| wrap.master_id == self.newest.id)
    }
}

fn context(row: &SealedRow) -> [&str; 5] {
    match &row.place {
        Place::Integration { .. } => row.holder.secret_context(row.user_identifier.as_deref().unwrap_or_default()),
        Place::Authorization(_) => row.holder.verifier_context(row.user_identifier.as_deref()),
    }
}
