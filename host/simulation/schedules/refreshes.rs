//! Accounts that several gateways refresh.
//!
//! Invariant: no account is lost, except where the provider's answer was lost on its way, or the
//! gateway that received it was killed before it could store it and has not started again.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::sleep;

use super::provider::{Provider, ToProvider};
use super::world::{NoFaults, Process, Way, World};
use super::{SHARED, config, gateways};
use clock::SimulatedClock;
use clock::random::Random;
use integrations::Integrations;
use integrations::simulated::{LEASE, connect, refresh_token};
use store::vault::Vault;
use store::{Status, Store};
use webhooks::Events;

/// The reason for which an account may be lost until the gateway that has its tokens starts again.
const KILLED: &str = "the gateway was killed before it could store the answer";

/// Time from the end of the last fault to the last call.
const SETTLE: Duration = Duration::from_secs(30);

/// Time in which every refresh ends in the end.
const END: Duration = Duration::from_secs(80);

/// Time in which new tokens are stored while nothing is wrong, and which a refresh may add to the
/// time of the provider.
const QUICK: Duration = Duration::from_secs(3);

/// Looks at everything, without any fault.
struct Oracle {
    world: Arc<World>,
    provider: Arc<Provider>,
    store: Store,
    vault: Vault,
    accounts: Vec<(String, String)>,
    folders: Vec<PathBuf>,
}

pub(super) async fn run(world: &Arc<World>, count: usize, random: &mut Random) {
    let folder = super::folder();
    let clock = SimulatedClock::new(world.began, 0, 0);
    clock.scope(run_in(world, count, random, folder.path())).await;
}

async fn run_in(world: &Arc<World>, count: usize, random: &mut Random, folder: &Path) {
    let store = world.database.store(Arc::new(NoFaults));
    let master_key = folder.join("master.key");
    let vault = Vault::open(&master_key, &store).await.unwrap();
    let provider = Provider::new(world, random.permille(400));
    let mut accounts = Vec::new();
    for number in 0..random.within(1..3) {
        let name = format!("account{number}");
        let token = provider.begin(&name);
        let id = connect(&store, &vault, &name, &token, random.ms(10_000..120_000)).await;
        // Ids are random, and decide the order of rows.
        world.database.look(&format!("UPDATE integrations SET id = '{name}' WHERE id = '{id}'")).unwrap();
        accounts.push((name.clone(), name));
    }
    let folders: Vec<PathBuf> = (0..count).map(|gateway| folder.join(gateway.to_string())).collect();
    for folder in &folders {
        std::fs::create_dir(folder).unwrap();
        std::fs::copy(&master_key, folder.join("master.key")).unwrap();
    }
    let oracle = Arc::new(Oracle { world: Arc::clone(world), provider, store, vault, accounts, folders });
    for gateway in 0..count {
        let (serving, excusing) = (Arc::clone(&oracle), Arc::clone(&oracle));
        let serve = move |process, random| Arc::clone(&serving).serve(process, random);
        let killed = move |process: Arc<Process>| {
            let oracle = Arc::clone(&excusing);
            async move { oracle.excuse(&process).await }
        };
        tokio::spawn(gateways::run(Arc::clone(world), gateway, random.fork(), serve, killed));
    }
    tokio::spawn(Arc::clone(&oracle).watch_stored());
    tokio::spawn(super::world::turn_clocks(Arc::clone(world)));
    world.wait_until(world.weather.calm_from + SETTLE).await;
    oracle.provider.is_kind.store(true, Ordering::Relaxed);
    sleep(END).await;
    oracle.check_at_end(random).await;
}

