//! GET /admin/calls: records of calls.

use hyper::Response;
use percent_encoding::percent_decode_str;
use serde_json::json;

use crate::answer::private_answer;
use crate::page;
use crate::records::{CallPageRecord, CallRecord};
use crate::route::HttpCall;
use body::Body;
use contract::Owner;
use problem::{self, Problem, read_query, store_problem};
use store::{CallFilter, StoreError};

/// The parameters of the list.
const PARAMETERS: [&str; 13] = [
    "limit",
    "cursor",
    "status",
    "problem",
    "owner",
    "tenant",
    "subject",
    "user_identifier",
    "account",
    "connector",
    "operation",
    "since",
    "until",
];

/// GET /admin/calls: a page of records, the newest first.
pub(crate) async fn list_calls(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let filter = parse_query(call.head.uri.query().unwrap_or_default())?;
    let limit = filter.limit;
    let found = call.gateway.store.calls(CallFilter { limit: limit + 1, ..filter }).await;
    let mut found = found.map_err(unavailable)?;
    let next_cursor = page::next_cursor(&mut found, limit, |last| page::place_in_time(last.at, last.number));
    let calls = found.into_iter().map(CallRecord::from).collect();
    Ok(private_answer(&json!(CallPageRecord { calls, next_cursor })))
}

/// GET /admin/calls/{request_id}.
pub(crate) async fn get_call(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let id = percent_decode_str(call.arguments.request_id).decode_utf8_lossy();
    let found = call.gateway.store.call(&id).await.map_err(unavailable)?;
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

fn parse_query(query: &str) -> Result<CallFilter, Problem> {
    let mut filter = CallFilter { limit: page::DEFAULT_LIMIT, ..CallFilter::default() };
    read_query(query, &PARAMETERS, |name, value| {
        let text = || Some(value.to_owned());
        match name {
            "limit" => filter.limit = page::limit(value)?,
            "cursor" => filter.before = page::cursor_in_time(value)?,
            "status" => filter.status = Some(status(value)?),
            "problem" => filter.problem = text(),
            "owner" => filter.owner = Some(page::one_of(value, &Owner::ALL, Owner::name)?.name().to_owned()),
            "tenant" => filter.tenant = text(),
            "subject" => filter.subject = text(),
            "user_identifier" => filter.user_identifier = text(),
            "account" => filter.account = text(),
            "connector" => filter.connector = text(),
            "operation" => filter.operation = text(),
            "since" => filter.since = Some(page::time(value)?),
            "until" => filter.until = Some(page::time(value)?),
            _ => {}
        }
        Ok(())
    })?;
    Ok(filter)
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
        let document = parse_query("status=5xx&owner=nobody&since=now&user=ann").unwrap_err().document("");
        let pointers: Vec<_> = document["errors"].as_array().unwrap().iter().map(|error| &error["pointer"]).collect();
        assert_eq!(pointers, ["/status", "/owner", "/since", "/user"]);
        let filter = parse_query("status=502&owner=provider&connector=demo&limit=3").unwrap();
        assert_eq!((filter.status, filter.owner.as_deref(), filter.limit), (Some(502), Some("provider"), 3));
        let filter = parse_query("subject=&user_identifier=work&account=ann%40example.com").unwrap();
        let CallFilter { subject, user_identifier, account, .. } = filter;
        let named = [subject, user_identifier, account];
        assert_eq!(named.map(Option::unwrap), ["", "work", "ann@example.com"]);
    }
}
