//! The OAuth clients that providers refuse: the last refresh of an account says so, or the record
//! of a connection that failed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use humantime::format_rfc3339_seconds;

use super::connectors::{ACCOUNTS, OAUTH_CLIENTS};
use super::report::Report;
use config::Config;
use contract::AuthScheme;
use integrations::error_for_operator;
use registry::Connector;
use store::{AnyIntegrationFilter, CallFilter, Integration, RecordedCall, Store, StoreError};

/// The code in the record of a connection that failed because of the OAuth client. No other call
/// ends with it.
const NOT_CONFIGURED: &str = "not_configured";

/// Age up to which a connection that failed is noted, and the most records that are read.
const LATELY: Duration = Duration::from_secs(24 * 3600);
const RECORDS: u32 = 200;

/// The client with which an account gets its tokens.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Client {
    /// The one of the configuration.
    Configured,
    /// The tenant's one with this id.
    Tenants(String),
    /// The account brings its credentials.
    Account,
}

/// Why accounts get no new tokens. Connectors with the same cause are one finding.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Cause {
    /// Names the client.
    client: String,
    /// The reason of the last refresh.
    reason: String,
    /// The step that the operator has to take.
    action: String,
}

/// Examines the accounts whose refresh fails until the operator acts, and the last connections.
pub(crate) async fn examine(config: &Config, connectors: &[&Arc<Connector>], store: &Store, report: &mut Report) {
    let mut affected: BTreeMap<Cause, Vec<String>> = BTreeMap::new();
    for connector in connectors {
        match causes(config, connector, store).await {
            Ok(causes) => {
                for cause in causes {
                    affected.entry(cause).or_default().push(format!("`{}`", connector.name()));
                }
            }
            Err(error) => {
                return report.problem(OAUTH_CLIENTS, error.to_string(), "Run `connector-gateway doctor` again");
            }
        }
    }
    report_causes(affected, report);
    if let Err(error) = connections(store, report).await {
        report.problem(OAUTH_CLIENTS, error.to_string(), "Run `connector-gateway doctor` again");
    }
}

/// Notes the last connection of each connector that failed because of the client, and after which
/// the tenant has connected no account. A connection that succeeds leaves no record, so the client
/// may have been mended since.
async fn connections(store: &Store, report: &mut Report) -> Result<(), StoreError> {
    let filter = CallFilter {
        problem: Some(NOT_CONFIGURED.to_owned()),
        since: clock::now().checked_sub(LATELY),
        limit: RECORDS,
        ..CallFilter::default()
    };
    let (mut noted, mut checked) = (BTreeSet::new(), BTreeSet::new());
    for call in store.calls().list(filter).await? {
        let is_newest = checked.insert((call.tenant.clone(), call.connector.clone()));
        if noted.contains(&call.connector) || !is_newest || has_connected_since(store, &call).await? {
            continue;
        }
        noted.insert(call.connector.clone());
        let RecordedCall { at, tenant, connector, detail, .. } = call;
        let detail = detail.unwrap_or_default();
        let found = format!(
            "a user of the tenant `{tenant}` could not connect an account of `{connector}` at {}. {}",
            format_rfc3339_seconds(at),
            detail.trim_end_matches('.')
        );
        report.note(
            OAUTH_CLIENTS,
            found,
            "If you have not mended the OAuth client since then, mend what the reason names",
        );
    }
    Ok(())
}

/// Returns `true` if a new account of the same tenant was connected after a connection that failed.
async fn has_connected_since(store: &Store, failed: &RecordedCall) -> Result<bool, StoreError> {
    let filter = AnyIntegrationFilter {
        tenant: Some(failed.tenant.clone()),
        connector: Some(failed.connector.clone()),
        limit: 1,
        ..AnyIntegrationFilter::default()
    };
    Ok(store.integrations().all(filter).await?.iter().any(|newest| newest.created_at > failed.at))
}

