//! The parts of triggers that `simulation` replaces and uses: a connector whose operations are one
//! request each, and triggers with ids that a schedule chooses.

#![expect(clippy::unwrap_used, reason = "a panic is how the simulation fails")]

use std::sync::Arc;

use bytes::Bytes;
use hyper::Method;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::Instant;
use url::Url;

use super::call::RunOf;
use super::definition::Definition;
use super::step::Sealed;
use super::{TriggerError, Triggers};
use contract::trigger_types::{Handshake, TriggerSource};
use contract::{Additions, AuthScheme, CredentialUse, Manifest, Operation, Trigger as Declared, sample};
use egress::{Body, Request, Target, Upstream};
use pipeline::UpstreamError;
use store::{NewSubscription, NewTrigger, Subscription, Trigger};

/// The connector of the simulated service.
pub const CONNECTOR: &str = "notifying";

/// Its type whose notifications only say that there is something to read.
pub const READ: &str = "message";

/// Its type whose notifications have the data.
pub const CARRIED: &str = "note";

/// The query parameter whose value an inbox echoes.
pub const ECHO: &str = "echo";

/// The header with the signature of a notification, in hexadecimal digits after this prefix.
pub const SIGNATURE: (&str, &str) = ("x-signature", "sha256=");

/// The header with the kind of a notification, which is the name of its type.
pub const KIND: &str = "x-event";

/// The largest answer of the simulated service.
const MAX_BYTES: u64 = 1 << 20;

/// The inboxes of its types.
const INBOXES: [(&str, &str); 2] = [(READ, "bell"), (CARRIED, "notes")];

/// The ids of a new trigger. An ordinary trigger has random ones, which decide the order of rows.
#[derive(Clone, Debug)]
pub struct NewSimulated {
    /// The id of the trigger.
    pub id: String,
    /// The id of the subscription, if it gets a separate one.
    pub subscription: String,
    /// The tenant of the caller.
    pub tenant: String,
    /// The type.
    pub kind: &'static str,
    /// The parameter `channel`, which a subscription covers.
    pub channel: String,
    /// The URL that gets the events.
    pub url: String,
}

/// The address of a subscription.
pub fn address_of(subscription: &str) -> String {
    format!("at-{subscription}")
}

/// The secret with which the service signs what it sends there.
pub fn secret_of(subscription: &str) -> String {
    format!("secret-of-{subscription}")
}

/// The manifest of the connector, and its declarations.
pub fn connector() -> (Manifest, Additions) {
    let mut manifest = sample::manifest();
    manifest.identifier = CONNECTOR.to_owned();
    manifest.auth = AuthScheme::None;
    manifest.upstreams[0].credential = CredentialUse::None;
    let operation = Operation { envelope: false, pagination: None, ..manifest.operations[0].clone() };
    let paths = ["read", "subscribe", "renew", "unsubscribe"];
    manifest.operations.extend(paths.map(|path| Operation { path: path.to_owned(), ..operation.clone() }));
    let inboxes = INBOXES.map(|(_, name)| {
        let mut inbox = sample::inbox(name);
        inbox.handshakes = vec![Handshake::EchoQuery(ECHO.to_owned())];
        inbox
    });
    let triggers = INBOXES.map(|(kind, inbox)| {
        let is_read = kind == READ;
        Declared {
            parameters: r#"{"type":"object","properties":{"channel":{"type":"string"}},"additionalProperties":false}"#
                .to_owned(),
            source: if is_read { TriggerSource::Read } else { TriggerSource::Carried },
            // All notifications of the other one lead to a read.
            kinds: if is_read { Vec::new() } else { vec![kind.to_owned()] },
            inboxes: vec![inbox.to_owned()],
            key: vec!["channel".to_owned()],
            subscribe: Some("subscribe".to_owned()),
            renew: Some("renew".to_owned()),
            unsubscribe: Some("unsubscribe".to_owned()),
            read: is_read.then(|| "read".to_owned()),
            poll_seconds: 60,
            ..sample::trigger(kind)
        }
    });
    (manifest, Additions { inboxes: inboxes.into(), triggers: triggers.into(), ..Additions::default() })
}

