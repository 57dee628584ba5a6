//! Bodies and answers about links to the page on which an end user connects accounts.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::operator::Name;
use clock::timestamp::Timestamp;
use integrations::labels_schema;
use store::Labels;

/// A link to make.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConnectLinkInit {
    /// The identifiers of the connectors, in the order of the page.
    #[schemars(length(min = 1, max = 20), extend("uniqueItems" = true))]
    pub connectors: Vec<String>,
    /// The name of the integrations. The default is the account's email address or id at the
    /// service.
    #[schemars(with = "Option<Name>", extend("not" = {"enum": [".", ".."]}))]
    pub user_identifier: Option<String>,
    /// The page that the user is sent to in the end, with `status` and `connect_link` in the query.
    /// `status` is `success` if every account is connected, else `incomplete`.
    #[schemars(extend("format" = "uri"), length(max = 2048))]
    pub callback_url: Option<String>,
    #[serde(default)]
    #[schemars(schema_with = "labels")]
    pub labels: Option<Labels>,
    /// Seconds for which the link can be used. The default is 900.
    #[schemars(range(min = 60, max = 86400))]
    pub expires_in_s: Option<u64>,
}

fn labels(_: &mut SchemaGenerator) -> Schema {
    Schema::try_from(labels_schema(true)).unwrap_or_default()
}

/// A link that was just made.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ConnectLinkCreated")]
pub struct ConnectLinkCreatedRecord {
    pub id: String,
    /// Send the user there. It is shown only now, and is as secret as a password until the user has
    /// opened it.
    pub url: String,
    pub expires_at: Timestamp,
}

/// A link to the page on which a user connects accounts.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ConnectLink")]
pub struct ConnectLinkRecord {
    pub id: String,
    /// `done` if every account is connected, or if the user has finished without the others;
    /// `expired` if the time is over, or if it was deleted.
    #[schemars(extend("enum" = ["open", "done", "expired"]))]
    pub state: &'static str,
    pub expires_at: Timestamp,
    pub connectors: Vec<LinkedConnectorRecord>,
}

/// A link of a user of any tenant.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AnyConnectLink")]
pub struct AnyConnectLinkRecord {
    pub tenant: String,
    /// The user; null if the accounts belong to the tenant itself.
    pub subject: Option<String>,
    /// The id of the API key or the agent session that made it; null for a JWT.
    pub key_id: Option<String>,
    #[serde(flatten)]
    pub link: ConnectLinkRecord,
}

/// A page of links of all tenants.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AnyConnectLinkPage")]
pub struct AnyConnectLinkPageRecord {
    /// The one that expires last is first.
    pub connect_links: Vec<AnyConnectLinkRecord>,
    /// The `cursor` of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

/// A connector of a link.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LinkedConnector")]
pub struct LinkedConnectorRecord {
    pub connector: String,
    /// `true` if an account was connected by this link, or if the connector needs none.
    pub connected: bool,
    /// The name of the integration that was connected by this link.
    pub user_identifier: Option<String>,
}

/// The end of a link.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ConnectLinkDeleted")]
pub struct LinkDeletedRecord {
    /// `false` if it had ended before.
    pub deleted: bool,
}
