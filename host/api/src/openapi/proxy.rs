//! Requests to the services of connectors, around their operations.

use serde_json::{Value, json};

use super::components::parameter_references;
use super::gateway::with_problems;
use super::operation::bytes;
use super::problems::OF_SERVICE;

/// Members of a request without a body.
pub(crate) fn describe() -> Value {
    let members = json!({
        "description": "Goes to an upstream of the connector with the user's credential. The path and the query are \
            appended to the base URL of the upstream as they are sent. `Accept`, `Content-Type`, `If-*`, `Range` and \
            `Prefer` are forwarded, and each header `X-Proxy-Header-NAME` as `NAME`. The status and the body are those of \
            the service, and so are the headers that describe them; its errors have `X-Error-Source: upstream`. The key needs the scope `proxy` by name, and \
            counts GET and HEAD as `read`, POST, PUT and PATCH as `write`, and DELETE as `destructive`. A request counts \
            in each rate limit of the connector. Bodies may have any media type, and are streamed.",
        "parameters": parameter_references(&["UserIdentifier", "IdempotencyKey", "RequestTimeout"]),
        "responses": {"200": {
            "description": "The response of the service, with its own status and media type.",
            "content": {"application/octet-stream": bytes()},
        }},
    });
    with_problems(members, &["409", "413", "415", "422", "424", "429", OF_SERVICE, "502", "504", "507"])
}

/// Members of a request with a body.
pub(crate) fn describe_with_body() -> Value {
    let mut members = describe();
    members["requestBody"] = json!({"content": {"application/octet-stream": bytes()}});
    members
}
