//! Connectors as JSON. The command line reads these records too.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use super::declared_events::{DeclaredInboxRecord, DeclaredTriggerRecord};
use crate::pagination::pagination_rule;
use crate::records::ConnectorAtGatewayRecord;
use clock::timestamp::Timestamp;
use contract::AuthScheme;
use integrations::AuthTypeName;
use registry::{Connector, GrantState, HostGrant, Refused, Service, StoredVersion};
use store::Change;

/// The answer of GET /connectors.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Connectors")]
pub struct ConnectorsRecord {
    /// The live connectors, by identifier.
    pub connectors: Vec<ConnectorRecord>,
    /// The files that were refused.
    pub refused: Vec<RefusedRecord>,
}

/// One connector, as callers and operators see it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Connector")]
pub struct ConnectorRecord {
    /// Its identifier, which is a part of paths.
    pub connector: String,
    pub title: String,
    pub version: String,
    /// Digest of the module in hexadecimal digits.
    pub sha256: String,
    /// `true` if it came with the gateway.
    pub shipped: bool,
    pub live_since: Timestamp,
    #[schemars(with = "AuthTypeName")]
    pub auth_type: String,
    pub hosts: HostsRecord,
    pub upstreams: Vec<UpstreamRecord>,
    pub imprint: ImprintRecord,
    pub operations: Vec<OperationRecord>,
    /// How the service notifies the gateway of events.
    #[serde(default)]
    pub inboxes: Vec<DeclaredInboxRecord>,
    /// The types of events, of which GET /trigger-types has the schemas.
    #[serde(default)]
    pub triggers: Vec<DeclaredTriggerRecord>,
}

/// A connector that an operator has changed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "InstalledConnector")]
pub struct InstalledRecord {
    #[serde(flatten)]
    pub connector: ConnectorRecord,
    /// Null if the module is not signed.
    pub signature: Option<SignatureRecord>,
    /// The OAuth provider.
    pub provider: Option<String>,
    /// The scopes that the authorization of a user requests.
    pub scopes: Vec<String>,
    pub settings: Vec<SettingRecord>,
    /// Digest of the module in hexadecimal digits.
    pub digest: String,
    /// The number of the change. It grows with each change of the connector.
    #[serde(default)]
    pub generation: i64,
    /// The hosts that were granted with this change.
    #[serde(default)]
    pub newly_granted: Vec<String>,
    /// The time that the gateway compiled the module for, in milliseconds. Null if it had the compiled
    /// module already.
    #[serde(default)]
    pub compiled_in_ms: Option<u64>,
    /// What each gateway made of the change. Only with `?wait`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<ConnectorAtGatewayRecord>")]
    pub gateways: Option<Vec<ConnectorAtGatewayRecord>>,
}

/// The signature of a module.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ModuleSignature")]
pub struct SignatureRecord {
    /// The id of the key, as minisign writes it.
    pub key: String,
    /// The publisher in `[trust]` whose key it is. Null if the configuration has no publishers:
    /// then the signature was not checked.
    pub publisher: Option<String>,
}

/// The hosts of a connector.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ConnectorHosts")]
pub struct HostsRecord {
    pub granted: Vec<String>,
    pub missing: Vec<String>,
}

/// One service that a connector calls, with the place of the user's credential in requests to it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ConnectorUpstream")]
pub struct UpstreamRecord {
    pub name: String,
    /// Null if the operator has set no URL.
    pub host: Option<String>,
    pub link_hosts: Vec<String>,
    pub credential: Option<CredentialRecord>,
}

/// The place of a credential in a request.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CredentialPlace")]
pub struct CredentialRecord {
    #[schemars(extend("enum" = ["header", "query", "form_field"]))]
    pub r#in: String,
    pub name: String,
}

/// The imprint of a connector.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ConnectorImprint")]
pub struct ImprintRecord {
    pub license: String,
    pub homepage: Option<String>,
    pub author: Option<String>,
}

