//! The revision of a request, and what its client can do.
//!
//! From 2026-07-28 on, each request says both. Before, a client says what it can do in
//! `initialize`. It gets this back as its session id, sealed, and sends it with each request, so
//! that no gateway has to remember it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hyper::StatusCode;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Exchange, Failed, LIST_TTL_MS, SESSION_ID, headers, server_info};
use gateway::Gateway;
use mcp::Revision;
use mcp::events::EVENTS;
use mcp::message::{HEADER_MISMATCH, INVALID_PARAMS, INVALID_REQUEST, Request, RpcError};
use problem::{self, Problem, store_problem};
use store::Sealed;
use store::vault::VaultError;

pub(super) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

const META_REVISION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The extension for operations that run in the background.
pub(super) const TASKS: &str = "io.modelcontextprotocol/tasks";

/// A text for models about the tools.
const INSTRUCTIONS: &str = "Tools call operations of connected services as the user. With search_operations, find an operation, read \
                            its arguments with describe_operations, then call it. A result that is an error says what to change.";

/// The client of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Client {
    pub(super) revision: Revision,
    pub(super) can: Capabilities,
}

/// The capabilities of a client that matter to the gateway.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(super) struct Capabilities {
    /// It shows the user a URL.
    pub(super) url: bool,
    /// It shows the user a form.
    pub(super) form: bool,
    /// It knows tasks. Each request says so, and no session.
    #[serde(skip)]
    pub(super) tasks: bool,
    /// It knows events, with the messages about a subscription itself.
    #[serde(default)]
    pub(super) events: bool,
}

impl Capabilities {
    fn of(declared: &Value) -> Self {
        let tasks = declared["extensions"][TASKS].is_object();
        let events = declared["extensions"][EVENTS].is_object();
        let Some(elicitation) = declared.get("elicitation").and_then(Value::as_object) else {
            return Self { tasks, events, ..Self::default() };
        };
        // Without a mode, it is forms: the revision that had no modes had forms.
        let form = elicitation.contains_key("form") || !elicitation.contains_key("url");
        Self { url: elicitation.contains_key("url"), form, tasks, events }
    }
}

/// The revision that the header names. `None` without the header.
///
/// # Errors
/// If the gateway does not speak the revision.
pub(super) fn revision_of_header(headers: &HeaderMap) -> Result<Option<Revision>, RpcError> {
    let mut values = headers.get_all(PROTOCOL_VERSION).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(RpcError::new(HEADER_MISMATCH, "The header MCP-Protocol-Version occurs more than once."));
    }
    let name = value.to_str().unwrap_or("?");
    Revision::of(name).map(Some).ok_or_else(|| RpcError::unsupported(&contract::words::shortened(name)))
}

/// Returns `true` if the body names the revision, as clients do from 2026-07-28 on.
pub(super) fn names_revision(request: &Request<'_>) -> bool {
    request.params.value("_meta").get(META_REVISION).is_some()
}

/// The client of a request.
pub(super) async fn client_of(exchange: &Exchange<'_>, request: &Request<'_>) -> Result<Client, Failed> {
    let bad = |error| Failed::Rpc(StatusCode::BAD_REQUEST, error);
    let meta = request.params.value("_meta");
    let in_body = meta.get(META_REVISION);
    let named = match (exchange.headers.get(PROTOCOL_VERSION), in_body) {
        (None, Some(_)) => {
            let error = "`_meta` names a revision, so the header MCP-Protocol-Version must name it too.";
            return Err(bad(RpcError::new(HEADER_MISMATCH, error)));
        }
        (Some(header), Some(body)) if body.as_str().map(str::as_bytes) != Some(header.as_bytes()) => {
            let error = "The header MCP-Protocol-Version and `_meta` name different revisions.";
            return Err(bad(RpcError::new(HEADER_MISMATCH, error)));
        }
        _ => revision_of_header(exchange.headers).map_err(bad)?,
    };
    // Clients of the first revision do not name it.
    let revision = named.unwrap_or(Revision::V2025_03_26);
    if !revision.is_stateless() {
        return Ok(Client { revision, can: declared_in_session(exchange).await? });
    }
    let capabilities = meta.get(META_CAPABILITIES).filter(|capabilities| capabilities.is_object());
    let (Some(_), Some(capabilities)) = (in_body, capabilities) else {
        let error = format!("`_meta` must have `{META_REVISION}` and the object `{META_CAPABILITIES}`.");
        return Err(bad(RpcError::new(INVALID_PARAMS, error)));
    };
    headers::check_routing(exchange.headers, request).map_err(bad)?;
    Ok(Client { revision, can: Capabilities::of(capabilities) })
}