impl Oracle {
    /// Starts the gateway, and calls it.
    async fn serve(self: Arc<Self>, process: Arc<Process>, mut random: Random) {
        let store = self.world.database.store(Arc::new(Way(Arc::clone(&process))));
        let folder = &self.folders[process.gateway];
        let integrations = loop {
            if let Some(integrations) = self.start(&process, &store, folder).await {
                break integrations;
            }
            sleep(Duration::from_millis(700)).await;
        };
        self.world.log(format_args!("{} serves", process.name()));
        self.check_recovered(&process).await;
        let calls =
            self.accounts.iter().map(|(name, id)| self.call(&process, &store, &integrations, name, id, random.fork()));
        let calls = futures_util::future::join_all(calls);
        let end = self.world.began + self.world.weather.calm_from + SETTLE;
        let sweep = tokio::time::timeout_at(end, Arc::clone(&integrations).sweep());
        let _ = tokio::join!(sweep, calls);
    }

    async fn start(&self, process: &Arc<Process>, store: &Store, folder: &Path) -> Option<Arc<Integrations>> {
        let vault = Vault::open(&folder.join("master.key"), store).await.ok()?;
        let to_provider = ToProvider { provider: Arc::clone(&self.provider), process: Arc::clone(process) };
        let egress = SHARED.egress.clone().with_transport(Arc::new(to_provider));
        let (registry, metrics) = (Arc::clone(&SHARED.registry), Arc::clone(&SHARED.metrics));
        let events = Events::default();
        let integrations = Integrations::new(config(folder), store.clone(), egress, vault, registry, metrics, events);
        integrations.store_journaled_tokens().await.ok()?;
        Some(Arc::new(integrations))
    }

    /// Calls whose credential is refused now and then.
    async fn call(
        &self,
        process: &Process,
        store: &Store,
        integrations: &Arc<Integrations>,
        name: &str,
        id: &str,
        mut random: Random,
    ) {
        let end = self.world.weather.calm_from + SETTLE;
        loop {
            let longest = if random.permille(300) { 1_000 } else { 15_000 };
            let pause = random.ms(50..longest);
            let mut at = self.world.next_event(&mut random, pause);
            // The others find the lease of the slow gateway.
            if let Some(slow) = self.world.weather.slow_from(at)
                && slow != process.gateway
            {
                at += random.ms(500..6_000);
            }
            self.world.wait_until(at).await;
            let since = self.world.now();
            if since > end {
                return;
            }
            let Ok(Some(row)) = store.integrations().by_id(id).await else { continue };
            if row.details.status != Status::Active {
                return;
            }
            let was_left = self.has_ended_lease(id);
            let is_stored = integrations.refresh_now(id, row.version).await;
            let took = self.world.now() - since;
            self.world.log(format_args!("{} refreshed {name}: {is_stored} after {took:?}", process.name()));
            // A call may have begun in a fault. It does not wait for what the fault has left behind,
            // except for the grace time of a lease at which no one has looked before.
            let calm_since = if was_left { self.world.calm_since_look(since) } else { self.world.calm_since() };
            let calm = self.world.now().saturating_sub(since.max(calm_since));
            if calm > self.provider.longest() + QUICK {
                self.world.violated(format_args!("{} waited {took:?} for a refresh of {name}", process.name()));
            }
        }
    }

    /// The number of the stored refresh token of an account.
    async fn stored(&self, id: &str) -> (Status, u64) {
        let row = self.store.integrations().by_id(id).await.unwrap().unwrap();
        let token = refresh_token(&self.vault, &row).await.unwrap();
        (row.details.status, token.rsplit_once('-').unwrap().1.parse().unwrap())
    }

    /// Returns whether a gateway has left the lease of an account behind: it has ended, and was
    /// neither released nor taken over.
    fn has_ended_lease(&self, id: &str) -> bool {
        let ended = format!(
            "SELECT 1 FROM integrations
             WHERE id = '{id}' AND (leased_until <= now_ms() OR leased_until > now_ms() + {})",
            LEASE.as_millis()
        );
        !self.world.database.look(&ended).unwrap().is_empty()
    }

