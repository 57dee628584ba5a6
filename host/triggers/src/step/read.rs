//! Reading what happened at the service.

use std::time::Duration;

use serde_json::Value;

use super::{IDLE, Member, SAFETY, Step, USER_DELAY, delay, jittered};
use crate::TriggerError;
use crate::call::{AboutRead, AboutSubscription, Class, Failed, Read};
use crate::deliver::{Occurrence, Origin, time_of};
use crate::state;
use crate::work::LEASE;
use contract::trigger_types::TriggerSource;
use hooks::{Subject, conditions_hold, kind_is};
use store::{Blocked, ReadEvents, Standing, StoreError, Subscription};

/// Events of one read.
const READ_LIMIT: u32 = 100;

/// Reads of one step. More are due at once, after other subscriptions had their turn.
const READS: usize = 20;

/// Refusals of a read in a row before a trigger has failed.
const REFUSED_READS: u32 = 3;

impl Step<'_> {
    /// Reads if that is due.
    pub(super) async fn read(&mut self) -> Result<(), TriggerError> {
        if self.has_rest() && !self.is_paused() {
            return self.end_reading().await;
        }
        if !self.reads() || self.is_paused() {
            return self.recover().await;
        }
        if self.holds_read() {
            return Ok(());
        }
        let Subscription { read_at, now, .. } = self.subscription;
        let has_just_begun = self.done.read == Some(true);
        let is_due = self.reads_now || self.reads_for_newcomers() || read_at.map_or(!has_just_begun, |at| at <= *now);
        if !is_due {
            let planned = read_at.map(|at| at.duration_since(*now).unwrap_or_default());
            let interval = self.time_to_next();
            self.done.read_in =
                Some(planned.unwrap_or_else(|| jittered(&self.subscription.id, interval)).min(interval));
            return Ok(());
        }
        for _ in 0..READS {
            // The first read may come late, once the service has refused to notify the gateway.
            if !self.read_once(self.cursor.is_null()).await? {
                return Ok(());
            }
            if self.done.read_in.is_none() {
                self.done.read_in = Some(jittered(&self.subscription.id, self.time_to_next()));
                return Ok(());
            }
        }
        Ok(())
    }

    /// Returns `true` if the last read has failed and the time of the next attempt has not come,
    /// whoever asks for a read. The time stays as it was planned.
    fn holds_read(&mut self) -> bool {
        let Subscription { failed_reads, read_at, now, reason, .. } = self.subscription;
        let Some(at) = read_at.filter(|at| *failed_reads > 0 && at > now) else { return false };
        self.done.read_in = Some(at.duration_since(*now).unwrap_or_default());
        self.done.reason = self.done.reason.take().or_else(|| reason.clone());
        self.done.is_held = true;
        true
    }

    /// The same, for a step that does nothing else before it has read.
    pub(super) fn must_wait(&mut self) -> bool {
        let Subscription { renew_at, now, .. } = self.subscription;
        if !self.holds_read() {
            return false;
        }
        self.done.renew_in = renew_at.map(|at| at.duration_since(*now).unwrap_or_default());
        true
    }

    /// Time between two reads.
    fn time_to_next(&self) -> Duration {
        if self.is_pushed() { SAFETY } else { self.interval() }
    }

    /// Reads for the last time before the service is asked to notify the gateway, so that no event is
    /// both read and notified. Returns `false` if the read has failed. The service is then asked at the
    /// next attempt.
    pub(super) async fn read_before_notifications(&mut self) -> Result<bool, TriggerError> {
        let Subscription { standing, renew_at, failed_reads, now, .. } = self.subscription;
        let is_asked = self.is_carried() && standing.is_polled() && renew_at.is_some_and(|at| at <= *now);
        // Without this read, the gap is longer.
        if !is_asked || *failed_reads > 0 || self.cursor.is_null() || self.is_paused() || !self.reads() {
            return Ok(true);
        }
        for _ in 0..READS {
            if !self.read_once(false).await? {
                self.done.renew_in = Some(self.done.read_in.unwrap_or(USER_DELAY));
                return Ok(false);
            }
            if self.done.read_in.is_none() {
                break;
            }
        }
        Ok(true)
    }

    /// Returns `true` if the service carries events now that were read before, up to the cursor.
    pub(super) fn has_rest(&self) -> bool {
        self.is_carried() && self.standing() == Standing::Active && !self.cursor.is_null()
    }

    /// Forgets the cursor, because the service carries the events now. A later read from it would find
    /// those that were notified once more, with other ids. No time tells them apart: the clocks of the
    /// service and of the database differ, and the service may list an event late. So the receivers
    /// learn of a gap since the last read.
    async fn end_reading(&mut self) -> Result<(), TriggerError> {
        let Subscription { standing, last_read_at, .. } = self.subscription;
        if *standing != Standing::Active {
            // The next step does it: notifications are for the account once this one is stored.
            self.done.read_in = Some(Duration::ZERO);
            return Ok(());
        }
        self.tell_gap(*last_read_at).await?;
        self.forget_cursor();
        self.done.read_in = Some(jittered(&self.subscription.id, SAFETY));
        Ok(())
    }

    pub(super) fn forget_cursor(&mut self) {
        self.cursor = Value::Null;
        self.done.cursor = None;
        self.done.forgets_cursor = true;
    }

    /// Lets the service send again what it could not deliver.
    async fn recover(&mut self) -> Result<(), TriggerError> {
        let Some(operation) = self.operation(|declared| declared.recover.as_ref()) else { return Ok(()) };
        let Subscription { read_at, now, .. } = self.subscription;
        let Some(standing) = self.sealed.standing.clone() else { return Ok(()) };
        self.done.read_in = Some(match read_at {
            Some(at) if at > now => at.duration_since(*now).unwrap_or_default(),
            // The subscription has just begun.
            None => SAFETY,
            Some(_) => {
                let about = AboutSubscription {
                    upstream_id: Some(&standing.upstream_id),
                    state: Some(&standing.state),
                    parameters: &self.sealed.parameters,
                    kinds: None,
                };
                match self.triggers.call_to_read::<Value>(&self.run(), &operation, &about).await {
                    Ok(_) => self.done.read = Some(true),
                    Err(failed) => self.not_recovered(failed),
                }
                self.done.limited.map_or(SAFETY, |limited| limited.max(SAFETY))
            }
        });
        Ok(())
    }

    /// Notes that the service did not send again what it could not deliver.
    fn not_recovered(&mut self, Failed { class, detail }: Failed) {
        self.done.reason = Some(detail);
        self.has_tried(class);
        match class {
            Class::User => {
                self.block(Blocked::User, USER_DELAY);
            }
            // Perhaps the service no longer notifies the gateway. The renewal finds that out.
            Class::Refused(403 | 404 | 410) => self.done.renew_in = Some(Duration::ZERO),
            Class::Refused(_) | Class::Limited(_) | Class::Transient => {}
        }
    }

    /// Reads once, and stores events and cursor. `read_in` is zero if more is there, and absent if
    /// not. Returns `false` if the read failed.
    pub(super) async fn read_once(&mut self, is_first: bool) -> Result<bool, TriggerError> {
        let Some(operation) = self.operation(|declared| declared.read.as_ref()) else { return Ok(true) };
        let about =
            AboutRead { parameters: &self.sealed.parameters, cursor: &self.cursor, hint: None, limit: READ_LIMIT };
        let read: Read = match self.triggers.call_to_read(&self.run(), &operation, &about).await {
            Ok(read) => read,
            Err(failed) => return Ok(self.not_read(failed)),
        };
        let Subscription { last_read_at: began, renewed_at, .. } = self.subscription;
        let newcomers = self.newcomers();
        let mut events = Vec::new();
        // The first read only finds the cursor that stands for now.
        for event in read.events.iter().filter(|_| !is_first) {
            let time = time_of(event.time.as_deref());
            for (member, _) in self.members.iter().zip(&newcomers).filter(|(_, is_newcomer)| !**is_newcomer) {
                let declared = member.kind.declared();
                let is_of_type = declared.source == TriggerSource::Read || kind_is(&declared.kinds, &event.kind);
                let (parameters, account) = (&member.definition.parameters, &self.sealed.account);
                if !is_of_type || !conditions_hold(declared, Subject::Json(event.data.get()), parameters, account) {
                    continue;
                }
                let occurrence = Occurrence {
                    source: "read",
                    id: &event.id,
                    time,
                    data: event.data.get(),
                    origin: if self.caught_up() { Origin::CatchUp } else { Origin::Read },
                };
                let Member { trigger, definition, .. } = member;
                events.extend(self.triggers.event_of(trigger, definition, &occurrence).await?);
            }
        }
        if read.gap && !is_first {
            events.extend(self.gap(*began, &self.cursor.to_string()).await?);
        } else if is_first && self.is_carried() && renewed_at.is_some() {
            // The service has notified the gateway until some time since it was known to do so.
            events.extend(self.gap(self.last_known(), &self.id_of_gap()).await?);
        }
        match events.is_empty() && !is_first {
            true => self.note_cursor(read.cursor).await?,
            false if !self.store_cursor(read.cursor, events).await? => return Ok(false),
            false => {}
        }
        self.done.read = Some(true);
        self.done.read_in = read.more.then_some(Duration::ZERO);
        self.has_read_all = is_first || !read.more;
        Ok(true)
    }

    /// Returns `true` if the last reads or renewals have failed.
    fn caught_up(&self) -> bool {
        self.subscription.failed_reads > 0 || self.subscription.failed_renewals > 0
    }

    /// Leaves the cursor behind a read without events to the end of the step, so that the read
    /// costs no transaction.
    async fn note_cursor(&mut self, cursor: Value) -> Result<(), TriggerError> {
        let sealed = self.triggers.seal(&Subscription::cursor_context(&self.subscription.id), &cursor).await?;
        let empty_reads = self.done.cursor.take().map_or(0, |(_, reads)| reads);
        self.done.cursor = Some((sealed, empty_reads + 1));
        self.done.forgets_cursor = false;
        self.empty_reads = self.empty_reads.saturating_add(1);
        self.cursor = cursor;
        Ok(())
    }

    /// Stores events with the cursor behind them. Returns `false` if there is no room for the
    /// events, or if another gateway has the lease.
    pub(super) async fn store_cursor(
        &mut self,
        cursor: Value,
        events: Vec<store::NewEvent>,
    ) -> Result<bool, TriggerError> {
        let Subscription { id, tenant, connector, .. } = self.subscription;
        let parts = &self.triggers.parts;
        let has_webhooks = events.iter().any(|event| !event.deliveries.is_empty());
        let max_pending = parts.config.triggers.max_pending_per_tenant;
        if has_webhooks && parts.store.events().pending(tenant).await? >= max_pending {
            return Ok(self.has_no_room("backlog"));
        }
        let sealed = self.triggers.seal(&Subscription::cursor_context(id), &cursor).await?;
        self.empty_reads = if events.is_empty() { self.empty_reads.saturating_add(1) } else { 0 };
        let read = ReadEvents { cursor: sealed, events };
        let stored = match parts
            .store
            .subscriptions()
            .store_read(self.triggers.vault().await?, self.subscription, read, LEASE)
            .await
        {
            Err(StoreError::TenantFull { .. }) => return Ok(self.has_no_room("tenant-full")),
            stored => stored?,
        };
        let Some(stored) = stored else { return Ok(false) };
        // Its cursor is before this one.
        self.done.cursor = None;
        self.done.forgets_cursor = false;
        self.triggers.count_events(connector, "stored", stored);
        self.triggers.wake_waiting();
        if has_webhooks {
            parts.webhooks.wake();
        }
        self.cursor = cursor;
        Ok(true)
    }

    /// Reads the same events again later.
    fn has_no_room(&mut self, reason: &str) -> bool {
        self.done.reason = Some(reason.to_owned());
        self.done.read_in = Some(USER_DELAY);
        false
    }

    pub(super) fn not_read(&mut self, Failed { class, detail }: Failed) -> bool {
        self.done.reason = Some(detail);
        self.has_tried(class);
        match class {
            Class::User => self.block(Blocked::User, USER_DELAY),
            Class::Refused(403 | 404 | 410) if self.subscription.failed_reads + 1 >= REFUSED_READS => {
                self.block(Blocked::Final, IDLE)
            }
            _ => {
                self.done.read = Some(false);
                self.done.read_in = Some(delay(class, self.subscription.failed_reads));
                false
            }
        }
    }

    /// Lets the next read wait as long as the service wants, which has refused another call.
    pub(super) fn holds_next_read(&mut self, class: Class) {
        self.has_tried(class);
        if self.reads() {
            // A notification does not make a read due before the time of one that has failed.
            self.done.read = Some(false);
        }
        if self.reads() || self.has_rest() {
            self.done.read_in = self.done.limited;
        }
    }

    /// Notes that a read has failed, and when the service accepts the next one, if it has said so.
    fn has_tried(&mut self, class: Class) {
        self.done.has_tried = true;
        self.done.limited = matches!(class, Class::Limited(_)).then(|| delay(class, 0));
    }

    /// The shortest interval of reads of its triggers.
    fn interval(&self) -> Duration {
        let of = |member: &Member| {
            state::interval(member.trigger.poll_s, member.kind.declared().poll_seconds, self.empty_reads)
        };
        self.members.iter().map(of).min().unwrap_or(IDLE)
    }
}
