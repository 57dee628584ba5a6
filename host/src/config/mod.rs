//! The operator's configuration: `gateway.toml`, and the environment over it.
//!
//! Read once, at the start, into typed values; nothing further in reads a file or a variable. Each key, its default and
//! what it does are documented in `gateway.example.toml` beside this crate, which a test holds to this module.
//!
//! - [`error`]: what is wrong, all of it at once, and where
//! - [`source`]: the file and the variables as one table, each value with the location it came from
//! - [`section`]: reading the keys of one table, and noticing the unknown ones
//! - [`value`]: from a TOML value to a typed one
//! - [`keys`]: every key there is; [`issuer`]: those of `jwt_issuers`

mod error;
mod issuer;
mod keys;
mod section;
mod source;
mod value;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use sandbox::{CompileLimits, Pool};
use secrecy::SecretString;
use tracing_subscriber::filter::{LevelFilter, Targets};
use url::{Origin, Url};

pub use self::error::{ConfigError, Location, Problem};
pub use self::issuer::{JwtIssuer, TenantOf};

/// Read when no file is named, if it is there.
const DEFAULT_FILE: &str = "gateway.toml";

/// Names the file, unless the command line does.
const FILE_VARIABLE: &str = "GATEWAY_CONFIG";

/// Sets the first key. No key of the file, so that it is never written into one.
const BOOTSTRAP_KEY_VARIABLE: &str = "GATEWAY_BOOTSTRAP_KEY";

/// What a connector has that the configuration does not mention.
static NOT_CONFIGURED: LazyLock<Connector> = LazyLock::new(Connector::default);

/// All that an operator can set.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where callers connect to. Change it through [`Config::listening_on`], which takes `public_url` along.
    pub listen: SocketAddr,
    /// Where callers and providers find the gateway; providers redirect to it.
    pub public_url: Url,
    /// Whether `public_url` was set, so that it stays whatever address the gateway comes to listen on.
    pub public_url_is_set: bool,
    /// Holds the database, the master key, compiled and former modules.
    pub data_dir: PathBuf,
    /// A PostgreSQL database in place of the SQLite file in `data_dir`. Secret, since it may hold a password.
    pub database_url: Option<SecretString>,
    /// The file with the master key, where it is not `master.key` in `data_dir`; see [`Config::master_key_path`].
    pub master_key_file: Option<PathBuf>,
    /// Its `*.wasm` are the live connectors.
    pub modules_dir: PathBuf,
    /// Where users may be sent back to after an authorization, besides `public_url` and loopback.
    pub allowed_callback_origins: Vec<Origin>,
    /// Largest body of a request, in MiB.
    pub max_body_mb: usize,
    /// Which lines are logged.
    pub log: Targets,
    /// How lines are written.
    pub log_format: LogFormat,
    /// How long requests under way may take to end when the gateway stops.
    pub drain: Duration,
    /// Accepted as an API key with every scope in the tenant `default`.
    pub bootstrap_key: Option<SecretString>,
    /// Bounds of the process that compiles a module.
    pub compile: CompileLimits,
    /// Size of the pool that modules run in.
    pub sandbox: Pool,
    /// The gateway's registrations with providers, by provider or connector; see [`Config::oauth_client`].
    pub oauth_clients: BTreeMap<String, OauthClient>,
    /// Whose JWTs callers may show, by a name of the operator's choice.
    pub jwt_issuers: BTreeMap<String, JwtIssuer>,
    /// By identifier; see [`Config::connector`].
    pub connectors: BTreeMap<String, Connector>,
}

/// How log lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Text on a terminal, JSON elsewhere.
    Auto,
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// The gateway's registration with an OAuth provider.
#[derive(Clone, Debug)]
pub struct OauthClient {
    /// Given out by the provider.
    pub client_id: String,
    /// None for a public client.
    pub client_secret: Option<SecretString>,
}

/// What is set for one connector.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Connector {
    /// Base URLs in place of the manifest's, by upstream; their hosts are granted by that.
    pub upstreams: BTreeMap<String, Url>,
    /// In location of the manifest's OAuth endpoints and scopes.
    pub oauth: Oauth,
    /// Whether upstreams may lie at loopback and private addresses.
    pub allow_private_network: bool,
    /// Hosts that redirects and links from an upstream may lead to, besides those of the manifest. Setting one grants it.
    pub link_hosts: BTreeMap<String, Vec<String>>,
    /// Values of the settings that the connector declares. The registry validates them when it loads the connector.
    pub settings: BTreeMap<String, Setting>,
    /// Bounds of one invocation.
    pub limits: Limits,
    /// Spaces the calls to each of its upstreams, no faster than the manifest asks for.
    pub pacing: Option<Pacing>,
}

/// The value of one setting of a connector.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The value.
    pub value: serde_json::Value,
    /// The text of the environment variable, if one sets the value. A text that reads as a number may be meant as a string.
    pub text: Option<String>,
    /// For messages about the value.
    pub location: Location,
}

/// What replaces parts of a manifest's OAuth scheme; what is `None` stays the manifest's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Oauth {
    /// Where users are sent to.
    pub authorization_url: Option<Url>,
    /// Where codes and refresh tokens are exchanged.
    pub token_url: Option<Url>,
    /// Where tokens are given back.
    pub revocation_url: Option<Url>,
    /// Where the account's identity is asked for.
    pub userinfo_url: Option<Url>,
    /// What users are asked to permit.
    pub scopes: Option<Vec<String>>,
}

