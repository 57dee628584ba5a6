//! The catalogue of operations, `tests/catalogue.yaml`, and the product's connectors compared with
//! it.
//!
//! The comparison uses the answers of a running gateway, so it covers what callers see, and what a
//! row sends to its service. It does not cover two keys of the catalogue: the calls of functions to
//! the upstream, which the check of the requests covers, and the rate limits, which have separate
//! tests.

mod comparison;
mod schema;

use serde_json::Value;
use support::catalogue::{connectors, fields, operations, text};

use self::comparison::Comparison;
use crate::table;

const HEAD: [&str; 6] = ["connector", "in the catalogue", "described", "fields", "known differences", "differences"];

/// The connector or the gateway refuses the values that do not match, and the schema tells callers
/// before they send them.
const REFUSED_ANYWAY: &str = "other values are refused";

/// The gateway validates the format, and the service takes times without an offset.
const NO_OFFSET: &str = "a time without an offset is UTC";

/// The beginnings of differences that exist, and why they are accepted.
const ACCEPTED: [(&str, &str); 24] = [
    (
        "hr_platform/userinfo: summary is \"The connected HR user with employee and roles\", in the catalogue \
         \"The connected HR user with employee and roles, in the exact shape of the reference\"",
        "a caller does not know the reference",
    ),
    ("workspace_user_management/reset_user_password: field `password` has pattern ", REFUSED_ANYWAY),
    ("microblog/tweet_counts: field `query` has minLength 1", REFUSED_ANYWAY),
    ("workspace_calendar/events_move: field `destination` has minLength 1", REFUSED_ANYWAY),
    ("workspace_calendar/events_quick_add: field `text` has minLength 1", REFUSED_ANYWAY),
    ("workspace_mail/create_draft: field `in_reply_to` has pattern ", REFUSED_ANYWAY),
    ("workspace_mail/create_draft: field `subject` has pattern ", REFUSED_ANYWAY),
    ("workspace_mail/update_draft: field `in_reply_to` has pattern ", REFUSED_ANYWAY),
    ("workspace_mail/update_draft: field `subject` has pattern ", REFUSED_ANYWAY),
    ("workspace_mail/messages_send: field `in_reply_to` has pattern ", REFUSED_ANYWAY),
    ("workspace_mail/messages_send: field `subject` has pattern ", REFUSED_ANYWAY),
    ("office_drive/upload_file: field `content_type` has pattern ", REFUSED_ANYWAY),
    ("office_sites/get_site_id_by_name: field `name` has pattern ", REFUSED_ANYWAY),
    ("kb_office_sites/get_site_id_by_name: field `name` has pattern ", REFUSED_ANYWAY),
    ("office_calendar/list_events_in_time_range: field `start_date_time` has format absent", NO_OFFSET),
    ("office_calendar/list_events_in_time_range: field `end_date_time` has format absent", NO_OFFSET),
    ("workspace_identity/userinfo: request is \"GET userinfo \"", "the whole address is the base URL of an upstream"),
    ("code_hosting/search_issues: field `repositories` has items ", REFUSED_ANYWAY),
    ("code_hosting/search_issues: field `callback_urls` has items ", REFUSED_ANYWAY),
    ("code_hosting/search_issues: field `callback_urls` has maxItems ", REFUSED_ANYWAY),
    ("preprint_archive/search_papers: field `id_list` has items ", REFUSED_ANYWAY),
    ("preprint_archive/get_daily_updates: field `categories` has items ", REFUSED_ANYWAY),
    ("dex_market_data/get_pairs_by_token: field `token_addresses` has items ", REFUSED_ANYWAY),
    ("dex_market_data/get_pairs_by_token: field `token_addresses` has pattern ", REFUSED_ANYWAY),
];

fn is_accepted(difference: &str) -> bool {
    ACCEPTED.iter().any(|(accepted, _)| difference.starts_with(accepted))
}

#[test]
fn every_connector_of_the_catalogue_is_shipped() {
    let mut expected: Vec<String> = connectors().iter().map(|connector| text(connector, "id").to_owned()).collect();
    expected.sort_unstable();
    assert_eq!(support::module::shipped_names(), expected);
}

#[test]
fn every_shipped_connector_is_as_the_catalogue_says() {
    let connectors = connectors();
    let comparison = Comparison::start(&connectors);
    let described: Vec<usize> =
        connectors.iter().map(|connector| comparison.described(text(connector, "id"))).collect();
    let differences = comparison.differences();
    let mut rows = vec![HEAD.map(str::to_owned).to_vec()];
    for (connector, described) in connectors.iter().zip(described) {
        rows.push(row(connector, described, &differences));
    }
    table::print("The description of the API, against the catalogue", &rows);
    let unexpected: Vec<&String> = differences.iter().filter(|found| !is_accepted(found)).collect();
    assert!(unexpected.is_empty(), "{unexpected:#?}");
    for (accepted, _) in ACCEPTED {
        let exists = differences.iter().any(|found| found.starts_with(accepted));
        assert!(exists, "no longer different, remove it: {accepted}");
    }
}

/// A connector's row.
fn row(connector: &Value, described: usize, differences: &[String]) -> Vec<String> {
    let id = text(connector, "id");
    let operations = operations(connector);
    let compared: usize = operations.iter().map(|operation| fields(operation).len()).sum();
    let own = |one: &&String| one.strip_prefix(id).is_some_and(|rest| rest.starts_with([':', '/']));
    let found: Vec<&String> = differences.iter().filter(own).collect();
    let known = found.iter().filter(|one| is_accepted(one)).count();
    let counts = [operations.len(), described, compared, known, found.len() - known];
    [id.to_owned()].into_iter().chain(counts.map(|count| count.to_string())).collect()
}
