//! Notifications of services: `GET` and `POST /hooks/{address}`.
//!
//! Anyone can send them, so the answers say nothing: a request that is not verified and one to an
//! unknown address get the same body and headers after the same work. A status 2xx means that the
//! notification is stored. No connector runs and no request is sent before the answer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hyper::header::{HeaderValue, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS};
use hyper::{Response, StatusCode};
use tokio::time::{Instant, timeout};
use url::Url;

use body::{Body, full};
use contract::trigger_types::Check;
use egress::EgressError;
use endpoint::answer::{ClosesConnection, answer_of_type};
use endpoint::body::{Unread, read_raw};
use endpoint::route::HttpCall;
use gateway::Hooks;
use hooks::{
    Context, HandshakeAnswer, Items, KeySet, Notification, Rejection, Verified, answer_after_verification,
    answer_before_verification, items, verify, verify_nothing,
};
use problem::Problem;
use store::HookRequest;
use triggers::{InboxAt, Outcome, TriggerError};

/// The time in which a body must arrive.
const BODY_TIME: Duration = Duration::from_secs(5);

/// The longest time for the store in one request: for the look-up of the address and for storing
/// together. A service sends the notification again after 503, and would take the address for dead
/// if it had to wait. Time in which the body arrives does not count.
const STORE_TIME: Duration = Duration::from_millis(1800);

/// The largest body that is read for an address that no one has.
const UNKNOWN_BODY: usize = 1 << 20;

/// The body of every answer that refuses.
const NOTHING: &str = "{}";

/// The outcome of a request that is not accepted.
const REJECTED: &str = "rejected";

/// Why a request is rejected before it is verified.
const TOO_MANY: &str = "too-many";
const NO_MEMORY: &str = "no-memory";

/// Seconds after which a service may try again.
const RETRY_S: u64 = 2;

/// Answers a notification.
pub async fn receive(mut call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let Some(_place) = call.gateway.hooks.limits.enter() else {
        call.body.end_by(call.arrived);
        call.gateway.triggers.note_refused(call.arguments.address, false);
        return Ok(busy());
    };
    call.body.end_by(call.arrived + BODY_TIME);
    let mut store_time = StoreTime(STORE_TIME);
    match store_time.spend_on(call.gateway.triggers.inbox_at(call.arguments.address)).await {
        Some(Some(at)) => Ok(Receiving { at: &at, call: &mut call, bytes: 0, store_time }.answer().await),
        Some(None) => Ok(refuse_unknown(&mut call).await),
        None => {
            call.gateway.triggers.note_refused(call.arguments.address, false);
            Ok(busy())
        }
    }
}

/// The time that the store may still take in a request.
struct StoreTime(Duration);

impl StoreTime {
    /// Waits for the store, as long as there is time left. `None` if the store fails or takes longer.
    async fn spend_on<T>(&mut self, work: impl Future<Output = Result<T, TriggerError>>) -> Option<T> {
        let began = Instant::now();
        let done = timeout(self.0, work).await.unwrap_or_else(|_| Err(pipeline::Error::StoreTimedOut.into()));
        self.0 = self.0.saturating_sub(began.elapsed());
        done.inspect_err(log_failure).ok()
    }
}

/// The answer to a path that no service has, the same as that to an unknown address.
pub fn not_found() -> Response<Body> {
    refusal(StatusCode::NOT_FOUND)
}

/// The answer while the gateway cannot take the notification. The service sends it again.
pub fn busy() -> Response<Body> {
    try_later(StatusCode::SERVICE_UNAVAILABLE, Duration::from_secs(RETRY_S))
}

/// Answers a request to an address that no one has, after the work that one with an owner takes.
async fn refuse_unknown(call: &mut HttpCall<'_>) -> Response<Body> {
    let Hooks { limits, memory, .. } = &*call.gateway.hooks;
    if !limits.admit_unknown(call.arrived.into_std()) {
        let mut response = not_found();
        response.extensions_mut().insert(ClosesConnection);
        return response;
    }
    let body = match read_raw(call.body, UNKNOWN_BODY, memory).await {
        Ok(body) => body,
        Err(unread) => return unread_answer(&unread),
    };
    compute::run(body.len(), || verify_nothing(&notification(call, &body), clock::now())).await;
    note(call, HookRequest { bytes: body.len() as u64, ..record(call) });
    not_found()
}

