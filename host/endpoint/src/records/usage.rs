//! Usage of tenants.

use std::time::{Duration, UNIX_EPOCH};

use schemars::JsonSchema;
use serde::Serialize;

use clock::timestamp::Timestamp;
use store::{UsageBy, UsageRow};

/// What was called on one day. `by` says which of `connector`, `operation` and `subject` are there.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Usage")]
pub struct UsageRecord {
    /// The day in UTC, such as `2026-01-31`.
    #[schemars(extend("format" = "date"))]
    pub day: String,
    pub tenant: String,
    /// Null for calls of a connector or operation that does not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connector: Option<Option<String>>,
    /// `proxy` for requests around the operations; null for events, and for calls of an operation
    /// that does not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<Option<String>>,
    /// The user; null for what a caller did for its tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<Option<String>>,
    /// Calls of operations by every way, and requests around the operations. A call of an operation
    /// that runs in the background is one call.
    pub calls: u64,
    /// The calls that were refused or that failed, and the jobs that failed.
    pub failed: u64,
    /// Attempts to send a request to a service, also of jobs and triggers.
    pub upstream_requests: u64,
    /// Bytes of the bodies of calls.
    pub bytes_in: u64,
    /// Bytes of the bodies of answers. Of the call of a tool, the bytes that were read of the
    /// operation's answer.
    pub bytes_out: u64,
    /// Jobs that have ended on a gateway.
    pub jobs: u64,
    /// Events of triggers that were stored.
    pub events: u64,
}

/// A page of usage.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "UsagePage")]
pub struct UsagePageRecord {
    pub usage: Vec<UsageRecord>,
    /// The `cursor` of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

impl UsageRecord {
    /// The record of a row of a list by these members.
    pub fn of(row: UsageRow, by: UsageBy) -> Self {
        let mut names = row.names.into_iter();
        let tenant = names.next().unwrap_or_default();
        let mut next = || Some(names.next().filter(|name| !name.is_empty()));
        let (connector, operation, subject) = match by {
            UsageBy::Tenant => (None, None, None),
            UsageBy::Connector => (next(), None, None),
            UsageBy::Operation => (next(), next(), None),
            UsageBy::Subject => (None, None, next()),
        };
        let began = UNIX_EPOCH + Duration::from_secs(u64::from(row.day) * 86_400);
        let day = Timestamp::from(began).to_string().chars().take(10).collect();
        let counts = row.counts;
        Self {
            day,
            tenant,
            connector,
            operation,
            subject,
            calls: counts.calls,
            failed: counts.failed,
            upstream_requests: counts.upstream_requests,
            bytes_in: counts.bytes_in,
            bytes_out: counts.bytes_out,
            jobs: counts.jobs,
            events: counts.events,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use store::UsageCounts;

    use super::*;

    #[test]
    fn members_that_the_list_leaves_out_are_absent() {
        let row = |names: &[&str]| UsageRow {
            day: 20_484,
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            counts: UsageCounts { calls: 3, ..UsageCounts::default() },
        };
        let names = |names: &[&str], by| {
            let mut record = json!(UsageRecord::of(row(names), by));
            assert_eq!(record["calls"], 3);
            for count in ["calls", "failed", "upstream_requests", "bytes_in", "bytes_out", "jobs", "events"] {
                assert!(record.as_object_mut().unwrap().remove(count).is_some(), "{count}");
            }
            record
        };
        assert_eq!(names(&["acme"], UsageBy::Tenant), json!({"day": "2026-01-31", "tenant": "acme"}));
        assert_eq!(
            names(&["acme", "mail"], UsageBy::Connector),
            json!({"day": "2026-01-31", "tenant": "acme", "connector": "mail"})
        );
        assert_eq!(
            names(&["acme", "mail", ""], UsageBy::Operation),
            json!({"day": "2026-01-31", "tenant": "acme", "connector": "mail", "operation": null})
        );
        assert_eq!(
            names(&["acme", ""], UsageBy::Subject),
            json!({"day": "2026-01-31", "tenant": "acme", "subject": null})
        );
    }
}
