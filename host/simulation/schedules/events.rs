//! Triggers, whose subscriptions several gateways renew and read, and the webhooks about their
//! events.
//!
//! Invariants, whatever happens: no event is stored twice for a trigger; a cursor never goes back,
//! so one gateway at a time writes what it has read; an event whose notification was accepted is
//! stored; an event that was read and is not stored was told as a gap; no forged event is stored,
//! and none of another tenant; each event is delivered under its own id. When nothing is wrong,
//! each subscription is renewed before its end.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use super::network::{Network, receive};
use super::notifier::{Delivery, FORGED, Notifier};
use super::world::{NoFaults, Process, Way, World};
use super::{SHARED, gateways};
use calls::CallLog;
use clock::SimulatedClock;
use clock::random::Random;
use config::Config;
use integrations::Integrations;
use pipeline::budgets::Budgets;
use registry::Registry;
use store::Store;
use store::vault::Vault;
use triggers::simulated::{CARRIED, CONNECTOR, NewSimulated, READ, connector};
use triggers::{EventsQuery, Of, Parts, Triggers};
use webhooks::{Events, Webhooks};

/// Time from the end of the last fault to the last event.
const LAST_EVENT: Duration = Duration::from_secs(60);

/// Time from the end of the last fault after which each subscription was renewed. A step that is
/// cut off leaves its lease behind, and another one follows after it.
const RENEWED: Duration = Duration::from_secs(550);

/// Time from the end of the last fault in which all events are stored and delivered.
const SETTLE: Duration = Duration::from_secs(750);

/// Longest wait of a caller that makes a trigger.
const CALL: Duration = Duration::from_secs(30);

/// Gateways whose registry has the connector of the simulated service.
static REGISTRY: LazyLock<Arc<Registry>> = LazyLock::new(|| {
    let (manifest, additions) = connector();
    let module = connector_file::component(&manifest, &additions).unwrap();
    // The runtime of the schedule has a separate clock.
    let adding = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(SHARED.registry.add_simulated(&module)).unwrap();
    });
    adding.join().unwrap();
    Arc::clone(&SHARED.registry)
});

/// One trigger, as the schedule knows it.
struct Known {
    new: NewSimulated,
    /// The fence of its subscription when it was there.
    fence: i64,
    /// Events after this one are its events.
    since: Option<u64>,
}

/// The way to a gateway for callers that make triggers.
type Makes = mpsc::UnboundedSender<NewSimulated>;

pub(super) struct Site {
    world: Arc<World>,
    pub(super) notifier: Arc<Notifier>,
    folder: Box<Path>,
    triggers: Mutex<BTreeMap<String, Known>>,
    /// The triggers and the ids of events that receivers got.
    received: Mutex<BTreeSet<(String, String)>>,
    makers: Mutex<Vec<Option<Makes>>>,
    /// Webhooks that the receiver has refused once.
    refused: Mutex<BTreeSet<String>>,
}

pub(super) async fn run(world: &Arc<World>, count: usize, random: &mut Random) {
    LazyLock::force(&REGISTRY);
    let folder = super::folder();
    let clock = SimulatedClock::new(world.began, 0, 0);
    clock.scope(run_in(world, count, random, folder.path())).await;
}

async fn run_in(world: &Arc<World>, count: usize, random: &mut Random, folder: &Path) {
    let site = Arc::new(Site {
        world: Arc::clone(world),
        notifier: Notifier::new(world, count, random.fork()),
        folder: folder.into(),
        triggers: Mutex::default(),
        received: Mutex::default(),
        makers: Mutex::new(vec![None; count]),
        refused: Mutex::default(),
    });
    let oracle = Process::new(world, 0, 1_000, random.fork());
    let store = world.database.store(Arc::new(NoFaults));
    let (oracle, webhooks) = site.start(&oracle, &store).await.unwrap();
    for tenant in ["acme", "other"] {
        webhooks.create_secret(tenant).await.unwrap();
        for kind in [READ, CARRIED] {
            let refuses = kind == READ && random.permille(200);
            site.notifier.open(&format!("sub_{tenant}_{kind}"), tenant, kind, refuses);
        }
    }
    for gateway in 0..count {
        let (serving, killed) = (Arc::clone(&site), Arc::clone(&site));
        let serve = move |process, _| Arc::clone(&serving).serve(process);
        let forget = move |process: Arc<Process>| {
            killed.notifier.gateways.lock()[process.gateway] = None;
            killed.makers.lock()[process.gateway] = None;
            std::future::ready(())
        };
        tokio::spawn(gateways::run(Arc::clone(world), gateway, random.fork(), serve, forget));
    }
    tokio::spawn(super::world::turn_clocks(Arc::clone(world)));
    for new in news() {
        tokio::spawn(clock::inherit(Arc::clone(&site).make(new, random.fork())));
    }
    tokio::spawn(Arc::clone(&site.notifier).live());
    tokio::spawn(clock::inherit(Arc::clone(&site).watch(Arc::clone(&oracle))));
    let calm = world.weather.calm_from;
    world.wait_until(calm + LAST_EVENT).await;
    let subscriptions: BTreeSet<String> = news().into_iter().map(|new| new.subscription).collect();
    subscriptions.iter().for_each(|subscription| site.notifier.happen(subscription));
    world.wait_until(calm + RENEWED).await;
    while world.now() < calm + SETTLE {
        site.notifier.check();
        sleep(Duration::from_secs(5)).await;
    }
    site.check_at_end(&oracle).await;
}

