//! Calls that a user must confirm before they run. Each confirmation serves once, at whichever
//! gateway.

use std::time::Duration;

use database::connection::Durability;
use database::time::millis;
use database::value::values;

use crate::handles::Confirmations;
use crate::{StoreError, Stored};

/// SHA-256 of the digest that a client was given, and of the call that it confirms.
pub type ConfirmationHash = [u8; 32];

/// Confirmations of one tenant that are open. Without the limit, one tenant could fill the
/// database.
const MAX_OPEN: u64 = 10_000;

impl Confirmations<'_> {
    /// Adds a confirmation that can be used for some time. Deletes those that have expired.
    ///
    /// # Errors
    /// Fails with [`StoreError::TooManyConfirmations`] if the tenant has too many.
    pub async fn add(self, tenant: &str, hash: &ConfirmationHash, lifetime: Duration) -> Stored<()> {
        let (tenant, hash) = (tenant.to_owned(), *hash);
        self.0
            .write(Durability::ProcessKill, move |connection| {
                connection.execute("DELETE FROM confirmations WHERE expires_at <= now_ms()", &[])?;
                let open: u64 =
                    connection.one("SELECT count(*) FROM confirmations WHERE tenant = $1", values![&tenant])?;
                if open >= MAX_OPEN {
                    return Err(StoreError::TooManyConfirmations { limit: MAX_OPEN });
                }
                connection.run(
                    "INSERT INTO confirmations (hash, tenant, expires_at) VALUES ($1, $2, now_ms() + $3)",
                    values![&hash, &tenant, millis(lifetime)],
                )
            })
            .await
    }

    /// Uses a confirmation up. Returns `false` if it is unknown, was used, or has expired.
    pub async fn take(self, hash: &ConfirmationHash) -> Stored<bool> {
        // A use that a power loss takes back would let a destructive call run twice.
        let take = "DELETE FROM confirmations WHERE hash = $1 AND expires_at > now_ms()";
        Ok(self.0.execute(Durability::PowerLoss, take, values![hash]).await? > 0)
    }
}

#[cfg(test)]
mod tests;
