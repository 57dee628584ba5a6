//! Bodies and answers of the operator's routes: keys, integrations, jobs and webhooks of all
//! tenants, and the audit. The command line prints these records too.

use std::time::SystemTime;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use auth::Scope;
use clock::timestamp::Timestamp;
use integrations::{IntegrationRecord, is_overdue, labels_schema, last_error};
use jobs::AnyJobRecord;
use store::{AccountAddress, ApiKey, AuditAction, AuditEntry, Integration, Labels, Shown};
use webhooks::AnyWebhookRecord;

/// The name of a scope.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(rename = "Scope", extend("enum" = Scope::ALL.map(Scope::name)))]
pub struct ScopeName(pub String);

/// The name of an effect.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(rename = "Effect", extend("enum" = ["read", "write", "destructive"]))]
pub struct EffectName(pub String);

/// A key to make.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewKey {
    /// The purpose of the key, so that you know later which one to revoke.
    #[schemars(
        length(min = 1, max = 256),
        regex(pattern = r"^[^\s\x00-\x1f\x7f]([^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f])?$")
    )]
    pub name: String,
    /// The tenant whose data the key gives access to. The default is `default`.
    #[schemars(with = "Option<Name>")]
    pub tenant: Option<String>,
    /// The user that the key acts for. Without it, the key acts for the tenant.
    #[schemars(with = "Option<Name>")]
    pub subject: Option<String>,
    #[schemars(length(min = 1), extend("uniqueItems" = true))]
    pub scopes: Vec<ScopeName>,
    /// The connectors and operations (`connector/operation`) that the key may call. Without it, the
    /// key may call all.
    #[schemars(with = "Option<AllowList>")]
    pub allow: Option<Vec<String>>,
    /// The effects of operations that the key may call. Without it, the key may call all.
    #[schemars(with = "Option<EffectList>")]
    pub effects: Option<Vec<EffectName>>,
    /// `true`: agents that use the key must confirm each call of a destructive operation. The
    /// default is `false`.
    pub confirm: Option<bool>,
    /// The time from which the gateway refuses the key. Without it, the key never expires.
    #[schemars(extend("format" = "date-time"))]
    pub expires_at: Option<String>,
}

/// A text on one line.
#[derive(JsonSchema)]
#[schemars(inline, extend("minLength" = 1, "maxLength" = 256, "pattern" = r"^[^\s\x00-\x1f\x7f]([^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f])?$"))]
#[expect(dead_code, reason = "only its schema is used")]
pub struct Name(String);

#[derive(JsonSchema)]
#[schemars(inline, extend("minItems" = 1, "maxItems" = 1000, "uniqueItems" = true))]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) struct AllowList(Vec<Allowed>);

#[derive(JsonSchema)]
#[schemars(inline, extend("pattern" = "^[a-z0-9_-]{1,64}(/[A-Za-z0-9_-]{1,128})?$"))]
#[expect(dead_code, reason = "only its schema is used")]
struct Allowed(String);

#[derive(JsonSchema)]
#[schemars(inline, extend("minItems" = 1, "uniqueItems" = true))]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) struct EffectList(Vec<EffectName>);

/// An API key, without the key itself.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Key")]
pub struct KeyRecord {
    pub id: String,
    pub name: String,
    /// The first characters of the key, so that people recognise it. Empty if a person chose the
    /// key.
    pub prefix: String,
    pub tenant: String,
    /// The user that the key acts for; null if it acts for the tenant.
    pub subject: Option<String>,
    pub scopes: Vec<ScopeName>,
    /// The connectors and operations that the key may call; null if it may call all.
    pub allow: Option<Vec<String>>,
    /// The effects of operations that the key may call; null if it may call all.
    pub effects: Option<Vec<EffectName>>,
    /// `true` if agents that use the key must confirm each call of a destructive operation.
    pub confirm: bool,
    pub created_at: Timestamp,
    /// Who made it, as GET /admin/audit names actors; null if that was not kept.
    pub created_by: Option<String>,
    /// The time from which the gateway refuses it; null if it never expires.
    pub expires_at: Option<Timestamp>,
    /// At most a minute late; null if it was never used.
    pub last_used_at: Option<Timestamp>,
    /// The time at which it was revoked; null if it is valid.
    pub revoked_at: Option<Timestamp>,
}

