//! Parameters and headers that several operations share.

use serde_json::{Value, json};

use endpoint::{headers, idempotency};

/// The component `parameters`.
pub(super) fn parameters() -> Value {
    let header = |name: &str, schema: Value, description: &str| json!({"name": name, "in": "header", "required": false, "schema": schema, "description": description});
    let text = || json!({"type": "string"});
    json!({
        "UserIdentifier": header(
            // Not blank.
            "X-User-Identifier", json!({"type": "string", "minLength": 1, "pattern": r"\S"}),
            "The integration to run on, as UTF-8; without it the selected one, else the only one. An empty or repeated header is \
             refused. Clients that send no UTF-8 in headers, such as `fetch`, select such an integration by its path.",
        ),
        // Without examples: pages that try calls would send them.
        "Prefer": header("Prefer", text(), "`wait=10` ends the call after 10 seconds at most (RFC 7240)."),
        "RequestTimeout": header(
            "Request-Timeout", json!({"type": "integer", "minimum": 1, "maximum": u32::MAX}), "Ends the call after so many seconds at most.",
        ),
        "Range": header(
            "Range", text(),
            "The part of a file that is wanted as bytes, such as `bytes=0-1023`, where the service has parts (RFC 9110, section 14.2).",
        ),
        "Debug": header(
            "X-Debug", text(),
            "`1` with a key of the scope `admin`: if the connector traps or fails by a defect, the problem's `detail` has the cause, and the last lines of its log.",
        ),
        "IdempotencyKey": header(
            "Idempotency-Key", json!({
                "type": "string", "minLength": 1, "maxLength": idempotency::MAX_KEY_CHARACTERS,
                // Printable ASCII without quotation marks and backslashes. A header loses blanks at
                // both ends.
                "pattern": r"^[!#-\[\]-~]([ !#-\[\]-~]*[!#-\[\]-~])?$",
            }),
            &format!(
                "Makes the call run once, also if it is sent again: a repeat gets the first answer, with `Idempotent-Replayed: true`. \
                 Answers of at most {} bytes are kept for 24 hours. A call that surely did nothing gives its key back.",
                idempotency::MAX_KEPT_BYTES
            ),
        ),
        "Reason": header(
            "X-Reason", json!({"type": "string", "minLength": 1, "maxLength": headers::MAX_REASON, "pattern": r"\S"}),
            "The reason of the change, in one line of UTF-8. It is in the `detail` of the audit's entry.",
        ),
        "IfNoneMatch": header("If-None-Match", text(), "The `ETag` of an earlier answer."),
    })
}

/// References to parameters, by their names among the components.
pub(super) fn parameter_references(names: &[&str]) -> Value {
    names.iter().map(|name| json!({"$ref": format!("#/components/parameters/{name}")})).collect()
}

/// The component `headers`.
pub(super) fn headers() -> Value {
    let header = |description: &str| json!({"description": description, "schema": {"type": "string"}});
    let count = |description: &str| json!({"description": description, "schema": {"type": "integer", "minimum": 0}});
    let one_of = |values: &[&str], description: &str| json!({"description": description, "schema": {"type": "string", "enum": values}});
    json!({
        "RequestId": header("Names the request in the gateway's log. It is the caller's own `X-Request-Id`, if that is short."),
        "ErrorSource": one_of(&["gateway", "connector", "upstream"], "Who found or caused the problem."),
        "RetryAfter": count("Seconds to wait before the call is repeated."),
        "Challenge": header("Says that a Bearer token is needed, and what is wrong with the one that was sent (RFC 6750)."),
        "AcceptEncoding": header("`identity`: the body must not be encoded."),
        "Allow": header("The methods that the path takes."),
        "Location": {"description": "Where the browser goes next.", "schema": {"type": "string", "format": "uri"}},
        "ETag": header("Send it as `If-None-Match` to ask if the document has changed."),
        "ContentEncoding": one_of(
            &["gzip", "zstd"], "The encoding of an answer of text of 1 KiB or more, if `Accept-Encoding` names one of these.",
        ),
        "Vary": header("`Accept-Encoding` if the answer is encoded; `Origin` if a page in a browser may read it."),
        "ContentDisposition": header("The name of a file whose bytes are the answer."),
        "ContentRange": header("The part of the file that this is."),
        "PreferenceApplied": header("`wait=N` if `Prefer` has shortened the call's deadline."),
        "IdempotentReplayed": one_of(&["true"], "There if this is the first answer to a call with the same Idempotency-Key, also if it is a problem."),
        "ResponseFieldsUnmatched": header("The paths in `response_fields` that led nowhere in the whole answer, as a list of strings (RFC 9651). The parameter `nearest` has the path with the nearest member. Longer lists are cut at 2 KiB."),
        "RateLimit": header("The gateway's own rate limit, in answers of 2xx and 429: calls that all gateways have left, as known a few seconds ago (`r`), and seconds until there are more (`t`)."),
        "RateLimitPolicy": header("The gateway's own rate limit, which all gateways share: calls (`q`) in a window of seconds (`w`). Limits of concurrent calls and of memory are those of each gateway."),
        "UpstreamRateLimit": header("The rate limit of the service, as the service says it."),
        "UpstreamRequestId": header("The service's id of the request."),
        "UpstreamLink": header("The header `Link` of the service (RFC 8288), which leads to further pages."),
    })
}