    fn fence(&self, id: &str) -> Option<String> {
        let rows = self.world.database.look(&format!("SELECT fence FROM integrations WHERE id = '{id}'")).unwrap();
        rows.into_iter().flatten().flatten().next()
    }

    /// Notes that a killed gateway leaves its leases behind, and which accounts it may have lost.
    async fn excuse(&self, process: &Process) {
        self.world.note_stop(process);
        for (name, id) in &self.accounts {
            let (_, stored) = self.stored(id).await;
            let fence = self.fence(id);
            self.provider.look(name, |account| {
                let is_his = account.issued_to == Some((process.gateway, process.life));
                if !is_his || stored == account.current || account.excuse.is_some() {
                    return;
                }
                let excuse =
                    if account.is_received { KILLED } else { "the gateway was killed before it had the answer" };
                self.world.log(format_args!("{name} may be lost: {excuse}"));
                account.excuse = Some(excuse);
                account.fence_at_kill = fence;
            });
        }
    }

    /// A gateway that starts again has stored what the previous process had received, unless another
    /// gateway has gone on.
    async fn check_recovered(&self, process: &Process) {
        for (name, id) in &self.accounts {
            let (_, stored) = self.stored(id).await;
            let fence = self.fence(id);
            self.provider.look(name, |account| {
                let is_his =
                    account.issued_to.is_some_and(|(gateway, life)| gateway == process.gateway && life < process.life);
                if !is_his || account.excuse != Some(KILLED) || account.has_ended {
                    return;
                }
                if stored == account.current {
                    self.world.log(format_args!("{} has recovered {name}", process.name()));
                    account.excuse = None;
                } else if fence == account.fence_at_kill {
                    self.world.violated(format_args!("{} has not recovered {name}", process.name()));
                }
            });
        }
    }

    /// New tokens are stored soon after they were received, while nothing is wrong.
    async fn watch_stored(self: Arc<Self>) {
        let mut known = vec![0; self.accounts.len()];
        loop {
            sleep(Duration::from_secs(1)).await;
            let now = self.world.now();
            for ((name, id), known) in self.accounts.iter().zip(&mut known) {
                let (current, received, since) = self.provider.look(name, |account| {
                    let is_received = account.is_received && !account.has_ended && account.excuse.is_none();
                    (account.current, is_received, account.received_at)
                });
                if current == *known || !received || since + QUICK > now {
                    continue;
                }
                let (_, stored) = self.stored(id).await;
                if stored == current {
                    *known = current;
                } else if self.world.has_been_calm(QUICK) {
                    self.world.violated(format_args!("{name}'s token {current} is not stored after {:?}", now - since));
                }
            }
        }
    }

    async fn check_at_end(&self, random: &mut Random) {
        let process = Process::new(&self.world, 0, 1_000, random.fork());
        let store = self.world.database.store(Arc::new(Way(Arc::clone(&process))));
        for (name, id) in &self.accounts {
            let (status, stored) = self.stored(id).await;
            let (current, has_ended, excuse) =
                self.provider.look(name, |account| (account.current, account.has_ended, account.excuse));
            self.world.log(format_args!("{name}: {status:?}, {stored} of {current}, ended {has_ended}, {excuse:?}"));
            if has_ended || excuse.is_some() {
                continue;
            }
            if status != Status::Active || stored != current {
                self.world.violated(format_args!("{name} is {status:?} with token {stored} of {current}"));
                continue;
            }
            // The account still works, and no lease is left that stops a refresh.
            let Some(integrations) = self.start(&process, &store, &self.folders[0]).await else { continue };
            let since = self.world.now();
            let Ok(Some(row)) = store.integrations().by_id(id).await else { continue };
            integrations.refresh_now(id, row.version).await;
            let (_, stored) = self.stored(id).await;
            if stored != current + 1 && self.world.calm_since() < since {
                self.world.violated(format_args!("{name} cannot be refreshed at the end"));
            }
        }
    }
}
