//! POST /connectors/{connector}/integrations: an account is connected.

use std::sync::Arc;

use hyper::Response;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::device;
use super::problems::{begin_problem, grant_problem, key_problem};
use crate::connectors;
use body::Body;
use contract::{ApiKey, AuthScheme, Oauth2};
use egress::SHORTEST_SECRET;
use endpoint::answer::private_answer;
use endpoint::authorize::AuthorizedCaller;
use endpoint::body::read_json_body;
use endpoint::idempotency;
use endpoint::records::{AuthorizationBegunRecord, AuthorizationInit};
use endpoint::route::HttpCall;
use gateway::Gateway;
use integrations::{
    self, AccountSecret, AuthorizationOptions, DEVICE_CODE, Destination, IntegrationRecord, Key, Named, ReturnTo,
    unknown_way,
};
use oauth::AccountGrant;
use pipeline::connect;
use problem::{self, Problem, input_problem, integration_problem, invalid};
use registry::{Connector, RefusedPart};
use schema::Schema;
use store::{Account, AccountAddress, GrantType, Holder, Integration, KeyId};

/// Begins an authorization, or connects the account immediately if the connector needs no
/// authorization.
pub async fn begin_integration(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let HttpCall { gateway, head, body, arguments, arrived, .. } = call;
    let connector = connectors::live_connector(gateway, arguments.connector)?;
    let body = read_json_body(&head.headers, body, gateway).await?;
    let Some(key) = idempotency::key_in_headers(&head.headers)? else {
        return begin_now(gateway, &connector, &caller, &body, arrived).await;
    };
    let path = endpoint::path::normalized(head.uri.path());
    let request: [&[u8]; 3] = [b"POST", path.as_bytes(), &body];
    let running = {
        let (gateway, caller, body) = (Arc::clone(gateway), caller.clone(), body.clone());
        async move { begin_now(&gateway, &connector, &caller, &body, arrived).await }
    };
    Box::pin(idempotency::answer_idempotently(gateway, &caller, key, &request, running)).await
}

async fn begin_now(
    gateway: &Arc<Gateway>,
    connector: &Arc<Connector>,
    caller: &AuthorizedCaller,
    body: &[u8],
    arrived: Instant,
) -> Result<Response<Body>, Problem> {
    let scheme = &connector.manifest().auth;
    let named = compute::run(body.len(), || named_auth_type(body)).await;
    if let Some(detail) = named.as_deref().and_then(|named| unknown_way(connector, &gateway.config, named)) {
        // The other members depend on it, so nothing is said about them.
        return Err(invalid("/auth_type", detail));
    }
    let schema = integrations::init_schema(connector, &gateway.config, named.as_deref().unwrap_or_default());
    let schema = Schema::compile(&schema.to_string(), false)
        .map_err(|error| problem::INTERNAL.with_detail(format!("The schema of this body {error}.")))?;
    let input = compute::run(body.len(), || schema.parse(body)).await.map_err(input_problem)?;
    let init: AuthorizationInit<'_> =
        serde_json::from_str(&input.text).map_err(|error| problem::NOT_JSON.with_detail(format!("{error}.")))?;
    let address = init.address.clone().unwrap_or_default();
    check_address(connector, &address)?;
    let holder = caller.holder(connector.name());
    let credentials = init.credentials.map_or("{}", RawValue::get).as_bytes();
    let named = Named {
        holder: &holder,
        user_identifier: init.user_identifier.as_deref(),
        labels: init.labels.as_ref(),
        address: &address,
        connect_link: None,
    };
    let grant_type = GrantType::ALL.into_iter().find(|known| known.auth_type() == init.auth_type);
    let key_id = caller.key_id().cloned();
    if init.auth_type == DEVICE_CODE
        && let AuthScheme::Oauth2(scheme) = scheme
    {
        return device::begin(gateway, connector, scheme, &holder, init, key_id).await;
    }
    let integration = match (grant_type, scheme) {
        (Some(grant_type), _) => connect_with_grant(gateway, connector, grant_type, credentials, named).await?,
        (None, AuthScheme::Oauth2(scheme)) => {
            return authorization(gateway, connector, scheme, &holder, init, key_id).await;
        }
        (None, AuthScheme::ApiKey(scheme)) => {
            connect_with_key(gateway, connector, scheme, credentials, named, arrived).await?
        }
        (None, AuthScheme::None) => gateway
            .integrations
            .connect(&holder, init.user_identifier.as_deref(), init.labels, Account::default(), &AccountSecret::None)
            .await
            .map_err(|error| integration_problem(&error))?,
    };
    Ok(private_answer(&json!(IntegrationRecord::at(&integration, clock::now()))))
}