/// A request to an inbox.
struct Receiving<'a, 'c> {
    at: &'a InboxAt,
    call: &'a mut HttpCall<'c>,
    /// The size of the body.
    bytes: u64,
    store_time: StoreTime,
}

impl Receiving<'_, '_> {
    async fn answer(mut self) -> Response<Body> {
        let Hooks { limits, memory, .. } = &*self.call.gateway.hooks;
        let (at, now) = (self.at, self.call.arrived.into_std());
        // The requests that were not verified have records, and those that follow change nothing.
        let admitted = limits.may_try(at.id(), self.call.caller_address, now);
        if let Err(wait) = admitted.and_then(|()| limits.admit(at.id(), now).inspect_err(|_| self.note_flood())) {
            // The rest of the body is not waited for.
            self.call.body.end_by(self.call.arrived);
            return try_later(StatusCode::TOO_MANY_REQUESTS, wait);
        }
        let body = match read_raw(self.call.body, at.inbox.max_body as usize, memory).await {
            Ok(body) => body,
            Err(unread) => {
                self.note_rejected(reason_of(&unread));
                if matches!(unread, Unread::NoMemory(_)) {
                    self.note_refused();
                }
                return unread_answer(&unread);
            }
        };
        self.bytes = body.len() as u64;
        // The notifications are parts of a copy.
        let mut copy = memory.part();
        if copy.grow_to(body.len()).is_err() {
            self.note_rejected(NO_MEMORY);
            self.note_refused();
            return busy();
        }
        let notification = notification(self.call, &body);
        if let Some(answer) = answer_before_verification(&at.inbox, &notification, &at.secrets, at.is_waiting) {
            self.note(Outcome { name: "handshake", reason: None, kind: None, events: 0 });
            return handshake(answer);
        }
        let verified = match compute::run(body.len(), || self.verify(&notification)).await {
            Ok(verified) => verified,
            Err(rejection) => return self.reject(rejection),
        };
        let read = || match answer_after_verification(&at.inbox, &notification, &verified) {
            Some(answer) => Err(answer),
            None => Ok(items(&at.inbox, &notification, &verified)),
        };
        match compute::run(body.len(), read).await {
            Ok(items) => self.store(&items).await,
            Err(answer) => {
                self.note(Outcome { name: "handshake", reason: None, kind: None, events: 0 });
                handshake(answer)
            }
        }
    }

    fn verify(&self, notification: &Notification<'_>) -> Result<Verified, Rejection> {
        let InboxAt { inbox, secrets, settings, url, .. } = self.at;
        let ring = &self.call.gateway.hooks.keys;
        let known = self.key_urls().into_iter().filter_map(|(declared, url, is_private)| {
            let keys = ring.keys(&url, is_private).inspect_err(log_keys).ok()??;
            Some((declared, keys))
        });
        let keys: BTreeMap<String, Arc<KeySet>> = known.collect();
        verify(inbox, notification, secrets, &Context { url, settings, keys: &keys }, clock::now())
    }

    /// The URLs of the keys for the inbox: as it is declared, and as it is called. `true` says that it
    /// may be at a private address.
    fn key_urls(&self) -> Vec<(String, Url, bool)> {
        let settings = self.call.gateway.config.connector(self.at.connector());
        let (other, is_private) = (&settings.hooks.jwks_url, settings.allow_private_network);
        let declared = self.at.inbox.checks.iter().filter_map(|check| match check {
            Check::Jwt(check) => Some(&check.jwks_url),
            Check::Hmac(_) | Check::Token(_) => None,
        });
        let with_url = |declared: &String| {
            let url = other.clone().or_else(|| Url::parse(declared).ok())?;
            Some((declared.clone(), url, is_private))
        };
        declared.filter_map(with_url).collect()
    }

    /// Refuses a notification that is not verified.
    fn reject(self, rejection: Rejection) -> Response<Body> {
        let Self { at, call, .. } = &self;
        tracing::debug!(inbox = at.id(), connector = at.connector(), "a notification was not accepted: {rejection}");
        let ring = &call.gateway.hooks.keys;
        let may_be_known_soon = |(_, url, is_private): (String, Url, bool)| {
            ring.look_for_newer(&url, is_private).inspect_err(log_keys).unwrap_or(false)
        };
        // The service sends it again, when the keys of its issuer have come.
        let comes_too_early = rejection.needs_keys() && self.key_urls().into_iter().any(may_be_known_soon);
        self.note_rejected(rejection.reason());
        if comes_too_early {
            return busy();
        }
        call.gateway.hooks.limits.failed(at.id(), call.caller_address, call.arrived.into_std());
        refusal(StatusCode::UNAUTHORIZED)
    }

