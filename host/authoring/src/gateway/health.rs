//! The health of a running gateway, by the routes that need no key.

use std::path::Path;

use serde::Deserialize;
use url::Url;

use super::client::{client_for, unreachable};
use super::remote::RemoteError;

/// The health of a running gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// Its version.
    pub version: String,
    /// The reason why it takes no calls. `None` if it takes calls.
    pub not_ready: Option<String>,
    /// The parts that do not work.
    pub degraded: Vec<String>,
}

#[derive(Deserialize)]
struct HealthAnswer {
    version: String,
}

/// The answer of `/readyz`, or its problem.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ReadinessAnswer {
    degraded: Vec<String>,
    title: String,
    detail: String,
}

/// Asks a running gateway for its health.
///
/// # Errors
/// If it cannot be reached, or does not answer as a gateway does, or if the client certificate
/// cannot be used.
pub async fn health(url: &Url, client_certificate: Option<&Path>) -> Result<Health, RemoteError> {
    let client = client_for(url, client_certificate)?;
    let get = |route: &str| {
        let mut address = url.clone();
        if let Ok(mut segments) = address.path_segments_mut() {
            segments.pop_if_empty().push(route);
        }
        let request = client.get(address);
        async move {
            let response = request.send().await.map_err(|error| unreachable(url, error))?;
            let status = response.status();
            let body = response.bytes().await.map_err(|error| unreachable(url, error))?;
            Ok::<_, RemoteError>((status, body))
        }
    };
    let not_understood = |status: u16, error: serde_json::Error| RemoteError::NotUnderstood {
        url: url.clone(),
        status,
        reason: error.to_string(),
    };
    let (status, body) = get("healthz").await?;
    let HealthAnswer { version } =
        serde_json::from_slice(&body).map_err(|error| not_understood(status.as_u16(), error))?;
    let (status, body) = get("readyz").await?;
    let ReadinessAnswer { degraded, title, detail } =
        serde_json::from_slice(&body).map_err(|error| not_understood(status.as_u16(), error))?;
    let not_ready = (!status.is_success()).then(|| format!("{title}: {detail}"));
    Ok(Health { version, not_ready, degraded })
}