/// The triggers of a schedule: two that share a subscription, and one of each other subscription.
fn news() -> Vec<NewSimulated> {
    let new = |number: u32, tenant: &str, kind: &'static str| NewSimulated {
        id: format!("trg_{number}_{tenant}_{kind}"),
        subscription: format!("sub_{tenant}_{kind}"),
        tenant: tenant.to_owned(),
        kind,
        channel: "general".to_owned(),
        url: format!("https://receiver.example/?trg_{number}_{tenant}_{kind}"),
    };
    vec![
        new(0, "acme", READ),
        new(1, "acme", READ),
        new(0, "acme", CARRIED),
        new(0, "other", READ),
        new(0, "other", CARRIED),
    ]
}

impl Site {
    async fn serve(self: Arc<Self>, process: Arc<Process>) {
        let store = self.world.database.store(Arc::new(Way(Arc::clone(&process))));
        let (triggers, webhooks) = loop {
            if let Some(started) = self.start(&process, &store).await {
                break started;
            }
            sleep(Duration::from_millis(700)).await;
        };
        self.world.log(format_args!("{} serves", process.name()));
        let (sender, mut notifications) = mpsc::unbounded_channel::<Delivery>();
        self.notifier.gateways.lock()[process.gateway] = Some(sender);
        let (sender, mut wishes) = mpsc::unbounded_channel();
        self.makers.lock()[process.gateway] = Some(sender);
        let receiving = async {
            while let Some((push, answer)) = notifications.recv().await {
                let (triggers, process) = (Arc::clone(&triggers), Arc::clone(&process));
                tokio::spawn(clock::inherit(async move {
                    process.live().await;
                    let answered = receive(&triggers, &push).await;
                    process.live().await;
                    let _ = answer.send(answered);
                }));
            }
        };
        let making = async {
            while let Some(new) = wishes.recv().await {
                let id = new.id.clone();
                let made = triggers.add_simulated(new, Instant::now() + CALL).await;
                self.world.log(format_args!("{} makes {id}: {}", process.name(), made.is_ok()));
            }
        };
        tokio::join!(Arc::clone(&triggers).work(), webhooks.send(), receiving, making);
    }

    async fn start(self: &Arc<Self>, process: &Arc<Process>, store: &Store) -> Option<(Arc<Triggers>, Webhooks)> {
        let vault = Vault::open(&self.folder.join("master.key"), store).await.ok()?;
        let network = Network { site: Arc::clone(self), process: Arc::clone(process) };
        let egress = SHARED.egress.clone().with_transport(Arc::new(network));
        let (registry, metrics) = (Arc::clone(&REGISTRY), Arc::clone(&SHARED.metrics));
        let config = Arc::new(Config {
            data_dir: self.folder.to_path_buf(),
            public_url: "https://gateway.example".parse().unwrap(),
            ..Config::default()
        });
        let webhooks =
            Webhooks::new(Arc::clone(&config), store.clone(), egress.clone(), vault.clone(), Arc::clone(&metrics));
        let integrations = Arc::new(Integrations::new(
            Arc::clone(&config),
            store.clone(),
            egress.clone(),
            vault.clone(),
            Arc::clone(&registry),
            Arc::clone(&metrics),
            Events::default(),
        ));
        let parts = Parts {
            gateway: Arc::from("simulated"),
            config,
            calls: CallLog::default(),
            store: store.clone(),
            vault,
            egress,
            registry,
            budgets: Budgets::default(),
            integrations,
            webhooks: webhooks.clone(),
            metrics,
        };
        Some((Arc::new(Triggers::new(parts)), webhooks))
    }

    /// A caller makes a trigger, at one gateway after the other until it is there.
    async fn make(self: Arc<Self>, new: NewSimulated, mut random: Random) {
        let pause = random.ms(10..20_000);
        self.world.wait_until(self.world.next_event(&mut random, pause)).await;
        let there = format!(
            "SELECT fence FROM triggers JOIN subscriptions ON subscriptions.id = subscription WHERE triggers.id = '{}'",
            new.id
        );
        let fence = loop {
            let gateway = {
                let makers = self.makers.lock();
                makers[random.within(0..16) as usize % makers.len()].clone()
            };
            if gateway.is_some_and(|gateway| gateway.send(new.clone()).is_ok()) {
                sleep(random.ms(2_000..8_000)).await;
            }
            let found = self.world.database.look(&there).unwrap();
            if let Some(fence) = found.into_iter().flatten().flatten().next() {
                break fence.parse().unwrap();
            }
            sleep(Duration::from_secs(1)).await;
        };
        let id = new.id.clone();
        let known = Known { new, fence, since: None };
        self.triggers.lock().insert(id, known);
    }

