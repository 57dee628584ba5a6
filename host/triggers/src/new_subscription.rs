//! The subscription of a new trigger, and the inbox that its service notifies.

use std::time::Duration;

use serde_json::{Map, Value};

use super::call::{Class, RunOf};
use super::identity::{needs_account, route_of};
use super::manage::random;
use super::step::Sealed;
use super::types::{TypeOf, is_ready};
use super::{TriggerError, Triggers};
use contract::trigger_types::{Inbox, InboxScope, TriggerSource};
use hooks::account_keys;
use integrations::AccessError;
use store::{Holder, NewSubscription, Subscription};

/// Random bytes of an address, which are 22 characters, and of a secret.
pub(super) const ADDRESS_BYTES: usize = 16;
pub(super) const SECRET_BYTES: usize = 32;

/// Time that is left of a call to store the trigger, and for a first step.
const STORING: Duration = Duration::from_secs(3);

impl Triggers {
    /// The subscription that a new trigger needs, unless another trigger has the same.
    pub(super) async fn new_subscription(
        &self,
        kind: &TypeOf,
        run: RunOf<'_>,
        parameters: &Value,
    ) -> Result<NewSubscription, TriggerError> {
        let declared = kind.declared();
        let covered: Map<String, Value> =
            declared.key.iter().filter_map(|name| Some((name.clone(), parameters.get(name)?.clone()))).collect();
        let covered = Value::Object(covered);
        let (inbox, account) = self.choose_inbox(kind, run, &covered).await?;
        let is_identified = account.is_some();
        let account = account.unwrap_or_default();
        let route = inbox.and_then(|inbox| route_of(inbox, &account));
        let group = match (declared.source, inbox) {
            // The types of one inbox share what stands at the service.
            (TriggerSource::Carried, Some(inbox)) => format!("inbox {}", inbox.name),
            (TriggerSource::Carried, None) => "inbox".to_owned(),
            (TriggerSource::Read, _) => format!("type {}", declared.name),
        };
        let has_address = inbox.is_some_and(|inbox| inbox.scope == InboxScope::Subscription);
        let (address, secret) = match has_address {
            true => (Some(random(ADDRESS_BYTES)?), random(SECRET_BYTES)?),
            false => (None, String::new()),
        };
        let id = Subscription::new_id()?;
        let sealed = Sealed { parameters: covered.clone(), secret, account, ..Sealed::default() };
        Ok(NewSubscription {
            covers: format!("{group}\0{covered}"),
            inbox: inbox.map(|inbox| inbox.name.clone()),
            address,
            route,
            is_identified,
            secret: self.seal(&Subscription::context(&id), &sealed).await?,
            id,
        })
    }

    /// The inbox that the service is to notify, and the account there: the first that works. If
    /// none works and nothing can be read, the first one, which then waits for the operator. The
    /// account is `None` if the service does not say it now. A step then asks again.
    async fn choose_inbox<'a>(
        &self,
        kind: &'a TypeOf,
        run: RunOf<'_>,
        covered: &Value,
    ) -> Result<(Option<&'a Inbox>, Option<Value>), TriggerError> {
        let declared = kind.declared();
        let (has_url, has_setting) = (self.public_url().is_some(), self.has_required_setting(kind));
        let mut usable = Vec::new();
        for inbox in kind.inboxes().filter(|_| has_url) {
            let works = match inbox.scope {
                InboxScope::Subscription => true,
                InboxScope::Application => has_setting && self.is_made(kind, inbox, run.tenant).await?,
            };
            if works {
                usable.push(inbox);
            }
        }
        let first = kind.inboxes().next().filter(|_| declared.read.is_none());
        for inbox in usable {
            if !needs_account(kind, Some(inbox)) {
                return Ok((Some(inbox), Some(Value::Null)));
            }
            let is_optional = declared.identify.is_some() && inbox.scope == InboxScope::Application;
            match self.account_of_new(kind, run, covered).await? {
                Some(account) if inbox.scope == InboxScope::Subscription || route_of(inbox, &account).is_some() => {
                    return Ok((Some(inbox), Some(account)));
                }
                // The account gets its events in another way.
                _ if is_optional => {}
                Some(_) => return Err(TriggerError::Call(pipeline::Error::ConnectorFault(not_told_apart(inbox)))),
                None => return Ok((Some(inbox), None)),
            }
        }
        // A step asks once the operator has made the inbox.
        let is_later = first.is_some() && declared.identify.is_some();
        let account = match needs_account(kind, first) && !is_later {
            true => self.account_of_new(kind, run, covered).await?,
            false => Some(Value::Null),
        };
        Ok((first, account))
    }

    /// The account of a new subscription. `None` if the service does not say it in time.
    ///
    /// # Errors
    /// If the user must connect the account again, or if the store fails.
    async fn account_of_new(
        &self,
        kind: &TypeOf,
        run: RunOf<'_>,
        covered: &Value,
    ) -> Result<Option<Value>, TriggerError> {
        let RunOf { tenant, subject, user_identifier, deadline, .. } = run;
        let run = RunOf { deadline: deadline.checked_sub(STORING).unwrap_or(deadline), ..run };
        let failed = match self.identify(&run, kind.declared().identify.as_deref(), covered).await {
            Ok(account) => return Ok(Some(account)),
            Err(failed) => failed,
        };
        if failed.class == Class::User {
            let connector = kind.connector.name().to_string();
            let holder = Holder { tenant: tenant.to_owned(), subject: subject.to_owned(), connector };
            let ended = self.parts.integrations.ended(&holder, user_identifier).await;
            if let Some(error) = ended.map_err(|error| pipeline::Error::Access(AccessError::Failed(error)))? {
                return Err(TriggerError::Call(pipeline::Error::Access(error)));
            }
        }
        tracing::info!(
            tenant,
            connector = &**kind.connector.name(),
            reason = failed.detail,
            "a service does not say whose account it is; it is asked again"
        );
        Ok(None)
    }

    /// Returns `true` if the operator has made the inbox of an application for this tenant, and it
    /// has what its checks need. An inbox that an account can do without must have accepted a
    /// notification as well.
    pub(super) async fn is_made(&self, kind: &TypeOf, inbox: &Inbox, tenant: &str) -> Result<bool, TriggerError> {
        let is_optional = kind.declared().identify.is_some();
        let is_it = |made: &store::Inbox| {
            made.connector == **kind.connector.name()
                && made.inbox == inbox.name
                && (made.tenant.is_empty() || made.tenant == tenant)
                && is_ready(inbox, made)
                && (!is_optional || made.last_accepted_at.is_some())
        };
        Ok(self.parts.store.inboxes().list().await?.iter().any(is_it))
    }
}

/// Why no notification at the inbox could be for the account.
pub(super) fn not_told_apart(inbox: &Inbox) -> String {
    let pointers: Vec<String> = account_keys(inbox).into_iter().map(|(pointer, _)| format!("`{pointer}`")).collect();
    format!(
        "Notifications at the inbox `{}` name an account by {}, where the service's answer about this account has no text and no number.",
        inbox.name,
        pointers.join(" and ")
    )
}
