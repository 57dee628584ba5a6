//! GET /admin/hook-requests: the requests of services to all addresses, without their bodies.

use hyper::Response;
use serde_json::json;

use crate::answer::private_answer;
use crate::page;
use crate::records::HookRequestPageRecord;
use crate::route::HttpCall;
use crate::triggers::trigger_problem;
use body::Body;
use problem::{Problem, read_query};
use store::HookRequestFilter;
use triggers::OUTCOMES;

/// The parameters of the list.
const PARAMETERS: [&str; 7] = ["limit", "cursor", "inbox", "connector", "outcome", "since", "until"];

/// Answers a page, the newest first.
pub(crate) async fn list_hook_requests(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let filter = parse_query(call.head.uri.query().unwrap_or_default())?;
    let (hook_requests, next) = call.gateway.triggers.hook_requests(filter).await.map_err(trigger_problem)?;
    let next_cursor = next.and_then(|(time, number)| page::cursor_at(&page::place_in_time(time, number)));
    Ok(private_answer(&json!(HookRequestPageRecord { hook_requests, next_cursor })))
}

fn parse_query(query: &str) -> Result<HookRequestFilter, Problem> {
    let mut filter = HookRequestFilter { limit: page::DEFAULT_LIMIT, ..HookRequestFilter::default() };
    read_query(query, &PARAMETERS, |name, value| {
        let text = || Some(value.to_owned());
        match name {
            "limit" => filter.limit = page::limit(value)?,
            "cursor" => filter.before = page::cursor_in_time(value)?,
            "inbox" => filter.address = text(),
            "connector" => filter.connector = text(),
            "outcome" => filter.outcome = Some(page::one_of(value, &OUTCOMES, |outcome| outcome)?.to_owned()),
            "since" => filter.since = Some(page::time(value)?),
            "until" => filter.until = Some(page::time(value)?),
            _ => {}
        }
        Ok(())
    })?;
    Ok(filter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mistake_of_a_query_is_told() {
        let pointers = parse_query("outcome=lost&since=now&address=x&limit=201").unwrap_err().pointers();
        assert_eq!(pointers, ["/outcome", "/since", "/address", "/limit"]);
        let filter = parse_query("inbox=inb_1&outcome=rejected&connector=chat").unwrap();
        assert_eq!((filter.address.as_deref(), filter.outcome.as_deref()), (Some("inb_1"), Some("rejected")));
    }
}
