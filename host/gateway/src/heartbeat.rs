//! The sign of life of this gateway: a row in the database, which the other gateways and the
//! operator see. A change of what the gateway serves is stored immediately.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::Gateway;
use config::Config;
use store::{ConnectorAtGateway, GatewayBeat};

/// Time between two signs of life.
const INTERVAL: Duration = Duration::from_secs(5);

/// Time between two looks at what the gateway serves.
const LOOK: Duration = Duration::from_millis(250);

/// The state of a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Starting,
    Ready,
    Draining,
}

impl State {
    fn of(gateway: &Gateway) -> Self {
        if gateway.draining.has_started() {
            return Self::Draining;
        }
        if gateway.registry.missing().is_some() { Self::Starting } else { Self::Ready }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Draining => "draining",
        }
    }
}

/// Stores the sign of life of the gateway with this id, until the future is dropped.
pub async fn beat(gateway: Gateway, id: String) {
    let started = Instant::now();
    let mut stored: Option<(Instant, State, Vec<ConnectorAtGateway>)> = None;
    loop {
        let (state, standings) = (State::of(&gateway), gateway.registry.standings());
        let refused = gateway.registry.count_refused(&standings);
        gateway.metrics.modules_refused.set(i64::try_from(refused).unwrap_or(i64::MAX));
        let connectors: Vec<ConnectorAtGateway> = standings.iter().map(|(connector, _)| connector.clone()).collect();
        let (is_due, is_same) = match &stored {
            Some((at, before, known)) => (at.elapsed() >= INTERVAL || *before != state, *known == connectors),
            None => (true, false),
        };
        if is_due || !is_same {
            let memory = gateway.egress.memory();
            let beat = GatewayBeat {
                id: id.clone(),
                name: gateway.name.to_string(),
                address: gateway.config.public_url.as_str().trim_end_matches('/').to_owned(),
                version: env!("CARGO_PKG_VERSION"),
                state: state.name(),
                age: started.elapsed(),
                calls: u32::try_from(gateway.metrics.calls_in_progress()).unwrap_or_default(),
                jobs: u32::try_from(gateway.metrics.jobs_running.get()).unwrap_or_default(),
                memory_held: i64::try_from(memory.held()).unwrap_or(i64::MAX),
                memory_limit: i64::try_from(memory.limit()).unwrap_or(i64::MAX),
            };
            match gateway.store.gateways().note(beat, (!is_same).then_some(standings)).await {
                Ok(true) => stored = Some((Instant::now(), state, connectors)),
                // The database had forgotten the gateway, and with it what the gateway serves.
                Ok(false) => {
                    stored = None;
                    continue;
                }
                // `/readyz` reports that the database does not answer.
                Err(error) => {
                    tracing::debug!(%error, "the sign of life of the gateway could not be stored; the gateway tries again");
                    sleep(INTERVAL).await;
                }
            }
        }
        sleep(LOOK).await;
    }
}

/// The name of the gateway for people.
pub fn name_of(config: &Config) -> String {
    config.fleet_name.clone().unwrap_or_else(|| {
        // The gateway also serves if the machine has no name.
        let host = whoami::hostname().unwrap_or_else(|_| "unknown".to_owned());
        format!("{host}:{}", config.listen.port())
    })
}
