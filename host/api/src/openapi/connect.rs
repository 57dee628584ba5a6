//! Links to the page on which an end user connects accounts.

use serde_json::{Value, json};

use super::gateway::{describe_created, with_problems};
use super::schemas::reference;

/// Members of POST /connect-links.
pub(crate) fn describe_create() -> Value {
    let mut members = describe_created("The link.", reference("ConnectLinkCreated"));
    members["description"] =
        "The page needs no key. It belongs to the browser that uses one of its buttons first; opening \
        it changes nothing. The accounts belong to the user that the caller speaks for."
            .into();
    members["requestBody"] = json!({"required": true, "content": {"application/json": {
        "schema": reference("ConnectLinkInit"),
        "example": {"connectors": ["calendar"], "callback_url": "http://localhost:3000/connected"},
    }}});
    with_problems(members, &["409", "507"])
}
