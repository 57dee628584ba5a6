//! GET /admin/audit: every change by a person, a key or a file.

use hyper::Response;
use serde_json::json;

use body::Body;
use contract::words::most_alike;
use endpoint::answer::private_answer;
use endpoint::lists::{Field, Filter, List, PAST, Parse, Values, filter, put, read};
use endpoint::page;
use endpoint::records::{AuditEntryRecord, AuditPageRecord};
use endpoint::route::HttpCall;
use problem::{Problem, store_problem};
use store::{AUDIT_ACTIONS, AuditFilter, Store, StoreError};

/// The list of changes.
#[derive(Clone, Copy, Debug)]
pub struct Audit;

impl List for Audit {
    type Query = AuditFilter;

    const FILTERS: &'static [Filter<AuditFilter>] = &[
        filter("actor", "Only changes by this actor.").such_as("the id of a key").text(|filter| &mut filter.actor),
        filter("action", "Only changes of this kind.")
            .such_as("key.created")
            .parsed(Values::OneOf(|| AUDIT_ACTIONS.to_vec()), |filter, value| {
                put(&mut filter.action, known_action(value).map(|action| Some(action.to_owned())))
            }),
        filter("tenant", "Only changes that belong to this tenant.").text(|filter| &mut filter.tenant),
        filter("target", "Only changes of the thing with this id.").text(|filter| &mut filter.target),
        filter("since", "Only changes from this time on.").such_as(PAST).rare().time(|filter| &mut filter.since),
        filter("until", "Only changes before this time.").rare().time(|filter| &mut filter.until),
    ];

    const LIMIT: Field<AuditFilter, u32> = |filter| &mut filter.limit;
    const CURSOR: Parse<AuditFilter> = |filter, cursor| put(&mut filter.before, page::cursor_in_time(cursor));
}

/// A page of the audit, the newest entry first.
///
/// # Errors
/// If the database fails.
pub async fn audit_page(store: &Store, filter: AuditFilter) -> Result<AuditPageRecord, StoreError> {
    let limit = filter.limit;
    // One more than the requested number shows if there is another page.
    let mut found = store.audit(AuditFilter { limit: limit.saturating_add(1), ..filter }).await?;
    let next_cursor = page::next_cursor(&mut found, limit, |entry| page::place_in_time(entry.at, entry.number));
    let entries = found.into_iter().map(AuditEntryRecord::from).collect();
    Ok(AuditPageRecord { entries, next_cursor })
}

/// Answers with a page.
pub async fn list_audit(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let filter = read::<Audit>(call.head.uri.query().unwrap_or_default())?;
    let page = audit_page(&call.gateway.store, filter).await;
    let page = page.map_err(|error| store_problem(&error, "The audit cannot be read now; try again."))?;
    Ok(private_answer(&json!(page)))
}

fn known_action(value: &str) -> Result<&'static str, String> {
    if let Some(known) = AUDIT_ACTIONS.iter().find(|known| **known == value) {
        return Ok(known);
    }
    let nearest = most_alike(value, AUDIT_ACTIONS.iter().copied());
    let nearest = nearest.map(|name| format!(" Did you mean `{name}`?")).unwrap_or_default();
    Err(format!("There is no such action.{nearest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mistake_of_a_query_is_told() {
        let query = "actor=key_1&action=key.create&since=x&limit=0&cursor=?&who=me";
        let document = read::<Audit>(query).unwrap_err().document("");
        let pointers: Vec<_> = document["errors"].as_array().unwrap().iter().map(|error| &error["pointer"]).collect();
        assert_eq!(pointers, ["/action", "/since", "/limit", "/cursor", "/who"]);
        assert!(document.to_string().contains("Did you mean `key.created`?"), "{document}");
        let filter = read::<Audit>("action=key.created&until=2026-01-31T12:00:00Z&target=key_1").unwrap();
        assert!(filter.until.is_some() && filter.target.as_deref() == Some("key_1"));
    }
}
