//! The refusal or failure of an upstream, for the caller: the part of its body that is shown, and
//! who can fix it.

use std::time::Duration;

use hyper::StatusCode;
use hyper::header::{HeaderMap, WWW_AUTHENTICATE};
use serde_json::Value;

use super::error::{Error, ShownBody, UpstreamError};
use super::forwarded_headers;
use contract::words::sentence;
use egress::whole_seconds;

/// Maximum size of an upstream's error that is shown to the caller.
const MAX_SHOWN_BYTES: usize = 64 << 10;

/// Codes that say that the user has not permitted what the request needs.
const SCOPE_CODES: [&str; 6] = [
    "missing_scope",
    "insufficient_scope",
    "insufficientScopes",
    "insufficientPermissions",
    "ACCESS_TOKEN_SCOPE_INSUFFICIENT",
    "insufficient_permissions",
];

/// The members of an error's body that may have such a code.
const CODE_POINTERS: [&str; 4] = ["/error", "/code", "/error/code", "/error/status"];

/// The members of an error's body that may be lists of objects with such a code as `reason`.
const REASON_POINTERS: [&str; 2] = ["/error/errors", "/error/details"];

/// The error of a response with a status of 3xx, 4xx or 5xx.
pub(super) async fn upstream_error(mut response: egress::Response) -> Error {
    let status = response.status;
    // The caller and the user cannot mend it: no credential of theirs went to that host.
    if status == StatusCode::UNAUTHORIZED && !response.is_own {
        return Error::NotUnderstood(
            "The upstream sent the request to another address, which refused it with 401. Try again: the address that the \
             upstream gave may have expired."
                .to_owned(),
        );
    }
    let body = match response.body.peek(MAX_SHOWN_BYTES + 1).await {
        Ok(body) => shown(body),
        // The body broke off, so a part of it says less than the status.
        Err(_) => ShownBody { content: None, is_truncated: true },
    };
    let is_for_user = status == StatusCode::FORBIDDEN
        && (challenges_scope(&response.headers) || body.content.as_ref().is_some_and(lacks_scope));
    let mut detail = format!("The upstream answered {}.", response.upstream_status);
    if status == StatusCode::TOO_MANY_REQUESTS && response.upstream_status != status {
        detail = rate_limit(&detail, response.retry_after);
    }
    let mut headers = Vec::new();
    forwarded_headers::each(&response.headers, |name, value| headers.push((name, value)));
    Error::Upstream(Box::new(UpstreamError {
        headers,
        status: status.as_u16(),
        upstream_status: response.upstream_status.as_u16(),
        detail,
        body,
        retry_after: response.retry_after,
        is_for_user,
    }))
}

/// The detail of a rate limit that the upstream did not call so. `said` is the detail without it.
pub(super) fn rate_limit(said: &str, retry_after: Option<Duration>) -> String {
    let when = retry_after.map_or_else(|| "later".to_owned(), |delay| format!("in {} s", whole_seconds(delay)));
    format!("{} The service limits the rate of calls; try again {when}.", sentence(said))
}

/// A body for a person to read: JSON if it is JSON, else text. A longer one is cut.
pub(super) fn shown(body: &[u8]) -> ShownBody {
    let is_truncated = body.len() > MAX_SHOWN_BYTES;
    let content = match body.get(..MAX_SHOWN_BYTES).unwrap_or(body) {
        [] => None,
        cut if is_truncated => Some(String::from_utf8_lossy(cut).into()),
        whole => {
            let json = serde_json::from_slice(json_text::without_mark(whole));
            Some(json.unwrap_or_else(|_| String::from_utf8_lossy(whole).into()))
        }
    };
    ShownBody { content, is_truncated }
}

/// Returns `true` if the body of an error says that the user has not permitted what the request
/// needs.
pub(super) fn lacks_scope(body: &Value) -> bool {
    let is_code = |value: &Value| value.as_str().is_some_and(|code| SCOPE_CODES.contains(&code));
    let is_reason = |item: &Value| item.get("reason").is_some_and(is_code);
    CODE_POINTERS.iter().filter_map(|pointer| body.pointer(pointer)).any(is_code)
        || REASON_POINTERS.iter().filter_map(|pointer| body.pointer(pointer)?.as_array()).flatten().any(is_reason)
}

/// Returns `true` if the headers say so (RFC 6750, section 3.1).
fn challenges_scope(headers: &HeaderMap) -> bool {
    let challenges = headers.get_all(WWW_AUTHENTICATE).iter();
    challenges.filter_map(|value| value.to_str().ok()).any(|challenge| challenge.contains("insufficient_scope"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_missing_scope_is_found_where_services_say_it() {
        for body in [
            json!({"ok": false, "error": "missing_scope", "needed": "chat:write"}),
            json!({"error": {"code": "insufficient_scope", "message": "…"}}),
            json!({"error": {"code": 403, "errors": [{"reason": "insufficientPermissions"}]}}),
            json!({"error": {"code": 403, "details": [{}, {"reason": "ACCESS_TOKEN_SCOPE_INSUFFICIENT"}]}}),
        ] {
            assert!(lacks_scope(&body), "{body}");
        }
        for body in [json!({"error": "not_in_channel"}), json!({"message": "missing_scope"}), json!([]), json!("x")] {
            assert!(!lacks_scope(&body), "{body}");
        }
        let headers = |value: &str| HeaderMap::from_iter([(WWW_AUTHENTICATE, value.parse().unwrap())]);
        assert!(challenges_scope(&headers(r#"Bearer realm="x", error="insufficient_scope", scope="a""#)));
        assert!(!challenges_scope(&headers(r#"Bearer error="invalid_token""#)));
    }

    #[test]
    fn a_rate_limit_that_the_status_does_not_say_is_told_with_what_to_do() {
        let said = "The service limits the rate of calls; try again";
        assert_eq!(rate_limit("no", None), format!("No. {said} later."));
        assert_eq!(rate_limit("No.", Some(Duration::from_millis(6100))), format!("No. {said} in 7 s."));
    }

    #[test]
    fn a_body_that_is_too_long_is_cut_and_said_to_be_cut() {
        let long = "é".repeat(MAX_SHOWN_BYTES);
        let cut = shown(long.as_bytes());
        assert!(cut.is_truncated);
        assert!(cut.content.unwrap().as_str().is_some_and(|text| long.starts_with(text.trim_end_matches('\u{fffd}'))));
        let whole = shown(br#"{"a": 1}"#);
        assert_eq!((whole.content, whole.is_truncated), (Some(json!({"a": 1})), false));
        assert!(shown(b"").content.is_none());
        assert_eq!(shown(b"\xef\xbb\xbf{\"a\": 1}").content, Some(json!({"a": 1})));
    }
}
