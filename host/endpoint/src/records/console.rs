//! Answers of the routes of the console.

use schemars::JsonSchema;
use serde::Serialize;

use super::operator::ScopeName;
use clock::timestamp::Timestamp;

/// A session of an operator at the console.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ConsoleSession")]
pub struct ConsoleSessionRecord {
    /// The API key that the operator signed in with. Null if a person signed in at an OpenID
    /// provider.
    pub key_id: Option<String>,
    /// The name of the person who signed in at an OpenID provider. Null if a key was used.
    pub person: Option<String>,
    /// The tenant of the key. A person has the tenant `default`.
    pub tenant: String,
    /// The scopes of the key. A person has the scope `admin`.
    pub scopes: Vec<ScopeName>,
    /// The session ends then, or after 30 minutes without a request.
    pub expires_at: Timestamp,
    /// The name of the gateway that answers.
    pub gateway: String,
    /// Its version.
    pub version: &'static str,
    /// The URL at which callers reach the gateway.
    pub public_url: String,
}

/// The session has ended.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ConsoleSignedOut")]
pub struct SignedOutRecord {
    /// `false` if it had ended before.
    pub signed_out: bool,
}

/// The ways to sign in to the console.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ConsoleSignIn")]
pub struct SignInRecord {
    /// The host of the OpenID provider at which people can sign in. Null if only API keys can.
    pub oidc: Option<String>,
}
