//! The statements on gateways.

use std::time::Duration;

use database::connection::Durability;
use database::time::millis;
use database::value::values;

use super::types::{ConnectorAtGateway, GatewayBeat, GatewayRow};
use crate::Stored;
use crate::handles::Gateways;

/// A gateway without a sign of life for this time is away.
const AWAY: Duration = Duration::from_secs(15);

/// A gateway without a sign of life for this time is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(24 * 3600);

/// Makes an id for the gateway of this process.
///
/// # Errors
/// If the operating system provides no random numbers.
pub fn new_gateway_id() -> Stored<String> {
    database::id::random_id("gw_")
}

impl Gateways<'_> {
    /// Stores a sign of life. `connectors` replaces what the gateway serves, with the time since
    /// which each entry is so; `None` leaves it. Returns `false` if the gateway was not known, so
    /// that `connectors` has to be sent. A previous process with the same name and address is
    /// forgotten.
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
                if known == 0 {
                    connection.execute(
                        "DELETE FROM gateways WHERE name = $1 AND address = $2 OR seen_at < now_ms() - $3",
                        values![name, address, millis(FORGOTTEN)],
                    )?;
                    connection.execute(
                        "INSERT INTO gateways (id, name, address, version, state, started_at, seen_at, calls, jobs, \
                     memory_held, memory_limit) VALUES ($1, $2, $3, $4, $5, now_ms() - $6, now_ms(), $7, $8, $9, $10)",
                        values![
                            id,
                            name,
                            address,
                            *version,
                            *state,
                            millis(*age),
                            *calls,
                            *jobs,
                            *memory_held,
                            *memory_limit
                        ],
                    )?;
                }
                let Some(connectors) = &connectors else { return Ok(known > 0) };
                connection.execute("DELETE FROM gateway_connectors WHERE gateway = $1", values![id])?;
                for (at, age) in connectors {
                    connection.execute(
                    "INSERT INTO gateway_connectors (gateway, connector, version, title, digest, generation, shipped, \
                     about, state, reason, since) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, now_ms() - $11)",
                    values![
                        id,
                        &at.connector,
                        &at.version,
                        &at.title,
                        &at.digest,
                        at.generation,
                        at.is_shipped,
                        at.about,
                        &at.state,
                        &at.reason,
                        millis(*age)
                    ],
                )?;
                }
                Ok(true)
            })
            .await
    }

    /// Forgets a gateway that has shut down.
    pub async fn forget(self, id: &str) -> Stored<()> {
        let id = id.to_owned();
        self.0
            .write(Durability::ProcessKill, move |connection| {
                connection.execute("DELETE FROM gateways WHERE id = $1", values![&id]).map(drop)
            })
            .await
    }

    /// The gateways that are not forgotten, by name.
    pub async fn list(self) -> Stored<Vec<GatewayRow>> {
        self.0
            .read(|connection| {
                connection.all(
                "SELECT id, name, address, version, state, started_at, seen_at, seen_at < now_ms() - $1, calls, jobs, \
                 memory_held, memory_limit FROM gateways WHERE seen_at >= now_ms() - $2 ORDER BY name, id",
                values![millis(AWAY), millis(FORGOTTEN)],
            )
            })
            .await
    }

    /// The versions that the gateways which are not forgotten serve, by connector.
    pub async fn connectors(self) -> Stored<Vec<ConnectorAtGateway>> {
        self.0
            .read(|connection| {
                connection.all(
                    "SELECT gateway, connector, gateway_connectors.version, title, digest, generation, shipped, about, \
                 gateway_connectors.state, reason, since FROM gateway_connectors JOIN gateways ON id = gateway \
                 WHERE seen_at >= now_ms() - $1 ORDER BY connector, name, gateway",
                    values![millis(FORGOTTEN)],
                )
            })
            .await
    }
}
