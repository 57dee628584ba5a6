//! The `clock` interface.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::bindings::gateway::connector::clock::Host;
use super::guest::Guest;
use super::limits::Awaited;

/// Milliseconds since 1970-01-01T00:00:00Z.
pub(super) fn now() -> wasmtime::Result<u64> {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH)?;
    Ok(u64::try_from(since_epoch.as_millis())?)
}

impl Host for Guest {
    fn now(&mut self) -> wasmtime::Result<u64> {
        now()
    }

    /// The invocation ends at its deadline, however long the guest wants to sleep.
    async fn sleep(&mut self, milliseconds: u64) -> wasmtime::Result<()> {
        let _waiting = self.wait_for(Awaited::Sleep);
        tokio::time::sleep(Duration::from_millis(milliseconds)).await;
        Ok(())
    }
}
