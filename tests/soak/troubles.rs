//! Three gateways on one PostgreSQL database, of which one at a time is in trouble: it is cut off
//! from the database while a key is revoked, it stands still with the queue of a paced upstream, or
//! its disk is full. The others must not notice. In the end, all demand for a rate limit moves from
//! one gateway to the next.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::json;
use support::accounts::{connect, email, registered};
use support::client::Call;
use support::oauth::{Dialect, Rotation};
use support::{Client, Gateway, OAuthProvider, Proxy, Reply, Setup, Store, Upstream, module};

use crate::fleet::user;
use crate::report::{Report, Row};
use crate::service::windows;
use crate::tally::{Absence, NO_ANSWER, Tally, outcome};

const GATEWAYS: usize = 3;

/// Calls that the rate limit allows in a period, and the period in seconds.
const LIMIT: usize = 60;
const PERIOD: u64 = 20;

/// The interval between two calls of the paced upstream.
const INTERVAL: Duration = Duration::from_millis(500);

/// Calls that start an interval or a period apart may arrive closer together by this time.
const JITTER: Duration = Duration::from_millis(300);

/// Accounts, and the lifetime of their access tokens in seconds.
const USERS: usize = 8;
const TOKEN_LIFETIME: u64 = 5;

/// Time between two calls of a caller.
const PAUSE: Duration = Duration::from_millis(50);

/// How long each trouble takes. A cut is longer than each lease, and a full disk than the lifetime
/// of a token.
const CUT: Duration = Duration::from_secs(25);
const STILL: Duration = Duration::from_secs(12);
const FULL: Duration = Duration::from_secs(10);

/// `keys.max_age_s`. It is much shorter than a cut, so that a gateway accepts no key at its end.
const KEY_AGE_S: u64 = 10;

/// Time between two troubles, and the longest time until all is as before.
const PAUSE_OF_TROUBLES: Duration = Duration::from_secs(10);
const SETTLING: Duration = Duration::from_secs(30);

/// The longest time in which the paced upstream gets no call while a gateway stands still: its
/// lease, the interval, and the time until the others look.
const LONGEST_GAP: Duration = Duration::from_secs(10);

/// The times for which all demand stays at one gateway, and how often it moves.
const STAYS: Duration = Duration::from_secs(60);
const MOVES: usize = 3;

/// No gateway: the callers take all of them in turn.
const ALL: usize = usize::MAX;

struct Member {
    client: Client,
    gateway: Gateway,
    /// Its way to the database.
    way: Proxy,
    trouble: Absence,
}

struct Troubles {
    // In the order in which they have to end: the gateways use the rest.
    members: Vec<Member>,
    tally: Tally,
    limited: Arrivals,
    paced: Arrivals,
    /// The gateway that gets all calls of the rate limit.
    focus: AtomicUsize,
    is_over: AtomicBool,
    _services: [Upstream; 2],
    _provider: OAuthProvider,
    _store: Store,
}

/// The times at which requests came to a service.
type Arrivals = Arc<Mutex<Vec<Instant>>>;

/// Runs the troubles again and again for this time, at least once.
pub(crate) fn run(duration: Duration, report: &mut Report) {
    println!("starting the gateways of the troubles");
    let troubles = Troubles::start();
    let (mut gap, mut kept_keys) = (Duration::ZERO, 0);
    let mut in_use = 0.0;
    thread::scope(|scope| {
        for caller in 0..GATEWAYS {
            let troubles = &troubles;
            for load in ["version", "limited", "paced", "OAuth"] {
                scope.spawn(move || troubles.call_again_and_again(load, caller));
            }
        }
        let began = Instant::now();
        for number in 0.. {
            kept_keys += troubles.cut_off(number % GATEWAYS);
            gap = gap.max(troubles.stand_still((number + 1) % GATEWAYS));
            troubles.fill_disk((number + 2) % GATEWAYS);
            if began.elapsed() >= duration {
                break;
            }
        }
        in_use = troubles.move_demand();
        troubles.is_over.store(true, Ordering::Relaxed);
    });
    troubles.tell(gap, kept_keys, in_use, report);
}

