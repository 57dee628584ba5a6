//! Watches the modules folder.

use std::sync::Arc;
use std::time::Duration;

use notify::{RecursiveMode, Watcher};
use tokio::sync::Notify;

use super::Registry;

/// A file is loaded when it has not changed for this time.
const SETTLE: Duration = Duration::from_millis(250);

/// The folder is read at this interval, for file systems without change notifications (network file systems).
const POLL: Duration = Duration::from_secs(10);

/// Keeps the live connectors equal to the modules folder, until the future is dropped.
pub async fn watch(registry: Arc<Registry>) {
    let changed = Arc::new(Notify::new());
    let folder = registry.config.modules_dir.clone();
    let wake = Arc::clone(&changed);
    let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Reading the folder is an event too, which must not lead to another reading.
        if !event.is_ok_and(|event| event.kind.is_access()) {
            wake.notify_one();
        }
    })
    .and_then(|mut watcher| watcher.watch(&folder, RecursiveMode::NonRecursive).map(|()| watcher));
    if let Err(error) = &watcher {
        tracing::warn!(%error, "the modules folder cannot be watched; it is read every {} s", POLL.as_secs());
    }
    // A file may have changed before the watcher began.
    let mut pending = true;
    loop {
        if pending {
            tokio::time::sleep(SETTLE).await;
        } else {
            // The folder is read after a change and after the interval.
            let _ = tokio::time::timeout(POLL, changed.notified()).await;
        }
        match registry.scan(true).await {
            Ok(left) => pending = left,
            Err(error) => {
                pending = false;
                tracing::warn!(%error, folder = %registry.config.modules_dir.display(), "the modules folder cannot be read");
            }
        }
    }
}
