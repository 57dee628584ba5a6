//! Parts of manifests for the tests of other crates.

use crate::trigger_types::{
    Check, CheckEncoding, CheckHash, CheckPart, CheckSecret, HmacCheck, InboxScope, Place, TriggerSource,
};
use crate::{ClientAuthentication, Inbox, Oauth2, Trigger};

/// A provider that follows the standards: PKCE, and the client in the body.
#[must_use]
pub fn scheme() -> Oauth2 {
    Oauth2 {
        provider: "acme".to_owned(),
        authorization_url: "https://accounts.acme.example/authorize".to_owned(),
        token_url: "https://accounts.acme.example/token".to_owned(),
        refresh_url: None,
        revocation: None,
        scopes: vec!["profile".to_owned(), "events.read".to_owned()],
        scope_separator: " ".to_owned(),
        scope_parameter: "scope".to_owned(),
        authorization_parameters: Vec::new(),
        token_parameters: Vec::new(),
        pkce: true,
        client_authentication: ClientAuthentication::Body,
        token_pointer: String::new(),
        default_lifetime_seconds: None,
        form_field: None,
        revokes_replaced_grants: false,
        identity: None,
    }
}

/// An inbox of subscriptions, whose notifications have an HMAC of the body.
#[must_use]
pub fn inbox(name: &str) -> Inbox {
    Inbox {
        name: name.to_owned(),
        scope: InboxScope::Subscription,
        checks: vec![Check::Hmac(HmacCheck {
            hash: CheckHash::Sha256,
            secret: CheckSecret::Text,
            encoding: CheckEncoding::Hex,
            text: vec![CheckPart::Body],
            separator: String::new(),
            signature: Place::Header("X-Signature".to_owned()),
            prefix: "sha256=".to_owned(),
            list_separator: None,
            timestamp: None,
            tolerance_seconds: 300,
        })],
        handshakes: Vec::new(),
        decode: None,
        items: None,
        id: vec![Place::BodyHash],
        kind: vec![Place::Header("X-Event".to_owned())],
        data: String::new(),
        time: None,
        accounts: Vec::new(),
        visibility: None,
        ignored: vec!["ping".to_owned()],
        lifecycle: Vec::new(),
        max_body: 1 << 20,
    }
}

/// A type of events that are read at intervals, by the operation `changes`.
#[must_use]
pub fn trigger(name: &str) -> Trigger {
    Trigger {
        name: name.to_owned(),
        title: "A message".to_owned(),
        description: "A message has arrived.".to_owned(),
        parameters: r#"{"type":"object","properties":{},"additionalProperties":false}"#.to_owned(),
        payload: r#"{"type":"object"}"#.to_owned(),
        example: r#"{"text":"Hello"}"#.to_owned(),
        source: TriggerSource::Read,
        kinds: Vec::new(),
        scopes: Vec::new(),
        inboxes: Vec::new(),
        key: Vec::new(),
        conditions: Vec::new(),
        subscribe: None,
        renew: None,
        unsubscribe: None,
        read: Some("changes".to_owned()),
        recover: None,
        requires_setting: None,
        lifetime_seconds: None,
        poll_seconds: 300,
    }
}
