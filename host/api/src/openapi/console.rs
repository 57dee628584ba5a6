//! The routes of the console's sessions.

use serde_json::Value;

use super::gateway::{describe_answer, describe_created};
use super::schemas::reference;

/// Members of POST /console/session.
pub(crate) fn describe_sign_in() -> Value {
    let mut members = describe_created("The session. The answer sets the cookie.", reference("ConsoleSession"));
    members["description"] = "For the page at GET /console. The cookie `__Host-console` then stands for the API key on the routes \
        of operators and operations. A change with the cookie must have the header `X-Console`, and \
        `Sec-Fetch-Site: same-origin` or the gateway's own `Origin`. The session ends after 8 hours, after 30 minutes without a \
        request, and with its key. Programs use the API key itself."
        .into();
    members
}

/// Members of GET /console/sign-in.
pub(crate) fn describe_ways() -> Value {
    let mut members = describe_answer("The ways.", reference("ConsoleSignIn"));
    members["description"] =
        "Needs no key. With `[console.oidc]` in the configuration, GET /console/oidc leads a browser to the \
        OpenID provider. Its session has the scope `admin`."
            .into();
    members
}
