//! The inboxes of applications, for operators, and the requests of services.

use std::collections::BTreeMap;
use std::time::SystemTime;

use super::manage::random;
use super::record::{HookRequestRecord, InboxRecord, InboxSecretRecord, RejectionRecord};
use super::types::{inbox_of, is_ready};
use super::{TriggerError, Triggers};
use contract::trigger_types::InboxScope;
use store::{HookRequestFilter, Inbox, InboxSecret, NewInbox, RecordedHookRequest, SecretAdded};

/// Random bytes of an address, which are 22 characters.
const ADDRESS_BYTES: usize = 16;

impl Triggers {
    /// All inboxes of applications.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn inboxes(&self) -> Result<Vec<InboxRecord>, TriggerError> {
        let inboxes = self.parts.store.inboxes().list().await?;
        let rejected = self.parts.store.inboxes().rejected().await?;
        Ok(inboxes.into_iter().map(|inbox| self.inbox_record(inbox, &rejected)).collect())
    }

    /// An inbox.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn inbox(&self, id: &str) -> Result<Option<InboxRecord>, TriggerError> {
        let Some(inbox) = self.parts.store.inboxes().get(id).await? else { return Ok(None) };
        let rejected = self.parts.store.inboxes().rejected().await?;
        Ok(Some(self.inbox_record(inbox, &rejected)))
    }

    /// Makes an inbox. `tenant` is empty for all tenants.
    ///
    /// # Errors
    /// `UnknownType` if no connector declares it, `Store(Duplicate)`, or if the store fails.
    pub async fn add_inbox(&self, connector: &str, inbox: &str, tenant: &str) -> Result<InboxRecord, TriggerError> {
        let live = self.parts.registry.get(connector);
        let declared = live.as_ref().and_then(|connector| inbox_of(connector, inbox));
        if declared.is_none_or(|declared| declared.scope != InboxScope::Application) {
            let names: Vec<String> = live
                .iter()
                .flat_map(|connector| connector.additions().inboxes.iter())
                .filter(|declared| declared.scope == InboxScope::Application)
                .map(|declared| format!("`{}`", declared.name))
                .collect();
            let known = match names.is_empty() {
                true => "It declares none.".to_owned(),
                false => format!("It declares {}.", names.join(", ")),
            };
            let detail = format!("The connector `{connector}` has no inbox `{inbox}` of an application. {known}");
            return Err(TriggerError::UnknownType(detail));
        }
        let new = NewInbox {
            connector: connector.to_owned(),
            inbox: inbox.to_owned(),
            tenant: tenant.to_owned(),
            address: random(ADDRESS_BYTES)?,
        };
        let made = self.parts.store.inboxes().add(new).await?;
        Ok(self.inbox_record(made, &BTreeMap::new()))
    }

    /// Deletes an inbox.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn delete_inbox(&self, id: &str) -> Result<bool, TriggerError> {
        Ok(self.parts.store.inboxes().delete(id).await?)
    }

    /// Gives an inbox a secret. `None` if there is no such inbox.
    ///
    /// # Errors
    /// `TooManySecrets`, or if the store or the vault fails.
    pub async fn add_secret(&self, inbox: &str, secret: &str) -> Result<Option<InboxSecretRecord>, TriggerError> {
        let id = InboxSecret::new_id()?;
        let sealed = self.parts.vault.seal(&InboxSecret::context(&id), secret.as_bytes()).await?;
        // After the secret is stored, nothing may fail: the caller would take it for refused.
        let created_at: SystemTime = self.parts.store.database().now().await?.into();
        match self.parts.store.inboxes().add_secret(inbox, &id, sealed).await? {
            SecretAdded::Added => {}
            SecretAdded::Full => return Err(TriggerError::TooManySecrets),
            SecretAdded::Unknown => return Ok(None),
        }
        Ok(Some(InboxSecretRecord { id, created_at: created_at.into() }))
    }

    /// Deletes a secret of an inbox.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn delete_secret(&self, inbox: &str, id: &str) -> Result<bool, TriggerError> {
        Ok(self.parts.store.inboxes().delete_secret(inbox, id).await?)
    }

    /// A page of the requests of services, the newest first, and the place of the last one.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn hook_requests(
        &self,
        filter: HookRequestFilter,
    ) -> Result<(Vec<HookRequestRecord>, Option<(SystemTime, i64)>), TriggerError> {
        let limit = filter.limit;
        // One more shows if there is a next page.
        let mut found = self.parts.store.inboxes().requests(HookRequestFilter { limit: limit + 1, ..filter }).await?;
        let is_last = found.len() <= limit as usize;
        found.truncate(limit as usize);
        let next = found.last().filter(|_| !is_last).map(|last| (last.at, last.number));
        Ok((found.into_iter().map(request_record).collect(), next))
    }

    /// The public form of an inbox. `rejected` has the numbers of requests that were rejected
    /// lately, by the ids of inboxes.
    fn inbox_record(&self, inbox: Inbox, rejected: &BTreeMap<String, u64>) -> InboxRecord {
        let live = self.parts.registry.get(&inbox.connector);
        let declared = live.as_ref().and_then(|connector| inbox_of(connector, &inbox.inbox));
        let state = match declared {
            Some(declared) if !is_ready(declared, &inbox) => "needs-secret",
            Some(declared) if declared.visibility.is_some() && !self.has_app_token(&inbox.connector) => "needs-setup",
            _ if inbox.last_accepted_at.is_some() => "verified",
            _ => "unverified",
        };
        InboxRecord {
            state,
            url: self.hook_url(&inbox.address),
            tenant: Some(inbox.tenant).filter(|tenant| !tenant.is_empty()),
            secrets: inbox
                .secrets
                .into_iter()
                .map(|secret| InboxSecretRecord { id: secret.id, created_at: secret.created_at.into() })
                .collect(),
            last_accepted_at: inbox.last_accepted_at.map(Into::into),
            rejected_24h: rejected.get(&inbox.id).copied().unwrap_or_default(),
            last_rejection: inbox.last_rejection.map(|(at, reason)| RejectionRecord { at: at.into(), reason }),
            id: inbox.id,
            connector: inbox.connector,
            inbox: inbox.inbox,
        }
    }
}

fn request_record(request: RecordedHookRequest) -> HookRequestRecord {
    let some = |text: String| Some(text).filter(|text| !text.is_empty());
    HookRequestRecord {
        at: request.at.into(),
        gateway: request.gateway,
        address: some(request.address),
        connector: some(request.connector),
        outcome: request.outcome,
        reason: request.reason,
        kind: request.kind,
        events: request.events,
        ms: request.ms,
        bytes: request.bytes,
        remote: request.remote,
    }
}
