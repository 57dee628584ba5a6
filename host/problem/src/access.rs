//! Problems of a call that has no account, or no good credential for it.

use serde_json::json;

use super::{
    DRAINING, INTEGRATION_NOT_CONFIGURED, INTEGRATION_REQUIRED, INTERNAL, Kind, Problem, REAUTHORIZATION_REQUIRED,
    SELECTION_REQUIRED, STORE_UNAVAILABLE, TENANT_FULL, TOKEN_REFRESH_FAILED, TOO_MANY_AUTHORIZATIONS,
    TOO_MANY_INTEGRATIONS, UNKNOWN_LINK, invalid,
};
use contract::Owner;
use egress::whole_seconds;
use integrations::{AccessError, ConnectAgain, DEVICE_CODE, IntegrationError, NotConfigured};
use registry::grant_command;
use store::{AuthType, StoreError};

/// Seconds after which every authorization that is in progress now has ended.
const EXPIRED_AFTER_S: u64 = 600;

/// The problem of an operation that has no account to run on. The member `action` names the call
/// that helps.
pub fn access_problem(error: AccessError, connector: &str) -> Problem {
    match error {
        AccessError::Required { named, candidates } => {
            let connect = format!("with POST /connectors/{connector}/integrations.");
            let detail = match &named {
                None => format!("Connect the account first, {connect}"),
                Some(name) if candidates.is_empty() => format!("Connect the account `{name}` first, {connect}"),
                Some(name) => {
                    let known: Vec<_> = candidates.iter().map(|known| format!("`{known}`")).collect();
                    let known = known.join(", ");
                    format!("The account `{name}` is not connected; name one of {known}, or connect it first, {connect}")
                }
            };
            let begin = json!({"method": "POST", "path": format!("/connectors/{connector}/integrations")});
            let problem = INTEGRATION_REQUIRED.with_detail(detail).with("action", begin);
            if named.is_some() { problem.with("candidates", candidates) } else { problem }
        }
        AccessError::Ambiguous { candidates } => SELECTION_REQUIRED
            .with_detail(format!(
                "Several accounts are connected and none is selected. Name one in the header X-User-Identifier, or select \
                 one with POST /connectors/{connector}/integrations/{{user_identifier}}."
            ))
            .with("candidates", candidates)
            .with(
                "action",
                json!({"method": "POST", "path": format!("/connectors/{connector}/integrations/{{user_identifier}}")}),
            ),
        AccessError::NotConfigured(error) => not_configured_problem(&error),
        AccessError::Reauthorize { again, detail } => {
            connect_again_problem(&REAUTHORIZATION_REQUIRED, again, connector, &detail)
        }
        AccessError::NotRefreshed { user_identifier, reason, retry_after } => {
            let kind = match reason.owner {
                Owner::Operator => &INTEGRATION_NOT_CONFIGURED,
                Owner::Caller | Owner::User | Owner::Connector | Owner::Provider => &TOKEN_REFRESH_FAILED,
            };
            kind.with_detail(reason.detail)
                .with("user_identifier", user_identifier)
                .retry_after(whole_seconds(retry_after))
        }
        AccessError::Failed(error) => integration_problem(&error),
    }
}

/// A problem that the user solves by connecting the account again. `detail` is a sentence that says
/// why. The member `action` names the call that helps.
pub fn connect_again_problem(kind: &'static Kind, again: ConnectAgain, connector: &str, detail: &str) -> Problem {
    let ConnectAgain { user_identifier, auth_type, address } = again;
    let missing = if auth_type == AuthType::OAuth2.name() {
        " Send `action.body`, with your `callback_url` added."
    } else if auth_type == DEVICE_CODE {
        " Send `action.body`."
    } else if auth_type == AuthType::None.name() {
        ""
    } else {
        " Send `action.body`, with the user's `credentials` added."
    };
    let mut body = json!({"auth_type": auth_type, "user_identifier": user_identifier});
    if !address.is_empty() {
        body["address"] = json!(address);
    }
    let path = format!("/connectors/{connector}/integrations");
    kind.with_detail(format!("{detail} Connect `{user_identifier}` again, with POST {path}.{missing}"))
        .with("user_identifier", user_identifier)
        .with("action", json!({"method": "POST", "path": path, "body": body}))
}

