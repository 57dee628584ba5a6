//! One live connector: its module, and all that its manifest and the operator's configuration make of it.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use url::Url;

use super::manifest::below;
use crate::config::{self, Config};
use crate::metrics::{Metrics, OperationMetrics};
use crate::oauth::Recipients;
use crate::schema::Schema;
use contract::{AuthScheme, Manifest};
use egress::{Budget, Budgets, Pacing, Upstream, UpstreamSettings};
use sandbox::{Limits, Module, Settings};

pub(super) use super::manifest::is_identifier;
use super::token_hosts;

/// What a connector is built from.
pub(super) struct Parts<'a> {
    pub(super) manifest: Manifest,
    pub(super) module: Module,
    pub(super) digest: String,
    pub(super) shipped: bool,
    /// Hosts that the operator granted to this identifier.
    pub(super) granted: Vec<String>,
    pub(super) config: &'a Config,
    pub(super) metrics: &'a Metrics,
    /// The version that serves now; its rate limits go on counting.
    pub(super) predecessor: Option<&'a Connector>,
}

/// A connector that is, or could be, live.
pub struct Connector {
    /// Its identifier, cheap to hand on.
    name: Arc<str>,
    manifest: Manifest,
    module: Module,
    digest: String,
    shipped: bool,
    live_since: SystemTime,
    operations: HashMap<String, Operation>,
    upstreams: Arc<Upstreams>,
    budgets: Budgets,
    settings: Arc<Settings>,
    limits: Limits,
    timeout: Duration,
    /// Invocations at once.
    permits: Arc<Semaphore>,
    granted: BTreeSet<String>,
    missing: BTreeSet<String>,
    recipients: Recipients,
    missing_token_hosts: BTreeSet<String>,
}

/// The upstream that the operator's `oauth.userinfo_url` replaces.
const USERINFO: &str = "userinfo";

/// The services of a connector, by the names in its manifest.
pub(super) type Upstreams = HashMap<String, Upstream>;

/// One operation.
pub struct Operation {
    /// As the connector describes it.
    pub manifest: contract::Operation,
    /// Of its request body.
    pub schema: Schema,
    /// Its instruments.
    pub metrics: OperationMetrics,
}

impl Connector {
    pub(super) fn build(parts: Parts<'_>) -> Result<Self, String> {
        let Parts { mut manifest, module, digest, shipped, granted, config, metrics: all_metrics, predecessor } = parts;
        let config = config.connector(&manifest.identifier);
        let mut operations = HashMap::with_capacity(manifest.operations.len());
        for operation in std::mem::take(&mut manifest.operations) {
            let schema = Schema::compile(&operation.input_schema, operation.envelope)
                .map_err(|wrong| format!("operation `{}`: input-schema {wrong}", operation.path))?;
            if let Some(example) = &operation.example
                && schema.read(example.as_bytes()).is_err()
            {
                return Err(format!("operation `{}`: its schema does not accept its example", operation.path));
            }
            let metrics = all_metrics.operation(&manifest.identifier, &operation.path);
            operations.insert(operation.path.clone(), Operation { manifest: operation, schema, metrics });
        }
        let recipients = if shipped { Recipients::OfManifest } else { Recipients::vouched_for(&granted, config) };
        let mut missing_token_hosts = BTreeSet::new();
        if let AuthScheme::Oauth2(scheme) = &manifest.auth {
            token_hosts::check(scheme, &config.oauth, |host| shipped || granted.iter().any(|grant| grant == host))?;
            missing_token_hosts = token_hosts::missing(scheme, &config.oauth, &recipients);
        }
        let mut reach = reach(&manifest, shipped, &granted, config, all_metrics, predecessor)?;
        reach.missing.extend(missing_token_hosts.iter().cloned());
        let mut budgets = Budgets::new(manifest.rate_limits.iter().map(|limit| Budget {
            name: limit.name.clone(),
            requests: limit.requests,
            period: Duration::from_secs(limit.period_seconds.into()),
        }));
        if let Some(old) = predecessor {
            budgets.inherit(&old.budgets);
        }
        Ok(Self {
            operations,
            upstreams: Arc::new(reach.upstreams),
            budgets,
            settings: Arc::new(config.settings_as_json()),
            limits: limits(&config.limits),
            timeout: Duration::from_secs(config.limits.timeout_s),
            permits: Arc::new(Semaphore::new(config.limits.concurrency)),
            live_since: SystemTime::now(),
            name: manifest.identifier.as_str().into(),
            manifest,
            module,
            digest,
            shipped,
            granted: reach.granted,
            missing: reach.missing,
            recipients,
            missing_token_hosts,
        })
    }

