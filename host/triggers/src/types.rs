//! The types of events that connectors declare, and the gateway's own types.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::record::TypeRecord;
use super::{GATEWAY, Of, TriggerError, Triggers};
use contract::trigger_types::{Inbox, InboxScope, Trigger, TriggerSource};
use registry::{Connector, Registry};

/// A type of events of the gateway itself.
pub(super) struct GatewayType {
    pub(super) name: &'static str,
    title: &'static str,
    description: &'static str,
}

pub(super) static GATEWAY_TYPES: [GatewayType; 4] = [
    GatewayType {
        name: "integration_connected",
        title: "Account connected",
        description: "A user has connected an account that was not there. If an expired one is connected again, \
                      it is restored; if an active one is, there is no event.",
    },
    GatewayType { name: "integration_deleted", title: "Account deleted", description: "An account was deleted." },
    GatewayType {
        name: "integration_expired",
        title: "Account expired",
        description: "The user must connect the account again.",
    },
    GatewayType {
        name: "integration_restored",
        title: "Account restored",
        description: "An account that had expired works again.",
    },
];

/// The names of the types of events of the gateway itself.
pub fn gateway_types() -> impl Iterator<Item = &'static str> {
    GATEWAY_TYPES.iter().map(|kind| kind.name)
}

/// Parameters of a type that has none.
const NO_PARAMETERS: &str = r#"{"type":"object","properties":{},"additionalProperties":false}"#;

/// The data of events of the gateway: the record of an integration, as callers get it, with its
/// tenant and its subject. An account that was deleted has only the members that are required.
const INTEGRATION: &str = r#"{"type":"object","properties":{"connector":{"type":"string"},"user_identifier":{"type":"string"},"tenant":{"type":"string"},"subject":{"type":["string","null"]},"status":{"type":"string"},"reason":{"type":["object","null"]},"labels":{"type":"object"},"auth_type":{"type":"string"},"selected":{"type":"boolean"},"account":{"type":"object","properties":{"id":{"type":["string","null"]},"email":{"type":["string","null"]},"name":{"type":["string","null"]}}},"scopes":{"type":"array","items":{"type":"string"}}},"required":["connector","user_identifier","tenant","subject","status","reason","labels"]}"#;

/// An example of it, which tests of triggers deliver.
pub(super) const INTEGRATION_EXAMPLE: &str = r#"{"connector":"calendar","user_identifier":"ann@example.com","tenant":"default","subject":null,"status":"active","reason":null,"labels":{},"auth_type":"oauth2","selected":true,"account":{"id":"1","email":"ann@example.com","name":"Ann"},"scopes":["calendar.read"]}"#;

/// A type that a connector declares.
pub(super) struct TypeOf {
    pub(super) connector: Arc<Connector>,
    index: usize,
}

impl TypeOf {
    /// The type of a live connector.
    pub(super) fn find(registry: &Registry, connector: &str, kind: &str) -> Option<Self> {
        let connector = registry.get(connector)?;
        let index = connector.additions().triggers.iter().position(|declared| declared.name == kind)?;
        Some(Self { connector, index })
    }

    /// Its declaration.
    pub(super) fn declared(&self) -> &Trigger {
        // `find` has found the index in this connector.
        &self.connector.additions().triggers[self.index]
    }

    /// The inboxes that the service may notify, in the order of preference.
    pub(super) fn inboxes(&self) -> impl Iterator<Item = &Inbox> {
        let declared = self.declared();
        declared.inboxes.iter().filter_map(|name| inbox_of(&self.connector, name))
    }
}

/// The inbox of this name that a connector declares.
pub(super) fn inbox_of<'a>(connector: &'a Connector, name: &str) -> Option<&'a Inbox> {
    connector.additions().inboxes.iter().find(|inbox| inbox.name == name)
}

