//! What the product's tests and its demonstration are written with. All of it is called without `async`: tests read from top
//! to bottom, and what has to go on meanwhile (stand-in services, load) runs on threads of its own.
//!
//! # Layout
//! - [`setup`]: what a gateway is started with; [`home`]: its folders, and the command line on them; [`gateway`]: the process
//! - [`process`]: how a process begins, and that it surely ends
//! - [`client`]: requests to it, and what is expected of answers; [`load`]: many of them while something else happens
//! - [`provider`]: a stand-in for a service on loopback; [`reply`]: what it answers; [`arxiv`], [`dexscreener`]: those two
//! - [`oauth`]: a stand-in for an OAuth provider, and people who consent; [`database`]: a PostgreSQL database for one test
//! - [`module`]: connectors as bytes, and how to alter them
//! - [`gzip`]: compressed bodies, good and evil
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "used by tests only, where a panic is the report of what went wrong"
)]

pub mod arxiv;
pub mod client;
pub mod database;
pub mod dexscreener;
pub mod gateway;
pub mod gzip;
pub mod home;
pub mod load;
pub mod module;
pub mod oauth;
pub mod process;
pub mod provider;
pub mod reply;
pub mod setup;

use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;

pub use client::{Answer, Client};
pub use database::{Database, Store};
pub use gateway::Gateway;
pub use home::Home;
pub use load::Load;
pub use oauth::{Dialect, Endpoint, OAuthProvider, Person};
pub use provider::{Provider, Seen};
pub use reply::{Gate, Reply};
pub use setup::Setup;

/// Long enough for a busy machine. A condition that holds is found at once; only one that never does takes this long.
const PATIENCE: Duration = Duration::from_secs(60);

/// The threads that stand-ins and clients run on. They outlive every test.
pub(crate) fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap())
}

/// Waits until `condition` gives something, and gives that back.
///
/// # Panics
/// When it never does; `what` says what was waited for.
#[track_caller]
pub fn wait_for<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        thread::sleep(Duration::from_millis(10));
    }
}
