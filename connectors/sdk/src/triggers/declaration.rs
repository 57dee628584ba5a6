//! The declarations in the types of the contract.

use super::{
    AccountKey, Check, CheckPart, Claim, Condition, ConditionValue, EchoMember, Handshake, HmacCheck, HmacQuery, Inbox,
    JwtAudience, JwtCheck, Place, Trigger, Visibility,
};
use crate::bindings::gateway::connector::trigger_types as wit;
use crate::declared::{Declared, records, same, variants};

/// An inbox in the types of the contract.
#[must_use]
pub fn inbox_of(inbox: &Inbox) -> wit::Inbox {
    inbox.declared()
}

/// A type of events in the types of the contract.
#[must_use]
pub fn trigger_of(trigger: &Trigger) -> wit::Trigger {
    trigger.declared()
}

impl Declared for Place {
    type Contract = wit::Place;

    fn declared(&self) -> wit::Place {
        match self {
            Self::Header(name) => wit::Place::Header(name.declared()),
            Self::HeaderField(name, field) => wit::Place::HeaderField((name.declared(), field.declared())),
            Self::Pointer(pointer) => wit::Place::Pointer(pointer.declared()),
            Self::Query(name) => wit::Place::Query(name.declared()),
            Self::BodyHash => wit::Place::BodyHash,
        }
    }
}

same!(
    wit::CheckEncoding,
    wit::CheckHash,
    wit::CheckSecret,
    wit::Comparison,
    wit::InboxScope,
    wit::Lifecycle,
    wit::TriggerSource
);

records! {
    Inbox {
        name, scope, checks, handshakes, decode, items, id, kind, data, time, accounts, visibility, ignored, lifecycle,
        max_body,
    }
    HmacCheck {
        hash, secret, encoding, text, separator, signature, prefix, list_separator, timestamp, tolerance_seconds,
    }
    JwtCheck { place, issuers, jwks_url, audience, claims }
    EchoMember { when, member }
    HmacQuery { parameter, hash, secret, encoding, member, prefix }
    AccountKey { place, account }
    Visibility { upstream, path, context, parameter, accounts, cursor }
    Trigger {
        name, title, description, parameters, payload, example, source, kinds, scopes, inboxes, key, conditions,
        subscribe, renew, unsubscribe, read, recover, identify, requires_setting, lifetime_seconds, poll_seconds,
    }
    Condition { place, comparison, value, pattern }
}

variants! {
    Check { Hmac(value), Token(value), Jwt(value) }
    CheckPart { Body, Timestamp, Header(value), Literal(value) }
    JwtAudience { Address, Setting(value) }
    Claim { Literal(value), Setting(value) }
    Handshake { EchoQuery(value), EchoMember(value), HmacQuery(value) }
    ConditionValue { Parameter(value), Account(value), Literal(value) }
}
