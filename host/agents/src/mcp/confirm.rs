//! Calls of destructive operations that a user must confirm first.
//!
//! A client that shows forms asks the user, and sends the call again with the answer. Another
//! client gets a digest in words, and confirms by a second call with it. Either way, the database
//! has the hash of the digest and of the call, and the second call takes it out. So a digest serves
//! once, at whichever gateway, and for the same arguments alone.

use std::time::Duration;

use serde_json::json;
use serde_json::value::RawValue;

use super::question::{Ask, CONFIRM, Step, canonical, input_required};
use super::tool_call::ToolCall;
use super::{Done, Stop, refusal};
use contract::words::shortened;
use integrations::random_secret;
use mcp::Tool;
use mcp::compact::Beginning;
use problem::{self, Problem, input_problem, integration_problem, store_problem};
use registry::Operation;
use store::digest::sha256;
use store::{ConfirmationHash, StoreError};

/// The time for which a digest can be used.
const LIFETIME: Duration = Duration::from_secs(600);

/// Characters of a digest. It is good for one call, so no one can try many.
const CHARACTERS: usize = 16;

/// The most bytes of the arguments that a question shows.
const MAX_SHOWN: usize = 500;

/// Requires that the user confirms a call. `None` if the user has.
pub(super) async fn require(
    call: &ToolCall<'_>,
    tool: &Tool,
    operation: &Operation,
    body: &[u8],
    step: &Step<'_, '_>,
) -> Result<Option<Done>, Stop> {
    let store = &call.exchange.gateway.store;
    let given = call.confirm.as_deref().or(step.pending.confirmation());
    if let Some(digest) = given {
        let taken = store.confirmations().take(&hash(call, tool, step, digest)).await;
        if taken.map_err(|error| unavailable(&error))? {
            return Ok(None);
        }
    }
    let revision = call.client.revision;
    // No one should confirm a call that cannot run.
    if let Some(refused) = compute::run(body.len(), || operation.read_body(body).err()).await {
        return Err(Stop::Said(refusal::of_call(call, tool, &input_problem(refused))));
    }
    let digest = add(call, tool, step).await?;
    let account = call.account().map(|account| format!(" as `{}`", shortened(account))).unwrap_or_default();
    let argument = argument(tool, step);
    let shown = format!("{account} with {}", shown(step.arguments, argument));
    let name = format!("{}/{}", tool.connector, tool.operation);
    if revision.is_stateless() && call.client.can.form {
        let question = json!({
            "mode": "form",
            "message": format!("`{name}` destroys data. Run it{shown}?"),
            "requestedSchema": {
                "type": "object",
                "properties": {CONFIRM: {"type": "boolean", "title": "Run it"}},
                "required": [CONFIRM],
            },
        });
        let ask = Ask { name: CONFIRM, question: &question, url: None, confirmation: Some(digest) };
        return Ok(Some(Done::Text(input_required(call, step, ask)?)));
    }
    let late = match given {
        Some(_) => "The digest was not made for this call, was used, or is older than ten minutes. ",
        None => "",
    };
    Err(Stop::Said(format!(
        "{late}`{name}` destroys data, so it was not called yet. Ask the user to confirm the call{shown}. If the user \
         agrees, call again within ten minutes with the same arguments and `\"{argument}\": \"{digest}\"`."
    )))
}

/// Adds a confirmation for a call, and returns its digest.
pub(super) async fn add(call: &ToolCall<'_>, tool: &Tool, step: &Step<'_, '_>) -> Result<String, Problem> {
    let secret = random_secret().map_err(|error| integration_problem(&error))?;
    let digest: String = secret.chars().filter(char::is_ascii_alphanumeric).take(CHARACTERS).collect();
    let hash = hash(call, tool, step, &digest);
    let added = call.exchange.gateway.store.confirmations().add(call.exchange.caller.tenant(), &hash, LIFETIME).await;
    added.map_err(|error| unavailable(&error))?;
    Ok(digest)
}

/// The argument that has the digest. In search mode, the members of the operation have another
/// place, so that none has the same name.
fn argument(tool: &Tool, step: &Step<'_, '_>) -> &'static str {
    if step.tool == tool.name { tool.confirm_argument.unwrap_or(CONFIRM) } else { CONFIRM }
}

/// The hash of a digest, and of everything that makes two calls the same.
fn hash(call: &ToolCall<'_>, tool: &Tool, step: &Step<'_, '_>, digest: &str) -> ConfirmationHash {
    let caller = call.exchange.caller;
    let parts = [
        caller.tenant(),
        caller.subject(),
        caller.key_id().map_or("", |id| id.0.as_str()),
        &tool.connector,
        &tool.operation,
        step.tool,
        call.account().unwrap_or_default(),
        &canonical(step.arguments, Some(argument(tool, step)), 2),
        digest,
    ];
    // The lengths keep the parts apart.
    let text: String = parts.iter().map(|part| format!("{} {part}", part.len())).collect();
    sha256(text.as_bytes())
}

/// The beginning of the arguments without the one that has the digest, for the user.
fn shown(arguments: Option<&RawValue>, digest: &str) -> String {
    let text = canonical(arguments, Some(digest), 1);
    let mut beginning = Beginning::new(MAX_SHOWN, false);
    beginning.push(text.as_bytes());
    let end = if beginning.is_cut() { "…" } else { "" };
    format!("the arguments `{}{end}`", beginning.into_text())
}

fn unavailable(error: &StoreError) -> Problem {
    match error {
        StoreError::TooManyConfirmations { limit } => problem::TOO_MANY_CONFIRMATIONS
            .with_detail(format!(
                "{limit} calls of the tenant wait for a confirmation, which is the limit. Try again in ten minutes."
            ))
            .retry_after(60),
        error => store_problem(error, "Confirmations cannot be read or written now; try again. The call was not run."),
    }
}

#[cfg(test)]
mod tests {
    use mcp::input_schema::OTHER_CONFIRM;

    use super::*;

    /// An operation may have a member with the name that the argument has otherwise.
    #[test]
    fn a_user_is_asked_about_every_argument_but_the_digest() {
        let arguments: &RawValue =
            serde_json::from_str(r#"{"confirm": true, "id": 7, "gateway_confirm": "89pM6ZDgbFLF9Jt3"}"#).unwrap();
        assert_eq!(shown(Some(arguments), OTHER_CONFIRM), r#"the arguments `{"confirm":true,"id":7}`"#);
        assert_eq!(shown(None, CONFIRM), "the arguments `{}`");
    }
}
