//! The operator's routes of triggers of all tenants.

use hyper::{Response, StatusCode};
use serde_json::json;

use body::Body;
use endpoint::answer::private_answer;
use endpoint::route::HttpCall;
use problem::Problem;
use rest::triggers::{remove, trigger_answer, trigger_problem, triggers_page, unknown_trigger};
use triggers::Of;

/// GET /admin/triggers: a page of the triggers of all tenants, the newest first.
pub async fn list_triggers(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    triggers_page(&call).await
}

/// GET /admin/triggers/{trigger_id}.
pub async fn get_trigger(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    trigger_answer(&call, Of::Operator, StatusCode::OK).await
}

/// DELETE /admin/triggers/{trigger_id}: deletes it as its caller would.
pub async fn remove_trigger(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    remove(&call, Of::Operator).await
}

/// POST /admin/triggers/{trigger_id}/resubscribe: makes its subscription anew, and reads.
pub async fn resubscribe_trigger(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let id = call.arguments.trigger_id;
    let found = call.gateway.triggers.resubscribe(id).await.map_err(trigger_problem)?;
    let mut answer = private_answer(&json!(found.ok_or_else(|| unknown_trigger(id))?));
    *answer.status_mut() = StatusCode::ACCEPTED;
    Ok(answer)
}
