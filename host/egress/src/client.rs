//! The two HTTP clients: one that reaches the public internet only, one that may reach private networks too.
//!
//! They never share a connection, so what an upstream with `allow_private_network` has opened is of no use to one without.

use std::sync::Arc;
use std::time::Duration;

use super::address::{GuardedResolver, Lookup, system_lookup};
use super::error::EgressError;
use super::tls;

/// Idle connections kept to one origin: about as many as are in use at once when a burst ends, and no more descriptors.
const IDLE_PER_ORIGIN: usize = 512;

/// Shorter than what load balancers commonly wait (60 s), so that it is rarely they who close, just as a request leaves.
const IDLE_TIMEOUT: Duration = Duration::from_secs(50);

/// How the gateway presents itself, and how it finds hosts.
#[derive(Clone)]
pub struct Settings {
    /// Sent where a request brings no `User-Agent` of its own.
    pub user_agent: String,
    /// For resolving, connecting and the TLS handshake together.
    pub connect_timeout: Duration,
    /// Replaced in tests.
    pub lookup: Lookup,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            user_agent: concat!("connector-gateway/", env!("CARGO_PKG_VERSION")).to_owned(),
            connect_timeout: Duration::from_secs(10),
            lookup: system_lookup(),
        }
    }
}

/// The way out. One for the whole gateway; clones share their connections.
#[derive(Clone)]
pub struct Egress {
    clients: Arc<Clients>,
}

struct Clients {
    public: reqwest::Client,
    private: reqwest::Client,
}

impl Egress {
    /// # Errors
    /// `InvalidRequest` when the user agent cannot stand in a header, or TLS cannot be set up.
    pub fn new(settings: &Settings) -> Result<Self, EgressError> {
        let tls = tls::config(Arc::new(rustls::crypto::ring::default_provider()))?;
        let clients = Clients { public: client(settings, tls.clone(), false)?, private: client(settings, tls, true)? };
        Ok(Self { clients: Arc::new(clients) })
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
        // A proxy from the environment would do the resolving, and nobody would check it.
        .no_proxy()
        // Followed by `send`, which checks each step.
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .build()
        .map_err(|error| EgressError::invalid(format!("the HTTP client cannot be set up: {error}")))
}