impl Triggers {
    /// Makes a trigger, as POST /triggers does after its checks.
    ///
    /// # Errors
    /// If the store or the vault fails.
    pub async fn add_simulated(self: &Arc<Self>, new: NewSimulated, deadline: Instant) -> Result<(), TriggerError> {
        let NewSimulated { id, subscription, tenant, kind, channel, url } = new;
        let parameters = json!({ "channel": channel });
        let definition = Definition { parameters: parameters.clone(), urls: vec![url], ..Definition::default() };
        let stored = NewTrigger {
            definition: self.seal(&Trigger::context(&id), &definition).await?,
            id,
            tenant,
            subject: String::new(),
            connector: CONNECTOR.to_owned(),
            kind: kind.to_owned(),
            user_identifier: String::new(),
            labels: Default::default(),
            poll_s: None,
            agent: None,
        };
        let inbox = INBOXES.into_iter().find(|(of, _)| *of == kind).map(|(_, inbox)| inbox.to_owned());
        let sealed = Sealed { parameters, secret: secret_of(&subscription), ..Sealed::default() };
        let new = NewSubscription {
            covers: format!("{kind}\0{channel}"),
            inbox,
            address: Some(address_of(&subscription)),
            route: None,
            is_identified: true,
            secret: self.seal(&Subscription::context(&subscription), &sealed).await?,
            id: subscription,
        };
        let limit = self.parts.config.triggers.max_per_tenant;
        if let Some(subscription) = self.parts.store.triggers().add(stored, Some(new), limit).await? {
            self.work_now(&subscription, deadline).await?;
        }
        Ok(())
    }

    /// The fence of a subscription, and its cursor.
    ///
    /// # Errors
    /// If the store or the vault fails.
    pub async fn simulated_cursor(&self, id: &str) -> Result<Option<(i64, Value)>, TriggerError> {
        let Some(subscription) = self.parts.store.subscriptions().get(id).await? else { return Ok(None) };
        let cursor = match &subscription.cursor {
            Some(sealed) => self.unseal(&Subscription::cursor_context(id), sealed).await?,
            None => Value::Null,
        };
        Ok(Some((subscription.fence, cursor)))
    }

    /// Runs an operation of the simulated connector, which has no code: one request to its service.
    pub(super) async fn simulated_call(
        &self,
        of: &RunOf<'_>,
        operation: &str,
        input: &[u8],
    ) -> Result<Box<RawValue>, pipeline::Error> {
        let url = Url::parse("https://service.example/").unwrap();
        let (upstream, path) = Upstream::of_url(CONNECTOR, &url, false).map_err(pipeline::Error::Egress)?;
        let input: Value = serde_json::from_slice(input).unwrap();
        // The service knows the address and the secret of a subscription from its id.
        let form =
            json!({ "operation": operation, "tenant": of.tenant, "subscription": of.request_id, "input": input });
        let body = Body::Json(Bytes::from(form.to_string()));
        let deadline = of.deadline.min(Instant::now() + of.connector.timeout());
        let request = Request { body, ..Request::new(Method::POST, Target::Path(path), deadline, MAX_BYTES) };
        let response = self.parts.egress.send(&upstream, &request).await.map_err(pipeline::Error::Egress)?;
        let status = response.status.as_u16();
        let body = response.body.collect(MAX_BYTES).await.map_err(pipeline::Error::Egress)?;
        if status >= 400 {
            return Err(pipeline::Error::Upstream(Box::new(UpstreamError {
                status,
                upstream_status: status,
                detail: format!("The service has answered {status}."),
                body: Default::default(),
                retry_after: None,
                headers: Vec::new(),
                is_for_user: false,
            })));
        }
        serde_json::from_slice(&body).map_err(|error| pipeline::Error::NotUnderstood(error.to_string()))
    }
}