    /// Its identifier.
    pub fn name(&self) -> Arc<str> {
        Arc::clone(&self.name)
    }

    /// What it says of itself, less its operations.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Its operations, by path.
    pub fn operations(&self) -> impl Iterator<Item = &Operation> {
        let mut operations: Vec<_> = self.operations.values().collect();
        operations.sort_by_key(|operation| &operation.manifest.path);
        operations.into_iter()
    }

    /// The operation at a path.
    pub fn operation(&self, path: &str) -> Option<&Operation> {
        self.operations.get(path)
    }

    /// Its module.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// SHA-256 of its module, in hexadecimal digits.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Whether it was built with the gateway.
    pub fn is_shipped(&self) -> bool {
        self.shipped
    }

    /// When it became live, or was loaded.
    pub fn live_since(&self) -> SystemTime {
        self.live_since
    }

    /// The services it may call.
    pub fn upstreams(&self) -> &Arc<Upstreams> {
        &self.upstreams
    }

    /// Its rate limits.
    pub fn budgets(&self) -> &Budgets {
        &self.budgets
    }

    /// The operator's settings for it.
    pub fn settings(&self) -> &Arc<Settings> {
        &self.settings
    }

    /// Bounds of one invocation.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// The longest time that a call may take, from its arrival to its end.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// A place among the invocations under way; `None` when all are taken.
    pub fn admit(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.permits).try_acquire_owned().ok()
    }

    /// Hosts that it may reach.
    pub fn granted_hosts(&self) -> Vec<&str> {
        self.granted.iter().map(String::as_str).collect()
    }

    /// Hosts that it asks for and was not granted.
    pub fn missing_hosts(&self) -> Vec<&str> {
        self.missing.iter().map(String::as_str).collect()
    }

    /// Who may be sent its users' tokens.
    pub fn recipients(&self) -> &Recipients {
        &self.recipients
    }

    /// Those of the missing hosts where its users' tokens would go.
    pub fn missing_token_hosts(&self) -> Vec<String> {
        self.missing_token_hosts.iter().cloned().collect()
    }
}

/// The limits of an invocation, from the configuration.
pub(super) fn limits(limits: &config::Limits) -> Limits {
    Limits {
        memory_bytes: limits.memory_mb << 20,
        cpu: Duration::from_millis(limits.cpu_ms),
        output_bytes: limits.response_mb << 20,
        response_bytes: (limits.response_mb as u64) << 20,
        download_bytes: (limits.download_mb as u64) << 20,
    }
}

/// Whether a grant names a host: a name or an address, with a port where it is not the scheme's own.
pub(super) fn is_host(host: &str) -> bool {
    Url::parse(&format!("https://{host}/")).is_ok_and(|url| {
        url.path() == "/"
            && url.username().is_empty()
            && url.password().is_none()
            && !host.contains('*')
            && !host.is_empty()
    })
}

/// The host of a URL as grants write it.
pub(super) fn host_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// What comes of a manifest's upstreams.
struct Reach {
    upstreams: Upstreams,
    granted: BTreeSet<String>,
    missing: BTreeSet<String>,
}

/// Compiles the upstreams, and tells which of the hosts they ask for are granted.
///
/// A connector that was built with the gateway gets what its manifest asks for; any other what the operator granted. A base
/// URL that the operator set is granted by being set, and what lies below it with it.
fn reach(
    manifest: &Manifest,
    shipped: bool,
    grants: &[String],
    config: &config::Connector,
    metrics: &Metrics,
    predecessor: Option<&Connector>,
) -> Result<Reach, String> {
    for name in config.upstreams.keys() {
        if !manifest.upstreams.iter().any(|upstream| upstream.name == *name) {
            tracing::warn!(
                connector = manifest.identifier,
                upstream = name,
                "the configuration sets an upstream that the connector does not have"
            );
        }
    }
    let mut reach = Reach { upstreams: Upstreams::new(), granted: BTreeSet::new(), missing: BTreeSet::new() };
    let mut places = HashMap::new();
    for upstream in &manifest.upstreams {
        let Place { base_url, by_operator } = place(upstream, config, &places);
        let mut granted_hosts = Vec::new();
        let base_host = Url::parse(&base_url).ok().map(|base| (host_of(&base), by_operator));
        let redirect_hosts = upstream.redirect_hosts.iter().map(|host| (host.clone(), false));
        for (host, by_operator) in base_host.into_iter().chain(redirect_hosts) {
            if by_operator || shipped || grants.contains(&host) {
                granted_hosts.push(host.clone());
                reach.granted.insert(host);
            } else {
                reach.missing.insert(host);
            }
        }
        // The pause is the service's own wish; where the operator named another service, it is the operator's to set.
        let asked = upstream.pacing.filter(|_| !by_operator).map(pacing);
        let settings = UpstreamSettings {
            name: upstream.name.clone(),
            base_url: base_url.clone(),
            granted_hosts,
            redirect_hosts: upstream.redirect_hosts.clone(),
            pacing: config.pacing.as_ref().map_or(asked, |wanted| Some(no_faster(wanted, asked))),
            allow_private_network: config.allow_private_network,
        };
        let mut compiled = Upstream::new(settings)
            .map_err(|error| format!("upstream `{}`: {error}", upstream.name))?
            .observed(metrics.upstream(&manifest.identifier, &upstream.name));
        if let Some(former) = predecessor.and_then(|old| old.upstreams.get(&upstream.name)) {
            compiled.inherit(former);
        }
        // A service that spaces calls counts all of a client's, on whichever of its hosts.
        for other in reach.upstreams.values() {
            compiled.share_queue(other);
        }
        reach.upstreams.insert(upstream.name.clone(), compiled);
        places.insert(upstream.name.as_str(), Place { base_url, by_operator });
    }
    Ok(reach)
}

