//! The one place where live connectors change.
//!
//! A change prepares a candidate without the lock of [`KnownFiles`], so that a module that compiles
//! for a long time delays no other one. [`Expected`] has the state that the candidate was made of.
//! The commit then takes the lock and makes the change in this order:
//!
//! 1. If the state has changed since, nothing happens. The caller gets [`Committed::Retry`], and
//!    makes its candidate again.
//! 2. The history gets its entry. A gateway that notices the new file then adds no second
//!    entry.
//! 3. The store keeps the grants of the previous version and gets those of the new one. A gateway
//!    that notices the new file then loads it with the right grants.
//! 4. The folders get the marks, the signature and the module. The next start loads what they have.
//! 5. The table of live connectors is exchanged.
//! 6. If a connector is removed, its grants are deleted.
//!
//! If a step fails, the later ones do not happen. The live connector then stays live, and a restart
//! makes the same one live, because the folders still have its module. Grants that step 3 has
//! changed stay changed: a running gateway makes the live connector again with them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::files::{FileState, KnownFiles};
use super::history::{self, Actor};
use super::origin::Origin;
use super::record::Record;
use super::{ChangeError, Connector, Live, Refusal, Registry, provider_names};
use store::{GrantChange, NewChange};

/// The state that a candidate was made of.
pub(super) struct Expected {
    grants: u64,
    live: Arc<Live>,
    /// The file that the candidate was read from, if the gateway found it in a folder.
    file: Option<(PathBuf, FileState)>,
}

/// A connector that may become live.
pub(super) struct Candidate<'a> {
    pub(super) connector: Connector,
    pub(super) module: &'a [u8],
    /// The outcome in the log and in the metric of swaps.
    pub(super) outcome: &'static str,
}

/// The durable part of a change that makes a candidate live. The default changes nothing durable.
#[derive(Default)]
pub(super) struct Change<'a> {
    /// The entry in the history.
    pub(super) entry: Option<NewChange>,
    pub(super) grants: GrantsStep<'a>,
    pub(super) folders: FoldersStep,
    /// `true` if the gateway noticed the change in a folder. The next start would load the file in
    /// any case, so the gateway only logs that history, grants or marks could not be written.
    pub(super) is_noticed: bool,
}

/// The change of the grants in the store.
#[derive(Default)]
pub(super) enum GrantsStep<'a> {
    #[default]
    Unchanged,
    /// The grants of the version `previous` are kept, and the candidate gets the changed grants.
    Swap { previous: Option<String>, change: GrantChange<'a> },
}

/// The change of the folders of modules.
#[derive(Default)]
pub(super) enum FoldersStep {
    #[default]
    Unchanged,
    /// The module is in its folder already. The operator's acceptance is recorded.
    Accept,
    /// The module is written, with its signature and its marks.
    Write,
    /// The foreign module is removed. The shipped module at this path, in this state, is live
    /// again.
    Restore(PathBuf, FileState),
}

/// The end of an attempt to commit a change.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Committed<T> {
    Done(T),
    /// Nothing was changed, because the expected state has changed.
    Retry,
}

/// A file that does not become live, with the reason.
pub(super) struct Rejection<'a> {
    pub(super) path: &'a Path,
    /// SHA-256 of the module in hexadecimal digits. Empty if it could not be read.
    pub(super) digest: &'a str,
    pub(super) refusal: Refusal,
}

/// The connector that serves after a file was rejected.
pub(super) enum Remaining<'a> {
    /// The one that is live.
    Present,
    /// An earlier version.
    Previous(Box<Candidate<'a>>),
    /// No version.
    Nothing,
}

impl Expected {
    /// The present state.
    pub(super) fn now(registry: &Registry) -> Self {
        Self { grants: registry.grants.version(), live: Arc::clone(&registry.live()), file: None }
    }

    /// The present state, and a file that was handled in this state.
    pub(super) fn with_file(registry: &Registry, path: &Path, state: &FileState) -> Self {
        Self { file: Some((path.to_owned(), state.clone())), ..Self::now(registry) }
    }

    /// The connector that was live.
    pub(super) fn live(&self, identifier: &str) -> Option<&Arc<Connector>> {
        self.live.get(identifier)
    }

    fn has_changed(&self, registry: &Registry, files: &KnownFiles, identifier: &str) -> bool {
        let is_same_version = match (self.live(identifier), registry.get(identifier)) {
            (Some(before), Some(now)) => Arc::ptr_eq(before, &now),
            (before, now) => before.is_none() && now.is_none(),
        };
        let is_same_file = self.file.as_ref().is_none_or(|(path, state)| files.is_handled(path, state));
        !is_same_version || !is_same_file || self.grants != registry.grants.version()
    }
}

impl<T> Committed<T> {
    pub(super) fn map<U>(self, result: impl FnOnce(T) -> U) -> Committed<U> {
        match self {
            Self::Done(done) => Committed::Done(result(done)),
            Self::Retry => Committed::Retry,
        }
    }
}

