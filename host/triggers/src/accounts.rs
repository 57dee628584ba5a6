//! Events of the gateway itself: changes of accounts.

use serde_json::json;

use super::deliver::{Occurrence, Origin};

use super::{GATEWAY, TriggerError, Triggers};
use store::{Holder, IntegrationChange, TriggerFilter};

/// Changes of one turn.
const CHANGES: u32 = 100;

/// The most triggers of a tenant that get one change.
const MAX_TOLD: u32 = 1_000;

impl Triggers {
    /// Makes events of the changes of accounts.
    ///
    /// # Errors
    /// If the store or the vault fails. What is left is done in the next turn.
    pub(super) async fn tell_changes(&self) -> Result<(), TriggerError> {
        for change in self.parts.store.events().integration_changes(CHANGES).await? {
            self.tell_change(&change).await?;
        }
        Ok(())
    }

    async fn tell_change(&self, change: &IntegrationChange) -> Result<(), TriggerError> {
        let IntegrationChange { number, tenant, subject, connector, user_identifier, kind } = change;
        let filter = TriggerFilter {
            tenant: Some(tenant.clone()),
            connector: Some(GATEWAY.to_owned()),
            kind: Some(kind.clone()),
            limit: MAX_TOLD,
            ..TriggerFilter::default()
        };
        let holder = Holder { tenant: tenant.clone(), subject: subject.clone(), connector: connector.clone() };
        let found = self.parts.store.integrations().get(&holder, user_identifier).await?;
        let status = match (&found, kind.as_str()) {
            (_, "integration_deleted") | (None, _) => "deleted",
            (Some(found), _) => found.details.status.name(),
        };
        let data = json!({
            "connector": connector,
            "tenant": tenant,
            "subject": Some(subject).filter(|subject| !subject.is_empty()),
            "user_identifier": user_identifier,
            "status": status,
            "reason": found.as_ref().and_then(|found| found.details.reason.clone()),
            "labels": found.as_ref().map(|found| found.labels.clone()).unwrap_or_default(),
        })
        .to_string();
        let mut events = Vec::new();
        for trigger in self.parts.store.triggers().list(filter).await? {
            // A user of the tenant learns of no other accounts.
            if !trigger.subject.is_empty() && trigger.subject != *subject {
                continue;
            }
            let definition = self.definition(&trigger).await?;
            let id = number.to_string();
            let occurrence = Occurrence { source: GATEWAY, id: &id, time: None, data: &data, origin: Origin::Push };
            events.extend(self.event_of(&trigger, &definition, &occurrence).await?);
        }
        let stored = self.parts.store.events().end_integration_change(self.vault().await?, *number, events).await?;
        if stored > 0 {
            self.count_events(GATEWAY, "stored", stored);
            self.parts.webhooks.wake();
            self.wake_waiting();
        }
        Ok(())
    }
}
