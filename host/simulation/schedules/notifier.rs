//! A service that notifies gateways of what happens in its channels, and is read with a cursor. It
//! keeps events for a while only, forgets subscriptions, and sends notifications again until one is
//! accepted. Someone else sends forged ones.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use hyper::Method;
use hyper::header::{HeaderMap, HeaderValue};
use parking_lot::Mutex;
use ring::hmac;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};

use super::world::{Process, World};
use clock::SimulatedClock;
use clock::random::Random;
use clock::timestamp::Timestamp;
use triggers::simulated::{ECHO, KIND, READ, SIGNATURE, address_of, secret_of};

/// The life of a subscription.
pub(crate) const LIFE: Duration = Duration::from_secs(600);

/// Events of one page.
const PAGE: u64 = 3;

/// How often a notification is sent.
const ATTEMPTS: u32 = 8;

/// Longest wait for an answer of a gateway.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// The number of the first event that never happened.
pub(crate) const FORGED: u64 = 1_000_000;

/// The requests of a service in a second, to make or renew one subscription, that are too many.
const TOO_MANY: f64 = 0.1;

/// A request to a gateway.
pub(crate) struct Push {
    pub(crate) method: Method,
    pub(crate) address: String,
    pub(crate) query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

/// A request to a gateway, and the place of its answer: a status and a text.
pub(crate) type Delivery = (Push, oneshot::Sender<(u16, String)>);

/// The events of one type that one tenant's account sees, and the subscription there.
#[derive(Default)]
pub(crate) struct Channel {
    pub(crate) tenant: String,
    pub(crate) kind: &'static str,
    /// The number of events so far. They have the numbers from 1 on.
    pub(crate) happened: u64,
    /// The service has forgotten the events up to this number.
    forgotten: u64,
    /// Events that a reader has received a gap for.
    pub(crate) told_gone: BTreeSet<u64>,
    /// Events whose notification was accepted.
    pub(crate) accepted: BTreeSet<u64>,
    /// The ends of what stands there, by their ids.
    standing: BTreeMap<String, Duration>,
    /// The service does not notify of this channel.
    pub(crate) refuses: bool,
    /// Requests to make or renew a subscription.
    asked: u64,
}

pub(crate) struct Notifier {
    world: Arc<World>,
    /// How many of 1000 answers are late, so that another gateway may take the lease meanwhile.
    late: u64,
    random: Mutex<Random>,
    /// The present processes.
    pub(crate) gateways: Mutex<Vec<Option<mpsc::UnboundedSender<Delivery>>>>,
    /// By the subscription of the gateways that is about it.
    channels: Mutex<BTreeMap<String, Channel>>,
}

impl Notifier {
    pub(crate) fn new(world: &Arc<World>, count: usize, mut random: Random) -> Arc<Self> {
        Arc::new(Self {
            world: Arc::clone(world),
            late: if random.permille(400) { 600 } else { 50 },
            random: Mutex::new(random),
            gateways: Mutex::new(vec![None; count]),
            channels: Mutex::default(),
        })
    }

    pub(crate) fn open(&self, subscription: &str, tenant: &str, kind: &'static str, refuses: bool) {
        let channel = Channel { tenant: tenant.to_owned(), kind, refuses, ..Channel::default() };
        self.channels.lock().insert(subscription.to_owned(), channel);
    }

    pub(crate) fn look<T>(&self, subscription: &str, look: impl FnOnce(&mut Channel) -> T) -> T {
        look(self.channels.lock().get_mut(subscription).unwrap())
    }

    fn draw<T>(&self, draw: impl FnOnce(&mut Random) -> T) -> T {
        draw(&mut self.random.lock())
    }

    /// The service answers all requests quickly, and forgets nothing.
    fn is_kind(&self) -> bool {
        self.world.now() >= self.world.weather.calm_from
    }

