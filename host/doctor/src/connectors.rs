//! The connectors: refused ones, missing grants and OAuth clients, and the hosts that they call.
//!
//! Problems with the same cause are one finding, which names all modules, connectors or hosts: a
//! machine without a name server has one problem, and not one for each host.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::stream::{self, StreamExt};
use url::Url;

use super::refused_clients::Client;
use super::report::Report;
use super::{notifications, operator_events, refused_clients};
use config::Config;
use egress::{Egress, EgressError};
use registry::{Connector, Registry, grant_command};
use store::{AnyIntegrationFilter, Status, Store, StoreError};

const CHECK: &str = "connectors";

/// Hosts that are connected to at the same time.
const PARALLEL: usize = 16;

/// Accounts of one connector that are read.
pub(super) const ACCOUNTS: u32 = 200;

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
    connectors.iter().for_each(|connector| grants(connector, report));
    oauth_clients(config, &connectors, store, report).await;
    if let Some(store) = store {
        refused_clients::examine(config, &connectors, store, report).await;
    }
    notifications::examine(config, registry, store, report).await;
    operator_events::examine(config, store, report).await;
    hosts(config, &connectors, egress, report).await;
}

/// Names in the text of a finding.
fn listed(names: &[String]) -> String {
    names.join(", ")
}

fn modules(registry: &Registry, report: &mut Report) {
    let refused = registry.refused();
    let mut by_reason: BTreeMap<(&str, bool), Vec<String>> = BTreeMap::new();
    for refused in refused.iter() {
        by_reason.entry((&refused.reason, refused.serving.is_some())).or_default().push(refused.file.clone());
    }
    for ((reason, serves), mut files) in by_reason {
        files.sort_unstable();
        let (modules, serving) = match (files.len(), serves) {
            (1, true) => ("module", "is refused, and the previous version serves in its place"),
            (1, false) => ("module", "is refused, and its connector is not live"),
            (_, true) => ("modules", "are refused, and the previous versions serve in their place"),
            (_, false) => ("modules", "are refused, and their connectors are not live"),
        };
        report.problem(
            CHECK,
            format!("the {modules} {} {serving}: {reason}", listed(&files)),
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
            format!("If it may, run `{}`", grant_command(connector.name(), &missing)),
        );
    }
}

/// Connectors that lack the same OAuth client.
#[derive(Default)]
struct Lacking {
    with_accounts: Vec<String>,
    without_accounts: Vec<String>,
}

/// The check of OAuth clients.
pub(super) const OAUTH_CLIENTS: &str = "oauth clients";

async fn oauth_clients(config: &Config, connectors: &[&Arc<Connector>], store: Option<&Store>, report: &mut Report) {
    let mut by_section: BTreeMap<String, Lacking> = BTreeMap::new();
    for connector in connectors {
        let Some(section) = connector.lacking_oauth_client(config) else { continue };
        let lacking = by_section.entry(section).or_default();
        let used = match store {
            Some(store) => has_accounts(store, connector.name()).await,
            None => Ok(false),
        };
        let name = format!("`{}`", connector.name());
        match used {
            Ok(true) => lacking.with_accounts.push(name),
            Ok(false) => lacking.without_accounts.push(name),
            Err(error) => {
                return report.problem(OAUTH_CLIENTS, error.to_string(), "Run `connector-gateway doctor` again");
            }
        }
    }
    report_lacking(by_section, report);
}

fn report_lacking(by_section: BTreeMap<String, Lacking>, report: &mut Report) {
    for (section, Lacking { with_accounts, without_accounts }) in by_section {
        let action = format!(
            "Register the gateway with the provider, and set `client_id` and `client_secret_file` in {section}. Tenants can \
             also have clients: `connector-gateway tenants clients set`"
        );
        if !with_accounts.is_empty() {
            report.problem(
                OAUTH_CLIENTS,
                format!(
                    "{section} is missing, so tokens cannot be refreshed for accounts of {}",
                    listed(&with_accounts)
                ),
                action.clone(),
            );
        }
        if !without_accounts.is_empty() {
            report.note(
                OAUTH_CLIENTS,
                format!("{section} is missing, so users cannot connect accounts of {}", listed(&without_accounts)),
                action,
            );
        }
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
    let accounts = store.integrations().all(filter).await?;
    Ok(accounts.iter().any(|account| refused_clients::client_of(account) == Client::Configured))
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
    let mut by_cause: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (origin, users, result) in checked {
        let Err(error) = result else { continue };
        by_cause.entry(cause(&error)).or_default().push(format!("{origin} ({})", users.join(", ")));
    }
    let all_reached = by_cause.is_empty();
    for (cause, hosts) in by_cause {
        report.problem(
            CHECK,
            format!("{cause}: {}", listed(&hosts)),
            "Check the name server, the firewall and the root certificates of this machine, and the address in the configuration",
        );
    }
    if all_reached && count > 0 {
        report.ok(CHECK, format!("all {count} hosts of upstreams and token endpoints can be reached"));
    }
}

/// The cause of an error, without the host, which other hosts may share.
fn cause(error: &EgressError) -> String {
    match error {
        EgressError::Unresolved { detail, host } => {
            format!("the name cannot be resolved: {}", detail.replace(host, "the host"))
        }
        EgressError::Unreachable { detail, host, .. } => {
            format!("the host cannot be reached: {}", detail.replace(host, "the host"))
        }
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::Level;
    use super::*;

    #[test]
    fn connectors_that_lack_the_same_oauth_client_are_one_finding() {
        let names = |names: &[&str]| names.iter().map(|name| format!("`{name}`")).collect();
        let of_acme = Lacking { with_accounts: names(&["mail"]), without_accounts: names(&["calendar", "drive"]) };
        let of_other = Lacking { with_accounts: Vec::new(), without_accounts: names(&["words"]) };
        let mut report = Report::default();
        let sections = [("[oauth_clients.acme]", of_acme), ("[oauth_clients.words]", of_other)];
        report_lacking(sections.map(|(section, lacking)| (section.to_owned(), lacking)).into(), &mut report);
        let found: Vec<_> = report.findings().iter().map(|finding| (finding.level, finding.text.as_str())).collect();
        let expected = [
            (Level::Problem, "[oauth_clients.acme] is missing, so tokens cannot be refreshed for accounts of `mail`"),
            (Level::Note, "[oauth_clients.acme] is missing, so users cannot connect accounts of `calendar`, `drive`"),
            (Level::Note, "[oauth_clients.words] is missing, so users cannot connect accounts of `words`"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn hosts_with_the_same_cause_have_the_same_text() {
        let unresolved = |host: &str| {
            cause(&EgressError::Unresolved { host: host.to_owned(), detail: format!("no address of {host}") })
        };
        assert_eq!(unresolved("a.example"), "the name cannot be resolved: no address of the host");
        assert_eq!(unresolved("a.example"), unresolved("b.example"));
        let refused =
            EgressError::Unreachable { host: "a.example".to_owned(), detail: "refused".to_owned(), is_tls: false };
        assert_eq!(cause(&refused), "the host cannot be reached: refused");
    }
}
