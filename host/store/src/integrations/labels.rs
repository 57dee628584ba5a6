//! Labels: texts that callers gave integrations.

use database::connection::Durability;
use database::value::values;

use super::columns::text_of_labels;
use super::queries::{COLUMNS, note};
use super::{Holder, Integration, Labels};
use crate::Stored;
use crate::audit::{Acting, AuditAction};
use crate::handles::Integrations;

impl Integrations<'_> {
    /// Sets the labels of an integration. Returns `None` and changes nothing if there is no such
    /// integration.
    pub async fn label(self, holder: &Holder, user_identifier: &str, labels: &Labels) -> Stored<Option<Integration>> {
        // No account has such a name, and PostgreSQL cannot look for it.
        if user_identifier.contains('\0') {
            return Ok(None);
        }
        let (holder, user_identifier, by) = (holder.clone(), user_identifier.to_owned(), Acting::current());
        let (labels, quota) = (text_of_labels(labels), self.0.quota);
        self.0
            .write(Durability::PowerLoss, move |connection| {
                quota.check(connection, &holder.tenant)?;
                // The version stays, because it is the one of the details: a refresh that runs now must
                // still store its tokens.
                let labelled: Option<Integration> = connection.optional(
                    &format!(
                    "UPDATE integrations SET labels = $1, updated_at = now_ms()
                     WHERE tenant = $2 AND subject = $3 AND connector = $4 AND user_identifier = $5 RETURNING {COLUMNS}"
                ),
                    values![&labels, &holder.tenant, &holder.subject, &holder.connector, &user_identifier],
                )?;
                if let Some(labelled) = &labelled {
                    note(connection, &by, AuditAction::IntegrationLabelled, labelled)?;
                }
                Ok(labelled)
            })
            .await
    }
}
