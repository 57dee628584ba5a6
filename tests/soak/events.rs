//! Two gateways on one PostgreSQL database, which services notify of events while one of the
//! gateways is killed and the database stalls. The service forgets subscriptions, and someone else
//! sends forged, repeated and malformed notifications.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use humantime::format_rfc3339_millis;
use parking_lot::Mutex;
use serde_json::{Value, json};
use support::accounts::{connect, email, registered};
use support::webhooks::{is_signed_with, make_secret};
use support::{Client, Dialect, Gateway, OAuthProvider, Proxy, Reply, Setup, Store, Upstream};

use crate::report::{Report, Row};
use crate::tally::{Absence, NO_ANSWER, Tally};

const GATEWAYS: usize = 2;

/// The URL under which the service knows the gateways. Only its path matters.
const PUBLIC: &str = "https://hooks.example";

/// The users, each with a trigger and a subscription.
const USERS: [&str; 4] = ["ada", "bob", "cleo", "dan"];

/// The life of a subscription. It is renewed at a third of it.
const LIFE: Duration = Duration::from_secs(45);

/// One of so many renewals finds that the service has forgotten the subscription.
const FORGETS: usize = 2;

/// Time between two events of one user, and between two attempts to notify of one.
const PAUSE: Duration = Duration::from_millis(60);
const AGAIN: Duration = Duration::from_millis(400);

/// Time between two lies. An inbox takes 60 of them in a minute.
const LIE_EVERY: Duration = Duration::from_millis(1500);

/// How long each trouble takes, and the time between two.
const STALLED: Duration = Duration::from_secs(8);
const DEAD: Duration = Duration::from_secs(2);
const PAUSE_OF_TROUBLES: Duration = Duration::from_secs(10);

/// The longest time until everything is stored and delivered.
const SETTLING: Duration = Duration::from_secs(90);

struct Member {
    client: Client,
    gateway: Mutex<Option<Gateway>>,
    /// Its way to the database.
    way: Proxy,
    trouble: Absence,
}

/// Everything that the service and the receiver know.
#[derive(Default)]
struct Seen {
    /// The secrets of addresses.
    secrets: BTreeMap<String, String>,
    asked_to_renew: usize,
    forgotten: BTreeSet<String>,
    made: usize,
    /// The ids of the webhooks about each event.
    delivered: BTreeMap<String, BTreeSet<String>>,
    unsigned: usize,
}

struct Site {
    // In the order in which they have to end: the gateways use the rest.
    members: Vec<Member>,
    tally: Tally,
    seen: Arc<Mutex<Seen>>,
    /// Events whose notification was accepted.
    accepted: Mutex<BTreeSet<String>>,
    forged_accepted: AtomicUsize,
    lies: AtomicUsize,
    is_over: AtomicBool,
    triggers: Vec<String>,
    _service: Upstream,
    _receiver: Upstream,
    _provider: OAuthProvider,
    _store: Store,
}

/// Runs events and troubles for this time, each trouble at least once.
pub(crate) fn run(duration: Duration, report: &mut Report) {
    println!("starting the gateways that services notify");
    let site = Site::start();
    let (mut killed, mut stalled) = (0, 0);
    thread::scope(|scope| {
        for user in 0..USERS.len() {
            let site = &site;
            scope.spawn(move || site.notify_again_and_again(user));
        }
        scope.spawn(|| site.lie_again_and_again());
        let began = Instant::now();
        for number in 0.. {
            thread::sleep(PAUSE_OF_TROUBLES);
            println!("PostgreSQL stalls for {} s", STALLED.as_secs());
            site.stall();
            stalled += 1;
            thread::sleep(PAUSE_OF_TROUBLES);
            println!("gateway {} is killed", number % GATEWAYS);
            site.kill(number % GATEWAYS);
            killed += 1;
            if began.elapsed() >= duration {
                break;
            }
        }
        site.is_over.store(true, Ordering::Relaxed);
    });
    site.tell(killed, stalled, report);
}

