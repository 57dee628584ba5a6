//! GET /admin/calls: records of calls.

use hyper::Response;
use percent_encoding::percent_decode_str;
use serde_json::json;

use body::Body;
use contract::Owner;
use endpoint::answer::private_answer;
use endpoint::lists::{Field, Filter, List, PAST, Parse, Values, filter, put, read};
use endpoint::page;
use endpoint::records::{CallPageRecord, CallRecord};
use endpoint::route::HttpCall;
use integrations::Failure;
use problem::{self, Problem, store_problem};
use store::{CallFilter, StoreError};

/// The list of records.
#[derive(Clone, Copy, Debug)]
pub struct Calls;

impl List for Calls {
    type Query = CallFilter;

    const FILTERS: &'static [Filter<CallFilter>] = &[
        filter("status", "Only calls with this status.")
            .such_as("502")
            .parsed(Values::Number(100, 599), |filter, value| put(&mut filter.status, status(value).map(Some))),
        filter("failed", "Only calls that ended with a problem.").only_true(|filter| filter.failed = true),
        filter("problem", "Only calls that ended with this problem: the last part of its `type`.")
            .such_as("upstream-failed")
            .text(|filter| &mut filter.problem),
        filter("owner", "Only calls whose problem this one can solve.")
            .schema("ProblemOwner")
            .one_of(|| Owner::ALL.map(Owner::name).into(), |filter, name| filter.owner = Some(name.to_owned())),
        filter("tenant", "Only calls of this tenant.").text(|filter| &mut filter.tenant),
        filter("subject", "Only calls of this user. Empty for those without a user.")
            .rare()
            .text(|filter| &mut filter.subject),
        filter("user_identifier", "Only calls on accounts with this name.")
            .value_name("NAME")
            .rare()
            .text(|filter| &mut filter.user_identifier),
        filter(
            "account",
            "Only calls on the account with this id or name, or with this id or email address at its service.",
        )
        .rare()
        .text(|filter| &mut filter.account),
        filter("connector", "Only calls of this connector.").text(|filter| &mut filter.connector),
        filter("operation", "Only calls of operations with this path.").rare().text(|filter| &mut filter.operation),
        filter("since", "Only calls from this time on.").such_as(PAST).rare().time(|filter| &mut filter.since),
        filter("until", "Only calls before this time.").rare().time(|filter| &mut filter.until),
    ];

    const LIMIT: Field<CallFilter, u32> = |filter| &mut filter.limit;
    const CURSOR: Parse<CallFilter> = |filter, cursor| put(&mut filter.before, page::cursor_in_time(cursor));
}

/// The names that `problem` selects: the problems of the gateway, and the codes of connections that
/// have failed. A provider may send further codes.
pub fn problem_names() -> Vec<String> {
    let kinds = problem::KINDS.iter().map(|kind| kind.urn().rsplit(':').next().unwrap_or_default().to_owned());
    kinds.chain(Failure::codes().map(str::to_owned)).collect()
}

/// GET /admin/calls: a page of records, the newest first.
pub async fn list_calls(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let filter = read::<Calls>(call.head.uri.query().unwrap_or_default())?;
    let limit = filter.limit;
    let found = call.gateway.store.calls().list(CallFilter { limit: limit + 1, ..filter }).await;
    let mut found = found.map_err(unavailable)?;
    let next_cursor = page::next_cursor(&mut found, limit, |last| page::place_in_time(last.at, last.number));
    let calls = found.into_iter().map(CallRecord::from).collect();
    Ok(private_answer(&json!(CallPageRecord { calls, next_cursor })))
}

/// GET /admin/calls/{request_id}.
pub async fn get_call(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let id = percent_decode_str(call.arguments.request_id).decode_utf8_lossy();
    let found = call.gateway.store.calls().get(&id).await.map_err(unavailable)?;
    let record = found.ok_or_else(|| {
        problem::UNKNOWN_CALL.with_detail(format!(
            "There is no record of a call with the id `{id}`. The configuration's `calls.keep` says which calls have one, \
             and `calls.keep_h` for how long; GET /admin/calls lists them."
        ))
    })?;
    Ok(private_answer(&json!(CallRecord::from(record))))
}

fn unavailable(error: StoreError) -> Problem {
    store_problem(&error, "The records of calls cannot be read now; try again.")
}

fn status(value: &str) -> Result<u16, String> {
    let status = value.parse().ok().filter(|status| (100..=599).contains(status));
    status.ok_or_else(|| "Must be an HTTP status, such as 502.".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mistake_of_a_query_is_told() {
        let document = read::<Calls>("status=5xx&owner=nobody&since=now&user=ann").unwrap_err().document("");
        let pointers: Vec<_> = document["errors"].as_array().unwrap().iter().map(|error| &error["pointer"]).collect();
        assert_eq!(pointers, ["/status", "/owner", "/since", "/user"]);
        let filter = read::<Calls>("status=502&owner=provider&connector=demo&limit=3").unwrap();
        assert_eq!((filter.status, filter.owner.as_deref(), filter.limit), (Some(502), Some("provider"), 3));
        let filter = read::<Calls>("subject=&user_identifier=work&account=ann%40example.com").unwrap();
        let CallFilter { subject, user_identifier, account, .. } = filter;
        let named = [subject, user_identifier, account];
        assert_eq!(named.map(Option::unwrap), ["", "work", "ann@example.com"]);
    }

    #[test]
    fn the_names_of_problems_are_those_of_calls_and_of_connections() {
        let names = problem_names();
        for name in ["upstream-failed", "integration-not-configured", "not_configured", "access_denied"] {
            assert!(names.iter().any(|known| known == name), "{name} in {names:?}");
        }
    }
}
