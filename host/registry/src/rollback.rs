//! The operator goes back to an earlier version, or to the shipped connector.

use super::commit::{Candidate, Change, Committed, Expected, FoldersStep, GrantsStep};
use super::files::FileState;
use super::history::{self, Action, Actor};
use super::live::Swapped;
use super::load::{GrantSource, ModuleSource};
use super::origin::Origin;
use super::service::ServiceStep;
use super::trust::signature_of;
use super::versions::Version;
use super::{ChangeError, Registry, module_file};
use store::GrantChange;

impl Registry {
    /// Swaps in the version that was live before the present one, with the grants that it had. A
    /// module that replaces a shipped connector gives way to the shipped one. `to` names another
    /// stored version, by the version in its manifest or by the beginning of its digest.
    ///
    /// # Errors
    /// If no such version is stored, if it is refused now, or if the present one is shipped.
    pub async fn rollback(
        &self,
        identifier: &str,
        to: Option<&str>,
        replaces: Option<i64>,
        by: &Actor,
    ) -> Result<Swapped, ChangeError> {
        contract_rules::name::identifier(identifier).map_err(|_| ChangeError::Unknown(identifier.to_owned()))?;
        self.mirror_versions(identifier).await?;
        loop {
            let expected = Expected::now(self);
            let condition = self.service.condition(identifier, replaces).await?;
            let present = self.present_version(&expected, identifier).await?;
            let Some(version) = self.rollback_target(identifier, to, present.as_ref()).await? else {
                return self.restore_shipped(identifier, "rolled_back", Action::RolledBack, replaces, by).await;
            };
            let (module, signature) = (self.read_module(&version.path)?, signature_of(&version.path)?);
            let granted = self.grants.of_version(identifier, &version.digest).await?;
            let grants = granted.as_deref().map_or(GrantSource::Stored, GrantSource::Exactly);
            let source = ModuleSource::Foreign(signature.as_deref());
            let connector = self.load(&module, Some(identifier), grants, source).await?;
            let change = Change {
                entry: Some(history::entry(&connector, Action::RolledBack, by, String::new())),
                grants: GrantsStep::Swap {
                    previous: present.map(|(_, digest)| digest),
                    change: granted.as_deref().map_or(GrantChange::Add(&[]), GrantChange::Set),
                },
                folders: FoldersStep::Write,
                service: ServiceStep::Publish {
                    condition,
                    replaces_shipped: self.folders.shipped(identifier).is_some(),
                },
                is_noticed: false,
            };
            let candidate = Candidate { connector, module: &module, outcome: "rolled_back" };
            let ended = self.commit(&expected, candidate, change).await;
            if let Committed::Done(swapped) = Committed::again_unless_named(ended, replaces)? {
                return Ok(swapped);
            }
        }
    }

    /// Makes the shipped connector live again, and removes the module that replaced it.
    pub(super) async fn restore_shipped(
        &self,
        identifier: &str,
        outcome: &'static str,
        action: Action,
        replaces: Option<i64>,
        by: &Actor,
    ) -> Result<Swapped, ChangeError> {
        loop {
            let expected = Expected::now(self);
            let condition = self.service.condition(identifier, replaces).await?;
            let path = self.folders.shipped(identifier).ok_or_else(|| ChangeError::Unknown(identifier.to_owned()))?;
            let state = FileState::read(&path, Origin::Shipped)?;
            let module = self.read_module(&path)?;
            let source = ModuleSource::Shipped;
            let connector = self.load(&module, Some(identifier), GrantSource::Exactly(&[]), source).await?;
            let detail = "the connector that came with the gateway is live again".to_owned();
            let change = Change {
                entry: Some(history::entry(&connector, action, by, detail)),
                // A shipped connector needs no grants. The store keeps the grants of the module
                // that replaced it.
                grants: match action {
                    Action::Removed => GrantsStep::Forget,
                    _ => GrantsStep::Swap {
                        previous: self.present_digest(identifier).await?,
                        change: GrantChange::Set(&[]),
                    },
                },
                folders: FoldersStep::Restore(path, state),
                service: ServiceStep::Withdraw(condition),
                is_noticed: false,
            };
            let candidate = Candidate { connector, module: &module, outcome };
            let ended = self.commit(&expected, candidate, change).await;
            if let Committed::Done(swapped) = Committed::again_unless_named(ended, replaces)? {
                return Ok(swapped);
            }
        }
    }

    /// The origin and the digest of the live version, else of the refused file in `modules_dir`.
    async fn present_version(
        &self,
        expected: &Expected,
        identifier: &str,
    ) -> Result<Option<(Origin, String)>, ChangeError> {
        if self.service.is_shared()
            && let Some(live) = self.service.store().modules().live_of(identifier).await?
            && let Some(digest) = live.digest
        {
            return Ok(Some((Origin::Foreign, digest)));
        }
        if let Some(live) = expected.live(identifier) {
            return Ok(Some((live.origin(), live.digest().to_owned())));
        }
        let path = self.folders.foreign(identifier);
        let digest = module_file::digest_of(&path, self.config.compile.max_module_mb).await;
        Ok(digest.map(|digest| (Origin::Foreign, digest)))
    }

    /// The foreign version that a rollback leads to. `None` if it leads to the shipped connector.
    async fn rollback_target(
        &self,
        identifier: &str,
        to: Option<&str>,
        present: Option<&(Origin, String)>,
    ) -> Result<Option<Version>, ChangeError> {
        let is_shipped = self.folders.shipped(identifier).is_some();
        if is_shipped && present.is_none_or(|(origin, _)| *origin == Origin::Shipped) {
            return Err(ChangeError::Shipped(identifier.to_owned()));
        }
        let present = present.map(|(origin, digest)| (*origin, digest.as_str()));
        let target = match to {
            None => self.versions.previous(identifier, present)?,
            Some(to) => Some(self.find_version(identifier, to, present).await?),
        };
        match target.filter(|version| version.origin == Origin::Foreign) {
            None if is_shipped => Ok(None),
            None if present.is_none() => Err(ChangeError::Unknown(identifier.to_owned())),
            None => Err(ChangeError::NoEarlierVersion(identifier.to_owned())),
            found => Ok(found),
        }
    }
}