impl Registry {
    /// Makes a candidate live.
    ///
    /// # Errors
    /// If history, grants or folders cannot be written. The live connector is then still live.
    pub(super) async fn commit(
        &self,
        expected: &Expected,
        candidate: Candidate<'_>,
        change: Change<'_>,
    ) -> Result<Committed<Arc<Connector>>, ChangeError> {
        let mut files = self.files.lock().await;
        let record = Record::for_connector(&candidate.connector, candidate.module);
        if expected.has_changed(self, &files, record.identifier) || self.took_identifier(&record) {
            return Ok(Committed::Retry);
        }
        self.persist(&mut files, &record, change).await?;
        Ok(Committed::Done(self.activate(candidate)))
    }

    /// Removes a connector: its files, its place in the table, and the grants of all its versions.
    ///
    /// # Errors
    /// If history, folders or grants cannot be written.
    pub(super) async fn commit_removal(
        &self,
        expected: &Expected,
        identifier: &str,
        by: &Actor,
    ) -> Result<Committed<()>, ChangeError> {
        let mut files = self.files.lock().await;
        if expected.has_changed(self, &files, identifier) {
            return Ok(Committed::Retry);
        }
        let live = expected.live(identifier);
        self.history.add(history::removal(identifier, live.map(|live| &**live), by)).await?;
        self.remove_foreign(&mut files, identifier)?;
        if live.is_some_and(|live| !live.is_shipped()) {
            self.retire(identifier);
        }
        self.grants.delete(identifier).await?;
        Ok(Committed::Done(()))
    }

    /// Removes the connector of a file that no longer exists. Its grants stay for the next file.
    /// The caller holds the lock.
    pub(super) async fn commit_missing_file(&self, identifier: &str) {
        let Some(live) = self.get(identifier) else { return };
        let by = Actor::of_file(live.origin());
        if let Err(error) = self.history.add_noticed(history::removal(identifier, Some(&live), &by)).await {
            warn_of_unwritten("history", identifier, &error.into());
        }
        self.retire(identifier);
    }

    /// Rejects a file, and makes `remaining` live.
    pub(super) async fn commit_rejection(
        &self,
        expected: &Expected,
        rejection: Rejection<'_>,
        remaining: Remaining<'_>,
    ) -> Committed<()> {
        let mut files = self.files.lock().await;
        let identifier = super::folders::identifier_of(rejection.path);
        if expected.has_changed(self, &files, identifier) {
            return Committed::Retry;
        }
        match remaining {
            Remaining::Present => {}
            Remaining::Previous(candidate) => {
                if self.took_identifier(&Record::for_connector(&candidate.connector, candidate.module)) {
                    return Committed::Retry;
                }
                self.activate(*candidate);
            }
            Remaining::Nothing => self.retire(identifier),
        }
        if rejection.refusal.is_temporary() {
            files.postponed.insert(rejection.path.to_owned());
        }
        self.refuse(rejection.path, rejection.digest.to_owned(), rejection.refusal);
        Committed::Done(())
    }

    /// Makes the durable part of a change: history, grants, folders.
    async fn persist(
        &self,
        files: &mut KnownFiles,
        record: &Record<'_>,
        change: Change<'_>,
    ) -> Result<(), ChangeError> {
        let Change { entry, grants, folders, is_noticed } = change;
        let check = |part, result: Result<(), ChangeError>| match result {
            Err(error) if is_noticed => {
                warn_of_unwritten(part, record.identifier, &error);
                Ok(())
            }
            result => result,
        };
        if let Some(entry) = entry {
            let added = match is_noticed {
                true => self.history.add_noticed(entry).await,
                false => self.history.add(entry).await,
            };
            check("history", added.map_err(ChangeError::Store))?;
        }
        if let GrantsStep::Swap { previous, change } = grants {
            let swapped = self.grants.swap(record.identifier, previous.as_deref(), record.digest, change).await;
            check("grants", swapped.map_err(ChangeError::Store))?;
        }
        match folders {
            FoldersStep::Unchanged => {}
            FoldersStep::Accept => check("acceptance", self.folders.accept(record).map_err(ChangeError::Io))?,
            FoldersStep::Write => {
                let path = self.folders.keep(record)?;
                files.mark_handled(path.clone(), FileState::read(&path, Origin::Foreign)?);
            }
            FoldersStep::Restore(path, state) => {
                self.remove_foreign(files, record.identifier)?;
                files.mark_handled(path, state);
            }
        }
        Ok(())
    }

    /// Removes the files of a foreign module, and all that the gateway knows of them.
    fn remove_foreign(&self, files: &mut KnownFiles, identifier: &str) -> Result<(), ChangeError> {
        self.folders.remove(identifier)?;
        let path = self.folders.foreign(identifier);
        files.forget(&path);
        self.forget_refusal(&path);
        Ok(())
    }

    /// Returns `true` if a shipped connector has brought a provider with this identifier since the
    /// candidate was checked. The next check refuses the candidate.
    fn took_identifier(&self, record: &Record<'_>) -> bool {
        record.origin == Origin::Foreign && provider_names::check(record.identifier, &self.live()).is_err()
    }
}

fn warn_of_unwritten(part: &str, connector: &str, error: &ChangeError) {
    tracing::warn!(connector, part, %error, "a change of the folders of modules was made, but not recorded");
}

#[cfg(test)]
mod tests;
