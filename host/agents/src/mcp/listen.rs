//! `subscriptions/listen`: a stream of events that tells a client when its list of tools has
//! changed.
//!
//! The registry wakes the streams after a swap. Each stream compares the tools of its caller with
//! the previous ones. Between swaps, a stream does nothing but send a comment now and then, which
//! keeps the connection open, and look if its caller may still be there.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use hyper::header::{AUTHORIZATION, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::lifecycle::{Client, TASKS};
use super::{Exchange, Failed, catalogue_of, events, headers};
use auth::AuthError;
use body::Body;
use endpoint::answer::EndlessStream;
use gateway::Gateway;
use mcp::View;
use mcp::message::{Request, RpcError, success};
use mcp::streams::OpenStream;

/// The time between two comments. Proxies close connections that are silent for a minute.
const COMMENT_INTERVAL: Duration = Duration::from_secs(15);

/// Opens a stream.
pub(super) async fn open(
    exchange: &Exchange<'_>,
    client: &Client,
    request: &Request<'_>,
) -> Result<Response<Body>, Failed> {
    if !headers::takes_events(exchange.headers) {
        let detail = "The answer is a stream of events; send `Accept: application/json, text/event-stream`.";
        return Err(problem::BAD_REQUEST.with_detail(detail).status(StatusCode::NOT_ACCEPTABLE).into());
    }
    let wanted = request.params.value("notifications");
    if wanted["taskIds"].as_array().is_some_and(|ids| !ids.is_empty()) && !client.can.tasks {
        return Err(RpcError::missing_extension(TASKS).into());
    }
    let gateway = exchange.gateway;
    let Some(open) = gateway.streams.open(exchange.caller.tenant()) else {
        let detail = "Too many streams are open (`mcp.max_streams`, and at most half of `max_connections`; a tenant gets half of them); list \
             the tools now and then.";
        return Err(problem::BUSY.with_detail(detail).retry_after(60).into());
    };
    // It is taken before the list is made, so that no change between the two is missed.
    let changes = gateway.registry.changes();
    let tells_tools = wanted["toolsListChanged"] == true;
    let view = exchange.view_of_list().await?;
    let known = catalogue_of(gateway, view.clone()).await.digest.clone();
    let listener = Listener {
        gateway: Arc::clone(gateway),
        authorization: exchange.headers.get(AUTHORIZATION).cloned(),
        id: serde_json::from_str(request.id.get()).unwrap_or_default(),
        view,
        known,
        tells_tools,
        changes,
        next_comment: Instant::now() + COMMENT_INTERVAL,
        _open: open,
    };
    let mut response = events::response(stream::unfold(State::Begins(Box::new(listener)), |state| async move {
        match state {
            State::Begins(listener) => Some((listener.acknowledgment(), State::Listens(listener))),
            State::Listens(mut listener) => Some(match listener.next().await {
                Some(event) => (event, State::Listens(listener)),
                None => (listener.last(), State::Ended),
            }),
            State::Ended => None,
        }
    }));
    response.extensions_mut().insert(EndlessStream);
    Ok(response)
}

/// The states of a stream.
enum State {
    Begins(Box<Listener>),
    Listens(Box<Listener>),
    Ended,
}

struct Listener {
    gateway: Arc<Gateway>,
    authorization: Option<HeaderValue>,
    /// The id of the request, which is the id of the subscription.
    id: Value,
    view: View,
    /// The digest of the list that the client could have seen.
    known: String,
    /// `true` if the client wants to know about its list of tools.
    tells_tools: bool,
    changes: watch::Receiver<()>,
    next_comment: Instant,
    _open: OpenStream,
}

impl Listener {
    fn meta(&self) -> Value {
        json!({"io.modelcontextprotocol/subscriptionId": self.id})
    }

    fn notification(&self, method: &str, mut params: Value) -> Bytes {
        params["_meta"] = self.meta();
        events::event(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string())
    }

    /// The first event: what the client will be told.
    fn acknowledgment(&self) -> Bytes {
        let told = if self.tells_tools { json!({"toolsListChanged": true}) } else { json!({}) };
        self.notification("notifications/subscriptions/acknowledged", json!({"notifications": told}))
    }

    /// The last event, if the gateway ends the stream.
    fn last(&self) -> Bytes {
        let result = json!({"resultType": "complete", "_meta": self.meta()}).to_string();
        match serde_json::value::to_raw_value(&self.id) {
            Ok(id) => events::event(&success(&id, &result)),
            Err(_) => events::COMMENT,
        }
    }

    /// The next event. `None` if the stream ends.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            let draining = Arc::clone(&self.gateway.draining);
            tokio::select! {
                () = draining.started() => return None,
                changed = self.changes.changed() => {
                    changed.ok()?;
                    if self.tells_tools && self.is_other_list().await {
                        return Some(self.notification("notifications/tools/list_changed", json!({})));
                    }
                }
                () = sleep_until(self.next_comment) => {
                    self.next_comment = Instant::now() + COMMENT_INTERVAL;
                    return self.may_stay().await.then_some(events::COMMENT);
                }
            }
        }
    }

    /// Returns `true` if the client's list has changed since it was told.
    async fn is_other_list(&mut self) -> bool {
        // One stream at a time, so that streams with the same view make one list.
        let _turn = self.gateway.streams.turn().await;
        let digest = &catalogue_of(&self.gateway, self.view.clone()).await.digest;
        let is_other = *digest != self.known;
        self.known.clone_from(digest);
        is_other
    }

    /// Returns `true` unless the caller's token was revoked, or has expired.
    async fn may_stay(&self) -> bool {
        let known = self.gateway.authenticator.authenticate(self.authorization.as_ref()).await;
        matches!(known, Ok(_) | Err(AuthError::Unavailable))
    }
}
