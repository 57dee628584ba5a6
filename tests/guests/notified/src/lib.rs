//! A service that notifies the gateway in each way that an inbox can declare. Its three
//! applications and its subscriptions have different proofs.

use connector_sdk::triggers::{Event, Events, Read, Renew, Subscribe, Subscription, Unsubscribe, Value};
use connector_sdk::{Fault, Request, connector, http};

connector! {
    /// A service that exists only in tests.
    connector notified "Notified";

    auth Auth::OAuth2(OAuth2 {
        provider: "acme",
        authorization_url: "https://service.invalid/authorize",
        token_url: "https://service.invalid/token",
        scopes: &["read"],
        identity: Some(Identity { operation: "me", id: "/id", email: Some("/email"), name: Some("/name") }),
        ..OAuth2::STANDARD
    });

    upstream api "https://service.invalid" credential standard;
    upstream accounts "https://service.invalid" credential standard;

    rate_limit few 6 per 3 seconds;

    /// The account with which the service signs its tokens
    setting push_account: string(1..);

    inboxes &[
        // A signature with a time, and a member that is repeated.
        Inbox {
            name: "signed",
            checks: &[Check::Hmac(HmacCheck {
                text: &[CheckPart::Literal("v0"), CheckPart::Timestamp, CheckPart::Body],
                separator: ":",
                signature: Place::Header("X-Signature"),
                prefix: "v0=",
                timestamp: Some(Place::Header("X-Request-Timestamp")),
                ..HmacCheck::BODY
            })],
            handshakes: &[Handshake::EchoMember(EchoMember { when: ("/type", "url_verification"), member: "/challenge" })],
            id: &[Place::Pointer("/event_id")],
            kind: &[Place::Pointer("/event/type")],
            data: "/event",
            time: Some(Place::Pointer("/event_time")),
            accounts: &[AccountKey { place: Place::Pointer("/user"), account: "/id" }],
            max_body: 64 << 10,
            ..Inbox::APPLICATION
        },
        // A signature without a time, and a query parameter that is signed.
        Inbox {
            name: "challenged",
            checks: &[Check::Hmac(HmacCheck {
                encoding: CheckEncoding::Base64,
                signature: Place::Header("X-Webhooks-Signature"),
                prefix: "sha256=",
                ..HmacCheck::BODY
            })],
            handshakes: &[Handshake::HmacQuery(HmacQuery {
                parameter: "crc_token",
                hash: CheckHash::Sha256,
                secret: CheckSecret::Text,
                encoding: CheckEncoding::Base64,
                member: "response_token",
                prefix: "sha256=",
            })],
            id: &[Place::BodyHash],
            kind: &[Place::Header("X-Event")],
            ignored: &["ping"],
            accounts: &[AccountKey { place: Place::Pointer("/user"), account: "/id" }],
            ..Inbox::APPLICATION
        },
        // A token of an issuer, and JSON in base64.
        Inbox {
            name: "tokens",
            checks: &[Check::Jwt(JwtCheck {
                place: Place::Header("Authorization"),
                issuers: &["https://id.example"],
                jwks_url: "https://id.example/certs",
                audience: JwtAudience::Address,
                claims: &[("email", Claim::Setting("push_account")), ("email_verified", Claim::Literal("true"))],
            })],
            decode: Some("/message/data"),
            id: &[Place::Pointer("/message/messageId")],
            kind: &[Place::Pointer("/message/data/kind")],
            data: "/message/data",
            accounts: &[AccountKey { place: Place::Pointer("/message/data/user"), account: "/id" }],
            ..Inbox::APPLICATION
        },
        // A secret in each notification of a list, and a query parameter that is repeated.
        Inbox {
            name: "listed",
            checks: &[Check::Token(Place::Pointer("/clientState"))],
            handshakes: &[Handshake::EchoQuery("validationToken")],
            items: Some("/value"),
            id: &[Place::Pointer("/id"), Place::Pointer("/etag")],
            kind: &[Place::Pointer("/changeType")],
            ..Inbox::SUBSCRIPTION
        },
    ];

    triggers &[
        Trigger {
            name: "message",
            title: "Message",
            example: r#"{"type": "message", "text": "hello"}"#,
            kinds: &["message"],
            inboxes: &["signed"],
            ..Trigger::CARRIED
        },
        Trigger { name: "post", title: "Post", example: r#"{"text": "hello"}"#, kinds: &["post"], inboxes: &["challenged"], ..Trigger::CARRIED },
        Trigger { name: "mail", title: "Mail", example: r#"{"kind": "mail"}"#, kinds: &["mail"], inboxes: &["tokens"], ..Trigger::CARRIED },
        Trigger {
            name: "item",
            title: "Item",
            example: r#"{"id": "1", "changeType": "created"}"#,
            kinds: &["created"],
            inboxes: &["listed"],
            subscribe: Some("listed_create"),
            unsubscribe: Some("listed_delete"),
            ..Trigger::CARRIED
        },
        // The service renews its subscriptions.
        Trigger {
            name: "renewed",
            title: "Item of a subscription that is renewed",
            example: r#"{"id": "1", "changeType": "created"}"#,
            kinds: &["created"],
            inboxes: &["listed"],
            subscribe: Some("listed_create"),
            renew: Some("listed_renew"),
            unsubscribe: Some("listed_delete"),
            ..Trigger::CARRIED
        },
        // Nothing notifies the gateway of it.
        Trigger {
            name: "change",
            title: "Change",
            description: "A file in a folder has changed.",
            parameters: r#"{"type":"object","properties":{"folder":{"type":"string","pattern":"^[a-z]{1,64}$"}},"required":["folder"],"additionalProperties":false}"#,
            payload: r#"{"type":"object","properties":{"id":{"type":"string"},"name":{"type":"string"}}}"#,
            example: r#"{"id": "1", "name": "plan.txt"}"#,
            scopes: &["read"],
            key: &["folder"],
            read: Some("changes_read"),
            ..Trigger::READ
        },
        // Reads and callers have one rate limit.
        Trigger {
            name: "limited",
            title: "Change that is read with a rate limit",
            parameters: r#"{"type":"object","properties":{"folder":{"type":"string","pattern":"^[a-z]{1,64}$"}},"required":["folder"],"additionalProperties":false}"#,
            example: r#"{"id": "1", "name": "plan.txt"}"#,
            key: &["folder"],
            read: Some("limited_read"),
            ..Trigger::READ
        },
    ];

    changes_read: internal read fn changes;
    limited_read: internal read fn changes rate_limit few;

    listed_create: internal subscribe fn create;
    listed_renew: internal renew fn renew;
    listed_delete: internal unsubscribe fn delete;

    /// The connected account
    me: GET accounts "/me" {}
    example {};

    /// The folders, at most as often as the rate limit allows
    folders: GET api "/folders" {}
    rate_limit few
    example {};
}

fn create(_: Subscribe) -> Result<Subscription, Fault> {
    let request = Request::post("api", "/subscriptions")
        .json(r#"{"notificationUrl": "{{hook.url}}", "clientState": "{{hook.secret}}"}"#);
    stands(request)
}

fn renew(input: Renew) -> Result<Subscription, Fault> {
    stands(Request::new(http::Method::Patch, "api", format!("/subscriptions/{}", input.upstream_id)))
}

/// The service answers `{"id", "expires_at"}`. Without the time, the subscription does not end.
fn stands(request: Request) -> Result<Subscription, Fault> {
    let response = http::send(request)?;
    match response.status() {
        200..=299 => {
            let made = response.document()?;
            let id = made.string("/id").unwrap_or_default();
            Ok(Subscription { expires_at: made.string("/expires_at"), ..Subscription::new(id) })
        }
        status => Err(Fault::upstream(status, "The service has no such subscription.")),
    }
}

fn delete(input: Unsubscribe) -> Result<(), Fault> {
    let path = format!("/subscriptions/{}", input.upstream_id);
    http::send(Request::new(http::Method::Delete, "api", path))?;
    Ok(())
}

/// The service answers `{"cursor", "changes": [{"id", "name"}]}`. Without a cursor, nothing has
/// changed.
fn changes(input: Read) -> Result<Events, Fault> {
    let folder: String = input.parameters.required("folder")?;
    let since: Option<String> = input.cursor.map(|cursor| cursor.whole()).transpose()?;
    let since = since.map(|since| format!("&since={since}")).unwrap_or_default();
    let found = http::send(Request::get("api", format!("/changes?folder={folder}{since}")))?.document()?;
    let mut events = Vec::new();
    if let Some(changes) = found.pointer("/changes").filter(|_| !since.is_empty()) {
        for change in changes.items() {
            events.push(Event::new(change.string("/id").unwrap_or_default(), Value::from(&change)));
        }
    }
    let gap = found.pointer("/gap").is_some();
    Ok(Events { events, gap, ..Events::none(Value::of(&found.string("/cursor").unwrap_or_default())?) })
}
