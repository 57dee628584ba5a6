//! GET /admin/usage: what tenants have called on each day.

use std::time::{SystemTime, UNIX_EPOCH};

use hyper::Response;
use serde_json::json;

use body::Body;
use endpoint::answer::private_answer;
use endpoint::lists::{Field, Filter, List, Parse, Values, filter, put, read};
use endpoint::page;
use endpoint::records::{UsagePageRecord, UsageRecord};
use endpoint::route::HttpCall;
use problem::{Problem, store_problem};
use store::{UsageBy, UsageFilter, UsagePlace};

const DAY_S: u64 = 86_400;

/// The list of usage.
#[derive(Clone, Copy, Debug)]
pub struct Usage;

/// Selects a page of usage.
#[derive(Debug, Default)]
pub struct UsageQuery {
    filter: UsageFilter,
    /// The members of the rows of the previous page, and the place of the last one.
    cursor: Option<(String, UsagePlace)>,
}

impl List for Usage {
    type Query = UsageQuery;

    const FILTERS: &'static [Filter<UsageQuery>] = &[
        filter("since", "Only the day (in UTC) of this time and later ones.")
            .such_as("2026-01-31T00:00:00Z; `30d` is 30 days ago")
            .parsed(Values::Time, |query, value| {
                put(&mut query.filter.since, page::time(value).map(|time| Some(days(time))))
            }),
        // A day that has begun before this time is in the list.
        filter("until", "Only days that began before this time.").parsed(Values::Time, |query, value| {
            put(&mut query.filter.until, page::time(value).map(|time| Some(days_up(time))))
        }),
        filter(
            "by",
            "The members by which counts are added up, next to the day and the tenant: `connector`; `operation` with \
             its connector; or `subject`. With `tenant`, there is no other one.",
        )
        .or(UsageBy::Tenant.name())
        .one_of(
            || UsageBy::ALL.map(UsageBy::name).into(),
            |query, name| query.filter.by = UsageBy::ALL.into_iter().find(|by| by.name() == name).unwrap_or_default(),
        ),
    ];

    const LIMIT: Field<UsageQuery, u32> = |query| &mut query.filter.limit;
    const CURSOR: Parse<UsageQuery> = |query, cursor| put(&mut query.cursor, page::cursor(cursor).map(Some));
}

/// A page of usage, the newest day first.
pub async fn list_usage(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let filter = parse_query(call.head.uri.query().unwrap_or_default())?;
    let (by, limit) = (filter.by, filter.limit);
    let found = call.gateway.store.usage().list(UsageFilter { limit: limit + 1, ..filter }).await;
    let mut found = found.map_err(|error| store_problem(&error, "The usage cannot be read now; try again."))?;
    let next_cursor = page::next_cursor(&mut found, limit, |row| (by.name(), row.place()));
    let usage = found.into_iter().map(|row| UsageRecord::of(row, by)).collect();
    Ok(private_answer(&json!(UsagePageRecord { usage, next_cursor })))
}

fn parse_query(query: &str) -> Result<UsageFilter, Problem> {
    let UsageQuery { mut filter, cursor } = read::<Usage>(query)?;
    // A cursor of a list with other members leads nowhere in this one.
    if let Some((by, place)) = cursor {
        if by != filter.by.name() {
            return Err(problem::invalid(
                "/cursor",
                "Must be the `next_cursor` of a page with the same `by`.".to_owned(),
            ));
        }
        if !filter.by.has_place(&place) {
            return Err(problem::invalid("/cursor", "Must be the `next_cursor` of the previous page.".to_owned()));
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

    #[test]
    fn a_cursor_has_a_name_for_each_member_of_the_list() {
        for by in UsageBy::ALL {
            let is_taken = |names: usize| {
                let cursor = page::cursor_at(&(by.name(), (20_000_u32, vec!["acme"; names]))).unwrap();
                let read = parse_query(&format!("by={}&cursor={cursor}", by.name()));
                assert!(read.as_ref().map_or_else(|problem| problem.pointers() == ["/cursor"], |_| true));
                read.is_ok()
            };
            let taken: Vec<usize> = (0..5).filter(|names| is_taken(*names)).collect();
            let expected = match by {
                UsageBy::Tenant => 1,
                UsageBy::Connector | UsageBy::Subject => 2,
                UsageBy::Operation => 3,
            };
            assert_eq!(taken, [expected], "{}", by.name());
        }
    }
}
