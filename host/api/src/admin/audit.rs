//! GET /admin/audit: every change by a person, a key or a file.

use std::time::SystemTime;

use hyper::Response;
use serde_json::json;

use crate::answer::private_answer;
use crate::page;
use crate::records::{AuditEntryRecord, AuditPageRecord};
use crate::route::HttpCall;
use body::Body;
use contract::words::most_alike;
use problem::{Problem, read_query, store_problem};
use store::{AUDIT_ACTIONS, AuditFilter, Store, StoreError};

/// The parameters of the list.
const PARAMETERS: [&str; 8] = ["limit", "cursor", "actor", "action", "tenant", "target", "since", "until"];

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

/// The place of a page of the audit, by the `next_cursor` of the page before it.
///
/// # Errors
/// A sentence that says what it must be.
pub fn audit_cursor(value: &str) -> Result<Option<(SystemTime, i64)>, String> {
    page::cursor_in_time(value)
}

/// Answers with a page.
pub(crate) async fn list_audit(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let filter = parse_query(call.head.uri.query().unwrap_or_default())?;
    let page = audit_page(&call.gateway.store, filter).await;
    let page = page.map_err(|error| store_problem(&error, "The audit cannot be read now; try again."))?;
    Ok(private_answer(&json!(page)))
}

fn parse_query(query: &str) -> Result<AuditFilter, Problem> {
    let mut filter = AuditFilter { limit: page::DEFAULT_LIMIT, ..AuditFilter::default() };
    read_query(query, &PARAMETERS, |name, value| {
        match name {
            "limit" => filter.limit = page::limit(value)?,
            "cursor" => filter.before = audit_cursor(value)?,
            "actor" => filter.actor = Some(value.to_owned()),
            "action" => filter.action = Some(known_action(value)?.to_owned()),
            "tenant" => filter.tenant = Some(value.to_owned()),
            "target" => filter.target = Some(value.to_owned()),
            "since" => filter.since = Some(page::time(value)?),
            "until" => filter.until = Some(page::time(value)?),
            _ => {}
        }
        Ok(())
    })?;
    Ok(filter)
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
        let document = parse_query(query).unwrap_err().document("");
        let pointers: Vec<_> = document["errors"].as_array().unwrap().iter().map(|error| &error["pointer"]).collect();
        assert_eq!(pointers, ["/action", "/since", "/limit", "/cursor", "/who"]);
        assert!(document.to_string().contains("Did you mean `key.created`?"), "{document}");
        let filter = parse_query("action=key.created&until=2026-01-31T12:00:00Z&target=key_1").unwrap();
        assert!(filter.until.is_some() && filter.target.as_deref() == Some("key_1"));
    }
}