impl Troubles {
    fn start() -> Self {
        let store = Store::postgres();
        let (limited, paced) = (Arrivals::default(), Arrivals::default());
        let services = [&limited, &paced].map(|arrivals| {
            let (service, arrivals) = (Upstream::start(), Arc::clone(arrivals));
            service.on("*", move |_| {
                arrivals.lock().push(Instant::now());
                Reply::json(json!({}))
            });
            service
        });
        // A gateway that is cut off cannot store the tokens of a refresh. So previous refresh tokens
        // stay valid, as Microsoft's do.
        let renewing = Dialect { rotation: Rotation::Renews, ..Dialect::strict() };
        let provider = OAuthProvider::start(renewing.living(TOKEN_LIFETIME));
        let mut key = String::new();
        let members = (0..GATEWAYS).map(|_| {
            let (way, database) = store.database().behind_proxy();
            let gateway = registered(setup(&database, &key, &services, &provider).start(), &provider);
            if key.is_empty() {
                key = format!("master_key_file = {:?}", gateway.home().data().join("master.key"));
            }
            Member { client: gateway.client(), gateway, way, trouble: Absence::default() }
        });
        let members: Vec<Member> = members.collect();
        (0..USERS).for_each(|number| connect(&members[0].client, "account", &user(number)));
        Self {
            members,
            tally: Tally::default(),
            limited,
            paced,
            focus: AtomicUsize::new(ALL),
            is_over: AtomicBool::new(false),
            _services: services,
            _provider: provider,
            _store: store,
        }
    }

    /// Calls one gateway after the other. A caller of the paced upstream stays at one: a call that
    /// waits at a gateway in trouble would otherwise keep each caller from the other gateways.
    fn call_again_and_again(&self, load: &'static str, first: usize) {
        for number in first.. {
            if self.is_over.load(Ordering::Relaxed) {
                return;
            }
            let focus = self.focus.load(Ordering::Relaxed);
            let index = match load {
                "limited" if focus != ALL => focus,
                "paced" => first,
                _ => number % GATEWAYS,
            };
            let (member, began) = (&self.members[index], Instant::now());
            let outcome = match call(&member.client, load, number).try_send() {
                Ok(answer) => outcome(&answer),
                Err(_) => NO_ANSWER.to_owned(),
            };
            let may_be_limited = ["limited", "paced"].contains(&load);
            let is_right = outcome == "200" || may_be_limited && outcome == "429 rate-limited";
            let is_expected = is_right || member.trouble.affects(began);
            self.tally.note(load, &outcome, is_expected, || format!("at gateway {index}"));
            thread::sleep(PAUSE);
        }
    }

    /// Cuts a gateway off from the database, and revokes a key at another one meanwhile. Returns how
    /// often a gateway takes the key when all keys are too old there, and in the end.
    fn cut_off(&self, index: usize) -> usize {
        thread::sleep(PAUSE_OF_TROUBLES);
        println!("gateway {index} is cut off from PostgreSQL for {} s, and a key is revoked", CUT.as_secs());
        let (member, other) = (&self.members[index], &self.members[(index + 1) % GATEWAYS]);
        let made = other.client.post("/admin/keys", json!({"name": "revoked", "scopes": ["operate"]})).json();
        let key = made["key"].as_str().unwrap_or_default().to_owned();
        self.wait_for_key(&key, GATEWAYS);
        member.trouble.begin();
        member.way.cut();
        let revoked = other.client.delete(&format!("/admin/keys/{}", made["id"].as_str().unwrap_or_default()));
        let is_revoked = (200..300).contains(&revoked.status);
        thread::sleep(CUT);
        let past_age = usize::from(takes(member, &key));
        member.way.restore();
        member.trouble.end();
        if is_revoked { past_age + self.wait_for_key(&key, 0) } else { GATEWAYS }
    }

    /// Waits until so many gateways take a key. Returns how many do.
    fn wait_for_key(&self, key: &str, count: usize) -> usize {
        let began = Instant::now();
        loop {
            let taken = self.members.iter().filter(|member| takes(member, key)).count();
            if taken == count || began.elapsed() > SETTLING {
                return taken;
            }
            thread::sleep(Duration::from_millis(200));
        }
    }

    /// Lets a gateway stand still. Returns the longest time without a call at the paced upstream.
    fn stand_still(&self, index: usize) -> Duration {
        thread::sleep(PAUSE_OF_TROUBLES);
        println!("gateway {index} stands still for {} s", STILL.as_secs());
        let (member, began) = (&self.members[index], Instant::now());
        member.trouble.begin();
        member.gateway.stand_still();
        thread::sleep(STILL);
        member.gateway.go_on();
        member.trouble.end();
        longest_gap(&self.paced.lock(), began, Instant::now())
    }

    /// Lets every write of a gateway to its disk fail.
    fn fill_disk(&self, index: usize) {
        thread::sleep(PAUSE_OF_TROUBLES);
        println!("the disk of gateway {index} is full for {} s", FULL.as_secs());
        let member = &self.members[index];
        member.trouble.begin();
        member.gateway.set_disk_full(true);
        thread::sleep(FULL);
        member.gateway.set_disk_full(false);
        member.trouble.end();
    }

