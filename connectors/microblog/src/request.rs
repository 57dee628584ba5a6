//! The parameters of X's requests, and look-ups of one thing.

use connector_sdk::json::Kind;
use connector_sdk::{Document, Fault, Outcome, Request, http};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::settings;

/// The parameter that selects fields of posts, as the table writes it.
const POST_FIELDS: &str = "post.fields";

/// Forwards the request of a row. The name of the parameter that selects fields of posts is the
/// operator's.
pub(crate) fn forward(mut request: Request) -> Result<Outcome, Fault> {
    let name = settings::post_fields()?;
    if name != POST_FIELDS {
        // Values are percent-encoded, so only a name can be between these characters.
        for separator in ['?', '&'] {
            request.path = request.path.replace(&format!("{separator}{POST_FIELDS}="), &format!("{separator}{name}="));
        }
    }
    Ok(Outcome::Forward(request))
}

/// Appends a list as one parameter. An absent or empty list is left out: X refuses a parameter
/// without a value.
pub(crate) fn with_list(request: Request, name: &str, items: Option<&Vec<String>>) -> Request {
    match items {
        Some(items) if !items.is_empty() => request.query(name, items.join(",")),
        _ => request,
    }
}

/// X's answer in the problem document of a look-up that found nothing. The member `upstream` is the
/// gateway's own.
#[derive(Serialize)]
struct Members {
    answer: Option<Box<RawValue>>,
}

/// Looks up one thing, which is called `what` in messages.
///
/// # Errors
/// X's own refusal. [`Fault::NotFound`] if X's answer has no data: X then still answers with the
/// status 200.
pub(crate) fn look_up(request: Request, what: &str) -> Result<Document, Fault> {
    let answer = http::send(request)?.successful()?.document()?;
    if answer.pointer("/data").is_some_and(|data| data.kind() == Kind::Object) {
        return Ok(answer);
    }
    let reason = answer.string("/errors/0/detail").map(|detail| format!(" X says: {detail}")).unwrap_or_default();
    let detail = format!(
        "X did not give the {what}. It may not exist, or the connected user may not see it; check the call.{reason}"
    );
    Err(Fault::not_found(detail).with_members(&Members { answer: RawValue::from_string(answer.text()).ok() }))
}
