//! Headers of an upstream's response that the gateway forwards to the caller, under other names.

use hyper::header::{HeaderMap, HeaderName, HeaderValue};

const LINK: HeaderName = HeaderName::from_static("x-upstream-link");
const REQUEST_ID: HeaderName = HeaderName::from_static("x-upstream-request-id");

/// The headers of an upstream, and the names under which they are forwarded. All spellings of one
/// header have one name.
const RENAMED: [(&[&str], &str); 5] = [
    (&["x-ratelimit-limit", "x-rate-limit-limit", "ratelimit-limit"], "x-upstream-ratelimit-limit"),
    (&["x-ratelimit-remaining", "x-rate-limit-remaining", "ratelimit-remaining"], "x-upstream-ratelimit-remaining"),
    (&["x-ratelimit-reset", "x-rate-limit-reset", "ratelimit-reset"], "x-upstream-ratelimit-reset"),
    (&["ratelimit"], "x-upstream-ratelimit"),
    (&["ratelimit-policy"], "x-upstream-ratelimit-policy"),
];

/// Calls `add` for each header that is forwarded.
pub(super) fn each(headers: &HeaderMap, mut add: impl FnMut(HeaderName, HeaderValue)) {
    let mut has_request_id = false;
    for (name, value) in headers {
        let text = name.as_str();
        if text == "link" {
            // If paging is by headers only, this is the way to the next page.
            add(LINK, value.clone());
        } else if text.contains("rate") {
            if let Some((_, renamed)) = RENAMED.iter().find(|(names, _)| names.contains(&text)) {
                add(HeaderName::from_static(renamed), value.clone());
            }
        } else if !has_request_id && (text.ends_with("request-id") || text.ends_with("req-id")) {
            has_request_id = true;
            add(REQUEST_ID, value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_links_and_the_request_id_are_forwarded_and_nothing_else() {
        let given = [
            ("X-RateLimit-Remaining", "7"),
            ("X-Rate-Limit-Reset", "60"),
            ("RateLimit-Policy", "\"a\";q=5"),
            ("X-Service-Request-Id", "r-1"),
            ("Request-Id", "r-2"),
            ("Link", "<https://api.example/?page=2>; rel=\"next\""),
            ("Set-Cookie", "a=b"),
            ("X-Rate-Plan", "gold"),
        ];
        let mut headers = HeaderMap::new();
        for (name, value) in given {
            headers.append(HeaderName::try_from(name).unwrap(), HeaderValue::from_static(value));
        }
        let mut forwarded = Vec::new();
        each(&headers, |name, value| forwarded.push(format!("{name}: {}", value.to_str().unwrap())));
        forwarded.sort();
        assert_eq!(
            forwarded,
            [
                "x-upstream-link: <https://api.example/?page=2>; rel=\"next\"",
                "x-upstream-ratelimit-policy: \"a\";q=5",
                "x-upstream-ratelimit-remaining: 7",
                "x-upstream-ratelimit-reset: 60",
                "x-upstream-request-id: r-1",
            ]
        );
    }
}
