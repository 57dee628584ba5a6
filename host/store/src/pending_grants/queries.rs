//! Storing, confirming and deleting grants.

use database::connection::{Connection, Durability};
use database::value::values;

use super::{FoundGrant, PendingGrant};
use crate::handles::PendingGrants;
use crate::integrations::{note, upsert_integration};
use crate::records::record;
use crate::{Acting, AuditAction, Connected, Holder, Integration, NewDelivery, StateHash, Stored};

/// The columns of a [`PendingGrant`], in the order in which they are read.
const COLUMNS: &str = "hash, tenant, subject, connector, user_identifier, data_key, secret, expires_at";

impl PendingGrants<'_> {
    /// Stores a grant.
    pub async fn save(self, grant: PendingGrant) -> Stored<()> {
        self.0.write(Durability::PowerLoss, move |connection| insert_grant(connection, &grant)).await
    }

    /// Looks up the grant that a holder wants to confirm.
    pub async fn get(self, holder: &Holder, user_identifier: &str, hash: &StateHash) -> Stored<FoundGrant> {
        let (holder, user_identifier, hash) = (holder.clone(), user_identifier.to_owned(), *hash);
        self.0.read(move |connection| {
            let found: Option<PendingGrant> = connection.optional(
                &format!(
                    "SELECT {COLUMNS} FROM pending_grants
                     WHERE hash = $1 AND tenant = $2 AND connector = $3 AND user_identifier = $4 AND expires_at > now_ms()"
                ),
                values![&hash, &holder.tenant, &holder.connector, &user_identifier],
            )?;
            Ok(match found {
                None => FoundGrant::Unknown,
                Some(grant) if grant.holder.subject != holder.subject => FoundGrant::OfOtherSubject,
                Some(grant) => FoundGrant::Pending(Box::new(grant)),
            })
        })
        .await
    }

    /// Deletes a grant and stores its integration, as `store.integrations().connect` does. Returns
    /// `None` and changes nothing if the grant no longer exists.
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
                let deleted = connection.execute("DELETE FROM pending_grants WHERE hash = $1", values![&grant.hash])?;
                if deleted == 0 {
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
        self.0
            .read(move |connection| {
                connection.all(
                    &format!(
                        "SELECT {COLUMNS} FROM pending_grants WHERE expires_at <= now_ms() ORDER BY expires_at LIMIT $1"
                    ),
                    values![limit],
                )
            })
            .await
    }

    /// Deletes a grant, if it is there.
    pub async fn delete(self, hash: &StateHash) -> Stored<()> {
        let hash = *hash;
        self.0
            .write(Durability::ProcessKill, move |connection| {
                connection.execute("DELETE FROM pending_grants WHERE hash = $1", values![&hash])?;
                Ok(())
            })
            .await
    }
}

/// Stores a grant in an open transaction.
pub(crate) fn insert_grant(connection: &mut dyn Connection, grant: &PendingGrant) -> Stored<()> {
    connection.execute(
        &format!("INSERT INTO pending_grants ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"),
        values![
            &grant.hash,
            &grant.holder.tenant,
            &grant.holder.subject,
            &grant.holder.connector,
            &grant.user_identifier,
            &grant.sealed.key_id,
            &grant.sealed.bytes,
            grant.expires_at,
        ],
    )?;
    Ok(())
}

record! {
    PendingGrant: hash, holder, user_identifier, sealed, expires_at
}