impl From<ApiKey> for KeyRecord {
    fn from(key: ApiKey) -> Self {
        Self {
            id: key.id.0,
            name: key.name,
            prefix: key.prefix,
            tenant: key.tenant,
            subject: key.subject,
            scopes: key.scopes.split_whitespace().map(|name| ScopeName(name.to_owned())).collect(),
            allow: key.allow.map(|text| serde_json::from_str(&text).unwrap_or_default()),
            effects: key
                .effects
                .map(|names| names.split_whitespace().map(|name| EffectName(name.to_owned())).collect()),
            confirm: key.confirm,
            created_at: key.created_at.into(),
            created_by: Some(key.created_by).filter(|by| !by.is_empty()),
            expires_at: key.expires_at.map(Timestamp::from),
            last_used_at: key.last_used_at.map(Timestamp::from),
            revoked_at: key.revoked_at.map(Timestamp::from),
        }
    }
}

/// A key that was just made.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CreatedKey")]
pub struct CreatedKeyRecord<'a> {
    #[serde(flatten)]
    pub record: KeyRecord,
    /// The key itself, which is shown only now.
    #[schemars(with = "String")]
    pub key: Shown<'a>,
}

/// A page of keys.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "KeyPage")]
pub struct KeyPageRecord {
    pub keys: Vec<KeyRecord>,
    /// The `cursor` of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

/// The key is revoked.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "KeyRevoked")]
pub struct KeyRevokedRecord {
    pub id: String,
    #[schemars(extend("const" = true))]
    pub revoked: bool,
}

/// An account of a user of any tenant.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AnyIntegration")]
pub struct AnyIntegrationRecord<'a> {
    id: &'a str,
    tenant: &'a str,
    /// The user; null if the account belongs to the tenant itself.
    subject: Option<&'a str>,
    #[serde(flatten)]
    integration: IntegrationRecord<'a>,
    /// `true` if the refresh of its tokens was due a minute ago or earlier, and was not done or has
    /// failed since.
    overdue: bool,
    /// The last failure of a refresh since the last success.
    last_error: Option<String>,
}

impl<'a> AnyIntegrationRecord<'a> {
    pub fn at(integration: &'a Integration, now: SystemTime) -> Self {
        Self {
            id: &integration.id,
            tenant: &integration.holder.tenant,
            subject: Some(&*integration.holder.subject).filter(|subject| !subject.is_empty()),
            integration: IntegrationRecord::at(integration, now),
            overdue: is_overdue(integration, now),
            last_error: last_error(integration, now),
        }
    }
}

/// A page of integrations of all tenants.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AnyIntegrationPage")]
pub struct AnyIntegrationPageRecord<'a> {
    pub integrations: Vec<AnyIntegrationRecord<'a>>,
    /// The `cursor` of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

/// A line of POST /admin/integrations/import: an account of another system.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportLine {
    #[schemars(with = "Name")]
    pub tenant: String,
    /// The user. Without it, the account belongs to the tenant itself.
    #[schemars(with = "Option<Name>")]
    pub subject: Option<String>,
    #[schemars(regex(pattern = "^[a-z0-9_-]{1,64}$"))]
    pub connector: String,
    /// The name of the account.
    #[schemars(with = "Name", extend("not" = {"enum": [".", ".."]}))]
    pub user_identifier: String,
    pub credentials: ImportCredentials,
    /// The scopes that the user has permitted. Without it, those of the connector.
    pub scopes: Option<Vec<String>>,
    pub account: Option<ImportAccount>,
    /// The parts of the account's address at the service. Connectors whose accounts have different
    /// addresses need all of them.
    pub address: Option<AccountAddress>,
    #[serde(default)]
    #[schemars(schema_with = "schema_of_imported_labels")]
    pub labels: Option<Labels>,
}

fn schema_of_imported_labels(_: &mut SchemaGenerator) -> Schema {
    Schema::try_from(labels_schema(true)).unwrap_or_default()
}

