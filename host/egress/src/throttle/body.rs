//! The words about a rate limit in the body of a refusal.

use std::time::Duration;

use serde_json::Value;

use crate::retry_after::until;

/// Codes that say that the same request may succeed later, in lower case and without what is not a
/// letter.
const CODES: [&str; 16] = [
    "activitylimitreached",
    "concurrentlimitexceeded",
    "dailylimitexceeded",
    "quotaexceeded",
    "ratelimit",
    "ratelimited",
    "ratelimiterror",
    "ratelimitexceeded",
    "requestlimitexceeded",
    "resourceexhausted",
    "sharingratelimitexceeded",
    "throttled",
    "throttledrequest",
    "throttlingexception",
    "toomanyrequests",
    "userratelimitexceeded",
];

/// The members of a body that may have such a code.
const CODE_POINTERS: [&str; 9] = [
    "/error",
    "/code",
    "/type",
    "/errorCode",
    "/__type",
    "/error/code",
    "/error/status",
    "/error/type",
    "/error/innerError/code",
];

/// The members of a body that may be lists of errors, and the members of an error that may have
/// such a code.
const LIST_POINTERS: [&str; 4] = ["/error/errors", "/error/details", "/errors", ""];
const LISTED_CODES: [&str; 4] = ["reason", "code", "errorCode", "type"];

/// The members of a body that may have a message.
const MESSAGE_POINTERS: [&str; 4] = ["/error/message", "/message", "/error_description", "/detail"];

/// Words of a message that say the same, in lower case.
const PHRASES: [&str; 4] =
    ["rate limit exceeded", "exceeded a secondary rate limit", "abuse detection mechanism", "too many requests"];

/// The members of a body that may have the time of the next attempt.
const DELAY_POINTERS: [&str; 4] =
    ["/retry_after", "/parameters/retry_after", "/error/retry_after", "/error/retryAfterSeconds"];

/// The words of a message before the time of the next attempt, as in
/// `Retry after 2026-03-02T10:00:00.000Z`.
const RETRY_AFTER_WORDS: &str = "retry after ";

/// The type of a detail that has the time of the next attempt (`rpc.RetryInfo`).
const RETRY_INFO: &str = "rpc.RetryInfo";

/// The body of a refusal: JSON, or text as a JSON string.
pub struct Refusal(Value);

impl Refusal {
    /// Reads a body.
    pub fn read(body: &[u8]) -> Self {
        let json = serde_json::from_slice(json_text::without_mark(body));
        Self(json.unwrap_or_else(|_| String::from_utf8_lossy(body).into()))
    }

    /// Returns `true` if services send this status for a rate limit, and for other refusals too.
    pub fn may_be_rate_limit(status: u16) -> bool {
        matches!(status, 400 | 403)
    }

    /// Returns `true` if the body says that the refusal is a rate limit.
    pub fn is_rate_limit(&self) -> bool {
        self.codes().any(is_code) || self.delay_in_details().is_some() || self.messages().any(is_phrase)
    }

    /// The time after which the next attempt may succeed, if the body says so.
    pub fn retry_after(&self) -> Option<Duration> {
        let in_members = || DELAY_POINTERS.iter().find_map(|pointer| until_value(self.0.pointer(pointer)?));
        let in_messages = || self.messages().find_map(until_named_time);
        self.delay_in_details().or_else(in_members).or_else(in_messages)
    }

    fn codes(&self) -> impl Iterator<Item = &str> {
        let members = CODE_POINTERS.iter().filter_map(|pointer| self.0.pointer(pointer));
        let listed = self.listed().flat_map(|error| LISTED_CODES.iter().filter_map(|name| error.get(name)));
        members.chain(listed).filter_map(Value::as_str)
    }

    /// The errors that the body lists.
    fn listed(&self) -> impl Iterator<Item = &Value> {
        LIST_POINTERS.iter().filter_map(|pointer| self.0.pointer(pointer)?.as_array()).flatten()
    }

    fn messages(&self) -> impl Iterator<Item = &str> {
        let members = MESSAGE_POINTERS.iter().filter_map(|pointer| self.0.pointer(pointer)?.as_str());
        self.0.as_str().into_iter().chain(members)
    }

    fn delay_in_details(&self) -> Option<Duration> {
        let is_retry_info = |detail: &&Value| {
            detail.get("@type").and_then(Value::as_str).is_some_and(|name| name.ends_with(RETRY_INFO))
        };
        self.listed().filter(is_retry_info).find_map(|detail| until_value(detail.get("retryDelay")?))
    }
}

fn is_code(code: &str) -> bool {
    let letters: String = code.chars().filter(char::is_ascii_alphabetic).collect();
    CODES.contains(&letters.to_ascii_lowercase().as_str())
}

fn is_phrase(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    PHRASES.iter().any(|phrase| message.contains(phrase))
}

