//! Jobs that several gateways run, and the webhooks that announce their ends.
//!
//! Invariants: a job that changes data runs once. Each job ends once, and says the truth: it has
//! failed only if the gateway that ran it was killed. Each end is announced under one id, with the
//! state that the job has.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout_at};

use super::provider::{lost, respond};
use super::world::{NoFaults, Process, Way, World};
use super::{SHARED, config, gateways};
use calls::CallLog;
use clock::SimulatedClock;
use clock::random::Random;
use egress::{Body, Egress, EgressError, Request, Response, Target, Transport, Upstream};
use integrations::Integrations;
use jobs::{Jobs, Parts};
use pipeline::budgets::Budgets;
use store::vault::Vault;
use store::{NewDelivery, Store};
use telemetry::Telemetry;
use webhooks::{Events, Webhooks};

/// Time from the end of the last fault in which all jobs end and all webhooks are sent.
const SETTLE: Duration = Duration::from_secs(240);

/// The URL that is notified of the end of each job.
const RECEIVER: &str = "https://receiver.example/";

/// One job, as its upstream and its receiver see it.
#[derive(Default)]
struct Seen {
    changes_data: bool,
    /// The process of each run.
    runs: Vec<Arc<Process>>,
    /// The processes that run it now.
    running: Vec<Arc<Process>>,
    /// The receiver has refused its webhook once.
    was_refused: bool,
    /// The states that the receiver was told.
    told: Vec<String>,
}

struct Site {
    world: Arc<World>,
    jobs: Mutex<BTreeMap<String, Seen>>,
}

pub(super) async fn run(world: &Arc<World>, count: usize, random: &mut Random) {
    let folder = super::folder();
    let clock = SimulatedClock::new(world.began, 0, 0);
    clock.scope(run_in(world, count, random, folder.path())).await;
}

async fn run_in(world: &Arc<World>, count: usize, random: &mut Random, folder: &Path) {
    let folder: Arc<Path> = folder.into();
    let store = world.database.store(Arc::new(NoFaults));
    let vault = Vault::open(&folder.join("master.key"), &store).await.unwrap();
    let (egress, metrics) = (SHARED.egress.clone(), Arc::clone(&SHARED.metrics));
    let webhooks = Webhooks::new(config(&folder), store, egress, vault, metrics);
    webhooks.create_secret("acme").await.unwrap();
    let site = Arc::new(Site { world: Arc::clone(world), jobs: Mutex::default() });
    for gateway in 0..count {
        let (site, folder) = (Arc::clone(&site), Arc::clone(&folder));
        let serve = move |process, random| Arc::clone(&site).serve(process, Arc::clone(&folder), random);
        tokio::spawn(gateways::run(Arc::clone(world), gateway, random.fork(), serve, |_| std::future::ready(())));
    }
    tokio::spawn(super::world::turn_clocks(Arc::clone(world)));
    let end = world.weather.calm_from + SETTLE;
    world.wait_until(world.weather.calm_from + SETTLE / 4).await;
    while world.now() < end && !site.has_ended() {
        sleep(Duration::from_secs(5)).await;
    }
    site.check_at_end();
}

impl Site {
    async fn serve(self: Arc<Self>, process: Arc<Process>, folder: Arc<Path>, mut random: Random) {
        let store = self.world.database.store(Arc::new(Way(Arc::clone(&process))));
        let jobs = loop {
            if let Some(jobs) = self.start(&process, &store, &folder).await {
                break Arc::new(jobs);
            }
            sleep(Duration::from_millis(700)).await;
        };
        self.world.log(format_args!("{} serves", process.name()));
        let adding = async {
            for number in 0..random.within(2..6) {
                let pause = random.ms(10..15_000);
                let at = self.world.next_event(&mut random, pause);
                // Just before a fault begins, so that the job runs in it.
                self.world.wait_until(at.saturating_sub(random.ms(0..3_000))).await;
                if self.world.now() > self.world.weather.calm_from {
                    return;
                }
                // Made here, because an ordinary id has the time of the machine.
                let id = format!("job_{:08}{}{}{number}", self.world.now().as_millis(), process.gateway, process.life);
                let changes_data = random.permille(600);
                self.jobs.lock().insert(id.clone(), Seen { changes_data, ..Seen::default() });
                let added = jobs.add_simulated(&id, changes_data, RECEIVER).await.is_ok();
                self.world.log(format_args!("{} adds {id}: {added}, changes data {changes_data}", process.name()));
            }
        };
        tokio::join!(Arc::clone(&jobs).work(), Arc::clone(&jobs).maintain(), jobs.send_webhooks(), adding);
    }

