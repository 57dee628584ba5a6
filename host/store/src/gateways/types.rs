//! The records of gateways.

use std::time::{Duration, SystemTime};

use crate::records::record;

/// A sign of life of a gateway.
#[derive(Clone, Debug)]
pub struct GatewayBeat {
    /// The id of the process.
    pub id: String,
    /// The name that people know.
    pub name: String,
    /// Its address for callers.
    pub address: String,
    /// The version of its binary.
    pub version: &'static str,
    /// The name of its state.
    pub state: &'static str,
    /// The time since its start.
    pub age: Duration,
    /// The calls in progress.
    pub calls: u32,
    /// The jobs that it runs.
    pub jobs: u32,
    /// Bytes that calls hold of the memory budget.
    pub memory_held: i64,
    /// The memory budget in bytes.
    pub memory_limit: i64,
}

record! {
    /// A gateway in the database.
    #[derive(Clone, Debug, PartialEq, Eq)]
    #[expect(missing_docs, reason = "see `GatewayBeat`")]
    pub struct GatewayRow {
        pub id: String,
        pub name: String,
        pub address: String,
        pub version: String,
        pub state: String,
        /// The time of its start.
        pub started_at: SystemTime,
        /// The time of its last sign of life.
        pub seen_at: SystemTime,
        /// `true` if the last sign of life is too long ago.
        pub is_away: bool,
        pub calls: i64,
        pub jobs: i64,
        pub memory_held: i64,
        pub memory_limit: i64,
    }
}

record! {
    /// The version of a connector that a gateway serves, and the outcome of the present generation.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ConnectorAtGateway {
        /// The id of the gateway.
        pub gateway: String,
        /// The connector's identifier.
        pub connector: String,
        /// The version that serves there. `None` if no version does.
        pub version: Option<String>,
        /// The title that serves there.
        pub title: Option<String>,
        /// The digest of the module that serves there.
        pub digest: Option<String>,
        /// The generation that serves there.
        pub generation: Option<i64>,
        /// `true` if the module that serves there is shipped.
        pub is_shipped: bool,
        /// The generation of the service that the state is about.
        pub about: i64,
        /// The name of the state.
        pub state: String,
        /// Why the present generation is refused there.
        pub reason: Option<String>,
        /// The time since which this is so.
        pub since: SystemTime,
    }
}
