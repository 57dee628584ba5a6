//! Tenants and their OAuth clients as JSON.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use clock::timestamp::Timestamp;
use store::{MAX_COUNT, Tenant, TenantOauthClient};

/// A tenant. No number is larger than 1000, which stands for that many or more.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Tenant")]
pub struct TenantRecord {
    pub tenant: String,
    /// Keys that are valid.
    #[schemars(range(max = MAX_COUNT))]
    pub keys: u64,
    /// Connected accounts.
    #[schemars(range(max = MAX_COUNT))]
    pub integrations: u64,
    /// Jobs that wait to be run.
    #[schemars(range(max = MAX_COUNT))]
    pub jobs_pending: u64,
    /// OAuth clients of the tenant.
    #[schemars(range(max = MAX_COUNT))]
    pub oauth_clients: u64,
}

impl From<Tenant> for TenantRecord {
    fn from(tenant: Tenant) -> Self {
        let Tenant { name, keys, integrations, jobs_pending, oauth_clients } = tenant;
        Self { tenant: name, keys, integrations, jobs_pending, oauth_clients }
    }
}

/// A page of tenants.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TenantPage")]
pub struct TenantPageRecord {
    pub tenants: Vec<TenantRecord>,
    /// The `cursor` of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

/// The registration of a tenant with an OAuth provider.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "NewOauthClient")]
#[serde(deny_unknown_fields)]
pub struct NewOauthClientBody {
    /// The id that the provider issued.
    #[schemars(length(min = 1, max = 1024))]
    pub client_id: String,
    /// Left out for a public client.
    #[schemars(with = "Option<ClientSecret>")]
    pub client_secret: Option<String>,
    /// The scopes that users are asked to permit. Without it, those of the connector.
    #[schemars(with = "Option<ScopeList>")]
    pub scopes: Option<Vec<String>>,
    /// The URL that the provider sends users back to, which must lead to the gateway's. Without it,
    /// the gateway's.
    #[schemars(extend("format" = "uri", "maxLength" = 2048))]
    pub redirect_url: Option<String>,
}

#[derive(JsonSchema)]
#[schemars(inline, extend("minLength" = 1, "maxLength" = 4096))]
#[expect(dead_code, reason = "only its schema is used")]
struct ClientSecret(String);

#[derive(JsonSchema)]
#[schemars(inline, extend("maxItems" = 200, "uniqueItems" = true))]
#[expect(dead_code, reason = "only its schema is used")]
struct ScopeList(Vec<OauthScope>);

#[derive(JsonSchema)]
#[schemars(inline, extend("pattern" = r"^[\x21-\x7e]{1,512}$"))]
#[expect(dead_code, reason = "only its schema is used")]
struct OauthScope(String);

/// An OAuth client of a tenant, without its secret.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OauthClient")]
pub struct OauthClientRecord {
    /// The connector or provider that the client is for.
    pub name: String,
    pub tenant: String,
    pub client_id: String,
    /// `false` for a public client.
    pub has_secret: bool,
    /// Null for the scopes of the connector.
    pub scopes: Option<Vec<String>>,
    /// Null for the gateway's.
    pub redirect_url: Option<String>,
    /// The number of accounts that were connected with it.
    pub integrations: u64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl From<TenantOauthClient> for OauthClientRecord {
    fn from(found: TenantOauthClient) -> Self {
        let TenantOauthClient { client, created_at, updated_at, integrations, .. } = found;
        Self {
            name: client.name,
            tenant: client.tenant,
            client_id: client.client_id,
            has_secret: client.secret.is_some(),
            scopes: client.scopes,
            redirect_url: client.redirect_url,
            integrations,
            created_at: created_at.into(),
            updated_at: updated_at.into(),
        }
    }
}

/// The OAuth clients of a tenant, in the order of their names.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OauthClients")]
pub struct OauthClientsRecord {
    pub oauth_clients: Vec<OauthClientRecord>,
    /// The `cursor` of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

/// The client is deleted.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OauthClientDeleted")]
pub struct OauthClientDeletedRecord {
    #[schemars(extend("const" = true))]
    pub deleted: bool,
    /// The number of accounts that were connected with it. Their users must connect them again when
    /// their access tokens end.
    pub integrations: u64,
}
