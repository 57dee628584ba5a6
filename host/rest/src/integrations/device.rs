//! The progress of an authorization by a device code. The caller has shown its user the code.

use hyper::Response;
use serde_json::json;

use body::Body;
use endpoint::answer::private_answer;
use endpoint::authorize::AuthorizedCaller;
use endpoint::records::{AuthorizationProgressRecord, AuthorizationStatus};
use endpoint::route::HttpCall;
use problem::{Problem, UNKNOWN_AUTHORIZATION, integration_problem};
use store::DeviceProgress;

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