    /// Answers a request of a gateway. `None` if the answer is lost.
    pub(crate) async fn answer(&self, process: &Process, form: &Value) -> Option<(u16, String)> {
        let (arrival, is_lost, status, time) = process.draw(|random| {
            let longest = if random.permille(self.late) { 28_000 } else { 1_500 };
            let status = [503, 429][random.within(0..2) as usize];
            let refused = random.permille(40).then_some(status);
            (random.ms(1..300), random.permille(20), refused, random.ms(1..longest))
        });
        sleep(arrival).await;
        if !self.is_kind() {
            if is_lost {
                return None;
            }
            if let Some(status) = status {
                return Some((status, String::new()));
            }
        }
        let subscription = form["subscription"].as_str().unwrap();
        let tenant = self.look(subscription, |channel| channel.tenant.clone());
        if form["tenant"] != *tenant {
            self.world.violated(format_args!("{} asks for {form}, whose tenant is {tenant}", process.name()));
        }
        let operation = form["operation"].as_str().unwrap();
        let answer = if operation == "read" {
            self.look(subscription, |channel| channel.read(&form["input"]))
        } else if operation == "subscribe" && !self.shakes_hands(subscription).await {
            (503, String::new())
        } else {
            self.stand(subscription, operation, &form["input"]["upstream_id"])
        };
        self.world.log(format_args!("{} {operation}s {subscription}: {answer:?}", process.name()));
        sleep(if self.is_kind() { time.min(Duration::from_secs(1)) } else { time }).await;
        Some(answer)
    }

    /// Begins, renews or ends what stands at the service.
    fn stand(&self, subscription: &str, operation: &str, upstream_id: &Value) -> (u16, String) {
        let now = self.world.now();
        self.look(subscription, |channel| {
            let id = upstream_id.as_str().map_or_else(|| format!("standing-{}", channel.asked), str::to_owned);
            if operation == "unsubscribe" {
                let status = if channel.standing.remove(&id).is_some() { 200 } else { 404 };
                return (status, "{}".to_owned());
            }
            channel.asked += 1;
            if channel.refuses {
                return (403, String::new());
            }
            if operation == "renew" && channel.standing.get(&id).is_none_or(|end| *end <= now) {
                return (404, String::new());
            }
            channel.standing.insert(id.clone(), now + LIFE);
            let clock = SimulatedClock::new(self.world.began, 0, 0);
            let end = UNIX_EPOCH + Duration::from_millis(clock.now_ms().unsigned_abs()) + LIFE;
            (200, json!({"upstream_id": id, "expires_at": Timestamp::from(end).to_string()}).to_string())
        })
    }

    /// Returns `true` if a gateway proves that the address is its own.
    async fn shakes_hands(&self, subscription: &str) -> bool {
        let query = format!("{ECHO}=hello");
        let (method, headers) = (Method::GET, HeaderMap::new());
        let push = Push { method, address: address_of(subscription), query, headers, body: String::new() };
        self.deliver(push).await == Some((200, "hello".to_owned()))
    }

    /// Sends a request to one of the gateways. `None` if it has no answer.
    async fn deliver(&self, push: Push) -> Option<(u16, String)> {
        let gateway = {
            let gateways = self.gateways.lock();
            let at = self.draw(|random| random.within(0..16)) as usize % gateways.len();
            gateways[at].clone()?
        };
        let (answer, answered) = oneshot::channel();
        gateway.send((push, answer)).ok()?;
        timeout(LONGEST_WAIT, answered).await.ok()?.ok()
    }

