//! Problems: their schemas, and a response for each status that an operation or a route may have
//! instead of its answer.

use schemars::generate::Contract;
use serde_json::{Map, Value, json};

use super::schemas::reference;
use endpoint::record_schema::schema_generator;
use endpoint::records::{AccountProblem, ChangedProblem, ConflictProblem, Problem, ValidationProblem};

/// Headers of every problem.
const ALWAYS: [(&str, &str); 2] = [REQUEST_ID, ("X-Error-Source", "ErrorSource")];

pub(super) const REQUEST_ID: (&str, &str) = ("X-Request-Id", "RequestId");

const RETRY_AFTER: (&str, &str) = ("Retry-After", "RetryAfter");

/// Headers that pass on what a service says.
pub(super) const UPSTREAM: [(&str, &str); 7] = [
    ("X-Upstream-Request-Id", "UpstreamRequestId"),
    ("X-Upstream-RateLimit", "UpstreamRateLimit"),
    ("X-Upstream-RateLimit-Policy", "UpstreamRateLimit"),
    ("X-Upstream-RateLimit-Limit", "UpstreamRateLimit"),
    ("X-Upstream-RateLimit-Remaining", "UpstreamRateLimit"),
    ("X-Upstream-RateLimit-Reset", "UpstreamRateLimit"),
    ("X-Upstream-Link", "UpstreamLink"),
];

/// Marks a problem that was kept with an idempotency key.
const REPLAYED: (&str, &str) = ("Idempotent-Replayed", "IdempotentReplayed");

/// The gateway's own rate limit of an operation.
pub(super) const RATE_LIMIT: [(&str, &str); 2] = [("RateLimit", "RateLimit"), ("RateLimit-Policy", "RateLimitPolicy")];

/// A response with a problem document.
struct Refusal {
    status: &'static str,
    /// Its name among the components.
    name: &'static str,
    schema: &'static str,
    /// Headers in addition to those that every problem has, each with its name among the
    /// components.
    headers: &'static [&'static [(&'static str, &'static str)]],
    description: &'static str,
}

/// Stands for all statuses that only a service answers with. They are described by `default`, and
/// not by `4XX`, because some generators of clients do not know ranges (orval writes `4XX` as a
/// number).
pub(super) const OF_SERVICE: &str = "of the service";

const REFUSALS: &[Refusal] = &[
    Refusal {
        status: "400",
        name: "BadRequest",
        schema: "Problem",
        headers: &[&[REPLAYED], &UPSTREAM],
        description: "The body is not JSON, or the request breaks a rule of HTTP; or the service says 400 (`upstream`).",
    },
    Refusal {
        status: "401",
        name: "Unauthenticated",
        schema: "Problem",
        headers: &[&[REPLAYED], &[("WWW-Authenticate", "Challenge")], &UPSTREAM],
        description: "There is no valid API key or token; or the service says 401 to a call without an account (`upstream`).",
    },
    Refusal {
        status: "403",
        name: "Forbidden",
        schema: "Problem",
        headers: &[&[REPLAYED], &[("WWW-Authenticate", "Challenge"), RETRY_AFTER], &UPSTREAM],
        description: "The key lacks a scope or is bound to a user; or the connector was not granted a host (`egress-denied`); or \
                      the service says 403 (`upstream`).",
    },
    Refusal {
        status: "404",
        name: "NotFound",
        schema: "Problem",
        headers: &[&[REPLAYED], &UPSTREAM],
        description: "There is no such connector, operation, integration, job, trigger or secret; or the service has no such thing.",
    },
    Refusal {
        status: "409",
        name: "Conflict",
        schema: "ConflictProblem",
        headers: &[&[REPLAYED], &[RETRY_AFTER], &UPSTREAM],
        description: "A conflict with the state of the gateway or of the service, perhaps with `candidates`, or with the `action` that helps; or the first call with \
                      this Idempotency-Key still runs, or its outcome is not known (`outcome`).",
    },
    Refusal {
        status: "410",
        name: "Gone",
        schema: "Problem",
        headers: &[&UPSTREAM],
        description: "What the request needs is no longer kept; or the service says 410.",
    },
    Refusal {
        status: "412",
        name: "ChangedMeanwhile",
        schema: "ChangedProblem",
        headers: &[],
        description: "The connector has another generation than `If-Match` says (`changed-meanwhile`). `generation` is the present one.",
    },
    Refusal {
        status: "413",
        name: "TooLarge",
        schema: "Problem",
        headers: &[&[REPLAYED], &UPSTREAM],
        description: "The body is larger than the gateway's limit, or the service's answer is.",
    },
    Refusal {
        status: "415",
        name: "UnsupportedMediaType",
        schema: "Problem",
        headers: &[&[("Accept-Encoding", "AcceptEncoding")], &UPSTREAM],
        description: "The body is not JSON by its `Content-Type`, or it has a `Content-Encoding`.",
    },
    Refusal {
        status: "422",
        name: "ValidationError",
        schema: "ValidationProblem",
        headers: &[&[REPLAYED], &UPSTREAM],
        description: "Validation Error. `errors` has all violations. Nothing was sent to the service, unless there is \
                      `upstream`: then the service says 422.",
    },
    Refusal {
        status: "424",
        name: "AccountNeeded",
        schema: "AccountProblem",
        headers: &[&[REPLAYED], &UPSTREAM],
        description: "The user must act: `integration-required`, `selection-required` or `reauthorization-required`. `action` says \
                      what to call, and `candidates` which accounts are connected.",
    },
    Refusal {
        status: "429",
        name: "TooManyRequests",
        schema: "Problem",
        headers: &[&[REPLAYED], &[RETRY_AFTER], &RATE_LIMIT, &UPSTREAM],
        description: "A rate limit is used up: one of the gateway, or the service's (`upstream`).",
    },
    Refusal {
        status: "500",
        name: "Failed",
        schema: "Problem",
        headers: &[&[REPLAYED]],
        description: "The connector failed or broke a limit (`connector-failed`, `limit`), or the gateway failed.",
    },
    Refusal {
        status: "502",
        name: "BadGateway",
        schema: "Problem",
        headers: &[&[REPLAYED], &[RETRY_AFTER], &UPSTREAM],
        description: "The service failed (`upstream`), cannot be reached, or sent something that is not understood.",
    },
    Refusal {
        status: "503",
        name: "Unavailable",
        schema: "Problem",
        headers: &[&[REPLAYED], &[RETRY_AFTER]],
        description: "The gateway has too much to do, starts, or is about to stop; or the operator has not set this integration up.",
    },
    Refusal {
        status: "504",
        name: "TimedOut",
        schema: "Problem",
        headers: &[&[REPLAYED], &UPSTREAM],
        description: "The service or the connector did not answer before the call's deadline.",
    },
    Refusal {
        status: "507",
        name: "TenantFull",
        schema: "Problem",
        headers: &[&[REPLAYED], &UPSTREAM],
        description: "The tenant has stored as much as it may (`tenant-full`); or the service says 507 (`upstream`).",
    },
    Refusal {
        status: "default",
        name: "Problem",
        schema: "Problem",
        headers: &[&[("Allow", "Allow"), RETRY_AFTER]],
        description: "Any other problem (RFC 9457), such as 405 with `Allow` for a method that the path does not take.",
    },
    Refusal {
        status: OF_SERVICE,
        name: "Rejected",
        schema: "Problem",
        headers: &[&[REPLAYED], &[("Allow", "Allow"), RETRY_AFTER], &UPSTREAM],
        description: "Any other problem (RFC 9457). With `upstream`, the status is the service's own, and `upstream` has what it said. \
                      405 with `Allow`: the path does not take the method.",
    },
];

