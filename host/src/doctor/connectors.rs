//! The connectors: refused ones, missing grants and OAuth clients, and the hosts that they call.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::stream::{self, StreamExt};
use url::Url;

use super::report::Report;
use crate::config::Config;
use crate::registry::{Connector, GRANT_COMMAND, Registry};
use egress::Egress;
use store::{AnyIntegrationFilter, Status, Store, StoreError};

const CHECK: &str = "connectors";

/// Hosts that are connected to at the same time.
const PARALLEL: usize = 16;

/// Accounts of one connector that are read.
const ACCOUNTS: u32 = 200;

/// Examines the connectors of a registry that has read its folders. `store` has the accounts of
/// users, if there can be any. Connects to the hosts with `egress`, and sends no request.
pub async fn examine(
    config: &Config,
    registry: &Registry,
    store: Option<&Store>,
    egress: &Egress,
    report: &mut Report,
) {
    modules(registry, report);
    let live = registry.live();
    let mut connectors: Vec<&Arc<Connector>> = live.values().collect();
    connectors.sort_by_key(|connector| Arc::clone(connector.name()));
    for connector in &connectors {
        grants(connector, report);
        if let Some(section) = connector.lacking_oauth_client(config) {
            let used = match store {
                Some(store) => has_accounts(store, connector.name()).await,
                None => Ok(false),
            };
            oauth_client(connector, &section, used, report);
        }
    }
    hosts(config, &connectors, egress, report).await;
}

fn modules(registry: &Registry, report: &mut Report) {
    let refused = registry.refused();
    for refused in refused.iter() {
        let serving = if refused.serving.is_some() {
            "the previous version serves in its place"
        } else {
            "its connector is not live"
        };
        report.problem(
            CHECK,
            format!("the module {} is refused, and {serving}: {}", refused.file, refused.reason),
            "Mend what the reason names, or remove the file",
        );
    }
    if refused.is_empty() {
        report.ok(CHECK, format!("{} connectors, and no module is refused", registry.live().len()));
    }
}

fn grants(connector: &Connector, report: &mut Report) {
    let missing = connector.missing_hosts();
    if !missing.is_empty() {
        report.note(
            "grants",
            format!("`{}` may not reach {}, which it asks for", connector.name(), missing.join(", ")),
            format!("If it may, run `{GRANT_COMMAND} {} {}`", connector.name(), missing.join(" ")),
        );
    }
}

/// Returns `true` if users have accounts of a connector that use the client of the configuration.
async fn has_accounts(store: &Store, connector: &str) -> Result<bool, StoreError> {
    let filter = AnyIntegrationFilter {
        connector: Some(connector.to_owned()),
        status: Some(Status::Active),
        limit: ACCOUNTS,
        ..AnyIntegrationFilter::default()
    };
    Ok(store.all_integrations(filter).await?.iter().any(|account| account.oauth_client.is_none()))
}

fn oauth_client(connector: &Connector, section: &str, used: Result<bool, StoreError>, report: &mut Report) {
    const CHECK: &str = "oauth clients";
    let action = format!(
        "Register the gateway with the provider, and set `client_id` and `client_secret_file` in {section}. Tenants can also \
         have clients: `connector-gateway tenants clients set`"
    );
    match used {
        Ok(true) => report.problem(
            CHECK,
            format!(
                "`{}` has accounts, but {section} is missing, so their tokens cannot be refreshed",
                connector.name()
            ),
            action,
        ),
        Ok(false) => {
            report.note(
                CHECK,
                format!("users cannot connect accounts of `{}`: {section} is missing", connector.name()),
                action,
            );
        }
        Err(error) => report.problem(CHECK, error.to_string(), "Run `connector-gateway doctor` again"),
    }
}

/// Connects to each host, and sends no request.
async fn hosts(config: &Config, connectors: &[&Arc<Connector>], egress: &Egress, report: &mut Report) {
    const CHECK: &str = "hosts";
    let mut users: BTreeMap<(String, bool), (Url, Vec<String>)> = BTreeMap::new();
    for connector in connectors {
        for endpoint in connector.endpoints(config) {
            let origin = endpoint.url.origin().ascii_serialization();
            let (_, users) =
                users.entry((origin, endpoint.allows_private_network)).or_insert((endpoint.url, Vec::new()));
            users.push(format!("{} of `{}`", endpoint.name, connector.name()));
        }
    }
    let count = users.len();
    let checks = users.into_iter().map(|((origin, allows_private), (url, users))| {
        let egress = egress.clone();
        async move { (origin, users, egress.check_reachable(&url, allows_private).await) }
    });
    let checked: Vec<_> = stream::iter(checks).buffered(PARALLEL).collect().await;
    let mut failed = false;
    for (origin, users, result) in checked {
        let Err(error) = result else { continue };
        failed = true;
        report.problem(
            CHECK,
            format!("{origin} cannot be reached ({}): {error}", users.join(", ")),
            "Check the name server, the firewall and the root certificates of this machine, and the address in the configuration",
        );
    }
    if !failed && count > 0 {
        report.ok(CHECK, format!("all {count} hosts of upstreams and token endpoints can be reached"));
    }
}
