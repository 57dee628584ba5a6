//! The events that notify the operator of changes of integrations.

use serde_json::{Value, json};

use super::reason::Reason;
use super::{IntegrationError, Integrations};
use store::{Holder, NewDelivery};
use webhooks::EventKind;

/// A change of an integration that the operator is notified of.
pub(super) enum Change<'a> {
    /// The user has connected the account.
    Connected,
    /// The user has to authorize again.
    Expired(&'a Reason),
    /// The service refuses the access that the user gave.
    Refused(&'a Reason),
    /// The user has removed the integration.
    Removed,
}

impl Integrations {
    /// The deliveries of the event of a change. The caller stores them in the transaction of the
    /// change.
    ///
    /// # Errors
    /// If they cannot be sealed.
    pub(super) async fn event_deliveries(
        &self,
        holder: &Holder,
        user_identifier: &str,
        change: Change<'_>,
    ) -> Result<Vec<NewDelivery>, IntegrationError> {
        let mut data = json!({
            "tenant": holder.tenant,
            "subject": Some(&holder.subject).filter(|subject| !subject.is_empty()),
            "connector": holder.connector,
            "user_identifier": user_identifier,
        });
        let kind = match change {
            Change::Connected => EventKind::IntegrationConnected,
            Change::Expired(reason) => {
                data["reason"] = json!(reason);
                EventKind::IntegrationExpired
            }
            Change::Refused(reason) => {
                data["reason"] = json!(reason);
                data["deleted"] = json!(false);
                EventKind::IntegrationRevoked
            }
            Change::Removed => {
                data["reason"] = Value::Null;
                data["deleted"] = json!(true);
                EventKind::IntegrationRevoked
            }
        };
        Ok(self.events.prepare(kind, &data).await?)
    }
}
