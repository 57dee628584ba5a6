//! The registration of a tenant with an OAuth provider.

use std::time::SystemTime;

use crate::Sealed;
use crate::integrations::read_sealed;
use crate::records::record;

record! {
    row =>
    /// A client to set.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct NewOauthClient {
        /// The tenant.
        pub tenant: String,
        /// A connector, or a provider of shipped connectors.
        pub name: String,
        /// The id that the provider issued.
        pub client_id: String,
        /// The secret, sealed with [`TenantOauthClient::context`]. `None` for a public client.
        pub secret: Option<Sealed> = read_sealed(row)?,
        /// The scopes that users are asked to permit. `None` for the scopes of the connector.
        pub scopes: Option<Vec<String>> =
            row.read::<Option<String>>()?.map(|text| serde_json::from_str(&text).unwrap_or_default()),
        /// The URL that the provider sends users back to. `None` for the gateway's.
        pub redirect_url: Option<String>,
    }
}

record! {
    /// A client of a tenant, as it is stored.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct TenantOauthClient {
        /// The primary key. Integrations and authorizations remember it.
        pub id: String,
        /// The client.
        pub client: NewOauthClient,
        /// Time at which this client was first set.
        pub created_at: SystemTime,
        /// Time of the last change.
        pub updated_at: SystemTime,
        /// The number of integrations that were connected with it.
        pub integrations: u64,
    }
}

impl TenantOauthClient {
    /// The context in which the secret of a client is sealed.
    pub fn context<'a>(tenant: &'a str, name: &'a str) -> [&'a str; 3] {
        ["oauth_client", tenant, name]
    }
}
