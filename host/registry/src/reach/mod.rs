//! The hosts that a connector may reach, and the requests that carry the user's credential.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use url::Url;

use super::account_upstreams::Template;
use super::grant_form::host_of;
use super::token_hosts;
use contract::words::nearest;
use contract::{Additions, AuthScheme, KeyPlacement, Manifest, has_parts};
use contract_rules::account_address::is_in_host;
use contract_rules::address::below;
use egress::{CredentialUse, FormField, Pacing, Upstream, UpstreamSettings};
use metrics::Metrics;

/// The upstream that the operator's `oauth.userinfo_url` replaces.
const USERINFO: &str = "userinfo";

/// The command that grants hosts to a connector. The identifier and the hosts follow.
pub const GRANT_COMMAND: &str = "connector-gateway connectors grant";

/// The command that grants hosts to a connector, as a person enters it.
pub fn grant_command(connector: &str, hosts: &[impl AsRef<str>]) -> String {
    let mut command = format!("{GRANT_COMMAND} {connector}");
    for host in hosts {
        let host: &str = host.as_ref();
        // A shell would take a wildcard, or the brackets of an IPv6 address, for names of files.
        let quote = if host.contains(['*', '[']) { "'" } else { "" };
        command.push_str(&format!(" {quote}{host}{quote}"));
    }
    command
}

/// A service that a connector calls, as operators see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// The name of the upstream.
    pub name: String,
    /// The host of its base URL. `None` while only the operator knows the URL.
    pub host: Option<String>,
    /// Other hosts that its redirects and links may lead to, as the manifest and the operator write
    /// them.
    pub link_hosts: Vec<String>,
    /// The place of the user's credential in requests to it. `None` if they carry no credential.
    pub credential: Option<CredentialPlace>,
}

/// The place of a credential in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CredentialPlace {
    /// `header`, `query` or `form_field`.
    pub part: &'static str,
    /// The name of the header, query parameter or form field.
    pub name: String,
}

/// The upstreams of a connector, by the names in its manifest.
pub type Upstreams = HashMap<String, Upstream>;

/// The upstreams of a connector, ready for requests, and the hosts that it may and may not reach.
pub(super) struct Reach {
    pub(super) upstreams: Upstreams,
    pub(super) services: Vec<Service>,
    pub(super) granted: BTreeSet<String>,
    pub(super) missing: BTreeSet<String>,
    /// The upstreams whose base URLs differ from account to account.
    pub(super) templates: Vec<Template>,
}

/// Prepares the upstreams, and compares the hosts that they need with the grants.
///
/// A shipped connector is granted the hosts of its manifest. Any other connector is granted the
/// hosts that the operator lists. If the operator sets the base URL of an upstream or a link host
/// of it, this grants the host.
pub(super) fn reach(
    manifest: &Manifest,
    additions: &Additions,
    shipped: bool,
    grants: &[String],
    config: &config::Connector,
    metrics: &Metrics,
    previous: Option<&Upstreams>,
) -> Result<Reach, String> {
    warn_of_unused_settings(manifest, config);
    let mut reach = Reach {
        upstreams: Upstreams::new(),
        services: Vec::new(),
        granted: BTreeSet::new(),
        missing: BTreeSet::new(),
        templates: Vec::new(),
    };
    let mut addresses = HashMap::new();
    for upstream in &manifest.upstreams {
        let UpstreamAddress { base_url, by_operator } = address(upstream, additions, config, &addresses);
        let credential = credential_place(upstream.credential, &manifest.auth);
        if credential.is_some() && !by_operator && is_clear_text(&base_url) {
            return Err(format!(
                "upstream `{0}`: requests to it carry the user's credential, and its base URL is `http`, which anyone on the way \
                 can read; its author changes it to `https`, or you set `connectors.{1}.upstreams.{0}`",
                upstream.name, manifest.identifier
            ));
        }
        let mut granted_hosts = Vec::new();
        let template = has_parts(&base_url).then(|| Template {
            upstream: upstream.name.clone(),
            base_url: base_url.clone(),
            site: site_of(upstream, additions, &base_url).map(str::to_owned),
        });
        let base_host = host_to_grant(&base_url, site_of(upstream, additions, &base_url));
        let link_hosts = upstream.link_hosts.iter().map(|host| (host, false));
        let more_link_hosts = config.link_hosts.get(&upstream.name).into_iter().flatten().map(|host| (host, true));
        let link_hosts: Vec<(&String, bool)> = link_hosts.chain(more_link_hosts).collect();
        for (host, by_operator) in base_host.iter().map(|host| (host, by_operator)).chain(link_hosts.iter().copied()) {
            if by_operator || shipped || grants.contains(host) {
                granted_hosts.push(host.clone());
                reach.granted.insert(host.clone());
            } else {
                reach.missing.insert(host.clone());
            }
        }
        let link_hosts: Vec<String> = link_hosts.into_iter().map(|(host, _)| host.clone()).collect();
        // The manifest's pacing applies to the manifest's URL. If the operator replaced the URL,
        // the operator's pacing applies.
        let declared = upstream.pacing.filter(|_| !by_operator).map(pacing);
        let settings = UpstreamSettings {
            name: upstream.name.clone(),
            base_url: if template.is_some() { String::new() } else { base_url.clone() },
            differs_by_account: template.is_some(),
            credential: credential_use(upstream.credential, &manifest.auth),
            granted_hosts,
            link_hosts: link_hosts.clone(),
            pacing: config.pacing.as_ref().map_or(declared, |wanted| Some(no_faster(wanted, declared))),
            allow_private_network: config.allow_private_network || by_operator && config.trusts_replacements,
            grant_command: format!("{GRANT_COMMAND} {}", manifest.identifier),
        };
        let mut ready = Upstream::new(settings)
            .map_err(|error| format!("upstream `{}`: {error}", upstream.name))?
            .observed(metrics.upstream(&manifest.identifier, &upstream.name));
        if let Some(previous) = previous.and_then(|previous| previous.get(&upstream.name)) {
            ready.inherit(previous);
        }
        // A service that limits its clients counts all their calls, on all its hosts.
        for other in reach.upstreams.values() {
            ready.share_queue(other);
        }
        reach.upstreams.insert(upstream.name.clone(), ready);
        reach.templates.extend(template);
        reach.services.push(Service { name: upstream.name.clone(), host: base_host, link_hosts, credential });
        addresses.insert(upstream.name.as_str(), UpstreamAddress { base_url, by_operator });
    }
    Ok(reach)
}

