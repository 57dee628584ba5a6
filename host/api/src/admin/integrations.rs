//! The operator's routes of integrations of all tenants.

use std::time::SystemTime;

use hyper::Response;
use serde_json::json;

use crate::answer::private_answer;
use crate::integrations::end_subscriptions;
use crate::page;
use crate::records::{AnyIntegrationPageRecord, AnyIntegrationRecord, IntegrationDeletedRecord};
use crate::route::HttpCall;
use body::Body;
use gateway::Gateway;
use integrations::{NotRenewed, OVERDUE};
use problem::{self, Problem, access_problem, integration_problem, read_query, store_problem};
use store::{AnyIntegrationFilter, Integration, Status, StoreError};

/// The parameters of the list.
const PARAMETERS: [&str; 9] =
    ["limit", "cursor", "tenant", "subject", "connector", "status", "user_identifier", "account", "overdue"];

/// GET /admin/integrations: a page of the integrations of all tenants, the newest first.
pub(crate) async fn list_integrations(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let now = clock::now();
    let filter = parse_query(call.head.uri.query().unwrap_or_default(), now)?;
    let limit = filter.limit;
    let found = call.gateway.store.all_integrations(AnyIntegrationFilter { limit: limit + 1, ..filter }).await;
    let mut found = found.map_err(unavailable)?;
    let next_cursor =
        page::next_cursor(&mut found, limit, |last| page::place_in_time(last.created_at, last.id.clone()));
    let integrations = found.iter().map(|integration| AnyIntegrationRecord::at(integration, now)).collect();
    Ok(private_answer(&json!(AnyIntegrationPageRecord { integrations, next_cursor })))
}

fn parse_query(query: &str, now: SystemTime) -> Result<AnyIntegrationFilter, Problem> {
    let mut filter = AnyIntegrationFilter { limit: page::DEFAULT_LIMIT, ..AnyIntegrationFilter::default() };
    read_query(query, &PARAMETERS, |name, value| {
        let text = || Some(value.to_owned());
        match name {
            "limit" => filter.limit = page::limit(value)?,
            "cursor" => filter.before = page::cursor_in_time(value)?,
            "tenant" => filter.tenant = text(),
            "subject" => filter.subject = text(),
            "connector" => filter.connector = text(),
            "user_identifier" => filter.user_identifier = text(),
            "account" => filter.account = text(),
            "status" => filter.status = Some(page::one_of(value, &Status::ALL, Status::name)?),
            "overdue" => match value {
                "true" => filter.due_before = now.checked_sub(OVERDUE),
                _ => return Err("Must be `true`; leave it out for all integrations.".to_owned()),
            },
            _ => {}
        }
        Ok(())
    })?;
    Ok(filter)
}

/// GET /admin/integrations/{integration_id}.
pub(crate) async fn get_integration(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let integration = find(call.gateway, call.arguments.integration_id).await?;
    Ok(private_answer(&json!(AnyIntegrationRecord::at(&integration, clock::now()))))
}

/// DELETE /admin/integrations/{integration_id}: removes it as its user would.
pub(crate) async fn remove_integration(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let id = call.arguments.integration_id;
    let Integration { holder, user_identifier, .. } = find(call.gateway, id).await?;
    let subscriptions = end_subscriptions(&call, &holder, &user_identifier).await?;
    let removed = call.gateway.integrations.remove(&holder, &user_identifier).await;
    let revoked = removed.map_err(|error| integration_problem(&error))?.ok_or_else(|| unknown(id))?;
    Ok(private_answer(&json!(IntegrationDeletedRecord { deleted: true, revoked, subscriptions })))
}

/// POST /admin/integrations/{integration_id}/renew: refreshes its tokens now.
pub(crate) async fn renew_integration(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let id = call.arguments.integration_id;
    match call.gateway.integrations.renew(id).await {
        Ok(Some(integration)) => {
            Ok(private_answer(&json!(AnyIntegrationRecord::at(&integration, clock::now()))))
        }
        Ok(None) => Err(unknown(id)),
        Err(NotRenewed::NoTokens) => Err(problem::NOT_RENEWABLE.with_detail(
            "This account was not connected with OAuth 2, or its service gave no refresh token, so there is nothing to renew. If \
             the service refuses the account, its user connects it again: POST /connectors/{connector}/integrations, or a link \
             of POST /connect-links.",
        )),
        Err(NotRenewed::Access { connector, error }) => Err(access_problem(*error, &connector)),
    }
}

async fn find(gateway: &Gateway, id: &str) -> Result<Integration, Problem> {
    gateway.store.integration_by_id(id).await.map_err(unavailable)?.ok_or_else(|| unknown(id))
}

fn unknown(id: &str) -> Problem {
    problem::UNKNOWN_INTEGRATION
        .with_detail(format!("There is no integration with the id `{id}`; GET /admin/integrations lists them."))
}

fn unavailable(error: StoreError) -> Problem {
    store_problem(&error, "The integrations cannot be read or written now; try again.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mistake_of_a_query_is_told() {
        let document = parse_query("status=done&overdue=no&user=ann&limit=900", clock::now()).unwrap_err().document("");
        let pointers: Vec<_> = document["errors"].as_array().unwrap().iter().map(|error| &error["pointer"]).collect();
        assert_eq!(pointers, ["/status", "/overdue", "/user", "/limit"]);
        let filter = parse_query("tenant=a&subject=&overdue=true", clock::now()).unwrap();
        assert!(filter.due_before.is_some() && filter.subject.as_deref() == Some(""));
    }
}
