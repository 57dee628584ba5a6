//! Headers that several routes read.

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::json;

use contract_rules::pointer;
use contract_rules::text::is_hidden;
use problem::{self, Problem};

/// Names the integration that a call runs on.
const USER_IDENTIFIER: HeaderName = HeaderName::from_static("x-user-identifier");

/// Says why a caller makes a change.
const REASON: HeaderName = HeaderName::from_static("x-reason");

/// The longest reason, in characters.
pub const MAX_REASON: usize = 500;

/// The headers of a call that change how it runs. The texts are copied: a waiting call must not
/// keep the buffer of its connection.
#[derive(Clone, Default)]
pub struct CallHeaders {
    /// The media types that the caller accepts.
    pub accept: Option<Box<str>>,
    /// The part of a file that the caller wants.
    pub range: Option<Box<str>>,
    /// See [`user_identifier`].
    pub user_identifier: Option<Box<str>>,
    /// The longest time that the caller waits: `Request-Timeout`, else the preference `wait` (RFC
    /// 7240, section 4.3).
    pub requested_timeout: Option<RequestedTimeout>,
    /// The caller requests the reason why a connector trapped. Only callers with the scope `admin`
    /// get it.
    pub wants_debug: bool,
}

impl CallHeaders {
    /// Reads all headers in one pass, so that an absent header costs nothing.
    ///
    /// # Errors
    /// 400 if `Request-Timeout` is not a number of seconds, and the errors of [`user_identifier`].
    /// A preference that cannot be read is ignored, as RFC 7240 says.
    pub fn parse(headers: &HeaderMap) -> Result<Self, Problem> {
        let mut call_headers = Self::default();
        let (mut preferred_wait, mut request_timeout) = (None, None);
        for (name, value) in headers {
            let text = || value.to_str().ok();
            match name.as_str() {
                "accept" => call_headers.accept = joined(call_headers.accept, text()),
                "x-user-identifier" => {
                    call_headers.user_identifier = Some(named(value, call_headers.user_identifier.is_some())?.into());
                }
                // Each line may have a part of the preferences (RFC 7240, section 2).
                "prefer" => preferred_wait = preferred_wait.or_else(|| text().and_then(wait_in)),
                "request-timeout" => request_timeout = Some(value),
                "range" => call_headers.range = text().filter(|range| is_one_part(range)).map(Box::from),
                "x-debug" => call_headers.wants_debug = value == "1",
                _ => {}
            }
        }
        call_headers.requested_timeout = requested_timeout(request_timeout, preferred_wait)?;
        Ok(call_headers)
    }
}

/// Adds a line of a list to the lines before it (RFC 9110, section 5.3).
fn joined(lines: Option<Box<str>>, line: Option<&str>) -> Option<Box<str>> {
    match (lines, line) {
        (Some(lines), Some(line)) => Some([&*lines, ", ", line].concat().into()),
        (lines, line) => lines.or_else(|| line.map(Box::from)),
    }
}

/// Returns `true` if a header `Range` names one part. Several parts would come in a body of another
/// form, which is no part of the file. The gateway ignores such a header, as a server may (RFC
/// 9110, section 14.2).
fn is_one_part(range: &str) -> bool {
    range.starts_with("bytes=") && !range.contains(',')
}

fn requested_timeout(
    request_timeout: Option<&HeaderValue>,
    preferred_wait: Option<u64>,
) -> Result<Option<RequestedTimeout>, Problem> {
    if let Some(value) = request_timeout {
        let seconds = value.to_str().ok().and_then(whole_seconds).ok_or_else(|| {
            problem::BAD_REQUEST
                .with_detail("The header Request-Timeout must be a whole number of seconds, at least 1.")
        })?;
        return Ok(Some(RequestedTimeout { seconds, is_preference: false }));
    }
    Ok(preferred_wait.map(|seconds| RequestedTimeout { seconds, is_preference: true }))
}

/// The seconds of the preference `wait` in a line of the header `Prefer`. The name may be in upper
/// or lower case, and the value in quotes (RFC 7240, section 2).
fn wait_in(line: &str) -> Option<u64> {
    line.split([',', ';']).find_map(|one| {
        let (name, value) = one.split_once('=')?;
        let value = value.trim();
        let value = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value);
        name.trim().eq_ignore_ascii_case("wait").then(|| whole_seconds(value)).flatten()
    })
}

/// A number of whole seconds, at least 1.
fn whole_seconds(text: &str) -> Option<u64> {
    text.trim().parse().ok().filter(|seconds| *seconds > 0)
}

/// The longest time that a caller is ready to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestedTimeout {
    /// Whole seconds, as the header has them.
    pub seconds: u64,
    /// `true` if it is a preference, and the answer says that the gateway has applied it.
    pub is_preference: bool,
}

impl RequestedTimeout {
    /// The header that it comes from.
    pub fn header(self) -> &'static str {
        if self.is_preference { "Prefer" } else { "Request-Timeout" }
    }

    /// The value of `Preference-Applied` (RFC 7240, section 3). `None` if it is not a preference.
    pub fn applied(self) -> Option<HeaderValue> {
        self.is_preference.then(|| HeaderValue::try_from(format!("wait={}", self.seconds)).ok()).flatten()
    }
}

/// The integration that a call names. `None` if the header is missing.
///
/// # Errors
/// 422 if the header is empty or repeated: the gateway must not guess what the caller means. 400 if
/// it is not UTF-8.
pub fn user_identifier(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let mut values = headers.get_all(&USER_IDENTIFIER).iter();
    let Some(value) = values.next() else { return Ok(None) };
    named(value, values.next().is_some()).map(Some)
}

