//! What the parts of a running gateway share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hyper::header::HeaderValue;

use crate::auth::Authenticator;
use crate::config::Config;
use crate::integrations::Integrations;
use crate::metrics::Metrics;
use crate::pipeline::Parts;
use crate::registry::Registry;

/// Longest request id that is taken from a caller.
const MAX_REQUEST_ID_BYTES: usize = 128;

/// A running gateway.
pub struct Gateway {
    /// As the operator wrote it.
    pub config: Arc<Config>,
    /// Who may call.
    pub authenticator: Arc<Authenticator>,
    /// The live connectors.
    pub registry: Arc<Registry>,
    /// Users' accounts.
    pub integrations: Arc<Integrations>,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// Set once the gateway stops taking connections.
    draining: AtomicBool,
    /// Tells this process's requests apart from those of others.
    process: u64,
    requests: AtomicU64,
}

impl Gateway {
    /// Puts the parts together.
    pub fn new(
        config: Arc<Config>,
        authenticator: Arc<Authenticator>,
        registry: Arc<Registry>,
        integrations: Arc<Integrations>,
        metrics: Arc<Metrics>,
    ) -> Self {
        let started = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Self {
            config,
            authenticator,
            registry,
            integrations,
            metrics,
            draining: AtomicBool::new(false),
            process: started.as_nanos() as u64 ^ u64::from(std::process::id()).rotate_left(40),
            requests: AtomicU64::new(0),
        }
    }

    /// The id of a request: the caller's own, where it is printable and short, else a new one.
    pub fn request_id(&self, given: Option<&HeaderValue>) -> Arc<str> {
        let given = given
            .and_then(|value| value.to_str().ok())
            .filter(|id| (1..=MAX_REQUEST_ID_BYTES).contains(&id.len()) && !id.contains(' '));
        match given {
            Some(id) => id.into(),
            None => {
                let number = self.requests.fetch_add(1, Ordering::Relaxed);
                format!("{:016x}-{number:x}", self.process).into()
            }
        }
    }

    /// What operations are run with.
    pub fn parts(&self) -> Parts<'_> {
        Parts { registry: &self.registry, integrations: &self.integrations, metrics: &self.metrics }
    }

    /// From now on the gateway is not ready.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Whether the gateway is about to stop.
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }
}