/// An operation of a connector.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ConnectorOperation")]
pub struct OperationRecord {
    pub path: String,
    pub summary: String,
    #[schemars(extend("enum" = ["read", "write", "destructive"]))]
    pub effect: String,
    /// The request that the operation sends: method, upstream, path with the names of fields in
    /// braces, default parameters in brackets, and fixed members of the body. `code` if the
    /// connector's code composes its requests.
    pub sends: String,
    /// As in GET /openapi.json.
    #[serde(rename = "x-pagination", default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "serde_json::Map<String, Value>")]
    pub pagination: Option<Value>,
}

/// A setting that the operator may make.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ConnectorSetting")]
pub struct SettingRecord {
    pub name: String,
    /// As JSON.
    pub default: Option<String>,
    pub documentation: String,
}

/// A file that was refused.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RefusedModule")]
pub struct RefusedRecord {
    pub file: String,
    /// Empty if the file cannot be read.
    pub sha256: String,
    pub reason: String,
    pub refused_at: Timestamp,
    /// Digest of the version that serves in its place.
    pub serving: Option<String>,
}

/// The answer of GET /admin/connectors/{connector}/versions.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StoredVersions")]
pub struct VersionsRecord {
    pub versions: Vec<VersionRecord>,
    /// The `cursor` of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

/// A stored version of a connector.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StoredVersion")]
pub struct VersionRecord {
    /// The version in its manifest; null if the module is refused now.
    pub version: Option<String>,
    pub sha256: String,
    /// The last time it became live.
    pub live_at: Timestamp,
    /// The actor that made it live; null if the history no longer says so.
    pub by: Option<String>,
    /// `true` if it came with the gateway.
    pub shipped: bool,
    /// `true` if it is live now.
    pub live: bool,
}

/// The answer of the routes that list or change grants.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ConnectorGrants")]
pub struct GrantsRecord {
    pub grants: Vec<GrantRecord>,
    /// The `cursor` of the next page; null on the last page, and after a change of grants.
    pub next_cursor: Option<String>,
}

/// A host of a connector.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "HostGrant")]
pub struct GrantRecord {
    pub connector: String,
    pub host: String,
    pub state: GrantStateRecord,
}

/// Whether a connector may reach a host. `granted`: by the operator. `configured`: the
/// configuration or the manifest allows it. `missing`: needed and not granted. `unnamed`: granted,
/// and no upstream names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum GrantStateRecord {
    Granted,
    Configured,
    Missing,
    Unnamed,
}

/// The answer of the routes that list the history.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ConnectorHistory")]
pub struct HistoryRecord {
    pub changes: Vec<ChangeRecord>,
}

/// A change of a connector.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ConnectorChange")]
pub struct ChangeRecord {
    pub at: Timestamp,
    pub connector: String,
    #[schemars(extend("enum" = ["added", "replaced", "removed", "rolled_back", "granted", "revoked"]))]
    pub action: String,
    pub by: ActorRecord,
    pub version: String,
    pub sha256: String,
    /// Hosts that were granted or revoked, and the additional rights that an update requested. May
    /// be empty.
    pub detail: String,
}

/// The actor of a change.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ConnectorActor")]
pub struct ActorRecord {
    #[schemars(extend("enum" = ["api_key", "token", "person", "command_line", "modules_dir", "shipped_dir"]))]
    pub kind: String,
    pub name: String,
}

/// The answer of DELETE /admin/connectors/{connector}.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "ConnectorRemoved")]
pub struct RemovedRecord<'a> {
    pub connector: &'a str,
    #[schemars(extend("const" = true))]
    pub removed: bool,
    /// The number of the change. It grows with each change of the connector.
    pub generation: i64,
    /// Digest of the shipped module that is live again. Null if there is none.
    pub digest: Option<String>,
    /// What each gateway made of the change. Only with `?wait`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<ConnectorAtGatewayRecord>")]
    pub gateways: Option<Vec<ConnectorAtGatewayRecord>>,
}

