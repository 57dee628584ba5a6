//! The lifecycle of integrations: begin, look up, select, remove. All need the scope `integrate`, but the callback.
//!
//! - [`mod@callback`]: the user comes back from the provider; [`page`]: what they see where they cannot be sent on
//! - [`problems`]: what callers are told when there is no account to run on

mod callback;
mod page;
mod problems;

use std::sync::Arc;
use std::time::SystemTime;

use hyper::body::Incoming;
use hyper::header::{HeaderMap, HeaderName};
use hyper::{Request, Response};
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

pub(super) use self::callback::callback;
pub(super) use self::problems::{access_problem, failure_problem};

use self::problems::{begin_problem, invalid, key_problem};
use super::authorize;
use super::body::read_json;
use super::operations::{unknown_connector, violations_problem};
use super::problem::{self, Problem};
use super::system::json_answer;
use crate::auth::{Caller, Scope};
use crate::gateway::Gateway;
use crate::integrations::{self, AccountSecret, Destination, IntegrationError, Key, record};
use crate::pipeline::body::Body;
use crate::pipeline::connect;
use crate::registry::Connector;
use crate::schema::{Rejection, Schema};
use contract::AuthScheme;
use store::{Account, Holder};

/// Names the integration that a request is about.
const USER_IDENTIFIER: HeaderName = HeaderName::from_static("x-user-identifier");

/// The body of POST …/integrations, once its schema has accepted it.
#[derive(Deserialize)]
struct Init<'a> {
    callback_url: Option<String>,
    user_identifier: Option<String>,
    /// As it was written: read by whoever knows what it is, and copied nowhere else.
    #[serde(borrow)]
    credentials: Option<&'a RawValue>,
}

/// POST /connectors/{connector}/integrations.
pub(super) async fn begin(
    gateway: &Gateway,
    connector: &str,
    request: Request<Incoming>,
    request_id: &Arc<str>,
) -> Result<Response<Body>, Problem> {
    let caller = authorize(gateway, &request, Some(Scope::Integrate)).await?;
    let connector = live(gateway, connector)?;
    let (head, body) = request.into_parts();
    let body = read_json(&head.headers, body, gateway.config.max_body_mb).await?;
    let scheme = &connector.manifest().auth;
    let schema = Schema::compile(&integrations::init_schema(scheme).to_string(), false)
        .map_err(|error| problem::INTERNAL.because(format!("The schema of this body {error}.")))?;
    let input = schema.read(&body).map_err(|rejection| match rejection {
        Rejection::NotJson(detail) => problem::NOT_JSON.because(contract::words::sentence(&detail)),
        Rejection::Invalid(violations) => violations_problem(violations),
    })?;
    let init: Init<'_> =
        serde_json::from_str(&input.text).map_err(|error| problem::NOT_JSON.because(format!("{error}.")))?;
    let holder = holder(&caller, &connector.name());
    let user_identifier = init.user_identifier;
    let integration = match scheme {
        AuthScheme::Oauth2(scheme) => {
            let destination = Destination::check(init.callback_url.as_deref().unwrap_or_default(), &gateway.config)
                .map_err(|detail| invalid("/callback_url", detail))?;
            let begun = gateway
                .integrations
                .begin(&holder, &connector, scheme, user_identifier, destination)
                .await
                .map_err(|error| begin_problem(error, &gateway.config, &connector.name()))?;
            return Ok(private(json_answer(&json!({
                "auth_type": "oauth2",
                "authorization_url": begun.authorization_url.as_str(),
                "state": begun.state,
                "expires_at": integrations::time(begun.expires_at),
            }))));
        }
        AuthScheme::ApiKey(scheme) => {
            let credentials = init.credentials.map_or("{}", RawValue::get);
            let key = Key::from_bytes(credentials.as_bytes())
                .map_err(|_| invalid("/credentials", "Must hold the key that the schema names.".to_owned()))?;
            connect::with_key(gateway.parts(), &connector, scheme, key, &holder, user_identifier.as_deref(), request_id)
                .await
                .map_err(|error| key_problem(error, &connector.name()))?
        }
        AuthScheme::None => gateway
            .integrations
            .connect(&holder, user_identifier.as_deref(), Account::default(), &AccountSecret::None)
            .await
            .map_err(|error| failure_problem(&error))?,
    };
    Ok(private(json_answer(&record(&integration, SystemTime::now()))))
}

/// GET /connectors/{connector}/integrations/{user_identifier}. Also for connectors that are no longer installed.
pub(super) async fn get(
    gateway: &Gateway,
    connector: &str,
    user_identifier: &str,
    request: &Request<Incoming>,
) -> Result<Response<Body>, Problem> {
    let (holder, user_identifier) = addressed(gateway, connector, user_identifier, request).await?;
    let found = gateway.integrations.get(&holder, &user_identifier).await;
    let integration = existing(gateway, &holder, &user_identifier, found)?;
    Ok(private(json_answer(&record(&integration, SystemTime::now()))))
}

/// POST /connectors/{connector}/integrations/{user_identifier}: from now on operations run on it where none is named.
pub(super) async fn select(
    gateway: &Gateway,
    connector: &str,
    user_identifier: &str,
    request: &Request<Incoming>,
) -> Result<Response<Body>, Problem> {
    let (holder, user_identifier) = addressed(gateway, connector, user_identifier, request).await?;
    let found = gateway.integrations.select(&holder, &user_identifier).await;
    let integration = existing(gateway, &holder, &user_identifier, found)?;
    Ok(private(json_answer(&record(&integration, SystemTime::now()))))
}

