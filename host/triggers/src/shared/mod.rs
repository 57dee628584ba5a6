//! Notifications whose accounts are found once the service has its answer: those that other
//! accounts may see too, and those about lost events. No service that is slow delays another one.
//!
//! - here: notifications as they are kept, and the tasks that take them
//! - `viewers`: the accounts that may see a notification, as the service answers
//! - `lost`: the accounts that may lack an event
//! - `refused`: requests that this gateway did not take

mod lost;
mod refused;
mod viewers;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

pub(super) use self::refused::Refused;
use self::viewers::Unasked;
use super::backlog::gap_at;
use super::{TriggerError, Triggers};
use hooks::Item;
use store::digest::sha256_hex;
use store::{EndedShared, Inbox, NewEvent, NewShared, Sealed, SharedNotification};

/// The most notifications of an inbox that wait until it is known who else sees them. If there are
/// more, those who may lack their events learn of the gap.
pub(super) const MAX_SHARED: u32 = 10_000;

/// The inboxes whose notifications are taken at the same time.
const INBOXES: usize = 8;

/// Notifications of one inbox about which its service is asked at the same time.
const AT_ONCE: u32 = 4;

/// Notifications that one task takes, in parts of `AT_ONCE`. Then other inboxes have their turn.
const PARTS: usize = 25;

/// Time until a notification is taken again whose part did not end. It is longer than the requests
/// about one notification.
const LIFE: Duration = Duration::from_secs(120);

/// How often the service is asked about a notification.
const MAX_ATTEMPTS: u32 = 12;

/// If a service has not answered for so long, those who may lack events learn of the gap, for all
/// notifications that have waited for so long, also if it was not asked about each.
const UNANSWERED: Duration = Duration::from_secs(3600);

/// Notifications that are read together, of those that have waited too long.
const OLD: u32 = 100;

/// Time until the service is asked again: after the first attempt, and the longest. Twelve attempts
/// take more than an hour.
const FIRST_DELAY: Duration = Duration::from_secs(15);
const LONGEST_DELAY: Duration = Duration::from_secs(900);

/// The longest time for which a notification waits, also if the service could not be asked.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 3600);

/// A notification as it is kept.
#[derive(Serialize, Deserialize)]
pub(super) enum Kept {
    /// The service is asked who else sees it.
    Shared(Box<Shared>),
    /// Events were lost.
    Lost(Lost),
}

/// A notification that other accounts may see too.
#[derive(Serialize, Deserialize)]
pub(super) struct Shared {
    /// The body, as JSON text. If it has a list of notifications, the list has only this one.
    body: String,
    /// The notification itself.
    item: String,
    data: String,
    key: String,
    kind: String,
    time: Option<SystemTime>,
    /// The values of the account that the service has named. Empty if it has named none.
    named: Vec<Option<String>>,
}

/// Events of which the service did not tell, or did not tell everyone.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Lost {
    /// The kind of the notifications. `None` for each.
    kind: Option<String>,
    /// The values that the accounts have. `None` for all accounts.
    named: Option<Vec<Option<String>>>,
    /// The values of the account that has its events. `None` if no account has.
    #[serde(default)]
    told: Option<Vec<Option<String>>>,
}

impl Lost {
    /// A notification that was not told to everyone who sees it.
    fn of(kept: &Shared) -> Self {
        let told = Some(kept.named.clone()).filter(|named| !named.is_empty());
        Self { kind: Some(kept.kind.clone()), named: None, told }
    }

    /// The id under which it is kept after a notification has ended. It is the same for all that
    /// came in one hour and have told the same account.
    fn id(&self, ended: &SharedNotification) -> String {
        let Self { kind, named, told } = self;
        let parts = format!("{}\0{:?}", ended.inbox, (gap_at(ended.created_at).0, kind, named, told));
        format!("shn_{}", sha256_hex(parts.as_bytes()).get(..32).unwrap_or_default())
    }
}

impl Kept {
    /// A notification about an event.
    pub(super) fn of(item: &Item) -> Self {
        Self::Shared(Box::new(Shared {
            body: item.body(),
            item: item.text().to_owned(),
            data: item.data().to_owned(),
            key: item.key.clone(),
            kind: item.kind.clone(),
            time: item.time,
            named: item.accounts.iter().flatten().cloned().map(Some).collect(),
        }))
    }

    /// Takes the place of notifications of a kind, if too many wait.
    pub(super) fn instead_of(item: &Item) -> Self {
        Self::Lost(Lost { kind: Some(item.kind.clone()), named: None, told: None })
    }

    /// A notification that events of some accounts were lost.
    pub(super) fn lost_by(item: &Item) -> Self {
        Self::Lost(Lost { kind: None, named: Some(item.named.clone()), told: None })
    }

    /// The id under which it is kept.
    pub(super) fn id(&self, inbox: &str, item: &Item) -> String {
        let parts = match self {
            Self::Shared(_) => format!("{inbox}\0{}", item.key),
            Self::Lost(Lost { kind: Some(kind), .. }) => format!("{inbox}\0{kind}\0{}", gap_at(clock::now()).0),
            Self::Lost(_) => format!("{inbox}\0{}\0{:?}", item.key, item.named),
        };
        format!("shn_{}", sha256_hex(parts.as_bytes()).get(..32).unwrap_or_default())
    }
}

