//! Making triggers.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::agents::NewAgent;
use super::call::RunOf;
use super::definition::{Definition, Violations};
use super::record::TriggerRecord;
use super::types::{GATEWAY_TYPES, TypeOf};
use super::{GATEWAY, NewTrigger, Of, TriggerError, Triggers};
use contract::AuthScheme;
use store::{Holder, NewSubscription, Trigger, new_trigger_id};
use webhooks::CallbackError;

impl Triggers {
    /// Makes a trigger. `user_identifier` is the account that the caller names.
    ///
    /// # Errors
    /// See [`TriggerError`].
    pub async fn create(
        self: &Arc<Self>,
        of: Of<'_>,
        user_identifier: Option<&str>,
        new: NewTrigger,
        deadline: Instant,
    ) -> Result<TriggerRecord, TriggerError> {
        let id = self.make(of, user_identifier, new, None, deadline).await?;
        let made = self.get(of, &id).await.map_err(TriggerError::after_change)?;
        made.ok_or_else(|| TriggerError::Damaged("a trigger was not stored".to_owned()))
    }

    /// Makes a trigger of an application or of an agent, and returns its id. The receiver of an agent
    /// was checked before.
    pub(super) async fn make(
        self: &Arc<Self>,
        of: Of<'_>,
        user_identifier: Option<&str>,
        new: NewTrigger,
        agent: Option<NewAgent>,
        deadline: Instant,
    ) -> Result<String, TriggerError> {
        let (tenant, subject) = of.caller()?;
        let kind = self.find_type(of, &new.connector, &new.kind)?;
        let definition = Definition::checked(&new, kind.as_ref())?;
        // The URLs are a part of the body; the secret is looked at when everything else is good.
        let urls = match &agent {
            Some(_) => Some(definition.urls.clone()),
            None => match self.parts.webhooks.accept_urls(tenant, &definition.urls).await {
                Err(CallbackError::SecretRequired) => None,
                other => Some(other?),
            },
        };
        let account = match &kind {
            Some(kind) => self.choose_account(kind, tenant, subject, user_identifier, deadline).await?,
            None => String::new(),
        };
        let urls = urls.ok_or(CallbackError::SecretRequired)?;

        let id = new_trigger_id()?;
        let agent = match agent {
            Some(agent) => Some(self.part_of_agent(&id, agent).await?),
            None => None,
        };
        let definition = Definition { urls, ..definition };
        let stored = store::NewTrigger {
            definition: self.seal(&Trigger::context(&id), &definition).await?,
            id: id.clone(),
            tenant: tenant.to_owned(),
            subject: subject.to_owned(),
            connector: new.connector,
            kind: new.kind,
            user_identifier: account.clone(),
            labels: new.labels,
            poll_s: new.poll_s,
            agent,
        };
        let subscription = match &kind {
            Some(kind) => {
                let connector = &kind.connector;
                let run = RunOf { connector, tenant, subject, user_identifier: &account, request_id: &id, deadline };
                Some(self.new_subscription(kind, run, &definition.parameters).await?)
            }
            None => None,
        };
        self.add(stored, subscription, deadline).await?;
        Ok(id)
    }

    /// Stores a new trigger, and begins the first step of its subscription.
    async fn add(
        self: &Arc<Self>,
        new: store::NewTrigger,
        subscription: Option<NewSubscription>,
        deadline: Instant,
    ) -> Result<(), TriggerError> {
        let id = new.id.clone();
        let limit = self.parts.config.triggers.max_per_tenant;
        let subscription = self.parts.store.triggers().add(new, subscription, limit).await?;
        // The trigger is made, so that a failure must not look as if it were not.
        if let Some(subscription) = subscription
            && let Err(error) = self.work_now(&subscription, deadline).await
        {
            tracing::debug!(trigger = id, %error, "the first step of a trigger is done later");
        }
        Ok(())
    }

    /// The type that a caller names. `None` for a type of the gateway itself.
    pub(super) fn find_type(&self, of: Of<'_>, connector: &str, kind: &str) -> Result<Option<TypeOf>, TriggerError> {
        let may_use = of.may_use_type(connector, kind);
        if may_use && connector == GATEWAY && GATEWAY_TYPES.iter().any(|known| known.name == kind) {
            return Ok(None);
        }
        let found = TypeOf::find(&self.parts.registry, connector, kind).filter(|_| may_use);
        found.map(Some).ok_or_else(|| {
            TriggerError::UnknownType(format!(
                "There is no type `{kind}` of `{connector}`, or your key may not use it; GET /trigger-types lists what is there."
            ))
        })
    }

    /// The account of a new trigger, whose grant has the scopes of the type. Empty if the connector
    /// needs none.
    pub(super) async fn choose_account(
        &self,
        kind: &TypeOf,
        tenant: &str,
        subject: &str,
        named: Option<&str>,
        deadline: Instant,
    ) -> Result<String, TriggerError> {
        let connector = &kind.connector;
        if matches!(connector.manifest().auth, AuthScheme::None) {
            return Ok(String::new());
        }
        let holder =
            Holder { tenant: tenant.to_owned(), subject: subject.to_owned(), connector: connector.name().to_string() };
        let chosen = timeout_at(deadline, self.parts.integrations.choose(connector, &holder, named)).await;
        let chosen = chosen.map_err(|_| pipeline::Error::StoreTimedOut)?.map_err(pipeline::Error::Access)?;
        let user_identifier = chosen.user_identifier().to_owned();
        let Some(found) = self.parts.store.integrations().get(&holder, &user_identifier).await? else {
            return Ok(user_identifier);
        };
        let granted = &found.details.scopes;
        let missing: Vec<String> =
            kind.declared().scopes.iter().filter(|scope| !granted.contains(scope)).cloned().collect();
        if !missing.is_empty() && !granted.is_empty() {
            return Err(TriggerError::ScopesMissing {
                connector: connector.name().to_string(),
                again: self.parts.integrations.connect_again(&found),
                scopes: missing,
            });
        }
        Ok(user_identifier)
    }
}

impl Definition {
    /// The definition of a new trigger, checked except for its URLs. `kind` is `None` for a type of
    /// the gateway itself.
    fn checked(new: &NewTrigger, kind: Option<&TypeOf>) -> Result<Self, TriggerError> {
        let parameters = if new.parameters.is_null() { json!({}) } else { new.parameters.clone() };
        let mut violations = Violations::default();
        match kind {
            Some(kind) => violations.check_parameters(&kind.declared().parameters, &parameters)?,
            None if parameters.as_object().is_none_or(|members| !members.is_empty()) => {
                violations.add("/parameters", "Events of the gateway have no parameters. Leave the member out.");
            }
            None => {}
        }
        let filters = violations.read_filters(new.filters.as_ref().unwrap_or(&Value::Null));
        let response_fields = violations.read_response_fields(new.response_fields.as_ref().unwrap_or(&Value::Null));
        violations.check_labels(&new.labels);
        violations.check_poll_s(new.poll_s);
        let definition = Self { parameters, urls: new.urls.clone(), filters, response_fields };
        violations.check_size(&definition)?;
        violations.finish()?;
        Ok(definition)
    }
}