    /// Moves all calls of the rate limit to one gateway after the other. Returns the part of the time
    /// of all units for which a call had them. A call has a unit for a period.
    fn move_demand(&self) -> f64 {
        thread::sleep(PAUSE_OF_TROUBLES);
        println!("all calls of the rate limit move to one gateway after the other");
        // The rate limit is used up when the count begins.
        self.focus.store(GATEWAYS - 1, Ordering::Relaxed);
        thread::sleep(Duration::from_secs(2 * PERIOD));
        let began = Instant::now();
        for number in 0..MOVES {
            self.focus.store(number % GATEWAYS, Ordering::Relaxed);
            thread::sleep(STAYS);
        }
        let (end, period) = (Instant::now(), Duration::from_secs(PERIOD));
        let in_use = |at: &Instant| (*at + period).min(end).saturating_duration_since((*at).max(began));
        let in_use: Duration = self.limited.lock().iter().map(in_use).sum();
        in_use.as_secs_f64() / (LIMIT as f64 * (end - began).as_secs_f64())
    }

    /// The number of accounts that do not serve any more.
    fn lost_accounts(&self) -> usize {
        let serves = |number: &usize| {
            let began = Instant::now();
            while began.elapsed() < SETTLING {
                if call(&self.members[0].client, "OAuth", *number).try_send().is_ok_and(|answer| answer.status == 200) {
                    return true;
                }
                thread::sleep(PAUSE);
            }
            false
        };
        USERS - (0..USERS).filter(serves).count()
    }

    fn tell(&self, gap: Duration, kept_keys: usize, in_use: f64, report: &mut Report) {
        let failed: u64 = self.tally.counts().iter().map(|(_, _, count)| count.unexpected).sum();
        let lost = self.lost_accounts();
        let (most, _) = windows(&self.limited.lock(), Duration::from_secs(PERIOD) - JITTER, LIMIT);
        let paced = self.paced.lock();
        let early = paced.windows(2).filter(|pair| pair[1] - pair[0] < INTERVAL - JITTER).count();
        report.troubles.extend([
            Row::new("calls", self.tally.calls(), true),
            Row::new("calls that failed at a gateway without trouble", failed, failed == 0),
            Row::new("lost integrations", lost, lost == 0),
            Row::new("gateways that take a revoked key too late", kept_keys, kept_keys == 0),
            Row::new("calls of the paced upstream", paced.len(), !paced.is_empty()),
            Row::new("calls of it that came too early", early, early == 0),
            Row::new(
                &format!("longest time without such a call (at most {} s)", LONGEST_GAP.as_secs()),
                format!("{:.1} s", gap.as_secs_f64()),
                gap <= LONGEST_GAP,
            ),
            Row::new(&format!("most calls in {PERIOD} s at the upstream (at most {LIMIT})"), most, most <= LIMIT),
            Row::new(
                "units in use while the demand moved (at least 95 %)",
                format!("{:.1} %", in_use * 100.0),
                in_use >= 0.95,
            ),
        ]);
        report.unexpected.extend(self.tally.unexpected());
    }
}

/// Returns whether a gateway takes a key.
fn takes(member: &Member, key: &str) -> bool {
    let call = member.client.clone().with_key(key).request("GET", "/connectors");
    call.try_send().is_ok_and(|answer| answer.status == 200)
}

fn call(client: &Client, load: &str, number: usize) -> Call {
    let post = |path: &str| client.request("POST", &format!("/connectors/{path}"));
    match load {
        "version" => post("liar/version").json(&json!({})),
        "limited" => post("limited/composed").json(&json!({"path": "/"})),
        "paced" => post("paced/composed").json(&json!({"path": "/"})),
        _ => {
            let call = post("account/forward").json(&json!({"path": "/me"}));
            call.header("x-user-identifier", &email(&user(number % USERS)))
        }
    }
}

/// The settings of each gateway.
fn setup(database: &str, key: &str, services: &[Upstream; 2], provider: &OAuthProvider) -> Setup {
    let limited = json!({"identifier": "limited", "auth": "none", "rate_limit": LIMIT, "rate_period": PERIOD});
    let pacing = format!("pacing = {{ interval_ms = {}, concurrency = 1, max_wait_ms = 20000 }}", INTERVAL.as_millis());
    Setup::new()
        .general(database)
        .general(key)
        .general(&format!("keys.max_age_s = {KEY_AGE_S}"))
        .module("liar", module::liar("version=1.0.0"))
        .module("limited", module::account(&limited))
        .upstream("limited", "api", &services[0].url())
        .module("paced", module::account(&json!({"identifier": "paced", "auth": "none"})))
        .upstream("paced", "api", &services[1].url())
        .config(&pacing)
        .account("account", provider)
}

/// The longest time without an arrival between two times.
fn longest_gap(arrivals: &[Instant], from: Instant, until: Instant) -> Duration {
    let within = arrivals.iter().copied().filter(|at| (from..until).contains(at));
    let times: Vec<Instant> = std::iter::once(from).chain(within).chain([until]).collect();
    times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or_default()
}