    async fn start(self: &Arc<Self>, process: &Arc<Process>, store: &Store, folder: &Path) -> Option<Jobs> {
        let vault = Vault::open(&folder.join("master.key"), store).await.ok()?;
        let way = ToUpstream { site: Arc::clone(self), process: Arc::clone(process) };
        let egress = SHARED.egress.clone().with_transport(Arc::new(way));
        let (registry, metrics) = (Arc::clone(&SHARED.registry), Arc::clone(&SHARED.metrics));
        let config = config(folder);
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
        let telemetry = Telemetry::default();
        let store = store.clone();
        let config = config.jobs.clone();
        let (gateway, calls) = (Arc::from("simulated"), CallLog::default());
        Some(Jobs::new(Parts {
            gateway,
            calls,
            config,
            store,
            vault,
            egress,
            registry,
            budgets: Budgets::default(),
            integrations,
            webhooks,
            metrics,
            telemetry,
        }))
    }

    /// The upstream runs a job. `job` is its id.
    fn run_job(&self, process: &Arc<Process>, job: &str) -> String {
        let mut jobs = self.jobs.lock();
        let Some(seen) = jobs.get_mut(job) else { return "null".to_owned() };
        let others = seen.running.iter().filter(|other| !other.is_dead() && !Arc::ptr_eq(other, process));
        if let Some(other) = others.map(|other| other.name()).next() {
            self.world.violated(format_args!("{} runs {job} while {other} runs it", process.name()));
        }
        seen.runs.push(Arc::clone(process));
        seen.running.push(Arc::clone(process));
        let runs = seen.runs.len();
        self.world.log(format_args!("{} runs {job}, run {runs}", process.name()));
        if runs > 1 && seen.changes_data {
            self.world.violated(format_args!("{job} changes data, and runs {runs} times"));
        }
        format!(r#""{job}, run {runs}""#)
    }

    /// The receiver gets a webhook. Returns `false` if it refuses it, which it does once: the next
    /// attempts are too far apart.
    fn receive(&self, process: &Process, body: &[u8], webhook_id: &str, refuses: bool) -> bool {
        let body: Value = serde_json::from_slice(body).unwrap();
        let (job, status) = (body["job_id"].as_str().unwrap(), body["status"].as_str().unwrap());
        self.world.log(format_args!("{} tells that {job} has {status}", process.name()));
        if webhook_id != NewDelivery::id_of(job, RECEIVER) {
            self.world.violated(format_args!("{job} is told under the id {webhook_id}"));
        }
        if let Some(seen) = self.jobs.lock().get_mut(job) {
            if refuses && !std::mem::replace(&mut seen.was_refused, true) {
                return false;
            }
            seen.was_refused = true;
            seen.told.push(status.to_owned());
        }
        true
    }

    /// Returns whether all jobs have ended, and all webhooks were sent.
    fn has_ended(&self) -> bool {
        let waiting = "SELECT 1 FROM jobs WHERE status IN ('pending', 'running')
             UNION ALL SELECT 1 FROM webhook_deliveries WHERE status = 'pending'";
        self.world.database.look(waiting).unwrap().is_empty()
    }

    fn check_at_end(&self) {
        let rows = self.world.database.look("SELECT id, status FROM jobs ORDER BY id").unwrap();
        // The result of a job is kept for a day, whatever the clocks of gateways show.
        let is_kept = |id: &String| rows.iter().any(|row| row[0].as_ref() == Some(id));
        let ran = |(_, seen): &(&String, &Seen)| !seen.runs.is_empty();
        let jobs = self.jobs.lock();
        if let Some((id, _)) = jobs.iter().filter(ran).find(|(id, _)| !is_kept(id))
            && !self.world.may_have_forgotten()
        {
            self.world.violated(format_args!("{id} has run, and is gone"));
        }
        drop(jobs);
        for row in rows {
            let [Some(id), Some(status)] = &row[..] else { continue };
            let jobs = self.jobs.lock();
            let Some(seen) = jobs.get(id) else { continue };
            self.world.log(format_args!("{id}: {status}, {} runs, told {:?}", seen.runs.len(), seen.told));
            let was_killed =
                seen.runs.iter().any(|process| process.is_dead() || self.world.was_cut_off(process.gateway));
            match &**status {
                "succeeded" if seen.runs.is_empty() => {
                    self.world.violated(format_args!("{id} has succeeded, and never ran"));
                }
                "succeeded" => {}
                // A gateway may be killed, or lose the answer, between the taking of the job and
                // its request.
                "failed" if was_killed || (seen.changes_data && seen.runs.is_empty()) => {}
                status => self.world.violated(format_args!("{id} is {status}, and its gateway lives")),
            }
            if seen.told.is_empty() || seen.told.iter().any(|told| told != status) {
                self.world.violated(format_args!("{id} is {status}, and its receiver was told {:?}", seen.told));
            }
        }
    }
}

/// The way of a process to the upstream and to the receiver.
struct ToUpstream {
    site: Arc<Site>,
    process: Arc<Process>,
}

/// Ends the run of a job at the upstream, when the gateway has the answer or no longer waits for
/// it.
struct Running<'a> {
    way: &'a ToUpstream,
    job: String,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if let Some(seen) = self.way.site.jobs.lock().get_mut(&self.job) {
            seen.running.retain(|process| !Arc::ptr_eq(process, &self.way.process));
        }
    }
}

