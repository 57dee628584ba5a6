//! The gateways under test, their connectors, and the services and providers behind them.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::json;
use support::accounts::{connect, registered};
use support::oauth::{Dialect, Rotation};
use support::{Client, Gateway, OAuthProvider, Reply, Server, Setup, Store, Upstream, arxiv, module, usage};

use crate::tally::Absence;

/// The budget of memory of each gateway, in MB.
pub(crate) const MEMORY_MB: u64 = 256;

/// Accounts of each connector with accounts.
pub(crate) const USERS: usize = 8;

/// Lifetime of an access token in seconds.
const TOKEN_LIFETIME: u64 = 5;

/// Bytes of the answer that callers do not read.
const LARGE_BYTES: usize = 20 << 20;

/// A gateway at a fixed address. It may be down.
pub(crate) struct Site {
    pub(crate) name: &'static str,
    pub(crate) client: Client,
    pub(crate) address: String,
    /// The connector whose users have accounts.
    pub(crate) connector: &'static str,
    /// `true` if its store is on the PostgreSQL server.
    pub(crate) on_postgres: bool,
    pub(crate) killed: Absence,
    gateway: Mutex<Option<Gateway>>,
    /// 0 while it is down.
    process: AtomicU32,
    peak_mb: AtomicU64,
}

impl Site {
    fn new(name: &'static str, connector: &'static str, on_postgres: bool, gateway: Gateway) -> Self {
        Self {
            name,
            client: gateway.client(),
            address: gateway.address(),
            connector,
            on_postgres,
            killed: Absence::default(),
            process: AtomicU32::new(gateway.process_id()),
            gateway: Mutex::new(Some(gateway)),
            peak_mb: AtomicU64::new(0),
        }
    }

    /// Does something with the gateway, unless it is down.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&Gateway) -> T) -> Option<T> {
        self.gateway.lock().as_ref().map(work)
    }

    /// The process id, unless it is down.
    pub(crate) fn process(&self) -> Option<u32> {
        Some(self.process.load(Ordering::Relaxed)).filter(|process| *process != 0)
    }

    /// The most memory that any of its processes has used, in MB.
    pub(crate) fn peak_mb(&self) -> u64 {
        let now = self.process().map_or(0, usage::peak_mb);
        self.peak_mb.fetch_max(now, Ordering::Relaxed).max(now)
    }

    /// Kills the gateway, and starts it again after a while. Returns the lines that the killed
    /// process had written.
    pub(crate) fn kill_and_start(&self, after: Duration) -> Vec<String> {
        let Some(mut gateway) = self.gateway.lock().take() else { return Vec::new() };
        self.peak_mb();
        self.killed.begin();
        self.process.store(0, Ordering::Relaxed);
        gateway.kill();
        gateway.wait();
        let lines = gateway.lines();
        thread::sleep(after);
        let gateway = gateway.start_again();
        self.process.store(gateway.process_id(), Ordering::Relaxed);
        *self.gateway.lock() = Some(gateway);
        self.killed.end();
        lines
    }
}

/// Everything under test. The two first sites share a PostgreSQL database, the third has SQLite.
pub(crate) struct Fleet {
    // In the order in which they have to end: the gateways use the rest.
    pub(crate) sites: Vec<Site>,
    pub(crate) postgres: Server,
    /// The times in which PostgreSQL was stopped.
    pub(crate) stopped: Absence,
    /// A provider whose refresh tokens are used up by a refresh. Its accounts would be lost by a
    /// refresh too many.
    pub(crate) strict: OAuthProvider,
    _renewing: OAuthProvider,
    _service: Upstream,
    _papers: Upstream,
    _store: Store,
}

impl Fleet {
    /// Starts the gateways and connects the accounts.
    pub(crate) fn start() -> Self {
        let (store, papers, service) = (Store::postgres(), arxiv::start(50), service());
        // A gateway that is killed during a refresh may lose an account of a strict provider,
        // because the provider's answer is lost. So the gateway that is killed has a provider whose
        // previous refresh tokens stay valid, as Microsoft's do.
        let renewing = Dialect { rotation: Rotation::Renews, ..Dialect::strict() };
        let renewing = OAuthProvider::start(renewing.living(TOKEN_LIFETIME));
        let strict = OAuthProvider::start(Dialect::strict().living(TOKEN_LIFETIME));
        let common = || setup(&papers, &service);

        let one = registered(common().on(&store).account("account", &renewing).start(), &renewing);
        let key = format!("master_key_file = {:?}", one.home().data().join("master.key"));
        let other = common().on(&store).general(&key).account("account", &renewing).start();
        let other = registered(other, &renewing);
        let alone = registered(common().account("strict", &strict).start(), &strict);
        let sites = vec![
            Site::new("PostgreSQL 1", "account", true, one),
            Site::new("PostgreSQL 2", "account", true, other),
            Site::new("SQLite", "strict", false, alone),
        ];
        for site in &sites[1..] {
            (0..USERS).for_each(|number| connect(&site.client, site.connector, &user(number)));
        }
        Self {
            sites,
            postgres: Server::of_script(),
            stopped: Absence::default(),
            strict,
            _renewing: renewing,
            _service: service,
            _papers: papers,
            _store: store,
        }
    }
}

/// The name of a user.
pub(crate) fn user(number: usize) -> String {
    format!("user{number}")
}

/// The settings that all gateways have in common. The port is fixed, because authorizations and
/// callers outlive a gateway that is killed.
fn setup(papers: &Upstream, service: &Upstream) -> Setup {
    let port = support::upstream::free_port();
    let general = format!(
        "public_url = \"http://127.0.0.1:{port}\"\nmemory_mb = {MEMORY_MB}\ncaller_timeout_s = 5\nmax_connections = 400"
    );
    Setup::new()
        .general(&general)
        .variable("GATEWAY__LISTEN", &format!("127.0.0.1:{port}"))
        .config("[compile]\nmemory_mb = 256\ncpu_s = 3")
        .module("liar", module::liar("version=1.0.0"))
        .upstream("liar", "api", &service.url())
        .guest("hostile")
        .upstream("hostile", "api", &service.url())
        .config("limits.cpu_ms = 300\nlimits.timeout_s = 2")
        .shipped("preprint_archive")
        .upstream("preprint_archive", "api", &format!("{}/api", papers.url()))
        .config(&format!("upstreams.files = \"{}/pdf\"", papers.url()))
}

/// A service that answers, and one that is slow or broken at other paths.
fn service() -> Upstream {
    let service = Upstream::start();
    let small = json!({"items": [{"id": 1, "name": "one"}, {"id": 2, "name": "two"}]});
    service
        .reply("/forward", Reply::json(small))
        .reply("/large", Reply::typed("application/json", format!("\"{}\"", "x".repeat(LARGE_BYTES))))
        .reply("/slow", Reply::json(json!({})).after(Duration::from_secs(4)))
        .reply("/hang_up", Reply::hang_up())
        .reply("/cut", Reply::cut_off("application/json", "{\"half\": "))
        .reply("/endless", Reply::endless("application/json"))
        .reply("/failed", Reply::json(json!({"error": "broken"})).status(500))
        .reply("/garbage", Reply::typed("application/json", "<html>not JSON"));
    service
}
