//! Questions to the client of a call, and the next round of the call with the answers.
//!
//! The state that a client sends back with the next round is sealed: it is bound to the caller, the
//! tool and the arguments.

use std::time::{Duration, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::Stop;
use super::lifecycle::{seal, unseal};
use super::tool_call::ToolCall;
use mcp::compact::Beginning;
use mcp::message::{INVALID_PARAMS, Params, RpcError};
use problem::Problem;
use store::digest::sha256_hex;

/// The time for which a link and the state of a call can be used.
pub(super) const LIFETIME: Duration = Duration::from_secs(900);

/// The names of the questions to a client.
pub(super) const CONNECT: &str = "connect";
pub(super) const CHOOSE: &str = "account";
pub(super) const CONFIRM: &str = "confirm";

/// The most bytes of arguments whose members may come in another order the second time.
const MAX_SORTED: usize = 64 << 10;

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
    pub(super) url: Option<String>,
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
    sha256_hex(canonical(arguments, None, 2).as_bytes())
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

/// The arguments without white space and without one of them. The members of the arguments, and of
/// their members up to a depth, are in the order of their names, because a model may write them in
/// another order the second time.
pub(super) fn canonical(arguments: Option<&RawValue>, without: Option<&str>, depth: usize) -> String {
    let Some(arguments) = arguments else { return "{}".to_owned() };
    let compacted = |raw: &RawValue| {
        let mut whole = Beginning::new(usize::MAX, true);
        whole.push(raw.get().as_bytes());
        whole.into_text()
    };
    let members = match json_text::members(arguments.get()) {
        Ok(members) if depth > 0 && arguments.get().len() <= MAX_SORTED => members,
        _ => return compacted(arguments),
    };
    let mut kept: Vec<(String, String)> = members
        .iter()
        .filter(|(name, _)| without != Some(name))
        .map(|(name, raw)| (name.to_string(), canonical(Some(raw), None, depth - 1)))
        .collect();
    kept.sort();
    let kept: Vec<String> = kept.into_iter().map(|(name, value)| format!("{}:{value}", json!(name))).collect();
    format!("{{{}}}", kept.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, digest: Option<&str>) -> String {
        let raw: &RawValue = serde_json::from_str(text).unwrap();
        canonical(Some(raw), digest, 2)
    }

    #[test]
    fn the_order_of_arguments_and_white_space_do_not_matter() {
        let one = of(r#"{"b": {"d": [1, 2], "c": 1.0}, "a": "x y", "confirm": "123"}"#, Some("confirm"));
        assert_eq!(one, r#"{"a":"x y","b":{"c":1.0,"d":[1,2]}}"#);
        assert_eq!(one, of(r#"{"a":"x y","b":{"c":1.0,"d":[1,2]}}"#, Some("confirm")));
        assert_ne!(one, of(r#"{"a":"x y","b":{"c":1.0,"d":[2,1]}}"#, Some("confirm")));
        assert_eq!(canonical(None, None, 2), "{}");
    }

    #[test]
    fn large_arguments_stay_in_their_order() {
        let of_size = |size| format!(r#"{{"b":"{}","a":1}}"#, "x".repeat(size));
        assert_eq!(of(&of_size(1), None), r#"{"a":1,"b":"x"}"#);
        assert_eq!(of(&of_size(MAX_SORTED), None), of_size(MAX_SORTED));
    }

    #[test]
    fn a_member_of_the_operation_is_a_part_of_the_call() {
        let digest = Some("gateway_confirm");
        assert_eq!(of(r#"{"confirm":true,"gateway_confirm":"1"}"#, digest), r#"{"confirm":true}"#);
        assert_eq!(
            of(r#"{"arguments":{"confirm":true},"confirm":"1"}"#, Some("confirm")),
            r#"{"arguments":{"confirm":true}}"#
        );
    }
}
