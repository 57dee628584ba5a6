//! One attempt of a delivery.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use hyper::Method;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::time::Instant;

use super::receiver::{Receiver, private};
use super::signature::signatures;
use super::{WebhookError, Webhooks};
use egress::{Body, EgressError, Headers, Request, Response, Target};
use metrics::WebhookLabels;
use store::vault::VaultError;
use store::{AttemptResult, ClaimedDelivery, DeliveryAttempt, NewDelivery, Payload, Sealed, WebhookSource};

/// Time for a receiver to respond.
pub(super) const TIMEOUT: Duration = Duration::from_secs(20);

/// Delays after failed attempts. There is one attempt more than there are delays.
const BACKOFF: [Duration; 6] = [
    Duration::from_secs(5),
    Duration::from_secs(5 * 60),
    Duration::from_secs(30 * 60),
    Duration::from_secs(2 * 3600),
    Duration::from_secs(5 * 3600),
    Duration::from_secs(10 * 3600),
];

/// The status with which a receiver says that it wants no more attempts.
const GONE: u16 = 410;

const WEBHOOK_ID: HeaderName = HeaderName::from_static("webhook-id");
const WEBHOOK_TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const WEBHOOK_SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");
const SUBSCRIPTION_ID: HeaderName = HeaderName::from_static("x-mcp-subscription-id");

/// The status with which a receiver of an agent says that one webhook is too large for it.
const TOO_LARGE: u16 = 413;

/// A body with its signatures, as one attempt sends it.
pub(super) struct Message {
    /// The header `webhook-id`.
    pub(super) id: String,
    pub(super) url: String,
    pub(super) payload: Bytes,
    /// Seconds since 1970.
    pub(super) timestamp: u64,
    /// The value of the header `webhook-signature`.
    pub(super) signature: String,
    /// The subscription of an agent.
    pub(super) subscription: Option<String>,
}

/// Why there is no response.
pub(super) struct Unreached {
    pub(super) reason: String,
    /// The word for it of the extension for agents.
    pub(super) category: &'static str,
}

impl From<String> for Unreached {
    fn from(reason: String) -> Self {
        Self { reason, category: "connection_refused" }
    }
}

impl Webhooks {
    /// Sends a delivery once, and stores the result. If the gateway itself fails, the delivery is
    /// attempted again after the end of its lease.
    pub(super) async fn attempt(&self, claimed: ClaimedDelivery) {
        let ClaimedDelivery { delivery, tenant, source, url, payload, fence, resent } = claimed;
        let at = clock::now();
        let id = delivery.webhook_id;
        // All receivers of an event get its id.
        let webhook_id = source.event().map_or_else(|| id.clone(), |(_, event)| event.to_owned());
        let agent = match &source {
            WebhookSource::Agent { trigger, .. } => Some(trigger.as_str()),
            WebhookSource::Job(_) | WebhookSource::Event | WebhookSource::Trigger { .. } => None,
        };
        let mut has_secret = true;
        let result: Result<u16, Unreached> =
            match self.sign((&id, &webhook_id), &tenant, &source, url, payload, at).await {
                Ok(Some(message)) => self.post(message).await,
                Ok(None) => {
                    has_secret = false;
                    Err(Unreached::from(match agent {
                        Some(_) => "the subscription of the agent has ended".to_owned(),
                        None => "there is no valid secret to sign with; POST /webhooks/secrets makes one".to_owned(),
                    }))
                }
                // The next attempt, on any gateway, would fail in the same way.
                Err(
                    error @ (WebhookError::Vault(VaultError::Altered | VaultError::UnknownKey { .. })
                    | WebhookError::DamagedSecret
                    | WebhookError::DamagedDelivery),
                ) => {
                    tracing::error!(webhook_id, %error, "a webhook cannot be decrypted");
                    Err("the gateway cannot decrypt the stored webhook or its secret".to_owned().into())
                }
                Err(error) => {
                    tracing::error!(webhook_id, %error, "a webhook is not sent now; it is tried again within a minute");
                    return;
                }
            };
        let error = category(&result);
        let result = result.map_err(|unreached| unreached.reason);
        let mut attempts = delivery.attempts;
        attempts.push(DeliveryAttempt { at, result: result.clone() });
        let next = match next_result(&result, attempts.len()) {
            // An operator has requested one attempt.
            AttemptResult::RetryAfter(_) if resent => AttemptResult::Failed,
            AttemptResult::RetryAfter(_) if agent.is_some() && (!has_secret || result == Ok(TOO_LARGE)) => {
                AttemptResult::Failed
            }
            next => next,
        };
        let keep = self.config.callbacks.keep;
        match self.store.webhooks().finish_attempt(&id, fence, &attempts, next, keep).await {
            Ok(true) => self.report(&webhook_id, &tenant, &source, has_secret, &result, next),
            // The subscription has ended, and its webhooks with it.
            Ok(false) if agent.is_some() && !has_secret => {}
            Ok(false) => tracing::warn!(webhook_id, "another gateway has taken over this webhook"),
            Err(error) => {
                tracing::error!(webhook_id, %error, "the result of a webhook is not stored, so it is sent once more");
            }
        }
        if let Some(trigger) = agent
            && let Err(error) = self.store.agent_triggers().note_delivery(trigger, error).await
        {
            tracing::debug!(webhook_id, %error, "the result of a webhook for an agent is not noted");
        }
    }

