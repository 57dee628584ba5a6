//! Headers that several routes read.

use hyper::header::{HeaderMap, HeaderName};
use serde_json::json;

use super::problem::{self, Problem};
use contract::pointer;

/// Names the integration that a call runs on.
const USER_IDENTIFIER: HeaderName = HeaderName::from_static("x-user-identifier");

/// The integration that a call names. `None` if the header is missing.
///
/// # Errors
/// 422 if the header is empty or repeated: the gateway must not guess what the caller means. 400 if it is not UTF-8.
pub(super) fn user_identifier(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let mut values = headers.get_all(&USER_IDENTIFIER).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(invalid_header("X-User-Identifier", "is there more than once; name one integration"));
    }
    let named = std::str::from_utf8(value.as_bytes())
        .map_err(|_| problem::BAD_REQUEST.because("The header X-User-Identifier is not UTF-8; send it as UTF-8."))?;
    match named.trim() {
        "" => Err(invalid_header("X-User-Identifier", "is empty; name an integration, or leave the header out")),
        named => Ok(Some(named)),
    }
}

/// The problem of a header whose value is not valid. `detail` follows its name.
fn invalid_header(name: &str, detail: &str) -> Problem {
    let detail = format!("The header {name} {detail}.");
    let error = json!({"pointer": pointer::of(name), "detail": detail});
    problem::VALIDATION.because(detail).with("errors", vec![error])
}
