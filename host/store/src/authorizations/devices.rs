//! Authorizations by a device code (RFC 8628): a gateway asks the provider in intervals if the user
//! has decided.
//!
//! Of all gateways on one database, one at a time asks about an authorization. A gateway moves the
//! time of the next request on before it sends one. If it dies, another gateway asks at that time.
//! Each request has a number. A gateway whose request is no longer the last one changes nothing, so
//! that it cannot overwrite the result of its successor.

use std::time::Duration;

use database::connection::Durability;
use database::time::millis;
use database::value::values;

use super::queries::{COLUMNS, WITHDRAWN};
use super::{Authorization, DevicePoll, DeviceProgress, StateHash};
use crate::handles::Authorizations;
use crate::{Holder, Stored};

/// Time after its expiry for which an authorization without a result counts as pending: the longest
/// time from the provider's consent to the stored account.
const LONGEST_END: Duration = Duration::from_secs(120);

impl Authorizations<'_> {
    /// The authorizations about which a gateway must ask the provider now, the most urgent one first.
    pub async fn due_devices(self, limit: u32) -> Stored<Vec<StateHash>> {
        // SQLite prepares a statement again each time its limit is bound.
        let due = format!(
            "SELECT hash FROM authorizations WHERE next_poll_at IS NOT NULL AND next_poll_at <= now_ms()
             ORDER BY next_poll_at LIMIT {limit}"
        );
        self.0.read_all(due, &[]).await
    }

    /// Takes the next request about an authorization for the time `life`. Returns `None` if another
    /// gateway has taken it, or if the authorization has ended. An authorization that has expired
    /// ends with the result `expired`. One whose key was revoked, or whose link was deleted or
    /// finished, ends with the result `withdrawn`.
    pub async fn claim_device(
        self,
        hash: &StateHash,
        life: Duration,
        expired: &'static str,
        withdrawn: &'static str,
    ) -> Stored<Option<DevicePoll>> {
        let hash = *hash;
        self.0
            .write(Durability::PowerLoss, move |connection| {
                connection.execute(
                    &format!(
                    "UPDATE authorizations SET is_used = TRUE, data_key = NULL, verifier = NULL, next_poll_at = NULL,
                         failure = CASE WHEN expires_at <= now_ms() THEN $1 ELSE $2 END
                     WHERE hash = $3 AND next_poll_at <= now_ms() AND (expires_at <= now_ms() OR {WITHDRAWN})"
                ),
                    values![expired, withdrawn, &hash],
                )?;
                let claimed: Option<(Authorization, i64, i64)> = connection.optional(
                    &format!(
                        "UPDATE authorizations SET polls = polls + 1, next_poll_at = now_ms() + $1
                     WHERE hash = $2 AND next_poll_at <= now_ms() RETURNING {COLUMNS}, poll_interval, polls"
                    ),
                    values![millis(life), &hash],
                )?;
                Ok(claimed.map(|(authorization, interval, number)| DevicePoll {
                    authorization,
                    interval: Duration::from_millis(u64::try_from(interval).unwrap_or_default()),
                    number,
                }))
            })
            .await
    }

    /// Lets the next request about an authorization be due after `delay`, or when the authorization
    /// expires, so that its end is told then. Sets the interval. Does nothing if the request with this
    /// number is not the last one.
    ///
    /// # Errors
    /// Fails if the database does not answer. The request is then due when its claim ends.
    pub async fn postpone_device(
        self,
        hash: &StateHash,
        number: i64,
        interval: Duration,
        delay: Duration,
    ) -> Stored<()> {
        let postpone = "UPDATE authorizations SET poll_interval = $1,
                 next_poll_at = CASE WHEN now_ms() + $2 < expires_at THEN now_ms() + $2 ELSE expires_at END
             WHERE hash = $3 AND polls = $4 AND next_poll_at IS NOT NULL";
        let values = values![millis(interval), millis(delay), hash, number];
        self.0.execute(Durability::ProcessKill, postpone, values).await.map(drop)
    }

    /// Marks an authorization as used, because the provider has given its tokens. Returns `false` if
    /// the request with this number is not the last one.
    pub async fn take_device(self, hash: &StateHash, number: i64) -> Stored<bool> {
        let take = "UPDATE authorizations SET is_used = TRUE, data_key = NULL, verifier = NULL, next_poll_at = NULL
             WHERE hash = $1 AND polls = $2 AND next_poll_at IS NOT NULL";
        Ok(self.0.execute(Durability::PowerLoss, take, values![hash, number]).await? > 0)
    }

    /// Ends an authorization with its result. Does nothing if it has one, or if the request with this
    /// number is not the last one.
    pub async fn end_device(self, hash: &StateHash, number: i64, result: Result<String, String>) -> Stored<()> {
        let (connected_as, failure) = (result.as_ref().ok(), result.as_ref().err());
        let end = "UPDATE authorizations
             SET is_used = TRUE, data_key = NULL, verifier = NULL, next_poll_at = NULL, connected_as = $1, failure = $2
             WHERE hash = $3 AND polls = $4 AND connected_as IS NULL AND failure IS NULL";
        let values = values![connected_as, failure, hash, number];
        self.0.execute(Durability::ProcessKill, end, values).await.map(drop)
    }

    /// The progress of an authorization by a device code. Returns `None` if the holder has no such
    /// authorization.
    pub async fn device_progress(self, holder: &Holder, hash: &StateHash) -> Stored<Option<DeviceProgress>> {
        let progress =
            "SELECT connected_as, failure, next_poll_at IS NULL AND expires_at <= now_ms() - $1 FROM authorizations
             WHERE hash = $2 AND tenant = $3 AND subject = $4 AND connector = $5 AND poll_interval IS NOT NULL";
        let Holder { tenant, subject, connector } = holder;
        let values = values![millis(LONGEST_END), hash, tenant, subject, connector];
        let found: Option<(Option<String>, Option<String>, bool)> = self.0.read_optional(progress, values).await?;
        Ok(found.map(|found| match found {
            (Some(user_identifier), _, _) => DeviceProgress::Connected { user_identifier },
            (None, Some(failure), _) => DeviceProgress::Failed(failure),
            (None, None, true) => DeviceProgress::Lost,
            (None, None, false) => DeviceProgress::Pending,
        }))
    }
}
