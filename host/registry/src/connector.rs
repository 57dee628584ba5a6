//! One connector: its module, and all that is made of its manifest and the operator's
//! configuration.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::Notify;

use super::account_upstreams::{AccountUpstreams, scheme_urls};
use super::concurrency::{ConcurrencyLimit, NoPermit, Permit};
use super::operation::{Operation, at, operations_of};
use super::origin::Origin;
use super::reach::{Reach, Service, Upstreams, reach};
use super::refusal::Refusal;
use super::trust::Signed;
use super::{settings, token_hosts};
use config::{self, Config};
use contract::{Additions, AuthAdditions, AuthScheme, Inbox, Manifest, Trigger};
use egress::{PacedQueue, Quota, Quotas, Upstream};
use metrics::Metrics;
use oauth::Recipients;
use sandbox::{Compiled, Limits, Module, Settings};
use webhooks::url_check;

/// A described module, of which [`Connector::build`] makes a connector.
pub(super) struct Described<'a> {
    pub(super) manifest: Manifest,
    pub(super) additions: Additions,
    pub(super) module: Module,
    pub(super) compiled: Compiled,
    pub(super) digest: String,
    pub(super) origin: Origin,
    pub(super) signed: Option<Signed>,
    /// `true` if the module has schemas of answers.
    pub(super) has_answer_schemas: bool,
    /// The hosts that the operator granted to this identifier.
    pub(super) granted: Vec<String>,
    pub(super) config: &'a Config,
    pub(super) metrics: &'a Metrics,
    /// The version that is live now. The new one takes over the counts of its rate limits.
    pub(super) previous: Option<&'a Connector>,
    /// Asks for an exchange with the gateways that share its rate limits and pacing, if there are any.
    pub(super) exchange: Option<&'a Arc<Notify>>,
}

/// A connector that is, or could be, live.
pub struct Connector {
    name: Arc<str>,
    manifest: Manifest,
    additions: Additions,
    module: Module,
    compiled: Compiled,
    digest: String,
    origin: Origin,
    signed: Option<Signed>,
    has_answer_schemas: bool,
    live_since: SystemTime,
    /// Those that callers may run, sorted by path. A list takes half of the memory of a map.
    operations: Box<[Operation]>,
    /// The operations that its triggers name, sorted by path. They are not among `operations`, so that
    /// nothing that callers see has them.
    internal_operations: Box<[Operation]>,
    upstreams: Arc<Upstreams>,
    pub(super) account_upstreams: AccountUpstreams,
    quotas: Quotas,
    settings: Arc<Settings>,
    limits: Limits,
    timeout: Duration,
    concurrency: Arc<ConcurrencyLimit>,
    services: Vec<Service>,
    granted: BTreeSet<String>,
    missing: BTreeSet<String>,
    named: BTreeSet<String>,
    operator_grants: Vec<String>,
    recipients: Recipients,
    missing_token_hosts: BTreeSet<String>,
}

