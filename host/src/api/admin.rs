//! The operator's routes: install, remove and roll back connectors.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::Response;
use hyper::header::HeaderMap;
use serde_json::{Value, json};

use super::answer::json_answer;
use super::problem::{self, Problem};
use super::route::HttpCall;
use super::{body, connectors};
use crate::pipeline::body::Body;
use crate::registry::{ChangeError, Installation, StoredVersion};
use contract::words::sentence;

/// The header with the signature of a module.
const SIGNATURE: &str = "X-Module-Signature";

/// POST /admin/connectors: the body is the module; `?grant=host` names hosts that it may reach too, `?accept=true` lets it ask
/// for more than the version before, and `?replace_shipped=true` lets it take the place of a shipped connector.
pub(super) async fn install(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let HttpCall { gateway, request, arrived, .. } = call;
    let Parameters { grants, accepts, replaces_shipped } = parameters(request.uri().query().unwrap_or_default())?;
    let limit_mb = gateway.config.compile.max_module_mb;
    let limit_mb = usize::try_from(limit_mb).unwrap_or(usize::MAX >> 20);
    let (head, body) = request.into_parts();
    let advice = "raise `compile.max_module_mb` if you trust the module";
    let module = body::read(
        &head.headers,
        body,
        limit_mb,
        advice,
        gateway.egress.memory(),
        arrived + gateway.config.caller_timeout,
    )
    .await?;
    let signature = signature(&head.headers)?;
    let word = Installation { grants: &grants, accepts, replaces_shipped, signature: signature.as_deref() };
    let installed = gateway.registry.install(module, word).await.map_err(change_problem)?;
    Ok(json_answer(&connectors::record(&installed)))
}

/// The text of the module's signature, if the caller sends it.
fn signature(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(value) = headers.get(SIGNATURE) else { return Ok(None) };
    let text = STANDARD.decode(value.as_bytes()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    text.map(Some).ok_or_else(|| {
        problem::BAD_REQUEST
            .because(format!("The header `{SIGNATURE}` is the base64 form of the file MODULE.wasm.minisig."))
    })
}

/// DELETE /admin/connectors/{connector}: calls under way end on it.
pub(super) async fn remove(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let connector = call.arguments.connector;
    call.gateway.registry.remove(connector).await.map_err(change_problem)?;
    Ok(json_answer(&json!({"connector": connector, "removed": true})))
}

/// POST /admin/connectors/{connector}/rollback: swaps in the version before the present one, or the one that `?to=…` names.
pub(super) async fn rollback(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let mut to = None;
    for (name, value) in url::form_urlencoded::parse(call.request.uri().query().unwrap_or_default().as_bytes()) {
        match &*name {
            "to" => to = Some(value.into_owned()),
            _ => {
                return Err(problem::BAD_REQUEST
                    .because(format!("This route has no parameter `{name}`; name a version with ?to=1.0.0.")));
            }
        }
    }
    let live = call.gateway.registry.rollback(call.arguments.connector, to.as_deref()).await.map_err(change_problem)?;
    Ok(json_answer(&connectors::record(&live)))
}

/// GET /admin/connectors/{connector}/versions: the stored versions, the newest first.
pub(super) async fn versions(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let stored = call.gateway.registry.stored_versions(call.arguments.connector).await.map_err(change_problem)?;
    let versions: Vec<Value> = stored.iter().map(version).collect();
    Ok(json_answer(&json!({"versions": versions})))
}

/// A stored version, as operators see it.
pub fn version(stored: &StoredVersion) -> Value {
    json!({
        "version": stored.version,
        "sha256": stored.digest,
        "live_at": humantime::format_rfc3339_seconds(stored.live_at).to_string(),
        "shipped": stored.is_shipped,
        "live": stored.is_live,
    })
}

/// The query of the route.
#[derive(Default)]
struct Parameters {
    grants: Vec<String>,
    accepts: bool,
    replaces_shipped: bool,
}

fn parameters(query: &str) -> Result<Parameters, Problem> {
    let mut parameters = Parameters::default();
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        match (&*name, &*value) {
            ("grant", _) => parameters.grants.push(value.into_owned()),
            ("accept", "true" | "false") => parameters.accepts = value == "true",
            ("replace_shipped", "true" | "false") => parameters.replaces_shipped = value == "true",
            ("accept" | "replace_shipped", _) => {
                return Err(problem::BAD_REQUEST.because(format!("The parameter `{name}` is `true` or `false`.")));
            }
            _ => {
                return Err(problem::BAD_REQUEST.because(format!(
                    "This route has no parameter `{name}`; grant hosts with ?grant=api.example.com."
                )));
            }
        }
    }
    Ok(parameters)
}

fn change_problem(error: ChangeError) -> Problem {
    match error {
        ChangeError::Refused(reason) => problem::MODULE_REFUSED.because(sentence(&reason)),
        ChangeError::NotNow(reason) => {
            problem::BUSY.because(format!("The module cannot be checked now, so try again: {reason}.")).retry_after(1)
        }
        ChangeError::AsksForMore { connector, version, more } => problem::MODULE_REFUSED
            .because(format!(
                "`{connector}` {version} asks for more than the version before, which stays. If `asks_for` is right, send it with \
                 ?accept=true."
            ))
            .with("asks_for", more),
        ChangeError::Unknown(connector) => problem::UNKNOWN_CONNECTOR
            .because(format!("No connector `{connector}` is installed; GET /connectors lists them.")),
        error @ ChangeError::NoSuchVersion { .. } => problem::NO_EARLIER_VERSION.because(sentence(&error.to_string())),
        ChangeError::NoEarlierVersion(connector) => {
            problem::NO_EARLIER_VERSION.because(format!("`{connector}` has had no other version on this gateway."))
        }
        error @ (ChangeError::Shipped(_) | ChangeError::NeedsNoGrants(_)) => {
            problem::SHIPPED.because(sentence(&error.to_string()))
        }
        ChangeError::InvalidHost(host) => problem::BAD_REQUEST.because(format!(
            "`{host}` is not a host name; write it like api.example.com, or *.example.com for link hosts."
        )),
        error @ (ChangeError::UnnamedHost { .. } | ChangeError::NotGranted { .. }) => {
            problem::BAD_REQUEST.because(sentence(&error.to_string()))
        }
        ChangeError::Io(error) => problem::INTERNAL.because(format!("The gateway's files cannot be changed: {error}.")),
        ChangeError::Store(error) => {
            problem::store_problem(&error, "The grants cannot be read or written now; try again.")
        }
    }
}
