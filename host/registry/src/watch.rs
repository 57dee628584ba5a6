//! Watches the folders of modules.

use std::sync::Arc;
use std::time::Duration;

use notify::{RecursiveMode, Watcher};
use tokio::sync::Notify;

use super::Registry;
use super::folders::POLL;
use super::scan::ChangedFiles;

/// A file is loaded when it has not changed for this time.
const DEBOUNCE: Duration = Duration::from_millis(250);

/// Keeps the live connectors equal to the folders of modules, until the future is dropped.
pub async fn watch(registry: Arc<Registry>) {
    let changed = Arc::new(Notify::new());
    let wake = Arc::clone(&changed);
    let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // A read of the folder is an event too. It must not cause another read.
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
    let mut has_changing = true;
    loop {
        if has_changing {
            tokio::time::sleep(DEBOUNCE).await;
        } else {
            // The folders are read after a change and after the interval.
            let _ = tokio::time::timeout(POLL, changed.notified()).await;
        }
        match registry.scan(ChangedFiles::Wait).await {
            Ok(changing) => has_changing = changing,
            Err(error) => {
                has_changing = false;
                tracing::warn!(%error, "the modules cannot be listed, so no connector changes");
            }
        }
    }
}