/// The auth type that a body names, if it can be read. The schema of this type then checks the
/// body.
fn named_auth_type(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Named {
        auth_type: String,
    }
    serde_json::from_slice(body).ok().map(|Named { auth_type }| auth_type)
}

/// Checks the parts of an account's address that the user gave.
///
/// # Errors
/// 422 for a value that the connector refuses.
pub(crate) fn check_address(connector: &Connector, address: &AccountAddress) -> Result<(), Problem> {
    let checked = connector.check_address_of_user(address);
    checked.map_err(|RefusedPart { name, detail }| invalid(&format!("/address/{name}"), detail))
}

/// Begins an authorization at the provider.
async fn authorization(
    gateway: &Gateway,
    connector: &Connector,
    scheme: &Oauth2,
    holder: &Holder,
    init: AuthorizationInit<'_>,
    key_id: Option<KeyId>,
) -> Result<Response<Body>, Problem> {
    let destination = Destination::check(init.callback_url.as_deref().unwrap_or_default(), &gateway.config)
        .map_err(|detail| invalid("/callback_url", detail))?;
    let options = AuthorizationOptions {
        user_identifier: init.user_identifier,
        replaces: init.replace.unwrap_or_default(),
        confirms: init.confirm.unwrap_or_default(),
        labels: init.labels,
        address: init.address.unwrap_or_default(),
        return_to: ReturnTo::Application(destination),
        key_id,
    };
    let begun = gateway.integrations.begin(holder, connector, scheme, options).await.map_err(begin_problem)?;
    Ok(private_answer(&json!(AuthorizationBegunRecord {
        auth_type: "oauth2",
        authorization_url: begun.authorization_url.as_str(),
        state: &begun.state,
        expires_at: begun.expires_at.into(),
    })))
}

/// Connects an account by an API key. `credentials` is JSON, as the schema of the connector has it.
///
/// # Errors
/// 422 for a key that is too short, or that the service refuses. Else the key could not be tried or
/// stored.
pub(crate) async fn connect_with_key(
    gateway: &Gateway,
    connector: &Arc<Connector>,
    scheme: &ApiKey,
    credentials: &[u8],
    named: Named<'_>,
    arrived: Instant,
) -> Result<Integration, Problem> {
    let key = Key::from_bytes(credentials)
        .map_err(|_| invalid("/credentials", "Must hold the key that the schema names.".to_owned()))?;
    if let Some(member) = key.too_short() {
        let detail = format!(
            "Must have at least {SHORTEST_SECRET} bytes. The gateway cannot mask a shorter secret in responses."
        );
        return Err(invalid(&format!("/credentials/{member}"), detail));
    }
    connect::with_key(gateway.services(), connector, scheme, key, named, arrived)
        .await
        .map_err(|error| key_problem(error, connector.name()))
}

/// Connects an account by credentials from which the gateway gets access tokens. `credentials` is
/// JSON, as the schema of the connector has it.
///
/// # Errors
/// 422 for credentials that the gateway cannot use, or that the service refuses. Else there was no
/// token, or the account could not be stored.
pub(crate) async fn connect_with_grant(
    gateway: &Gateway,
    connector: &Arc<Connector>,
    grant_type: GrantType,
    credentials: &[u8],
    named: Named<'_>,
) -> Result<Integration, Problem> {
    let grant = AccountGrant::from_json(grant_type, credentials)
        .map_err(|_| invalid("/credentials", "Must hold the members that the schema names.".to_owned()))?;
    let connected = gateway.integrations.connect_with_grant(connector, grant, named).await;
    connected.map_err(grant_problem)
}
