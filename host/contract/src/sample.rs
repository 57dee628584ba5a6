//! Parts of manifests for the tests of other crates.

use crate::trigger_types::{
    Check, CheckEncoding, CheckHash, CheckPart, CheckSecret, HmacCheck, InboxScope, Place, TriggerSource,
};
use crate::{
    Answer, ApiKey, AuthScheme, ClientAuthentication, CredentialUse, Effect, Imprint, Inbox, KeyPlacement, Manifest,
    NextLink, NextPage, Oauth2, Operation, Pagination, Trigger, Upstream,
};

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
        identify: None,
        requires_setting: None,
        lifetime_seconds: None,
        poll_seconds: 300,
    }
}

/// A connector with one operation, whose users bring a key.
#[must_use]
pub fn manifest() -> Manifest {
    Manifest {
        identifier: "example".to_owned(),
        version: "1.0.0".to_owned(),
        title: "Example".to_owned(),
        description: String::new(),
        imprint: Imprint { license: "MIT".to_owned(), homepage: None, author: None, icon: None },
        auth: AuthScheme::ApiKey(ApiKey {
            placement: KeyPlacement::Query("key".to_owned()),
            form_field: Some("token".to_owned()),
            check: None,
        }),
        upstreams: vec![Upstream {
            name: "api".to_owned(),
            base_url: "https://api.example.com".to_owned(),
            credential: CredentialUse::FormField,
            link_hosts: vec!["*.example.com".to_owned()],
            pacing: None,
        }],
        rate_limits: Vec::new(),
        settings: Vec::new(),
        operations: vec![Operation {
            path: "list".to_owned(),
            summary: String::new(),
            description: String::new(),
            input_schema: r#"{"type":"object","properties":{"page":{}},"additionalProperties":false}"#.to_owned(),
            example: None,
            envelope: true,
            effect: Effect::Read,
            answer: Answer::Json,
            answer_schema: None,
            answer_example: None,
            pagination: Some(Pagination {
                items: "/items".to_owned(),
                next: NextPage::Link(NextLink { pointer: "/next".to_owned(), parameter: "page".to_owned() }),
                input: "/page".to_owned(),
            }),
            background: false,
            immediate: true,
            rate_limit: None,
        }],
    }
}
