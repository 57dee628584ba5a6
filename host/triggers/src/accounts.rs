//! Events of the gateway itself: changes of accounts. Their triggers have no subscription, and so
//! no step that tells of their end.

use serde_json::{Value, json};

use super::deliver::{Occurrence, Origin};
use super::manage::random;
use super::{GATEWAY, TriggerError, Triggers};
use integrations::IntegrationRecord;
use store::{Holder, Integration, IntegrationChange, NewEvent, Told, Trigger, TriggerFilter};

/// Changes of one turn.
const CHANGES: u32 = 100;

/// The number of triggers in one page. All triggers of a tenant get a change, page by page.
const TRIGGERS: u32 = 500;

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

    /// Tells the receivers of triggers of the gateway itself that their trigger has ended.
    ///
    /// # Errors
    /// If the store or the vault fails. What is left is done in the next turn.
    pub(super) async fn tell_ended(&self) -> Result<(), TriggerError> {
        let mut after = String::new();
        loop {
            let page = self.parts.store.triggers().ended_untold(&after, TRIGGERS).await?;
            for trigger in &page {
                if let Err(error) = self.tell_end_of(trigger).await {
                    self.leave_out(&trigger.id, error)?;
                }
            }
            match page.last() {
                Some(last) if page.len() >= TRIGGERS as usize => after.clone_from(&last.id),
                _ => return Ok(()),
            }
        }
    }

    async fn tell_end_of(&self, trigger: &Trigger) -> Result<(), TriggerError> {
        let definition = self.definition(trigger).await?;
        // It may continue, and end once more.
        let id = random(16)?;
        self.tell_state(trigger, &definition, (Told::Disabled, "trigger.disabled"), &id, trigger.reason.as_deref())
            .await
    }

    async fn tell_change(&self, change: &IntegrationChange) -> Result<(), TriggerError> {
        let IntegrationChange { number, tenant, subject, connector, user_identifier, kind } = change;
        let holder = Holder { tenant: tenant.clone(), subject: subject.clone(), connector: connector.clone() };
        let found = self.parts.store.integrations().get(&holder, user_identifier).await?;
        let data = data_of(change, found.as_ref())?.to_string();
        let (mut events, mut before) = (Vec::new(), None);
        loop {
            let filter = TriggerFilter {
                tenant: Some(tenant.clone()),
                connector: Some(GATEWAY.to_owned()),
                kind: Some(kind.clone()),
                before: before.take(),
                limit: TRIGGERS,
                ..TriggerFilter::default()
            };
            let page = self.parts.store.triggers().list(filter).await?;
            // A user of the tenant learns of no other accounts.
            for trigger in page.iter().filter(|trigger| trigger.subject.is_empty() || trigger.subject == *subject) {
                match self.event_of_change(trigger, *number, &data).await {
                    Ok(event) => events.extend(event),
                    Err(error) => self.leave_out(&trigger.id, error)?,
                }
            }
            match page.last() {
                Some(last) if page.len() >= TRIGGERS as usize => before = Some((last.created_at, last.id.clone())),
                _ => break,
            }
        }
        let stored = self.parts.store.events().end_integration_change(self.vault().await?, *number, events).await?;
        if stored > 0 {
            self.count_events(GATEWAY, "stored", stored);
            self.parts.webhooks.wake();
            self.wake_waiting();
        }
        Ok(())
    }

    async fn event_of_change(
        &self,
        trigger: &Trigger,
        number: i64,
        data: &str,
    ) -> Result<Option<NewEvent>, TriggerError> {
        let definition = self.definition(trigger).await?;
        let id = number.to_string();
        let occurrence = Occurrence { source: GATEWAY, id: &id, time: None, data, origin: Origin::Push };
        self.event_of(trigger, &definition, &occurrence).await
    }
}

/// The data of an event: the record of the account as it is now. An account that was deleted has no
/// record any more, and one that was connected since under its name is another one.
fn data_of(change: &IntegrationChange, found: Option<&Integration>) -> Result<Value, TriggerError> {
    let IntegrationChange { tenant, subject, connector, user_identifier, kind, .. } = change;
    let mut data = match found.filter(|_| kind != "integration_deleted") {
        Some(found) => serde_json::to_value(IntegrationRecord::at(found, clock::now()))?,
        None => json!({
            "connector": connector,
            "user_identifier": user_identifier,
            "status": "deleted",
            "reason": null,
            "labels": {},
        }),
    };
    data["tenant"] = json!(tenant);
    data["subject"] = json!(Some(subject).filter(|subject| !subject.is_empty()));
    Ok(data)
}
