//! POST /connectors/{connector}/integrations/{user_identifier}/confirm: the caller that began an
//! authorization confirms the grant.

use std::sync::Arc;

use hyper::Response;
use serde_json::json;

use super::addressed;
use body::Body;
use endpoint::answer::private_answer;
use endpoint::authorize::AuthorizedCaller;
use endpoint::body::read_json_body;
use endpoint::record_schema::schema_of_body;
use endpoint::records::Confirmation;
use endpoint::route::HttpCall;
use integrations::{IntegrationError, IntegrationRecord, NotConfirmed};
use problem::{self, Problem, input_problem, integration_problem};
use schema::Schema;

/// Answers with the integration, which is active from now on.
pub async fn confirm_integration(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let (holder, user_identifier) = addressed(&call, &caller)?;
    let HttpCall { gateway, head, body, .. } = call;
    let body = read_json_body(&head.headers, body, gateway).await?;
    let schema = Schema::compile(&schema_of_body::<Confirmation>().to_string(), false)
        .map_err(|error| problem::INTERNAL.with_detail(format!("The schema of this body {error}.")))?;
    let input = compute::run(body.len(), || schema.parse(&body)).await.map_err(input_problem)?;
    let confirmation: Confirmation =
        serde_json::from_str(&input.text).map_err(|error| problem::NOT_JSON.with_detail(format!("{error}.")))?;
    // A caller that disconnects during the call must not leave the grant half confirmed.
    let integrations = Arc::clone(&gateway.integrations);
    let confirming = gateway
        .integrations
        .spawn(async move { integrations.confirm(&holder, &user_identifier, &confirmation.completion).await });
    let confirmed = confirming.await.unwrap_or(Err(IntegrationError::Stopping));
    match confirmed.map_err(|error| integration_problem(&error))? {
        Ok(integration) => Ok(private_answer(&json!(IntegrationRecord::at(&integration, clock::now())))),
        Err(reason) => Err(not_confirmed(reason)),
    }
}

fn not_confirmed(reason: NotConfirmed) -> Problem {
    match reason {
        NotConfirmed::Unknown => problem::UNKNOWN_COMPLETION.with_detail(
            "No grant waits for this completion: it was used before, or its ten minutes are over, or it belongs to another \
             connector or user identifier. Begin again with POST /connectors/{connector}/integrations.",
        ),
        NotConfirmed::OtherSubject => problem::COMPLETION_OF_OTHER_SUBJECT.with_detail(
            "The authorization was begun for another user. The account was not connected. Begin again for this user with \
             POST /connectors/{connector}/integrations.",
        ),
        NotConfirmed::OtherAccount { connected } => problem::OTHER_ACCOUNT.with_detail(format!(
            "`{connected}` was connected under this user identifier since. The account was not connected. Begin again with \
             `replace` or another `user_identifier`, or disconnect the other account and confirm again.",
        )),
    }
}
