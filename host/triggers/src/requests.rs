//! The requests of services, which are noted until the next turn writes them.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use super::Triggers;
use store::HookRequest;

/// Requests that wait to be written.
const MAX_WAITING: usize = 8192;

/// The most requests of a flood that wait to be written. Further ones are only counted. A flood
/// must not take the places of requests to other addresses, and must not keep the database busy.
const MAX_OF_FLOOD: usize = 512;

/// The outcome of a request that was rejected.
const REJECTED: &str = "rejected";

/// The requests that wait to be written.
#[derive(Default)]
pub(super) struct Noted {
    requests: Vec<(SystemTime, HookRequest)>,
    /// The number of them that are of a flood.
    of_flood: usize,
    /// The number of further ones that were rejected, by the ids of their inboxes.
    further: BTreeMap<String, u64>,
}

impl Noted {
    /// Notes a request, unless too many wait already. One that was rejected is then counted.
    fn note(&mut self, at: SystemTime, request: HookRequest, is_of_flood: bool) {
        let has_room = !is_of_flood || self.of_flood < MAX_OF_FLOOD;
        if has_room && self.requests.len() < MAX_WAITING {
            self.of_flood += usize::from(is_of_flood);
            self.requests.push((at, request));
        } else if request.outcome == REJECTED && !request.address.is_empty() {
            *self.further.entry(request.address).or_default() += 1;
        }
    }
}

impl Triggers {
    /// Notes a request of a service. It is written later, and only counted if too many wait.
    pub fn note_request(&self, at: SystemTime, request: HookRequest) {
        self.note(at, request, false);
    }

    /// Notes a request that was not read, because its inbox gets too many. Of a flood, the first ones
    /// have records.
    pub fn note_flood(&self, at: SystemTime, request: HookRequest) {
        self.note(at, request, true);
    }

    fn note(&self, at: SystemTime, request: HookRequest, is_of_flood: bool) {
        let labels =
            metrics::OutcomeLabels { connector: request.connector.clone(), outcome: request.outcome.to_owned() };
        self.parts.metrics.hook_requests.get_or_create_owned(&labels).inc();
        self.requests.lock().note(at, request, is_of_flood);
    }

    /// Writes the requests of services that were noted.
    pub(super) async fn write_requests(&self) {
        let Noted { requests, further, .. } = std::mem::take(&mut *self.requests.lock());
        if requests.is_empty() && further.is_empty() {
            return;
        }
        let now = clock::now();
        let age = |at: SystemTime| now.duration_since(at).unwrap_or_default();
        let requests: Vec<(Duration, HookRequest)> =
            requests.into_iter().map(|(at, request)| (age(at), request)).collect();
        if let Err(error) = self.parts.store.inboxes().add_requests(requests, further).await {
            tracing::debug!(%error, "requests of services could not be recorded");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(address: &str, outcome: &'static str) -> HookRequest {
        HookRequest {
            gateway: "one".to_owned(),
            address: address.to_owned(),
            connector: "chat".to_owned(),
            outcome,
            reason: None,
            kind: None,
            events: 0,
            ms: 1,
            bytes: 0,
            remote: "192.0.2.1".to_owned(),
        }
    }

    #[test]
    fn a_flood_leaves_room_for_other_requests_and_each_rejected_one_is_noted_or_counted() {
        let mut noted = Noted::default();
        for _ in 0..1_000 {
            noted.note(SystemTime::UNIX_EPOCH, request("inb_1", REJECTED), true);
        }
        noted.note(SystemTime::UNIX_EPOCH, request("inb_2", "stored"), false);
        assert_eq!(noted.requests.len(), MAX_OF_FLOOD + 1);
        assert_eq!(noted.further, BTreeMap::from([("inb_1".to_owned(), 1_000 - MAX_OF_FLOOD as u64)]));
        noted.note(SystemTime::UNIX_EPOCH, request("", REJECTED), true);
        noted.note(SystemTime::UNIX_EPOCH, request("inb_2", "stored"), true);
        assert_eq!(noted.further.len(), 1, "only inboxes count what they reject");
    }

    #[test]
    fn a_flood_is_seen_although_the_inbox_has_accepted_many_requests_just_before() {
        let mut noted = Noted::default();
        for _ in 0..2_000 {
            noted.note(SystemTime::UNIX_EPOCH, request("inb_1", "stored"), false);
        }
        noted.note(SystemTime::UNIX_EPOCH, request("inb_1", REJECTED), true);
        assert_eq!((noted.requests.len(), noted.further.len()), (2_001, 0));
    }

    #[test]
    fn so_many_requests_wait_and_the_rest_is_counted() {
        let mut noted = Noted::default();
        for _ in 0..=MAX_WAITING {
            noted.note(SystemTime::UNIX_EPOCH, request("inb_1", REJECTED), false);
        }
        assert_eq!((noted.requests.len(), noted.further["inb_1"]), (MAX_WAITING, 1));
    }
}
