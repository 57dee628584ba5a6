//! Storing and taking authorizations.

use std::time::Duration;

use database::connection::{Connection, Durability};
use database::time::millis;
use database::value::values;

use super::{Authorization, StateHash, TakenAuthorization};
use crate::handles::Authorizations;
use crate::integrations::{text_of_address, text_of_labels};
use crate::stored_bytes::Quota;
use crate::{Holder, Stored, caps};

/// Time after its expiry for which an authorization is kept. Until then, a replayed `state` is
/// distinguished from an unknown one.
const KEPT_AFTER_EXPIRY: Duration = Duration::from_secs(24 * 3600);

/// The columns of an [`Authorization`], in the order in which they are read.
pub(super) const COLUMNS: &str =
    "hash, tenant, subject, connector, user_identifier, replaces, confirms, callback_url, redirect_uri, data_key, verifier,
    expires_at, labels, oauth_client, connect_link, address, key_id";

/// The condition of authorizations that may connect no one any more: the key that began them, or
/// that made their link, is revoked, or their link was deleted or finished. The link of an agent
/// also ends with the agent's session.
pub(super) const WITHDRAWN: &str =
    "(EXISTS (SELECT 1 FROM api_keys WHERE api_keys.id = authorizations.key_id AND revoked_at IS NOT NULL)
     OR EXISTS (SELECT 1 FROM connect_links WHERE connect_links.id = authorizations.connect_link AND (ended IS NOT NULL
         OR EXISTS (SELECT 1 FROM api_keys WHERE api_keys.id = connect_links.key_id AND revoked_at IS NOT NULL)
         OR EXISTS (SELECT 1 FROM agent_sessions WHERE agent_sessions.id = connect_links.key_id AND ended_at IS NOT NULL))))";

impl Authorizations<'_> {
    /// Stores an authorization. Deletes those that expired more than a day ago. With a `poll_interval`,
    /// it is one by a device code, which is its verifier. The first request to the provider is due
    /// after the interval.
    ///
    /// # Errors
    /// Fails with [`StoreError::TooManyAuthorizations`](crate::StoreError::TooManyAuthorizations)
    /// if the holder has too many in progress.
    pub async fn save(self, authorization: Authorization, poll_interval: Option<Duration>) -> Stored<()> {
        let quota = self.0.quota;
        self.0
            .write(Durability::PowerLoss, move |connection| {
                prepare_new(connection, quota, &authorization.holder)?;
                insert_authorization(connection, &authorization, poll_interval)
            })
            .await
    }

    /// Takes an authorization that was begun for this connector. If several calls take the same
    /// one, on any gateway, exactly one gets it.
    pub async fn take(self, connector: &str, hash: &StateHash) -> Stored<TakenAuthorization> {
        let (hash, connector) = (*hash, connector.to_owned());
        // The callback needs no API key. Requests with an invented `state` must not hold the write
        // lock.
        let found = self.0.read(move |connection| find_authorization(connection, &hash)).await?;
        match found {
            TakenAuthorization::Fresh(authorization) if authorization.holder.connector != connector => {
                return Ok(TakenAuthorization::OtherConnector);
            }
            TakenAuthorization::Fresh(_) => {}
            found => return Ok(found),
        }
        self.0.write(Durability::PowerLoss, move |connection| take_locked(connection, &hash)).await
    }

    /// Returns `true` if an authorization may connect no one any more, because its key was revoked,
    /// or because its link was deleted or finished.
    pub async fn is_withdrawn(self, hash: &StateHash) -> Stored<bool> {
        let withdrawn = format!("SELECT {WITHDRAWN} FROM authorizations WHERE hash = $1");
        Ok(self.0.read_optional(withdrawn, values![hash]).await?.unwrap_or(true))
    }
}

/// Deletes old authorizations, and checks that the holder may have another one.
fn prepare_new(connection: &mut dyn Connection, quota: Quota, holder: &Holder) -> Stored<()> {
    quota.check(connection, &holder.tenant)?;
    connection
        .execute("DELETE FROM authorizations WHERE expires_at <= now_ms() - $1", values![millis(KEPT_AFTER_EXPIRY)])?;
    caps::check_authorizations(connection, holder)
}

pub(super) fn insert_authorization(
    connection: &mut dyn Connection,
    authorization: &Authorization,
    poll_interval: Option<Duration>,
) -> Stored<()> {
    let verifier = authorization.verifier.as_ref();
    connection.run(
        &format!(
            "INSERT INTO authorizations ({COLUMNS}, poll_interval, next_poll_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, now_ms() + $18)"
        ),
        values![
            &authorization.hash,
            &authorization.holder.tenant,
            &authorization.holder.subject,
            &authorization.holder.connector,
            &authorization.user_identifier,
            authorization.replaces,
            authorization.confirms,
            &authorization.callback_url,
            &authorization.redirect_uri,
            verifier.map(|sealed| &sealed.key_id),
            verifier.map(|sealed| &sealed.bytes),
            authorization.expires_at,
            authorization.labels.as_ref().map(text_of_labels),
            &authorization.oauth_client,
            &authorization.connect_link,
            text_of_address(&authorization.address),
            authorization.key_id.as_ref(),
            poll_interval.map(millis),
        ],
    )
}

/// Name of the lock that taking this authorization needs.
pub(super) fn lock_name(hash: &StateHash) -> String {
    format!("authorization\0{hash:?}")
}

/// Reads again under a lock, because another call may have taken the authorization since the first
/// read.
fn take_locked(connection: &mut dyn Connection, hash: &StateHash) -> Stored<TakenAuthorization> {
    connection.lock(&lock_name(hash))?;
    let found = find_authorization(connection, hash)?;
    if matches!(found, TakenAuthorization::Fresh(_)) {
        // The caller has the verifier now. The database keeps no secret that is no longer needed.
        connection.execute(
            "UPDATE authorizations SET is_used = TRUE, data_key = NULL, verifier = NULL WHERE hash = $1",
            values![hash],
        )?;
    }
    Ok(found)
}

/// Reads the authorization without taking it. No browser comes back for a device code.
fn find_authorization(connection: &mut dyn Connection, hash: &StateHash) -> Stored<TakenAuthorization> {
    let found: Option<(Authorization, bool, bool)> = connection.optional(
        &format!(
            "SELECT {COLUMNS}, is_used, expires_at <= now_ms() OR {WITHDRAWN} FROM authorizations
             WHERE hash = $1 AND poll_interval IS NULL"
        ),
        values![hash],
    )?;
    Ok(match found {
        None => TakenAuthorization::Unknown,
        Some((_, true, _)) => TakenAuthorization::Used,
        Some((_, false, true)) => TakenAuthorization::Expired,
        Some((authorization, false, false)) => TakenAuthorization::Fresh(Box::new(authorization)),
    })
}
