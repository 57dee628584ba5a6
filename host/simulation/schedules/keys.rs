//! API keys, which operators make and revoke at one gateway, and callers use at all of them.
//!
//! Invariants, whatever happens: a gateway that has refused a key because it was revoked does not
//! take it again, and none takes a revoked key once its table of keys is too old. When nothing is
//! wrong, each gateway takes a key as soon as it was made, and none of them takes it two seconds
//! after it was revoked.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use hyper::header::HeaderValue;
use parking_lot::Mutex;
use tokio::time::sleep;

use super::gateways;
use super::world::{Process, Way, World};
use auth::{AuthError, Authenticator, Scope, make_key};
use clock::SimulatedClock;
use clock::random::Random;
use egress::bearer_header;
use store::{KeyId, Store};

/// Time in which a gateway notices a change: it looks once a second, and a look takes a while.
const NOTICED: Duration = Duration::from_secs(2);

/// The age after which a gateway that is cut off from the database does not use its keys any more.
const MAX_AGE: Duration = Duration::from_secs(10);

/// Time without faults at the end.
const SETTLED: Duration = Duration::from_secs(20);

/// A gateway that serves.
#[derive(Clone)]
struct Serving {
    process: Arc<Process>,
    store: Store,
    authenticator: Arc<Authenticator>,
}

#[derive(Clone)]
struct Key {
    id: KeyId,
    authorization: HeaderValue,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Made,
    /// An operator has begun to revoke it.
    Revoking,
    /// The database had answered then that it is revoked.
    Revoked(Duration),
}

struct Site {
    world: Arc<World>,
    serving: Mutex<Vec<Option<Serving>>>,
    keys: Mutex<Vec<Key>>,
    /// The keys that processes have refused because they were revoked.
    refused: Mutex<HashSet<(String, usize)>>,
}

pub(super) async fn run(world: &Arc<World>, count: usize, random: &mut Random) {
    let clock = SimulatedClock::new(world.began, 0, 0);
    clock.scope(run_in(world, count, random)).await;
}

async fn run_in(world: &Arc<World>, count: usize, random: &mut Random) {
    let site = Arc::new(Site {
        world: Arc::clone(world),
        serving: Mutex::new(vec![None; count]),
        keys: Mutex::default(),
        refused: Mutex::default(),
    });
    for gateway in 0..count {
        let (serving, killed) = (Arc::clone(&site), Arc::clone(&site));
        let serve = move |process, _| Arc::clone(&serving).serve(process);
        let forget = move |process: Arc<Process>| {
            killed.serving.lock()[process.gateway] = None;
            std::future::ready(())
        };
        tokio::spawn(gateways::run(Arc::clone(world), gateway, random.fork(), serve, forget));
        tokio::spawn(Arc::clone(&site).call(random.fork()));
    }
    tokio::spawn(super::world::turn_clocks(Arc::clone(world)));
    while world.now() < world.weather.calm_from + SETTLED {
        site.operate(random).await;
        let pause = random.ms(200..5_000);
        world.wait_until(world.next_event(random, pause)).await;
    }
    sleep(SETTLED).await;
    let keys = site.keys.lock().len();
    for (gateway, number) in (0..count).flat_map(|gateway| (0..keys).map(move |number| (gateway, number))) {
        site.call_with(gateway, number).await;
    }
}

impl Site {
    async fn serve(self: Arc<Self>, process: Arc<Process>) {
        let store = self.world.database.store(Arc::new(Way(Arc::clone(&process))));
        let authenticator = loop {
            match Authenticator::new(store.clone(), Arc::default(), MAX_AGE).await {
                Ok(authenticator) => break Arc::new(authenticator),
                Err(_) => sleep(Duration::from_millis(700)).await,
            }
        };
        let (gateway, watching) = (process.gateway, Arc::clone(&authenticator));
        self.serving.lock()[gateway] = Some(Serving { process, store, authenticator });
        watching.watch().await;
    }

    /// Makes a key or revokes one, at one of the gateways.
    async fn operate(&self, random: &mut Random) {
        let at = random.within(0..16) as usize;
        let serving = {
            let serving = self.serving.lock();
            serving[at % serving.len()].clone()
        };
        let Some(Serving { process, store, .. }) = serving else { return };
        // A gateway that is killed meanwhile does not answer.
        tokio::select! {
            biased;
            () = self.operate_at(&process, &store, random) => {}
            () = process.death() => {}
        }
    }

    async fn operate_at(&self, process: &Process, store: &Store, random: &mut Random) {
        process.live().await;
        let made: Vec<usize> = (0..)
            .zip(&*self.keys.lock())
            .filter(|(_, key)| key.state == State::Made)
            .map(|(number, _)| number)
            .collect();
        if made.is_empty() || random.permille(500) {
            let (stored, token) = make_key("simulated", "acme", None, [Scope::Operate].into_iter().collect()).unwrap();
            let authorization = bearer_header(&token).unwrap();
            let key = Key { id: stored.id.clone(), authorization, state: State::Made };
            // If the answer is lost, no caller gets the key.
            if store.keys().create(stored).await.is_ok() {
                self.keys.lock().push(key);
                self.world.log(format_args!("{} has made key {}", process.name(), self.keys.lock().len() - 1));
            }
            return;
        }
        let number = made[random.within(0..made.len() as u64) as usize];
        let id = {
            let mut keys = self.keys.lock();
            keys[number].state = State::Revoking;
            keys[number].id.clone()
        };
        let revoked = store.keys().revoke(&id).await.is_ok();
        self.world.log(format_args!("{} revokes key {number}: {revoked}", process.name()));
        if revoked {
            self.keys.lock()[number].state = State::Revoked(self.world.now());
        }
    }

    /// Calls the gateways with all keys.
    async fn call(self: Arc<Self>, mut random: Random) {
        loop {
            sleep(random.ms(50..700)).await;
            let keys = self.keys.lock().len();
            if keys > 0 {
                let gateway = random.within(0..self.serving.lock().len() as u64) as usize;
                self.call_with(gateway, random.within(0..keys as u64) as usize).await;
            }
        }
    }

    /// Calls a gateway with a key, and checks what it says.
    async fn call_with(&self, gateway: usize, number: usize) {
        let Some(Serving { process, authenticator, .. }) = self.serving.lock()[gateway].clone() else { return };
        process.live().await;
        let (before, began) = (self.keys.lock()[number].clone(), self.world.now());
        let answer = authenticator.authenticate(Some(&before.authorization)).await;
        let refused = (process.name(), number);
        match answer {
            Ok(_) if self.refused.lock().contains(&refused) => {
                self.world.violated(format_args!("{} takes key {number} again, which was revoked", process.name()));
            }
            Ok(_) => {
                if let State::Revoked(at) = before.state
                    && (at + MAX_AGE + NOTICED < began || (at + NOTICED < began && self.world.has_been_calm(NOTICED)))
                {
                    self.world.violated(format_args!("{} takes key {number}, revoked at {at:?}", process.name()));
                }
            }
            Err(AuthError::Revoked) => {
                self.refused.lock().insert(refused);
                if self.keys.lock()[number].state == State::Made {
                    self.world.violated(format_args!("{} refuses key {number}, which is good", process.name()));
                }
            }
            // The database does not answer.
            Err(AuthError::Unavailable) => {}
            Err(error) => {
                self.world.violated(format_args!("{} refuses key {number}: {error}", process.name()));
            }
        }
    }
}
