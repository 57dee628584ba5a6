//! How a connector is removed: by the operator, by another gateway, or with its file.

use super::{Committed, Expected, warn_of_unwritten};
use crate::files::KnownFiles;
use crate::history::{self, Actor};
use crate::{ChangeError, Registry};
use store::{GrantStep, ModuleChange, ModuleCondition, ModuleOutcome};

impl Registry {
    /// Removes a connector: its files, its place in the table, and the grants of all its versions.
    /// Returns the generation of the removal.
    ///
    /// # Errors
    /// If history, folders or grants cannot be written.
    pub(crate) async fn commit_removal(
        &self,
        expected: &Expected,
        identifier: &str,
        condition: ModuleCondition,
        by: &Actor,
    ) -> Result<Committed<i64>, ChangeError> {
        let mut files = self.files.lock().await;
        if expected.has_changed(self, &files, identifier) {
            return Ok(Committed::Retry);
        }
        let live = expected.live(identifier);
        let change = ModuleChange {
            connector: identifier.to_owned(),
            module: None,
            condition,
            entry: history::removal(identifier, live.map(|live| &**live), by),
            is_noticed: false,
            grants: GrantStep::Forget,
        };
        self.grants.count_change(identifier);
        let generation = match self.service.change(change).await? {
            ModuleOutcome::Changed(generation) => generation,
            ModuleOutcome::Unchanged(generation) => {
                return Err(ChangeError::ChangedMeanwhile { connector: identifier.to_owned(), generation });
            }
        };
        // The store has removed it already.
        self.remove_foreign(&mut files, identifier).map_err(ChangeError::after_change)?;
        if live.is_some_and(|live| !live.is_shipped()) {
            self.retire(identifier);
        }
        self.service.note_served(identifier, generation);
        Ok(Committed::Done(generation))
    }

    /// Removes a connector that the service no longer has: its files, and its place in the table.
    pub(crate) async fn commit_followed_removal(
        &self,
        expected: &Expected,
        identifier: &str,
        generation: i64,
    ) -> Result<Committed<()>, ChangeError> {
        let mut files = self.files.lock().await;
        if expected.has_changed(self, &files, identifier) {
            return Ok(Committed::Retry);
        }
        self.remove_foreign(&mut files, identifier)?;
        if expected.live(identifier).is_some_and(|live| !live.is_shipped()) {
            self.retire(identifier);
        }
        self.service.note_served(identifier, generation);
        Ok(Committed::Done(()))
    }

    /// Removes the connector of a file that no longer exists. Its grants stay for the next file.
    /// The caller holds the lock.
    pub(crate) async fn commit_missing_file(&self, identifier: &str) {
        let Some(live) = self.get(identifier) else { return };
        if self.service.is_shared() && !live.is_shipped() {
            // A command that removed the connector has deleted the file too. The gateway follows.
            if let Ok(Some(present)) = self.service.store().modules().live_of(identifier).await
                && present.digest.is_none()
            {
                return;
            }
            tracing::warn!(
                connector = identifier,
                "the file of a connector was deleted, but the connector belongs to all gateways on this database and \
                 stays; `connector-gateway connectors remove {identifier}` removes it"
            );
            return;
        }
        let by = Actor::of_file(live.origin());
        let entry = history::removal(identifier, Some(&live), &by);
        if live.is_shipped() {
            if let Err(error) = self.history.add_noticed(entry, GrantStep::Unchanged).await {
                warn_of_unwritten("history", identifier, &error.into());
            }
        } else {
            let change = ModuleChange {
                connector: identifier.to_owned(),
                module: None,
                condition: ModuleCondition::OtherModule,
                entry,
                is_noticed: true,
                grants: GrantStep::Unchanged,
            };
            match self.service.change(change).await {
                Ok(ModuleOutcome::Changed(generation) | ModuleOutcome::Unchanged(generation)) => {
                    self.service.note_served(identifier, generation);
                }
                Err(error) => warn_of_unwritten("history", identifier, &error.into()),
            }
        }
        self.retire(identifier);
    }

    /// Removes the files of a foreign module, and all that the gateway knows of them.
    pub(super) fn remove_foreign(&self, files: &mut KnownFiles, identifier: &str) -> Result<(), ChangeError> {
        self.folders.remove(identifier)?;
        let path = self.folders.foreign(identifier);
        files.forget(&path);
        self.forget_refusal(&path);
        Ok(())
    }
}
