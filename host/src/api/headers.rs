//! Headers that several routes read.

use hyper::header::{HeaderMap, HeaderName};

use super::problem::{self, Problem};

/// Names the integration that a call runs on.
const USER_IDENTIFIER: HeaderName = HeaderName::from_static("x-user-identifier");

/// The integration that a call names. `None` if the header is missing or empty.
///
/// # Errors
/// 400 if the header is not UTF-8.
pub(super) fn user_identifier(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let Some(value) = headers.get(&USER_IDENTIFIER) else { return Ok(None) };
    let named = std::str::from_utf8(value.as_bytes())
        .map_err(|_| problem::BAD_REQUEST.because("The header X-User-Identifier is not UTF-8; send it as UTF-8."))?;
    Ok(Some(named.trim()).filter(|named| !named.is_empty()))
}
