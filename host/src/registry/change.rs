//! Changes by the operator: install, remove, roll back.

use std::fs;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use thiserror::Error;

use super::scan::seen;
use super::{Connector, Refusal, Registry, connector};
use store::StoreError;

/// Why a change was not made.
#[derive(Debug, Error)]
pub enum ChangeError {
    /// The module is refused, with the reason.
    #[error("{0}")]
    Refused(String),
    /// No connector of this name is installed.
    #[error("no connector `{0}` is installed")]
    Unknown(String),
    /// No earlier version of the connector is stored.
    #[error("no earlier version of `{0}` is stored")]
    NoEarlierVersion(String),
    /// A grant is not a host or a wildcard.
    #[error("`{0}` is not a host name; write it like api.example.com, or *.example.com for link hosts")]
    InvalidHost(String),
    /// The modules folder or the folder of versions cannot be changed.
    #[error("the modules cannot be changed: {0}")]
    Io(#[from] io::Error),
    /// The grants cannot be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Registry {
    /// Installs a module under the identifier of its manifest, or swaps it for the live version. `grants` replaces the former
    /// grants; `None` leaves them.
    ///
    /// # Errors
    /// If the module is refused, or if files or grants cannot be written. The live version then stays live.
    pub async fn install(&self, module: Bytes, grants: Option<&[String]>) -> Result<Arc<Connector>, ChangeError> {
        for host in grants.unwrap_or_default() {
            if !connector::is_grant(host) {
                return Err(ChangeError::InvalidHost(host.clone()));
            }
        }
        let refused = |refusal: Refusal| ChangeError::Refused(refusal.to_string());
        loop {
            let version = self.grants_version();
            let candidate = self.load(&module, None, grants).await.map_err(refused)?;
            let mut files = self.files.lock().await;
            if grants.is_none() && self.grants_version() != version {
                continue;
            }
            let candidate = self.still_named_well(candidate).map_err(refused)?;
            let identifier = candidate.manifest().identifier.clone();
            if let Some(grants) = grants {
                self.grants_changed.fetch_add(1, Ordering::Release);
                self.store.set_grants(&identifier, grants).await?;
            }
            let path = self.path(&identifier);
            store::files::write_atomically(&path, |file| file.write_all(&module))?;
            files.changing.remove(&path);
            files.settled.insert(path.clone(), seen(&fs::metadata(&path)?)?);
            return Ok(self.activate(&path, candidate, &module, "installed"));
        }
    }

    /// Removes a connector. Calls under way end normally.
    ///
    /// # Errors
    /// If it is not installed, or if its file cannot be removed.
    pub async fn remove(&self, identifier: &str) -> Result<(), ChangeError> {
        let mut files = self.files.lock().await;
        let path = self.path(identifier);
        if contract::name::identifier(identifier).is_err() || !path.exists() && self.get(identifier).is_none() {
            return Err(ChangeError::Unknown(identifier.to_owned()));
        }
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        files.settled.remove(&path);
        files.changing.remove(&path);
        self.retire(&path);
        Ok(())
    }

    /// Swaps in the version that was live before the present one.
    ///
    /// # Errors
    /// If no earlier version is stored, or if it is refused now.
    pub async fn rollback(&self, identifier: &str) -> Result<Arc<Connector>, ChangeError> {
        if contract::name::identifier(identifier).is_err() {
            return Err(ChangeError::Unknown(identifier.to_owned()));
        }
        let path = self.path(identifier);
        loop {
            let version = self.grants_version();
            let live = self.get(identifier);
            let present = match &live {
                Some(live) => Some(live.digest().to_owned()),
                // If no version is live, the present one is the refused file.
                None => self.digest_of(&path).await,
            };
            let Some(module) = self.versions.before(identifier, present.as_deref())? else {
                return Err(match present {
                    Some(_) => ChangeError::NoEarlierVersion(identifier.to_owned()),
                    None => ChangeError::Unknown(identifier.to_owned()),
                });
            };
            let candidate = self
                .load(&module, Some(identifier), None)
                .await
                .map_err(|refusal| ChangeError::Refused(refusal.to_string()))?;
            let mut files = self.files.lock().await;
            let is_same = match (&live, self.get(identifier)) {
                (Some(before), Some(now)) => Arc::ptr_eq(before, &now),
                (before, now) => before.is_none() && now.is_none(),
            };
            if !is_same || self.grants_version() != version {
                continue;
            }
            store::files::write_atomically(&path, |file| file.write_all(&module))?;
            files.changing.remove(&path);
            files.settled.insert(path.clone(), seen(&fs::metadata(&path)?)?);
            return Ok(self.activate(&path, candidate, &module, "rolled_back"));
        }
    }
}
