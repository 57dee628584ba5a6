//! Reading what happened at the service.

use std::time::Duration;

use serde_json::{Value, json};

use super::{IDLE, Member, SAFETY, Step, USER_DELAY, delay, jittered};
use crate::TriggerError;
use crate::call::{AboutRead, AboutSubscription, Class, Failed, Read};
use crate::deliver::{Occurrence, Origin, time_of};
use crate::state;
use crate::work::LEASE;
use contract::trigger_types::TriggerSource;
use hooks::{Subject, conditions_hold, kind_is};
use store::{Blocked, ReadEvents, StoreError, Subscription};

/// Events of one read.
const READ_LIMIT: u32 = 100;

/// Reads of one step. More are due at once, after other subscriptions had their turn.
const READS: usize = 20;

/// Refusals of a read in a row before a trigger has failed.
const REFUSED_READS: u32 = 3;

impl Step<'_> {
    /// Reads if that is due.
    pub(super) async fn read(&mut self) -> Result<(), TriggerError> {
        if !self.reads() || self.is_paused() {
            return self.recover().await;
        }
        let Subscription { read_at, now, .. } = self.subscription;
        let has_just_begun = self.done.read == Some(true);
        let is_due = self.reads_now || read_at.map_or(!has_just_begun, |at| at <= *now);
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

    /// Time between two reads.
    fn time_to_next(&self) -> Duration {
        if self.is_pushed() { SAFETY } else { self.interval() }
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
                    Err(failed) => self.done.reason = Some(failed.detail),
                }
                SAFETY
            }
        });
        Ok(())
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
        let began = self.subscription.last_read_at;
        let mut events = Vec::new();
        // The first read only finds the cursor that stands for now.
        for event in read.events.iter().filter(|_| !is_first) {
            for member in &self.members {
                let declared = member.kind.declared();
                let is_of_type = declared.source == TriggerSource::Read || kind_is(&declared.kinds, &event.kind);
                let (parameters, account) = (&member.definition.parameters, &self.sealed.account);
                if !is_of_type || !conditions_hold(declared, Subject::Json(event.data.get()), parameters, account) {
                    continue;
                }
                let occurrence = Occurrence {
                    source: "read",
                    id: &event.id,
                    time: time_of(event.time.as_deref()),
                    data: event.data.get(),
                    origin: if self.caught_up() { Origin::CatchUp } else { Origin::Read },
                };
                let Member { trigger, definition, .. } = member;
                events.extend(self.triggers.event_of(trigger, definition, &occurrence).await?);
            }
        }
        if read.gap && !is_first {
            let from = began.map(clock::timestamp::Timestamp::from);
            let data = json!({ "from": from, "to": clock::timestamp::Timestamp::from(clock::now()) });
            for Member { trigger, definition, .. } in &self.members {
                let id = self.cursor.to_string();
                events.push(self.triggers.control_event(trigger, definition, "trigger.gap", &id, &data).await?);
                self.triggers.count_events(&trigger.connector, "gap", 1);
            }
        }
        match events.is_empty() && !is_first {
            true => self.note_cursor(read.cursor).await?,
            false if !self.store_cursor(read.cursor, events).await? => return Ok(false),
            false => {}
        }
        self.done.read = Some(true);
        self.done.read_in = read.more.then_some(Duration::ZERO);
        Ok(true)
    }

    /// Returns `true` if the last reads or renewals have failed.
    fn caught_up(&self) -> bool {
        self.subscription.failed_reads > 0 || self.subscription.failed_renewals > 0
    }

    /// Leaves the cursor behind a read without events to the end of the step, so that the read costs
    /// no transaction.
    async fn note_cursor(&mut self, cursor: Value) -> Result<(), TriggerError> {
        let sealed = self.triggers.seal(&Subscription::cursor_context(&self.subscription.id), &cursor).await?;
        let empty_reads = self.done.cursor.take().map_or(0, |(_, reads)| reads);
        self.done.cursor = Some((sealed, empty_reads + 1));
        self.empty_reads = self.empty_reads.saturating_add(1);
        self.cursor = cursor;
        Ok(())
    }

    /// Stores events with the cursor behind them. Returns `false` if there is no room for the events,
    /// or if another gateway has the lease.
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

    /// The shortest interval of reads of its triggers.
    fn interval(&self) -> Duration {
        let of = |member: &Member| {
            state::interval(member.trigger.poll_s, member.kind.declared().poll_seconds, self.empty_reads)
        };
        self.members.iter().map(of).min().unwrap_or(IDLE)
    }
}
