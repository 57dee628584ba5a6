//! The table of live connectors, and the list of refused files. Only [`commit`](super::commit) and
//! the scan of the folders change them.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use serde_json::json;

use super::commit::Candidate;
use super::folders::{POLL, identifier_of};
use super::record::Record;
use super::{Connector, Live, Refusal, Refused, Registry, provider_names};
use metrics::OutcomeLabels;
use webhooks::EventKind;

/// Maximum number of refused files that are listed. The oldest ones are left out.
const MAX_REFUSED: usize = 256;

/// A connector that a change made live.
pub struct Swapped {
    /// The connector.
    pub live: Arc<Connector>,
    /// The generation that the change led to.
    pub generation: i64,
}

impl Registry {
    /// Makes a connector live, in place of its previous version.
    pub(super) fn activate(&self, candidate: Candidate<'_>) -> Arc<Connector> {
        let Candidate { connector, module, outcome } = candidate;
        let connector = Arc::new(connector);
        let identifier = connector.manifest().identifier.clone();
        let started = Instant::now();
        // A shipped connector may bring the name of a provider that a foreign connector already has
        // as identifier.
        let misnamed = provider_names::provider_of(&connector)
            .and_then(|provider| self.get(provider))
            .filter(|other| !other.is_shipped());
        self.live.rcu(|live| {
            let mut live = Live::clone(live);
            live.insert(identifier.clone(), Arc::clone(&connector));
            if let Some(misnamed) = &misnamed {
                live.remove(&**misnamed.name());
            }
            live
        });
        self.changes.send_replace(());
        if let Some(misnamed) = misnamed {
            let name = misnamed.name();
            let reason = Refusal::Module(provider_names::refusal(name));
            self.refuse(&self.folders.foreign(name), misnamed.digest().to_owned(), reason);
        }
        if let Some(path) = self.folders.file(connector.origin(), &identifier) {
            self.forget_refusal(&path);
        }
        self.count(&identifier, outcome);
        if let Err(error) = self.versions.store(&Record::for_connector(&connector, module)) {
            tracing::warn!(connector = identifier, %error, "this version could not be stored, so a rollback to it is not possible");
        }
        tracing::info!(
            connector = identifier,
            version = connector.manifest().version,
            sha256 = connector.digest(),
            publisher = connector.signed().and_then(|signed| signed.publisher.as_deref()),
            operations = connector.operations().count(),
            missing_grants = connector.missing_hosts().join(" "),
            us = started.elapsed().as_micros() as u64,
            "connector {outcome}"
        );
        self.events.swapped(&identifier, connector.digest());
        connector
    }

    /// Removes a connector from the live ones. The last call that uses it drops it.
    pub(super) fn retire(&self, identifier: &str) {
        if self.get(identifier).is_none() {
            return;
        }
        self.live.rcu(|live| {
            let mut live = Live::clone(live);
            live.remove(identifier);
            live
        });
        self.changes.send_replace(());
        self.count(identifier, "removed");
        tracing::info!(connector = identifier, "connector removed");
    }

    /// Adds a file to the refused ones, in place of an earlier refusal of the same file.
    pub(super) fn refuse(&self, path: &Path, digest: String, refusal: Refusal) {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let identifier = identifier_of(path);
        let serving = self.get(identifier).map(|live| live.digest().to_owned());
        let mut reason = refusal.to_string();
        if refusal.is_temporary() {
            reason.push_str(&format!("; the gateway tries again every {} s", POLL.as_secs()));
            tracing::warn!(file, path = %path.display(), sha256 = digest, reason, serving, "module not checked yet");
            self.count(identifier, "postponed");
        } else {
            tracing::warn!(file, path = %path.display(), sha256 = digest, reason, serving, "module refused");
            self.count(identifier, "refused");
            self.events.notify(
                EventKind::ConnectorRefused,
                json!({"file": file, "sha256": digest, "reason": reason, "serving": serving}),
            );
        }
        let wrong_settings = match refusal {
            Refusal::Settings(problems) => problems,
            Refusal::Module(_) | Refusal::Store(_) | Refusal::Temporary(_) => Vec::new(),
        };
        let (path, at) = (path.to_owned(), clock::now());
        let refused = Refused { file, path, digest, reason, wrong_settings, at, serving };
        self.refused.rcu(|known| {
            let mut known: Vec<Refused> = known.iter().filter(|other| other.path != refused.path).cloned().collect();
            known.push(refused.clone());
            known.drain(..known.len().saturating_sub(MAX_REFUSED));
            known
        });
    }

    /// Removes a file from the refused ones.
    pub(super) fn forget_refusal(&self, path: &Path) {
        self.refused.rcu(|known| known.iter().filter(|refused| refused.path != path).cloned().collect::<Vec<_>>());
    }

    fn count(&self, connector: &str, outcome: &str) {
        let labels = OutcomeLabels { connector: connector.to_owned(), outcome: outcome.to_owned() };
        self.metrics.swaps.get_or_create_owned(&labels).inc();
        let live = i64::try_from(self.live().len()).unwrap_or(i64::MAX);
        self.metrics.connectors.set(live);
    }
}
