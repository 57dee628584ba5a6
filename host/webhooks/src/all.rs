//! The webhooks of all tenants, for the operator.

use schemars::JsonSchema;
use serde::Serialize;
use url::Url;

use super::callbacks::AttemptRecord;
use super::{WebhookError, Webhooks};
use clock::timestamp::Timestamp;
use store::{AnyDelivery, NewDelivery, UrlFilter, WebhookSource};

/// A webhook to one URL, of any tenant.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AnyWebhook")]
pub struct AnyWebhookRecord {
    /// The header `webhook-id`, which is the same on every attempt, unless there is an `event_id`.
    id: String,
    tenant: String,
    /// `event` is an event of the gateway, for operators. `agent` is an event of a trigger that an
    /// agent has made.
    #[schemars(extend("enum" = ["job", "event", "trigger", "agent"]))]
    kind: &'static str,
    /// The job that the webhook is about; null if it is about an event.
    job_id: Option<String>,
    /// The trigger whose event it is about; null if there is none.
    trigger_id: Option<String>,
    /// The event of the trigger, which is the header `webhook-id`; null if there is none.
    event_id: Option<String>,
    /// The scheme, host and port of the URL.
    receiver: String,
    /// Null if it is no longer kept, or if the gateway cannot decrypt it.
    url: Option<String>,
    #[schemars(extend("enum" = ["pending", "delivered", "failed"]))]
    status: &'static str,
    /// The oldest first.
    attempts: Vec<AttemptRecord>,
    created_at: Timestamp,
    /// Null after the last attempt.
    next_attempt_at: Option<Timestamp>,
    /// The webhook can be sent once more until this time; null if it is not yet over, or if its URL
    /// and body are no longer kept.
    kept_until: Option<Timestamp>,
}

impl Webhooks {
    /// The record of a delivery, with its URL. A URL that cannot be decrypted must not keep a list from
    /// showing the other deliveries, so the record is without it.
    ///
    /// # Errors
    /// If the vault fails.
    pub async fn any_record(&self, found: AnyDelivery) -> Result<AnyWebhookRecord, WebhookError> {
        let AnyDelivery { delivery, tenant, source, receiver, url, created_at, next_attempt_at, kept_until } = found;
        let url = match url {
            Some(sealed) => match self.delivery_url(&tenant, &delivery.webhook_id, &sealed).await {
                Err(error) if error.is_damage() => {
                    let webhook_id = &delivery.webhook_id;
                    tracing::error!(webhook_id, %error, "the URL of a webhook cannot be decrypted");
                    None
                }
                url => Some(url?),
            },
            None => None,
        };
        let kind = source.kind();
        let (job_id, trigger_id, event_id) = match source {
            WebhookSource::Job(id) => (Some(id), None, None),
            WebhookSource::Event => (None, None, None),
            WebhookSource::Trigger { trigger, event } | WebhookSource::Agent { trigger, event } => {
                (None, Some(trigger), Some(event))
            }
        };
        Ok(AnyWebhookRecord {
            id: delivery.webhook_id,
            tenant,
            kind,
            job_id,
            trigger_id,
            event_id,
            receiver,
            url,
            status: delivery.status.name(),
            attempts: delivery.attempts.iter().map(AttemptRecord::from).collect(),
            created_at: created_at.into(),
            next_attempt_at: next_attempt_at.map(Timestamp::from),
            kept_until: kept_until.map(Timestamp::from),
        })
    }
}

/// The URLs that a list is limited to: one URL, or all with an origin if `text` has nothing after
/// the host and port.
///
/// # Errors
/// A sentence for the caller if `text` is not an absolute URL.
pub fn parse_url_filter(text: &str) -> Result<UrlFilter, String> {
    let url = Url::parse(text).ok().filter(Url::has_host);
    let url = url.ok_or("Must be an absolute URL, or its scheme, host and port.")?;
    let origin = url.origin().ascii_serialization();
    // `Url` writes the path `/` behind a host.
    Ok(match url.as_str().strip_suffix('/') == Some(origin.as_str()) {
        true => UrlFilter::Receiver(origin),
        false => UrlFilter::Hash(NewDelivery::hash_of_url(url.as_str())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_without_a_path_stands_for_all_of_its_receiver() {
        for origin in ["https://example.com", "https://EXAMPLE.com:443/"] {
            assert_eq!(parse_url_filter(origin), Ok(UrlFilter::Receiver("https://example.com".to_owned())), "{origin}");
        }
        let exact = UrlFilter::Hash(NewDelivery::hash_of_url("https://example.com/?a=1"));
        assert_eq!(parse_url_filter("https://example.com?a=1"), Ok(exact));
        assert!(parse_url_filter("example.com").is_err());
    }
}