    /// Unseals a delivery and signs it. Returns `None` if the tenant has no valid secret, or if the
    /// agent that it is for has ended its subscription.
    async fn sign(
        &self,
        (id, webhook_id): (&str, &str),
        tenant: &str,
        source: &WebhookSource,
        url: Sealed,
        payload: Arc<Payload>,
        at: SystemTime,
    ) -> Result<Option<Message>, WebhookError> {
        let bytes = payload.sealed.bytes.len();
        let signing = async {
            let agent = match source {
                WebhookSource::Agent { trigger, event } => match self.store.agent_triggers().receiver(trigger).await? {
                    Some(receiver) => Some(((trigger.as_str(), event.as_str()), receiver)),
                    None => return Ok(None),
                },
                WebhookSource::Job(_) | WebhookSource::Event | WebhookSource::Trigger { .. } => None,
            };
            let secrets = match agent {
                Some(_) => Vec::new(),
                None => self.signing_secrets(tenant).await?,
            };
            if agent.is_none() && secrets.is_empty() {
                return Ok(None);
            }
            let url = self.delivery_url(tenant, id, &url).await?;
            let payload = self.vault.unseal_content(&Payload::context(tenant, &payload.id), &payload.sealed).await?;
            if let Some((event, receiver)) = agent {
                return self.message_for_agent(event, &receiver, url, &payload).await.map(Some);
            }
            let payload = Bytes::from(payload);
            let timestamp = at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
            let signature = signatures(&secrets, webhook_id, timestamp, &payload);
            Ok(Some(Message { id: webhook_id.to_owned(), url, payload, timestamp, signature, subscription: None }))
        };
        compute::drive(bytes, signing).await
    }

    /// The URL of a delivery.
    pub(super) async fn delivery_url(&self, tenant: &str, id: &str, sealed: &Sealed) -> Result<String, WebhookError> {
        let url = self.vault.unseal_content(&NewDelivery::url_context(tenant, id), sealed).await?;
        String::from_utf8(url).map_err(|_| WebhookError::DamagedDelivery)
    }

    /// Posts a webhook. Returns the status of the response.
    async fn post(&self, message: Message) -> Result<u16, Unreached> {
        // The body of the response is not read, so it has no limit.
        Ok(self.send_message(message, TIMEOUT, u64::MAX).await?.status.as_u16())
    }

    /// Posts a message, whose response has at most `max_answer` bytes.
    pub(super) async fn send_message(
        &self,
        message: Message,
        timeout: Duration,
        max_answer: u64,
    ) -> Result<Response, Unreached> {
        let Message { id, url, payload, timestamp, signature, subscription } = message;
        // The operator may have changed the permission since the URL was accepted.
        let receiver = Receiver::parse(&url, self.config.callbacks.allow_private_network)?;
        let value = |text: &str| HeaderValue::from_str(text).map_err(|error| error.to_string());
        let mut headers = HeaderMap::from_iter([
            (WEBHOOK_ID, value(&id)?),
            (WEBHOOK_TIMESTAMP, timestamp.into()),
            (WEBHOOK_SIGNATURE, value(&signature)?),
        ]);
        if let Some(subscription) = subscription {
            headers.insert(SUBSCRIPTION_ID, value(&subscription)?);
        }
        let request = Request {
            headers: Headers::trusted(headers),
            body: Body::Json(payload),
            ..Request::new(Method::POST, Target::Path(receiver.path), Instant::now() + timeout, max_answer)
        };
        self.egress.send(&receiver.upstream, &request).await.map_err(|error| {
            let category = match &error {
                EgressError::TimedOut => "timeout",
                EgressError::Unreachable { is_tls: true, .. } => "tls_error",
                EgressError::TooLarge { .. } => "challenge_failed",
                _ => "connection_refused",
            };
            let reason = match error {
                EgressError::Denied { .. } => private(&receiver.url),
                EgressError::TimedOut => format!("no response within {} s", timeout.as_secs()),
                error => error.to_string(),
            };
            Unreached { reason, category }
        })
    }

