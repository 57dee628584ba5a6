//! Changes of versions by the operator: install, remove, roll back.

use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use thiserror::Error;

use super::folders::{Origin, Seen};
use super::grants::{check_hosts, check_named};
use super::journal::{Action, Actor};
use super::load::{Arrival, Grants};
use super::scan::Files;
use super::trust::signature_of;
use super::{Connector, Refusal, Registry};
use store::{GrantChange, StoreError};

/// Why a change was not made.
#[derive(Debug, Error)]
pub enum ChangeError {
    /// The module is refused, with the reason.
    #[error("{0}")]
    Refused(String),
    /// The module cannot be checked at this moment.
    #[error("the module cannot be checked now, so try again: {0}")]
    NotNow(String),
    /// No connector of this name is installed.
    #[error("no connector `{0}` is installed")]
    Unknown(String),
    /// No earlier version of the connector is stored.
    #[error("no earlier version of `{0}` is stored")]
    NoEarlierVersion(String),
    /// No stored version of the connector has this version or digest.
    #[error(
        "no other stored version of `{connector}` is `{version}`; `connector-gateway connectors versions {connector}` lists them"
    )]
    NoSuchVersion {
        /// The connector's identifier.
        connector: String,
        /// The version or the beginning of a digest.
        version: String,
    },
    /// An update asks for more than the version before.
    #[error("`{connector}` {version} asks for more than the version before, which stays: {}", more.join(", "))]
    AsksForMore {
        /// The connector's identifier.
        connector: String,
        /// The version of the update.
        version: String,
        /// The further permissions that it asks for.
        more: Vec<String>,
    },
    /// The connector came with the gateway, which never changes `shipped_dir`.
    #[error(
        "`{0}` came with the gateway, which never changes `shipped_dir`; put another module in its place with \
         `connector-gateway connectors add --replace-shipped FILE`, or change the files of `shipped_dir`"
    )]
    Shipped(String),
    /// A shipped connector is granted a host.
    #[error("`{0}` came with the gateway, and reaches the hosts of its manifest without grants")]
    NeedsNoGrants(String),
    /// A grant is not a host or a wildcard.
    #[error("`{0}` is not a host name; write it like api.example.com, or *.example.com for link hosts")]
    InvalidHost(String),
    /// A host is granted that the connector does not name.
    #[error("no upstream of `{connector}` names `{host}`, so it cannot be granted; {named}")]
    UnnamedHost {
        /// The connector's identifier.
        connector: String,
        /// The host.
        host: String,
        /// Says which hosts the connector names.
        named: String,
    },
    /// A host is revoked that is not granted.
    #[error(
        "`{host}` is not granted to `{connector}`; `connector-gateway connectors grants {connector}` lists its grants"
    )]
    NotGranted {
        /// The connector's identifier.
        connector: String,
        /// The host.
        host: String,
    },
    /// The modules folder or the folder of versions cannot be changed.
    #[error("the modules cannot be changed: {0}")]
    Io(#[from] io::Error),
    /// The grants cannot be read or stored.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The operator's word about a module that is installed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Installation<'a> {
    /// Hosts that are granted, besides those that are granted already.
    pub grants: &'a [String],
    /// `true` if the module may ask for more than the version before.
    pub accepts: bool,
    /// `true` if the module may take the place of the shipped connector of its identifier.
    pub replaces_shipped: bool,
    /// The text of the module's signature.
    pub signature: Option<&'a str>,
}

