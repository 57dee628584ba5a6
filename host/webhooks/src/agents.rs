//! The receivers of agents (the extension `io.modelcontextprotocol/events`): an agent gives a URL
//! and a secret. The receiver must answer a challenge before anything else is sent.

use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::attempt::{Message, Unreached, category};
use super::receiver::Receiver;
use super::signature::{SigningSecret, signatures};
use super::{WebhookError, Webhooks};
use store::digest::sha256_hex;
use store::{AgentCursor, AgentPart, AgentReceiver, NewDelivery};

/// The largest body for a receiver of an agent.
const MAX_BODY: usize = 256 << 10;

/// Time for which the previous secret stays valid.
const OVERLAP: Duration = Duration::from_secs(24 * 3600);

/// Time for a receiver to answer a challenge, and the largest answer.
const CHALLENGE_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_ANSWER: u64 = 4 << 10;

/// The most challenges that this gateway sends to one origin in a minute. A caller could otherwise
/// flood a receiver that has never agreed to anything.
const CHALLENGES: u32 = 20;
const MINUTE: Duration = Duration::from_secs(60);

/// The code of the error with which a subscription ends: the agent gets no more of it.
const FORBIDDEN: i64 = -32_012;

/// The secrets with which webhooks for the receiver of an agent are signed.
#[derive(Clone, Serialize, Deserialize)]
pub struct AgentSecrets {
    current: String,
    /// The previous secret, and the time in seconds since 1970 until which it is valid.
    previous: Option<(String, u64)>,
}

impl AgentSecrets {
    /// A secret that an agent gives. `None` unless it is `whsec_` and base64 of 24 to 64 bytes.
    pub fn of(secret: &str) -> Option<Self> {
        SigningSecret::of_receiver(secret).map(|_| Self { current: secret.to_owned(), previous: None })
    }

    /// This secret in place of `former`, which stays valid for a day from `now` on if it is another
    /// one.
    #[must_use]
    pub fn after(self, former: Self, now: SystemTime) -> Self {
        let previous = match former.current == self.current {
            true => former.previous,
            false => Some((former.current, seconds(now + OVERLAP))),
        };
        Self { previous, ..self }
    }

