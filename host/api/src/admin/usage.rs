//! GET /admin/usage: what tenants have called on each day.

use std::time::{SystemTime, UNIX_EPOCH};

use hyper::Response;
use serde_json::json;

use crate::answer::private_answer;
use crate::page;
use crate::records::{UsagePageRecord, UsageRecord};
use crate::route::HttpCall;
use body::Body;
use problem::{Problem, read_query, store_problem};
use store::{UsageBy, UsageFilter};

/// The parameters of the list.
const PARAMETERS: [&str; 5] = ["limit", "cursor", "since", "until", "by"];

const DAY_S: u64 = 86_400;

/// A page of usage, the newest day first.
pub(crate) async fn list_usage(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let filter = parse_query(call.head.uri.query().unwrap_or_default())?;
    let (by, limit) = (filter.by, filter.limit);
    let found = call.gateway.store.usage(UsageFilter { limit: limit + 1, ..filter }).await;
    let mut found = found.map_err(|error| store_problem(&error, "The usage cannot be read now; try again."))?;
    let next_cursor = page::next_cursor(&mut found, limit, |row| (by.name(), row.place()));
    let usage = found.into_iter().map(|row| UsageRecord::of(row, by)).collect();
    Ok(private_answer(&json!(UsagePageRecord { usage, next_cursor })))
}

fn parse_query(query: &str) -> Result<UsageFilter, Problem> {
    let mut filter = UsageFilter { limit: page::DEFAULT_LIMIT, ..UsageFilter::default() };
    let mut place: Option<(String, store::UsagePlace)> = None;
    read_query(query, &PARAMETERS, |name, value| {
        match name {
            "limit" => filter.limit = page::limit(value)?,
            "cursor" => place = Some(page::cursor(value)?),
            "since" => filter.since = Some(days(page::time(value)?)),
            // A day that has begun before this time is in the list.
            "until" => filter.until = Some(days_up(page::time(value)?)),
            "by" => filter.by = page::one_of(value, &UsageBy::ALL, UsageBy::name)?,
            _ => {}
        }
        Ok(())
    })?;
    // A cursor of a list with other members leads nowhere in this one.
    if let Some((by, place)) = place {
        if by != filter.by.name() {
            return Err(problem::invalid(
                "/cursor",
                "Must be the `next_cursor` of a page with the same `by`.".to_owned(),
            ));
        }
        filter.after = Some(place);
    }
    Ok(filter)
}

/// Whole days from 1970 to a time.
fn days(time: SystemTime) -> u32 {
    u32::try_from(seconds(time) / DAY_S).unwrap_or(u32::MAX)
}

/// Days from 1970 to a time, of which the last one may have only begun.
fn days_up(time: SystemTime) -> u32 {
    let has_part = !seconds(time).is_multiple_of(DAY_S)
        || time.duration_since(UNIX_EPOCH).is_ok_and(|since| since.subsec_nanos() > 0);
    days(time).saturating_add(u32::from(has_part))
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_in_the_list_if_a_part_of_them_is_in_the_time() {
        let filter = |query: &str| parse_query(query).map(|filter| (filter.since, filter.until)).unwrap();
        assert_eq!(filter(""), (None, None));
        assert_eq!(filter("since=1970-01-03T00:00:00Z&until=1970-01-05T00:00:00Z"), (Some(2), Some(4)));
        assert_eq!(filter("since=1970-01-03T23:59:59Z&until=1970-01-05T00:00:00.001Z"), (Some(2), Some(5)));
    }

    #[test]
    fn every_mistake_of_a_query_is_told() {
        let document = parse_query("by=user&since=x&limit=0&tenant=acme").unwrap_err().document("");
        let pointers: Vec<_> = document["errors"].as_array().unwrap().iter().map(|error| &error["pointer"]).collect();
        assert_eq!(pointers, ["/by", "/since", "/limit", "/tenant"]);
        let cursor = page::cursor_at(&("tenant", (20_000_u32, vec!["acme".to_owned()]))).unwrap();
        let filter = parse_query(&format!("cursor={cursor}&by=tenant")).unwrap();
        assert_eq!(filter.after, Some((20_000, vec!["acme".to_owned()])));
        assert!(parse_query(&format!("by=subject&cursor={cursor}")).is_err());
    }
}