/// Logs settings that have no effect on the connector. They are no errors, because its next version
/// may use them.
fn warn_of_unused_settings(manifest: &Manifest, config: &config::Connector) {
    let known: Vec<&str> = manifest.upstreams.iter().map(|upstream| upstream.name.as_str()).collect();
    for name in config.upstreams.keys().chain(config.link_hosts.keys()) {
        if !known.contains(&name.as_str()) {
            tracing::warn!(
                connector = manifest.identifier,
                upstream = name,
                nearest = nearest(name, known.iter().copied()),
                known = known.join(", "),
                "the configuration sets an upstream that the connector does not have; check its name"
            );
        }
    }
    let has_oauth = matches!(manifest.auth, AuthScheme::Oauth2(_)) || known.contains(&USERINFO);
    if !has_oauth && config.oauth != config::Oauth::default() {
        tracing::warn!(
            connector = manifest.identifier,
            section = format!("[connectors.{}.oauth]", manifest.identifier),
            "users of this connector do not authorize at an OAuth provider, so this section of the configuration has no effect"
        );
    }
}

/// All hosts that a manifest names: the hosts of its upstreams and links, and the hosts that
/// receive its users' tokens.
pub(super) fn named_hosts(manifest: &Manifest, additions: &Additions, config: &config::Connector) -> Vec<String> {
    let of_upstream = |upstream: &contract::Upstream| {
        let base = host_to_grant(&upstream.base_url, site_of(upstream, additions, &upstream.base_url));
        base.into_iter().chain(upstream.link_hosts.clone())
    };
    let mut hosts: Vec<String> = manifest.upstreams.iter().flat_map(of_upstream).collect();
    if let AuthScheme::Oauth2(scheme) = &manifest.auth {
        hosts.extend(token_hosts::named(scheme, additions, &config.oauth));
    }
    hosts
}

/// The domain that the hosts of accounts are below, if the host of a base URL differs from account
/// to account.
fn site_of<'a>(upstream: &contract::Upstream, additions: &'a Additions, base_url: &str) -> Option<&'a str> {
    additions.upstreams.site(&upstream.name, &upstream.base_url).filter(|_| is_in_host(base_url))
}

/// The host that the operator grants for a base URL, as grants write it.
fn host_to_grant(base_url: &str, site: Option<&str>) -> Option<String> {
    match site {
        Some(site) => Some(format!("*.{site}")),
        None => Url::parse(base_url).ok().map(|base| host_of(&base)),
    }
}

