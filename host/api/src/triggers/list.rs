//! The queries of lists, for callers and operators.

use hyper::Response;
use serde_json::json;

use super::trigger_problem;
use crate::answer::private_answer;
use crate::authorize::AuthorizedCaller;
use crate::page;
use crate::records::{TriggerPageRecord, TypePageRecord};
use crate::route::HttpCall;
use body::Body;
use problem::{Problem, read_query};
use triggers::{ListQuery, Listed, Of, STATUSES, TypeRecord};

/// The parameters of a caller's list. The last one stands for those that begin with it.
const OF_CALLER: [&str; 7] = ["limit", "cursor", "connector", "type", "status", "user_identifier", "label."];

/// The parameters of the operator's list.
const OF_OPERATOR: [&str; 8] =
    ["limit", "cursor", "tenant", "subject", "connector", "type", "status", "user_identifier"];

/// GET /trigger-types: the types that the caller may make triggers of.
pub(crate) async fn list_types(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let (mut limit, mut after, mut connector) = (page::DEFAULT_LIMIT, None, None);
    let query = call.head.uri.query().unwrap_or_default();
    read_query(query, &["limit", "cursor", "connector"], |name, value| {
        match name {
            "limit" => limit = page::limit(value)?,
            "cursor" => after = Some(page::cursor::<(String, String)>(value)?),
            _ => connector = Some(value.to_owned()),
        }
        Ok(())
    })?;
    let found = call.gateway.triggers.types(caller.triggers(), connector.as_deref()).await;
    let mut trigger_types = found.map_err(trigger_problem)?;
    let place = |of: &TypeRecord| (of.connector.clone(), of.kind.clone());
    trigger_types.sort_by_cached_key(place);
    let next_cursor = page::cut(&mut trigger_types, limit, after.as_ref(), place);
    Ok(private_answer(&json!(TypePageRecord { trigger_types, next_cursor })))
}

/// GET /triggers: a page of the caller's triggers.
pub(crate) async fn list_triggers(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let query = parse_query(call.head.uri.query().unwrap_or_default(), &OF_CALLER)?;
    answer(&call, caller.triggers(), query).await
}

/// A page of the triggers of all tenants.
pub(crate) async fn triggers_page(call: &HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let query = parse_query(call.head.uri.query().unwrap_or_default(), &OF_OPERATOR)?;
    answer(call, Of::Operator, query).await
}

async fn answer(call: &HttpCall<'_>, of: Of<'_>, query: ListQuery) -> Result<Response<Body>, Problem> {
    let Listed { triggers, next } = call.gateway.triggers.list(of, query).await.map_err(trigger_problem)?;
    let next_cursor = next.and_then(|(time, id)| page::cursor_at(&page::place_in_time(time, id)));
    Ok(private_answer(&json!(TriggerPageRecord { triggers, next_cursor })))
}

fn parse_query(query: &str, parameters: &[&str]) -> Result<ListQuery, Problem> {
    let mut read = ListQuery { limit: page::DEFAULT_LIMIT, ..ListQuery::default() };
    read_query(query, parameters, |name, value| {
        let text = || Some(value.to_owned());
        match name {
            "limit" => read.limit = page::limit(value)?,
            "cursor" => read.before = page::cursor_in_time(value)?,
            "tenant" => read.tenant = text(),
            "subject" => read.subject = text(),
            "connector" => read.connector = text(),
            "type" => read.kind = text(),
            "status" => read.status = Some(page::one_of(value, &STATUSES, |status| status)?.to_owned()),
            "user_identifier" => read.user_identifier = text(),
            _ => {
                if let Some(label) = name.strip_prefix("label.") {
                    read.labels.insert(label.to_owned(), value.to_owned());
                }
            }
        }
        Ok(())
    })?;
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_of_a_list_is_read() {
        let query = "connector=mail&type=message_received&status=needs-user&label.team=blue&limit=7";
        let read = parse_query(query, &OF_CALLER).unwrap();
        assert_eq!((read.connector.as_deref(), read.kind.as_deref()), (Some("mail"), Some("message_received")));
        assert_eq!((read.status.as_deref(), read.limit), (Some("needs-user"), 7));
        assert_eq!(read.labels["team"], "blue");
        assert_eq!(parse_query("subject=", &OF_OPERATOR).unwrap().subject.as_deref(), Some(""));
    }

    #[test]
    fn every_mistake_of_a_query_is_told() {
        let pointers =
            parse_query("tenant=acme&status=on&limit=0&cursor=x&label.=a", &OF_CALLER).unwrap_err().pointers();
        assert_eq!(pointers, ["/tenant", "/status", "/limit", "/cursor", "/label."]);
        assert_eq!(parse_query("label.team=a", &OF_OPERATOR).unwrap_err().pointers(), ["/label.team"]);
    }
}
