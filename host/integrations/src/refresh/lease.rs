//! The lease under which one process refreshes an integration.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::RefreshWait;
use crate::{IntegrationError, Integrations};
use oauth::CALL_TIMEOUT;
use store::{Integration, Status};

/// Duration of a lease. After the holder dies, others wait this long, which is less than the
/// timeout of an operation.
pub(crate) const LEASE: Duration = Duration::from_secs(10);

/// Time between two renewals. A lease lasts longer than several failed renewals.
const RENEWAL: Duration = Duration::from_secs(2);

/// Time between two attempts to take a lease that another process holds.
pub(crate) const POLL: Duration = Duration::from_millis(100);

/// Longest wait for a lease that another process renews: its call to the provider, the write of
/// the tokens, and some time for the call of this process.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(CALL_TIMEOUT.as_secs() + 30);

/// Remaining time that a lease must have when the provider is called.
const MARGIN: Duration = Duration::from_secs(5);

/// The exclusive right to refresh an integration.
pub(super) struct RefreshLease {
    /// The integration as it was when the lease was taken.
    pub(super) integration: Integration,
    /// Proves to the store that a write belongs to this lease.
    pub(super) fence: i64,
    /// Earlier than the database's time, so that this process assumes an earlier end than the
    /// database.
    taken_at: Instant,
}

impl RefreshLease {
    /// Returns `false` if the lease may end before its next renewal, for example after this
    /// process was suspended.
    pub(super) fn is_fresh(&self) -> bool {
        self.taken_at.elapsed() + MARGIN <= LEASE
    }
}

impl Integrations {
    /// Waits for the lease of an integration. Returns `None` if another process has refreshed it
    /// in the meantime, or if it cannot be refreshed any more.
    pub(super) async fn lease(&self, id: &str, version: i64) -> Result<Option<RefreshLease>, IntegrationError> {
        let give_up_at = Instant::now() + MAX_WAIT;
        while self.read_unchanged(id, version).await?.is_some() && Instant::now() < give_up_at {
            let taken_at = Instant::now();
            let Some(fence) = self.store.integrations().lease_refresh(id, LEASE).await? else {
                self.refreshes.wait_for(id, RefreshWait::OtherProcess);
                sleep(POLL).await;
                continue;
            };
            self.refreshes.wait_for(id, RefreshWait::Store);
            // The previous holder of the lease may have finished between the two statements.
            if let Some(integration) = self.read_unchanged(id, version).await? {
                return Ok(Some(RefreshLease { integration, fence, taken_at }));
            }
            self.store.integrations().release_refresh(id, fence).await?;
            break;
        }
        Ok(None)
    }

    /// Runs work under a lease, and renews the lease until the work ends.
    pub(crate) async fn store_leased<T>(&self, id: &str, fence: i64, work: impl Future<Output = T>) -> T {
        let renew = async {
            loop {
                sleep(RENEWAL).await;
                if let Err(error) = self.store.integrations().renew_refresh(id, fence, LEASE).await {
                    tracing::debug!(integration = id, %error, "a refresh lease is not renewed");
                }
            }
        };
        tokio::select! {
            biased;
            result = work => result,
            never = renew => never,
        }
    }

    /// Reads an integration. Returns `None` if it is not active, or if its version is another.
    async fn read_unchanged(&self, id: &str, version: i64) -> Result<Option<Integration>, IntegrationError> {
        let integration = self.store.integrations().by_id(id).await?;
        Ok(integration.filter(|current| current.version == version && current.details.status == Status::Active))
    }
}
