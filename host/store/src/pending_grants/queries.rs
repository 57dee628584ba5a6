//! Storing, confirming, sealing again and deleting grants.

use database::connection::Durability;
use database::value::values;

use super::insert::{COLUMNS, insert_grant};
use super::{FoundGrant, PendingGrant};
use crate::handles::PendingGrants;
use crate::integrations::{note, upsert_integration};
use crate::{Acting, AuditAction, Connected, Holder, Integration, NewDelivery, Sealed, StateHash, Stored};

impl PendingGrants<'_> {
    /// Stores a grant.
    pub async fn save(self, grant: PendingGrant) -> Stored<()> {
        self.0.write(Durability::PowerLoss, move |connection| insert_grant(connection, &grant)).await
    }

    /// Looks up the grant that a holder wants to confirm.
    pub async fn get(self, holder: &Holder, user_identifier: &str, hash: &StateHash) -> Stored<FoundGrant> {
        let get = format!(
            "SELECT {COLUMNS} FROM pending_grants
             WHERE hash = $1 AND tenant = $2 AND connector = $3 AND user_identifier = $4 AND expires_at > now_ms()"
        );
        let values = values![hash, &holder.tenant, &holder.connector, user_identifier];
        Ok(match self.0.read_optional::<PendingGrant>(get, values).await? {
            None => FoundGrant::Unknown,
            Some(grant) if grant.holder.subject != holder.subject => FoundGrant::OfOtherSubject,
            Some(grant) => FoundGrant::Pending(Box::new(grant)),
        })
    }

    /// Deletes a grant and stores its integration, as `store.integrations().connect` does. Returns
    /// `None` and changes nothing if the grant no longer exists, or has expired.
    ///
    /// # Errors
    /// As `store.integrations().connect`.
    pub async fn confirm(
        self,
        grant: PendingGrant,
        connected: Connected,
        deliveries: Vec<NewDelivery>,
        replaced: Option<PendingGrant>,
    ) -> Stored<Option<Integration>> {
        let by = Acting::current();
        self.0
            .write(Durability::PowerLoss, move |connection| {
                // A gateway may be revoking a grant that has expired since it was looked up.
                let delete = "DELETE FROM pending_grants WHERE hash = $1 AND expires_at > now_ms()";
                if connection.execute(delete, values![&grant.hash])? == 0 {
                    return Ok(None);
                }
                replaced.iter().try_for_each(|replaced| insert_grant(connection, replaced))?;
                let integration =
                    upsert_integration(connection, &grant.holder, &grant.user_identifier, &connected, &deliveries)?;
                note(connection, &by, AuditAction::IntegrationConfirmed, &integration)?;
                Ok(Some(integration))
            })
            .await
    }

    /// Returns grants that have expired, the oldest first.
    pub async fn expired(self, limit: u32) -> Stored<Vec<PendingGrant>> {
        let expired = "WHERE expires_at <= now_ms() ORDER BY expires_at LIMIT $1";
        self.0.read_all(format!("SELECT {COLUMNS} FROM pending_grants {expired}"), values![limit]).await
    }

    /// Replaces the account and the tokens of a grant. Does nothing if the grant is no longer there.
    pub async fn reseal(self, hash: &StateHash, sealed: Sealed) -> Stored<()> {
        let reseal = "UPDATE pending_grants SET data_key = $1, secret = $2 WHERE hash = $3";
        let values = values![&sealed.key_id, &sealed.bytes, hash];
        self.0.execute(Durability::PowerLoss, reseal, values).await.map(drop)
    }

    /// Deletes a grant, if it is there.
    pub async fn delete(self, hash: &StateHash) -> Stored<()> {
        let delete = "DELETE FROM pending_grants WHERE hash = $1";
        self.0.execute(Durability::ProcessKill, delete, values![hash]).await.map(drop)
    }
}
