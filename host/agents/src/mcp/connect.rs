//! Calls that need the user first, who must connect an account or choose one.
//!
//! A client that shows URLs gets the URL of a page on which the user connects the account, and then
//! sends the call again. Other clients get the URL in words.

use serde_json::{Value, json};

use super::question::{Ask, CHOOSE, CONNECT, LIFETIME, Step, input_required};
use super::tool_call::ToolCall;
use super::{Done, Exchange, Stop, confirm, refusal, result};
use auth::Scope;
use contract::words::shortened;
use endpoint::records::ConnectLinkInit;
use integrations::is_identifier;
use mcp::message::{RpcError, URL_ELICITATION_REQUIRED};
use mcp::own::Own;
use mcp::{Revision, Tool};
use problem::{Problem, integration_problem, not_configured_problem};
use rest::connect::make_link;

/// The accounts of which a user chooses one.
const MAX_CHOICES: usize = 50;

/// The outcome of a call that has ended with a problem: a question to the user if that helps, else
/// the problem in words.
pub(super) async fn after(
    call: &ToolCall<'_>,
    tool: &Tool,
    step: &Step<'_, '_>,
    problem: Problem,
) -> Result<Done, Stop> {
    match problem.name() {
        "integration-required" | "reauthorization-required" => connect(call, tool, step, &problem).await,
        "selection-required" => choose(call, tool, step, &problem),
        _ => Err(Stop::Said(refusal::of_call(call, tool, &problem))),
    }
}

/// The service of a connector by its name for people.
fn service(call: &ToolCall<'_>, connector: &str) -> String {
    let live = call.exchange.gateway.registry.get(connector);
    live.map_or_else(|| connector.to_owned(), |live| live.manifest().title.clone())
}

async fn connect(call: &ToolCall<'_>, tool: &Tool, step: &Step<'_, '_>, problem: &Problem) -> Result<Done, Stop> {
    let document = problem.document(call.request_id);
    let named = document["user_identifier"].as_str().or(call.account());
    let account = named.map(|name| format!(" `{name}`")).unwrap_or_default();
    let again = if problem.name() == "reauthorization-required" { " again" } else { "" };
    let message = format!("Connect the account{account} of {}{again}.", service(call, &tool.connector));
    let (id, url) = match &step.pending.url {
        Some(url) => (String::new(), url.clone()),
        None => link(call.exchange, call.request_id, &tool.connector, named).await.map_err(|stop| match stop {
            Stop::Said(reason) => Stop::Said(format!("{message} {reason}")),
            stop => stop,
        })?,
    };
    let revision = call.client.revision;
    if !call.client.can.url || revision < Revision::V2025_11_25 {
        return Err(Stop::Said(format!("{message} Ask the user to open {url} and call again afterwards.")));
    }
    if !revision.is_stateless() {
        return Err(url_required(&id, &url, message).into());
    }
    let question = url_question(&url, &message);
    let confirmation = confirmed_again(call, tool, step).await?;
    let ask = Ask { name: CONNECT, question: &question, url: Some(url), confirmation };
    Ok(Done::Text(input_required(call, step, ask)?))
}

/// The error that sends the user to a page, for clients of the revision 2025-11-25.
pub(super) fn url_required(id: &str, url: &str, message: String) -> RpcError {
    let data = json!({"elicitations": [{"mode": "url", "elicitationId": id, "url": url, "message": message}]});
    RpcError { code: URL_ELICITATION_REQUIRED, message, data: Some(data) }
}

/// The question that sends the user to a page.
pub(super) fn url_question(url: &str, message: &str) -> Value {
    json!({"mode": "url", "message": message, "url": url})
}

/// Makes a link to the page on which the caller's user connects an account.
///
/// # Errors
/// `Said` if the caller gets no link.
pub(super) async fn link(
    exchange: &Exchange<'_>,
    request_id: &str,
    connector: &str,
    user_identifier: Option<&str>,
) -> Result<(String, String), Stop> {
    let (caller, gateway) = (exchange.caller, exchange.gateway);
    if !caller.may(Scope::Integrate) {
        let text =
            "The token lacks the scope `integrate`, so no link can be made; the application connects the account.";
        return Err(Stop::Said(text.to_owned()));
    }
    if let Some(named) = user_identifier.filter(|named| !is_identifier(named)) {
        let named = shortened(named);
        return Err(Stop::Said(format!("No account can have the name `{named}`; leave the account out.")));
    }
    if let Some(live) = gateway.registry.get(connector) {
        let missing = gateway.integrations.missing_setup(caller.tenant(), &live).await;
        if let Some(missing) = missing.map_err(|error| integration_problem(&error))? {
            return Err(Stop::Said(result::of_problem(&not_configured_problem(&missing), request_id)));
        }
    }
    let init = ConnectLinkInit {
        connectors: vec![connector.to_owned()],
        user_identifier: user_identifier.map(str::to_owned),
        callback_url: None,
        labels: None,
        expires_in_s: Some(LIFETIME.as_secs()),
    };
    let link = make_link(gateway, caller, init).await?;
    Ok((link.id, link.url))
}

fn choose(call: &ToolCall<'_>, tool: &Tool, step: &Step<'_, '_>, problem: &Problem) -> Result<Done, Stop> {
    let document = problem.document(call.request_id);
    let candidates = document["candidates"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let candidates: Vec<&str> = candidates.take(MAX_CHOICES).collect();
    let revision = call.client.revision;
    if !revision.is_stateless() || !call.client.can.form {
        return Err(Stop::Said(format!(
            "Several accounts of {} are connected: {}. Name one in the argument `account`; `{}` lists them all.",
            service(call, &tool.connector),
            candidates.join(", "),
            Own::ListAccounts.name()
        )));
    }
    let question = json!({
        "mode": "form",
        "message": format!("Which account of {} should be used?", service(call, &tool.connector)),
        "requestedSchema": {
            "type": "object",
            "properties": {CHOOSE: {"type": "string", "title": "Account", "enum": candidates}},
            "required": [CHOOSE],
        },
    });
    // The confirmation was not for the account that the user is going to choose.
    let ask = Ask { name: CHOOSE, question: &question, url: None, confirmation: None };
    Ok(Done::Text(input_required(call, step, ask)?))
}

/// A new digest for a call that the user has confirmed, but that has not run. The user need not
/// confirm it again.
async fn confirmed_again(call: &ToolCall<'_>, tool: &Tool, step: &Step<'_, '_>) -> Result<Option<String>, Problem> {
    match tool.confirm_argument {
        Some(_) => confirm::add(call, tool, step).await.map(Some),
        None => Ok(None),
    }
}
