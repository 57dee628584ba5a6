//! The health of the gateway as JSON.

use schemars::JsonSchema;
use serde::Serialize;

/// The answer of GET /healthz.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Health")]
pub struct HealthRecord {
    #[schemars(extend("const" = "ok"))]
    pub status: &'static str,
    pub version: &'static str,
}

/// The answer of GET /readyz.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Readiness")]
pub struct ReadinessRecord {
    #[schemars(extend("const" = "ready"))]
    pub status: &'static str,
    /// The number of live connectors.
    pub connectors: usize,
    /// The parts that the gateway works without at this moment. Requests that need them get 503.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub degraded: Vec<&'static str>,
}
