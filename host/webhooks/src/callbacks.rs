//! Callbacks: the webhooks that notify URLs of a caller of the end of a job.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use super::receiver::Receiver;
use super::{CallbackError, WebhookError, Webhooks};
use clock::timestamp::Timestamp;
use store::{Delivery, DeliveryAttempt, DeliveryStatus, EventDelivery, NewDelivery, Payload, WebhookSource};

impl Webhooks {
    /// Checks the callback URLs of a call, before its job is stored. Returns them in their normal
    /// form, each once.
    ///
    /// # Errors
    /// `Invalid` with all URLs that are not allowed; `SecretRequired` if the tenant has no valid
    /// secret; or if the store fails.
    pub async fn accept_urls(&self, tenant: &str, urls: &[String]) -> Result<Vec<String>, CallbackError> {
        let mut accepted: Vec<String> = Vec::with_capacity(urls.len());
        let mut wrong = Vec::new();
        for (index, text) in urls.iter().enumerate() {
            match Receiver::accept(text, self.config.callbacks.allow_private_network) {
                Ok(Receiver { url, .. }) if accepted.iter().any(|known| known == url.as_str()) => {}
                Ok(Receiver { url, .. }) => accepted.push(url.into()),
                Err(reason) => wrong.push((index, reason)),
            }
        }
        if !wrong.is_empty() {
            return Err(CallbackError::Invalid(wrong));
        }
        if !accepted.is_empty() && self.store.webhooks().secrets(tenant).await?.is_empty() {
            return Err(CallbackError::SecretRequired);
        }
        Ok(accepted)
    }

    /// The deliveries of a job's record to URLs that [`Webhooks::accept_urls`] returned. The caller
    /// stores them in the transaction that ends the job, and calls [`Webhooks::wake`] after it.
    /// Their records are kept at least for `kept_for`.
    ///
    /// # Errors
    /// If the vault fails.
    pub async fn deliveries_of_job(
        &self,
        tenant: &str,
        job_id: &str,
        urls: &[String],
        payload: &[u8],
        kept_for: Duration,
    ) -> Result<Vec<NewDelivery>, WebhookError> {
        // The deliveries share one body, because a result may have many megabytes.
        let payload = self.payload(tenant, job_id, payload).await?;
        let mut deliveries = Vec::with_capacity(urls.len());
        for url in urls {
            let webhook_id = NewDelivery::id_of(job_id, url);
            let source = WebhookSource::Job(job_id.to_owned());
            deliveries.push(self.delivery(webhook_id, tenant, source, url, Arc::clone(&payload), kept_for).await?);
        }
        Ok(deliveries)
    }

    /// The webhook of an event of a trigger to a URL, without its body. `for_agent` says that an agent
    /// has made the trigger, and that its receiver has separate secrets.
    ///
    /// # Errors
    /// If the vault fails.
    pub async fn trigger_delivery(
        &self,
        tenant: &str,
        event: &str,
        url: &str,
        for_agent: bool,
    ) -> Result<EventDelivery, WebhookError> {
        let id = NewDelivery::id_of(event, url);
        let (receiver, url_hash) = origin_and_hash(url);
        let url = self.vault.seal(&NewDelivery::url_context(tenant, &id), url.as_bytes()).await?;
        Ok(EventDelivery { id, receiver, url, url_hash, for_agent })
    }

    /// A sealed body.
    pub(super) async fn payload(&self, tenant: &str, id: &str, payload: &[u8]) -> Result<Arc<Payload>, WebhookError> {
        let sealed = self.vault.seal(&Payload::context(tenant, id), payload).await?;
        Ok(Arc::new(Payload { id: id.to_owned(), sealed }))
    }

    /// A delivery with a sealed URL.
    pub(super) async fn delivery(
        &self,
        webhook_id: String,
        tenant: &str,
        source: WebhookSource,
        url: &str,
        payload: Arc<Payload>,
        kept_for: Duration,
    ) -> Result<NewDelivery, WebhookError> {
        let (receiver, url_hash) = origin_and_hash(url);
        let url = self.vault.seal(&NewDelivery::url_context(tenant, &webhook_id), url.as_bytes()).await?;
        Ok(NewDelivery { webhook_id, tenant: tenant.to_owned(), source, receiver, url, url_hash, payload, kept_for })
    }
}

/// The origin of a URL, and the hash of its normal form, by which lists find its deliveries. The
/// URL of an agent is stored as the agent writes it.
fn origin_and_hash(url: &str) -> (String, String) {
    // A URL that is no longer allowed is still stored. Each attempt then says why.
    let receiver = Receiver::parse(url, true).ok();
    let normal_form = receiver.as_ref().map_or(url, |receiver| receiver.url.as_str());
    let hash = NewDelivery::hash_of_url(normal_form);
    (receiver.map(|receiver| receiver.origin()).unwrap_or_default(), hash)
}

/// A URL that gets a webhook at the end of the job.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "JobCallback")]
pub struct CallbackRecord {
    #[schemars(extend("format" = "uri"))]
    url: String,
    webhook_id: String,
    #[schemars(extend("enum" = ["pending", "delivered", "failed"]))]
    status: &'static str,
    attempts: Vec<AttemptRecord>,
}

/// An attempt to send a webhook.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WebhookAttempt")]
pub(super) struct AttemptRecord {
    at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u16")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    error: Option<String>,
}

impl CallbackRecord {
    /// The member `callbacks` of a job's record: each of its URLs with the state of its delivery. A
    /// URL without a delivery is pending, because the job has not ended.
    pub fn of_job(job_id: &str, urls: &[String], deliveries: &[Delivery]) -> Vec<Self> {
        let record = |url: &String| {
            let webhook_id = NewDelivery::id_of(job_id, url);
            let delivery = deliveries.iter().find(|delivery| delivery.webhook_id == webhook_id);
            let status = delivery.map_or(DeliveryStatus::Pending, |delivery| delivery.status);
            let attempts = delivery.map(|delivery| delivery.attempts.iter().map(AttemptRecord::from).collect());
            let attempts = attempts.unwrap_or_default();
            Self { url: url.clone(), webhook_id, status: status.name(), attempts }
        };
        urls.iter().map(record).collect()
    }
}

impl From<&DeliveryAttempt> for AttemptRecord {
    fn from(DeliveryAttempt { at, result }: &DeliveryAttempt) -> Self {
        Self { at: (*at).into(), status: result.as_ref().ok().copied(), error: result.as_ref().err().cloned() }
    }
}
