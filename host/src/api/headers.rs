//! Headers that several routes read.

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::json;

use super::problem::{self, Problem};
use contract::pointer;

/// Names the integration that a call runs on.
const USER_IDENTIFIER: HeaderName = HeaderName::from_static("x-user-identifier");

/// The headers that change how an operation is answered. One pass over the headers of a call finds them, so that an absent one costs
/// nothing.
#[derive(Default)]
pub(super) struct Wishes<'a> {
    accept: Option<&'a HeaderValue>,
    user_identifier: Option<&'a HeaderValue>,
    is_user_identifier_repeated: bool,
    prefer: Option<&'a HeaderValue>,
    request_timeout: Option<&'a HeaderValue>,
    range: Option<&'a HeaderValue>,
    debug: Option<&'a HeaderValue>,
}

impl<'a> Wishes<'a> {
    /// Finds the headers.
    pub(super) fn of(headers: &'a HeaderMap) -> Self {
        let mut wishes = Self::default();
        for (name, value) in headers {
            match name.as_str() {
                "accept" => wishes.accept = wishes.accept.or(Some(value)),
                "x-user-identifier" => {
                    wishes.is_user_identifier_repeated = wishes.user_identifier.replace(value).is_some();
                }
                "prefer" => wishes.prefer = Some(value),
                "request-timeout" => wishes.request_timeout = Some(value),
                "range" => wishes.range = Some(value),
                "x-debug" => wishes.debug = Some(value),
                _ => {}
            }
        }
        wishes
    }

    /// The media types that the caller takes.
    pub(super) fn accept(&self) -> Option<&'a str> {
        self.accept?.to_str().ok()
    }

    /// The part of a file that the caller wants.
    pub(super) fn range(&self) -> Option<&'a str> {
        self.range?.to_str().ok().filter(|range| range.starts_with("bytes="))
    }

    /// Returns `true` if the caller wants to know why a connector trapped. Only a caller with the scope `admin` is told.
    pub(super) fn wants_debug(&self) -> bool {
        self.debug.is_some_and(|value| value == "1")
    }

    /// See [`user_identifier`].
    pub(super) fn user_identifier(&self) -> Result<Option<&'a str>, Problem> {
        self.user_identifier.map_or(Ok(None), |value| named(value, self.is_user_identifier_repeated).map(Some))
    }

    /// The longest time that the caller waits: `Request-Timeout`, else the preference `wait` (RFC 7240, section 4.3).
    ///
    /// # Errors
    /// 400 if `Request-Timeout` is not a number of seconds. A preference that cannot be read is ignored, as RFC 7240 says.
    pub(super) fn patience(&self) -> Result<Option<Patience>, Problem> {
        let seconds = |text: &str| text.trim().parse::<u64>().ok().filter(|seconds| *seconds > 0);
        if let Some(value) = self.request_timeout {
            let seconds = value.to_str().ok().and_then(seconds).ok_or_else(|| {
                problem::BAD_REQUEST
                    .because("The header Request-Timeout must be a whole number of seconds, at least 1.")
            })?;
            return Ok(Some(Patience { seconds, is_preference: false }));
        }
        let preferences = self.prefer.and_then(|value| value.to_str().ok()).unwrap_or_default();
        let wait = preferences.split([',', ';']).find_map(|one| seconds(one.trim().strip_prefix("wait=")?));
        Ok(wait.map(|seconds| Patience { seconds, is_preference: true }))
    }
}

/// The longest time that a caller waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Patience {
    pub(super) seconds: u64,
    /// `true` if the answer says that the gateway has applied it.
    pub(super) is_preference: bool,
}

/// The integration that a call names. `None` if the header is missing.
///
/// # Errors
/// 422 if the header is empty or repeated: the gateway must not guess what the caller means. 400 if it is not UTF-8.
pub(super) fn user_identifier(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let mut values = headers.get_all(&USER_IDENTIFIER).iter();
    let Some(value) = values.next() else { return Ok(None) };
    named(value, values.next().is_some()).map(Some)
}

fn named(value: &HeaderValue, is_repeated: bool) -> Result<&str, Problem> {
    if is_repeated {
        return Err(invalid_header("X-User-Identifier", "is there more than once; name one integration"));
    }
    let named = std::str::from_utf8(value.as_bytes())
        .map_err(|_| problem::BAD_REQUEST.because("The header X-User-Identifier is not UTF-8; send it as UTF-8."))?;
    match named.trim() {
        "" => Err(invalid_header("X-User-Identifier", "is empty; name an integration, or leave the header out")),
        named => Ok(named),
    }
}

/// The problem of a header whose value is not valid. `detail` follows its name.
fn invalid_header(name: &str, detail: &str) -> Problem {
    let detail = format!("The header {name} {detail}.");
    let error = json!({"pointer": pointer::of(name), "detail": detail});
    problem::VALIDATION.because(detail).with("errors", vec![error])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patience(name: &'static str, value: &'static str) -> Result<Option<Patience>, ()> {
        let headers = HeaderMap::from_iter([(HeaderName::from_static(name), HeaderValue::from_static(value))]);
        Wishes::of(&headers).patience().map_err(drop)
    }

    #[test]
    fn the_time_that_a_caller_waits_is_read_from_both_headers() {
        let preference = |seconds| Ok(Some(Patience { seconds, is_preference: true }));
        assert_eq!(patience("prefer", "wait=7"), preference(7));
        assert_eq!(patience("prefer", "respond-async, wait=10"), preference(10));
        for ignored in ["respond-async", "wait=soon", "wait=0", "wait=-1", ""] {
            assert_eq!(patience("prefer", ignored), Ok(None), "{ignored}");
        }
        assert_eq!(patience("request-timeout", "5"), Ok(Some(Patience { seconds: 5, is_preference: false })));
        for wrong in ["", "0", "1.5", "soon", "-3"] {
            assert_eq!(patience("request-timeout", wrong), Err(()), "{wrong}");
        }
        assert_eq!(patience("accept", "text/plain"), Ok(None));
    }
}
