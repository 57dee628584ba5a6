//! Bodies and answers of the routes of integrations.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use clock::timestamp::Timestamp;
use integrations::{AuthTypeName, DEVICE_CODE, IntegrationRecord, labels_schema};
use store::{AccountAddress, Labels};

/// GET …/auth-schema has the exact schema for a connector.
// That schema has accepted the body before it is read into this.
#[derive(Deserialize, JsonSchema)]
pub struct AuthorizationInit<'a> {
    #[schemars(with = "AuthTypeName")]
    pub auth_type: String,
    /// For oauth2: the URL that the user is sent to in the end, with `status=success` or
    /// `status=error` in the query.
    #[schemars(extend("format" = "uri"))]
    pub callback_url: Option<String>,
    /// The name of the integration. The default is the account's email address or id at the
    /// service.
    pub user_identifier: Option<String>,
    /// For oauth2 and oauth2_device_code: true if another account may replace the one that is
    /// connected under `user_identifier`.
    pub replace: Option<bool>,
    /// For oauth2: true if the account is used only after POST
    /// …/integrations/{user_identifier}/confirm. The `callback_url` gets `status=pending` and a
    /// `completion` for that.
    pub confirm: Option<bool>,
    /// Texts about the account, such as the team that uses it. If they are left out, an account
    /// that was connected under `user_identifier` before keeps its labels.
    pub labels: Option<Labels>,
    /// For connectors whose accounts have different addresses: the parts of the address that the user
    /// knows, such as a subdomain.
    pub address: Option<AccountAddress>,
    /// For all auth types except oauth2, oauth2_device_code and none: the key, or the credentials from
    /// which the gateway gets access tokens.
    // Not parsed here, so that no copy of a secret is left in memory.
    #[serde(borrow, default)]
    #[schemars(with = "Map<String, Value>", extend("writeOnly" = true))]
    pub credentials: Option<&'a RawValue>,
}

/// Changes an integration.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IntegrationChange {
    /// At most 16 texts about the account, which replace all previous ones.
    #[schemars(schema_with = "schema_of_labels")]
    pub labels: Labels,
}

fn schema_of_labels(_: &mut SchemaGenerator) -> Schema {
    Schema::try_from(labels_schema(false)).unwrap_or_default()
}

/// Confirms a pending grant.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Confirmation {
    /// From the query of `callback_url`. It is accepted once, for ten minutes.
    #[schemars(length(min = 1, max = 128))]
    pub completion: String,
}

/// An authorization that was begun.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AuthorizationBegun")]
pub struct AuthorizationBegunRecord<'a> {
    #[schemars(extend("const" = "oauth2"))]
    pub auth_type: &'static str,
    /// Send the user's browser to this URL.
    #[schemars(extend("format" = "uri"))]
    pub authorization_url: &'a str,
    /// Comes back with the user, once.
    pub state: &'a str,
    pub expires_at: Timestamp,
}

/// An authorization that the user completes on any device. Show the user the code and the page.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DeviceAuthorization")]
pub struct DeviceAuthorizationRecord<'a> {
    #[schemars(extend("const" = DEVICE_CODE))]
    pub auth_type: &'static str,
    /// GET /connectors/{connector}/authorizations/{authorization_id} has the result.
    pub authorization_id: &'a str,
    /// The code that the user enters at `verification_uri`.
    pub user_code: &'a str,
    #[schemars(extend("format" = "uri"))]
    pub verification_uri: &'a str,
    /// The page with the code already entered, for a link or a QR code; null if the provider has none.
    pub verification_uri_complete: Option<&'a str>,
    /// The seconds in which the user can enter the code.
    pub expires_in: u64,
    pub expires_at: Timestamp,
}

/// The progress of an authorization that was begun with a device code.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AuthorizationProgress")]
pub struct AuthorizationProgressRecord<'a> {
    pub authorization_id: &'a str,
    pub status: AuthorizationStatus,
    /// The integration, if `status` is `connected`.
    pub user_identifier: Option<String>,
    /// Why no account was connected, if `status` is `failed`: `access_denied` if the user has
    /// declined, `expired_token` if the time is over, `other_account` if another account is connected
    /// under the name, or another code of the provider or of the gateway.
    pub error: Option<String>,
}

/// The state of an authorization.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AuthorizationStatus {
    /// The user has not decided yet.
    Pending,
    /// The account is connected.
    Connected,
    /// No account is connected.
    Failed,
}

/// A page of integrations.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "IntegrationPage")]
pub struct IntegrationPageRecord<'a> {
    pub integrations: Vec<IntegrationRecord<'a>>,
    /// The `cursor` of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

/// Whether the caller's user has connected an account.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "IntegrationExists")]
pub struct IntegrationExistsRecord {
    pub exists: bool,
    /// `true` if the connector's operations need an integration.
    pub required: bool,
    /// The integration that an operation would run on; null if it could not choose one.
    pub user_identifier: Option<String>,
}

/// The answer to a removal.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "IntegrationDeleted")]
pub struct IntegrationDeletedRecord {
    #[schemars(extend("const" = true))]
    pub deleted: bool,
    /// `true` if the service has revoked the access.
    pub revoked: bool,
    /// The subscriptions of its triggers at the service, which end before the access does. Absent if
    /// there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SubscriptionsEndedRecord")]
    pub subscriptions: Option<SubscriptionsEndedRecord>,
}

/// The subscriptions of an account that was deleted.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SubscriptionsEnded")]
pub struct SubscriptionsEndedRecord {
    /// Those that ended at the service.
    pub ended: usize,
    /// Those that the service did not end. They end there by themselves.
    pub not_ended: usize,
}
