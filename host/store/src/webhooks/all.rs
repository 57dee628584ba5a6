//! The deliveries of all tenants, for the operator.

use database::conditions::Conditions;
use database::connection::{Connection, Durability};
use database::value::values;

use super::types::{COLUMNS, MORE_COLUMNS};
use super::{AnyDelivery, AnyDeliveryFilter, Resent, UrlFilter};
use crate::Stored;
use crate::audit::{self, Acting, AuditAction};
use crate::handles::Webhooks;

impl Webhooks<'_> {
    /// Returns a page of the deliveries of all tenants, the newest first.
    pub async fn all_deliveries(self, filter: AnyDeliveryFilter) -> Stored<Vec<AnyDelivery>> {
        let AnyDeliveryFilter { id, status, failing, tenant, url, before, limit } = filter;
        let (receiver, hash) = match url {
            Some(UrlFilter::Receiver(receiver)) => (Some(receiver), None),
            Some(UrlFilter::Hash(hash)) => (None, Some(hash)),
            None => (None, None),
        };
        let status = status.map(|status| status.name().to_owned());
        let mut conditions = Conditions::with_limit(limit);
        let equal = [("status", status), ("tenant", tenant), ("receiver", receiver), ("url_hash", hash)];
        for (column, value) in equal {
            conditions.equal(column, value);
        }
        conditions.add(if failing { "status = 'pending' AND attempts <> '[]'" } else { "" });
        conditions.with("(webhook_id = ? OR message_id = ?)", id);
        conditions.after("created_at, webhook_id", before);
        let (clause, values) = conditions.finish();
        let page = format!(
            "SELECT {COLUMNS}, {MORE_COLUMNS} FROM webhook_deliveries {clause}
             ORDER BY created_at DESC, webhook_id DESC LIMIT $1"
        );
        self.0.read_all(page, &values).await
    }

    /// Makes a delivery due now. If it had ended, it is attempted once more, with the same id. A
    /// body whose time is over counts as gone, also before it is swept.
    pub async fn resend_delivery(self, webhook_id: &str) -> Stored<Resent> {
        let (webhook_id, by) = (webhook_id.to_owned(), Acting::current());
        self.0.write(Durability::PowerLoss, move |connection| {
            let found = "UPDATE webhook_deliveries
                 SET resent = (status <> 'pending' OR resent), status = 'pending', next_attempt_at = now_ms(), body_until = NULL
                 WHERE webhook_id = $1 AND payload_id IS NOT NULL AND (status = 'pending' OR body_until > now_ms())
                 RETURNING";
            let due: Option<AnyDelivery> =
                connection.optional(&format!("{found} {COLUMNS}, {MORE_COLUMNS}"), values![&webhook_id])?;
            let Some(due) = due else { return not_sent(connection, &webhook_id) };
            audit::note(connection, &by, AuditAction::WebhookResent, &webhook_id, &due.tenant, &due.receiver)?;
            Ok(Resent::Due(Box::new(due)))
        })
        .await
    }
}

/// The reason why a delivery cannot be sent once more.
fn not_sent(connection: &mut dyn Connection, webhook_id: &str) -> Stored<Resent> {
    let is_known: bool = connection
        .one("SELECT EXISTS (SELECT 1 FROM webhook_deliveries WHERE webhook_id = $1)", values![webhook_id])?;
    Ok(if is_known { Resent::NotKept } else { Resent::Unknown })
}
