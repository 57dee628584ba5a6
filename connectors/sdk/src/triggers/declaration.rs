//! The declarations in the types of the contract.

use super::{Check, CheckPart, Claim, Condition, ConditionValue, Handshake, Inbox, JwtAudience, Place, Trigger};
use crate::bindings::gateway::connector::trigger_types as wit;

/// An inbox in the types of the contract.
#[must_use]
pub fn inbox_of(inbox: &Inbox) -> wit::Inbox {
    let Inbox {
        name,
        scope,
        checks,
        handshakes,
        decode,
        items,
        id,
        kind,
        data,
        time,
        accounts,
        visibility,
        ignored,
        lifecycle,
        max_body,
    } = *inbox;
    wit::Inbox {
        name: name.to_owned(),
        scope,
        checks: checks.iter().map(check).collect(),
        handshakes: handshakes.iter().map(handshake).collect(),
        decode: decode.map(str::to_owned),
        items: items.map(str::to_owned),
        id: id.iter().map(place).collect(),
        kind: kind.iter().map(place).collect(),
        data: data.to_owned(),
        time: time.as_ref().map(place),
        accounts: accounts
            .iter()
            .map(|key| wit::AccountKey { place: place(&key.place), account: key.account.to_owned() })
            .collect(),
        visibility: visibility.map(|visibility| wit::Visibility {
            upstream: visibility.upstream.to_owned(),
            path: visibility.path.to_owned(),
            context: visibility.context.to_owned(),
            parameter: visibility.parameter.to_owned(),
            accounts: visibility.accounts.to_owned(),
            cursor: (visibility.cursor.0.to_owned(), visibility.cursor.1.to_owned()),
        }),
        ignored: strings(ignored),
        lifecycle: lifecycle.iter().map(|(kind, meaning)| ((*kind).to_owned(), *meaning)).collect(),
        max_body,
    }
}

fn check(check: &Check) -> wit::Check {
    match check {
        Check::Hmac(hmac) => wit::Check::Hmac(wit::HmacCheck {
            hash: hmac.hash,
            secret: hmac.secret,
            encoding: hmac.encoding,
            text: hmac
                .text
                .iter()
                .map(|part| match part {
                    CheckPart::Body => wit::CheckPart::Body,
                    CheckPart::Timestamp => wit::CheckPart::Timestamp,
                    CheckPart::Header(name) => wit::CheckPart::Header((*name).to_owned()),
                    CheckPart::Literal(text) => wit::CheckPart::Literal((*text).to_owned()),
                })
                .collect(),
            separator: hmac.separator.to_owned(),
            signature: place(&hmac.signature),
            prefix: hmac.prefix.to_owned(),
            list_separator: hmac.list_separator.map(str::to_owned),
            timestamp: hmac.timestamp.as_ref().map(place),
            tolerance_seconds: hmac.tolerance_seconds,
        }),
        Check::Token(token) => wit::Check::Token(place(token)),
        Check::Jwt(jwt) => wit::Check::Jwt(wit::JwtCheck {
            place: place(&jwt.place),
            issuers: strings(jwt.issuers),
            jwks_url: jwt.jwks_url.to_owned(),
            audience: match jwt.audience {
                JwtAudience::Address => wit::JwtAudience::Address,
                JwtAudience::Setting(name) => wit::JwtAudience::Setting(name.to_owned()),
            },
            claims: jwt
                .claims
                .iter()
                .map(|(name, claim)| {
                    let claim = match claim {
                        Claim::Literal(text) => wit::Claim::Literal((*text).to_owned()),
                        Claim::Setting(name) => wit::Claim::Setting((*name).to_owned()),
                    };
                    ((*name).to_owned(), claim)
                })
                .collect(),
        }),
    }
}

fn handshake(handshake: &Handshake) -> wit::Handshake {
    match handshake {
        Handshake::EchoQuery(parameter) => wit::Handshake::EchoQuery((*parameter).to_owned()),
        Handshake::EchoMember(echo) => wit::Handshake::EchoMember(wit::EchoMember {
            when: (echo.when.0.to_owned(), echo.when.1.to_owned()),
            member: echo.member.to_owned(),
        }),
        Handshake::HmacQuery(hmac) => wit::Handshake::HmacQuery(wit::HmacQuery {
            parameter: hmac.parameter.to_owned(),
            hash: hmac.hash,
            secret: hmac.secret,
            encoding: hmac.encoding,
            member: hmac.member.to_owned(),
            prefix: hmac.prefix.to_owned(),
        }),
    }
}

fn place(place: &Place) -> wit::Place {
    match place {
        Place::Header(name) => wit::Place::Header((*name).to_owned()),
        Place::HeaderField(name, field) => wit::Place::HeaderField(((*name).to_owned(), (*field).to_owned())),
        Place::Pointer(pointer) => wit::Place::Pointer((*pointer).to_owned()),
        Place::Query(name) => wit::Place::Query((*name).to_owned()),
        Place::BodyHash => wit::Place::BodyHash,
    }
}

/// A type of events in the types of the contract.
#[must_use]
pub fn trigger_of(trigger: &Trigger) -> wit::Trigger {
    let Trigger {
        name,
        title,
        description,
        parameters,
        payload,
        example,
        source,
        kinds,
        scopes,
        inboxes,
        key,
        conditions,
        subscribe,
        renew,
        unsubscribe,
        read,
        recover,
        identify,
        requires_setting,
        lifetime_seconds,
        poll_seconds,
    } = *trigger;
    wit::Trigger {
        name: name.to_owned(),
        title: title.to_owned(),
        description: description.to_owned(),
        parameters: parameters.to_owned(),
        payload: payload.to_owned(),
        example: example.to_owned(),
        source,
        kinds: strings(kinds),
        scopes: strings(scopes),
        inboxes: strings(inboxes),
        key: strings(key),
        conditions: conditions.iter().map(condition).collect(),
        subscribe: subscribe.map(str::to_owned),
        renew: renew.map(str::to_owned),
        unsubscribe: unsubscribe.map(str::to_owned),
        read: read.map(str::to_owned),
        recover: recover.map(str::to_owned),
        identify: identify.map(str::to_owned),
        requires_setting: requires_setting.map(str::to_owned),
        lifetime_seconds,
        poll_seconds,
    }
}

fn condition(condition: &Condition) -> wit::Condition {
    wit::Condition {
        place: place(&condition.place),
        comparison: condition.comparison,
        value: match condition.value {
            ConditionValue::Parameter(pointer) => wit::ConditionValue::Parameter(pointer.to_owned()),
            ConditionValue::Account(pointer) => wit::ConditionValue::Account(pointer.to_owned()),
            ConditionValue::Literal(text) => wit::ConditionValue::Literal(text.to_owned()),
        },
        pattern: condition.pattern.to_owned(),
    }
}

fn strings(items: &[&str]) -> Vec<String> {
    items.iter().map(|item| (*item).to_owned()).collect()
}