impl Connector {
    /// Makes a connector of a module whose manifest has passed the rules, and whose schemas have passed
    /// their trial.
    ///
    /// # Errors
    /// If a URL of the auth scheme is at a foreign site, or the
    /// operator's settings are wrong.
    pub(super) fn build(described: Described<'_>) -> Result<Self, Refusal> {
        let Described {
            mut manifest,
            additions,
            module,
            compiled,
            digest,
            origin,
            signed,
            has_answer_schemas,
            granted,
            config,
            metrics,
            previous,
            exchange,
        } = described;
        let shipped = origin == Origin::Shipped;
        let check_url = url_check(config.callbacks.allow_private_network);
        let config = config.connector(&manifest.identifier);
        let (internal_operations, operations) = operations_of(&mut manifest, &additions, metrics, check_url);
        let settings = settings::values(&manifest, config)?;
        let sites = &additions.upstreams.sites;
        let recipients =
            if shipped { Recipients::OfManifest } else { Recipients::vouched_for(&granted, config, sites) };
        let mut missing_token_hosts = BTreeSet::new();
        let mut named = BTreeSet::new();
        if let AuthScheme::Oauth2(scheme) = &manifest.auth {
            let declared = &additions;
            let is_granted = |host: &str| shipped || granted.iter().any(|grant| grant == host);
            token_hosts::check(scheme, declared, &config.oauth, is_granted)?;
            missing_token_hosts = token_hosts::missing(scheme, declared, &config.oauth, &recipients);
            named.extend(token_hosts::named(scheme, declared, &config.oauth));
        }
        let operator_grants = granted.clone();
        let previous_upstreams = previous.map(|previous| &*previous.upstreams);
        let Reach { upstreams, services, granted, mut missing, templates } =
            reach(&manifest, &additions, shipped, &granted, config, metrics, previous_upstreams)?;
        let account_upstreams =
            AccountUpstreams::new(templates, &additions, &scheme_urls(&manifest.auth, &config.oauth));
        named.extend(granted.iter().chain(&missing).cloned());
        missing.extend(missing_token_hosts.iter().cloned());
        let quotas = quotas_of(&manifest, exchange.is_some(), previous);
        if let Some(exchange) = exchange {
            upstreams.values().for_each(|upstream| upstream.share_queue_with_gateways(exchange));
        }
        Ok(Self {
            operations: operations.into(),
            internal_operations: internal_operations.into(),
            upstreams: Arc::new(upstreams),
            account_upstreams,
            quotas,
            settings: Arc::new(settings),
            limits: limits(&config.limits),
            timeout: Duration::from_secs(config.limits.timeout_s),
            concurrency: ConcurrencyLimit::new(config.limits.concurrency, config.limits.tenant_share),
            live_since: clock::now(),
            name: manifest.identifier.as_str().into(),
            manifest,
            additions,
            module,
            compiled,
            digest,
            origin,
            signed,
            has_answer_schemas,
            services,
            granted,
            missing,
            named,
            operator_grants,
            recipients,
            missing_token_hosts,
        })
    }

    /// The identifier, cheap to clone.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The manifest without the operations, which [`Connector::operations`] has.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The declarations of the connector in addition to its manifest.
    pub fn additions(&self) -> &Additions {
        &self.additions
    }

    /// The ways to authorize that it declares in addition to the auth scheme of the manifest.
    pub fn auth_additions(&self) -> &AuthAdditions {
        &self.additions.auth
    }

    /// The operations that callers may run, sorted by path.
    pub fn operations(&self) -> impl Iterator<Item = &Operation> {
        self.operations.iter()
    }

    /// The operation at a path. `None` for an operation that a trigger names.
    pub fn operation(&self, path: &str) -> Option<&Operation> {
        at(&self.operations, path)
    }

    /// The operation that a trigger names. Callers cannot run it.
    pub fn internal_operation(&self, path: &str) -> Option<&Operation> {
        at(&self.internal_operations, path)
    }

    /// Its inboxes: how the service notifies the gateway.
    pub fn inboxes(&self) -> &[Inbox] {
        &self.additions.inboxes
    }

    /// Its types of events.
    pub fn triggers(&self) -> &[Trigger] {
        &self.additions.triggers
    }

    /// The module.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// SHA-256 of the module in hexadecimal digits.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// How its compiled form was obtained when it was loaded.
    pub fn compiled(&self) -> Compiled {
        self.compiled
    }

    /// Returns `true` if the connector came with the gateway.
    pub fn is_shipped(&self) -> bool {
        self.origin == Origin::Shipped
    }

    /// The origin of its module.
    pub(super) fn origin(&self) -> Origin {
        self.origin
    }

    /// The signature of its module, if it has one.
    pub fn signed(&self) -> Option<&Signed> {
        self.signed.as_ref()
    }

