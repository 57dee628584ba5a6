//! The inboxes and types of events of a table as JSON.

use connector_sdk::bindings::gateway::connector::trigger_types as wit;
use connector_sdk::table::Connector;
use connector_sdk::triggers::{inbox_of, trigger_of};
use serde_json::{Value, json};

pub(crate) fn of(connector: &Connector) -> Value {
    let inboxes: Vec<_> = connector.inboxes.iter().map(|declared| inbox(&inbox_of(declared))).collect();
    let triggers: Vec<_> = connector.triggers.iter().map(|declared| trigger(&trigger_of(declared))).collect();
    json!({"inboxes": inboxes, "triggers": triggers})
}

contract_rules::trigger_view!(wit);