    fn valid(&self) -> Vec<SigningSecret> {
        let now = seconds(clock::now());
        let previous = self.previous.iter().filter(|(_, until)| *until > now).map(|(secret, _)| secret);
        std::iter::once(&self.current).chain(previous).filter_map(|text| SigningSecret::of_receiver(text)).collect()
    }
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// An event, as agents get it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "members have the names of the extension")]
pub struct AgentEvent {
    pub event_id: String,
    pub name: String,
    pub timestamp: String,
    pub data: Box<RawValue>,
    /// Up to here, the receiver has everything. `None` in answers, which have one cursor for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// A stored event, as agents understand it.
#[derive(Debug)]
pub enum AgentMessage {
    /// Something has happened.
    Event(AgentEvent),
    /// Events were lost.
    Gap,
    /// The service refuses for good. The text says why.
    Ended(String),
    /// The state of the trigger has changed. Agents are not told.
    State,
}

#[derive(Deserialize)]
struct Stored<'a> {
    #[serde(rename = "type")]
    kind: String,
    timestamp: String,
    #[serde(borrow)]
    data: &'a RawValue,
    event: About,
}

#[derive(Deserialize)]
struct About {
    id: String,
}

impl AgentMessage {
    /// Reads the body of a stored event.
    ///
    /// # Errors
    /// If it is not the body of one.
    pub fn of(body: &[u8]) -> Result<Self, serde_json::Error> {
        let Stored { kind, timestamp, data, event } = serde_json::from_slice(body)?;
        Ok(match kind.as_str() {
            "trigger.gap" => Self::Gap,
            "trigger.disabled" => {
                let data: Value = serde_json::from_str(data.get())?;
                Self::Ended(data["reason"].as_str().unwrap_or("The service refuses.").to_owned())
            }
            kind if kind.starts_with("trigger.") => Self::State,
            _ => Self::Event(AgentEvent {
                event_id: event.id,
                name: kind,
                timestamp,
                data: data.to_owned(),
                cursor: None,
            }),
        })
    }
}

/// Why a receiver is not used.
#[derive(Debug)]
pub enum ReceiverFailed {
    /// It did not answer the challenge. The word is one of the extension.
    Challenge(&'static str),
    /// Its origin got so many challenges lately.
    TooManyChallenges(u32),
    /// The gateway itself failed.
    Failed(WebhookError),
}

/// The challenges that were sent to each origin in the last minute.
#[derive(Default)]
pub(super) struct Challenges(Mutex<HashMap<String, (Option<Instant>, u32)>>);

impl Challenges {
    /// Returns `false` if the origin has had enough.
    fn admit(&self, origin: &str) -> bool {
        let mut sent = self.0.lock();
        let now = Instant::now();
        sent.retain(|_, (began, _)| began.is_some_and(|began| now.duration_since(began) < MINUTE));
        let (began, count) = sent.entry(origin.to_owned()).or_default();
        began.get_or_insert(now);
        *count += 1;
        *count <= CHALLENGES
    }
}

impl Webhooks {
    /// Asks a receiver if it wants the webhooks of a subscription.
    ///
    /// # Errors
    /// See [`ReceiverFailed`].
    pub async fn challenge(&self, subscription: &str, url: &str, secrets: &AgentSecrets) -> Result<(), ReceiverFailed> {
        let refused = ReceiverFailed::Challenge("challenge_failed");
        let receiver = Receiver::parse(url, true).map_err(|_| ReceiverFailed::Challenge("connection_refused"))?;
        if !self.challenges.admit(&receiver.origin()) {
            return Err(ReceiverFailed::TooManyChallenges(CHALLENGES));
        }
        let challenge = random().map_err(ReceiverFailed::Failed)?;
        let body = json!({"type": "verification", "challenge": challenge}).to_string();
        let id = format!("msg_verification_{}", random().map_err(ReceiverFailed::Failed)?);
        let message = message_of(id, url, subscription, secrets, body.into());
        let answer = async {
            let response = self.send_message(message, CHALLENGE_TIMEOUT, MAX_ANSWER).await?;
            let status = response.status.as_u16();
            let body = response.body.collect(MAX_ANSWER).await.unwrap_or_default();
            Ok::<_, Unreached>((status, body))
        };
        let (status, body) = answer.await.map_err(|unreached| ReceiverFailed::Challenge(unreached.category))?;
        if !(200..300).contains(&status) {
            return Err(category(&Ok(status)).map_or(refused, ReceiverFailed::Challenge));
        }
        let echoed = serde_json::from_slice::<Value>(&body).unwrap_or_default();
        // Hashes are compared, so that the time of the comparison says nothing about the challenge.
        let hash = |text: &str| sha256_hex(text.as_bytes());
        let is_equal = echoed["challenge"].as_str().is_some_and(|echoed| hash(echoed) == hash(&challenge));
        if is_equal { Ok(()) } else { Err(refused) }
    }

    /// Tells a receiver once that its subscription has ended. Does not wait for the answer.
    pub fn tell_ended(&self, subscription: &str, url: &str, secrets: &AgentSecrets, reason: &str) {
        let Ok(random) = random() else { return };
        let id = format!("msg_terminated_{random}");
        let message = message_of(id, url, subscription, secrets, ended(reason).into());
        let this = self.clone();
        let telling = async move {
            if let Err(unreached) = this.send_message(message, CHALLENGE_TIMEOUT, MAX_ANSWER).await {
                tracing::debug!(reason = unreached.reason, "a receiver was not told that its subscription has ended");
            }
        };
        self.tasks.spawn(clock::inherit(telling));
    }

    /// The secrets of a receiver.
    ///
    /// # Errors
    /// If the vault fails, or what is stored is damaged.
    pub async fn agent_secrets(&self, trigger: &str, receiver: &AgentReceiver) -> Result<AgentSecrets, WebhookError> {
        let secrets = self.vault.unseal_json(&AgentPart::context(trigger), &receiver.secrets).await?;
        secrets.map_err(|_| WebhookError::DamagedSecret)
    }

    /// The webhook about an event for the receiver of an agent.
    ///
    /// # Errors
    /// If the store or the vault fails, or what is stored is damaged.
    pub(super) async fn message_for_agent(
        &self,
        (trigger, event): (&str, &str),
        receiver: &AgentReceiver,
        url: String,
        stored: &[u8],
    ) -> Result<Message, WebhookError> {
        let secrets = self.agent_secrets(trigger, receiver).await?;
        let sequence = self.store.agent_triggers().delivered_up_to(trigger, event).await?;
        let cursor = AgentCursor { trigger: trigger.to_owned(), sequence }.to_text();
        let message = AgentMessage::of(stored).map_err(|_| WebhookError::DamagedDelivery)?;
        let hash = event.strip_prefix("evt_").unwrap_or(event);
        let (id, body) = match message {
            AgentMessage::Event(found) => (event.to_owned(), self.event_body(trigger, found, cursor)?),
            AgentMessage::Gap => (format!("msg_gap_{hash}"), json!({"type": "gap", "cursor": cursor}).to_string()),
            AgentMessage::Ended(reason) => (format!("msg_terminated_{hash}"), ended(&reason)),
            AgentMessage::State => return Err(WebhookError::DamagedDelivery),
        };
        Ok(message_of(id, &url, &receiver.id, &secrets, body.into()))
    }

