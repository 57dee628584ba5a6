//! The durable part of a change: the store first, then the folders.

use std::io;

use super::{Change, Committed, FoldersStep, GrantsStep, warn_of_unwritten};
use crate::files::{FileState, KnownFiles};
use crate::origin::Origin;
use crate::record::Record;
use crate::service::ServiceStep;
use crate::{ChangeError, Registry};
use store::{GrantStep, GrantSwap, ModuleChange, ModuleCondition, ModuleOutcome, NewChange, NewModule, StoreError};

impl Registry {
    /// Makes the durable part of a change: store, then folders. Returns the generation that the
    /// change leads to, if it belongs to the service.
    pub(super) async fn persist(
        &self,
        files: &mut KnownFiles,
        record: &Record<'_>,
        change: Change<'_>,
    ) -> Result<Committed<Option<i64>>, ChangeError> {
        let Change { entry, grants, folders, service, is_noticed } = change;
        let may_fail = is_noticed && !(self.service.is_shared() && record.origin == Origin::Foreign);
        let generation = match self.persist_in_store(record, entry, grants, service, is_noticed).await {
            Ok(Committed::Done(generation)) => generation,
            Ok(Committed::Retry) => return Ok(Committed::Retry),
            Err(error) if may_fail => {
                warn_of_unwritten("store", record.identifier, &error);
                None
            }
            Err(error) => return Err(error),
        };
        match self.persist_in_folders(files, record, folders) {
            Ok(()) => {}
            // The service has changed already. The next start takes the module from the store.
            Err(error) if is_noticed || self.service.is_shared() && generation.is_some() => {
                warn_of_unwritten("folders", record.identifier, &error);
            }
            Err(error) => return Err(error.after_change()),
        }
        Ok(Committed::Done(generation))
    }

    /// Makes the part of a change that the store keeps, in one transaction.
    async fn persist_in_store(
        &self,
        record: &Record<'_>,
        entry: Option<NewChange>,
        grants: GrantsStep<'_>,
        service: ServiceStep,
        is_noticed: bool,
    ) -> Result<Committed<Option<i64>>, ChangeError> {
        let (condition, replaces_shipped) = match service {
            ServiceStep::Publish { condition, replaces_shipped } => (condition, Some(replaces_shipped)),
            ServiceStep::Withdraw(condition) => (condition, None),
            ServiceStep::Follow(generation) => return Ok(Committed::Done(Some(generation))),
            ServiceStep::Unchanged => {
                self.note(record, entry, grants, is_noticed).await?;
                return Ok(Committed::Done(None));
            }
        };
        let Some(entry) = entry else { return Ok(Committed::Done(None)) };
        let grants = self.step_of(record, grants);
        let module = replaces_shipped.map(|replaces_shipped| NewModule {
            digest: record.digest.to_owned(),
            version: entry.version.clone(),
            bytes: record.module.into(),
            signature: record.signature.map(str::to_owned),
            replaces_shipped,
        });
        let connector = record.identifier.to_owned();
        let change = ModuleChange { connector: connector.clone(), module, condition, entry, is_noticed, grants };
        match (self.service.change(change).await?, condition) {
            (ModuleOutcome::Unchanged(generation), ModuleCondition::Generation(_)) => {
                Err(ChangeError::ChangedMeanwhile { connector, generation })
            }
            // Another gateway has brought the module in the meantime.
            (ModuleOutcome::Unchanged(_), ModuleCondition::NewModule) => Ok(Committed::Retry),
            (ModuleOutcome::Changed(generation) | ModuleOutcome::Unchanged(generation), _) => {
                Ok(Committed::Done(Some(generation)))
            }
        }
    }

    /// Adds a change that the service does not follow to the history, with its change of the grants.
    async fn note(
        &self,
        record: &Record<'_>,
        entry: Option<NewChange>,
        grants: GrantsStep<'_>,
        is_noticed: bool,
    ) -> Result<(), StoreError> {
        match (entry, self.step_of(record, grants)) {
            (Some(entry), grants) if is_noticed => self.history.add_noticed(entry, grants).await,
            (Some(entry), grants) => self.history.add(entry, grants).await,
            (None, GrantStep::Swap(swap)) => self.grants.swap(record.identifier, swap).await,
            (None, GrantStep::Unchanged | GrantStep::Forget) => Ok(()),
        }
    }

    /// The change of the grants, as the store makes it. A candidate that is being made of the
    /// previous grants is made again.
    fn step_of(&self, record: &Record<'_>, grants: GrantsStep<'_>) -> GrantStep {
        let step = match grants {
            GrantsStep::Unchanged => return GrantStep::Unchanged,
            GrantsStep::Forget => GrantStep::Forget,
            GrantsStep::Swap { previous, change } => {
                GrantStep::Swap(GrantSwap::new(previous.as_deref(), record.digest, change))
            }
        };
        self.grants.count_change(record.identifier);
        step
    }

    /// Makes the part of a change that the folders keep.
    fn persist_in_folders(
        &self,
        files: &mut KnownFiles,
        record: &Record<'_>,
        folders: FoldersStep,
    ) -> Result<(), ChangeError> {
        match folders {
            FoldersStep::Unchanged => {}
            FoldersStep::Accept => self.with_version(record, || self.folders.accept(record))?,
            FoldersStep::Write => {
                let path = self.with_version(record, || self.folders.keep(record))?;
                files.mark_handled(path.clone(), FileState::read(&path, Origin::Foreign)?);
            }
            FoldersStep::Restore(path, state) => {
                self.remove_foreign(files, record.identifier)?;
                files.mark_handled(path, state);
            }
        }
        Ok(())
    }

    /// Stores a version, and then writes its marks. If they cannot be written, the versions are
    /// those from before.
    fn with_version<T>(&self, record: &Record<'_>, write: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let before = self.versions.live_at(record);
        let written = self.versions.store(record).and_then(|()| write());
        if written.is_err() {
            // The caller gets the first error.
            let _ = self.versions.take_back(record, before);
        }
        written
    }
}