/// The problem of an account that no user can connect, because settings or grants are missing.
pub fn not_configured_problem(error: &NotConfigured) -> Problem {
    let NotConfigured { connector, missing, ungranted, redirect_uri } = error;
    let mut detail = Vec::new();
    if !missing.is_empty() {
        let keys = missing.join(", ");
        detail.push(match redirect_uri {
            Some(url) => format!(
                "Register the gateway with the service, with the redirect URL {url}; then set {keys} in the configuration."
            ),
            None => format!("Set {keys} in the configuration."),
        });
    }
    if !ungranted.is_empty() {
        detail.push(format!(
            "The connector would send users' tokens to {}. If that is right, run `{}`.",
            ungranted.join(", "),
            grant_command(connector, ungranted)
        ));
    }
    let problem = INTEGRATION_NOT_CONFIGURED
        .with_detail(detail.join(" "))
        .with("missing", missing.clone())
        .with("missing_hosts", ungranted.clone())
        .with("variables", error.variables());
    match redirect_uri {
        Some(url) => problem.with("redirect_uri", url.clone()),
        None => problem,
    }
}

/// The problem of a holder that has too much stored, or of a store or vault that failed. A
/// failure's cause goes to the log.
pub fn integration_problem(error: &IntegrationError) -> Problem {
    match error {
        IntegrationError::Store(StoreError::TooManyAuthorizations { limit }) => TOO_MANY_AUTHORIZATIONS
            .with_detail(format!(
                "{limit} authorizations are in progress, which is the limit. Let users complete theirs, or wait: an \
                 authorization that no user completes expires after ten minutes."
            ))
            .retry_after(EXPIRED_AFTER_S),
        IntegrationError::Store(StoreError::TooManyIntegrations { limit }) => {
            TOO_MANY_INTEGRATIONS.with_detail(format!(
                "{limit} accounts are connected, which is the limit. Disconnect one first, with DELETE \
             /connectors/{{connector}}/integrations/{{user_identifier}}."
            ))
        }
        IntegrationError::Store(error) => {
            store_problem(error, "The integrations cannot be read or written now; try again.")
        }
        IntegrationError::RefreshNotStored => STORE_UNAVAILABLE
            .with_detail("The credential cannot be refreshed now, because the database does not take it; try again.")
            .retry_after(1),
        IntegrationError::NoRoomForTokens => STORE_UNAVAILABLE
            .with_detail(
                "The credential cannot be refreshed now, because the disk of the gateway has no room for the new tokens. Free \
                 some space for `data_dir`, and try again.",
            )
            .retry_after(5),
        IntegrationError::LinkEnded => UNKNOWN_LINK.with_detail("The link has ended; start again from the application."),
        IntegrationError::KeptChanging => {
            STORE_UNAVAILABLE.with_detail("The account changed each time that it was read; try again.").retry_after(1)
        }
        IntegrationError::Stopping => DRAINING.with_detail("The gateway is about to stop; try again.").retry_after(1),
        IntegrationError::Vault(_) | IntegrationError::Secret(_) | IntegrationError::NoRandomness => {
            tracing::error!(%error, "an integration cannot be used");
            INTERNAL.with_detail(
                "A credential cannot be encrypted or decrypted. The operator finds the cause in the gateway's log.",
            )
        }
    }
}

/// The problem of a database that failed, in which the tenant may not store more, or which cannot
/// have a text of the request. The cause of a failure goes to the log.
pub fn store_problem(error: &StoreError, detail: &str) -> Problem {
    if let StoreError::TenantFull { limit } = error {
        return TENANT_FULL.with_detail(format!(
            "The tenant has stored {} MiB, which is the limit (`tenants.max_stored_mb`). Kept answers and results of jobs end by \
             themselves; delete tool sets, accounts and values of connectors that are not used, or have the limit raised.",
            limit >> 20
        ));
    }
    if let StoreError::ZeroByte = error {
        return invalid(
            "",
            "A text of the request has a zero byte (U+0000), which the database cannot store or look for; leave it out."
                .to_owned(),
        );
    }
    error.log_failure();
    STORE_UNAVAILABLE.with_detail(detail).retry_after(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_the_database_cannot_have_is_the_callers_mistake() {
        let problem = store_problem(&StoreError::ZeroByte, "The jobs cannot be read now; try again.");
        assert_eq!((problem.code(), problem.name()), (422, "validation"));
        assert!(problem.document("")["errors"][0]["detail"].as_str().unwrap().contains("U+0000"));
        assert_eq!(store_problem(&StoreError::Closed, "Try again.").code(), 503);
    }
}
