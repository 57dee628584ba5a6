//! The two HTTP clients: one that reaches the public internet only, one that may reach private networks too.
//!
//! They share no connections, so an upstream without `allow_private_network` cannot use a connection to a private network that
//! another upstream opened.

use std::sync::Arc;
use std::time::Duration;

use memory::MemoryBudget;

use super::address::{GuardedResolver, Lookup, system_lookup};
use super::error::EgressError;
use super::tls;

/// Maximum number of idle connections to one origin. It is about the number of connections that a burst of calls leaves.
const IDLE_PER_ORIGIN: usize = 512;

/// Shorter than the usual idle timeout of load balancers (60 s). Otherwise they might close a connection just as a request is
/// sent on it.
const IDLE_TIMEOUT: Duration = Duration::from_secs(50);

/// The settings of both clients.
#[derive(Clone)]
pub struct Settings {
    /// The header `User-Agent` of requests that have none of their own.
    pub user_agent: String,
    /// Maximum time for resolving, connecting and the TLS handshake together.
    pub connect_timeout: Duration,
    /// Resolves host names. Tests replace it.
    pub lookup: Lookup,
    /// The memory that responses may take together.
    pub memory: MemoryBudget,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            user_agent: concat!("connector-gateway/", env!("CARGO_PKG_VERSION")).to_owned(),
            connect_timeout: Duration::from_secs(10),
            lookup: system_lookup(),
            memory: MemoryBudget::unlimited(),
        }
    }
}

/// Sends requests. The gateway has one; clones share its connections.
#[derive(Clone)]
pub struct Egress {
    clients: Arc<Clients>,
    memory: MemoryBudget,
}

struct Clients {
    public: reqwest::Client,
    private: reqwest::Client,
}

impl Egress {
    /// # Errors
    /// `InvalidRequest` if the user agent has a character that headers cannot have, or if TLS cannot be set up.
    pub fn new(settings: &Settings) -> Result<Self, EgressError> {
        let tls = tls::config(Arc::new(rustls::crypto::ring::default_provider()))?;
        let clients = Clients { public: client(settings, tls.clone(), false)?, private: client(settings, tls, true)? };
        Ok(Self { clients: Arc::new(clients), memory: settings.memory.clone() })
    }

    /// The memory that calls may take together.
    pub fn memory(&self) -> &MemoryBudget {
        &self.memory
    }

    pub(super) fn client(&self, allow_private: bool) -> &reqwest::Client {
        if allow_private { &self.clients.private } else { &self.clients.public }
    }
}

fn client(settings: &Settings, tls: rustls::ClientConfig, allow_private: bool) -> Result<reqwest::Client, EgressError> {
    reqwest::Client::builder()
        .user_agent(&settings.user_agent)
        .tls_backend_preconfigured(tls)
        .dns_resolver(GuardedResolver { lookup: settings.lookup.clone(), allow_private })
        .connect_timeout(settings.connect_timeout)
        .pool_idle_timeout(IDLE_TIMEOUT)
        .pool_max_idle_per_host(IDLE_PER_ORIGIN)
        // A proxy from the environment would resolve names itself, without the check of addresses.
        .no_proxy()
        // `send` follows redirects, and checks each one.
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .build()
        .map_err(|error| EgressError::invalid(format!("the HTTP client cannot be set up: {error}")))
}
