//! Headers of requests to `/mcp`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::StatusCode;
use hyper::header::{ACCEPT, HeaderMap, HeaderName, ORIGIN};
use url::Url;

use body::media_type::essence;
use config::Config;
use mcp::message::{HEADER_MISMATCH, INVALID_REQUEST, Request, RpcError};
use problem::{self, Problem};

const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// Refuses requests of pages that neither the gateway nor the operator's `allowed_origins` has.
/// Otherwise a page could use a gateway in the user's network by giving it a second name.
///
/// # Errors
/// If the origin is another one.
pub(super) fn check_origin(config: &Config, headers: &HeaderMap) -> Result<(), RpcError> {
    let Some(given) = headers.get(ORIGIN) else { return Ok(()) };
    let origin = given.to_str().ok().and_then(|given| Url::parse(given).ok()).map(|url| url.origin());
    let is_allowed =
        origin.is_some_and(|origin| origin == config.public_url.origin() || config.allowed_origins.contains(&origin));
    match is_allowed {
        true => Ok(()),
        false => Err(RpcError::new(
            INVALID_REQUEST,
            "Pages of this origin may not use the gateway; the operator adds the origin to `allowed_origins`.",
        )),
    }
}

/// Requires that the client takes JSON.
///
/// # Errors
/// 406 if `Accept` leaves JSON out.
pub(super) fn check_accept(headers: &HeaderMap) -> Result<(), Problem> {
    let mut given = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).peekable();
    if given.peek().is_none() {
        return Ok(());
    }
    let mut ranges = given.flat_map(|value| value.split(','));
    let takes_json = ranges.any(|range| {
        ["*/*", "application/*", "application/json"].iter().any(|json| essence(range).eq_ignore_ascii_case(json))
    });
    match takes_json {
        true => Ok(()),
        false => Err(problem::BAD_REQUEST
            .with_detail("The gateway answers JSON; send `Accept: application/json, text/event-stream`.")
            .status(StatusCode::NOT_ACCEPTABLE)),
    }
}

/// Requires that the headers by which a proxy may route say the same as the body.
///
/// # Errors
/// If one is missing, repeated, or says something else.
pub(super) fn check_routing(headers: &HeaderMap, request: &Request<'_>) -> Result<(), RpcError> {
    let mismatch = |text: String| RpcError::new(HEADER_MISMATCH, text);
    let one = |name: &HeaderName, shown: &str| {
        let mut values = headers.get_all(name).iter();
        match (values.next(), values.next()) {
            (Some(value), None) => {
                value.to_str().map_err(|_| mismatch(format!("The header {shown} has a character that is not ASCII.")))
            }
            (None, _) => Err(mismatch(format!("The header {shown} is missing."))),
            _ => Err(mismatch(format!("The header {shown} occurs more than once."))),
        }
    };
    if one(&METHOD, "Mcp-Method")? != request.method {
        return Err(mismatch("The header Mcp-Method is not the `method` of the body.".to_owned()));
    }
    let member = match request.method.as_str() {
        "tools/call" => "name",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return Ok(()),
    };
    if let Some(named) = request.params.text(member)
        && decoded(one(&NAME, "Mcp-Name")?).as_deref() != Some(named.as_str())
    {
        return Err(mismatch(format!("The header Mcp-Name is not `params.{member}` of the body.")));
    }
    Ok(())
}

/// Returns `true` if the client takes a stream of events.
pub(super) fn takes_events(headers: &HeaderMap) -> bool {
    let given = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    given.flat_map(|value| value.split(',')).any(|range| essence(range).eq_ignore_ascii_case("text/event-stream"))
}

/// The text of a header, which may be in base64: `=?base64?…?=`.
fn decoded(value: &str) -> Option<String> {
    match value.strip_prefix("=?base64?").and_then(|inner| inner.strip_suffix("?=")) {
        Some(inner) => String::from_utf8(STANDARD.decode(inner).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;
    use mcp::message::{Incoming, read};

    #[test]
    fn media_types_are_taken_in_upper_and_lower_case() {
        let accepting = |ranges: &[&'static str]| {
            HeaderMap::from_iter(ranges.iter().map(|range| (ACCEPT, HeaderValue::from_static(range))))
        };
        for ranges in [&[][..], &["*/*"], &["Application/JSON"], &["text/html, APPLICATION/*;q=0.5"]] {
            assert!(check_accept(&accepting(ranges)).is_ok(), "{ranges:?}");
        }
        assert!(check_accept(&accepting(&["text/event-stream"])).is_err());
        assert!(takes_events(&accepting(&["application/json, Text/Event-Stream"])));
        assert!(!takes_events(&accepting(&["application/json", "*/*"])));
    }

    #[test]
    fn headers_for_routing_agree_with_the_body() {
        let text = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a é"}}"#;
        let Ok(Incoming::Request(request)) = read(text) else { panic!("no request") };
        let check = |method: &[&'static str], name: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in method {
                headers.append(METHOD, HeaderValue::from_static(value));
            }
            for value in name {
                headers.append(NAME, HeaderValue::from_static(value));
            }
            check_routing(&headers, &request).is_ok()
        };
        assert!(check(&["tools/call"], &["=?base64?YSDDqQ==?="]));
        for (method, name) in [
            (&[][..], &["=?base64?YSDDqQ==?="][..]),
            (&["tools/list"], &["=?base64?YSDDqQ==?="]),
            (&["tools/call"], &[]),
            (&["tools/call"], &["a"]),
            (&["tools/call"], &["=?base64?%?="]),
            (&["tools/call", "tools/call"], &["=?base64?YSDDqQ==?="]),
        ] {
            assert!(!check(method, name), "{method:?} {name:?}");
        }
    }
}
