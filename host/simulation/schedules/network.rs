//! The ways between a gateway, the service that notifies it, and the receiver of its webhooks.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout, timeout_at};

use super::events::Site;
use super::notifier::Push;
use super::provider::{lost, respond};
use super::world::Process;
use egress::{Body, Egress, EgressError, Request, Response, Target, Transport, Upstream};
use hooks::{Context, HandshakeAnswer, Notification, answer_before_verification, items, verify};
use triggers::Triggers;
use triggers::simulated::CONNECTOR;

/// As the gateway's own, for a look into the store and for storing.
const STORE_TIME: Duration = Duration::from_millis(1800);

/// Answers a notification, as the route of an address does.
pub(super) async fn receive(triggers: &Triggers, push: &Push) -> (u16, String) {
    let busy = || (503, String::new());
    let found = match timeout(STORE_TIME, triggers.inbox_at(&push.address)).await {
        Ok(Ok(found)) => found,
        _ => return busy(),
    };
    let Some(at) = found else { return (404, String::new()) };
    let Push { method, query, headers, body, .. } = push;
    let notification = Notification { method, headers, query, body: body.as_bytes() };
    let echo = answer_before_verification(&at.inbox, &notification, &at.secrets, at.is_waiting);
    if let Some(HandshakeAnswer::Text(text) | HandshakeAnswer::Json(text)) = echo {
        return (200, text);
    }
    let keys = BTreeMap::new();
    let context = Context { url: &at.url, settings: &at.settings, keys: &keys };
    let Ok(verified) = verify(&at.inbox, &notification, &at.secrets, &context, clock::now()) else {
        return (401, String::new());
    };
    let items = items(&at.inbox, &notification, &verified);
    match timeout(STORE_TIME, triggers.accept(&at, &items)).await {
        Ok(Ok(_)) => (200, String::new()),
        _ => busy(),
    }
}

/// The way of a process to the service and to the receiver.
pub(super) struct Network {
    pub(super) site: Arc<Site>,
    pub(super) process: Arc<Process>,
}

impl Network {
    async fn answer(
        site: Arc<Site>,
        process: Arc<Process>,
        trigger: Option<String>,
        body: Value,
        webhook_id: String,
        answered: oneshot::Sender<(u16, String)>,
    ) {
        let answer = match trigger {
            None => site.notifier.answer(&process, &body).await,
            Some(trigger) => {
                let (arrival, is_refused, time) =
                    process.draw(|random| (random.ms(1..300), random.permille(50), random.ms(1..2_000)));
                sleep(arrival).await;
                let is_heard = site.hear(&process, &trigger, &body, &webhook_id, is_refused);
                sleep(time).await;
                Some((if is_heard { 200 } else { 503 }, String::new()))
            }
        };
        process.live().await;
        if let Some(answer) = answer {
            let _ = answered.send(answer);
        }
    }
}

impl Transport for Network {
    fn send<'a>(
        &'a self,
        egress: &'a Egress,
        upstream: &'a Upstream,
        request: &'a Request,
    ) -> BoxFuture<'a, Result<Response, EgressError>> {
        async move {
            self.process.before_request().await;
            let (Target::Path(path), Body::Json(body)) = (&request.target, &request.body) else { return Err(lost()) };
            let trigger = (upstream.name() != CONNECTOR).then(|| path.trim_start_matches('?').to_owned());
            let id = request.headers.map().get("webhook-id").and_then(|id| id.to_str().ok()).unwrap_or_default();
            let body = serde_json::from_slice(body).unwrap();
            let (answer, answered) = oneshot::channel();
            let (site, process) = (Arc::clone(&self.site), Arc::clone(&self.process));
            tokio::spawn(Self::answer(site, process, trigger, body, id.to_owned(), answer));
            match timeout_at(request.deadline, answered).await {
                Err(_) => Err(EgressError::TimedOut),
                Ok(Err(_)) => Err(lost()),
                Ok(Ok((status, body))) => respond(upstream, request, egress, status, body),
            }
        }
        .boxed()
    }
}
