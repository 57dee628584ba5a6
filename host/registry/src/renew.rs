//! Makes live connectors again whose grants have changed.
//!
//! A running gateway checks once a second whether a command or another gateway changed grants.

use std::sync::Arc;
use std::time::Duration;

use super::commit::{Candidate, Change, Committed, Expected, Rejection, Remaining};
use super::load::{GrantSource, ModuleSource};
use super::origin::Origin;
use super::scan::ChangedFiles;
use super::trust::signature_of;
use super::{Connector, Registry, module_file};
use store::StoreError;

/// Time between two checks for changed grants.
const POLL: Duration = Duration::from_secs(1);

/// Follows changes of grants, until the future is dropped. `loaded` is their revision before the
/// first connector was loaded, or `None` if the database was away.
pub async fn follow_grants(registry: Arc<Registry>, loaded: Option<i64>) {
    let (mut renewed, mut retried) = (loaded, loaded);
    loop {
        tokio::time::sleep(POLL).await;
        let follow = async {
            let revision = registry.grants.revision().await?;
            if renewed == Some(revision) {
                return Ok(());
            }
            // A candidate that is being made of the previous grants is made again.
            registry.grants.count_change_of_unknown();
            if all(&registry).await? {
                renewed = Some(revision);
            }
            if retried != Some(revision) {
                retry_refused(&registry).await;
                retried = Some(revision);
            }
            Ok::<_, StoreError>(())
        };
        // `/readyz` reports that the database does not answer.
        if let Err(error) = follow.await {
            tracing::debug!(%error, "the grants cannot be read; they are read again");
        }
    }
}

/// Makes all live connectors again whose grants have changed. Returns `false` if one of them has to
/// wait, because its file has changed too or because it cannot be made now.
pub(super) async fn all(registry: &Registry) -> Result<bool, StoreError> {
    let live = registry.live();
    let mut is_done = true;
    for live in live.values().filter(|live| !live.is_shipped()) {
        let identifier = live.name();
        if registry.grants.granted(identifier).await? == live.operator_grants() {
            continue;
        }
        let path = registry.folders.foreign(identifier);
        let in_folder = module_file::digest_of(&path, registry.config.compile.max_module_mb).await.unwrap_or_default();
        let is_refused = registry.refused().iter().any(|refused| refused.path == path && refused.digest == in_folder);
        // A shared store decides which module is live, so that the file says nothing.
        if !registry.service.is_shared() && in_folder != live.digest() && !is_refused {
            is_done = false;
            continue;
        }
        is_done &= one(registry, live).await;
    }
    Ok(is_done)
}

/// Makes a live connector again with the grants in the store. Returns `false` if it cannot be made
/// now.
async fn one(registry: &Registry, live: &Arc<Connector>) -> bool {
    let identifier = live.name();
    let path = registry.versions.file(identifier, Origin::Foreign, live.digest());
    let (Ok(module), Ok(signature)) = (registry.read_module(&path), signature_of(&path)) else {
        return true;
    };
    let source = ModuleSource::Foreign(signature.as_deref());
    loop {
        let expected = Expected::now(registry);
        if !expected.live(identifier).is_some_and(|present| Arc::ptr_eq(present, live)) {
            return true;
        }
        let committed = match registry.load(&module, Some(identifier), GrantSource::Stored, source).await {
            Ok(connector) => {
                let candidate = Candidate { connector, module: &module, outcome: "regranted" };
                registry.commit(&expected, candidate, Change::default()).await.map(|committed| committed.map(drop))
            }
            Err(refusal) if refusal.is_temporary() => return false,
            Err(refusal) => {
                let path = registry.folders.foreign(identifier);
                let rejection = Rejection { path: &path, digest: live.digest(), refusal };
                // A revoked grant must not be used any longer.
                Ok(registry.commit_rejection(&expected, rejection, Remaining::Nothing).await)
            }
        };
        match committed {
            Ok(Committed::Done(())) => return true,
            Ok(Committed::Retry) => {}
            Err(error) => {
                tracing::warn!(connector = %identifier, %error, "the connector could not be made with its changed grants");
                return false;
            }
        }
    }
}

/// Loads the refused files again, because a missing grant may have been the reason.
async fn retry_refused(registry: &Arc<Registry>) {
    registry.service.retry_refused(true);
    let mut files = registry.files.lock().await;
    for refused in registry.refused().iter() {
        // The next scan loads a file that has not changed since the previous scan.
        if let Some(state) = files.handled.remove(&refused.path) {
            files.changing.insert(refused.path.clone(), state);
        }
    }
    drop(files);
    if let Err(error) = registry.scan(ChangedFiles::Wait).await {
        tracing::debug!(%error, "the folders of modules cannot be read; they are read again");
    }
}
