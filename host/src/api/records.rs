//! Connectors as JSON: the answers of the gateway, which the command line also reads.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::openapi::pagination;
use crate::registry::{Connector, GrantState, HostGrant, Refused, Service, StoredVersion};
use contract::AuthScheme;
use store::Change;

/// The answer of GET /connectors.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ConnectorsRecord {
    /// The live connectors, by identifier.
    pub connectors: Vec<ConnectorRecord>,
    /// The refused files.
    pub refused: Vec<RefusedRecord>,
}

/// One connector, as callers and operators see it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ConnectorRecord {
    pub connector: String,
    pub title: String,
    pub version: String,
    pub sha256: String,
    pub shipped: bool,
    pub live_since: String,
    pub auth_type: String,
    pub hosts: HostsRecord,
    pub upstreams: Vec<UpstreamRecord>,
    pub imprint: ImprintRecord,
    pub operations: Vec<OperationRecord>,
}

/// A connector that an operator has changed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct InstalledRecord {
    #[serde(flatten)]
    pub connector: ConnectorRecord,
    /// `None` if it is not signed.
    pub signature: Option<SignatureRecord>,
    /// The OAuth provider.
    pub provider: Option<String>,
    /// The scopes that users are asked for.
    pub scopes: Vec<String>,
    pub settings: Vec<SettingRecord>,
}

/// The signature of a module.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SignatureRecord {
    /// The id of the key, as minisign writes it.
    pub key: String,
    /// The publisher whose key it is. `None` if no publisher is known: then nobody has checked the signature.
    pub publisher: Option<String>,
}

/// The hosts of a connector.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HostsRecord {
    pub granted: Vec<String>,
    pub missing: Vec<String>,
}

/// One service that a connector calls, with the place of the user's credential in requests to it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UpstreamRecord {
    pub name: String,
    pub host: Option<String>,
    pub link_hosts: Vec<String>,
    pub credential: Option<CredentialRecord>,
}

/// The place of a credential.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CredentialRecord {
    pub r#in: String,
    pub name: String,
}

/// The imprint of a connector.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ImprintRecord {
    pub license: String,
    pub homepage: Option<String>,
    pub author: Option<String>,
}

/// An operation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OperationRecord {
    pub path: String,
    pub summary: String,
    pub effect: String,
    #[serde(rename = "x-pagination", default, skip_serializing_if = "Option::is_none")]
    pub pagination: Option<Value>,
}

/// A setting that the operator may make.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SettingRecord {
    pub name: String,
    pub default: Option<String>,
    pub documentation: String,
}

/// A refused file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RefusedRecord {
    pub file: String,
    pub sha256: String,
    pub reason: String,
    pub refused_at: String,
    pub serving: Option<String>,
}

/// A stored version of a connector.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct VersionRecord {
    pub version: Option<String>,
    pub sha256: String,
    pub live_at: String,
    pub by: Option<String>,
    pub shipped: bool,
    pub live: bool,
}

/// A host of a connector.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GrantRecord {
    pub connector: String,
    pub host: String,
    pub state: GrantStateRecord,
}

/// The state of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantStateRecord {
    Granted,
    Configured,
    Missing,
    Unnamed,
}

/// A change of a connector.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ChangeRecord {
    pub at: String,
    pub connector: String,
    pub action: String,
    pub by: ActorRecord,
    pub version: String,
    pub sha256: String,
    pub detail: String,
}

/// The actor of a change.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ActorRecord {
    pub kind: String,
    pub name: String,
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
                pagination: manifest.pagination.as_ref().map(pagination),
            }
        });
        let imprint = &manifest.imprint;
        Self {
            connector: manifest.identifier.clone(),
            title: manifest.title.clone(),
            version: manifest.version.clone(),
            sha256: connector.digest().to_owned(),
            shipped: connector.is_shipped(),
            live_since: humantime::format_rfc3339_millis(connector.live_since()).to_string(),
            auth_type: manifest.auth.name().to_owned(),
            hosts: HostsRecord { granted: owned(connector.granted_hosts()), missing: owned(connector.missing_hosts()) },
            upstreams: connector.services().iter().map(upstream).collect(),
            imprint: ImprintRecord {
                license: imprint.license.clone(),
                homepage: imprint.homepage.clone(),
                author: imprint.author.clone(),
            },
            operations: operations.collect(),
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
        Self { connector: connector.into(), signature, provider, scopes, settings }
    }
}

impl From<&StoredVersion> for VersionRecord {
    fn from(stored: &StoredVersion) -> Self {
        Self {
            version: stored.version.clone(),
            sha256: stored.digest.clone(),
            live_at: humantime::format_rfc3339_seconds(stored.live_at).to_string(),
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
            at: humantime::format_rfc3339_seconds(at).to_string(),
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
    /// The reason has texts of the module and of the configuration, which are for admins only.
    pub fn of(refused: &Refused, with_reason: bool) -> Self {
        const SHORT: &str = "it is not accepted; a key with the scope `admin` sees the reason";
        Self {
            file: refused.file.clone(),
            sha256: refused.digest.clone(),
            reason: if with_reason { refused.reason.clone() } else { SHORT.to_owned() },
            refused_at: humantime::format_rfc3339_millis(refused.at).to_string(),
            serving: refused.serving.clone(),
        }
    }
}

fn upstream(service: &Service) -> UpstreamRecord {
    let Service { name, host, link_hosts, credential } = service.clone();
    let credential = credential.map(|place| CredentialRecord { r#in: place.part.to_owned(), name: place.name });
    UpstreamRecord { name, host, link_hosts, credential }
}
