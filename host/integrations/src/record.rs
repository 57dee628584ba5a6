//! The public record of an integration. It never contains a secret.

use std::time::SystemTime;

use schemars::JsonSchema;
use serde::Serialize;

use super::freshness::status_at;
use super::reason::Reason;
use super::ways::Way;
use clock::timestamp::Timestamp;
use store::{Account, AccountAddress, Integration, Labels, Status};

/// An account that a user has connected. It never holds a credential.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Integration")]
pub struct IntegrationRecord<'a> {
    connector: &'a str,
    user_identifier: &'a str,
    auth_type: AuthTypeName,
    status: StatusName,
    selected: bool,
    account: AccountRecord<'a>,
    /// The parts of the account's address at the service, such as its subdomain. Empty for most
    /// connectors.
    address: &'a AccountAddress,
    /// The texts that the caller gave.
    labels: &'a Labels,
    /// The scopes that the user permitted.
    scopes: &'a [String],
    created_at: Timestamp,
    updated_at: Timestamp,
    /// The expiry of the access token. The gateway refreshes the token before.
    expires_at: Option<Timestamp>,
    /// The time of the last refresh.
    last_refreshed_at: Option<Timestamp>,
    /// The time of the next refresh.
    next_refresh_at: Option<Timestamp>,
    /// The time from which on refreshes have failed: when the first of them was due. Null if the last
    /// refresh did not fail.
    refresh_failing_since: Option<Timestamp>,
    reason: Option<Reason>,
}

/// The user's account at the service, as far as the service gives it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Account")]
struct AccountRecord<'a> {
    id: Option<&'a str>,
    email: Option<&'a str>,
    name: Option<&'a str>,
}

/// The way in which users connect an account.
#[derive(Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(rename = "AuthType", extend("enum" = AuthTypeName::all()))]
pub struct AuthTypeName(&'static str);

/// The state of an integration. Operations can run on an active one.
#[derive(Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(rename = "IntegrationStatus", extend("enum" = Status::ALL.map(Status::name)))]
pub(super) struct StatusName(&'static str);

impl AuthTypeName {
    /// The way in which an account was connected.
    fn of(integration: &Integration) -> Self {
        Self(integration.auth_type_name())
    }

    /// Every way.
    pub fn all() -> Vec<&'static str> {
        Way::names().collect()
    }
}

impl From<Way<'_>> for AuthTypeName {
    fn from(way: Way<'_>) -> Self {
        Self(way.name())
    }
}

impl<'a> IntegrationRecord<'a> {
    /// The record of an integration at a moment.
    pub fn at(integration: &'a Integration, now: SystemTime) -> Self {
        let details = &integration.details;
        let Account { id, email, name, address } = &details.account;
        Self {
            connector: &integration.holder.connector,
            user_identifier: &integration.user_identifier,
            auth_type: AuthTypeName::of(integration),
            status: StatusName(status_at(details, now).name()),
            selected: integration.selected,
            account: AccountRecord { id: id.as_deref(), email: email.as_deref(), name: name.as_deref() },
            address,
            labels: &integration.labels,
            scopes: &details.scopes,
            created_at: integration.created_at.into(),
            updated_at: integration.updated_at.into(),
            expires_at: details.expires_at.map(Timestamp::from),
            last_refreshed_at: details.last_refreshed_at.map(Timestamp::from),
            next_refresh_at: details.next_refresh_at.map(Timestamp::from),
            refresh_failing_since: details.refresh_failing_since.map(Timestamp::from),
            reason: Reason::at(details, now),
        }
    }
}
