//! Watches the folders of modules.

use std::sync::Arc;
use std::time::Duration;

use notify::{RecursiveMode, Watcher};
use tokio::sync::Notify;

use super::Registry;

/// A file is loaded when it has not changed for this time.
const SETTLE: Duration = Duration::from_millis(250);

/// The folders are read at this interval, for file systems without change notifications (network file systems), and for modules that
/// could not be checked before.
pub(super) const POLL: Duration = Duration::from_secs(10);

/// Keeps the live connectors equal to the folders of modules, until the future is dropped.
pub async fn watch(registry: Arc<Registry>) {
    let changed = Arc::new(Notify::new());
    let wake = Arc::clone(&changed);
    let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Reading the folder is an event too, which must not lead to another reading.
        if !event.is_ok_and(|event| event.kind.is_access()) {
            wake.notify_one();
        }
    })
    .and_then(|mut watcher| {
        registry.folders.all().try_for_each(|folder| watcher.watch(folder, RecursiveMode::NonRecursive))?;
        Ok(watcher)
    });
    if let Err(error) = &watcher {
        tracing::warn!(%error, "the folders of modules cannot be watched; they are read every {} s", POLL.as_secs());
    }
    // A file may have changed before the watcher began.
    let mut pending = true;
    loop {
        if pending {
            tokio::time::sleep(SETTLE).await;
        } else {
            // The folders are read after a change and after the interval.
            let _ = tokio::time::timeout(POLL, changed.notified()).await;
        }
        match registry.scan(true).await {
            Ok(left) => pending = left,
            Err(error) => {
                pending = false;
                tracing::warn!(%error, "the modules cannot be listed, so no connector changes");
            }
        }
    }
}
