//! Calls with idempotency keys, which callers send again to any gateway until they have the answer.
//!
//! Invariants: no write runs twice. A kept answer is the answer of its own call. A call is lost
//! only if the gateway that ran it was killed, or the answer to its beginning was lost.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::sleep;

use super::gateways;
use super::world::{NoFaults, Process, Way, World};
use calls::idempotency::{Idempotency, KeyOutcome, KeyStatus};
use clock::SimulatedClock;
use clock::random::Random;
use store::IdempotentCall;
use store::vault::Vault;

/// Time from the end of the last fault to the last repetition of a call.
const SETTLE: Duration = Duration::from_secs(60);

/// One call, as its upstream and its caller see it.
#[derive(Default)]
struct Call {
    /// The process that has taken its key, unless the run has done nothing and gives the key back.
    holder: Option<Arc<Process>>,
    /// The process that gives the key back, which may be killed before that is stored.
    releasing: Option<Arc<Process>>,
    writes: u32,
    /// Its runs that have not ended, including the runs of killed processes.
    running: u32,
    /// The processes that begin it, and do not know yet whether they may.
    beginning: Vec<Arc<Process>>,
    /// The beginning of the call failed while no other run had the key, and may have been stored.
    is_uncertain: bool,
    /// The caller knows how the call has ended.
    is_known: bool,
}

/// A gateway that serves.
type Serving = (Arc<Process>, Arc<Idempotency>);

/// The gateways that serve, and the calls.
struct Site {
    world: Arc<World>,
    serving: Mutex<Vec<Option<Serving>>>,
    calls: Mutex<Vec<Call>>,
}

pub(super) async fn run(world: &Arc<World>, count: usize, random: &mut Random) {
    let folder = super::folder();
    let clock = SimulatedClock::new(world.began, 0, 0);
    clock.scope(run_in(world, count, random, folder.path())).await;
}

async fn run_in(world: &Arc<World>, count: usize, random: &mut Random, folder: &Path) {
    let master_key: Arc<Path> = folder.join("master.key").into();
    Vault::open(&master_key, &world.database.store(Arc::new(NoFaults))).await.unwrap();
    let calls = random.within(4..12) as usize;
    let site = Arc::new(Site {
        world: Arc::clone(world),
        serving: Mutex::new((0..count).map(|_| None).collect()),
        calls: Mutex::new((0..calls).map(|_| Call::default()).collect()),
    });
    for gateway in 0..count {
        let (serving, stopping) = (Arc::clone(&site), Arc::clone(&site));
        let master_key = Arc::clone(&master_key);
        let serve = move |process, _| Arc::clone(&serving).serve(process, Arc::clone(&master_key));
        let killed = move |process: Arc<Process>| {
            stopping.serving.lock()[process.gateway] = None;
            std::future::ready(())
        };
        tokio::spawn(gateways::run(Arc::clone(world), gateway, random.fork(), serve, killed));
    }
    for number in 0..calls {
        tokio::spawn(Arc::clone(&site).caller(number, random.fork()));
    }
    tokio::spawn(super::world::turn_clocks(Arc::clone(world)));
    world.wait_until(world.weather.calm_from + 5 * SETTLE).await;
    for (number, call) in site.calls.lock().iter().enumerate() {
        world.log(format_args!("call {number}: {} writes, known {}", call.writes, call.is_known));
        if !call.is_known {
            world.violated(format_args!("the caller of call {number} has no answer at the end"));
        }
    }
}

impl Site {
    async fn serve(self: Arc<Self>, process: Arc<Process>, master_key: Arc<Path>) {
        let store = self.world.database.store(Arc::new(Way(Arc::clone(&process))));
        let vault = loop {
            match Vault::open(&master_key, &store).await {
                Ok(vault) => break vault,
                Err(_) => sleep(Duration::from_millis(700)).await,
            }
        };
        self.world.log(format_args!("{} serves", process.name()));
        let idempotency = Arc::new(Idempotency::new(store.clone(), vault));
        let gateway = process.gateway;
        self.serving.lock()[gateway] = Some((process, idempotency));
        loop {
            sleep(Duration::from_secs(20)).await;
            let _ = store.idempotency().sweep().await;
        }
    }

