//! Everything that an operator can set, with the defaults and the keys.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4};
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use ipnet::IpNet;
use secrecy::SecretString;
use tracing_subscriber::filter::{LevelFilter, Targets};
use url::{Origin, Url};

use super::connect::Connect;
use super::connector::{Connector, Connectors, Limits};
use super::console::Oidc;
use super::declare::{checked_section, keys, only, section, settings};
use super::jwt_issuer::JwtIssuers;
use super::kind::{choice, or_empty};
use super::load::BootstrapKey;
use super::oauth_client::{OauthApp, OauthClient, Registration, Registrations};
use super::sections::{Callbacks, Calls, Hooks, Jobs, Mcp, Triggers};
use super::telemetry::Telemetry;
use super::tls::{Tls, TlsFiles};
use super::trust::{Publishers, Trust};
use super::value::{
    address, base_url, database_url, days, host_names, integer, log_filter, maximum, mebibytes, memory_mb, networks,
    optional_path, origins, path, seconds, string,
};
use auth::{JwtIssuer, OidcSettings};
use memory::MemoryBudget;
use sandbox::{CompileLimits, Pool};

/// The settings of a connector that the configuration does not mention.
static DEFAULT_CONNECTOR: LazyLock<Connector> = LazyLock::new(Connector::default);

const LISTEN: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 8080));

settings! {
    /// Everything that an operator can set.
    #[derive(Clone, Debug)]
    pub struct Config {
        /// The address that callers connect to. [`Config::listening_on`] changes it together with
        /// `public_url`.
        pub listen: SocketAddr = LISTEN => "listen": address();
        /// The address of the metrics, without a key, and of the admin routes. `None`: callers'
        /// address, with a key.
        pub admin_listen: Option<SocketAddr> = None => "admin_listen": or_empty(address());
        /// The URL under which callers and providers reach the gateway. Providers redirect users to
        /// it.
        pub public_url: Url = url_of("http", LISTEN) => "public_url": base_url();
        /// `true` if `public_url` was set. Otherwise it follows the address that the gateway
        /// listens on.
        pub public_url_is_set: bool = false;
        /// Contains the database, the master key, compiled modules and previous modules.
        pub data_dir: PathBuf = "data".into() => "data_dir": path();
        /// A PostgreSQL database that replaces the SQLite file in `data_dir`. Secret, because it
        /// may contain a password.
        pub database_url: Option<SecretString> = None => "database_url": database_url();
        /// The file with the master key, if it is not `master.key` in `data_dir`. See
        /// [`Config::master_key_path`].
        pub master_key_file: Option<PathBuf> = None => "master_key_file": optional_path();
        /// The folder of the modules that came with the gateway. `None`: `connectors` next to the
        /// binary, if that folder exists.
        pub shipped_dir: Option<PathBuf> = None => "shipped_dir": optional_path();
        /// The folder of all other modules, with a `.wasm` file for each live connector.
        pub modules_dir: PathBuf = "modules".into() => "modules_dir": path();
        /// Origins that users may be sent to after an authorization, in addition to `public_url`
        /// and loopback.
        pub allowed_callback_origins: Vec<Origin> = Vec::new() => "allowed_callback_origins": origins();
        /// Origins whose pages may call the gateway from a browser, with JWTs.
        pub allowed_origins: Vec<Origin> = Vec::new() => "allowed_origins": origins();
        /// Additional host names by which the operator's routes may be called, in lower case.
        pub admin_hosts: Vec<String> = Vec::new() => "admin_hosts": host_names();
        /// Proxies whose headers say which address a caller has.
        pub trusted_proxies: Vec<IpNet> = Vec::new() => "trusted_proxies": networks();
        /// Largest number of open connections of callers. `None`: as many as the process has file
        /// descriptors for.
        pub max_connections: Option<usize> = None => "max_connections": maximum(0..=10_000_000);
        /// The time that a caller may take: for the first request of a connection, for a head, for
        /// a body, and between two reads of an answer. A slower caller would hold memory and a
        /// connection.
        pub caller_timeout: Duration = Duration::from_secs(30) => "caller_timeout_s": seconds(1..=3600);
        /// The memory that calls may take together, in bytes: bodies, answers that are not sent
        /// yet, documents of invocations.
        pub memory_bytes: u64 = MemoryBudget::half_of_the_machine() => "memory_mb": memory_mb(0..=16_777_216);
        /// Largest body of a caller's request, in MiB.
        pub max_body_mb: usize = 10 => "max_body_mb": integer(1..=1024);
        /// The levels of lines that are logged.
        pub log: Targets = Targets::new().with_default(LevelFilter::INFO) => "log": log_filter();
        /// The format of log lines.
        pub log_format: LogFormat = LogFormat::Auto
            => "log_format": choice("\"auto\", \"text\" or \"json\"", LOG_FORMATS);
        /// Time for running calls to finish when the gateway stops.
        pub drain: Duration = Duration::from_secs(30) => "drain_s": seconds(0..=3600);
        /// An API key that is accepted with every scope in the tenant `default`.
        pub bootstrap_key: Option<SecretString> = None => "GATEWAY_BOOTSTRAP_KEY": BootstrapKey;
        /// The files with which the gateway speaks TLS to callers. `None`: it speaks plain HTTP.
        pub tls: Option<Tls> = None => "tls": TlsFiles { has_client_ca: false };
        /// The same for operators, at `admin_listen`.
        pub admin_tls: Option<Tls> = None => "admin_tls": TlsFiles { has_client_ca: true };
        /// Limits of the process that compiles a module.
        pub compile: CompileLimits = CompileLimits::default() => "compile": section();
        /// Size of the pool of instances.
        pub sandbox: Pool = Pool::default() => "sandbox": section();
        /// The name of this gateway in lists. `None`: the host name and the port.
        pub fleet_name: Option<String> = None => "fleet": only("name", or_empty(string()));
        /// Operations that run in the background.
        pub jobs: Jobs = Jobs::default() => "jobs": section();
        /// Operations as tools of agents.
        pub mcp: Mcp = Mcp::default() => "mcp": section();
        /// The gateway's registrations with OAuth providers, and its applications at services, by
        /// provider or connector. See [`Config::oauth_client`] and [`Config::oauth_app`].
        pub oauth_clients: BTreeMap<String, Registration> = BTreeMap::new() => "oauth_clients": Registrations;
        /// Issuers whose JWTs callers may send, by a name that the operator chose.
        pub jwt_issuers: BTreeMap<String, JwtIssuer> = BTreeMap::new() => "jwt_issuers": JwtIssuers;
        /// The OpenID provider with which operators sign in to the console. `None`: with keys
        /// alone.
        pub console_oidc: Option<OidcSettings> = None => "console": only("oidc", Oidc);
        /// The publishers whose modules may be added.
        pub trust: Trust = Trust::default() => "trust": only("publishers", Publishers);
        /// The most bytes that a tenant may store.
        pub max_stored_bytes: u64 = 1 << 30 => "tenants": only("max_stored_mb", mebibytes(1..=1_073_741_824));
        /// The time for which keys are accepted that the gateway cannot read again.
        pub keys_max_age: Duration = Duration::from_secs(60) => "keys": only("max_age_s", seconds(5..=86_400));
        /// The time for which entries of the audit are kept.
        pub audit_keep: Duration = Duration::from_secs(90 * 86_400) => "audit": only("keep_days", days(1..=36_500));
        /// Records of calls.
        pub calls: Calls = Calls::default() => "calls": section();
        /// The time for which usage is kept.
        pub usage_keep: Duration = Duration::from_secs(400 * 86_400) => "usage": only("keep_days", days(1..=36_500));
        /// The page on which users connect accounts.
        pub connect: Connect = Connect::default() => "connect": section();
        /// Webhooks.
        pub callbacks: Callbacks = Callbacks::default() => "callbacks": checked_section(Callbacks::check);
        /// The addresses at which services notify the gateway.
        pub hooks: Hooks = Hooks::default() => "hooks": section();
        /// Events of services.
        pub triggers: Triggers = Triggers::default() => "triggers": section();
        /// Spans and metrics for a collector.
        pub telemetry: Telemetry = Telemetry::default() => "telemetry": section();
        /// Settings of connectors, by identifier. See [`Config::connector`].
        pub connectors: BTreeMap<String, Connector> = BTreeMap::new() => "connectors": Connectors;
    }
}

