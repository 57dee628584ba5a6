//! Everything that an operator can set, with the defaults.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use ipnet::IpNet;
use secrecy::SecretString;
use tracing_subscriber::filter::{LevelFilter, Targets};
use url::{Origin, Url};

use super::connector::{Connector, Limits};
use super::tls::Tls;
use super::trust::Trust;
use auth::{JwtIssuer, OidcSettings};
use memory::MemoryBudget;
use sandbox::{CompileLimits, Pool};

/// The settings of a connector that the configuration does not mention.
static DEFAULT_CONNECTOR: LazyLock<Connector> = LazyLock::new(Connector::default);

/// Everything that an operator can set.
#[derive(Clone, Debug)]
pub struct Config {
    /// The address that callers connect to. [`Config::listening_on`] changes it together with
    /// `public_url`.
    pub listen: SocketAddr,
    /// The address of the metrics, without a key, and of the admin routes. `None`: callers'
    /// address, with a key.
    pub admin_listen: Option<SocketAddr>,
    /// The files with which the gateway speaks TLS to callers. `None`: it speaks plain HTTP.
    pub tls: Option<Tls>,
    /// The same for operators, at `admin_listen`.
    pub admin_tls: Option<Tls>,
    /// Proxies whose headers say which address a caller has.
    pub trusted_proxies: Vec<IpNet>,
    /// The URL under which callers and providers reach the gateway. Providers redirect users to it.
    pub public_url: Url,
    /// `true` if `public_url` was set. Otherwise it follows the address that the gateway listens
    /// on.
    pub public_url_is_set: bool,
    /// Contains the database, the master key, compiled modules and previous modules.
    pub data_dir: PathBuf,
    /// A PostgreSQL database that replaces the SQLite file in `data_dir`. Secret, because it may
    /// contain a password.
    pub database_url: Option<SecretString>,
    /// The file with the master key, if it is not `master.key` in `data_dir`. See
    /// [`Config::master_key_path`].
    pub master_key_file: Option<PathBuf>,
    /// The folder of the modules that came with the gateway. `None`: `connectors` next to the
    /// binary, if that folder exists.
    pub shipped_dir: Option<PathBuf>,
    /// The folder of all other modules, with a `.wasm` file for each live connector.
    pub modules_dir: PathBuf,
    /// Origins that users may be sent to after an authorization, in addition to `public_url` and
    /// loopback.
    pub allowed_callback_origins: Vec<Origin>,
    /// Origins whose pages may call the gateway from a browser, with JWTs.
    pub allowed_origins: Vec<Origin>,
    /// Additional host names by which the operator's routes may be called, in lower case.
    pub admin_hosts: Vec<String>,
    /// Largest number of open connections of callers. `None`: as many as the process has file
    /// descriptors for.
    pub max_connections: Option<usize>,
    /// The time that a caller may take: for the first request of a connection, for a head, for a
    /// body, and between two reads of an answer. A slower caller would hold memory and a
    /// connection.
    pub caller_timeout: Duration,
    /// The memory that calls may take together, in bytes: bodies, answers that are not sent yet,
    /// documents of invocations.
    pub memory_bytes: u64,
    /// Largest body of a caller's request, in MiB.
    pub max_body_mb: usize,
    /// The levels of lines that are logged.
    pub log: Targets,
    /// The format of log lines.
    pub log_format: LogFormat,
    /// Time for running calls to finish when the gateway stops.
    pub drain: Duration,
    /// An API key that is accepted with every scope in the tenant `default`.
    pub bootstrap_key: Option<SecretString>,
    /// Limits of the process that compiles a module.
    pub compile: CompileLimits,
    /// Size of the pool of instances.
    pub sandbox: Pool,
    /// The name of this gateway in lists. `None`: the host name and the port.
    pub fleet_name: Option<String>,
    /// Operations that run in the background.
    pub jobs: Jobs,
    /// Operations as tools of agents.
    pub mcp: Mcp,
    /// The gateway's registrations with OAuth providers, by provider or connector. See
    /// [`Config::oauth_client`].
    pub oauth_clients: BTreeMap<String, OauthClient>,
    /// The gateway's applications at services whose accounts are installations of them, by provider
    /// or connector. See [`Config::oauth_app`].
    pub oauth_apps: BTreeMap<String, OauthApp>,
    /// Issuers whose JWTs callers may send, by a name that the operator chose.
    pub jwt_issuers: BTreeMap<String, JwtIssuer>,
    /// The OpenID provider with which operators sign in to the console. `None`: with keys alone.
    pub console_oidc: Option<OidcSettings>,
    /// The publishers whose modules may be added.
    pub trust: Trust,
    /// The most bytes that a tenant may store.
    pub max_stored_bytes: u64,
    /// The time for which keys are accepted that the gateway cannot read again.
    pub keys_max_age: Duration,
    /// The time for which entries of the audit are kept.
    pub audit_keep: Duration,
    /// Webhooks.
    pub callbacks: Callbacks,
    /// Records of calls.
    pub calls: Calls,
    /// Spans and metrics for a collector.
    pub telemetry: Telemetry,
    /// Settings of connectors, by identifier. See [`Config::connector`].
    pub connectors: BTreeMap<String, Connector>,
}