    /// `true` if the module has schemas of answers, in addition to the schemas of the manifest.
    pub(super) fn has_answer_schemas(&self) -> bool {
        self.has_answer_schemas
    }

    /// The time at which this version was loaded.
    pub fn live_since(&self) -> SystemTime {
        self.live_since
    }

    /// The upstreams, ready for requests.
    pub fn upstreams(&self) -> &Arc<Upstreams> {
        &self.upstreams
    }

    /// The rate limits.
    pub fn quotas(&self) -> &Quotas {
        &self.quotas
    }

    /// The queues of paced upstreams, each with the name of the first upstream that uses it.
    pub fn paced_queues(&self) -> Vec<(&str, PacedQueue)> {
        let mut names: Vec<&String> = self.upstreams.keys().collect();
        names.sort_unstable();
        let mut queues: Vec<(&str, PacedQueue)> = Vec::new();
        for name in names {
            let queue = self.upstreams.get(name).and_then(Upstream::paced_queue);
            if let Some(queue) = queue.filter(|queue| queues.iter().all(|(_, other)| !other.is(queue))) {
                queues.push((name, queue));
            }
        }
        queues
    }

    /// The values of its settings, as JSON text.
    pub fn settings(&self) -> &Arc<Settings> {
        &self.settings
    }

    /// The limits of one invocation.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// The longest time that a call may take, from its arrival to its end.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Takes a permit for one concurrent call of a tenant.
    ///
    /// # Errors
    /// If all permits are taken, or if the tenant has its share of them.
    pub fn admit(&self, tenant: &str) -> Result<Permit, NoPermit> {
        self.concurrency.acquire(tenant)
    }

    /// The services that it calls, in the order of the manifest.
    pub fn services(&self) -> &[Service] {
        &self.services
    }

    /// The hosts that it may reach.
    pub fn granted_hosts(&self) -> Vec<&str> {
        self.granted.iter().map(String::as_str).collect()
    }

    /// The hosts that it needs and that were not granted.
    pub fn missing_hosts(&self) -> Vec<&str> {
        self.missing.iter().map(String::as_str).collect()
    }

    /// The hosts that its manifest and the operator's configuration name. Only these can be
    /// granted.
    pub fn named_hosts(&self) -> &BTreeSet<String> {
        &self.named
    }

    /// The operator's grants that it was made with, sorted.
    pub(super) fn operator_grants(&self) -> &[String] {
        &self.operator_grants
    }

    /// The sites that may receive its users' tokens.
    pub fn recipients(&self) -> &Recipients {
        &self.recipients
    }

    /// The missing hosts that would receive its users' tokens.
    pub fn missing_token_hosts(&self) -> Vec<String> {
        self.missing_token_hosts.iter().cloned().collect()
    }
}

/// Maximum number of requests of one invocation.
const MAX_REQUESTS: u32 = 256;

/// The rate limits, with the counts of the version that is live now.
fn quotas_of(manifest: &Manifest, is_shared: bool, previous: Option<&Connector>) -> Quotas {
    let quotas = manifest.rate_limits.iter().map(|limit| Quota {
        name: limit.name.clone(),
        requests: limit.requests,
        period: Duration::from_secs(limit.period_seconds.into()),
    });
    let mut quotas = if is_shared { Quotas::shared(quotas) } else { Quotas::new(quotas) };
    if let Some(previous) = previous {
        quotas.inherit(&previous.quotas);
    }
    quotas
}

/// The limits of an invocation, from the configuration.
pub(super) fn limits(limits: &config::Limits) -> Limits {
    Limits {
        memory_bytes: limits.instance_mb() << 20,
        cpu: Duration::from_millis(limits.cpu_ms),
        output_bytes: limits.passed_mb() << 20,
        response_bytes: (limits.response_mb as u64) << 20,
        download_bytes: (limits.download_mb as u64) << 20,
        requests: MAX_REQUESTS,
    }
}