    /// The body about an event. A link takes the place of data that is too large.
    fn event_body(&self, trigger: &str, event: AgentEvent, cursor: String) -> Result<String, WebhookError> {
        let damaged = |_| WebhookError::DamagedDelivery;
        let event = AgentEvent { cursor: Some(cursor), ..event };
        let whole = serde_json::to_string(&event).map_err(damaged)?;
        if whole.len() <= MAX_BODY {
            return Ok(whole);
        }
        let base = self.config.public_url.as_str().trim_end_matches('/');
        let uri = format!("{base}/triggers/{trigger}/events/{}", event.event_id);
        let link = json!({"type": "resource_link", "uri": uri, "name": event.event_id, "mimeType": "application/json"});
        let data = serde_json::value::to_raw_value(&link).map_err(damaged)?;
        serde_json::to_string(&AgentEvent { data, ..event }).map_err(damaged)
    }
}

/// Random hexadecimal digits.
fn random() -> Result<String, WebhookError> {
    let id = NewDelivery::new_event_id()?;
    Ok(id.trim_start_matches("msg_").to_owned())
}

fn ended(reason: &str) -> String {
    json!({"type": "terminated", "error": {"code": FORBIDDEN, "message": reason}}).to_string()
}

fn message_of(id: String, url: &str, subscription: &str, secrets: &AgentSecrets, payload: Bytes) -> Message {
    let timestamp = seconds(clock::now());
    let signature = signatures(&secrets.valid(), &id, timestamp, &payload);
    let (url, subscription) = (url.to_owned(), Some(subscription.to_owned()));
    Message { id, url, payload, timestamp, signature, subscription }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(byte: u8) -> AgentSecrets {
        use base64::Engine as _;
        let text = format!("whsec_{}", base64::engine::general_purpose::STANDARD.encode([byte; 32]));
        AgentSecrets::of(&text).unwrap()
    }

    #[test]
    fn both_secrets_sign_for_a_day_after_a_change() {
        let (old, new) = (secrets(1), secrets(2));
        let signatures = |secrets: &AgentSecrets| message_of("a".into(), "", "", secrets, Bytes::new()).signature;
        assert_eq!(signatures(&new.clone().after(old.clone(), clock::now())).split(' ').count(), 2);
        assert_eq!(signatures(&old.clone().after(old.clone(), clock::now())).split(' ').count(), 1);
        let rotated = new.clone().after(old, clock::now());
        assert_eq!(
            signatures(&new.clone().after(rotated.clone(), clock::now())).split(' ').count(),
            2,
            "a renewal changes nothing"
        );
        let over = AgentSecrets { previous: rotated.previous.map(|(secret, _)| (secret, 1)), ..new };
        assert_eq!(signatures(&over).split(' ').count(), 1);
    }

    #[test]
    fn stored_events_become_messages_of_the_extension() {
        let of = |kind: &str| {
            let body =
                json!({"type": kind, "timestamp": "t", "data": {"reason": "no", "n": 1.0}, "event": {"id": "evt_1"}});
            AgentMessage::of(body.to_string().as_bytes()).unwrap()
        };
        let AgentMessage::Event(event) = of("mail.received") else { panic!("no event") };
        let text = serde_json::to_string(&event).unwrap();
        assert_eq!(
            text,
            r#"{"eventId":"evt_1","name":"mail.received","timestamp":"t","data":{"reason":"no","n":1.0}}"#
        );
        assert!(matches!(of("trigger.gap"), AgentMessage::Gap));
        assert!(matches!(of("trigger.disabled"), AgentMessage::Ended(reason) if reason == "no"));
        assert!(matches!(of("trigger.degraded"), AgentMessage::State));
        assert!(AgentMessage::of(b"{}").is_err());
    }

    #[test]
    fn an_origin_gets_a_limited_number_of_challenges() {
        let challenges = Challenges::default();
        assert!((0..CHALLENGES).all(|_| challenges.admit("https://a.example")));
        assert!(!challenges.admit("https://a.example"));
        assert!(challenges.admit("https://b.example"));
    }
}
