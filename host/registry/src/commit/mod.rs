//! The one place where live connectors change.
//!
//! A change prepares a candidate without the lock of [`KnownFiles`], so that a module that compiles
//! for a long time delays no other one. [`Expected`] has the state that the candidate was made of.
//! The commit then takes the lock and makes the change in this order:
//!
//! 1. If the state has changed since, nothing happens. The caller gets [`Committed::Retry`], and
//!    makes its candidate again.
//! 2. The store changes in one transaction: the module of the service with its next generation, the
//!    entry in the history, and the grants of the previous and the new version. If the operator
//!    named another generation than the present one, nothing happens. A gateway that notices the
//!    new file or the new generation then adds no second entry and has the right grants.
//! 3. The folders get the version, the marks, the signature and the module. The version is first:
//!    what a mark calls accepted can be read, whoever reads it in the middle of a commit. The next
//!    start loads what the folders have.
//! 4. The table of live connectors is exchanged.
//!
//! If the store fails, nothing has changed. If the folders fail, the live connector stays live, and
//! a restart makes the same one live, because the folders still have its module. Grants that the
//! store has changed stay changed: a running gateway makes the live connector again with them. On a
//! database that gateways share, the change is already made then: the gateway serves it, and its
//! next start takes the module from the store.
//!
//! - this file: what a commit is made of, and how a candidate becomes live or is refused
//! - [`persist`]: the durable part of a change, in the store and in the folders
//! - [`removal`]: how a connector is removed

mod persist;
mod removal;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::files::{FileState, KnownFiles};
use super::grants::GrantChanges;
use super::live::Swapped;
use super::origin::Origin;
use super::record::Record;
use super::service::ServiceStep;
use super::{ChangeError, Connector, Live, Refusal, Registry, provider_names};
use store::{GrantChange, NewChange};

/// The state that a candidate was made of.
pub(super) struct Expected {
    grants: GrantChanges,
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
    /// The part of the change that all gateways on the same database follow.
    pub(super) service: ServiceStep,
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
    /// The grants of all versions are deleted.
    Forget,
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
        Self { grants: registry.grants.changes(), live: Arc::clone(&registry.live()), file: None }
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
        !is_same_version || !is_same_file || self.grants.differ_for(identifier, &registry.grants.changes())
    }
}

impl<T> Committed<T> {
    /// The end of a change that an operator makes. Another change of the service came first: the
    /// candidate is made again, unless the operator has named the generation that it `replaces`.
    pub(super) fn again_unless_named(
        ended: Result<Self, ChangeError>,
        replaces: Option<i64>,
    ) -> Result<Self, ChangeError> {
        match ended {
            Err(ChangeError::ChangedMeanwhile { .. }) if replaces.is_none() => Ok(Self::Retry),
            ended => ended,
        }
    }

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
    ) -> Result<Committed<Swapped>, ChangeError> {
        let mut files = self.files.lock().await;
        let record = Record::for_connector(&candidate.connector, candidate.module);
        if expected.has_changed(self, &files, record.identifier) || self.took_identifier(&record) {
            return Ok(Committed::Retry);
        }
        if let ServiceStep::Follow(generation) = change.service
            && generation <= self.service.generation(record.identifier)
        {
            return Ok(Committed::Retry);
        }
        let Committed::Done(generation) = self.persist(&mut files, &record, change).await? else {
            return Ok(Committed::Retry);
        };
        let live = self.activate(candidate);
        if let Some(generation) = generation {
            self.service.note_served(live.name(), generation);
        }
        // After the lock, another change may have led to the next generation.
        let generation = generation.unwrap_or_else(|| self.service.generation(live.name()));
        Ok(Committed::Done(Swapped { live, generation }))
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
