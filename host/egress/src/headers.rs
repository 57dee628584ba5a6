//! The headers that a request may have.

use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, ACCEPT_LANGUAGE, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, IF_MATCH,
    IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, RANGE, USER_AGENT,
};

use super::error::EgressError;
use contract_rules::header::is_reserved;
use contract_rules::limit;

/// Headers that have passed the rules.
#[derive(Clone, Debug, Default)]
pub struct Headers(HeaderMap);

/// Headers that a request keeps when a redirect leads to another origin. They describe the body and
/// the wanted response, and cannot be a key.
const PORTABLE: [HeaderName; 10] = [
    ACCEPT,
    ACCEPT_LANGUAGE,
    CONTENT_TYPE,
    IF_MATCH,
    IF_MODIFIED_SINCE,
    IF_NONE_MATCH,
    IF_RANGE,
    IF_UNMODIFIED_SINCE,
    RANGE,
    USER_AGENT,
];

impl Headers {
    /// The headers of a connector's request. `Accept-Encoding` is left out, because the gateway
    /// decodes responses itself.
    ///
    /// # Errors
    /// `InvalidRequest` for too many headers, a reserved or malformed name, or a value with CR, LF
    /// or NUL.
    pub fn untrusted<N, V>(pairs: impl IntoIterator<Item = (N, V)>) -> Result<Self, EgressError>
    where
        N: AsRef<str>,
        V: AsRef<str>,
    {
        let mut headers = HeaderMap::new();
        for (count, (name, value)) in pairs.into_iter().enumerate() {
            if count == limit::HEADERS {
                return Err(EgressError::invalid(format!("a request has at most {} headers", limit::HEADERS)));
            }
            let text = name.as_ref();
            let name = HeaderName::from_bytes(text.as_bytes())
                .map_err(|_| EgressError::invalid(format!("{text:?} is not a header name")))?;
            if is_reserved(name.as_str()) {
                return Err(EgressError::invalid(format!("the header `{name}` is set by the gateway: leave it out")));
            }
            // Bytes beyond ASCII are sent unchanged: RFC 9110, section 5.5, calls them opaque data.
            let value = HeaderValue::from_bytes(value.as_ref().as_bytes()).map_err(|_| {
                EgressError::invalid(format!("the header `{name}` has a control character such as CR, LF or NUL"))
            })?;
            if name != ACCEPT_ENCODING {
                headers.append(name, value);
            }
        }
        Ok(Self(headers))
    }

    /// Headers that the gateway composed itself, without checks.
    pub fn trusted(headers: HeaderMap) -> Self {
        Self(headers)
    }

    /// The headers.
    pub fn map(&self) -> &HeaderMap {
        &self.0
    }
}

/// The headers of a request that may be sent to another origin than the one it was made for.
pub(super) fn portable(headers: &HeaderMap) -> HeaderMap {
    let mut kept = HeaderMap::new();
    for name in PORTABLE {
        for value in headers.get_all(&name) {
            kept.append(name.clone(), value.clone());
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::{EgressError, Headers, limit};

    fn refusal(name: &str, value: &str) -> String {
        match Headers::untrusted([(name, value)]) {
            Err(EgressError::InvalidRequest { detail }) => detail,
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn headers_of_the_gateway_are_refused_in_any_case_and_named() {
        let names = "Host AUTHORIZATION cookie Content-Length Transfer-Encoding Connection Keep-Alive TE Trailer Upgrade \
                     Proxy-Authorization proxy-connection Expect Via Forwarded X-Forwarded-For x-forwarded-anything X-Real-IP \
                     X-HTTP-Method-Override x_http_method_override X_Forwarded-Host X-Method-Override \
                     X-HTTP-Method X-Original-URL X-Rewrite-URL";
        for name in names.split_whitespace() {
            let detail = refusal(name, "x");
            assert!(detail.contains(&name.to_lowercase()) && detail.contains("set by the gateway"), "{name}: {detail}");
        }
    }

    #[test]
    fn control_characters_are_refused() {
        for value in ["a\r\nHost: evil", "a\nb", "a\rb", "a\0b", "\u{7f}"] {
            assert!(refusal("x-a", value).contains("x-a"), "{value:?}");
        }
        for name in ["x\r\ny", "x y", "x:y", "", "ä", "x\0"] {
            assert!(refusal(name, "v").contains("not a header name"), "{name:?}");
        }
    }

    #[test]
    fn at_most_64_headers_are_taken() {
        let pairs = |count| (0..count).map(|number| (format!("x-{number}"), "v"));
        assert_eq!(Headers::untrusted(pairs(limit::HEADERS)).unwrap().map().len(), limit::HEADERS);
        assert!(Headers::untrusted(pairs(limit::HEADERS + 1)).is_err());
    }

    #[test]
    fn ordinary_headers_pass_with_their_duplicates() {
        let headers =
            Headers::untrusted([("Accept", "a"), ("accept", "b"), ("X-Name", "Jörg"), ("Accept-Encoding", "br")])
                .unwrap();
        assert_eq!(headers.map().get_all("accept").iter().count(), 2);
        assert_eq!(headers.map().get("x-name").unwrap().as_bytes(), "Jörg".as_bytes());
        assert!(!headers.map().contains_key("accept-encoding"), "the gateway decodes responses itself");
    }
}