impl ToUpstream {
    async fn answer(
        site: Arc<Site>,
        process: Arc<Process>,
        job: Option<String>,
        body: Vec<u8>,
        webhook_id: String,
        answered: oneshot::Sender<(u16, String)>,
    ) {
        let (arrival, is_lost, is_refused, time) = process.draw(|random| {
            let longest = if random.permille(300) { 120_000 } else { 2_000 };
            (random.ms(1..300), random.permille(30), random.permille(50), random.ms(1..longest))
        });
        sleep(arrival).await;
        match job {
            Some(job) => {
                let result = site.run_job(&process, &job);
                sleep(time).await;
                process.live().await;
                let _ = answered.send((200, result));
            }
            None => {
                if !site.receive(&process, &body, &webhook_id, is_refused) {
                    let _ = answered.send((503, String::new()));
                    return;
                }
                sleep(time.min(Duration::from_secs(3))).await;
                process.live().await;
                if !is_lost {
                    let _ = answered.send((200, String::new()));
                }
            }
        }
    }
}

impl Transport for ToUpstream {
    fn send<'a>(
        &'a self,
        egress: &'a Egress,
        upstream: &'a Upstream,
        request: &'a Request,
    ) -> BoxFuture<'a, Result<Response, EgressError>> {
        async move {
            self.process.live().await;
            let (Target::Path(path), Body::Json(body)) = (&request.target, &request.body) else { return Err(lost()) };
            let job = (upstream.name() == "simulated").then(|| path.trim_start_matches("?job=").to_owned());
            let id =
                request.headers.map().get("webhook-id").and_then(|id| id.to_str().ok()).unwrap_or_default().to_owned();
            let _running = job.clone().map(|job| Running { way: self, job });
            let (answer, answered) = oneshot::channel();
            let (site, process) = (Arc::clone(&self.site), Arc::clone(&self.process));
            tokio::spawn(Self::answer(site, process, job, body.to_vec(), id, answer));
            match timeout_at(request.deadline, answered).await {
                Err(_) => Err(EgressError::TimedOut),
                Ok(Err(_)) => Err(lost()),
                Ok(Ok((status, body))) => respond(upstream, request, egress, status, body),
            }
        }
        .boxed()
    }
}
