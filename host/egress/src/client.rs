//! The two pools of connections: one that reaches the public internet only, one that may reach
//! private networks too.
//!
//! They share no connections, so an upstream without `allow_private_network` cannot use a
//! connection to a private network that another upstream opened.

use std::sync::Arc;
use std::time::Duration;

use hyper::header::HeaderValue;
use memory::MemoryBudget;

use super::address::{Lookup, system_lookup};
use super::connector::Connector;
use super::error::EgressError;
use super::pool::Pool;
use super::tls;
use super::transport::Transport;

/// The settings of both pools.
#[derive(Clone)]
pub struct Settings {
    /// The header `User-Agent` of requests that do not set one.
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

/// Sends requests. Clones share connections.
#[derive(Clone)]
pub struct Egress {
    clients: Arc<Clients>,
    memory: MemoryBudget,
    pub(super) transport: Option<Arc<dyn Transport>>,
}

struct Clients {
    user_agent: HeaderValue,
    public: Pool,
    private: Pool,
}

impl Egress {
    /// # Errors
    /// `InvalidRequest` if the user agent has a character that headers cannot have, or if TLS
    /// cannot be set up.
    pub fn new(settings: &Settings) -> Result<Self, EgressError> {
        let user_agent = HeaderValue::from_str(&settings.user_agent)
            .map_err(|_| EgressError::invalid("the user agent has a character that headers cannot have"))?;
        let tls = tls::config(Arc::new(rustls::crypto::ring::default_provider()))?;
        let pool = |private| Pool::new(Connector::new(&settings.lookup, private, &tls, settings.connect_timeout));
        let clients = Arc::new(Clients { user_agent, public: pool(false), private: pool(true) });
        Ok(Self { clients, memory: settings.memory.clone(), transport: None })
    }

    /// An egress with the same settings and separate connections. Each runtime has one, so that it
    /// uses no connection that a task of another runtime drives. Requests of the two share no
    /// reference count.
    #[must_use]
    pub fn with_own_connections(&self) -> Self {
        let Clients { user_agent, public, private } = &*self.clients;
        // A clone of the value would share its bytes.
        let user_agent = HeaderValue::from_bytes(user_agent.as_bytes()).unwrap_or_else(|_| user_agent.clone());
        let [public, private] = [public, private].map(Pool::with_own_connections);
        let clients = Arc::new(Clients { user_agent, public, private });
        Self { clients, memory: self.memory.with_own_count(), transport: self.transport.clone() }
    }

    /// Sends every request by `transport` instead of the network.
    #[must_use]
    pub fn with_transport(self, transport: Arc<dyn Transport>) -> Self {
        Self { transport: Some(transport), ..self }
    }

    /// The memory that all calls may take together.
    pub fn memory(&self) -> &MemoryBudget {
        &self.memory
    }

    pub(super) fn pool(&self, allow_private: bool) -> &Pool {
        if allow_private { &self.clients.private } else { &self.clients.public }
    }

    pub(super) fn user_agent(&self) -> HeaderValue {
        self.clients.user_agent.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_two_cores_change_no_common_count() {
        let one = Egress::new(&Settings::default()).unwrap();
        let other = one.with_own_connections();
        assert_eq!(one.user_agent(), other.user_agent());
        assert_ne!(one.user_agent().as_bytes().as_ptr(), other.user_agent().as_bytes().as_ptr());
    }
}