/// The inboxes whose notifications are taken now.
pub(super) struct Asking {
    places: Arc<Semaphore>,
    inboxes: Mutex<BTreeSet<String>>,
}

impl Default for Asking {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(INBOXES)), inboxes: Mutex::default() }
    }
}

/// The place of a task that takes the notifications of an inbox. It is free when this is dropped.
struct Place {
    triggers: Arc<Triggers>,
    inbox: String,
    _permit: OwnedSemaphorePermit,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.triggers.asking.inboxes.lock().remove(&self.inbox);
    }
}

/// The result of taking a notification.
enum Taken {
    /// It has ended, and the service has answered if it was asked.
    Ended,
    /// It is about lost events, or has waited too long. The service was not asked.
    Unasked,
    /// The service was asked and did not answer.
    Unanswered,
    /// The gateway could not ask.
    PutBack,
    /// The service wants no request for this time.
    Limited(Duration),
}

impl Triggers {
    /// The id and the sealed form of a notification that is kept.
    ///
    /// # Errors
    /// If the vault fails.
    pub(super) async fn keep(&self, inbox: &Inbox, item: &Item, kept: &Kept) -> Result<(String, Sealed), TriggerError> {
        let id = kept.id(&inbox.id, item);
        let sealed = self.seal(&SharedNotification::context(&id), kept).await?;
        Ok((id, sealed))
    }

    /// Begins to take the notifications of each inbox that has some, unless this gateway does so.
    ///
    /// # Errors
    /// If the store fails.
    pub(super) async fn tell_others(self: &Arc<Self>) -> Result<(), TriggerError> {
        for inbox in self.parts.store.inboxes().with_shared().await? {
            if self.asking.inboxes.lock().contains(&inbox) {
                continue;
            }
            let Ok(permit) = Arc::clone(&self.asking.places).try_acquire_owned() else { return Ok(()) };
            // Only one loop does this, so that no one else has taken the inbox since.
            self.asking.inboxes.lock().insert(inbox.clone());
            let place = Place { triggers: Arc::clone(self), inbox, _permit: permit };
            let work = async move {
                let inbox = &place.inbox;
                if let Err(error) = place.triggers.take_shared(inbox).await {
                    tracing::error!(inbox, %error, "notifications could not be taken; they are taken again");
                }
            };
            self.tasks.spawn(clock::inherit(work));
        }
        Ok(())
    }

    /// Takes notifications of an inbox, as long as its service answers.
    async fn take_shared(self: &Arc<Self>, inbox: &str) -> Result<(), TriggerError> {
        for _ in 0..PARTS {
            if self.stopping.is_cancelled() {
                break;
            }
            let mut part = JoinSet::new();
            for shared in self.parts.store.inboxes().take_shared(inbox, LIFE, AT_ONCE).await? {
                let this = Arc::clone(self);
                part.spawn(clock::inherit(async move { this.end_shared(&shared).await }));
            }
            if part.is_empty() {
                break;
            }
            let (mut has_ended, mut is_unanswered, mut is_put_back) = (false, false, false);
            let (mut quiet, mut failed) = (None, None);
            while let Some(taken) = part.join_next().await {
                match taken.unwrap_or_else(|error| Err(TriggerError::Damaged(error.to_string()))) {
                    Ok(Taken::Ended) => has_ended = true,
                    Ok(Taken::Unasked) => {}
                    Ok(Taken::Unanswered) => is_unanswered = true,
                    Ok(Taken::PutBack) => is_put_back = true,
                    Ok(Taken::Limited(delay)) => quiet = quiet.max(Some(delay)),
                    Err(error) => failed = Some(error),
                }
            }
            if has_ended {
                self.parts.store.inboxes().note_answered(inbox).await?;
            }
            // The service may be away. The other notifications need not find that out.
            let is_away = !has_ended && (is_unanswered || is_put_back || failed.is_some());
            if let Some(delay) = quiet.or(is_away.then_some(FIRST_DELAY)) {
                let inboxes = self.parts.store.inboxes();
                inboxes.quiet(inbox, delay).await?;
                let is_gone = is_away && is_unanswered && inboxes.note_unanswered(inbox).await? >= UNANSWERED;
                self.give_up_old(inbox, if is_gone { UNANSWERED } else { LONGEST_WAIT }).await?;
                return failed.map_or(Ok(()), Err);
            }
            if let Some(error) = failed {
                return Err(error);
            }
        }
        Ok(())
    }