    /// Sends a notification once. Returns the status, unless the answer is lost.
    async fn notify(&self, subscription: &str, secret: &str, body: &str) -> Option<u16> {
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), body.as_bytes());
        let hex: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        let (name, prefix) = SIGNATURE;
        let value = HeaderValue::from_str(&format!("{prefix}{hex}")).unwrap();
        let kind = HeaderValue::from_static(self.look(subscription, |channel| channel.kind));
        let (latency, is_lost) = self.draw(|random| (random.ms(1..200), random.permille(100)));
        sleep(latency).await;
        let push = Push {
            method: Method::POST,
            address: address_of(subscription),
            query: String::new(),
            headers: [(name, value), (KIND, kind)]
                .map(|(name, value)| (name.parse().unwrap(), value))
                .into_iter()
                .collect(),
            body: body.to_owned(),
        };
        let (status, _) = self.deliver(push).await?;
        (!is_lost).then_some(status)
    }

    /// Sends the notification of an event until it is accepted.
    async fn push(self: Arc<Self>, subscription: String, number: u64) {
        let body = self.look(&subscription, |channel| channel.data(number).to_string());
        for attempt in 0..ATTEMPTS {
            let status = self.notify(&subscription, &secret_of(&subscription), &body).await;
            self.world.log(format_args!("event {number} of {subscription} gets {status:?}"));
            match status {
                Some(200) => {
                    self.look(&subscription, |channel| channel.accepted.insert(number));
                    return;
                }
                Some(401 | 404) => {
                    self.world.violated(format_args!("event {number} of {subscription} is refused"));
                    return;
                }
                _ => sleep(Duration::from_secs(1 << attempt)).await,
            }
        }
    }

    /// Lets something happen in a channel.
    pub(crate) fn happen(self: &Arc<Self>, subscription: &str) {
        let now = self.world.now();
        let (number, is_told) = self.look(subscription, |channel| {
            channel.happened += 1;
            (channel.happened, channel.standing.values().any(|end| *end > now))
        });
        self.world.log(format_args!("event {number} of {subscription} happens"));
        if is_told {
            tokio::spawn(Arc::clone(self).push(subscription.to_owned(), number));
        }
    }

    /// Lets things happen in all channels until the end of the faults, and a bit longer.
    pub(crate) async fn live(self: Arc<Self>) {
        let names: Vec<String> = self.channels.lock().keys().cloned().collect();
        while self.world.now() < self.world.weather.calm_from + Duration::from_secs(30) {
            let (pause, which, what) =
                self.draw(|random| (random.ms(100..6_000), random.within(0..12) as usize, random.within(0..100)));
            let at = self.draw(|random| self.world.next_event(random, pause));
            self.world.wait_until(at).await;
            let subscription = &names[which % names.len()];
            match what {
                _ if self.is_kind() => self.happen(subscription),
                0..70 => (0..1 + what / 30).for_each(|_| self.happen(subscription)),
                70..76 => self.look(subscription, |channel| {
                    channel.forgotten = channel.forgotten.max(channel.happened.saturating_sub(what - 70));
                }),
                76..82 => {
                    self.world.log(format_args!("the service forgets {subscription}"));
                    self.look(subscription, |channel| channel.standing.clear());
                }
                _ => self.lie(&names, subscription, what).await,
            }
        }
    }

    /// Sends a notification that no gateway may take for an event of the service.
    async fn lie(&self, names: &[String], subscription: &str, what: u64) {
        let (secret, body) = self.look(subscription, |channel| {
            let forged = channel.data(FORGED + what).to_string();
            match what % 4 {
                0 => ("a guess".to_owned(), forged),
                // A tenant has the secret of its own subscription.
                1 => (names.iter().find(|other| *other != subscription).map(|other| secret_of(other)).unwrap(), forged),
                // It was signed before.
                2 => (secret_of(subscription), channel.data(channel.happened.max(1)).to_string()),
                _ => (secret_of(subscription), "{".to_owned()),
            }
        });
        let status = self.notify(subscription, &secret, &body).await;
        self.world.log(format_args!("{body} of someone else to {subscription} gets {status:?}"));
        if secret != secret_of(subscription) && status == Some(200) {
            self.world.violated(format_args!("a forged notification to {subscription} is accepted"));
        }
    }

    /// Checks, when nothing has been wrong for a while, that subscriptions stand at the service, and
    /// that it was not asked too often.
    pub(crate) fn check(&self) {
        let now = self.world.now();
        for (subscription, channel) in &*self.channels.lock() {
            if !channel.refuses && !channel.standing.values().any(|end| *end > now) {
                self.world.violated(format_args!("{subscription} has ended at the service"));
            }
            if channel.asked as f64 > 20.0 + now.as_secs_f64() * TOO_MANY {
                self.world.violated(format_args!(
                    "the service was asked {} times to notify of {subscription}",
                    channel.asked
                ));
            }
        }
    }
}

impl Channel {
    /// The data of an event.
    fn data(&self, number: u64) -> Value {
        json!({"number": number, "tenant": self.tenant, "kind": self.kind})
    }

    /// A page of events after a cursor.
    fn read(&mut self, input: &Value) -> (u16, String) {
        assert_eq!(self.kind, READ);
        let Some(cursor) = input["cursor"].as_u64() else {
            return (200, json!({"events": [], "cursor": self.happened}).to_string());
        };
        let from = cursor.max(self.forgotten);
        let until = self.happened.min(from + PAGE).max(from);
        self.told_gone.extend(cursor + 1..=from);
        let event = |number: u64| json!({"id": number.to_string(), "kind": "", "data": self.data(number)});
        let events: Vec<Value> = (from + 1..=until).map(event).collect();
        let (more, gap) = (until < self.happened, cursor < from);
        (200, json!({"events": events, "cursor": until, "more": more, "gap": gap}).to_string())
    }
}