/// Where an upstream is. The address is empty while only the operator knows it.
struct Place {
    base_url: String,
    /// The operator said so, which grants the host.
    by_operator: bool,
}

/// The operator's address of an upstream, else the manifest's. One that lies below an earlier upstream goes where that one goes.
fn place(upstream: &contract::Upstream, config: &config::Connector, earlier: &HashMap<&str, Place>) -> Place {
    let userinfo = config.oauth.userinfo_url.as_ref().filter(|_| upstream.name == USERINFO);
    if let Some(url) = config.upstreams.get(&upstream.name).or(userinfo) {
        return Place { base_url: url.to_string(), by_operator: true };
    }
    let Some((name, path)) = below(&upstream.base_url) else {
        return Place { base_url: upstream.base_url.clone(), by_operator: false };
    };
    match earlier.get(name).filter(|place| !place.base_url.is_empty()) {
        Some(place) => Place {
            base_url: format!("{}{path}", place.base_url.trim_end_matches('/')),
            by_operator: place.by_operator,
        },
        None => Place { base_url: String::new(), by_operator: false },
    }
}

fn pacing(pacing: contract::Pacing) -> Pacing {
    Pacing {
        interval: Duration::from_millis(pacing.interval_ms.into()),
        concurrency: pacing.concurrency,
        max_wait: Duration::from_millis(pacing.max_wait_ms.into()),
    }
}

/// The operator's pacing, but no faster than the service asks for.
fn no_faster(wanted: &config::Pacing, asked: Option<Pacing>) -> Pacing {
    let wanted = Pacing {
        interval: Duration::from_millis(wanted.interval_ms),
        concurrency: wanted.concurrency,
        max_wait: Duration::from_millis(wanted.max_wait_ms),
    };
    match asked {
        Some(asked) => Pacing {
            interval: wanted.interval.max(asked.interval),
            concurrency: wanted.concurrency.min(asked.concurrency),
            ..wanted
        },
        None => wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upstream(name: &str, base_url: &str) -> contract::Upstream {
        contract::Upstream {
            name: name.to_owned(),
            base_url: base_url.to_owned(),
            redirect_hosts: Vec::new(),
            pacing: None,
        }
    }

    /// Where `userinfo` lies, which the manifest puts below `api`.
    fn userinfo(api: &str, config: &config::Connector) -> (String, bool) {
        let api = place(&upstream("api", api), config, &HashMap::new());
        let place = place(&upstream("userinfo", "{api}/me"), config, &HashMap::from([("api", api)]));
        (place.base_url, place.by_operator)
    }

    #[test]
    fn an_upstream_below_another_goes_where_that_one_goes() {
        let mut config = config::Connector::default();
        assert_eq!(userinfo("https://a.test/v1", &config), ("https://a.test/v1/me".to_owned(), false));
        assert_eq!(userinfo("", &config), (String::new(), false));
        config.upstreams.insert("api".to_owned(), "http://localhost:9000".parse().unwrap());
        assert_eq!(userinfo("https://a.test/v1", &config), ("http://localhost:9000/me".to_owned(), true));
    }

    #[test]
    fn the_operator_can_place_userinfo_apart() {
        let mut config = config::Connector::default();
        config.oauth.userinfo_url = Some("https://id.test/claims".parse().unwrap());
        assert_eq!(userinfo("https://a.test/v1", &config), ("https://id.test/claims".to_owned(), true));
        let other = place(&upstream("api", "https://a.test"), &config, &HashMap::new());
        assert_eq!((other.base_url.as_str(), other.by_operator), ("https://a.test", false));
    }
}