/// The format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Text on a terminal, otherwise JSON.
    Auto,
    /// Text for people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Operations that run in the background.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jobs {
    /// Maximum number of jobs that this gateway runs at the same time.
    pub workers: usize,
    /// Maximum number of jobs of one tenant that wait for a worker.
    pub max_pending_per_tenant: u64,
    /// Time for which the result of a job is kept.
    pub keep: Duration,
    /// The longest time that one job may run.
    pub timeout: Duration,
    /// The limit of CPU time of one job.
    pub cpu: Duration,
}

impl Default for Jobs {
    fn default() -> Self {
        Self {
            workers: 8,
            max_pending_per_tenant: 1000,
            keep: Duration::from_secs(24 * 3600),
            timeout: Duration::from_secs(900),
            cpu: Duration::from_secs(60),
        }
    }
}

/// Operations as tools of agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mcp {
    /// Up to this number of operations, each is a tool. With more, tools search for operations and
    /// call them.
    pub direct_tools: usize,
    /// The size at which the text of a result is cut.
    pub max_result_bytes: usize,
    /// The most streams that wait for changes of tools.
    pub max_streams: usize,
}

impl Default for Mcp {
    fn default() -> Self {
        Self { direct_tools: 40, max_result_bytes: 100 << 10, max_streams: 1000 }
    }
}

/// The gateway's registration with an OAuth provider.
#[derive(Clone, Debug)]
pub struct OauthClient {
    /// The id that the provider issued.
    pub client_id: String,
    /// `None` for a public client.
    pub client_secret: Option<SecretString>,
}

/// An application that is registered at a service, and that users install there.
#[derive(Clone, Debug)]
pub struct OauthApp {
    /// The id that the service issued.
    pub id: String,
    /// The private key of the application, an RSA key in PEM.
    pub private_key: SecretString,
}

/// The settings of webhooks.
#[derive(Clone, Debug)]
pub struct Callbacks {
    /// `true` if webhooks may be sent to loopback and private addresses, and over http.
    pub allow_private_network: bool,
    /// The URL that receives events. `None` if events are not sent.
    pub events_url: Option<Url>,
    /// Time for which the URL and the body of a webhook are kept after its last attempt, so that it
    /// can be sent once more.
    pub keep: Duration,
}

impl Default for Callbacks {
    fn default() -> Self {
        Self { allow_private_network: false, events_url: None, keep: Duration::from_secs(24 * 3600) }
    }
}

/// Records of calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calls {
    /// The calls that are recorded.
    pub keep: KeptCalls,
    /// Time for which a record is kept.
    pub keep_for: Duration,
    /// Maximum number of records. The oldest ones make room for new ones.
    pub max: u32,
}

/// The calls that are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptCalls {
    /// Calls that were refused or that failed.
    Failed,
    /// Every call.
    All,
    /// No call.
    None,
}

impl Default for Calls {
    fn default() -> Self {
        Self { keep: KeptCalls::Failed, keep_for: Duration::from_secs(24 * 3600), max: 100_000 }
    }
}

/// Spans and metrics for an OpenTelemetry collector.
#[derive(Clone, Debug)]
pub struct Telemetry {
    /// The collector's base URL. `None`: nothing is recorded and nothing is sent.
    pub endpoint: Option<Url>,
    /// Headers of requests to the collector. Secret, because collectors take keys in them.
    pub headers: BTreeMap<String, SecretString>,
    /// The part of the traces that begin here which is recorded. A caller's `traceparent` decides
    /// about its own trace.
    pub sampling_ratio: f64,
    /// The name of this gateway at the collector.
    pub service_name: String,
    /// Time between two exports of the metrics.
    pub metrics_interval: Duration,
}