/// The reason of a change, for the audit. `None` if the header is missing.
///
/// # Errors
/// 422 if the header is empty, repeated or too long, or if it is not a line of UTF-8: what the
/// audit keeps must be what the caller has written.
pub fn reason(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let mut values = headers.get_all(&REASON).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let invalid = |detail: &str| Err(invalid_header("X-Reason", detail));
    if values.next().is_some() {
        return invalid("is there more than once; give one reason");
    }
    let Ok(text) = std::str::from_utf8(value.as_bytes()) else {
        return invalid("is not UTF-8; send it as UTF-8");
    };
    match text.trim() {
        "" => invalid("is empty; give a reason, or leave the header out"),
        text if text.contains(is_hidden) => {
            invalid("has control or format characters; give the reason in one line of visible text")
        }
        text if text.chars().count() > MAX_REASON => invalid(&format!("has more than {MAX_REASON} characters")),
        text => Ok(Some(text)),
    }
}

fn named(value: &HeaderValue, is_repeated: bool) -> Result<&str, Problem> {
    if is_repeated {
        return Err(invalid_header("X-User-Identifier", "is there more than once; name one integration"));
    }
    let named = std::str::from_utf8(value.as_bytes()).map_err(|_| {
        problem::BAD_REQUEST.with_detail("The header X-User-Identifier is not UTF-8; send it as UTF-8.")
    })?;
    match named.trim() {
        "" => Err(invalid_header("X-User-Identifier", "is empty; name an integration, or leave the header out")),
        named => Ok(named),
    }
}

/// The problem of a header whose value is not valid. `detail` follows its name.
fn invalid_header(name: &str, detail: &str) -> Problem {
    let detail = format!("The header {name} {detail}.");
    let error = json!({"pointer": pointer::of(name), "detail": detail});
    problem::VALIDATION.with_detail(detail).with("errors", vec![error])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_one_line_of_bounded_length() {
        let of = |values: &[&[u8]]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(REASON, HeaderValue::from_bytes(value).unwrap());
            }
            reason(&headers).map(|reason| reason.map(str::to_owned)).map_err(|problem| problem.detail().to_owned())
        };
        assert_eq!(of(&[]), Ok(None));
        assert_eq!(of(&[" Überprüfung ".as_bytes()]), Ok(Some("Überprüfung".to_owned())));
        assert_eq!(of(&["é".repeat(500).as_bytes()]).unwrap().unwrap().chars().count(), 500);
        for values in [
            &[&b"a"[..], b"b"][..],
            &[b" "],
            &[b"\xff"],
            &["\u{85}".as_bytes()],
            &["é".repeat(501).as_bytes()],
            &[b"a\tb"],
        ] {
            assert!(of(values).unwrap_err().contains("X-Reason"), "{values:?}");
        }
    }

    fn parsed(lines: &[(&'static str, &'static str)]) -> CallHeaders {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        CallHeaders::parse(&headers).unwrap_or_else(|_| panic!("{lines:?}"))
    }

    #[test]
    fn all_lines_of_accept_count() {
        let accepted = parsed(&[("accept", "application/json"), ("accept", "application/pdf, */*;q=0.1")]).accept;
        assert_eq!(accepted.as_deref(), Some("application/json, application/pdf, */*;q=0.1"));
        assert_eq!(parsed(&[("accept", "text/plain")]).accept.as_deref(), Some("text/plain"));
        assert_eq!(parsed(&[]).accept, None);
    }

    #[test]
    fn a_range_is_one_part_of_a_file_in_bytes() {
        for (range, is_taken) in [
            ("bytes=0-9", true),
            ("bytes=-5", true),
            ("bytes=0-1,4-5", false),
            ("bytes=0-1, -1", false),
            ("rows=1-2", false),
        ] {
            assert_eq!(parsed(&[("range", range)]).range.is_some(), is_taken, "{range}");
        }
    }

    fn timeout_of(name: &'static str, value: &'static str) -> Result<Option<RequestedTimeout>, ()> {
        let headers = HeaderMap::from_iter([(HeaderName::from_static(name), HeaderValue::from_static(value))]);
        CallHeaders::parse(&headers).map(|call_headers| call_headers.requested_timeout).map_err(drop)
    }

    #[test]
    fn all_lines_of_prefer_count() {
        for lines in [["wait=7", "respond-async"], ["respond-async", "wait=7"]] {
            let headers = lines.map(|line| ("prefer", line));
            let timeout = parsed(&headers).requested_timeout;
            assert_eq!(timeout, Some(RequestedTimeout { seconds: 7, is_preference: true }), "{lines:?}");
        }
    }

    #[test]
    fn the_time_that_a_caller_waits_is_read_from_both_headers() {
        let preference = |seconds| Ok(Some(RequestedTimeout { seconds, is_preference: true }));
        assert_eq!(timeout_of("prefer", "wait=7"), preference(7));
        assert_eq!(timeout_of("prefer", "respond-async, wait=10"), preference(10));
        assert_eq!(timeout_of("prefer", "Wait = \"10\", respond-async"), preference(10));
        for ignored in ["respond-async", "wait=soon", "wait=0", "wait=-1", "wait", "wait=\"", "await=5", ""] {
            assert_eq!(timeout_of("prefer", ignored), Ok(None), "{ignored}");
        }
        assert_eq!(timeout_of("request-timeout", "5"), Ok(Some(RequestedTimeout { seconds: 5, is_preference: false })));
        for wrong in ["", "0", "1.5", "soon", "-3"] {
            assert_eq!(timeout_of("request-timeout", wrong), Err(()), "{wrong}");
        }
        assert_eq!(timeout_of("accept", "text/plain"), Ok(None));
    }
}