/// Bounds of one invocation of a connector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// All its linear memories and tables together, in MiB.
    pub memory_mb: usize,
    /// Its own computing, in milliseconds.
    pub cpu_ms: u64,
    /// The whole of it, waiting for upstreams included, in seconds.
    pub timeout_s: u64,
    /// An upstream's response that is read into memory, and an answer that is composed, in MiB.
    pub response_mb: usize,
    /// Operations of this connector at once.
    pub concurrency: usize,
    /// A file that is handed on, in MiB.
    pub download_mb: usize,
}

/// A queue in front of an upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pacing {
    /// Pause between the starts of two calls, in milliseconds.
    pub interval_ms: u64,
    /// A call that would wait longer is refused, in milliseconds.
    pub max_wait_ms: u64,
    /// Calls under way at once.
    pub concurrency: u32,
}

impl Default for Config {
    fn default() -> Self {
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 8080));
        Self {
            listen,
            public_url: url_of(listen),
            public_url_is_set: false,
            data_dir: "data".into(),
            database_url: None,
            master_key_file: None,
            modules_dir: "modules".into(),
            allowed_callback_origins: Vec::new(),
            max_body_mb: 10,
            log: Targets::new().with_default(LevelFilter::INFO),
            log_format: LogFormat::Auto,
            drain: Duration::from_secs(30),
            bootstrap_key: None,
            compile: CompileLimits::default(),
            sandbox: Pool::default(),
            oauth_clients: BTreeMap::new(),
            jwt_issuers: BTreeMap::new(),
            connectors: BTreeMap::new(),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { memory_mb: 32, cpu_ms: 1000, timeout_s: 30, response_mb: 32, concurrency: 256, download_mb: 50 }
    }
}

impl Default for Pacing {
    fn default() -> Self {
        Self { interval_ms: 0, max_wait_ms: 10_000, concurrency: 1 }
    }
}

impl Config {
    /// Reads the file and the environment over it. Without `file` it is the one that `GATEWAY_CONFIG` names, else
    /// `gateway.toml` in the working directory, which need not be there.
    ///
    /// # Errors
    /// When a named file is missing or no TOML, and when keys are unknown or values wrong: then all of them.
    pub fn load(file: Option<&Path>, environment: impl Iterator<Item = (String, String)>) -> Result<Self, ConfigError> {
        let variables: BTreeMap<String, String> = environment.collect();
        let named = file.map(Path::to_owned).or_else(|| {
            let name = variables.get(FILE_VARIABLE).filter(|name| !name.is_empty())?;
            Some(PathBuf::from(name))
        });
        let text = match &named {
            Some(path) => Some(source::read_file(path)?),
            None => source::read_file(Path::new(DEFAULT_FILE))
                .map(Some)
                .or_else(|error| if error.is_missing_file() { Ok(None) } else { Err(error) })?,
        };
        let path = named.unwrap_or_else(|| DEFAULT_FILE.into());
        let source = source::Source::new(&path, text.as_deref().unwrap_or_default(), &variables)?;
        let mut config = keys::read(source)?;
        config.bootstrap_key =
            variables.get(BOOTSTRAP_KEY_VARIABLE).filter(|key| !key.is_empty()).map(|key| key.as_str().into());
        Ok(config)
    }

    /// What is set for a connector: the defaults where nothing is.
    pub fn connector(&self, identifier: &str) -> &Connector {
        self.connectors.get(identifier).unwrap_or(&NOT_CONFIGURED)
    }

    /// The file with the master key, which opens all secrets in the database.
    pub fn master_key_path(&self) -> PathBuf {
        self.master_key_file.clone().unwrap_or_else(|| self.data_dir.join("master.key"))
    }

    /// Where the data is stored.
    pub fn store(&self) -> store::Settings {
        store::Settings { data_dir: self.data_dir.clone(), database_url: self.database_url.clone() }
    }

    /// How the sandbox is set up.
    pub fn sandbox_setup(&self) -> sandbox::Setup {
        sandbox::Setup {
            pool: self.sandbox.clone(),
            memory_bytes: self.largest_memory_mb() << 20,
            compile: self.compile.clone(),
            data_dir: self.data_dir.clone(),
        }
    }

    /// The registration to use: the connector's own, else its provider's.
    pub fn oauth_client(&self, connector: &str, provider: &str) -> Option<&OauthClient> {
        self.oauth_clients.get(connector).or_else(|| self.oauth_clients.get(provider))
    }

    /// The largest memory that any connector may have, in MiB: what a slot of the sandbox must hold.
    pub fn largest_memory_mb(&self) -> usize {
        self.connectors
            .values()
            .map(|connector| connector.limits.memory_mb)
            .fold(Limits::default().memory_mb, usize::max)
    }

    /// Notes the address that was bound, which differs from the one asked for where that left the port open.
    pub fn listening_on(&mut self, address: SocketAddr) {
        self.listen = address;
        if !self.public_url_is_set {
            self.public_url = url_of(address);
        }
    }
}

/// The process's environment, as far as it is the gateway's. A value that is no Unicode keeps what can be kept of it, so
/// that reading it fails by name instead of being skipped.
pub fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, value)| {
        let name = name.into_string().ok().filter(|name| name.starts_with("GATEWAY_"))?;
        Some((name, value.to_string_lossy().into_owned()))
    })
}

/// How a gateway at this address is reached from its own machine.
fn url_of(address: SocketAddr) -> Url {
    let reachable = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    let address = SocketAddr::new(reachable, address.port());
    #[expect(clippy::expect_used, reason = "an address and a port always make a URL")]
    Url::parse(&format!("http://{address}")).expect("an address makes a URL")
}

#[cfg(test)]
mod tests;