/// The name of the form field, and the other names by which the service might find a credential.
fn form_field(auth: &AuthScheme) -> Option<FormField> {
    let mut other_names = vec!["access_token".to_owned()];
    let name = match auth {
        AuthScheme::None => None,
        AuthScheme::Oauth2(scheme) => scheme.form_field.clone(),
        AuthScheme::ApiKey(key) => {
            if let KeyPlacement::Query(name) = &key.placement {
                other_names.push(name.clone());
            }
            key.form_field.clone()
        }
    };
    name.map(|name| FormField { name, other_names })
}

fn credential_use(declared: contract::CredentialUse, auth: &AuthScheme) -> CredentialUse {
    match declared {
        contract::CredentialUse::None => CredentialUse::None,
        contract::CredentialUse::Standard => CredentialUse::Standard,
        // The manifest's rules require a name for the field.
        contract::CredentialUse::FormField => form_field(auth).map_or(CredentialUse::None, CredentialUse::FormField),
    }
}

fn credential_place(declared: contract::CredentialUse, auth: &AuthScheme) -> Option<CredentialPlace> {
    let place = |part, name: &str| Some(CredentialPlace { part, name: name.to_owned() });
    match (declared, auth) {
        (contract::CredentialUse::None, _) | (_, AuthScheme::None) => None,
        (contract::CredentialUse::FormField, auth) => place("form_field", &form_field(auth)?.name),
        (contract::CredentialUse::Standard, AuthScheme::Oauth2(_)) => place("header", "Authorization"),
        (contract::CredentialUse::Standard, AuthScheme::ApiKey(key)) => match &key.placement {
            KeyPlacement::Header(header) => place("header", &header.name),
            KeyPlacement::Query(name) => place("query", name),
            KeyPlacement::Basic => place("header", "Authorization"),
        },
    }
}

/// Returns `true` if requests to a URL are sent without TLS.
fn is_clear_text(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| url.scheme() != "https")
}

/// The address of an upstream.
struct UpstreamAddress {
    /// Empty while only the operator knows it.
    base_url: String,
    /// `true` if the operator set it, which grants the host.
    by_operator: bool,
}

/// The operator's address of an upstream, else the manifest's. If the upstream is declared below an
/// earlier one, its address follows the address of the earlier one.
fn address(
    upstream: &contract::Upstream,
    additions: &Additions,
    config: &config::Connector,
    earlier: &HashMap<&str, UpstreamAddress>,
) -> UpstreamAddress {
    let userinfo = config.oauth.userinfo_url.as_ref().filter(|_| upstream.name == USERINFO);
    if let Some(url) = config.upstreams.get(&upstream.name).or(userinfo) {
        return UpstreamAddress { base_url: operators_url(url, additions), by_operator: true };
    }
    let Some((name, path)) = below(&upstream.base_url) else {
        return UpstreamAddress { base_url: upstream.base_url.clone(), by_operator: false };
    };
    match earlier.get(name).filter(|address| !address.base_url.is_empty()) {
        Some(address) => UpstreamAddress {
            base_url: format!("{}{path}", address.base_url.trim_end_matches('/')),
            by_operator: address.by_operator,
        },
        None => UpstreamAddress { base_url: String::new(), by_operator: false },
    }
}

/// A URL of the configuration. Its path may have parts of accounts' addresses, whose braces the URL
/// has encoded.
fn operators_url(url: &Url, additions: &Additions) -> String {
    let parts = additions.upstreams.parts.iter();
    parts.fold(url.to_string(), |url, part| url.replace(&format!("%7B{}%7D", part.name), &format!("{{{}}}", part.name)))
}

fn pacing(pacing: contract::Pacing) -> Pacing {
    Pacing {
        interval: Duration::from_millis(pacing.interval_ms.into()),
        concurrency: pacing.concurrency,
        max_wait: Duration::from_millis(pacing.max_wait_ms.into()),
    }
}

/// The operator's pacing, but not faster than the manifest's.
fn no_faster(wanted: &config::Pacing, declared: Option<Pacing>) -> Pacing {
    let wanted = Pacing {
        interval: Duration::from_millis(wanted.interval_ms),
        concurrency: wanted.concurrency,
        max_wait: Duration::from_millis(wanted.max_wait_ms),
    };
    match declared {
        Some(declared) => Pacing {
            interval: wanted.interval.max(declared.interval),
            concurrency: wanted.concurrency.min(declared.concurrency),
            ..wanted
        },
        None => wanted,
    }
}

#[cfg(test)]
mod tests;
