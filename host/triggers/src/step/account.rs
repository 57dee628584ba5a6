//! The account of the subscription, as the service names it, and the notifications at an inbox of
//! an application that it may get.

use std::sync::Arc;
use std::time::SystemTime;

use serde_json::Value;

use super::{IDLE, SAFETY, Step, USER_DELAY, delay, jittered};
use crate::TriggerError;
use crate::call::{Class, Failed};
use crate::identity::{needs_account, route_of};
use crate::new_subscription::not_told_apart;
use crate::types::inbox_of;
use contract::trigger_types::{Inbox, InboxScope};
use integrations::AccessError;
use problem::pipeline_problem;
use store::{Blocked, Holder, Standing, Subscription};

impl Step<'_> {
    /// Looks if the user must connect the account again. If so, nothing more can be done now.
    pub(super) async fn waits_for_user(&mut self) -> Result<bool, TriggerError> {
        let Subscription { tenant, subject, connector, user_identifier, renew_at, read_at, now, .. } =
            self.subscription;
        let holder = Holder { tenant: tenant.clone(), subject: subject.clone(), connector: connector.clone() };
        let ended = self.triggers.parts.integrations.ended(&holder, user_identifier).await;
        let Some(error) = ended.map_err(|error| pipeline::Error::Access(AccessError::Failed(error)))? else {
            return Ok(false);
        };
        // The sentence that calls on the account get.
        let problem = pipeline_problem(pipeline::Error::Access(error), connector);
        self.done.reason = Some(problem.detail().to_owned());
        let planned = |at: SystemTime| at.duration_since(*now).unwrap_or_default().max(USER_DELAY);
        (self.done.renew_in, self.done.read_in) = (renew_at.map(planned), read_at.map(planned));
        self.block(Blocked::User, USER_DELAY);
        Ok(true)
    }

    /// Asks the service whose account it is now. Returns `false` if it does not say.
    pub(super) async fn identify(&mut self) -> Result<bool, TriggerError> {
        // The account has no access to what the former one had at the service.
        (self.sealed.standing, self.sealed.former, self.sealed.unanswered) = (None, None, None);
        let connector = Arc::clone(&self.kind().connector);
        let inbox = self.subscription.inbox.as_ref().and_then(|name| inbox_of(&connector, name));
        let account = match needs_account(self.kind(), inbox) {
            true => match self.ask_account().await {
                Ok(account) => account,
                Err(failed) => {
                    self.not_read(failed);
                    return Ok(false);
                }
            },
            false => Value::Null,
        };
        let is_optional = self.operation(|declared| declared.identify.as_ref()).is_some();
        if let Some(inbox) = inbox.filter(|inbox| !is_optional && inbox.scope == InboxScope::Application)
            && route_of(inbox, &account).is_none()
        {
            self.done.reason = Some(not_told_apart(inbox));
            return Ok(self.block(Blocked::Final, IDLE));
        }
        self.is_account(inbox, account).await?;
        if self.is_carried() && self.subscription.standing == Standing::Active {
            // Nothing has said whose the account was before. If it is the same one, it has missed what
            // the service has sent since it was connected again.
            self.tell_gap(self.last_known()).await?;
        }
        Ok(true)
    }

    async fn ask_account(&self) -> Result<Value, Failed> {
        let operation = self.operation(|declared| declared.identify.as_ref());
        self.triggers.identify(&self.run(), operation.as_deref(), &self.sealed.parameters).await
    }

    /// Stores the account, and the notifications that it may get at an inbox of an application.
    async fn is_account(&mut self, inbox: Option<&Inbox>, account: Value) -> Result<(), TriggerError> {
        self.sealed.account = account;
        let context = Subscription::context(&self.subscription.id);
        self.done.secret = Some(self.triggers.seal(&context, &self.sealed).await?);
        self.done.identified = Some(inbox.and_then(|inbox| route_of(inbox, &self.sealed.account)));
        Ok(())
    }

    /// Asks from time to time if the account may still get the notifications at an inbox of an
    /// application. The gateway reads for an account that may not. Returns `false` if nothing more can
    /// be done now.
    pub(super) async fn prove(&mut self, inbox: &Inbox) -> Result<bool, TriggerError> {
        let Subscription { standing, renew_at, now, tenant, .. } = self.subscription;
        let is_made = self.triggers.public_url().is_some() && self.triggers.is_made(self.kind(), inbox, tenant).await?;
        let is_due = match (standing, renew_at) {
            // The service was asked when the subscription was made, unless the inbox did not work.
            (Standing::New, None) => self.sealed.account.is_null(),
            (_, at) => self.is_back() || at.is_none_or(|at| at <= *now),
        };
        if is_made && is_due && self.done.identified.is_none() {
            match self.ask_account().await {
                Ok(account) => self.is_account(Some(inbox), account).await?,
                Err(Failed { class: Class::Refused(_), .. }) => self.is_account(Some(inbox), Value::Null).await?,
                Err(failed) => return Ok(self.not_proven(failed)),
            }
        }
        let is_waiting = !is_due && self.done.identified.is_none() && *standing != Standing::New;
        let may_get = is_made && route_of(inbox, &self.sealed.account).is_some();
        if !may_get && *standing != Standing::None {
            if *standing == Standing::Active {
                // Events that were notified before must not be read once more, with other ids.
                self.forget_cursor();
            }
            self.reads_now = true;
        }
        self.done.renew_in = Some(match (is_waiting, renew_at) {
            (true, Some(at)) => at.duration_since(*now).unwrap_or_default(),
            _ => jittered(&self.subscription.id, SAFETY),
        });
        self.done.renewed = (may_get && !is_waiting).then_some(true);
        let stands = if may_get { Standing::Active } else { Standing::None };
        if stands != *standing || self.done.renewed.is_some() {
            self.stands(stands, Vec::new(), None);
        }
        Ok(true)
    }

    /// Notes that the service did not say if the account may get the notifications.
    fn not_proven(&mut self, Failed { class, detail }: Failed) -> bool {
        self.done.reason = Some(detail);
        if class == Class::User {
            self.done.renew_in = Some(USER_DELAY);
            return self.block(Blocked::User, USER_DELAY);
        }
        self.done.renewed = Some(false);
        self.done.renew_in = Some(delay(class, self.subscription.failed_renewals));
        self.standing() == Standing::None
    }
}
