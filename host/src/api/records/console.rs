//! Answers of the routes of the console.

use schemars::JsonSchema;
use serde::Serialize;

use super::operator::ScopeName;
use crate::timestamp::Timestamp;

/// A session of an operator at the console.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ConsoleSession")]
pub struct ConsoleSessionRecord {
    /// The API key that the operator signed in with.
    pub key_id: String,
    /// The tenant of the key.
    pub tenant: String,
    /// The scopes of the key.
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