fn report_causes(affected: BTreeMap<Cause, Vec<String>>, report: &mut Report) {
    for (Cause { client, reason, action }, connectors) in affected {
        let found = format!(
            "tokens cannot be refreshed with {client} for accounts of {}. {}",
            connectors.join(", "),
            reason.trim_end_matches('.')
        );
        report.problem(OAUTH_CLIENTS, found, action);
    }
}

/// Why accounts of a connector get no new tokens until the operator acts.
async fn causes(config: &Config, connector: &Connector, store: &Store) -> Result<BTreeSet<Cause>, StoreError> {
    let now = clock::now();
    let filter = AnyIntegrationFilter {
        connector: Some(connector.name().to_string()),
        due_before: Some(now),
        limit: ACCOUNTS,
        ..AnyIntegrationFilter::default()
    };
    let accounts = store.integrations().all(filter).await?;
    let failing = accounts.iter().filter_map(|account| Some((client_of(account), error_for_operator(account, now)?)));
    let failing: BTreeSet<(Client, String)> = failing.collect();
    let mut causes = BTreeSet::new();
    for (client, reason) in failing {
        let described = match client {
            Client::Configured => of_configuration(config, connector),
            Client::Tenants(id) => of_tenant(store, &id).await?,
            Client::Account => Some((
                "the credentials that they bring".to_owned(),
                "Mend what the reason names, or connect the accounts with other credentials".to_owned(),
            )),
        };
        causes.extend(described.map(|(client, action)| Cause { client, reason, action }));
    }
    Ok(causes)
}

/// The client with which an account gets its tokens.
pub(super) fn client_of(account: &Integration) -> Client {
    match &account.oauth_client {
        _ if account.grant_type.is_some() => Client::Account,
        Some(id) => Client::Tenants(id.clone()),
        None => Client::Configured,
    }
}

/// The name of the connector's client in the configuration, and what to do about it. `None` if it
/// is missing: the check of missing clients has it.
fn of_configuration(config: &Config, connector: &Connector) -> Option<(String, String)> {
    if connector.lacking_oauth_client(config).is_some() {
        return None;
    }
    let name: &str = match &connector.manifest().auth {
        // A connector without a section has the client of its provider.
        AuthScheme::Oauth2(scheme) if config.oauth_client(connector.name(), "").is_none() => scheme.provider.as_str(),
        _ => connector.name(),
    };
    let section = format!("[oauth_clients.{name}]");
    let action = format!(
        "Compare `client_id` and `client_secret_file` of {section} with the client at the provider, mend them, and restart \
         the gateway"
    );
    Some((section, action))
}

/// The name of a tenant's client, and what to do about it. `None` if it was deleted.
async fn of_tenant(store: &Store, id: &str) -> Result<Option<(String, String)>, StoreError> {
    let Some(found) = store.oauth_clients().by_id(id).await? else { return Ok(None) };
    let (tenant, name) = (found.client.tenant, found.client.name);
    let action = format!(
        "Compare it with the client at the provider, and set it again with `connector-gateway tenants clients set {tenant} \
         {name}`"
    );
    Ok(Some((format!("the client `{name}` of the tenant `{tenant}`"), action)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connectors_with_the_same_refused_client_are_one_finding() {
        let cause = || Cause {
            client: "[oauth_clients.acme]".to_owned(),
            reason: "The gateway's OAuth client cannot be used: invalid_client.".to_owned(),
            action: "Mend it".to_owned(),
        };
        let mut report = Report::default();
        report_causes([(cause(), vec!["`calendar`".to_owned(), "`mail`".to_owned()])].into(), &mut report);
        let found: Vec<_> = report.findings().iter().map(|finding| finding.text.as_str()).collect();
        let expected = "tokens cannot be refreshed with [oauth_clients.acme] for accounts of `calendar`, `mail`. The gateway's \
                        OAuth client cannot be used: invalid_client";
        assert_eq!(found, [expected]);
    }
}