impl Registry {
    /// Installs a module under the identifier of its manifest, or swaps it for the live version.
    ///
    /// # Errors
    /// If the module is refused, or if files or grants cannot be written. The live version then stays live.
    pub async fn install(
        &self,
        module: Bytes,
        word: Installation<'_>,
        by: &Actor,
    ) -> Result<Arc<Connector>, ChangeError> {
        let Installation { grants, accepts, replaces_shipped, signature } = word;
        let arrival = Arrival::Foreign(signature);
        check_hosts(grants)?;
        loop {
            let version = self.grants_version();
            let candidate = self.load(&module, None, Grants::Added(grants), arrival).await.map_err(refused)?;
            check_named(&candidate, grants)?;
            let more = self.more_than_accepted(&candidate).await.map_err(refused)?;
            if !accepts && !more.is_empty() {
                let manifest = candidate.manifest();
                let (connector, version) = (manifest.identifier.clone(), manifest.version.clone());
                return Err(ChangeError::AsksForMore { connector, version, more });
            }
            let mut files = self.files.lock().await;
            if self.grants_version() != version {
                continue;
            }
            let candidate = self.still_named_well(candidate).map_err(refused)?;
            let identifier = candidate.manifest().identifier.clone();
            let present = self.present(&identifier);
            if !replaces_shipped {
                self.permit(Origin::Foreign, &identifier, candidate.digest()).map_err(refused)?;
            } else if self.folders.shipped(&identifier).is_some() {
                // Before the file, because a running gateway refuses the file without it.
                self.folders.replace(&identifier, candidate.digest())?;
            }
            let action = if present.is_some() { Action::Replaced } else { Action::Added };
            let details = [("granted", grants), ("accepted", &more)].into_iter().filter(|(_, list)| !list.is_empty());
            let details: Vec<String> = details.map(|(what, list)| format!("{what} {}", list.join(", "))).collect();
            self.note(&candidate, action, by, details.join("; ")).await?;
            self.grants_changed.fetch_add(1, Ordering::Release);
            let added = GrantChange::Add(grants);
            self.store.swap_grants(&identifier, present.as_deref(), candidate.digest(), added).await?;
            return self.put(&mut files, candidate, &module, "installed");
        }
    }

    /// Writes the file of a foreign module and makes the module live.
    fn put(
        &self,
        files: &mut Files,
        candidate: Connector,
        module: &[u8],
        outcome: &'static str,
    ) -> Result<Arc<Connector>, ChangeError> {
        // Before the file, because a running gateway refuses a file that asks for more without it.
        self.folders.accept(candidate.name(), candidate.digest())?;
        let signature = candidate.signed().map(|signed| signed.signature.as_str());
        let path = self.folders.write(candidate.name(), module, signature)?;
        files.settle(path.clone(), Seen::now(&path, Origin::Foreign)?);
        Ok(self.activate(candidate, module, outcome))
    }

