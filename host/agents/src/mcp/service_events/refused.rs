//! Requests about events that have failed: the errors of the extension, and what the user must do.

use serde_json::{Value, json};

use super::{Asked, Found};
use crate::mcp::connect::{link, url_question, url_required};
use crate::mcp::lifecycle::Client;
use crate::mcp::question::CONNECT;
use crate::mcp::{Failed, Stop};
use contract::words::{nearest, shortened};
use mcp::Revision;
use mcp::message::{CALLBACK_FAILED, EXHAUSTED, FORBIDDEN, INVALID_PARAMS, NOT_FOUND, Params, RpcError};
use problem::Problem;
use rest::triggers::trigger_problem_of;
use store::StoreError;
use triggers::{AgentError, TriggerError};

impl Asked<'_> {
    /// The outcome of a request that has failed: a question to the user if that helps.
    pub(super) async fn after(&self, error: AgentError, found: &Found) -> Result<Value, Failed> {
        let connector = &found.wish.connector;
        let error = match error {
            AgentError::Ended(reason) => return Err(forbidden(format!("The service refuses: {reason}")).into()),
            AgentError::NotVerified(reason) => {
                return Err(RpcError {
                    code: CALLBACK_FAILED,
                    message: "The receiver did not answer the challenge, so nothing is sent to it.".to_owned(),
                    data: Some(json!({"reason": reason})),
                }
                .into());
            }
            AgentError::TooManyChallenges(max) => return Err(exhausted("verifications", max.into()).into()),
            AgentError::Trigger(error) => error,
        };
        match error {
            TriggerError::UnknownType(_) => Err(unknown(&format!("{connector}.{}", found.wish.kind), &[]).into()),
            TriggerError::Invalid(violations) => Err(violated(&violations).into()),
            TriggerError::Store(StoreError::TooManyTriggers { limit }) => Err(exhausted("subscriptions", limit).into()),
            TriggerError::Store(StoreError::TenantFull { limit }) => Err(exhausted("stored_bytes", limit).into()),
            error => {
                let problem = trigger_problem_of(error, connector);
                match problem.name() {
                    "integration-required" | "reauthorization-required" | "scopes-missing" => {
                        self.connect(&problem, found).await
                    }
                    "selection-required" => Err(ambiguous(&problem, self.request_id).into()),
                    _ => Err(problem.into()),
                }
            }
        }
    }

    /// Sends the user to the page on which the account is connected.
    async fn connect(&self, problem: &Problem, found: &Found) -> Result<Value, Failed> {
        let connector = &found.wish.connector;
        let document = problem.document(self.request_id);
        let named = document["user_identifier"].as_str().or(found.account.as_deref());
        let account = named.map(|name| format!(" `{name}`")).unwrap_or_default();
        let again = if problem.name() == "integration-required" { "" } else { " again" };
        let message = format!("Connect the account{account} of {connector}{again}.");
        let (id, url) = match link(self.exchange, self.request_id, connector, named).await {
            Ok(made) => made,
            Err(Stop::Said(reason)) => return Err(forbidden(format!("{message} {reason}")).into()),
            Err(Stop::Failed(failed)) => return Err(failed),
        };
        let Client { revision, can } = self.client;
        if !can.url || *revision < Revision::V2025_11_25 {
            let text = format!("{message} Ask the user to open {url} and try again afterwards.");
            let data = json!({"problem": problem.name(), "url": url});
            return Err(RpcError { data: Some(data), ..forbidden(text) }.into());
        }
        if !revision.is_stateless() {
            return Err(url_required(&id, &url, message).into());
        }
        let question = json!({"method": "elicitation/create", "params": url_question(&url, &message)});
        Ok(json!({"resultType": "input_required", "inputRequests": {CONNECT: question}}))
    }
}

/// Refuses a request whose user did not want to connect the account.
pub(super) fn check_answers(params: &Params<'_>) -> Result<(), Failed> {
    match params.value("inputResponses")[CONNECT]["action"].as_str() {
        Some("decline" | "cancel") => Err(forbidden("The user declined to connect the account.".to_owned()).into()),
        _ => Ok(()),
    }
}

pub(super) fn forbidden(message: String) -> RpcError {
    RpcError::new(FORBIDDEN, message)
}

pub(super) fn unknown(name: &str, known: &[String]) -> RpcError {
    let hint = match nearest(name, known.iter().map(String::as_str)) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => "`events/list` lists those that you may use.".to_owned(),
    };
    RpcError {
        code: NOT_FOUND,
        message: format!("There are no events `{}` here; {hint}", shortened(name)),
        data: Some(json!({"kind": "event"})),
    }
}

fn exhausted(limit: &str, max: u64) -> RpcError {
    RpcError {
        code: EXHAUSTED,
        message: format!("The limit of {limit} is reached, which is {max}."),
        data: Some(json!({"limit": limit, "max": max})),
    }
}

/// The error about arguments and other members that are not valid.
fn violated(violations: &[(String, String)]) -> RpcError {
    let at = |pointer: &str| match pointer.strip_prefix("/parameters") {
        Some(rest) => format!("/arguments{rest}"),
        None => pointer.to_owned(),
    };
    let words = violations.iter().map(|(pointer, detail)| format!("`{}`: {detail}", at(pointer)));
    let listed = violations.iter().map(|(pointer, detail)| json!({"pointer": at(pointer), "detail": detail}));
    RpcError {
        code: INVALID_PARAMS,
        message: words.collect::<Vec<_>>().join(" "),
        data: Some(json!({"violations": listed.collect::<Vec<_>>()})),
    }
}

/// The error of an account that must be named.
fn ambiguous(problem: &Problem, request_id: &str) -> RpcError {
    let candidates = problem.document(request_id)["candidates"].clone();
    let names: Vec<&str> = candidates.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    RpcError {
        code: INVALID_PARAMS,
        message: format!("Several accounts are connected: {}. Name one in the argument `account`.", names.join(", ")),
        data: Some(json!({"candidates": candidates})),
    }
}
