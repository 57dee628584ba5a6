//! Inboxes and types of events, as the interface `trigger-types` of `wit/connector.wit` has them.
//!
//! The records and variants here have the names of the contract. [`Role`] is the role of an operation
//! that a type of events names, and says the input that the gateway gives it.

#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

/// An address of the gateway, which the service notifies.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(Deserialize, Serialize), serde(deny_unknown_fields))]
#[expect(missing_docs, reason = "the contract documents the members")]
pub struct Inbox {
    pub name: String,
    pub scope: InboxScope,
    pub checks: Vec<Check>,
    pub handshakes: Vec<Handshake>,
    pub decode: Option<String>,
    pub items: Option<String>,
    pub id: Vec<Place>,
    pub kind: Vec<Place>,
    pub data: String,
    pub time: Option<Place>,
    pub accounts: Vec<AccountKey>,
    pub visibility: Option<Visibility>,
    pub ignored: Vec<String>,
    pub lifecycle: Vec<(String, Lifecycle)>,
    pub max_body: u32,
}

/// The owner of an address: an application, or one subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Deserialize, Serialize), serde(rename_all = "kebab-case"))]
#[expect(missing_docs, reason = "the contract documents the cases")]
pub enum InboxScope {
    Application,
    Subscription,
}

/// A proof that a notification comes from the service.
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(Deserialize, Serialize),
    serde(tag = "tag", content = "val", rename_all = "kebab-case")
)]
#[expect(missing_docs, reason = "the contract documents the cases")]
pub enum Check {
    Hmac(HmacCheck),
    Token(Place),
    Jwt(JwtCheck),
}

/// An HMAC over parts of a notification.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(Deserialize, Serialize), serde(deny_unknown_fields))]
#[expect(missing_docs, reason = "the contract documents the members")]
pub struct HmacCheck {
    pub hash: CheckHash,
    pub secret: CheckSecret,
    pub encoding: CheckEncoding,
    pub text: Vec<CheckPart>,
    pub separator: String,
    pub signature: Place,
    pub prefix: String,
    pub list_separator: Option<String>,
    pub timestamp: Option<Place>,
    pub tolerance_seconds: u32,
}

/// A hash function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Deserialize, Serialize), serde(rename_all = "kebab-case"))]
#[expect(missing_docs, reason = "the contract documents the cases")]
pub enum CheckHash {
    Sha1,
    Sha256,
    Sha512,
}

/// The form in which a secret is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Deserialize, Serialize), serde(rename_all = "kebab-case"))]
#[expect(missing_docs, reason = "the contract documents the cases")]
pub enum CheckSecret {
    Text,
    Base64,
}

/// The form in which an HMAC is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Deserialize, Serialize), serde(rename_all = "kebab-case"))]
#[expect(missing_docs, reason = "the contract documents the cases")]
pub enum CheckEncoding {
    Hex,
    Base64,
}

/// A part of the text of an HMAC.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Deserialize, Serialize),
    serde(tag = "tag", content = "val", rename_all = "kebab-case")
)]
#[expect(missing_docs, reason = "the contract documents the cases")]
pub enum CheckPart {
    Body,
    Timestamp,
    Header(String),
    Literal(String),
}

/// A JSON Web Token.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(Deserialize, Serialize), serde(deny_unknown_fields))]
#[expect(missing_docs, reason = "the contract documents the members")]
pub struct JwtCheck {
    pub place: Place,
    pub issuers: Vec<String>,
    pub jwks_url: String,
    pub audience: JwtAudience,
    pub claims: Vec<(String, Claim)>,
}

/// The audience of a JSON Web Token.
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(Deserialize, Serialize),
    serde(tag = "tag", content = "val", rename_all = "kebab-case")
)]
#[expect(missing_docs, reason = "the contract documents the cases")]
pub enum JwtAudience {
    Address,
    Setting(String),
}

/// The value of a further claim.
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(Deserialize, Serialize),
    serde(tag = "tag", content = "val", rename_all = "kebab-case")
)]
#[expect(missing_docs, reason = "the contract documents the cases")]
pub enum Claim {
    Literal(String),
    Setting(String),
}

/// A request by which the service proves that the address is the gateway's.
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(Deserialize, Serialize),
    serde(tag = "tag", content = "val", rename_all = "kebab-case")
)]
#[expect(missing_docs, reason = "the contract documents the cases")]
pub enum Handshake {
    EchoQuery(String),
    EchoMember(EchoMember),
    HmacQuery(HmacQuery),
}

/// A handshake that answers a member of the body.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(Deserialize, Serialize), serde(deny_unknown_fields))]
#[expect(missing_docs, reason = "the contract documents the members")]
pub struct EchoMember {
    pub when: (String, String),
    pub member: String,
}

/// A handshake that answers the HMAC of a query parameter.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(Deserialize, Serialize), serde(deny_unknown_fields))]
#[expect(missing_docs, reason = "the contract documents the members")]
pub struct HmacQuery {
    pub parameter: String,
    pub hash: CheckHash,
    pub secret: CheckSecret,
    pub encoding: CheckEncoding,
    pub member: String,
    pub prefix: String,
}

/// The place of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Deserialize, Serialize),
    serde(tag = "tag", content = "val", rename_all = "kebab-case")
)]
#[expect(missing_docs, reason = "the contract documents the cases")]
pub enum Place {
    Header(String),
    HeaderField((String, String)),
    Pointer(String),
    Query(String),
    BodyHash,
}

/// A value by which a notification names an account.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(Deserialize, Serialize), serde(deny_unknown_fields))]
#[expect(missing_docs, reason = "the contract documents the members")]
pub struct AccountKey {
    pub place: Place,
    pub account: String,
}

