//! Authorizations by a device code: the caller shows its user a code and a page, and then asks for
//! the progress.

use hyper::Response;
use serde_json::json;

use super::problems::begin_problem;
use body::Body;
use contract::Oauth2;
use endpoint::answer::private_answer;
use endpoint::authorize::AuthorizedCaller;
use endpoint::records::{
    AuthorizationInit, AuthorizationProgressRecord, AuthorizationStatus, DeviceAuthorizationRecord,
};
use endpoint::route::HttpCall;
use gateway::Gateway;
use integrations::{DEVICE_CODE, DeviceOptions};
use problem::{Problem, UNKNOWN_AUTHORIZATION, integration_problem};
use registry::Connector;
use store::{DeviceProgress, Holder, KeyId};

/// Begins an authorization, and answers with the code for the user.
pub(super) async fn begin(
    gateway: &Gateway,
    connector: &Connector,
    scheme: &Oauth2,
    holder: &Holder,
    init: AuthorizationInit<'_>,
    key_id: Option<KeyId>,
) -> Result<Response<Body>, Problem> {
    let options = DeviceOptions {
        user_identifier: init.user_identifier,
        replaces: init.replace.unwrap_or_default(),
        labels: init.labels,
        address: init.address.unwrap_or_default(),
        connect_link: None,
        key_id,
    };
    let begun = gateway.integrations.begin_device(holder, connector, scheme, options).await.map_err(begin_problem)?;
    let codes = &begun.codes;
    Ok(private_answer(&json!(DeviceAuthorizationRecord {
        auth_type: DEVICE_CODE,
        authorization_id: &begun.id,
        user_code: &codes.user_code,
        verification_uri: &codes.verification_uri,
        verification_uri_complete: codes.verification_uri_complete.as_deref(),
        expires_in: codes.expires_in.as_secs(),
        expires_at: begun.expires_at.into(),
    })))
}

/// GET /connectors/{connector}/authorizations/{authorization_id}.
pub async fn get_authorization(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let HttpCall { gateway, arguments, .. } = call;
    let (connector, authorization_id) = (arguments.connector, arguments.authorization_id);
    let found = gateway.integrations.device_progress(&caller.holder(connector), authorization_id).await;
    let progress = found.map_err(|error| integration_problem(&error))?.ok_or_else(|| {
        UNKNOWN_AUTHORIZATION.with_detail(format!(
            "The caller's user has no authorization with this id that was begun with a device code of `{connector}`. \
             Authorizations are kept for a day after they have expired."
        ))
    })?;
    let (status, user_identifier, error) = match progress {
        DeviceProgress::Pending => (AuthorizationStatus::Pending, None, None),
        DeviceProgress::Connected { user_identifier } => (AuthorizationStatus::Connected, Some(user_identifier), None),
        DeviceProgress::Failed(code) => (AuthorizationStatus::Failed, None, Some(code)),
        DeviceProgress::Lost => (AuthorizationStatus::Failed, None, Some("internal_error".to_owned())),
    };
    Ok(private_answer(&json!(AuthorizationProgressRecord { authorization_id, status, user_identifier, error })))
}
