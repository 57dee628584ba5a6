//! Events of services for agents: the extension `io.modelcontextprotocol/events`. An agent polls
//! events, or has them sent to a URL. Both are triggers, as POST /triggers makes them.
//!
//! - here: the requests and their results
//! - [`refused`]: requests that have failed

mod refused;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use self::refused::{check_answers, forbidden, unknown};
use super::lifecycle::Client;
use super::{Exchange, Failed, LIST_TTL_MS};
use auth::Scope;
use clock::timestamp::Timestamp;
use contract::Effect;
use contract::words::shortened;
use endpoint::headers::CallHeaders;
use mcp::ToolSet;
use mcp::events::{Poll, Subscribe, Wanted, event_type, has_own_account, url};
use mcp::input_schema::ACCOUNT;
use mcp::message::{INVALID_PARAMS, METHOD_NOT_FOUND, NOT_FOUND, Params, Request, RpcError};
use problem::Problem;
use rest::triggers::{DEFAULT_TIMEOUT, trigger_problem};
use store::DeliveryReport;
use triggers::{AgentDelivery, AgentError, AgentPoll, AgentWish, Polled, Subscribed, TypeRecord};
use webhooks::{AgentEvent, AgentSecrets, url_check};

/// Returns `true` if the extension has the method, or could have it.
pub(super) fn is_about_events(method: &str) -> bool {
    method.starts_with("events/")
}

/// Answers a request about events.
pub(super) async fn answer(
    exchange: &Exchange<'_>,
    client: &Client,
    request: &Request<'_>,
    request_id: &str,
) -> Result<String, Failed> {
    let asked = Asked { exchange, client, request_id, deadline: exchange.arrived + DEFAULT_TIMEOUT };
    match request.method.as_str() {
        "events/list" => asked.list(&request.params).await.map(|result| result.to_string()),
        "events/poll" => asked.poll(&request.params).await,
        "events/subscribe" => asked.subscribe(&request.params).await.map(|result| result.to_string()),
        "events/unsubscribe" => asked.unsubscribe(&request.params).await.map(|result| result.to_string()),
        method => {
            let method = shortened(method);
            Err(RpcError::new(METHOD_NOT_FOUND, format!("There is no method `{method}`.")).into())
        }
    }
}

/// A request about events.
struct Asked<'a> {
    exchange: &'a Exchange<'a>,
    client: &'a Client,
    request_id: &'a str,
    deadline: Instant,
}

/// The type of a result that asks for nothing.
const COMPLETE: &str = "complete";

/// The result of a poll, which keeps the texts of events as they are.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PollResult {
    #[serde(skip_serializing_if = "Option::is_none")]
    result_type: Option<&'static str>,
    events: Vec<AgentEvent>,
    cursor: String,
    truncated: bool,
    has_more: bool,
    next_poll_ms: u64,
}

/// The events that a request is about, with its subscription.
struct Found {
    wish: AgentWish,
    /// The account that the user may have to connect.
    account: Option<String>,
}