fn until_value(value: &Value) -> Option<Duration> {
    match value {
        Value::String(text) => until(text),
        Value::Number(number) => until(&number.to_string()),
        _ => None,
    }
}

/// The time until the instant that a message names.
fn until_named_time(message: &str) -> Option<Duration> {
    let place = message.to_ascii_lowercase().find(RETRY_AFTER_WORDS)? + RETRY_AFTER_WORDS.len();
    let time = message.get(place..)?.split_whitespace().next()?;
    until(time.trim_end_matches(['.', ',', ';']))
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use serde_json::json;

    use super::*;

    fn refusal(body: &Value) -> Refusal {
        Refusal::read(body.to_string().as_bytes())
    }

    #[test]
    fn a_rate_limit_is_found_by_the_words_of_services() {
        for reason in [
            "rateLimitExceeded",
            "userRateLimitExceeded",
            "sharingRateLimitExceeded",
            "quotaExceeded",
            "dailyLimitExceeded",
            "RATE_LIMIT_EXCEEDED",
        ] {
            for list in ["errors", "details"] {
                let body = json!({"error": {"code": 403, list: [{"domain": "usageLimits", "reason": reason}]}});
                assert!(refusal(&body).is_rate_limit(), "{body}");
            }
        }
        for body in [
            json!({"error": {"code": 403, "status": "RESOURCE_EXHAUSTED", "message": "No."}}),
            json!({"error": {"code": 403, "details": [
                {"@type": "type.example/rpc.RetryInfo", "retryDelay": "3s"}
            ]}}),
            json!({"error": "rateLimitExceeded"}),
            json!({"ok": false, "error": "ratelimited"}),
            json!({"error": {"code": "activityLimitReached"}}),
            json!({"__type": "ThrottlingException", "message": "Rate exceeded"}),
            json!([{"errorCode": "REQUEST_LIMIT_EXCEEDED", "message": "TotalRequests Limit exceeded."}]),
            json!({"errors": [{"type": "RATE_LIMITED", "message": "Wait."}]}),
            json!({"message": "API rate limit exceeded for user ID 1.", "documentation_url": "https://docs.test"}),
            json!({"message": "You have exceeded a secondary rate limit. Please wait a few minutes."}),
            json!("Too Many Requests"),
        ] {
            assert!(refusal(&body).is_rate_limit(), "{body}");
        }
        assert!(Refusal::read(b"<h1>Rate Limit Exceeded</h1>").is_rate_limit());
    }

    #[test]
    fn other_refusals_are_no_rate_limits() {
        for body in [
            json!({"error": {"code": 403, "errors": [{"domain": "calendar", "reason": "forbidden"}]}}),
            json!({"error": {"code": 403, "errors": [{"domain": "global", "reason": "storageQuotaExceeded"}]}}),
            json!({"error": {"errors": {"reason": "quotaExceeded"}}}),
            json!({"message": "You may not change the rate limit of this key."}),
            json!({"error": "missing_scope"}),
            json!([]),
        ] {
            assert!(!refusal(&body).is_rate_limit(), "{body}");
        }
        assert!(!Refusal::read(b"").is_rate_limit());
    }

    #[test]
    fn a_body_may_name_the_time_of_the_next_attempt() {
        let info = |delay: &str| {
            json!({"error": {"details": [
                {"@type": "type.example/rpc.ErrorInfo", "reason": "RATE_LIMIT_EXCEEDED"},
                {"@type": "type.example/rpc.RetryInfo", "retryDelay": delay}
            ]}})
        };
        for (body, seconds) in [
            (info("30s"), Some(30.0)),
            (info("3.5s"), Some(3.5)),
            (info("soon"), None),
            (json!({"retry_after": 0.5}), Some(0.5)),
            (json!({"parameters": {"retry_after": 7}}), Some(7.0)),
            (json!({"message": "Retry after 12 seconds"}), Some(12.0)),
            (json!({"retry_after": -1}), None),
            (json!({"error": "ratelimited"}), None),
        ] {
            assert_eq!(refusal(&body).retry_after(), seconds.map(Duration::from_secs_f64), "{body}");
        }
    }

    #[test]
    fn a_message_may_name_the_time_of_the_next_attempt() {
        let until = |message: &str| refusal(&json!({"error": {"message": message}})).retry_after();
        let soon = humantime::format_rfc3339_millis(SystemTime::now() + Duration::from_secs(100));
        for end in [" (Mail sending)", ".", ""] {
            let delay = until(&format!("User-rate limit exceeded.  Retry after {soon}{end}"));
            assert!(delay.is_some_and(|delay| (90..=100).contains(&delay.as_secs())), "{delay:?}");
        }
        assert_eq!(until("Retry after 2015-06-16T14:54:06.105Z"), Some(Duration::ZERO));
        for message in ["User-rate limit exceeded.", "Retry after a while", "Retry after "] {
            assert_eq!(until(message), None, "{message}");
        }
    }
}