impl From<&Connector> for ConnectorRecord {
    fn from(connector: &Connector) -> Self {
        let manifest = connector.manifest();
        let owned = |hosts: Vec<&str>| hosts.into_iter().map(str::to_owned).collect();
        let operations = connector.operations().map(|operation| {
            let manifest = &operation.manifest;
            OperationRecord {
                path: manifest.path.clone(),
                summary: manifest.summary.clone(),
                effect: manifest.effect.name().to_owned(),
                sends: operation.sends(),
                pagination: pagination_rule(operation),
            }
        });
        let imprint = &manifest.imprint;
        Self {
            connector: manifest.identifier.clone(),
            title: manifest.title.clone(),
            version: manifest.version.clone(),
            sha256: connector.digest().to_owned(),
            shipped: connector.is_shipped(),
            live_since: connector.live_since().into(),
            auth_type: manifest.auth.name().to_owned(),
            hosts: HostsRecord { granted: owned(connector.granted_hosts()), missing: owned(connector.missing_hosts()) },
            upstreams: connector.services().iter().map(upstream).collect(),
            imprint: ImprintRecord {
                license: imprint.license.clone(),
                homepage: imprint.homepage.clone(),
                author: imprint.author.clone(),
            },
            operations: operations.collect(),
            inboxes: connector.inboxes().iter().map(DeclaredInboxRecord::from).collect(),
            triggers: connector.triggers().iter().map(DeclaredTriggerRecord::from).collect(),
        }
    }
}

impl From<&Connector> for InstalledRecord {
    fn from(connector: &Connector) -> Self {
        let manifest = connector.manifest();
        let (provider, scopes) = match &manifest.auth {
            AuthScheme::Oauth2(scheme) => (Some(scheme.provider.clone()), scheme.scopes.clone()),
            AuthScheme::None | AuthScheme::ApiKey(_) => (None, Vec::new()),
        };
        let setting = |setting: &contract::Setting| SettingRecord {
            name: setting.name.clone(),
            default: setting.default.clone(),
            documentation: setting.documentation.clone(),
        };
        let settings = manifest.settings.iter().map(setting).collect();
        let signature = connector
            .signed()
            .map(|signed| SignatureRecord { key: signed.key_id.clone(), publisher: signed.publisher.clone() });
        let digest = connector.digest().to_owned();
        Self {
            connector: connector.into(),
            signature,
            provider,
            scopes,
            settings,
            digest,
            generation: 0,
            newly_granted: Vec::new(),
            compiled_in_ms: connector.compiled().took.map(|took| took.as_millis() as u64),
            gateways: None,
        }
    }
}

impl From<&StoredVersion> for VersionRecord {
    fn from(stored: &StoredVersion) -> Self {
        Self {
            version: stored.version.clone(),
            sha256: stored.digest.clone(),
            live_at: stored.live_at.into(),
            by: stored.by.clone(),
            shipped: stored.is_shipped,
            live: stored.is_live,
        }
    }
}

impl From<&HostGrant> for GrantRecord {
    fn from(grant: &HostGrant) -> Self {
        let state = match grant.state {
            GrantState::Granted => GrantStateRecord::Granted,
            GrantState::Configured => GrantStateRecord::Configured,
            GrantState::Missing => GrantStateRecord::Missing,
            GrantState::Unnamed => GrantStateRecord::Unnamed,
        };
        Self { connector: grant.connector.clone(), host: grant.host.clone(), state }
    }
}

impl From<Change> for ChangeRecord {
    fn from(change: Change) -> Self {
        let Change { at, connector, action, actor_kind, actor, version, digest, detail, .. } = change;
        Self {
            at: at.into(),
            connector,
            action,
            by: ActorRecord { kind: actor_kind, name: actor },
            version,
            sha256: digest,
            detail,
        }
    }
}

impl RefusedRecord {
    /// The record with or without the reason. A reason has texts of the module and of the
    /// configuration, which are for admins only.
    pub fn of_refused(refused: &Refused, with_reason: bool) -> Self {
        const SHORT: &str = "it is not accepted; a key with the scope `admin` sees the reason";
        Self {
            file: refused.file.clone(),
            sha256: refused.digest.clone(),
            reason: if with_reason { refused.reason.clone() } else { SHORT.to_owned() },
            refused_at: refused.at.into(),
            serving: refused.serving.clone(),
        }
    }
}

fn upstream(service: &Service) -> UpstreamRecord {
    let Service { name, host, link_hosts, credential } = service.clone();
    let credential = credential.map(|place| CredentialRecord { r#in: place.part.to_owned(), name: place.name });
    UpstreamRecord { name, host, link_hosts, credential }
}