impl Triggers {
    /// The types of a connector, or of all, in the order of their names, that a caller may use.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn types(&self, of: Of<'_>, connector: Option<&str>) -> Result<Vec<TypeRecord>, TriggerError> {
        let made = self.parts.store.inboxes().list().await?;
        let serves = |made: &store::Inbox| match of {
            Of::Operator => true,
            Of::Caller { tenant, .. } => made.tenant.is_empty() || made.tenant == tenant,
        };
        let mut types = Vec::new();
        let live = self.parts.registry.live();
        let mut connectors: Vec<&Arc<Connector>> = live.values().collect();
        connectors.sort_unstable_by(|one, other| one.name().cmp(other.name()));
        for found in connectors {
            let is_wanted = connector.is_none_or(|wanted| wanted == &**found.name());
            if !is_wanted {
                continue;
            }
            for (index, declared) in found.additions().triggers.iter().enumerate() {
                if !of.may_use_type(found.name(), &declared.name) {
                    continue;
                }
                let kind = TypeOf { connector: Arc::clone(found), index };
                let is_made = |inbox: &Inbox| {
                    let is_it = |made: &store::Inbox| made.connector == **found.name() && made.inbox == inbox.name;
                    made.iter().any(|made| is_it(made) && serves(made) && is_ready(inbox, made))
                };
                types.push(TypeRecord {
                    connector: found.name().to_string(),
                    kind: declared.name.clone(),
                    title: declared.title.clone(),
                    description: declared.description.clone(),
                    source: match declared.source {
                        TriggerSource::Carried => "carried",
                        TriggerSource::Read => "read",
                    },
                    push: self.push_of(&kind, is_made),
                    poll_s: declared.read.as_ref().map(|_| declared.poll_seconds),
                    parameters: raw(&declared.parameters)?,
                    payload: raw(&declared.payload)?,
                    example: raw(&declared.example)?,
                    scopes: declared.scopes.clone(),
                });
            }
        }
        if connector.is_none_or(|wanted| wanted == GATEWAY) {
            for kind in GATEWAY_TYPES.iter().filter(|kind| of.may_use_type(GATEWAY, kind.name)) {
                types.push(TypeRecord {
                    connector: GATEWAY.to_owned(),
                    kind: kind.name.to_owned(),
                    title: kind.title.to_owned(),
                    description: kind.description.to_owned(),
                    source: "carried",
                    push: "available",
                    poll_s: None,
                    parameters: raw(NO_PARAMETERS)?,
                    payload: raw(INTEGRATION)?,
                    example: raw(INTEGRATION_EXAMPLE)?,
                    scopes: Vec::new(),
                });
            }
        }
        Ok(types)
    }

    /// Says if the service can notify the gateway of events of a type.
    fn push_of(&self, kind: &TypeOf, is_made: impl Fn(&Inbox) -> bool) -> &'static str {
        let mut inboxes = kind.inboxes().peekable();
        if inboxes.peek().is_none() {
            return "none";
        }
        let has_setting = self.has_required_setting(kind);
        let is_ready = |inbox: &Inbox| match inbox.scope {
            InboxScope::Subscription => self.public_url().is_some(),
            InboxScope::Application => has_setting && self.public_url().is_some() && is_made(inbox),
        };
        if inboxes.any(is_ready) { "available" } else { "needs-setup" }
    }

    /// Returns `true` unless the operator must set a value before the service can be asked.
    pub(super) fn has_required_setting(&self, kind: &TypeOf) -> bool {
        let settings = kind.connector.settings();
        kind.declared()
            .requires_setting
            .as_ref()
            .is_none_or(|name| settings.get(name).is_some_and(|value| !matches!(value.as_str(), "null" | "\"\"")))
    }
}

/// Returns `true` if an inbox has what its checks need.
pub(super) fn is_ready(inbox: &Inbox, made: &store::Inbox) -> bool {
    use contract::trigger_types::Check;
    let needs_secret = inbox.checks.iter().any(|check| !matches!(check, Check::Jwt(_)));
    !needs_secret || !made.secrets.is_empty()
}

fn raw(json: &str) -> Result<Box<RawValue>, TriggerError> {
    Ok(serde_json::from_str(json)?)
}
