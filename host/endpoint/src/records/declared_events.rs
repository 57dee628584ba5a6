//! The inboxes and types of events that connectors declare, as JSON.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use contract::trigger_types::{InboxScope, TriggerSource};
use contract::{Inbox, Trigger};

/// An inbox that a connector declares.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ConnectorInbox")]
pub struct DeclaredInboxRecord {
    pub name: String,
    /// `application`: the operator registers its address at the service. `subscription`: the gateway
    /// makes an address for each subscription.
    #[schemars(extend("enum" = ["application", "subscription"]))]
    pub scope: String,
}

/// A type of events that a connector declares.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ConnectorTrigger")]
pub struct DeclaredTriggerRecord {
    pub r#type: String,
    pub title: String,
    /// `carried`: a notification has the data of the event. `read`: the connector reads it.
    #[schemars(extend("enum" = ["carried", "read"]))]
    pub source: String,
    /// The inboxes that the service may notify. Empty if the gateway reads at intervals only.
    pub inboxes: Vec<String>,
    /// Seconds between two reads without notifications. Null if the connector reads no events.
    pub poll_s: Option<u32>,
}

impl From<&Inbox> for DeclaredInboxRecord {
    fn from(inbox: &Inbox) -> Self {
        let scope = match inbox.scope {
            InboxScope::Application => "application",
            InboxScope::Subscription => "subscription",
        };
        Self { name: inbox.name.clone(), scope: scope.to_owned() }
    }
}

impl From<&Trigger> for DeclaredTriggerRecord {
    fn from(trigger: &Trigger) -> Self {
        let source = match trigger.source {
            TriggerSource::Carried => "carried",
            TriggerSource::Read => "read",
        };
        Self {
            r#type: trigger.name.clone(),
            title: trigger.title.clone(),
            source: source.to_owned(),
            inboxes: trigger.inboxes.clone(),
            poll_s: trigger.read.as_ref().map(|_| trigger.poll_seconds),
        }
    }
}
