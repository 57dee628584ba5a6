//! The operator's routes of integrations of all tenants.

use hyper::Response;
use serde_json::json;

use body::Body;
use endpoint::answer::private_answer;
use endpoint::lists::{Field, Filter, List, Parse, filter, put, read};
use endpoint::page;
use endpoint::records::{AnyIntegrationPageRecord, AnyIntegrationRecord, IntegrationDeletedRecord};
use endpoint::route::HttpCall;
use gateway::Gateway;
use integrations::{NotRenewed, OVERDUE};
use problem::{self, Problem, access_problem, integration_problem, store_problem};
use rest::integrations::end_subscriptions;
use store::{AnyIntegrationFilter, Integration, Status, StoreError};

/// The list of integrations of all tenants.
#[derive(Clone, Copy, Debug)]
pub struct AnyIntegrations;

impl List for AnyIntegrations {
    type Query = AnyIntegrationFilter;

    const FILTERS: &'static [Filter<AnyIntegrationFilter>] = &[
        filter("tenant", "Only accounts of this tenant.").text(|filter| &mut filter.tenant),
        filter("subject", "Only accounts of this user. Empty for those without a user.")
            .text(|filter| &mut filter.subject),
        filter("connector", "Only accounts of this connector.").text(|filter| &mut filter.connector),
        filter("status", "Only accounts in this status.").schema("IntegrationStatus").one_of(
            || Status::ALL.map(Status::name).into(),
            |filter, name| filter.status = Status::ALL.into_iter().find(|status| status.name() == name),
        ),
        filter("user_identifier", "Only accounts with this name.")
            .value_name("NAME")
            .rare()
            .text(|filter| &mut filter.user_identifier),
        filter("account", "Only accounts with this id or name, or with this id or email address at their service.")
            .text(|filter| &mut filter.account),
        filter("overdue", "Only accounts whose tokens should have been refreshed a minute ago or earlier.")
            .only_true(|filter| filter.due_before = clock::now().checked_sub(OVERDUE)),
    ];

    const LIMIT: Field<AnyIntegrationFilter, u32> = |filter| &mut filter.limit;
    const CURSOR: Parse<AnyIntegrationFilter> = |filter, cursor| put(&mut filter.before, page::cursor_in_time(cursor));
}

/// GET /admin/integrations: a page of the integrations of all tenants, the newest first.
pub async fn list_integrations(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let now = clock::now();
    let filter = read::<AnyIntegrations>(call.head.uri.query().unwrap_or_default())?;
    let limit = filter.limit;
    let found = call.gateway.store.integrations().all(AnyIntegrationFilter { limit: limit + 1, ..filter }).await;
    let mut found = found.map_err(unavailable)?;
    let next_cursor =
        page::next_cursor(&mut found, limit, |last| page::place_in_time(last.created_at, last.id.clone()));
    let integrations = found.iter().map(|integration| AnyIntegrationRecord::at(integration, now)).collect();
    Ok(private_answer(&json!(AnyIntegrationPageRecord { integrations, next_cursor })))
}

/// GET /admin/integrations/{integration_id}.
pub async fn get_integration(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let integration = find(call.gateway, call.arguments.integration_id).await?;
    Ok(private_answer(&json!(AnyIntegrationRecord::at(&integration, clock::now()))))
}

/// DELETE /admin/integrations/{integration_id}: removes it as its user would.
pub async fn remove_integration(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let id = call.arguments.integration_id;
    let Integration { holder, user_identifier, .. } = find(call.gateway, id).await?;
    let subscriptions = end_subscriptions(&call, &holder, &user_identifier).await?;
    // Meanwhile, the user may have connected another account under the same name.
    let removed = call.gateway.integrations.remove_by_id(id.to_owned()).await;
    let revoked = removed.map_err(|error| integration_problem(&error))?.ok_or_else(|| unknown(id))?;
    Ok(private_answer(&json!(IntegrationDeletedRecord { deleted: true, revoked, subscriptions })))
}

/// POST /admin/integrations/{integration_id}/renew: refreshes its tokens now.
pub async fn renew_integration(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
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
    gateway.store.integrations().by_id(id).await.map_err(unavailable)?.ok_or_else(|| unknown(id))
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
        let query = "status=done&overdue=no&user=ann&limit=900";
        let document = read::<AnyIntegrations>(query).unwrap_err().document("");
        let pointers: Vec<_> = document["errors"].as_array().unwrap().iter().map(|error| &error["pointer"]).collect();
        assert_eq!(pointers, ["/status", "/overdue", "/user", "/limit"]);
        let filter = read::<AnyIntegrations>("tenant=a&subject=&overdue=true").unwrap();
        assert!(filter.due_before.is_some() && filter.subject.as_deref() == Some(""));
    }
}