/// References to the responses of some statuses, by status. `default` is always among them. It is
/// the response of [`OF_SERVICE`] if that is among the statuses.
pub(super) fn refusals(statuses: &[&str]) -> Map<String, Value> {
    let is_asked = |refusal: &&Refusal| refusal.status == "default" || statuses.contains(&refusal.status);
    let refusals = REFUSALS.iter().filter(is_asked);
    refusals
        .map(|refusal| {
            (
                refusal.status.replace(OF_SERVICE, "default"),
                json!({"$ref": format!("#/components/responses/{}", refusal.name)}),
            )
        })
        .collect()
}

/// The statuses of all problems that an operation may answer with. 424 is one only for connectors
/// whose users connect accounts.
pub(super) fn of_operations(has_accounts: bool) -> Map<String, Value> {
    let statuses = REFUSALS.iter().map(|refusal| refusal.status);
    refusals(&statuses.filter(|status| has_accounts || *status != "424").collect::<Vec<_>>())
}

/// The component `responses`.
pub(super) fn responses() -> Map<String, Value> {
    let response = |refusal: &Refusal| {
        let named = ALWAYS.iter().chain(refusal.headers.iter().copied().flatten());
        json!({
            "description": refusal.description,
            "headers": headers(named.copied()),
            "content": {"application/problem+json": {"schema": reference(refusal.schema)}},
        })
    };
    REFUSALS.iter().map(|refusal| (refusal.name.to_owned(), response(refusal))).collect()
}

/// Headers of a response, from their names and the names of their components.
pub(super) fn headers(named: impl IntoIterator<Item = (&'static str, &'static str)>) -> Value {
    let header = |(name, component): (&str, &str)| {
        (name.to_owned(), json!({"$ref": format!("#/components/headers/{component}")}))
    };
    Value::Object(named.into_iter().map(header).collect())
}

/// The schemas of problem documents.
pub(super) fn schemas() -> Map<String, Value> {
    let mut generator = schema_generator(Contract::Serialize);
    generator.subschema_for::<Problem>();
    generator.subschema_for::<ValidationProblem>();
    generator.subschema_for::<ChangedProblem>();
    generator.subschema_for::<ConflictProblem>();
    generator.subschema_for::<AccountProblem>();
    generator.take_definitions(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use problem::KINDS;

    #[test]
    fn every_status_of_a_problem_has_a_response_of_its_own() {
        let described = of_operations(true);
        for kind in KINDS {
            let status = kind.with_detail("x").into_response("y").status();
            // The path does not take the method, so that no operation of the document answers so.
            if status.as_u16() != 405 {
                assert!(described.contains_key(status.as_str()), "{status}");
            }
        }
        let without_accounts = of_operations(false);
        assert!(!without_accounts.contains_key("424"));
        assert_eq!(without_accounts["default"]["$ref"], "#/components/responses/Rejected");
        assert_eq!(refusals(&["400"])["default"]["$ref"], "#/components/responses/Problem");
    }

    #[test]
    fn a_problem_that_can_be_tried_again_says_when() {
        let responses = responses();
        for name in ["TooManyRequests", "Unavailable", "BadGateway"] {
            assert!(responses[name]["headers"]["Retry-After"].is_object(), "{name}");
        }
    }
}
