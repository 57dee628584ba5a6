//! GET /admin/hook-requests: the requests of services to all addresses, without their bodies.

use hyper::Response;
use serde_json::json;

use body::Body;
use endpoint::answer::private_answer;
use endpoint::lists::{Field, Filter, List, PAST, Parse, filter, put, read};
use endpoint::page;
use endpoint::records::HookRequestPageRecord;
use endpoint::route::HttpCall;
use problem::Problem;
use rest::triggers::trigger_problem;
use store::HookRequestFilter;
use triggers::OUTCOMES;

/// The list of requests.
#[derive(Clone, Copy, Debug)]
pub struct HookRequests;

impl List for HookRequests {
    type Query = HookRequestFilter;

    const FILTERS: &'static [Filter<HookRequestFilter>] = &[
        filter("inbox", "Only requests to the inbox or the subscription with this id.")
            .value_name("ID")
            .text(|filter| &mut filter.address),
        filter("connector", "Only requests for this connector.").text(|filter| &mut filter.connector),
        filter("outcome", "Only requests with this outcome.")
            .one_of(|| OUTCOMES.to_vec(), |filter, name| filter.outcome = Some(name.to_owned())),
        filter("since", "Only requests from this time on.").such_as(PAST).rare().time(|filter| &mut filter.since),
        filter("until", "Only requests before this time.").rare().time(|filter| &mut filter.until),
    ];

    const LIMIT: Field<HookRequestFilter, u32> = |filter| &mut filter.limit;
    const CURSOR: Parse<HookRequestFilter> = |filter, cursor| put(&mut filter.before, page::cursor_in_time(cursor));
}

/// Answers a page, the newest first.
pub async fn list_hook_requests(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let filter = read::<HookRequests>(call.head.uri.query().unwrap_or_default())?;
    let (hook_requests, next) = call.gateway.triggers.hook_requests(filter).await.map_err(trigger_problem)?;
    let next_cursor = next.and_then(|(time, number)| page::cursor_at(&page::place_in_time(time, number)));
    Ok(private_answer(&json!(HookRequestPageRecord { hook_requests, next_cursor })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mistake_of_a_query_is_told() {
        let pointers = read::<HookRequests>("outcome=lost&since=now&address=x&limit=201").unwrap_err().pointers();
        assert_eq!(pointers, ["/outcome", "/since", "/address", "/limit"]);
        let filter = read::<HookRequests>("inbox=inb_1&outcome=rejected&connector=chat").unwrap();
        assert_eq!((filter.address.as_deref(), filter.outcome.as_deref()), (Some("inb_1"), Some("rejected")));
    }
}
