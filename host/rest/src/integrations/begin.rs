//! POST /connectors/{connector}/integrations: an account is connected.

use std::sync::Arc;

use hyper::Response;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::connectors;
use body::Body;
use endpoint::answer::private_answer;
use endpoint::authorize::AuthorizedCaller;
use endpoint::body::read_json_body;
use endpoint::idempotency;
use endpoint::records::{AuthorizationBegunRecord, AuthorizationInit, DeviceAuthorizationRecord};
use endpoint::route::HttpCall;
use gateway::Gateway;
use integrations::{self, Begun, ConnectRequest, Destination, IntegrationRecord, Way};
use pipeline::connect;
use problem::{self, Problem, address_problem, connect_problem, input_problem, invalid};
use registry::Connector;
use schema::Schema;

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
    let ways = Way::of(connector, &gateway.config);
    // The other members depend on it, so nothing is said about them.
    let way_named = |named: &str| Way::find(&ways, named).map_err(|detail| invalid("/auth_type", detail));
    let named = compute::run(body.len(), || named_auth_type(body)).await;
    let way = named.as_deref().map(way_named).transpose()?;
    let schema = integrations::init_schema(connector, &ways, way);
    let schema = Schema::compile(&schema.to_string(), false)
        .map_err(|error| problem::INTERNAL.with_detail(format!("The schema of this body {error}.")))?;
    let input = compute::run(body.len(), || schema.parse(body)).await.map_err(input_problem)?;
    let init: AuthorizationInit<'_> =
        serde_json::from_str(&input.text).map_err(|error| problem::NOT_JSON.with_detail(format!("{error}.")))?;
    let way = way_named(&init.auth_type)?;
    let credentials = init.credentials.map_or("{}", RawValue::get).as_bytes();
    let request = ConnectRequest::new(connector, caller.holder(connector.name()), init.address.unwrap_or_default())
        .map_err(address_problem)?;
    let destination = match way {
        Way::AuthorizationCode(_) => {
            let url = init.callback_url.as_deref().unwrap_or_default();
            let checked = Destination::check(url, &gateway.config);
            Some(checked.map_err(|detail| invalid("/callback_url", detail))?)
        }
        _ => None,
    };
    let request = ConnectRequest {
        user_identifier: init.user_identifier,
        replaces: init.replace.unwrap_or_default(),
        confirms: init.confirm.unwrap_or_default(),
        labels: init.labels,
        destination,
        key_id: caller.key_id().cloned(),
        ..request
    };
    let begun = connect::begin(gateway.services(), connector, way, &request, credentials, arrived).await;
    Ok(private_answer(&match begun.map_err(|error| connect_problem(error, connector.name()))? {
        Begun::Page(started) => json!(AuthorizationBegunRecord {
            auth_type: way.name(),
            authorization_url: started.authorization_url.as_str(),
            state: &started.state,
            expires_at: started.expires_at.into(),
        }),
        Begun::Code(started) => json!(DeviceAuthorizationRecord {
            auth_type: way.name(),
            authorization_id: &started.id,
            user_code: &started.codes.user_code,
            verification_uri: &started.codes.verification_uri,
            verification_uri_complete: started.codes.verification_uri_complete.as_deref(),
            expires_in: started.codes.expires_in.as_secs(),
            expires_at: started.expires_at.into(),
        }),
        Begun::Done(integration) => json!(IntegrationRecord::at(&integration, clock::now())),
    }))
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