impl Site {
    fn start() -> Self {
        let (store, provider) = (Store::postgres(), OAuthProvider::start(Dialect::strict()));
        let (service, receiver) = (Upstream::start(), Upstream::start());
        let seen = Arc::<Mutex<Seen>>::default();
        serve(&service, &seen);
        let mut key = String::new();
        let members = (0..GATEWAYS).map(|_| {
            let (way, database) = store.database().behind_proxy();
            let gateway = registered(setup(&database, &key, &service, &provider).start(), &provider);
            if key.is_empty() {
                key = format!("master_key_file = {:?}", gateway.home().data().join("master.key"));
            }
            Member { client: gateway.client(), gateway: Mutex::new(Some(gateway)), way, trouble: Absence::default() }
        });
        let members: Vec<Member> = members.collect();
        let client = &members[0].client;
        let (_, secret) = make_secret(client);
        hear(&receiver, &seen, secret);
        let triggers = USERS.map(|name| {
            connect(client, "notified", name);
            let body = json!({"connector": "notified", "type": "renewed", "urls": [receiver.url()]});
            let call = client.request("POST", "/triggers").header("x-user-identifier", &email(name)).json(&body);
            call.send().json()["id"].as_str().expect("a trigger").to_owned()
        });
        Self {
            members,
            tally: Tally::default(),
            seen,
            accepted: Mutex::default(),
            forged_accepted: AtomicUsize::new(0),
            lies: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
            triggers: triggers.into(),
            _service: service,
            _receiver: receiver,
            _provider: provider,
            _store: store,
        }
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// The address of a user's subscription, and its secret.
    fn known(&self, user: usize) -> (String, String) {
        let seen = self.seen.lock();
        let known = seen.secrets.iter().nth(user).expect("the service was asked for each subscription");
        (known.0.clone(), known.1.clone())
    }

    /// Sends a notification to a gateway once. Returns the status, or 0 without an answer.
    fn send(&self, load: &'static str, index: usize, path: &str, body: &str, expected: &[u16]) -> u16 {
        let (member, began) = (&self.members[index], Instant::now());
        let call = member.client.clone().without_key().request("POST", path);
        let sent = call.header("content-type", "application/json").body(body.to_owned()).try_send();
        let status = sent.map_or(0, |answer| answer.status);
        let outcome = if status == 0 { NO_ANSWER.to_owned() } else { status.to_string() };
        let is_right = expected.contains(&status);
        let is_busy = (status == 503 || status == 0) && member.trouble.affects(began);
        self.tally.note(load, &outcome, is_right || is_busy, || format!("at gateway {index}"));
        status
    }

    /// Sends the notification of each event until it is accepted, at one gateway after the other.
    fn notify_again_and_again(&self, user: usize) {
        for number in 0.. {
            if self.is_over() {
                return;
            }
            let ((path, secret), id) = (self.known(user), format!("{}-{number}", USERS[user]));
            let body = notification(&id, &secret);
            for attempt in number.. {
                if self.send("notification", attempt % GATEWAYS, &path, &body, &[200]) == 200 {
                    self.accepted.lock().insert(id);
                    break;
                }
                if self.is_over() {
                    return;
                }
                thread::sleep(AGAIN);
            }
            thread::sleep(PAUSE);
        }
    }

    /// Sends notifications that the service has not sent.
    fn lie_again_and_again(&self) {
        for number in 0.. {
            if self.is_over() {
                return;
            }
            let (path, secret) = self.known(number % USERS.len());
            let (_, other) = self.known((number + 1) % USERS.len());
            let forged = format!("forged-{number}");
            let (body, expected): (String, &[u16]) = match number % 5 {
                0 => (notification(&forged, "a guess"), &[401]),
                // A user has the secret of another subscription.
                1 => (notification(&forged, &other), &[401]),
                2 => ("{\"value\": [".to_owned(), &[401]),
                // It is verified, and not understood.
                3 => (json!({"value": [{"clientState": secret}]}).to_string(), &[200]),
                // It was accepted before.
                _ => {
                    let before = self.accepted.lock().first().cloned();
                    let user = before.as_deref().and_then(|id| USERS.iter().position(|name| id.starts_with(name)));
                    let Some((id, user)) = before.zip(user) else { continue };
                    let (path, secret) = self.known(user);
                    self.send("lie", number % GATEWAYS, &path, &notification(&id, &secret), &[200]);
                    thread::sleep(LIE_EVERY);
                    continue;
                }
            };
            let status = self.send("lie", number % GATEWAYS, &path, &body, expected);
            self.lies.fetch_add(1, Ordering::Relaxed);
            if body.contains(&forged) && status == 200 {
                self.forged_accepted.fetch_add(1, Ordering::Relaxed);
            }
            thread::sleep(LIE_EVERY);
        }
    }

    /// Holds back all bytes between the gateways and the database.
    fn stall(&self) {
        self.members.iter().for_each(|member| {
            member.trouble.begin();
            member.way.hold();
        });
        thread::sleep(STALLED);
        self.members.iter().for_each(|member| {
            member.way.restore();
            member.trouble.end();
        });
    }

    fn kill(&self, index: usize) {
        let member = &self.members[index];
        let Some(mut gateway) = member.gateway.lock().take() else { return };
        member.trouble.begin();
        gateway.kill();
        gateway.wait();
        thread::sleep(DEAD);
        *member.gateway.lock() = Some(gateway.start_again());
        member.trouble.end();
    }

    /// The ids of the stored events of all triggers, as often as they are stored.
    fn stored(&self) -> Vec<String> {
        let mut stored = Vec::new();
        for trigger in &self.triggers {
            let mut query = String::from("limit=200");
            loop {
                let page = self.members[0].client.get(&format!("/triggers/{trigger}/events?{query}")).ok();
                let events = page["events"].as_array().cloned().unwrap_or_default();
                if events.is_empty() {
                    break;
                }
                let of_service = events.iter().filter(|event| event["type"] == "notified.renewed");
                stored.extend(of_service.filter_map(|event| event["data"]["id"].as_str().map(str::to_owned)));
                query = format!("limit=200&cursor={}", page["next_cursor"].as_str().unwrap_or_default());
            }
        }
        stored
    }

    fn tell(&self, killed: usize, stalled: usize, report: &mut Report) {
        let accepted = self.accepted.lock().clone();
        let began = Instant::now();
        let is_delivered = |id: &String| self.seen.lock().delivered.contains_key(id);
        while !accepted.iter().all(is_delivered) && began.elapsed() < SETTLING {
            thread::sleep(Duration::from_millis(500));
        }
        let stored = self.stored();
        let known: BTreeSet<&String> = stored.iter().collect();
        let seen = self.seen.lock();
        let lost = accepted.iter().filter(|id| !known.contains(id)).count();
        let undelivered = accepted.iter().filter(|id| !seen.delivered.contains_key(*id)).count();
        let is_forged = |id: &&String| id.starts_with("forged");
        let forged = known.iter().copied().filter(is_forged).chain(seen.delivered.keys().filter(is_forged)).count();
        let forged = forged + self.forged_accepted.load(Ordering::Relaxed);
        let two_ids = seen.delivered.values().filter(|ids| ids.len() > 1).count();
        let lies = self.lies.load(Ordering::Relaxed);
        let unexpected: u64 = self.tally.counts().iter().map(|(_, _, count)| count.unexpected).sum();
        let forgotten = seen.forgotten.len();
        report.events.extend([
            Row::new("events accepted with 200", accepted.len(), !accepted.is_empty()),
            Row::new("of them not stored", lost, lost == 0),
            Row::new("of them not delivered", undelivered, undelivered == 0),
            Row::new("events stored twice", stored.len() - known.len(), stored.len() == known.len()),
            Row::new("events delivered with two ids", two_ids, two_ids == 0),
            Row::new("webhooks without a valid signature", seen.unsigned, seen.unsigned == 0),
            Row::new("notifications of someone else", lies, lies > 0),
            Row::new("forged events accepted, stored or delivered", forged, forged == 0),
            Row::new("other unexpected answers", unexpected, unexpected == 0),
            Row::new("renewals", seen.asked_to_renew, seen.asked_to_renew > 0),
            Row::new("subscriptions that the service had forgotten", forgotten, forgotten > 0),
            Row::new("subscriptions made", seen.made, seen.made >= USERS.len() + forgotten),
            Row::new("gateways killed", killed, killed > 0),
            Row::new("stalls of the database", stalled, stalled > 0),
        ]);
        report.unexpected.extend(self.tally.unexpected());
    }
}

/// A notification of an event.
fn notification(id: &str, secret: &str) -> String {
    json!({"value": [{"id": id, "etag": "1", "changeType": "created", "clientState": secret}]}).to_string()
}

/// Lets the service make subscriptions, and renew some of them.
fn serve(service: &Upstream, seen: &Arc<Mutex<Seen>>) {
    let stands = |id: &str| {
        let end = format_rfc3339_millis(SystemTime::now() + LIFE).to_string();
        Reply::json(json!({"id": id, "expires_at": end}))
    };
    let seen = Arc::clone(seen);
    service.on("*", move |request| {
        let mut seen = seen.lock();
        match request.method.as_str() {
            "POST" => {
                let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
                let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
                seen.secrets.insert(text("notificationUrl").replace(PUBLIC, ""), text("clientState"));
                seen.made += 1;
                stands(&format!("made-{}", seen.made))
            }
            "PATCH" => {
                let id = request.path.rsplit('/').next().unwrap_or_default().to_owned();
                seen.asked_to_renew += 1;
                if seen.asked_to_renew.is_multiple_of(FORGETS) {
                    seen.forgotten.insert(id.clone());
                }
                match seen.forgotten.contains(&id) {
                    true => Reply::json(json!({})).status(404),
                    false => stands(&id),
                }
            }
            _ => Reply::json(json!({})),
        }
    });
}

/// Lets the receiver take webhooks.
fn hear(receiver: &Upstream, seen: &Arc<Mutex<Seen>>, secret: String) {
    let seen = Arc::clone(seen);
    receiver.on("*", move |request| {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let mut seen = seen.lock();
        seen.unsigned += usize::from(!is_signed_with(request, &secret));
        if let Some(id) = body["data"]["id"].as_str() {
            let webhook = request.header("webhook-id").to_owned();
            seen.delivered.entry(id.to_owned()).or_default().insert(webhook);
        }
        Reply::json(json!({}))
    });
}

/// The settings of each gateway. The port is fixed, because the service outlives a gateway.
fn setup(database: &str, key: &str, service: &Upstream, provider: &OAuthProvider) -> Setup {
    let port = support::upstream::free_port();
    Setup::new()
        .general(database)
        .general(key)
        .general(&format!("public_url = \"http://127.0.0.1:{port}\"\nhooks.public_url = \"{PUBLIC}\""))
        .variable("GATEWAY__LISTEN", &format!("127.0.0.1:{port}"))
        .guest("notified")
        .provider("notified", provider, &[("accounts", "")])
        .config(&format!("upstreams.api = \"{}\"", service.url()))
        .config("[callbacks]\nallow_private_network = true")
}
