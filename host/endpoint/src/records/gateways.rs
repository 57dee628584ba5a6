//! The gateways of the service as JSON. The command line reads these records too.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use clock::timestamp::Timestamp;
use store::ConnectorAtGateway;

/// The answer of GET /admin/gateways.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Gateways")]
pub struct GatewaysRecord {
    pub gateways: Vec<GatewayRecord>,
    /// The `cursor` of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

/// A gateway of the service.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Gateway")]
pub struct GatewayRecord {
    /// The id of the process.
    pub id: String,
    /// `fleet.name`, else the host name and the port.
    pub name: String,
    pub address: String,
    pub version: String,
    /// `away`: without a sign of life for 15 seconds.
    #[schemars(extend("enum" = ["starting", "ready", "draining", "away"]))]
    pub state: String,
    pub started_at: Timestamp,
    pub seen_at: Timestamp,
    pub connectors: ConnectorCountsRecord,
    /// Calls in progress.
    pub calls: i64,
    /// Jobs that run there.
    pub jobs: i64,
    pub memory: GatewayMemoryRecord,
}

/// The number of connectors of a gateway by state.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ConnectorCounts")]
pub struct ConnectorCountsRecord {
    pub live: usize,
    pub compiling: usize,
    pub refused: usize,
}

/// The memory of the calls of a gateway.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "GatewayMemory")]
pub struct GatewayMemoryRecord {
    pub held_bytes: i64,
    pub limit_bytes: i64,
}

/// The answer of GET /admin/connectors.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ServiceConnectors")]
pub struct ServiceConnectorsRecord {
    pub connectors: Vec<ServiceConnectorRecord>,
    /// The `cursor` of the next page. Null at the end.
    pub next_cursor: Option<String>,
}

/// A connector of the service.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ServiceConnector")]
pub struct ServiceConnectorRecord {
    pub connector: String,
    pub title: String,
    pub version: String,
    /// Digest of the module in hexadecimal digits.
    pub digest: String,
    /// Grows with each change of the connector.
    pub generation: i64,
    /// `true` if it came with the gateways.
    pub shipped: bool,
    /// Null if it never changed.
    pub changed_at: Option<Timestamp>,
    /// Null if it never changed.
    pub changed_by: Option<String>,
    pub gateways: Vec<ConnectorAtGatewayRecord>,
}

/// What a gateway serves of a connector.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ConnectorAtGateway")]
pub struct ConnectorAtGatewayRecord {
    /// The id of the gateway.
    pub gateway: String,
    /// The version that serves there. Null if no version does.
    pub version: Option<String>,
    pub digest: Option<String>,
    pub generation: Option<i64>,
    /// The state of the present generation there. If it is refused, the previous version keeps
    /// serving.
    #[schemars(extend("enum" = ["live", "compiling", "refused"]))]
    pub state: String,
    /// Why it is refused there.
    pub reason: Option<String>,
    pub since: Timestamp,
}

impl ConnectorAtGatewayRecord {
    /// The last report of a gateway. `present` is the generation of the service: a gateway that has
    /// not reported about it yet is still about to serve it.
    pub fn new(at: &ConnectorAtGateway, present: i64) -> Self {
        let is_behind = at.about < present;
        Self {
            gateway: at.gateway.clone(),
            version: at.version.clone(),
            digest: at.digest.clone(),
            generation: at.generation,
            state: if is_behind { "compiling".to_owned() } else { at.state.clone() },
            reason: at.reason.clone().filter(|_| !is_behind),
            since: at.since.into(),
        }
    }
}
