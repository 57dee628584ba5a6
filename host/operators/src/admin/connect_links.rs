//! GET /admin/connect-links: the links of all tenants to the page on which users connect accounts.

use hyper::Response;
use serde_json::json;

use body::Body;
use endpoint::answer::private_answer;
use endpoint::lists::{Field, Filter, List, Parse, filter, put, read};
use endpoint::page;
use endpoint::records::{AnyConnectLinkPageRecord, AnyConnectLinkRecord};
use endpoint::route::HttpCall;
use problem::Problem;
use rest::connect::{link_record, links_unavailable};
use store::{ConnectLink, ConnectLinkFilter};

/// The list of links of all tenants.
#[derive(Clone, Copy, Debug)]
pub struct AnyConnectLinks;

impl List for AnyConnectLinks {
    type Query = ConnectLinkFilter;

    const FILTERS: &'static [Filter<ConnectLinkFilter>] = &[
        filter("tenant", "Only links of this tenant.").text(|filter| &mut filter.tenant),
        filter("subject", "Only links of this user. Empty for those without a user.")
            .text(|filter| &mut filter.subject),
    ];

    const LIMIT: Field<ConnectLinkFilter, u32> = |filter| &mut filter.limit;
    const CURSOR: Parse<ConnectLinkFilter> = |filter, cursor| put(&mut filter.before, page::cursor_in_time(cursor));
}

/// Answers a page. The link that expires last is first.
pub async fn list_connect_links(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let filter = read::<AnyConnectLinks>(call.head.uri.query().unwrap_or_default())?;
    let limit = filter.limit;
    let found = call.gateway.store.connect_links().page(ConnectLinkFilter { limit: limit + 1, ..filter }).await;
    let mut found = found.map_err(|error| links_unavailable(&error))?;
    let next_cursor =
        page::next_cursor(&mut found, limit, |last| page::place_in_time(last.expires_at, last.id.clone()));
    let record = |link: ConnectLink| AnyConnectLinkRecord {
        link: link_record(call.gateway, &link),
        tenant: link.tenant,
        subject: Some(link.subject).filter(|subject| !subject.is_empty()),
        key_id: link.key_id.map(|key| key.0),
    };
    let connect_links = found.into_iter().map(record).collect();
    Ok(private_answer(&json!(AnyConnectLinkPageRecord { connect_links, next_cursor })))
}