    /// Stores what the notifications change.
    async fn store(mut self, items: &Items) -> Response<Body> {
        let accepting = self.call.gateway.triggers.accept(self.at, items);
        let Some(accepted) = self.store_time.spend_on(accepting).await else {
            self.note_refused();
            return busy();
        };
        accepted.outcomes.into_iter().for_each(|outcome| self.note(outcome));
        if items.unverified > 0 {
            self.note_rejected(Rejection::WrongToken.reason());
        }
        Response::new(full(""))
    }

    /// Notes what became of the request.
    fn note(&self, outcome: Outcome) {
        note(self.call, self.record(outcome));
    }

    /// Notes that the request was rejected.
    fn note_rejected(&self, reason: &'static str) {
        self.note(rejected(reason));
    }

    /// Notes that the inbox gets more requests than it takes.
    fn note_flood(&self) {
        self.call.gateway.triggers.note_flood(clock::now(), self.record(rejected(TOO_MANY)));
        self.note_refused();
    }

    /// Notes that the service may not send the request again. Its receivers then lack an event.
    fn note_refused(&self) {
        self.call.gateway.triggers.note_refused(self.call.arguments.address, true);
    }

    fn record(&self, outcome: Outcome) -> HookRequest {
        let Outcome { name, reason, kind, events } = outcome;
        HookRequest {
            address: self.at.id().to_owned(),
            connector: self.at.connector().to_owned(),
            outcome: name,
            reason: reason.map(str::to_owned),
            kind,
            events,
            bytes: self.bytes,
            ..record(self.call)
        }
    }
}

/// The outcome of a request that is rejected as a whole.
fn rejected(reason: &'static str) -> Outcome {
    Outcome { name: REJECTED, reason: Some(reason), kind: None, events: 0 }
}

/// The record of a request to an address that no one has.
fn record(call: &HttpCall<'_>) -> HookRequest {
    HookRequest {
        gateway: call.gateway.name.to_string(),
        address: String::new(),
        connector: String::new(),
        outcome: REJECTED,
        reason: Some("unknown-address".to_owned()),
        kind: None,
        events: 0,
        ms: call.arrived.elapsed().as_millis() as u64,
        bytes: 0,
        remote: call.caller_address.to_string(),
    }
}

fn note(call: &HttpCall<'_>, request: HookRequest) {
    call.gateway.triggers.note_request(clock::now(), request);
}

fn notification<'a>(call: &'a HttpCall<'_>, body: &'a [u8]) -> Notification<'a> {
    let head = &call.head;
    Notification { method: &head.method, headers: &head.headers, query: head.uri.query().unwrap_or_default(), body }
}

fn handshake(answer: HandshakeAnswer) -> Response<Body> {
    let (text, content_type) = match answer {
        HandshakeAnswer::Text(text) => (text, "text/plain"),
        HandshakeAnswer::Json(text) => (text, "application/json"),
    };
    let mut response = answer_of_type(text, content_type);
    response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

fn refusal(status: StatusCode) -> Response<Body> {
    let mut response = answer_of_type(NOTHING, "application/json");
    *response.status_mut() = status;
    response
}

fn try_later(status: StatusCode, wait: Duration) -> Response<Body> {
    let mut response = refusal(status);
    let seconds = wait.as_secs_f64().ceil().max(1.0) as u64;
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    response
}

fn unread_answer(unread: &Unread) -> Response<Body> {
    match unread {
        Unread::TooLarge => refusal(StatusCode::PAYLOAD_TOO_LARGE),
        Unread::NoMemory(_) => busy(),
        Unread::BrokenOff => refusal(StatusCode::BAD_REQUEST),
        Unread::Late => refusal(StatusCode::REQUEST_TIMEOUT),
    }
}

/// Why a request whose body could not be read is rejected, as records name it.
fn reason_of(unread: &Unread) -> &'static str {
    match unread {
        Unread::TooLarge => "too-large",
        Unread::NoMemory(_) => NO_MEMORY,
        Unread::BrokenOff => "broken-off",
        Unread::Late => "too-slow",
    }
}

fn log_failure(error: &TriggerError) {
    tracing::warn!(%error, "a notification could not be taken; the service must send it again");
}

fn log_keys(error: &EgressError) {
    tracing::warn!(%error, "the keys for the notifications of a service cannot be fetched");
}