impl Asked<'_> {
    /// The types of the caller's view, on one page.
    async fn list(&self, params: &Params<'_>) -> Result<Value, Failed> {
        if params.raw("cursor").is_some() {
            return Err(RpcError::new(INVALID_PARAMS, "The list of events has one page; leave `cursor` out.").into());
        }
        let accounts = match self.exchange.fixed_account() {
            Some(_) => BTreeMap::new(),
            None => self.exchange.accounts().await?,
        };
        let mut events = Vec::new();
        for of in self.types().await? {
            let has_several = accounts.get(&of.connector).is_some_and(|accounts| accounts.len() > 1);
            let description = if of.description.is_empty() { &of.title } else { &of.description };
            let made = event_type(&name_of(&of), description, &of.parameters, &of.payload, has_several);
            events.push(made.map_err(|error| trigger_problem(error.into()))?);
        }
        let mut result = self.complete(json!({"events": events}));
        if self.client.revision.is_stateless() {
            result["ttlMs"] = LIST_TTL_MS.into();
            result["cacheScope"] = "private".into();
        }
        Ok(result)
    }

    async fn poll(&self, params: &Params<'_>) -> Result<String, Failed> {
        let (wanted, poll) = (Wanted::read(params)?, Poll::read(params)?);
        self.require_integrate()?;
        let found = self.find(&wanted, "").await?;
        check_answers(params)?;
        let Poll { cursor, max_age, max_events } = poll;
        let poll = AgentPoll { cursor, max_age, max_events };
        let caller = self.exchange.caller.triggers();
        let polled =
            self.exchange.gateway.triggers.poll_for_agent(caller, found.wish.clone(), poll, self.deadline).await;
        match polled {
            Ok(Polled { events, cursor, truncated, has_more, next_poll }) => {
                let next_poll_ms = u64::try_from(next_poll.as_millis()).unwrap_or(u64::MAX);
                let result_type = self.client.revision.is_stateless().then_some(COMPLETE);
                let result = PollResult { result_type, events, cursor, truncated, has_more, next_poll_ms };
                serde_json::to_string(&result).map_err(|error| trigger_problem(error.into()).into())
            }
            Err(error) => self.after(error, &found).await.map(|result| result.to_string()),
        }
    }

    async fn subscribe(&self, params: &Params<'_>) -> Result<Value, Failed> {
        let (wanted, subscribe) = (Wanted::read(params)?, Subscribe::read(params)?);
        self.require_integrate()?;
        let (gateway, caller) = (self.exchange.gateway, self.exchange.caller);
        let invalid = |text: String| RpcError::new(INVALID_PARAMS, text);
        url_check(gateway.config.callbacks.allow_private_network)(&subscribe.url)
            .map_err(|reason| invalid(format!("`params.delivery.url`: {reason}")))?;
        let delivery = params.value("delivery");
        let secrets = AgentSecrets::of(delivery["secret"].as_str().unwrap_or_default()).ok_or_else(|| {
            invalid("`params.delivery.secret` must be `whsec_` and base64 of 24 to 64 random bytes.".to_owned())
        })?;
        let found = self.find(&wanted, &subscribe.url).await?;
        check_answers(params)?;
        let Subscribe { url, life, cursor } = subscribe;
        let receiver = AgentDelivery { url, secrets, life, takes_control: self.client.can.events, cursor };
        let subscribed =
            gateway.triggers.subscribe_agent(caller.triggers(), found.wish.clone(), receiver, self.deadline).await;
        match subscribed {
            Ok(Subscribed { expires_at, cursor, truncated, deliveries }) => {
                let mut result = json!({
                    "id": found.wish.id,
                    "refreshBefore": Timestamp::from(expires_at),
                    "cursor": cursor,
                    "truncated": truncated,
                });
                if let Some((active, report)) = deliveries {
                    result["deliveryStatus"] = delivery_status(active, report);
                }
                Ok(self.complete(result))
            }
            Err(error) => self.after(error, &found).await,
        }
    }

    async fn unsubscribe(&self, params: &Params<'_>) -> Result<Value, Failed> {
        let (wanted, url) = (Wanted::read(params)?, url(&params.value("delivery"))?);
        self.require_integrate()?;
        let (gateway, caller) = (self.exchange.gateway, self.exchange.caller);
        let id = self.id(&wanted, self.named_account()?.as_deref(), &url);
        match gateway.triggers.unsubscribe_agent(caller.triggers(), &id, self.deadline).await {
            Ok(true) => Ok(self.complete(json!({}))),
            Ok(false) => Err(RpcError {
                code: NOT_FOUND,
                message: "There is no subscription with this URL, name and arguments.".to_owned(),
                data: Some(json!({"kind": "subscription"})),
            }
            .into()),
            Err(AgentError::Trigger(error)) => Err(trigger_problem(error).into()),
            Err(error) => Err(forbidden(error.to_string()).into()),
        }
    }

    /// A result of the client's revision.
    fn complete(&self, mut result: Value) -> Value {
        if self.client.revision.is_stateless() {
            result["resultType"] = COMPLETE.into();
        }
        result
    }

    /// The types that the address, the limits of the key and the tool set leave, in the order of their
    /// names.
    async fn types(&self) -> Result<Vec<TypeRecord>, Problem> {
        let Exchange { gateway, caller, connector, set, .. } = self.exchange;
        let types = gateway.triggers.types(caller.triggers(), connector.as_deref()).await.map_err(trigger_problem)?;
        let limits = set.as_ref().map(|(_, set)| ToolSet::limits(set));
        let is_in_set = |of: &TypeRecord| {
            limits.as_ref().is_none_or(|limits| limits.admit(&of.connector, &of.kind, Effect::Read).is_ok())
        };
        let mut types: Vec<TypeRecord> = types.into_iter().filter(is_in_set).collect();
        types.sort_unstable_by_key(name_of);
        Ok(types)
    }

    /// The events that a request names.
    async fn find(&self, wanted: &Wanted, url: &str) -> Result<Found, Failed> {
        let types = self.types().await?;
        let Some(of) = types.iter().find(|of| name_of(of) == wanted.name) else {
            let names: Vec<String> = types.iter().map(name_of).collect();
            return Err(unknown(&wanted.name, &names).into());
        };
        let named = self.named_account()?;
        let mut arguments = wanted.arguments.clone();
        let mut account = named.clone();
        if !has_own_account(&of.parameters)
            && let Some(argument) = arguments.remove(ACCOUNT)
        {
            let invalid = |text: &str| RpcError::new(INVALID_PARAMS, text);
            let argument = argument
                .as_str()
                .ok_or_else(|| invalid("The argument `account` must be a string."))
                .map(str::to_owned)?;
            if argument.contains('\0') {
                return Err(invalid("The argument `account` must have no zero byte (U+0000).").into());
            }
            if named.as_ref().is_some_and(|named| *named != argument) {
                return Err(invalid("The address or a header names another account; leave `account` out.").into());
            }
            account = Some(argument).filter(|named| !named.is_empty());
        }
        let wish = AgentWish {
            id: self.id(wanted, named.as_deref(), url),
            connector: of.connector.clone(),
            kind: of.kind.clone(),
            parameters: Value::Object(arguments),
            user_identifier: account.clone(),
        };
        Ok(Found { wish, account })
    }

    /// The account that the tool set or the header of the request names.
    fn named_account(&self) -> Result<Option<String>, Failed> {
        let by_header = CallHeaders::parse(self.exchange.headers)?.user_identifier;
        let by_header = by_header.as_deref().map(str::trim).filter(|named| !named.is_empty());
        match (self.exchange.fixed_account(), by_header) {
            (Some(fixed), Some(other)) if fixed != other => {
                let text = format!("The tool set uses the account `{fixed}`; leave the header X-User-Identifier out.");
                Err(RpcError::new(INVALID_PARAMS, text).into())
            }
            (fixed, by_header) => Ok(fixed.or(by_header).map(str::to_owned)),
        }
    }

    fn id(&self, wanted: &Wanted, account: Option<&str>, url: &str) -> String {
        let caller = self.exchange.caller;
        wanted.subscription_id((caller.tenant(), caller.subject()), account, url)
    }

    /// Agents need the scope `integrate` to make triggers, as other callers do.
    fn require_integrate(&self) -> Result<(), Failed> {
        match self.exchange.caller.may(Scope::Integrate) {
            true => Ok(()),
            false => Err(forbidden("The token lacks the scope `integrate`, which events need.".to_owned()).into()),
        }
    }
}

fn name_of(of: &TypeRecord) -> String {
    format!("{}.{}", of.connector, of.kind)
}

fn delivery_status(active: bool, report: DeliveryReport) -> Value {
    let DeliveryReport { last_delivery_at, last_error, failed_since } = report;
    let mut status = json!({
        "active": active,
        "lastDeliveryAt": last_delivery_at.map(Timestamp::from),
        "lastError": last_error,
    });
    if let Some(since) = failed_since {
        status["failedSince"] = json!(Timestamp::from(since));
    }
    status
}