keys! {
    for CompileLimits {
        memory_mb => "memory_mb": integer(64..=1_048_576);
        cpu_s => "cpu_s": integer(1..=3600);
        max_module_mb => "max_module_mb": integer(1..=1024);
        cache_mb => "cache_mb": integer(1..=1_048_576);
    }
}

keys! {
    for Pool {
        instances => "instances": integer(1..=10_000);
        core_instances_per_component => "core_instances_per_component": integer(1..=256);
    }
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

const LOG_FORMATS: &[(&str, LogFormat)] =
    &[("auto", LogFormat::Auto), ("text", LogFormat::Text), ("json", LogFormat::Json)];

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
        let client = |name| self.oauth_clients.get(name)?.client.as_ref();
        client(connector).or_else(|| client(provider))
    }

    /// The application of the connector, or of its provider if the connector has none.
    pub fn oauth_app(&self, connector: &str, provider: &str) -> Option<&OauthApp> {
        let app = |name| self.oauth_clients.get(name)?.app.as_ref();
        app(connector).or_else(|| app(provider))
    }

    /// The token of the application of the connector, or of its provider if the connector has none.
    pub fn app_token(&self, connector: &str, provider: &str) -> Option<&SecretString> {
        let token = |name| self.oauth_clients.get(name)?.app_token.as_ref();
        token(connector).or_else(|| token(provider))
    }

    /// The URL under which services reach the gateway.
    pub fn hooks_url(&self) -> &Url {
        self.hooks.public_url.as_ref().unwrap_or(&self.public_url)
    }

    /// Returns `true` if services can notify the gateway. They send nothing to a URL without TLS.
    pub fn can_be_notified(&self) -> bool {
        self.hooks_url().scheme() == "https"
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
