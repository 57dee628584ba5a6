//! The pointers of a connector's identity that find nothing in an answer that is known.

use connector_gateway::Connector;
use serde_json::Value;

use contract::AuthScheme;
use contract::identity::lost_pointers;

/// A sentence for each pointer of the connector's identity that leads nowhere in an answer of an
/// operation. Empty if the identity is not found by this operation.
pub(crate) fn lost(connector: &Connector, operation: &str, answer: &Value) -> Vec<String> {
    let AuthScheme::Oauth2(scheme) = &connector.manifest().auth else { return Vec::new() };
    let identity = scheme.identity.as_ref().filter(|identity| identity.operation == operation);
    identity.map(|identity| lost_pointers(identity, answer)).unwrap_or_default()
}