    fn report(
        &self,
        webhook_id: &str,
        tenant: &str,
        source: &WebhookSource,
        has_secret: bool,
        result: &Result<u16, String>,
        next: AttemptResult,
    ) {
        let (kind, job_id) = (source.kind(), source.job());
        let (status, error) = (result.as_ref().ok(), result.as_ref().err());
        let outcome = match next {
            AttemptResult::Delivered => "delivered",
            AttemptResult::RetryAfter(_) => "retried",
            AttemptResult::Failed | AttemptResult::Gone => "failed",
        };
        match next {
            AttemptResult::Delivered => tracing::debug!(webhook_id, tenant, kind, job_id, status, "webhook delivered"),
            AttemptResult::RetryAfter(delay) => {
                let again_in_s = delay.as_secs();
                if has_secret {
                    tracing::info!(webhook_id, tenant, kind, job_id, status, error, again_in_s, "webhook not accepted");
                } else {
                    tracing::warn!(webhook_id, tenant, kind, job_id, error, again_in_s, "webhook not sent");
                }
            }
            AttemptResult::Failed | AttemptResult::Gone => {
                tracing::warn!(
                    webhook_id,
                    tenant,
                    kind,
                    job_id,
                    status,
                    error,
                    "webhook failed; it is not tried again"
                );
            }
        }
        self.metrics.webhooks.get_or_create_owned(&WebhookLabels { kind, outcome }).inc();
    }
}

/// The word of the extension for agents for a result. `None` if the receiver has accepted.
pub(super) fn category(result: &Result<u16, Unreached>) -> Option<&'static str> {
    match result {
        Ok(200..=299) => None,
        Ok(500..) => Some("http_5xx"),
        Ok(_) => Some("http_4xx"),
        Err(unreached) => Some(unreached.category),
    }
}

/// The state of a delivery after an attempt. `made` is the number of attempts, with this one.
fn next_result(result: &Result<u16, String>, made: usize) -> AttemptResult {
    match result {
        Ok(200..=299) => AttemptResult::Delivered,
        Ok(GONE) => AttemptResult::Gone,
        _ => made
            .checked_sub(1)
            .and_then(|index| BACKOFF.get(index))
            .map_or(AttemptResult::Failed, |delay| AttemptResult::RetryAfter(*delay)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pauses_grow_from_five_seconds_to_ten_hours_and_then_the_webhook_has_failed() {
        let delays: Vec<_> = (1..=7).map(|made| next_result(&Ok(500), made)).collect();
        let expected =
            [5, 300, 1800, 7200, 18_000, 36_000].map(|seconds| AttemptResult::RetryAfter(Duration::from_secs(seconds)));
        assert_eq!(delays[..6], expected);
        assert_eq!(delays[6], AttemptResult::Failed);
    }

    #[test]
    fn every_2xx_is_delivered_a_410_ends_the_attempts_and_all_else_is_tried_again() {
        for status in [200, 201, 202, 204, 299] {
            assert_eq!(next_result(&Ok(status), 1), AttemptResult::Delivered, "{status}");
        }
        assert_eq!(next_result(&Ok(410), 1), AttemptResult::Gone);
        for result in [Ok(301), Ok(304), Ok(400), Ok(404), Ok(429), Ok(500), Ok(503), Err("no answer".to_owned())] {
            assert_eq!(next_result(&result, 1), AttemptResult::RetryAfter(BACKOFF[0]), "{result:?}");
        }
    }
}
