//! Headers that a connector may send.

use crate::{Broken, ensure};

/// Headers that the gateway or HTTP itself sets, in lower case. They decide where a request ends,
/// which server it reaches, and which user it belongs to. Some services take the method or the URL
/// of a request from such a header, so that it would do something else than the gateway checked.
const RESERVED: [&str; 21] = [
    "authorization",
    "connection",
    "content-length",
    "cookie",
    "cookie2",
    "expect",
    "forwarded",
    "host",
    "http2-settings",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "x-original-url",
    "x-real-ip",
    "x-rewrite-url",
];

/// Prefixes of headers that proxies use.
const RESERVED_PREFIXES: [&str; 2] = ["proxy-", "x-forwarded-"];

/// Headers that say how a body is to be read. A user's key must not replace them.
const ABOUT_BODIES: [&str; 3] = ["accept-encoding", "content-encoding", "content-type"];

/// Returns `true` if the gateway sets a header, so that a connector cannot. The case of the name
/// does not matter, and `_` is the same as `-`, because some servers take both for one name.
#[must_use]
pub fn is_reserved(name: &str) -> bool {
    let same = |byte: u8, known: u8| byte.eq_ignore_ascii_case(&known) || (byte == b'_' && known == b'-');
    let begins = |prefix: &str| {
        let start = name.as_bytes().get(..prefix.len());
        start.is_some_and(|start| start.iter().zip(prefix.bytes()).all(|(byte, known)| same(*byte, known)))
    };
    RESERVED.iter().any(|known| known.len() == name.len() && begins(known))
        || RESERVED_PREFIXES.iter().any(|prefix| begins(prefix))
}

/// The name of a header of a notification, which the gateway reads.
///
/// # Errors
/// The form of a header name.
pub fn read(name: &str) -> Result<(), Broken> {
    form(name)
}

/// The name of a header in a connector's request.
///
/// # Errors
/// The form of a header name, or that the gateway sets this header.
pub fn name(name: &str) -> Result<(), Broken> {
    form(name)?;
    ensure(!is_reserved(name), "the gateway sets this header itself; leave it out")
}

/// The value of a header in a connector's request.
///
/// # Errors
/// That the value has CR, LF, NUL or another control character.
pub fn value(value: &str) -> Result<(), Broken> {
    ensure(
        !value.bytes().any(|byte| byte.is_ascii_control() && byte != b'\t'),
        "the value of a header has no CR, LF, NUL or other control character",
    )
}

/// The name of the header that carries a user's key.
///
/// # Errors
/// The form of a header name, or that the gateway sets this header.
pub fn key(name: &str) -> Result<(), Broken> {
    form(name)?;
    let own = is_reserved(name) || ABOUT_BODIES.iter().any(|known| name.eq_ignore_ascii_case(known));
    ensure(
        !own || name.eq_ignore_ascii_case("authorization"),
        "the gateway sets this header itself, so it cannot hold a key",
    )
}

/// A token (RFC 9110, section 5.6.2).
fn form(name: &str) -> Result<(), Broken> {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    ensure(
        !name.is_empty() && name.bytes().all(legal),
        "the name of a header consists of letters, digits and ``!#$%&'*+-.^_`|~``",
    )
}

#[cfg(test)]
mod tests {
    use super::{key, name, read, value};

    #[test]
    fn headers_of_the_gateway_are_refused_in_any_case() {
        let names = "Host AUTHORIZATION cookie Content-Length Transfer-Encoding Connection Keep-Alive TE Trailer Upgrade \
                     Proxy-Authorization proxy-connection Expect Via Forwarded X-Forwarded-For x-forwarded-anything X-Real-IP";
        for reserved in names.split_whitespace() {
            assert!(name(reserved).is_err_and(|broken| broken.rule().contains("sets this header")), "{reserved}");
        }
        for free in ["Accept", "content-type", "X-Proxy", "prox"] {
            assert!(name(free).is_ok(), "{free}");
        }
    }

    #[test]
    fn names_are_tokens() {
        for wrong in ["", "two words", "x:y", "x\r\ny", "ä", "x\0"] {
            assert!(name(wrong).is_err() && key(wrong).is_err() && read(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_key_goes_into_no_header_that_frames_routes_or_describes_a_request() {
        let names = "Host content-length Transfer-Encoding connection keep-alive TE trailer upgrade cookie Expect via \
                     forwarded X-Forwarded-For proxy-authorization Content-Type content-encoding Accept-Encoding";
        for reserved in names.split_whitespace() {
            assert!(key(reserved).is_err(), "{reserved}");
        }
        for free in ["X-Api-Key", "Authorization", "authorization", "apikey"] {
            assert!(key(free).is_ok() && read(free).is_ok(), "{free}");
        }
    }

    #[test]
    fn values_have_no_control_characters() {
        assert!(value("a\tb ü").is_ok());
        for wrong in ["a\r\nHost: evil", "a\nb", "a\0b", "\u{7f}"] {
            assert!(value(wrong).is_err(), "{wrong:?}");
        }
    }
}