/// Which members are needed depends on the connector. Other members are not used.
#[derive(Deserialize, JsonSchema)]
pub struct ImportCredentials {
    #[schemars(with = "Option<Secret>")]
    pub access_token: Option<String>,
    /// Without an `access_token`, the first call refreshes.
    #[schemars(with = "Option<Secret>")]
    pub refresh_token: Option<String>,
    /// The end of the access token. Without it, the token does not end.
    #[schemars(extend("format" = "date-time"))]
    pub expires_at: Option<String>,
    #[schemars(with = "Option<Secret>")]
    pub api_key: Option<String>,
    #[schemars(with = "Option<Secret>")]
    pub username: Option<String>,
    #[schemars(with = "Option<Secret>")]
    pub password: Option<String>,
    /// The id of a key of AWS that signs requests.
    pub access_key_id: Option<String>,
    #[schemars(with = "Option<Secret>")]
    pub secret_access_key: Option<String>,
    #[schemars(with = "Option<Secret>")]
    pub session_token: Option<String>,
    /// The id of another key that signs requests.
    pub key_id: Option<String>,
    /// The secret of that key.
    #[schemars(with = "Option<Secret>")]
    pub secret: Option<String>,
    /// The credentials from which the gateway gets access tokens: the `credentials` that `auth-schema`
    /// describes, with a `type`: `client_credentials`, `service_account` or `app_installation`. Without
    /// an `access_token`, the first call gets one.
    #[schemars(with = "Option<Map<String, Value>>", extend("writeOnly" = true))]
    pub grant: Option<Box<RawValue>>,
}

#[derive(JsonSchema)]
#[schemars(inline, extend("minLength" = 1, "maxLength" = 65536, "writeOnly" = true))]
#[expect(dead_code, reason = "only its schema is used")]
struct Secret(String);

/// The person's account at the service.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportAccount {
    pub id: Option<String>,
    pub email: Option<String>,
    pub name: Option<String>,
}

/// The answer to a line of an import.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ImportedLine")]
pub struct ImportLineRecord {
    /// The number of the line. The first one is 1.
    line: u64,
    #[schemars(extend("enum" = ["created", "unchanged", "replaced", "refused"]))]
    status: &'static str,
    /// The id of the integration, unless the line is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    id: Option<String>,
    /// Why the line is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    error: Option<String>,
}

impl ImportLineRecord {
    pub fn done(line: u64, status: &'static str, id: String) -> Self {
        Self { line, status, id: Some(id), error: None }
    }

    pub fn refused(line: u64, error: String) -> Self {
        Self { line, status: "refused", id: None, error: Some(error) }
    }
}

/// A page of jobs of all tenants.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AnyJobPage")]
pub struct AnyJobPageRecord {
    /// Without `result` and `callbacks`, which GET /admin/jobs/{job_id} has.
    #[schemars(with = "Vec<AnyJobRecord>")]
    pub jobs: Vec<Box<RawValue>>,
    /// The `cursor` of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

/// A page of webhooks of all tenants.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AnyWebhookPage")]
pub struct AnyWebhookPageRecord {
    pub webhooks: Vec<AnyWebhookRecord>,
    /// The `cursor` of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

/// A change.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AuditEntry")]
pub struct AuditEntryRecord {
    pub id: String,
    pub at: Timestamp,
    /// The id of an API key; or `token:TENANT/SUBJECT`, `person:USER@MACHINE`,
    /// `user:TENANT/SUBJECT`, `file:FOLDER` or `gateway`. A person who signed in at an OpenID
    /// provider is `person:SUBJECT@HOST`.
    pub actor: String,
    #[schemars(extend("enum" = AuditAction::ALL.map(AuditAction::name).as_slice()))]
    pub action: String,
    /// The id of what was changed.
    pub target: String,
    /// Null if the change belongs to no tenant.
    pub tenant: Option<String>,
    /// Null if no request made the change.
    pub request_id: Option<String>,
    /// More about it, for people, with the reason if one was given.
    pub detail: String,
}

impl From<AuditEntry> for AuditEntryRecord {
    fn from(entry: AuditEntry) -> Self {
        Self {
            id: format!("aud_{}", entry.number),
            at: entry.at.into(),
            actor: entry.actor,
            action: entry.action,
            target: entry.target,
            tenant: Some(entry.tenant).filter(|tenant| !tenant.is_empty()),
            request_id: Some(entry.request_id).filter(|id| !id.is_empty()),
            detail: entry.detail,
        }
    }
}

/// A page of the audit.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AuditPage")]
pub struct AuditPageRecord {
    pub entries: Vec<AuditEntryRecord>,
    /// The `cursor` of the next page; null on the last page.
    pub next_cursor: Option<String>,
}