    /// Watches the cursors of subscriptions, which no other gateway sets back.
    async fn watch(self: Arc<Self>, oracle: Arc<Triggers>) {
        let mut last: BTreeMap<String, u64> = BTreeMap::new();
        loop {
            sleep(Duration::from_millis(500)).await;
            for new in news().into_iter().filter(|new| new.kind == READ) {
                let subscription = &new.subscription;
                let Ok(Some((fence, cursor))) = oracle.simulated_cursor(subscription).await else { continue };
                let Some(cursor) = cursor.as_u64() else { continue };
                let before = last.insert(subscription.clone(), cursor).unwrap_or_default();
                if cursor < before {
                    self.world.violated(format_args!("the cursor of {subscription} goes from {before} to {cursor}"));
                }
                let happened = self.notifier.look(subscription, |channel| channel.happened);
                // A trigger that joins another one waits for the end of a read, and is pending until then.
                let joins = news().into_iter().filter(|other| other.subscription == *subscription).count() > 1;
                let state = format!("SELECT state FROM triggers WHERE id = '{}'", new.id);
                let state = self.world.database.look(&state).unwrap().into_iter().flatten().flatten().next();
                let has_begun = !joins || state.is_some_and(|state| state != "pending");
                if let Some(known) = self.triggers.lock().get_mut(&new.id) {
                    // A step that began when the trigger was there reads for it.
                    let is_read = fence > known.fence && has_begun;
                    known.since = known.since.or(is_read.then_some(happened));
                }
            }
        }
    }

    /// The receiver gets a webhook. Returns `false` if it refuses it, which it does once.
    pub(super) fn hear(&self, process: &Process, trigger: &str, body: &Value, webhook_id: &str, refuses: bool) -> bool {
        let id = body["event"]["id"].as_str().unwrap_or_default();
        if id != webhook_id || body["event"]["trigger_id"] != *trigger {
            self.world.violated(format_args!("{} tells {trigger} of {body} as {webhook_id}", process.name()));
        }
        if refuses && self.refused.lock().insert(id.to_owned()) {
            return false;
        }
        self.received.lock().insert((trigger.to_owned(), id.to_owned()));
        true
    }

    async fn check_at_end(&self, oracle: &Triggers) {
        let made: Vec<(NewSimulated, Option<u64>)> =
            self.triggers.lock().values().map(|known| (known.new.clone(), known.since)).collect();
        if made.len() < news().len() {
            self.world.violated(format_args!("only {} triggers are there", made.len()));
        }
        for (new, since) in made {
            let mut stored: BTreeSet<u64> = BTreeSet::new();
            let (mut gaps, mut sequence, mut cursor) = (0, 0, None);
            loop {
                let query = EventsQuery { limit: 200, cursor: cursor.take(), wait: Duration::ZERO };
                let page = oracle.events(Of::Operator, &new.id, query).await.unwrap().unwrap();
                for event in &page.events {
                    let event: Value = serde_json::from_str(event.get()).unwrap();
                    sequence += 1;
                    self.check_event(&new, &event, sequence, &mut stored);
                    gaps += u32::from(event["type"] == "trigger.gap");
                    let id = event["event"]["id"].as_str().unwrap().to_owned();
                    if !self.received.lock().contains(&(new.id.clone(), id)) {
                        self.world.violated(format_args!("{} is not delivered: {event}", new.id));
                    }
                }
                if page.events.is_empty() {
                    break;
                }
                cursor = Some(page.next_cursor);
            }
            self.world.log(format_args!("{}: since {since:?}, {gaps} gaps, {stored:?}", new.id));
            self.notifier.look(&new.subscription, |channel| {
                let missing: Vec<u64> = match new.kind {
                    CARRIED => channel.accepted.difference(&stored).copied().collect(),
                    _ => (since.unwrap_or(channel.happened) + 1..=channel.happened)
                        .filter(|number| !stored.contains(number))
                        .collect(),
                };
                let untold: Vec<&u64> = missing.iter().filter(|number| !channel.told_gone.contains(number)).collect();
                if !untold.is_empty() || (!missing.is_empty() && gaps == 0) {
                    self.world.violated(format_args!("{} lacks the events {untold:?} of {missing:?}", new.id));
                }
                if new.kind == READ && since.is_none() {
                    self.world.violated(format_args!("{} was never read", new.id));
                }
            });
        }
    }

    fn check_event(&self, new: &NewSimulated, event: &Value, sequence: u64, stored: &mut BTreeSet<u64>) {
        if event["event"]["sequence"] != sequence || event["event"]["trigger_id"] != *new.id {
            self.world.violated(format_args!("{} has as its event {sequence} {event}", new.id));
        }
        if event["type"] != format!("{CONNECTOR}.{}", new.kind) {
            return;
        }
        let number = event["data"]["number"].as_u64().unwrap();
        if number >= FORGED || event["data"]["tenant"] != *new.tenant || event["data"]["kind"] != *new.kind {
            self.world.violated(format_args!("{} has an event that is not its own: {event}", new.id));
        }
        if !stored.insert(number) {
            self.world.violated(format_args!("{} has event {number} twice", new.id));
        }
    }
}
