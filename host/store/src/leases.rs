//! Who refreshes which credential: of all gateways on one database, one at a time.

use std::time::{Duration, SystemTime};

use super::session::{Durability, values};
use super::{Store, StoreError, millis};

impl Store {
    /// Ids of integrations whose credential is to be refreshed by `now` and that nobody refreshes, the most urgent first.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn due_for_refresh(&self, now: SystemTime, limit: u32) -> Result<Vec<String>, StoreError> {
        self.read(move |session| {
            session.all(
                "SELECT id FROM integrations
                 WHERE status = 'active' AND auth_type = 'oauth2' AND next_refresh_at <= $1
                     AND (leased_until IS NULL OR leased_until <= now_ms())
                 ORDER BY next_refresh_at LIMIT $2",
                values![now, limit],
            )
        })
        .await
    }

    /// Takes the lease of an integration, which is over after `life` by the database's clock. The number that comes with
    /// it is higher than any before, so that [`Store::update_leased`] tells a holder that came too late. None while another
    /// holds it, and where the integration is gone.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn lease_refresh(&self, id: &str, life: Duration) -> Result<Option<i64>, StoreError> {
        let id = id.to_owned();
        // A database server may crash while whoever holds the lease lives on.
        self.write(Durability::Power, move |session| {
            session.optional(
                "UPDATE integrations SET fence = fence + 1, leased_until = now_ms() + $1
                 WHERE id = $2 AND (leased_until IS NULL OR leased_until <= now_ms()) RETURNING fence",
                values![millis(life), &id],
            )
        })
        .await
    }

    /// Gives a lease back, unless another has it by now.
    ///
    /// # Errors
    /// When the database does not answer; then the lease runs out by itself.
    pub async fn release_refresh(&self, id: &str, fence: i64) -> Result<(), StoreError> {
        let id = id.to_owned();
        self.write(Durability::Process, move |session| {
            session.execute(
                "UPDATE integrations SET leased_until = NULL WHERE id = $1 AND fence = $2",
                values![&id, fence],
            )?;
            Ok(())
        })
        .await
    }
}
