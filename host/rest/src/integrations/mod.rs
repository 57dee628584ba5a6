//! The lifecycle of integrations.
//!
//! - [`begin`]: connects an account, or begins an authorization
//! - [`callback`]: completes an authorization when the user comes back from the provider
//! - [`device`]: the progress of an authorization by a device code
//! - [`confirm`]: the caller confirms what the user has consented to
//! - [`list`]: the accounts that a user has connected
//!
//! The other routes are here: look up, select and remove.

mod begin;
mod callback;
mod confirm;
mod device;
mod list;

use std::time::Duration;

use hyper::Response;
use percent_encoding::percent_decode_str;
use serde_json::json;

pub use self::begin::begin_integration;
pub use self::callback::callback_digests;
pub use self::callback::complete_authorization;
pub use self::confirm::confirm_integration;
pub use self::device::get_authorization;
pub use self::list::{OwnIntegrations, list_integrations};

use super::{connectors, triggers};
use body::Body;
use contract::AuthScheme;
use endpoint::answer::{json_answer, private_answer};
use endpoint::authorize::AuthorizedCaller;
use endpoint::body::read_record;
use endpoint::headers;
use endpoint::records::{
    IntegrationChange, IntegrationDeletedRecord, IntegrationExistsRecord, SubscriptionsEndedRecord,
};
use endpoint::route::HttpCall;
use gateway::Gateway;
use integrations::{self, AuthSchemaRecord, IntegrationError, IntegrationRecord};
use problem::{self, Problem, integration_problem};
use store::Holder;

/// GET /connectors/{connector}/integrations/{user_identifier}. Also for connectors that are no
/// longer installed.
pub async fn get_integration(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let (holder, user_identifier) = addressed(&call, &caller)?;
    let found = call.gateway.integrations.find(&holder, &user_identifier).await;
    let integration = existing(call.gateway, &holder, &user_identifier, found).await?;
    Ok(private_answer(&json!(IntegrationRecord::at(&integration, clock::now()))))
}

/// POST /connectors/{connector}/integrations/{user_identifier}: selects the integration.
pub async fn select_integration(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let (holder, user_identifier) = addressed(&call, &caller)?;
    let found = call.gateway.integrations.select(&holder, &user_identifier).await;
    let integration = existing(call.gateway, &holder, &user_identifier, found).await?;
    Ok(private_answer(&json!(IntegrationRecord::at(&integration, clock::now()))))
}

/// PATCH /connectors/{connector}/integrations/{user_identifier}: sets the labels.
pub async fn change_integration(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let (holder, user_identifier) = addressed(&call, &caller)?;
    let HttpCall { gateway, head, body, .. } = call;
    let IntegrationChange { labels } = read_record(&head.headers, body, gateway).await?;
    let found = gateway.integrations.label(&holder, &user_identifier, &labels).await;
    let integration = existing(gateway, &holder, &user_identifier, found).await?;
    Ok(private_answer(&json!(IntegrationRecord::at(&integration, clock::now()))))
}

/// Time for the subscriptions of an account to end before it is deleted.
const END_SUBSCRIPTIONS: Duration = Duration::from_secs(20);

/// DELETE /connectors/{connector}/integrations/{user_identifier}. Also for connectors that are no
/// longer installed.
pub async fn remove_integration(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let (holder, user_identifier) = addressed(&call, &caller)?;
    let subscriptions = end_subscriptions(&call, &holder, &user_identifier).await?;
    let removed = call.gateway.integrations.remove(&holder, &user_identifier).await;
    let revoked = existing(call.gateway, &holder, &user_identifier, removed).await?;
    Ok(json_answer(&json!(IntegrationDeletedRecord { deleted: true, revoked, subscriptions })))
}

/// Deletes the triggers of an account that is about to be deleted, while the service still accepts
/// its access.
pub async fn end_subscriptions(
    call: &HttpCall<'_>,
    holder: &Holder,
    user_identifier: &str,
) -> Result<Option<SubscriptionsEndedRecord>, Problem> {
    // No account has such a name, and PostgreSQL cannot look for it.
    if user_identifier.contains('\0') {
        return Ok(None);
    }
    let deadline = call.arrived + END_SUBSCRIPTIONS;
    let removed = call.gateway.triggers.remove_of_account(holder, user_identifier, deadline).await;
    let (ended, not_ended) = removed.map_err(triggers::trigger_problem)?;
    Ok((ended + not_ended > 0).then_some(SubscriptionsEndedRecord { ended, not_ended }))
}

/// GET /connectors/{connector}/integration-exists.
pub async fn integration_exists(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let connector = connectors::live_connector(call.gateway, call.arguments.connector)?;
    let named = headers::user_identifier(&call.head.headers)?;
    let holder = caller.holder(connector.name());
    let auth = &connector.manifest().auth;
    let found = call.gateway.integrations.exists(&holder, integrations::auth_type(auth), named).await;
    let found = found.map_err(|error| integration_problem(&error))?;
    Ok(private_answer(&json!(IntegrationExistsRecord {
        exists: found.exists,
        required: !matches!(auth, AuthScheme::None),
        user_identifier: found.user_identifier,
    })))
}

/// GET /connectors/{connector}/auth-schema.
pub async fn get_auth_schema(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let connector = connectors::live_connector(call.gateway, call.arguments.connector)?;
    Ok(json_answer(&json!(AuthSchemaRecord::of_connector(&connector, &call.gateway.config))))
}

/// The holder and the user identifier that a path names.
fn addressed(call: &HttpCall<'_>, caller: &AuthorizedCaller) -> Result<(Holder, String), Problem> {
    let user_identifier = percent_decode_str(call.arguments.user_identifier).decode_utf8().map_err(|_| {
        problem::BAD_REQUEST.with_detail("The user identifier in the path is not UTF-8 after percent-decoding.")
    })?;
    Ok((caller.holder(call.arguments.connector), user_identifier.into_owned()))
}

/// An integration that was found, or the problem that says why there is no integration.
async fn existing<T>(
    gateway: &Gateway,
    holder: &Holder,
    user_identifier: &str,
    found: Result<Option<T>, IntegrationError>,
) -> Result<T, Problem> {
    if let Some(found) = found.map_err(|error| integration_problem(&error))? {
        return Ok(found);
    }
    let connector = connectors::live_connector(gateway, &holder.connector)?;
    let candidates = gateway.integrations.candidates(&connector, holder, user_identifier).await;
    let candidates = candidates.map_err(|error| integration_problem(&error))?;
    Err(problem::UNKNOWN_INTEGRATION
        .with_detail(format!(
            "There is no integration `{user_identifier}` for `{}`; `candidates` and GET /integrations list those that exist.",
            holder.connector
        ))
        .with("candidates", candidates))
}
