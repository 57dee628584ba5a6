//! Events of services that callers want to know of.
//!
//! - [`create`]: POST /triggers
//! - [`change`]: PATCH /triggers/{trigger_id}
//! - [`list`]: the lists of types and of triggers, for callers and operators
//! - [`events`]: the events of a trigger: list, show, send once more
//! - [`problems`]: why a trigger cannot be made, changed or read
//!
//! The other routes are here.

mod change;
mod create;
mod events;
mod list;
mod problems;

use hyper::{Response, StatusCode};
use serde_json::json;

pub use self::change::change_trigger;
pub use self::create::create_trigger;
pub use self::events::{get_event, list_events, replay_events};
pub use self::list::AnyTriggers;
pub use self::list::{OwnTriggers, Types, list_triggers, list_types, triggers_page};
pub use self::problems::{trigger_problem, trigger_problem_of, unknown_trigger};

use body::Body;
use endpoint::answer::private_answer;
use endpoint::authorize::AuthorizedCaller;
use endpoint::headers::CallHeaders;
use endpoint::records::{TriggerDeletedRecord, TriggerTestedRecord};
use endpoint::route::HttpCall;
use problem::Problem;
use tokio::time::{Duration, Instant};
use triggers::Of;

/// The longest time in which the service is asked, unless its connector has another limit.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// GET /triggers/{trigger_id}.
pub async fn get_trigger(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    trigger_answer(&call, caller.triggers(), StatusCode::OK).await
}

/// The record of the trigger that a path names, as an answer.
pub async fn trigger_answer(call: &HttpCall<'_>, of: Of<'_>, status: StatusCode) -> Result<Response<Body>, Problem> {
    let id = call.arguments.trigger_id;
    let found = call.gateway.triggers.get(of, id).await.map_err(trigger_problem)?;
    let mut answer = private_answer(&json!(found.ok_or_else(|| unknown_trigger(id))?));
    *answer.status_mut() = status;
    Ok(answer)
}

/// DELETE /triggers/{trigger_id}.
pub async fn remove_trigger(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    remove(&call, caller.triggers()).await
}

/// Deletes the trigger that a path names.
pub async fn remove(call: &HttpCall<'_>, of: Of<'_>) -> Result<Response<Body>, Problem> {
    let id = call.arguments.trigger_id;
    let deadline = deadline(call, DEFAULT_TIMEOUT)?;
    let removed = call.gateway.triggers.remove(of, id, deadline).await.map_err(trigger_problem)?;
    let unsubscribed = removed.ok_or_else(|| unknown_trigger(id))?;
    Ok(private_answer(&json!(TriggerDeletedRecord { deleted: true, unsubscribed })))
}

/// POST /triggers/{trigger_id}/test.
pub async fn test_trigger(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let id = call.arguments.trigger_id;
    let tested = call.gateway.triggers.test(caller.triggers(), id).await.map_err(trigger_problem)?;
    let event_id = tested.ok_or_else(|| unknown_trigger(id))?;
    Ok(private_answer(&json!(TriggerTestedRecord { event_id })))
}

/// POST /triggers/{trigger_id}/read.
pub async fn read_trigger(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let id = call.arguments.trigger_id;
    let read = call.gateway.triggers.read_now(caller.triggers(), id).await.map_err(trigger_problem)?;
    read.ok_or_else(|| unknown_trigger(id))?;
    trigger_answer(&call, caller.triggers(), StatusCode::ACCEPTED).await
}

/// The end of the time in which the service is asked: `limit` after the arrival of the call, or
/// earlier, if the caller does not wait so long.
///
/// # Errors
/// 400 if the header with the caller's limit cannot be read.
fn deadline(call: &HttpCall<'_>, limit: Duration) -> Result<Instant, Problem> {
    let requested = CallHeaders::parse(&call.head.headers)?.requested_timeout;
    let requested = requested.map_or(limit, |requested| Duration::from_secs(requested.seconds));
    Ok(call.arrived + limit.min(requested))
}
