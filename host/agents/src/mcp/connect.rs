//! Calls that need the user first, who must connect an account or choose one.
//!
//! A client that shows URLs gets the URL of a page on which the user connects the account, and then
//! sends the call again. Other clients get the URL in words. What a client sends back with the
//! second call is sealed: it is bound to the caller, the tool and the arguments.

use std::time::{Duration, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::call::ToolCall;
use super::confirm::{self, CONFIRM};
use super::lifecycle::{seal, unseal};
use super::{Done, Exchange, Stop, refusal, result};
use auth::Scope;
use endpoint::records::ConnectLinkInit;
use mcp::message::{INVALID_PARAMS, Params, RpcError, URL_ELICITATION_REQUIRED};
use mcp::own::Own;
use mcp::{Revision, Tool};
use problem::{Problem, integration_problem, not_configured_problem};
use rest::connect::make_link;
use store::digest::sha256_hex;

/// The time for which a link and the state of a call can be used.
const LIFETIME: Duration = Duration::from_secs(900);

/// The names of the questions to a client.
pub(super) const CONNECT: &str = "connect";
const CHOOSE: &str = "account";

/// The accounts of which a user chooses one.
const MAX_CHOICES: usize = 50;

/// One round of a call that may have asked the user before.
pub(super) struct Step<'a, 'b> {
    /// The tool that the client calls.
    pub(super) tool: &'a str,
    pub(super) arguments: Option<&'b RawValue>,
    pub(super) pending: &'a Pending,
}

/// The part of a call that an earlier round left, and the user's answers.
#[derive(Default)]
pub(super) struct Pending {
    /// The page that the user was sent to.
    url: Option<String>,
    /// The account that the user has chosen, or that an earlier round used.
    account: Option<String>,
    /// The digest with which the user has confirmed the call.
    confirmation: Option<String>,
    has_declined: bool,
}

impl Pending {
    /// The digest with which the user has confirmed the call.
    pub(super) fn confirmation(&self) -> Option<&str> {
        self.confirmation.as_deref()
    }

    /// The account that the user has chosen, or that an earlier round used.
    pub(super) fn account(&self) -> Option<&str> {
        self.account.as_deref()
    }

    /// Words about a user who did not want to.
    pub(super) fn declined(&self) -> Option<&'static str> {
        self.has_declined.then_some("The user declined, so the operation was not called. Ask what to do instead.")
    }
}

/// The state of a call, which the client sends back.
#[derive(Deserialize, Serialize)]
struct State {
    tool: String,
    /// SHA-256 of the arguments.
    arguments: String,
    /// The account that the call uses.
    account: Option<String>,
    url: Option<String>,
    /// The digest with which the user confirms the call, or has confirmed it before another
    /// question.
    confirmation: Option<String>,
    has_confirmed: bool,
    /// Seconds since 1970.
    expires: u64,
}

fn now() -> u64 {
    clock::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// SHA-256 of arguments, in whichever order a client writes them.
fn digest(arguments: Option<&RawValue>) -> String {
    sha256_hex(confirm::canonical(arguments, None, 2).as_bytes())
}

fn context<'a>(call: &'a ToolCall<'_>) -> [&'a str; 4] {
    let caller = call.exchange.caller;
    ["mcp request", caller.tenant(), caller.subject(), caller.key_id().map_or("", |id| id.0.as_str())]
}

/// Reads what an earlier round left.
///
/// # Errors
/// If the state was altered, belongs to another caller or call, or is too old.
pub(super) async fn read_state(call: &ToolCall<'_>, tool: &str, params: &Params<'_>) -> Result<Pending, Stop> {
    if params.raw("requestState").is_none() {
        return Ok(Pending::default());
    }
    let sealed = params.text("requestState").unwrap_or_default();
    let opened = unseal(call.exchange.gateway, &context(call), &sealed).await?;
    let state = opened.and_then(|text| serde_json::from_str::<State>(&text).ok());
    let fits = |state: &State| {
        state.tool == tool && state.arguments == digest(params.raw("arguments")) && state.expires > now()
    };
    let Some(state) = state.filter(fits) else {
        let text = "`requestState` was not made for this call, or is too old; call again without it.";
        return Err(RpcError::new(INVALID_PARAMS, text).into());
    };
    let responses = params.value("inputResponses");
    let action = |name: &str| responses[name]["action"].as_str();
    let says_no = responses[CONFIRM]["content"][CONFIRM] == false;
    let has_declined =
        says_no || [CONNECT, CHOOSE, CONFIRM].iter().any(|name| matches!(action(name), Some("decline" | "cancel")));
    let says_yes = action(CONFIRM) == Some("accept") && responses[CONFIRM]["content"][CONFIRM] == true;
    let confirmation = state.confirmation.filter(|_| state.has_confirmed || says_yes);
    let account = responses[CHOOSE]["content"][CHOOSE].as_str().filter(|_| action(CHOOSE) == Some("accept"));
    let account = account.map(str::to_owned).or(state.account);
    Ok(Pending { url: state.url, account, confirmation, has_declined })
}

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

/// A question to a client.
pub(super) struct Ask<'a> {
    pub(super) name: &'a str,
    pub(super) question: &'a Value,
    /// The page that the user is sent to.
    pub(super) url: Option<String>,
    /// The digest with which the user confirms the call.
    pub(super) confirmation: Option<String>,
}

/// The result that asks the client for something before it calls again.
pub(super) fn input_required(call: &ToolCall<'_>, step: &Step<'_, '_>, ask: Ask<'_>) -> Result<String, Problem> {
    let Ask { name, question, url, confirmation } = ask;
    let state = State {
        tool: step.tool.to_owned(),
        arguments: digest(step.arguments),
        account: call.account().map(str::to_owned),
        url,
        // A call that gets as far as another question was confirmed.
        has_confirmed: name != CONFIRM && confirmation.is_some(),
        confirmation,
        expires: now() + LIFETIME.as_secs(),
    };
    let state = seal(call.exchange.gateway, &context(call), &json!(state).to_string())?;
    Ok(json!({
        "resultType": "input_required",
        "inputRequests": {name: {"method": "elicitation/create", "params": question}},
        "requestState": state,
    })
    .to_string())
}
