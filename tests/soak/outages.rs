//! A PostgreSQL server is stopped while tokens are refreshed, or stalls, for shorter and for longer
//! than a lease. No integration may be lost, although a refresh token that is sent twice ends its
//! account.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use support::accounts::{connect, email, registered};
use support::{Client, Dialect, Gateway, OAuthProvider, Pending, Proxy, Server, Setup, Store};

use crate::fleet::user;
use crate::report::{Report, Row};

/// Seconds for which the server is stopped.
const OUTAGES: [u64; 4] = [5, 12, 30, 45];

/// Seconds for which proxies hold back the bytes between the gateways and the server, and the
/// milliseconds by which one gateway has the server back later than the other one. They are fewer
/// than those for which a gateway looks at a lease that has ended.
const STALLS: [(u64, u64); 6] = [(12, 0), (12, 1500), (20, 3000), (35, 1500), (60, 3000), (90, 1500)];

/// Time that the provider takes to refresh a token, in milliseconds.
const LATENCIES: [u64; 3] = [0, 250, 3000];

/// Accounts of each combination.
const USERS: usize = 20;

/// Lifetime of an access token in seconds, so that every account is refreshed every few seconds.
const TOKEN_LIFETIME: u64 = 5;

/// Time from the start of the refreshes to the stop of the server. Some refreshes are then in
/// progress.
const HEAD_START: Duration = Duration::from_millis(40);

/// Longest time until every account serves again.
const MAX_WAIT: Duration = Duration::from_secs(90);

/// One or two gateways with their own database and provider.
struct Combination {
    gateways: Vec<Gateway>,
    provider: OAuthProvider,
    latency: u64,
    /// The way of each gateway to the server.
    proxies: Vec<Proxy>,
    _store: Store,
}

impl Combination {
    fn start(gateways: usize, latency: u64) -> Self {
        let (store, provider) = (Store::postgres(), OAuthProvider::start(Dialect::strict().living(TOKEN_LIFETIME)));
        let (proxies, databases): (Vec<Proxy>, Vec<String>) =
            (0..gateways).map(|_| store.database().behind_proxy()).unzip();
        let setup = |database: &str| Setup::new().general(database).account("account", &provider);
        let one = registered(setup(&databases[0]).start(), &provider);
        let key = format!("master_key_file = {:?}", one.home().data().join("master.key"));
        let others = databases[1..].iter().map(|database| registered(setup(database).general(&key).start(), &provider));
        let gateways: Vec<Gateway> = std::iter::once(one).chain(others.collect::<Vec<_>>()).collect();
        (0..USERS).for_each(|number| connect(&gateways[0].client(), "account", &user(number)));
        provider.slow_tokens(Duration::from_millis(latency));
        Self { gateways, provider, latency, proxies, _store: store }
    }

    fn clients(&self) -> Vec<Client> {
        self.gateways.iter().map(Gateway::client).collect()
    }

    /// Calls on every account at every gateway again and again, until it is stopped.
    fn call_until(&self, stop: &AtomicBool) {
        let clients = self.clients();
        while !stop.load(Ordering::Relaxed) {
            let calls: Vec<_> =
                (0..USERS).flat_map(|number| clients.iter().map(move |client| begin(client, number))).collect();
            calls.into_iter().for_each(|call| drop(call.try_wait()));
            thread::sleep(Duration::from_millis(200));
        }
    }

    /// Number of accounts that do not serve again at every gateway.
    fn lost(&self) -> usize {
        let began = Instant::now();
        let clients = self.clients();
        let mut waiting: Vec<(&Client, usize)> =
            clients.iter().flat_map(|client| (0..USERS).map(move |number| (client, number))).collect();
        while !waiting.is_empty() && began.elapsed() < MAX_WAIT {
            // All in parallel, because each may have to wait for a refresh.
            let calls: Vec<_> = waiting.iter().map(|(client, number)| begin(client, *number)).collect();
            let served = calls.into_iter().map(|call| call.try_wait().is_ok_and(|answer| answer.status == 200));
            let served: Vec<bool> = served.collect();
            waiting =
                waiting.into_iter().zip(served).filter(|(_, served)| !served).map(|(account, _)| account).collect();
            thread::sleep(Duration::from_millis(200));
        }
        let lost: HashSet<usize> = waiting.into_iter().map(|(_, number)| number).collect();
        lost.len()
    }
}

fn begin(client: &Client, number: usize) -> Pending {
    let call = client.request("POST", "/connectors/account/forward").json(&json!({"path": "/me"}));
    call.header("x-user-identifier", &email(&user(number))).begin()
}

/// Stops the server for each of the times, with every combination at the same time.
pub(crate) fn run(report: &mut Report) {
    println!("starting the gateways of the outages");
    let server = Server::of_script();
    let combinations: Vec<Combination> = [1, 2]
        .into_iter()
        .flat_map(|gateways| LATENCIES.map(|latency| (gateways, latency)))
        .map(|(gateways, latency)| Combination::start(gateways, latency))
        .collect();
    for seconds in OUTAGES {
        println!("PostgreSQL is stopped for {seconds} s");
        let stop = || {
            server.stop();
            thread::sleep(Duration::from_secs(seconds));
            server.start();
        };
        report.outages.extend(disturb(&combinations, stop, &format!("{seconds} s")));
    }
}

/// Holds back the bytes of the server for each of the times, between it and two gateways.
pub(crate) fn stall(report: &mut Report) {
    println!("starting the gateways of the stalls");
    let combinations = LATENCIES.map(|latency| Combination::start(2, latency));
    for (number, (seconds, late)) in STALLS.into_iter().enumerate() {
        println!("PostgreSQL stalls for {seconds} s, and {late} ms longer for one of two gateways");
        let hold = || {
            let proxies = || combinations.iter().flat_map(|combination| &combination.proxies);
            proxies().for_each(Proxy::hold);
            thread::sleep(Duration::from_secs(seconds));
            // The gateways take turns.
            proxies().skip(number % 2).step_by(2).for_each(Proxy::restore);
            thread::sleep(Duration::from_millis(late));
            proxies().for_each(Proxy::restore);
        };
        report.stalls.extend(disturb(&combinations, hold, &format!("{seconds} s, {:.1} s", late as f64 / 1000.0)));
    }
}

/// Refreshes all accounts while something happens to the server. Returns a line for each
/// combination.
fn disturb(combinations: &[Combination], server: impl FnOnce(), time: &str) -> Vec<Row> {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        combinations.iter().for_each(|combination| combination.provider.expire());
        combinations.iter().for_each(|combination| drop(scope.spawn(|| combination.call_until(&stop))));
        thread::sleep(HEAD_START);
        server();
        let back = Instant::now();
        stop.store(true, Ordering::Relaxed);
        let results: Vec<_> =
            combinations.iter().map(|combination| scope.spawn(move || (combination.lost(), back.elapsed()))).collect();
        let line = |(combination, result): (&Combination, thread::ScopedJoinHandle<'_, _>)| {
            let (lost, after) = result.join().unwrap_or((USERS, MAX_WAIT));
            row(time, combination, lost, after)
        };
        combinations.iter().zip(results).map(line).collect()
    })
}

fn row(time: &str, combination: &Combination, lost: usize, after: Duration) -> Row {
    let reuses = combination.provider.reuses();
    let cells = vec![
        time.to_owned(),
        combination.gateways.len().to_string(),
        format!("{} ms", combination.latency),
        USERS.to_string(),
        lost.to_string(),
        reuses.to_string(),
        format!("{:.1} s", after.as_secs_f64()),
    ];
    Row::of(cells, lost == 0 && reuses == 0)
}
