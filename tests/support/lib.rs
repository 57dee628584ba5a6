//! The helper library of the product tests, the demonstration and the benchmarks. All functions
//! block, so that a test reads from top to bottom. Stand-in services and load run on their own
//! threads.
//!
//! # Layout
//! - `setup`: modules, configuration and environment of a gateway
//! - `home`: its folders and its command line
//! - `gateway`: the running gateway
//! - `hostile`: a gateway with a guest that breaks limits
//! - `process`: processes that always end
//! - `programs`: programs in other languages, and programs of Debian's packages
//! - `client`: requests to the gateway and expectations of its answers
//! - `load`: requests in the background
//! - `wire`: connections whose bytes a test writes itself
//! - `usage`: memory, CPU time, descriptors and threads of a process
//! - `upstream`: a stand-in for a service, on loopback
//! - `reply`: its answers
//! - `multipart`: forms with files, as it reads them
//! - `arxiv`, `dexscreener`: two such services
//! - `oauth`: a stand-in for an OAuth provider, and people who consent
//! - `jwt`: JWTs, and the keys that issuers publish
//! - `accounts`: the connecting of accounts
//! - `age`: keys that decrypt exports
//! - `webhooks`: webhooks, as a receiver verifies them
//! - `collector`: a stand-in for an OpenTelemetry collector
//! - `database`: the two stores, and a PostgreSQL database for one test
//! - `tables`: the tables that these databases have from their beginning
//! - `cluster`: two PostgreSQL servers, of which one takes over from the other
//! - `archiving_server`: a PostgreSQL server for one test, which is recovered as of a moment
//! - `proxy`: a connection that can be cut
//! - `balancer`: a balancer in front of gateways
//! - `catalogue`: the operations that the connectors must have
//! - `description`: the description of the API
//! - `module`: connectors as bytes, as built and altered
//! - `workshop`: folders in which tests build projects, as authors do
//! - `registry`: a registry of modules
//! - `signer`: authors who sign modules
//! - `encoding`: percent-encoding
//! - `gzip`: compressed bodies
//! - `tls`: certificates
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests use this library, and a panic is how a test fails"
)]

pub mod accounts;
pub mod age;
pub mod archiving_server;
pub mod arxiv;
pub mod balancer;
pub mod catalogue;
pub mod client;
pub mod cluster;
pub mod collector;
pub mod database;
pub mod description;
pub mod dexscreener;
pub mod encoding;
pub mod gateway;
pub mod gzip;
pub mod home;
pub mod hostile;
pub mod jwt;
pub mod load;
pub mod module;
pub mod multipart;
pub mod oauth;
pub mod process;
pub mod programs;
pub mod proxy;
pub mod registry;
pub mod reply;
pub mod setup;
pub mod signatures;
pub mod signer;
mod tables;
pub mod tls;
pub mod upstream;
pub mod usage;
pub mod webhooks;
pub mod wire;
pub mod workshop;

use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;

pub use balancer::Balancer;
pub use client::{Answer, Call, Client, Events, Pending};
pub use cluster::Cluster;
pub use collector::Collector;
pub use database::{Database, Server, Store};
pub use gateway::Gateway;
pub use home::Home;
pub use load::Load;
pub use oauth::{Dialect, Endpoint, OAuthProvider, Person};
pub use proxy::Proxy;
pub use registry::Registry;
pub use reply::{Gate, Reply};
pub use setup::Setup;
pub use signer::Signer;
pub use tls::Authority;
pub use upstream::{Seen, Upstream};
pub use workshop::Workshop;

/// Limit of every wait. It is long enough for a slow and busy machine, and only a test that fails
/// waits this long.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(240);

/// Time between two looks at a condition. It grows with the wait, because a look at a gateway takes
/// time of the processor that the gateways of other tests need.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// The threads that stand-ins and clients run on. They live as long as the program.
pub fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap())
}

/// Calls `condition` again and again until it returns a value, and returns that value.
///
/// # Panics
/// After four minutes without a value; `what` is named in the message.
#[track_caller]
pub fn wait_for<T>(what: &str, condition: impl FnMut() -> Option<T>) -> T {
    wait_at_most(MAX_WAIT, what, condition)
}

/// As [`wait_for`], for work that may take longer than four minutes on a busy machine.
///
/// # Panics
/// When the condition is not met in this time.
#[track_caller]
pub fn wait_at_most<T>(time: Duration, what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(value) = condition() {
            return value;
        }
        let waited = began.elapsed();
        assert!(waited < time, "waited {} s for {what}", time.as_secs());
        // A sixteenth of the wait is the most that a test loses by it.
        thread::sleep((waited / 16).clamp(FIRST_PAUSE, LONGEST_PAUSE));
    }
}