    /// Sends a call until it knows how the call has ended, and once more after that.
    async fn caller(self: Arc<Self>, number: usize, mut random: Random) {
        let episodes = &self.world.weather.episodes;
        let fault = episodes[random.within(0..episodes.len() as u64) as usize].from;
        // Many calls run when a fault begins.
        let begin = if random.permille(500) {
            fault.saturating_sub(random.ms(0..4_000))
        } else {
            random.ms(0..self.world.weather.calm_from.as_millis() as u64)
        };
        sleep(begin).await;
        let end = self.world.weather.calm_from + 3 * SETTLE;
        while self.world.now() < end {
            let gateway = random.within(0..16) as usize;
            let serving = {
                let serving = self.serving.lock();
                serving[gateway % serving.len()].clone()
            };
            if let Some((process, idempotency)) = serving {
                let repetition = random.fork();
                let sent = tokio::spawn(Arc::clone(&self).send(number, process, idempotency, repetition));
                // The caller gives up its connection after a while, and the call continues.
                let _ = tokio::time::timeout(random.ms(500..40_000), sent).await;
            }
            let pause = if self.calls.lock()[number].is_known { 30_000 } else { 6_000 };
            sleep(random.ms(100..pause)).await;
        }
    }

    async fn send(
        self: Arc<Self>,
        number: usize,
        process: Arc<Process>,
        idempotency: Arc<Idempotency>,
        mut random: Random,
    ) {
        let call = IdempotentCall::new("acme", "ann", &number.to_string(), &[format!("call {number}").as_bytes()]);
        self.calls.lock()[number].beginning.push(Arc::clone(&process));
        let begun = idempotency.begin(&call).await;
        self.calls.lock()[number].beginning.retain(|beginning| !Arc::ptr_eq(beginning, &process));
        let answer = match begun {
            Err(_) => {
                let mut calls = self.calls.lock();
                if calls[number].holder.is_none() || self.world.may_forget() {
                    calls[number].is_uncertain = true;
                }
                return;
            }
            Ok(KeyStatus::Running) => return,
            Ok(KeyStatus::New(taken)) => {
                self.begin_run(number, &process);
                let write = Arc::clone(&self).write(number, process, random.fork());
                match idempotency.run(call, taken, write).await {
                    Ok(Some(answer)) => answer,
                    _ => return,
                }
            }
            Ok(KeyStatus::Ended(answer)) => String::from_utf8(answer).unwrap(),
            Ok(KeyStatus::Lost) => {
                let mut calls = self.calls.lock();
                self.world.log(format_args!("{} says that call {number} is lost", process.name()));
                calls[number].is_known = true;
                let Call { holder, releasing, beginning, is_uncertain, .. } = &calls[number];
                let was_killed = match holder {
                    Some(holder) => holder.is_dead(),
                    None => beginning.iter().chain(releasing).any(|process| process.is_dead()),
                };
                if !was_killed && !is_uncertain {
                    drop(calls);
                    self.world.violated(format_args!("call {number} is lost, and its gateway lives"));
                }
                return;
            }
            Ok(KeyStatus::OfOtherRequest) => {
                return self.world.violated(format_args!("the key of call {number} belongs to another one"));
            }
            Ok(KeyStatus::EndedWithoutAnswer) => {
                return self.world.violated(format_args!("the answer of call {number} is not kept"));
            }
        };
        let writes = self.calls.lock()[number].writes;
        if !(1..=writes).any(|write| answer == format!("answer of call {number}, write {write}")) {
            self.world.violated(format_args!("call {number} got: {answer}"));
        }
        self.calls.lock()[number].is_known = true;
    }

    /// A gateway has taken the key of a call, and runs it.
    fn begin_run(&self, number: usize, process: &Arc<Process>) {
        self.world.log(format_args!("{} runs call {number}", process.name()));
        let mut calls = self.calls.lock();
        if calls[number].running > 0 {
            self.world.violated(format_args!("{} runs call {number}, whose run has not ended", process.name()));
        }
        calls[number].running += 1;
        // The key was free, so no failed beginning had taken it.
        calls[number].is_uncertain = false;
        calls[number].holder = Some(Arc::clone(process));
        calls[number].releasing = None;
    }

    /// The upstream: it writes, and answers after a while.
    async fn write(
        self: Arc<Self>,
        number: usize,
        process: Arc<Process>,
        mut random: Random,
    ) -> (Option<String>, KeyOutcome) {
        let longest = if random.permille(300) { 50_000 } else { 3_000 };
        sleep(random.ms(1..longest)).await;
        process.live().await;
        // A connector may find that it has nothing to do, for example because a rate limit is used
        // up.
        if random.permille(200) {
            let call = &mut self.calls.lock()[number];
            call.running -= 1;
            call.releasing = call.holder.take();
            return (None, KeyOutcome::Released);
        }
        let writes = {
            let mut calls = self.calls.lock();
            calls[number].writes += 1;
            calls[number].writes
        };
        if writes > 1 && !self.world.may_forget() {
            self.world.violated(format_args!("call {number} has written {writes} times"));
        }
        sleep(random.ms(1..longest)).await;
        process.live().await;
        self.calls.lock()[number].running -= 1;
        let answer = format!("answer of call {number}, write {writes}");
        (Some(answer.clone()), KeyOutcome::Kept(answer.into_bytes()))
    }
}
