//! Requests at inboxes of applications that this gateway has refused, because it has too many. Not
//! every service sends them again. Their receivers learn of the gap, once an hour.

use std::collections::{BTreeMap, BTreeSet};

use super::{Kept, Lost, MAX_SHARED};
use crate::backlog::hour_of;
use crate::{TriggerError, Triggers};
use store::digest::sha256_hex;
use store::{NewShared, PushedEvents, SharedNotification};

/// The most addresses that wait without being known. Anyone can send requests to addresses that no
/// one has.
const MAX_UNKNOWN: usize = 256;

/// The addresses at which this gateway has refused requests.
#[derive(Default)]
pub(crate) struct Refused {
    /// Those whose receivers are told in the next turn.
    due: BTreeSet<String>,
    /// The hour for which the receivers at an inbox of an application were told, by its address.
    told: BTreeMap<String, u32>,
}

impl Refused {
    fn note(&mut self, address: &str, is_known: bool, hour: u32) {
        // The database need not look for other texts.
        let is_one =
            address.len() <= 64 && address.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        let has_room = is_known || self.due.len() < MAX_UNKNOWN;
        if is_one && has_room && self.told.get(address) != Some(&hour) {
            self.due.insert(address.to_owned());
        }
    }

    fn is_told(&mut self, address: String, hour: u32) {
        self.due.remove(&address);
        self.told.retain(|_, told| *told == hour);
        self.told.insert(address, hour);
    }
}

impl Triggers {
    /// Notes that a request was refused because the gateway has too many, or cannot store anything.
    /// `is_known` says that someone has the address.
    pub fn note_refused(&self, address: &str, is_known: bool) {
        self.refused.lock().note(address, is_known, hour_of(clock::now()));
    }

    /// Keeps a notification about lost events for each inbox of an application at which requests were
    /// refused.
    ///
    /// # Errors
    /// If the store or the vault fails. What is left is done in the next turn.
    pub(crate) async fn tell_refused(&self) -> Result<(), TriggerError> {
        let due: Vec<String> = self.refused.lock().due.iter().cloned().collect();
        for address in due {
            let Some(inbox) = self.parts.store.inboxes().at(&address).await? else {
                // A subscription asks its service for what was not delivered, or reads.
                self.refused.lock().due.remove(&address);
                continue;
            };
            let hour = hour_of(clock::now());
            let hash = sha256_hex(format!("{}\0refused\0{hour}", inbox.id).as_bytes());
            let id = format!("shn_{}", hash.get(..32).unwrap_or_default());
            let body = self.seal(&SharedNotification::context(&id), &Kept::Lost(Lost::default())).await?;
            let shared = vec![NewShared { id, inbox: inbox.id, body, instead: None }];
            let pushed = PushedEvents { shared, max_shared: MAX_SHARED, ..PushedEvents::default() };
            self.parts.store.subscriptions().store_pushed(self.vault().await?, pushed).await?;
            self.refused.lock().is_told(address, hour);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_told_once_an_hour_and_unknown_ones_have_little_room() {
        let mut refused = Refused::default();
        for number in 0..1_000 {
            refused.note(&format!("unknown{number}"), false, 7);
        }
        assert_eq!(refused.due.len(), MAX_UNKNOWN);
        refused.note("no\0address", true, 7);
        assert_eq!(refused.due.len(), MAX_UNKNOWN);
        refused.note("inbox", true, 7);
        refused.is_told("inbox".to_owned(), 7);
        refused.note("inbox", true, 7);
        assert!(!refused.due.contains("inbox"));
        refused.note("inbox", true, 8);
        assert!(refused.due.contains("inbox"));
    }
}
