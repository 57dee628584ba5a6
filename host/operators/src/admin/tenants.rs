//! The operator's routes of tenants and their OAuth clients.

use std::collections::BTreeSet;

use hyper::Response;
use percent_encoding::percent_decode_str;
use serde_json::json;

use body::Body;
use contract::AuthScheme;
use contract::words::most_alike;
use contract_rules::text::is_hidden;
use endpoint::answer::private_answer;
use endpoint::body::read_record;
use endpoint::page;
use endpoint::records::{
    NewOauthClientBody, OauthClientDeletedRecord, OauthClientRecord, OauthClientsRecord, TenantPageRecord, TenantRecord,
};
use endpoint::route::HttpCall;
use gateway::Gateway;
use problem::{self, Problem, integration_problem, store_problem, violations_problem};
use schema::Violation;
use store::{NewOauthClient, StoreError, Tenant, TenantOauthClient};
use webhooks::caller_url;

/// The longest name of a tenant, in characters, as for keys.
const MAX_TENANT: usize = 256;

/// GET /admin/tenants: a page of tenants, in the order of their names.
pub async fn list_tenants(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let (limit, after) = page::read_place::<String>(call.head.uri.query().unwrap_or_default())?;
    let after = after.unwrap_or_default();
    let mut found = call.gateway.store.tenants(&after, limit + 1).await.map_err(unavailable)?;
    let next_cursor = page::next_cursor(&mut found, limit, |last: &Tenant| last.name.clone());
    let tenants = found.into_iter().map(TenantRecord::from).collect();
    Ok(private_answer(&json!(TenantPageRecord { tenants, next_cursor })))
}

/// GET /admin/tenants/{tenant}/oauth_clients.
pub async fn list_oauth_clients(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let tenant = tenant_in_path(&call)?;
    let (limit, after) = page::read_place(call.head.uri.query().unwrap_or_default())?;
    let mut found = call.gateway.store.oauth_clients().of(&tenant).await.map_err(unavailable)?;
    let place = |found: &TenantOauthClient| found.client.name.clone();
    // The collation of the database may be another one.
    found.sort_by_key(place);
    let next_cursor = page::cut(&mut found, limit, after.as_ref(), place);
    let oauth_clients = found.into_iter().map(OauthClientRecord::from).collect();
    Ok(private_answer(&json!(OauthClientsRecord { oauth_clients, next_cursor })))
}

/// GET /admin/tenants/{tenant}/oauth_clients/{oauth_client}.
pub async fn get_oauth_client(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let (tenant, name) = (tenant_in_path(&call)?, call.arguments.oauth_client);
    let found = call.gateway.store.oauth_clients().get(&tenant, &[name]).await.map_err(unavailable)?;
    let found = found.ok_or_else(|| unknown_client(&tenant, name))?;
    Ok(private_answer(&json!(OauthClientRecord::from(found))))
}

/// PUT /admin/tenants/{tenant}/oauth_clients/{oauth_client}.
pub async fn set_oauth_client(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let (tenant, name) = (tenant_in_path(&call)?, call.arguments.oauth_client.to_owned());
    let HttpCall { gateway, head, body, .. } = call;
    check_name(gateway, &name)?;
    let NewOauthClientBody { client_id, client_secret, scopes, redirect_url } =
        read_record(&head.headers, body, gateway).await?;
    let mut violations = Vec::new();
    let mut add = |pointer: &str, detail: String| violations.push(Violation { pointer: pointer.to_owned(), detail });
    if client_id.contains('\0') {
        add("/client_id", "Must have no zero byte (U+0000).".to_owned());
    }
    let example = format!("{}connectors/{name}/success-authorize-callback", gateway.config.public_url);
    if let Some(Err(detail)) = redirect_url.as_deref().map(|text| caller_url::parse(text, &example)) {
        add("/redirect_url", detail);
    }
    if !violations.is_empty() {
        return Err(violations_problem(violations));
    }
    let client = NewOauthClient { tenant, name, client_id, secret: None, scopes, redirect_url };
    let set = gateway.integrations.set_client(client, client_secret.map(Into::into)).await;
    let set = set.map_err(|error| integration_problem(&error))?;
    Ok(private_answer(&json!(OauthClientRecord::from(set))))
}

/// DELETE /admin/tenants/{tenant}/oauth_clients/{oauth_client}: accounts that were connected with
/// it must be connected again at their next refresh.
pub async fn delete_oauth_client(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let (tenant, name) = (tenant_in_path(&call)?, call.arguments.oauth_client);
    let integrations = call.gateway.store.oauth_clients().delete(&tenant, name).await.map_err(unavailable)?;
    let integrations = integrations.ok_or_else(|| unknown_client(&tenant, name))?;
    Ok(private_answer(&json!(OauthClientDeletedRecord { deleted: true, integrations })))
}

fn tenant_in_path(call: &HttpCall<'_>) -> Result<String, Problem> {
    decoded_tenant(call.arguments.tenant).ok_or_else(|| {
        problem::BAD_REQUEST.with_detail(format!(
            "The tenant in the path is not a line of UTF-8 with at most {MAX_TENANT} characters after percent-decoding."
        ))
    })
}

/// The tenant that a path names. `None` if no tenant can have this name.
fn decoded_tenant(segment: &str) -> Option<String> {
    let decoded = percent_decode_str(segment).decode_utf8().ok()?;
    let is_name = decoded.chars().count() <= MAX_TENANT && !decoded.contains(is_hidden);
    is_name.then(|| decoded.into_owned())
}

/// Checks that a client can be used: its name is a live connector or the provider of one that came
/// with the gateway.
fn check_name(gateway: &Gateway, name: &str) -> Result<(), Problem> {
    let mut known = BTreeSet::new();
    for connector in gateway.registry.live().values() {
        if let AuthScheme::Oauth2(scheme) = &connector.manifest().auth {
            known.insert(connector.name().to_string());
            known.extend(Some(scheme.provider.clone()).filter(|name| connector.is_shipped() && !name.is_empty()));
        }
    }
    if known.contains(name) {
        return Ok(());
    }
    let nearest = most_alike(name, known.iter().map(String::as_str));
    let nearest = nearest.map(|name| format!(" Did you mean `{name}`?")).unwrap_or_default();
    Err(problem::UNKNOWN_OAUTH_CLIENT.with_detail(format!(
        "`{name}` is neither a live connector that uses OAuth 2 nor the provider of one that came with the gateway.{nearest}"
    )))
}

fn unknown_client(tenant: &str, name: &str) -> Problem {
    problem::UNKNOWN_OAUTH_CLIENT.with_detail(format!(
        "The tenant `{tenant}` has no OAuth client `{name}`; GET /admin/tenants/{{tenant}}/oauth_clients lists its clients."
    ))
}

fn unavailable(error: StoreError) -> Problem {
    store_problem(&error, "The tenants and their OAuth clients cannot be read or written now; try again.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tenant_that_a_key_can_have_can_be_in_a_path() {
        let longest = "é".repeat(MAX_TENANT);
        assert_eq!(decoded_tenant(&"%C3%A9".repeat(MAX_TENANT)), Some(longest));
        assert_eq!(decoded_tenant("a%20b%2Fc").as_deref(), Some("a b/c"));
        for wrong in ["%C3%A9".repeat(MAX_TENANT + 1), "%FF".to_owned(), "a%00".to_owned(), "a%0Ab".to_owned()] {
            assert_eq!(decoded_tenant(&wrong), None, "{wrong}");
        }
    }
}
