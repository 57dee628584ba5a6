//! The statements on gateways.

use std::time::Duration;

use database::connection::{Connection, Durability};
use database::time::millis;
use database::value::{values, without_zero_bytes};

use super::types::{ConnectorAtGateway, GatewayBeat, GatewayRow};
use crate::Stored;
use crate::handles::Gateways;
use crate::records::new_id;

/// A gateway without a sign of life for this time is away.
const AWAY: Duration = Duration::from_secs(15);

/// A gateway without a sign of life for this time is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(24 * 3600);

new_id! {
    /// Makes an id for the gateway of this process.
    new_gateway_id = "gw_"
}

impl Gateways<'_> {
    /// Stores a sign of life. `connectors` replaces what the gateway serves, with the time since
    /// which each entry is so; `None` leaves it. Returns `false` if the gateway was not known, so
    /// that `connectors` has to be sent. A previous process with the same name and address is
    /// forgotten once it is away. Until then it may be a second gateway that shares both.
    pub async fn note(
        self,
        beat: GatewayBeat,
        connectors: Option<Vec<(ConnectorAtGateway, Duration)>>,
    ) -> Stored<bool> {
        self.0
            .write(Durability::ProcessKill, move |connection| {
                let GatewayBeat { id, name, address, version, state, age, calls, jobs, memory_held, memory_limit } =
                    &beat;
                let known = connection.execute(
                    "UPDATE gateways SET state = $2, seen_at = now_ms(), calls = $3, jobs = $4, memory_held = $5, \
                 memory_limit = $6 WHERE id = $1",
                    values![id, *state, *calls, *jobs, *memory_held, *memory_limit],
                )?;
                connection.execute(
                    "DELETE FROM gateways WHERE id <> $1 AND name = $2 AND address = $3 AND seen_at < now_ms() - $4 \
                     OR seen_at < now_ms() - $5",
                    values![id, name, address, millis(AWAY), millis(FORGOTTEN)],
                )?;
                if known == 0 {
                    let age = millis(*age);
                    connection.execute(
                        "INSERT INTO gateways (id, name, address, version, state, started_at, seen_at, calls, jobs, \
                     memory_held, memory_limit) VALUES ($1, $2, $3, $4, $5, now_ms() - $6, now_ms(), $7, $8, $9, $10)",
                        values![id, name, address, *version, *state, age, *calls, *jobs, *memory_held, *memory_limit],
                    )?;
                }
                let Some(connectors) = &connectors else { return Ok(known > 0) };
                connection.execute("DELETE FROM gateway_connectors WHERE gateway = $1", values![id])?;
                for (at, age) in connectors {
                    insert_connector(connection, id, at, *age)?;
                }
                Ok(true)
            })
            .await
    }

    /// Forgets a gateway that has shut down.
    pub async fn forget(self, id: &str) -> Stored<()> {
        let forget = "DELETE FROM gateways WHERE id = $1";
        self.0.execute(Durability::ProcessKill, forget, values![id]).await.map(drop)
    }

    /// The gateways that are not forgotten, by name.
    pub async fn list(self) -> Stored<Vec<GatewayRow>> {
        let list = "SELECT id, name, address, version, state, started_at, seen_at, seen_at < now_ms() - $1, calls, jobs, \
             memory_held, memory_limit FROM gateways WHERE seen_at >= now_ms() - $2 ORDER BY name, id";
        self.0.read_all(list, values![millis(AWAY), millis(FORGOTTEN)]).await
    }

    /// The versions that the gateways which are not forgotten serve, by connector.
    pub async fn connectors(self) -> Stored<Vec<ConnectorAtGateway>> {
        let connectors = "SELECT gateway, connector, gateway_connectors.version, title, digest, generation, shipped, about, \
             gateway_connectors.state, reason, since FROM gateway_connectors JOIN gateways ON id = gateway \
             WHERE seen_at >= now_ms() - $1 ORDER BY connector, name, gateway";
        self.0.read_all(connectors, values![millis(FORGOTTEN)]).await
    }
}

fn insert_connector(
    connection: &mut dyn Connection,
    gateway: &str,
    at: &ConnectorAtGateway,
    age: Duration,
) -> Stored<()> {
    let ConnectorAtGateway { connector, version, title, digest, generation, is_shipped, about, state, reason, .. } = at;
    let (shipped, about, age) = (*is_shipped, *about, millis(age));
    // A module has written them, and the gateway must be able to tell what it serves.
    let [version, title, reason] = [version, title, reason].map(|text| text.as_deref().map(without_zero_bytes));
    connection.run(
        "INSERT INTO gateway_connectors (gateway, connector, version, title, digest, generation, shipped, \
         about, state, reason, since) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, now_ms() - $11)",
        values![gateway, connector, version, title, digest, *generation, shipped, about, state, reason, age],
    )
}