/// DELETE /connectors/{connector}/integrations/{user_identifier}. Also for connectors that are no longer installed.
pub(super) async fn remove(
    gateway: &Gateway,
    connector: &str,
    user_identifier: &str,
    request: &Request<Incoming>,
) -> Result<Response<Body>, Problem> {
    let (holder, user_identifier) = addressed(gateway, connector, user_identifier, request).await?;
    let removed = gateway.integrations.remove(&holder, &user_identifier).await;
    let revoked = existing(gateway, &holder, &user_identifier, removed)?;
    Ok(json_answer(&json!({"deleted": true, "revoked": revoked})))
}

/// GET /connectors/{connector}/integration-exists.
pub(super) async fn exists(
    gateway: &Gateway,
    connector: &str,
    request: &Request<Incoming>,
) -> Result<Response<Body>, Problem> {
    let caller = authorize(gateway, request, Some(Scope::Integrate)).await?;
    let connector = live(gateway, connector)?;
    let named = named(request.headers())?;
    let holder = holder(&caller, &connector.name());
    let auth_type = integrations::auth_type(&connector.manifest().auth);
    let found = gateway.integrations.exists(&holder, auth_type, named).await;
    let found = found.map_err(|error| failure_problem(&error))?;
    Ok(private(json_answer(&json!({
        "exists": found.exists,
        "required": !matches!(connector.manifest().auth, AuthScheme::None),
        "user_identifier": found.user_identifier,
    }))))
}

/// GET /connectors/{connector}/auth-schema.
pub(super) async fn auth_schema(
    gateway: &Gateway,
    connector: &str,
    request: &Request<Incoming>,
) -> Result<Response<Body>, Problem> {
    authorize(gateway, request, Some(Scope::Integrate)).await?;
    let connector = live(gateway, connector)?;
    Ok(json_answer(&integrations::describe(&connector.name(), &connector.manifest().auth, &gateway.config)))
}

/// GET /integrations: all that the caller's user has connected.
pub(super) async fn list(gateway: &Gateway, request: &Request<Incoming>) -> Result<Response<Body>, Problem> {
    let caller = authorize(gateway, request, Some(Scope::Integrate)).await?;
    let found =
        gateway.integrations.list(&caller.tenant, subject(&caller)).await.map_err(|error| failure_problem(&error))?;
    let now = SystemTime::now();
    let records: Vec<Value> = found.iter().map(|integration| record(integration, now)).collect();
    Ok(private(json_answer(&json!({"integrations": records}))))
}

/// The integration that a request names in its header, if it does.
pub(super) fn named(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let Some(value) = headers.get(&USER_IDENTIFIER) else { return Ok(None) };
    let named = std::str::from_utf8(value.as_bytes())
        .map_err(|_| problem::BAD_REQUEST.because("The header X-User-Identifier is not UTF-8; send it as UTF-8."))?;
    Ok(Some(named.trim()).filter(|named| !named.is_empty()))
}

/// The user that a caller speaks for; empty for the tenant itself.
pub(super) fn subject(caller: &Caller) -> &str {
    caller.subject.as_deref().unwrap_or_default()
}

fn holder(caller: &Caller, connector: &str) -> Holder {
    Holder { tenant: caller.tenant.clone(), subject: subject(caller).to_owned(), connector: connector.to_owned() }
}

fn live(gateway: &Gateway, connector: &str) -> Result<Arc<Connector>, Problem> {
    gateway.registry.get(connector).ok_or_else(|| unknown_connector(gateway, connector))
}

/// Whose integrations a path is about, and which of them: percent-encoded, as email addresses need not be but may be.
async fn addressed(
    gateway: &Gateway,
    connector: &str,
    user_identifier: &str,
    request: &Request<Incoming>,
) -> Result<(Holder, String), Problem> {
    let caller = authorize(gateway, request, Some(Scope::Integrate)).await?;
    let user_identifier = percent_decode_str(user_identifier).decode_utf8().map_err(|_| {
        problem::BAD_REQUEST.because("The user identifier in the path is not UTF-8 once it is decoded.")
    })?;
    Ok((holder(&caller, connector), user_identifier.into_owned()))
}

/// What was found of an integration, or why nothing was.
fn existing<T>(
    gateway: &Gateway,
    holder: &Holder,
    user_identifier: &str,
    found: Result<Option<T>, IntegrationError>,
) -> Result<T, Problem> {
    match found {
        Ok(Some(found)) => Ok(found),
        Ok(None) if gateway.registry.get(&holder.connector).is_none() => {
            Err(unknown_connector(gateway, &holder.connector))
        }
        Ok(None) => Err(problem::UNKNOWN_INTEGRATION.because(format!(
            "There is no integration `{user_identifier}` for `{}`; GET /integrations lists them.",
            holder.connector
        ))),
        Err(failure) => Err(failure_problem(&failure)),
    }
}

/// What is about one user is kept by no cache.
fn private(mut response: Response<Body>) -> Response<Body> {
    response.headers_mut().insert(hyper::header::CACHE_CONTROL, hyper::header::HeaderValue::from_static("no-store"));
    response
}