    /// Ends the notifications of an inbox that have waited for a time, without a further question.
    async fn give_up_old(&self, inbox: &str, age: Duration) -> Result<(), TriggerError> {
        while !self.stopping.is_cancelled() {
            let old = self.parts.store.inboxes().old_shared(inbox, age, OLD).await?;
            let mut ended = 0;
            for shared in old {
                let lost = match self.unseal(&SharedNotification::context(&shared.id), &shared.body).await {
                    Ok(Kept::Shared(kept)) => Lost::of(&kept),
                    Ok(Kept::Lost(lost)) => lost,
                    Err(_) if shared.age >= LONGEST_WAIT => Lost::default(),
                    // The vault may be able to read it later.
                    Err(_) => continue,
                };
                self.end_asked(&shared, Vec::new(), Some(lost)).await?;
                ended += 1;
            }
            if ended == 0 {
                break;
            }
            tracing::warn!(inbox, ended, "a service does not say who else sees notifications");
        }
        Ok(())
    }

    /// Finds the accounts of a notification, and stores their events. If the service cannot be
    /// asked, the notification is put back for a while. In the end, those who may lack an event
    /// learn of the gap.
    async fn end_shared(&self, shared: &SharedNotification) -> Result<Taken, TriggerError> {
        let inboxes = self.parts.store.inboxes();
        let kept = match self.unseal(&SharedNotification::context(&shared.id), &shared.body).await {
            Ok(Kept::Lost(lost)) => {
                match self.tell_lost(shared, &lost).await? {
                    true => inboxes.forget_shared(&shared.id).await?,
                    false => {
                        let delay = shared.age.clamp(FIRST_DELAY, LONGEST_DELAY);
                        inboxes.put_back_shared(&shared.id, delay, false).await?;
                    }
                }
                return Ok(Taken::Unasked);
            }
            Ok(Kept::Shared(kept)) => kept,
            // The vault may be able to read it later.
            Err(_) if shared.age >= LONGEST_WAIT => {
                self.end_asked(shared, Vec::new(), Some(Lost::default())).await?;
                return Ok(Taken::Unasked);
            }
            Err(error) => return Err(error),
        };
        let unasked = match self.events_of_others(shared, &kept).await {
            Ok(found) => {
                let lost = (!found.is_whole).then(|| Lost::of(&kept));
                self.end_asked(shared, found.events, lost).await?;
                return Ok(Taken::Ended);
            }
            Err(unasked) => unasked,
        };
        let (reason, taken, was_asked) = match unasked {
            Unasked::Failed(reason) => (reason, Taken::Unanswered, true),
            Unasked::NotNow(reason) => (reason, Taken::PutBack, false),
            Unasked::Limited(delay) => ("the service has too many requests".to_owned(), Taken::Limited(delay), false),
        };
        let attempts = shared.attempts + u32::from(was_asked);
        if attempts >= MAX_ATTEMPTS || shared.age >= LONGEST_WAIT {
            tracing::warn!(inbox = shared.inbox, reason, "a service does not say who else sees a notification");
            self.end_asked(shared, Vec::new(), Some(Lost::of(&kept))).await?;
            return Ok(taken);
        }
        tracing::info!(
            inbox = shared.inbox,
            reason,
            "a service has not said who else sees a notification; it is asked again"
        );
        let delay = match taken {
            Taken::Limited(delay) => delay,
            Taken::Ended | Taken::Unasked | Taken::Unanswered | Taken::PutBack => {
                (FIRST_DELAY * 2_u32.saturating_pow(shared.attempts.min(8))).min(LONGEST_DELAY)
            }
        };
        inboxes.put_back_shared(&shared.id, delay, was_asked).await?;
        Ok(taken)
    }

    /// Stores the events of a notification about which the service was asked. Those who may lack
    /// an event learn of the gap a moment later, once for all notifications that end until then.
    async fn end_asked(
        &self,
        shared: &SharedNotification,
        events: Vec<NewEvent>,
        lost: Option<Lost>,
    ) -> Result<(), TriggerError> {
        let lost = match lost {
            Some(lost) => Some(self.keep_lost(shared, lost).await?),
            None => None,
        };
        let max_pending = self.parts.config.triggers.max_pending_per_tenant;
        let ended = EndedShared { events, max_pending, lost };
        let told = self.parts.store.inboxes().end_shared(self.vault().await?, &shared.id, ended).await?;
        self.tell_dropped(&told.dropped).await?;
        if told.stored > 0 {
            self.parts.webhooks.wake();
            self.wake_waiting();
        }
        Ok(())
    }

    /// The notification that tells of the lost events of another one, and the one for all accounts.
    async fn keep_lost(&self, shared: &SharedNotification, lost: Lost) -> Result<NewShared, TriggerError> {
        let all = Lost { told: None, named: None, kind: lost.kind.clone() };
        let (id, body) = self.seal_lost(shared, lost).await?;
        let instead = Some(self.seal_lost(shared, all).await?);
        Ok(NewShared { id, inbox: shared.inbox.clone(), body, instead })
    }

    async fn seal_lost(&self, shared: &SharedNotification, lost: Lost) -> Result<(String, Sealed), TriggerError> {
        let id = lost.id(shared);
        let body = self.seal(&SharedNotification::context(&id), &Kept::Lost(lost)).await?;
        Ok((id, body))
    }
}