impl Default for Telemetry {
    fn default() -> Self {
        Self {
            endpoint: None,
            headers: BTreeMap::new(),
            sampling_ratio: 1.0,
            service_name: "connector-gateway".to_owned(),
            metrics_interval: Duration::from_secs(60),
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 8080));
        Self {
            listen,
            admin_listen: None,
            tls: None,
            admin_tls: None,
            trusted_proxies: Vec::new(),
            public_url: url_of("http", listen),
            public_url_is_set: false,
            data_dir: "data".into(),
            database_url: None,
            master_key_file: None,
            shipped_dir: None,
            modules_dir: "modules".into(),
            allowed_callback_origins: Vec::new(),
            allowed_origins: Vec::new(),
            admin_hosts: Vec::new(),
            max_connections: None,
            caller_timeout: Duration::from_secs(30),
            memory_bytes: MemoryBudget::half_of_the_machine(),
            max_body_mb: 10,
            log: Targets::new().with_default(LevelFilter::INFO),
            log_format: LogFormat::Auto,
            drain: Duration::from_secs(30),
            bootstrap_key: None,
            compile: CompileLimits::default(),
            sandbox: Pool::default(),
            fleet_name: None,
            jobs: Jobs::default(),
            mcp: Mcp::default(),
            oauth_clients: BTreeMap::new(),
            oauth_apps: BTreeMap::new(),
            jwt_issuers: BTreeMap::new(),
            console_oidc: None,
            trust: Trust::default(),
            max_stored_bytes: 1 << 30,
            keys_max_age: Duration::from_secs(60),
            audit_keep: Duration::from_secs(90 * 86_400),
            callbacks: Callbacks::default(),
            calls: Calls::default(),
            telemetry: Telemetry::default(),
            connectors: BTreeMap::new(),
        }
    }
}

impl Config {
    /// The settings of a connector, or the defaults if the configuration does not mention it.
    pub fn connector(&self, identifier: &str) -> &Connector {
        self.connectors.get(identifier).unwrap_or(&DEFAULT_CONNECTOR)
    }

    /// The file with the master key, which every secret in the database depends on.
    pub fn master_key_path(&self) -> PathBuf {
        self.master_key_file.clone().unwrap_or_else(|| self.data_dir.join("master.key"))
    }

    /// The settings of the store.
    pub fn store(&self) -> store::Settings {
        store::Settings { data_dir: self.data_dir.clone(), database_url: self.database_url.clone() }
    }

    /// The settings of the sandbox.
    pub fn sandbox_setup(&self) -> sandbox::Setup {
        sandbox::Setup {
            pool: self.sandbox.clone(),
            memory_bytes: self.largest_memory_mb() << 20,
            compile: self.compile.clone(),
            data_dir: self.data_dir.clone(),
        }
    }

    /// The registration of the connector itself, else the registration of its provider.
    pub fn oauth_client(&self, connector: &str, provider: &str) -> Option<&OauthClient> {
        self.oauth_clients.get(connector).or_else(|| self.oauth_clients.get(provider))
    }

    /// The application of the connector itself, else that of its provider.
    pub fn oauth_app(&self, connector: &str, provider: &str) -> Option<&OauthApp> {
        self.oauth_apps.get(connector).or_else(|| self.oauth_apps.get(provider))
    }

    /// The largest memory limit of all connectors, in MiB. Each slot of the sandbox must have room
    /// for it.
    pub fn largest_memory_mb(&self) -> usize {
        self.connectors
            .values()
            .map(|connector| connector.limits.instance_mb())
            .fold(Limits::default().instance_mb(), usize::max)
    }

    /// Sets the address that the gateway listens on. It differs from the configured address if that
    /// address had port 0.
    pub fn listening_on(&mut self, address: SocketAddr) {
        self.listen = address;
        if !self.public_url_is_set {
            self.public_url = url_of(if self.tls.is_some() { "https" } else { "http" }, address);
        }
    }
}

/// The URL under which a gateway at this address can be reached from the same machine.
fn url_of(scheme: &str, address: SocketAddr) -> Url {
    let reachable = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    let address = SocketAddr::new(reachable, address.port());
    #[expect(clippy::expect_used, reason = "an address and a port always make a URL")]
    Url::parse(&format!("{scheme}://{address}")).expect("an address makes a URL")
}
