//! Gateways that are killed and start again, as the weather says.

use std::sync::Arc;

use tokio::time::sleep;

use super::weather::Fault;
use super::world::{Process, World, disturb};
use clock::SimulatedClock;
use clock::random::Random;

/// Ends when a process stops by itself. Many never do, and none stops more than twice.
pub(super) fn stop(stops_before: u32, random: &mut Random) -> impl Future<Output = ()> + use<> {
    let is_last = stops_before > 1 || random.permille(600);
    let serves = random.ms(10_000..60_000);
    async move {
        match is_last {
            true => std::future::pending().await,
            false => sleep(serves).await,
        }
    }
}

/// Runs one gateway, and starts it again each time it was killed.
pub(super) async fn run<S, K>(
    world: Arc<World>,
    gateway: usize,
    mut random: Random,
    serve: impl Fn(Arc<Process>, Random) -> S,
    killed: impl Fn(Arc<Process>) -> K,
) where
    S: Future<Output = ()> + Send + 'static,
    K: Future<Output = ()>,
{
    for life in 1.. {
        let process = Process::new(&world, gateway, life, random.fork());
        let skew = random.within(0..6_000) as i64 - 3_000;
        let clock = SimulatedClock::new(world.began, skew, random.next());
        let running = tokio::spawn(clock.scope(serve(Arc::clone(&process), random.fork())));
        tokio::spawn(disturb(Arc::clone(&process), clock));
        let now = world.now();
        let kill = world.weather.episodes.iter().find_map(|episode| match episode.fault {
            Fault::Kill { gateway: killed, restart } if killed == gateway && episode.from > now => {
                Some((episode.from, restart))
            }
            _ => None,
        });
        let Some((at, restart)) = kill else { return };
        world.wait_until(at).await;
        process.kill();
        running.abort();
        world.log(format_args!("{} is killed", process.name()));
        killed(process).await;
        sleep(restart).await;
    }
}