    /// Removes a connector, and forgets its grants. If it was put in the place of a shipped one, that one is live again. Calls under
    /// way end normally.
    ///
    /// # Errors
    /// If it is not installed, if it is a shipped one, or if its file cannot be removed.
    pub async fn remove(&self, identifier: &str, by: &Actor) -> Result<(), ChangeError> {
        let unknown = || ChangeError::Unknown(identifier.to_owned());
        if contract_rules::name::identifier(identifier).is_err() {
            return Err(unknown());
        }
        let is_replaced = self.get(identifier).is_some_and(|live| self.would_replace_shipped(&live));
        if is_replaced {
            match self.restore(identifier, "restored", Action::Removed, by).await {
                Ok(_) => return Ok(self.forget_grants(identifier).await?),
                // The module goes all the same. The shipped one is refused again when the folders are read.
                Err(ChangeError::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        let mut files = self.files.lock().await;
        let shipped = self.folders.shipped(identifier);
        if self.folders.file(Origin::Foreign, identifier).is_none() {
            match (shipped, self.get(identifier)) {
                (Some(_), _) => return Err(ChangeError::Shipped(identifier.to_owned())),
                (None, None) => return Err(unknown()),
                (None, Some(_)) => {}
            }
        }
        self.note_removal(identifier, self.get(identifier).as_deref(), by).await?;
        self.forget_foreign(&mut files, identifier)?;
        if self.get(identifier).is_some_and(|live| !live.is_shipped()) {
            self.retire(identifier);
        }
        Ok(self.forget_grants(identifier).await?)
    }

    /// Swaps in the version that was live before the present one, with the grants that it had. In place of a replaced one, that is
    /// the shipped connector. `to` names another stored version, by the version in its manifest or by the beginning of its digest.
    ///
    /// # Errors
    /// If no such version is stored, if it is refused now, or if the present one is shipped.
    pub async fn rollback(
        &self,
        identifier: &str,
        to: Option<&str>,
        by: &Actor,
    ) -> Result<Arc<Connector>, ChangeError> {
        if contract_rules::name::identifier(identifier).is_err() {
            return Err(ChangeError::Unknown(identifier.to_owned()));
        }
        let path = self.folders.foreign(identifier);
        loop {
            let version = self.grants_version();
            let live = self.get(identifier);
            let present = match &live {
                Some(live) => Some((live.origin(), live.digest().to_owned())),
                // If no version is live, the present one is the refused file.
                None => self.digest_of(&path).await.map(|digest| (Origin::Foreign, digest)),
            };
            let is_shipped = self.folders.shipped(identifier).is_some();
            if is_shipped && present.as_ref().is_none_or(|(origin, _)| *origin == Origin::Shipped) {
                return Err(ChangeError::Shipped(identifier.to_owned()));
            }
            let before = present.as_ref().map(|(origin, digest)| (*origin, digest.as_str()));
            let former = match to {
                None => self.versions.before(identifier, before)?,
                Some(to) => Some(self.version_named(identifier, to, before).await?),
            };
            let former = former.filter(|former| former.origin == Origin::Foreign || is_shipped);
            let former = match former {
                Some(former) if former.origin == Origin::Foreign => former,
                _ if is_shipped => return self.restore(identifier, "rolled_back", Action::RolledBack, by).await,
                _ => {
                    return Err(match present {
                        Some(_) => ChangeError::NoEarlierVersion(identifier.to_owned()),
                        None => ChangeError::Unknown(identifier.to_owned()),
                    });
                }
            };
            let (module, signature) = (fs::read(&former.path)?, signature_of(&former.path)?);
            let granted = self.store.former_grants(identifier, &former.digest).await?;
            let grants = granted.as_deref().map_or(Grants::Stored, Grants::Exactly);
            let candidate = self
                .load(&module, Some(identifier), grants, Arrival::Foreign(signature.as_deref()))
                .await
                .map_err(refused)?;
            let mut files = self.files.lock().await;
            if !self.is_still(identifier, live.as_ref()) || self.grants_version() != version {
                continue;
            }
            if is_shipped {
                self.folders.replace(identifier, candidate.digest())?;
            }
            self.note(&candidate, Action::RolledBack, by, String::new()).await?;
            self.grants_changed.fetch_add(1, Ordering::Release);
            let change = granted.as_deref().map_or(GrantChange::Add(&[]), GrantChange::Set);
            let present = present.as_ref().map(|(_, digest)| digest.as_str());
            self.store.swap_grants(identifier, present, candidate.digest(), change).await?;
            return self.put(&mut files, candidate, &module, "rolled_back");
        }
    }

    /// Makes the shipped connector live again, and removes the module that was put in its place.
    async fn restore(
        &self,
        identifier: &str,
        outcome: &'static str,
        action: Action,
        by: &Actor,
    ) -> Result<Arc<Connector>, ChangeError> {
        loop {
            let version = self.grants_version();
            let live = self.get(identifier);
            let path = self.folders.shipped(identifier).ok_or_else(|| ChangeError::Unknown(identifier.to_owned()))?;
            let seen = Seen::now(&path, Origin::Shipped)?;
            let module = fs::read(&path)?;
            let candidate =
                self.load(&module, Some(identifier), Grants::Exactly(&[]), Arrival::Shipped).await.map_err(refused)?;
            let mut files = self.files.lock().await;
            if !self.is_still(identifier, live.as_ref()) || self.grants_version() != version {
                continue;
            }
            self.note(&candidate, action, by, "the connector that came with the gateway is live again".to_owned())
                .await?;
            // A shipped connector needs no grants. Those of the module in its place are kept for it.
            self.grants_changed.fetch_add(1, Ordering::Release);
            let present = self.present(identifier);
            self.store.swap_grants(identifier, present.as_deref(), candidate.digest(), GrantChange::Set(&[])).await?;
            self.forget_foreign(&mut files, identifier)?;
            files.settle(path, seen);
            return Ok(self.activate(candidate, &module, outcome));
        }
    }

    /// Removes the file of a foreign module and all that is known of the file.
    fn forget_foreign(&self, files: &mut Files, identifier: &str) -> Result<(), ChangeError> {
        self.folders.remove(identifier)?;
        let path = self.folders.foreign(identifier);
        files.forget(&path);
        self.forget_refusal(&path);
        Ok(())
    }

    /// `true` if this version of a connector is still the live one.
    fn is_still(&self, identifier: &str, before: Option<&Arc<Connector>>) -> bool {
        match (before, self.get(identifier)) {
            (Some(before), Some(now)) => Arc::ptr_eq(before, &now),
            (before, now) => before.is_none() && now.is_none(),
        }
    }
}

pub(super) fn refused(refusal: Refusal) -> ChangeError {
    match refusal {
        Refusal::Store(error) => ChangeError::Store(error),
        Refusal::Passing(reason) => ChangeError::NotNow(reason),
        Refusal::Module(_) | Refusal::Settings(_) => ChangeError::Refused(refusal.to_string()),
    }
}
