//! The lists of types and of triggers, for callers and operators.

use hyper::Response;
use serde_json::json;

use super::trigger_problem;
use body::Body;
use endpoint::answer::private_answer;
use endpoint::authorize::AuthorizedCaller;
use endpoint::lists::{Field, Filter, List, Parse, filter, put, read};
use endpoint::page;
use endpoint::records::{TriggerPageRecord, TypePageRecord};
use endpoint::route::HttpCall;
use problem::Problem;
use triggers::{ListQuery, Listed, Of, STATUSES, TypeRecord};

/// The list of types.
pub struct Types;

/// Selects a page of types.
#[derive(Default)]
pub struct TypesQuery {
    connector: Option<String>,
    /// The connector and the name of the last type of the previous page.
    after: Option<(String, String)>,
    limit: u32,
}

impl List for Types {
    type Query = TypesQuery;

    const FILTERS: &'static [Filter<TypesQuery>] =
        &[filter("connector", "Only types of this connector. The types of the gateway have `gateway`.")
            .text(|query| &mut query.connector)];

    const LIMIT: Field<TypesQuery, u32> = |query| &mut query.limit;
    const CURSOR: Parse<TypesQuery> = |query, cursor| put(&mut query.after, page::cursor(cursor).map(Some));
}

const CONNECTOR: Filter<ListQuery> =
    filter("connector", "Only triggers of this connector.").text(|query| &mut query.connector);

const TYPE: Filter<ListQuery> = filter("type", "Only triggers of this type.").text(|query| &mut query.kind);

const STATUS: Filter<ListQuery> = filter("status", "Only triggers in this state.")
    .one_of(|| STATUSES.to_vec(), |query, name| query.status = Some(name.to_owned()));

const USER_IDENTIFIER: Filter<ListQuery> = filter("user_identifier", "Only triggers on this account.")
    .value_name("NAME")
    .text(|query| &mut query.user_identifier);

/// The list of the caller's triggers.
pub struct OwnTriggers;

impl List for OwnTriggers {
    type Query = ListQuery;

    const FILTERS: &'static [Filter<ListQuery>] = &[
        CONNECTOR,
        TYPE,
        STATUS,
        USER_IDENTIFIER,
        filter("label.", "`label.team=blue`: only triggers with this label. Repeat it for several labels.")
            .labels(|query| &mut query.labels),
    ];

    const LIMIT: Field<ListQuery, u32> = |query| &mut query.limit;
    const CURSOR: Parse<ListQuery> = |query, cursor| put(&mut query.before, page::cursor_in_time(cursor));
}

/// The list of triggers of all tenants.
#[derive(Clone, Copy, Debug)]
pub struct AnyTriggers;

impl List for AnyTriggers {
    type Query = ListQuery;

    const FILTERS: &'static [Filter<ListQuery>] = &[
        CONNECTOR,
        TYPE,
        STATUS,
        USER_IDENTIFIER,
        filter("tenant", "Only triggers of this tenant.").text(|query| &mut query.tenant),
        filter("subject", "Only triggers of this user. Empty for those without a user.")
            .text(|query| &mut query.subject),
    ];

    const LIMIT: Field<ListQuery, u32> = OwnTriggers::LIMIT;
    const CURSOR: Parse<ListQuery> = OwnTriggers::CURSOR;
}

/// GET /trigger-types: the types that the caller may make triggers of.
pub async fn list_types(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let TypesQuery { connector, after, limit } = read::<Types>(call.head.uri.query().unwrap_or_default())?;
    let found = call.gateway.triggers.types(caller.triggers(), connector.as_deref()).await;
    let mut trigger_types = found.map_err(trigger_problem)?;
    let place = |of: &TypeRecord| (of.connector.clone(), of.kind.clone());
    trigger_types.sort_by_cached_key(place);
    let next_cursor = page::cut(&mut trigger_types, limit, after.as_ref(), place);
    Ok(private_answer(&json!(TypePageRecord { trigger_types, next_cursor })))
}

/// GET /triggers: a page of the caller's triggers.
pub async fn list_triggers(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let query = read::<OwnTriggers>(call.head.uri.query().unwrap_or_default())?;
    answer(&call, caller.triggers(), query).await
}

/// A page of the triggers of all tenants.
pub async fn triggers_page(call: &HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let query = read::<AnyTriggers>(call.head.uri.query().unwrap_or_default())?;
    answer(call, Of::Operator, query).await
}

async fn answer(call: &HttpCall<'_>, of: Of<'_>, query: ListQuery) -> Result<Response<Body>, Problem> {
    let Listed { triggers, next } = call.gateway.triggers.list(of, query).await.map_err(trigger_problem)?;
    let next_cursor = next.and_then(|(time, id)| page::cursor_at(&page::place_in_time(time, id)));
    Ok(private_answer(&json!(TriggerPageRecord { triggers, next_cursor })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_of_a_list_is_read() {
        let query = "connector=mail&type=message_received&status=needs-user&label.team=blue&limit=7";
        let found = read::<OwnTriggers>(query).unwrap();
        assert_eq!((found.connector.as_deref(), found.kind.as_deref()), (Some("mail"), Some("message_received")));
        assert_eq!((found.status.as_deref(), found.limit), (Some("needs-user"), 7));
        assert_eq!(found.labels["team"], "blue");
        assert_eq!(read::<AnyTriggers>("subject=").unwrap().subject.as_deref(), Some(""));
    }

    #[test]
    fn every_mistake_of_a_query_is_told() {
        let query = "tenant=acme&status=on&limit=0&cursor=x&label.=a";
        let pointers = read::<OwnTriggers>(query).unwrap_err().pointers();
        assert_eq!(pointers, ["/tenant", "/status", "/limit", "/cursor", "/label."]);
        assert_eq!(read::<AnyTriggers>("label.team=a").unwrap_err().pointers(), ["/label.team"]);
    }
}
