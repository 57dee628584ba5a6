//! Loads a file of a folder of modules, and makes its connector live or refuses it.

use std::path::Path;

use super::commit::{Candidate, Change, Committed, Expected, FoldersStep, GrantsStep, Rejection, Remaining};
use super::files::FileState;
use super::folders::identifier_of;
use super::history::{self, Action, Actor};
use super::load::{GrantSource, ModuleSource};
use super::module_file::{self, ReadError};
use super::origin::Origin;
use super::trust::signature_of;
use super::{Connector, Refusal, Registry, permissions};
use store::GrantChange;
use store::digest::sha256_hex;

impl Registry {
    /// Loads a file of a folder and makes it live, or refuses it. If the file changes while it is
    /// loaded, nothing happens, because the new state is loaded too.
    pub(super) async fn load_file(&self, path: &Path, state: &FileState) {
        let max_mb = self.config.compile.max_module_mb;
        while self.files.lock().await.is_handled(path, state) {
            let expected = Expected::with_file(self, path, state);
            let committed = match module_file::read(path.to_owned(), max_mb).await {
                Ok(module) => self.commit_file(&expected, path, state.origin, &module).await,
                Err(ReadError::Missing) => return,
                Err(ReadError::Refused(refusal)) => {
                    let rejection = Rejection { path, digest: "", refusal };
                    self.commit_rejection(&expected, rejection, Remaining::Present).await
                }
            };
            if committed == Committed::Done(()) {
                return;
            }
        }
    }

    /// Makes the module of a file live, or refuses the file.
    async fn commit_file(&self, expected: &Expected, path: &Path, origin: Origin, module: &[u8]) -> Committed<()> {
        let step = match self.step_of_file(origin, identifier_of(path), &sha256_hex(module)).await {
            Ok(Some(step)) => step,
            Ok(None) => {
                self.forget_refusal(path);
                return Committed::Done(());
            }
            Err(refusal) => return self.reject_file(expected, path, &sha256_hex(module), refusal).await,
        };
        let connector = match self.load_from_folder(path, origin, module).await {
            Ok(connector) => connector,
            Err(refusal) => return self.reject_file(expected, path, &sha256_hex(module), refusal).await,
        };
        let live = expected.live(connector.name());
        let replaced = live.filter(|live| live.digest() != connector.digest()).map(|live| live.digest().to_owned());
        let (action, outcome) = if live.is_some() { (Action::Replaced, "swapped") } else { (Action::Added, "added") };
        let change = Change {
            entry: Some(history::entry(&connector, action, &Actor::of_file(origin), String::new())),
            // The new version has the grants of the previous one.
            grants: match replaced {
                Some(_) => GrantsStep::Swap { previous: replaced, change: GrantChange::Add(&[]) },
                None => GrantsStep::Unchanged,
            },
            folders: if origin == Origin::Foreign { FoldersStep::Accept } else { FoldersStep::Unchanged },
            service: step,
            is_noticed: true,
        };
        match self.commit(expected, Candidate { connector, module, outcome }, change).await {
            Ok(committed) => committed.map(drop),
            Err(error) => {
                let refusal = Refusal::Temporary(error.to_string());
                self.reject_file(expected, path, &sha256_hex(module), refusal).await
            }
        }
    }

    /// Loads the module of a file, with all checks.
    async fn load_from_folder(&self, path: &Path, origin: Origin, module: &[u8]) -> Result<Connector, Refusal> {
        let identifier = identifier_of(path);
        self.folders.check_identifier(origin, identifier, &sha256_hex(module))?;
        let signature =
            signature_of(path).map_err(|error| Refusal::Temporary(format!("its signature cannot be read: {error}")))?;
        let source = ModuleSource::from_origin(origin, signature.as_deref());
        let candidate = self.load(module, Some(identifier), GrantSource::Stored, source).await?;
        let more = permissions::beyond_accepted(self, &candidate).await?;
        if more.is_empty() {
            return Ok(candidate);
        }
        Err(Refusal::from(format!(
            "it requests more permissions than the previous version: {}; if they are right, accept it with \
             `connector-gateway connectors add {} --accept`",
            more.join(", "),
            path.display()
        )))
    }

    /// Refuses a file. If no version with a file is live, the last valid version becomes live.
    pub(super) async fn reject_file(
        &self,
        expected: &Expected,
        path: &Path,
        digest: &str,
        refusal: Refusal,
    ) -> Committed<()> {
        let identifier = identifier_of(path);
        let is_live =
            |live: &Connector| self.service.is_shared() || self.folders.file(live.origin(), identifier).is_some();
        let module;
        let remaining = if expected.live(identifier).is_some_and(|live| is_live(live)) {
            Remaining::Present
        } else if let Some((connector, stored)) = self.last_valid_version(identifier, digest).await {
            module = stored;
            Remaining::Previous(Box::new(Candidate { connector, module: &module, outcome: "brought_back" }))
        } else {
            Remaining::Nothing
        };
        self.commit_rejection(expected, Rejection { path, digest, refusal }, remaining).await
    }

    /// The newest stored version that is valid now, except the module with the digest `refused`.
    async fn last_valid_version(&self, identifier: &str, refused: &str) -> Option<(Connector, Vec<u8>)> {
        for version in self.versions.newest_first(identifier).ok()? {
            if version.digest == refused
                || self.folders.file(version.origin, identifier).is_none()
                || self.folders.check_identifier(version.origin, identifier, &version.digest).is_err()
            {
                continue;
            }
            let module = self.read_module(&version.path).ok()?;
            let signature = signature_of(&version.path).ok()?;
            let source = ModuleSource::from_origin(version.origin, signature.as_deref());
            let candidate = self.load(&module, Some(identifier), GrantSource::Stored, source).await.ok()?;
            return Some((candidate, module));
        }
        None
    }
}