/// A request for the accounts that may see an event.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(Deserialize, Serialize), serde(deny_unknown_fields))]
#[expect(missing_docs, reason = "the contract documents the members")]
pub struct Visibility {
    pub upstream: String,
    pub path: String,
    pub context: String,
    pub parameter: String,
    pub accounts: String,
    pub cursor: (String, String),
}

/// The meaning of a notification about the subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Deserialize, Serialize), serde(rename_all = "kebab-case"))]
#[expect(missing_docs, reason = "the contract documents the cases")]
pub enum Lifecycle {
    Reauthorize,
    Recreate,
    Read,
    Gone,
}

/// A type of events.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(Deserialize, Serialize), serde(deny_unknown_fields))]
#[expect(missing_docs, reason = "the contract documents the members")]
pub struct Trigger {
    pub name: String,
    pub title: String,
    pub description: String,
    pub parameters: String,
    pub payload: String,
    pub example: String,
    pub source: TriggerSource,
    pub kinds: Vec<String>,
    pub scopes: Vec<String>,
    pub inboxes: Vec<String>,
    pub key: Vec<String>,
    pub conditions: Vec<Condition>,
    pub subscribe: Option<String>,
    pub renew: Option<String>,
    pub unsubscribe: Option<String>,
    pub read: Option<String>,
    pub recover: Option<String>,
    pub identify: Option<String>,
    pub requires_setting: Option<String>,
    pub lifetime_seconds: Option<u32>,
    pub poll_seconds: u32,
}

/// The source of the data of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Deserialize, Serialize), serde(rename_all = "kebab-case"))]
#[expect(missing_docs, reason = "the contract documents the cases")]
pub enum TriggerSource {
    Carried,
    Read,
}

/// A condition of a type of events.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(Deserialize, Serialize), serde(deny_unknown_fields))]
#[expect(missing_docs, reason = "the contract documents the members")]
pub struct Condition {
    pub place: Place,
    pub comparison: Comparison,
    pub value: ConditionValue,
    pub pattern: String,
}

/// How a value is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Deserialize, Serialize), serde(rename_all = "kebab-case"))]
#[expect(missing_docs, reason = "the contract documents the cases")]
pub enum Comparison {
    Equals,
    Contains,
    StartsWith,
}

/// The value that a condition compares with.
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(Deserialize, Serialize),
    serde(tag = "tag", content = "val", rename_all = "kebab-case")
)]
#[expect(missing_docs, reason = "the contract documents the cases")]
pub enum ConditionValue {
    Parameter(String),
    Account(String),
    Literal(String),
}

/// The role of an operation that a type of events names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It subscribes to the events.
    Subscribe,
    /// It makes a subscription live longer.
    Renew,
    /// It ends a subscription.
    Unsubscribe,
    /// It reads events.
    Read,
    /// It lets the service send again what it could not deliver.
    Recover,
    /// It says what the account sees of the parameters.
    Identify,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 6] =
        [Self::Subscribe, Self::Renew, Self::Unsubscribe, Self::Read, Self::Recover, Self::Identify];

    /// The name of the member of a type of events.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Subscribe => "subscribe",
            Self::Renew => "renew",
            Self::Unsubscribe => "unsubscribe",
            Self::Read => "read",
            Self::Recover => "recover",
            Self::Identify => "identify",
        }
    }

    /// The summary of an operation with this role.
    #[must_use]
    pub fn summary(self) -> &'static str {
        match self {
            Self::Subscribe => "Subscribe to events",
            Self::Renew => "Renew a subscription",
            Self::Unsubscribe => "End a subscription",
            Self::Read => "Read events",
            Self::Recover => "Let the service send failed notifications again",
            Self::Identify => "What the account sees",
        }
    }

    /// JSON Schema of the input, which is the same in all connectors.
    #[must_use]
    pub fn input_schema(self) -> &'static str {
        match self {
            Self::Subscribe => {
                r#"{"type":"object","properties":{"parameters":{"type":"object"},"kinds":{"type":"array","items":{"type":"string"}}},"required":["parameters","kinds"],"additionalProperties":false}"#
            }
            Self::Renew => {
                r#"{"type":"object","properties":{"upstream_id":{"type":"string"},"state":{},"parameters":{"type":"object"},"kinds":{"type":"array","items":{"type":"string"}}},"required":["upstream_id","parameters","kinds"],"additionalProperties":false}"#
            }
            Self::Unsubscribe | Self::Recover => {
                r#"{"type":"object","properties":{"upstream_id":{"type":"string"},"state":{},"parameters":{"type":"object"}},"required":["upstream_id","parameters"],"additionalProperties":false}"#
            }
            Self::Identify => {
                r#"{"type":"object","properties":{"parameters":{"type":"object"}},"required":["parameters"],"additionalProperties":false}"#
            }
            Self::Read => {
                r#"{"type":"object","properties":{"parameters":{"type":"object"},"cursor":{},"hint":{},"limit":{"type":"integer","minimum":1}},"required":["parameters","limit"],"additionalProperties":false}"#
            }
        }
    }
}

impl Trigger {
    /// The operations that it names, with their roles.
    pub fn operations(&self) -> impl Iterator<Item = (Role, &str)> {
        let Self { subscribe, renew, unsubscribe, read, recover, identify, .. } = self;
        let named = [subscribe, renew, unsubscribe, read, recover, identify];
        Role::ALL.into_iter().zip(named).filter_map(|(role, name)| Some((role, name.as_deref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::Role;
    use crate::schema;

    #[test]
    fn the_inputs_of_internal_operations_keep_the_rules_of_inputs() {
        for role in Role::ALL {
            let input = schema::input(role.input_schema()).unwrap_or_else(|_| panic!("{}", role.name()));
            assert_eq!(input["properties"]["parameters"]["type"], "object", "{role:?}");
        }
    }
}