/// The client of a batch.
pub(super) async fn client_of_batch(exchange: &Exchange<'_>) -> Result<Client, Failed> {
    Ok(Client { revision: Revision::V2025_03_26, can: declared_in_session(exchange).await? })
}

/// The session id for a client with these capabilities, which is valid at every gateway.
pub(super) fn session(exchange: &Exchange<'_>, declared: &Value) -> Result<HeaderValue, Problem> {
    let text = json!(Capabilities::of(declared)).to_string();
    let token = seal(exchange.gateway, &session_context(exchange), &text)?;
    HeaderValue::try_from(token).map_err(|_| problem::INTERNAL.with_detail("A session id cannot be made."))
}

fn session_context<'a>(exchange: &'a Exchange<'_>) -> [&'a str; 3] {
    ["mcp session", exchange.caller.tenant(), exchange.caller.subject()]
}

async fn declared_in_session(exchange: &Exchange<'_>) -> Result<Capabilities, Failed> {
    let Some(token) = exchange.headers.get(SESSION_ID) else { return Ok(Capabilities::default()) };
    let opened = match token.to_str() {
        Ok(token) => unseal(exchange.gateway, &session_context(exchange), token).await?,
        Err(_) => None,
    };
    let capabilities = opened.and_then(|text| serde_json::from_str(&text).ok());
    // With 404, clients begin again with `initialize`.
    capabilities.ok_or_else(|| {
        let error = "The header Mcp-Session-Id is not of this gateway, or is too old; send `initialize` again.";
        Failed::Rpc(StatusCode::NOT_FOUND, RpcError::new(INVALID_REQUEST, error))
    })
}

/// The result of `initialize`.
pub(super) fn initialized(revision: Revision) -> String {
    json!({
        "protocolVersion": revision.name(),
        "capabilities": {"tools": {"listChanged": false}, "events": {}, "extensions": {EVENTS: {}}},
        "serverInfo": server_info(),
        "instructions": INSTRUCTIONS,
    })
    .to_string()
}

/// The result of `server/discover`.
pub(super) fn discovered() -> String {
    json!({
        "resultType": "complete",
        "supportedVersions": Revision::ALL.map(Revision::name),
        "capabilities": {"tools": {"listChanged": true}, "events": {}, "extensions": {TASKS: {}, EVENTS: {}}},
        "instructions": INSTRUCTIONS,
        "ttlMs": LIST_TTL_MS,
        "cacheScope": "private",
        "_meta": {"io.modelcontextprotocol/serverInfo": server_info()},
    })
    .to_string()
}

/// Seals a text for a client to keep.
pub(super) fn seal(gateway: &Gateway, context: &[&str], text: &str) -> Result<String, Problem> {
    let sealed = gateway.integrations.vault().seal_with_known_key(context, text.as_bytes());
    let Sealed { key_id, bytes } = sealed.map_err(|error| vault_problem(&error))?;
    Ok(format!("{key_id}.{}", URL_SAFE_NO_PAD.encode(bytes)))
}

/// The text that was sealed. `None` if it was altered, or sealed for another context.
pub(super) async fn unseal(gateway: &Gateway, context: &[&str], token: &str) -> Result<Option<String>, Problem> {
    let Some((key_id, bytes)) = token.split_once('.') else { return Ok(None) };
    let Ok(bytes) = URL_SAFE_NO_PAD.decode(bytes) else { return Ok(None) };
    let sealed = Sealed { key_id: key_id.to_owned(), bytes };
    match gateway.integrations.vault().unseal_content(context, &sealed).await {
        Ok(text) => Ok(String::from_utf8(text).ok()),
        Err(VaultError::Altered | VaultError::UnknownKey { .. }) => Ok(None),
        Err(error) => Err(vault_problem(&error)),
    }
}

fn vault_problem(error: &VaultError) -> Problem {
    match error {
        VaultError::Store(error) => store_problem(error, "The keys cannot be read now; try again."),
        error => {
            tracing::error!(%error, "a value for a client cannot be sealed");
            problem::INTERNAL
                .with_detail("A value cannot be sealed. The operator finds the cause in the gateway's log.")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_without_modes_has_forms() {
        let of = |elicitation: Value| Capabilities::of(&json!({"elicitation": elicitation}));
        let can = |url, form| Capabilities { url, form, ..Capabilities::default() };
        assert_eq!(of(json!({})), can(false, true));
        assert_eq!(of(json!({"url": {}})), can(true, false));
        assert_eq!(of(json!({"url": {}, "form": {}})), can(true, true));
        assert_eq!(Capabilities::of(&json!({"sampling": {}})), Capabilities::default());
        let both = Capabilities::of(&json!({"extensions": {TASKS: {}, EVENTS: {}}}));
        assert!(both.tasks && both.events);
    }
}
