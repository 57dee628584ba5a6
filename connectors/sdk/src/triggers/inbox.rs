//! How the service notifies the gateway.

use crate::bindings::gateway::connector::trigger_types as wit;

/// The form of a signature: hexadecimal digits, or base64.
pub use wit::CheckEncoding;
/// A hash function. SHA-1 is for services that have no better one.
pub use wit::CheckHash;
/// The form in which a secret is given.
pub use wit::CheckSecret;
/// The owner of an address.
pub use wit::InboxScope;
/// The meaning of a kind that is about the subscription.
pub use wit::Lifecycle;

/// How the service notifies the gateway. Most inboxes differ in a few fields from
/// [`Inbox::SUBSCRIPTION`] or [`Inbox::APPLICATION`].
#[derive(Clone, Copy, Debug)]
pub struct Inbox {
    /// 1 to 64 characters of `a-z`, `0-9` and `_`; the first is a letter.
    pub name: &'static str,
    /// The owner of the address.
    pub scope: InboxScope,
    /// The proofs that a notification comes from the service. All must hold. 1 to 4.
    pub checks: &'static [Check],
    /// Requests by which the service proves that the address is the gateway's. At most 4.
    pub handshakes: &'static [Handshake],
    /// JSON Pointer to a text in the body that is JSON in base64. The gateway puts the JSON in its
    /// place before it reads anything else.
    pub decode: Option<&'static str>,
    /// JSON Pointer to the list of notifications in the body. `None` if the body is one
    /// notification.
    pub items: Option<&'static str>,
    /// The parts of a notification's id, which is the same when the service sends it again. 1 to 8.
    pub id: &'static [Place],
    /// The parts of its kind. Those that are present are joined by `/`, as in `issues/opened`. 1 to
    /// 4.
    pub kind: &'static [Place],
    /// JSON Pointer from a notification to the data of the event. Empty for the whole notification.
    pub data: &'static str,
    /// The time of the event: RFC 3339, or seconds or milliseconds since 1970. `None` for the time
    /// at which it arrives.
    pub time: Option<Place>,
    /// How a notification names the account that it is for: 1 to 4 for an application, else none. A
    /// further key with the same `account` is another place of that value in notifications of
    /// `lifecycle`.
    pub accounts: &'static [AccountKey],
    /// Set if a notification names only one of the accounts that may see it.
    pub visibility: Option<Visibility>,
    /// Kinds that carry no event, for example `ping`.
    pub ignored: &'static [&'static str],
    /// Kinds that are about the subscription, or say that notifications were lost.
    pub lifecycle: &'static [(&'static str, Lifecycle)],
    /// The largest body in bytes.
    pub max_body: u32,
}

impl Inbox {
    /// An address and a secret for each subscription. A body is one notification of at most 1 MiB,
    /// and all of it is the data.
    pub const SUBSCRIPTION: Self = Self {
        name: "",
        scope: InboxScope::Subscription,
        checks: &[],
        handshakes: &[],
        decode: None,
        items: None,
        id: &[],
        kind: &[],
        data: "",
        time: None,
        accounts: &[],
        visibility: None,
        ignored: &[],
        lifecycle: &[],
        max_body: 1 << 20,
    };

    /// One address for the application that the operator has registered at the service. The rest is
    /// as in [`Self::SUBSCRIPTION`].
    pub const APPLICATION: Self = Self { scope: InboxScope::Application, ..Self::SUBSCRIPTION };
}

/// A proof that a notification comes from the service.
#[derive(Clone, Copy, Debug)]
pub enum Check {
    /// An HMAC over parts of the notification.
    Hmac(HmacCheck),
    /// The secret itself is at this place.
    Token(Place),
    /// A JSON Web Token.
    Jwt(JwtCheck),
}

/// An HMAC (RFC 2104) over a text of parts of the notification.
#[derive(Clone, Copy, Debug)]
pub struct HmacCheck {
    /// The hash function.
    pub hash: CheckHash,
    /// The form in which the secret is given.
    pub secret: CheckSecret,
    /// The form of the signature.
    pub encoding: CheckEncoding,
    /// The parts of the text. It has `Body` once. 1 to 16.
    pub text: &'static [CheckPart],
    /// The text between the parts. May be empty.
    pub separator: &'static str,
    /// The place of the signature, which is a header or a field of one.
    pub signature: Place,
    /// The text in front of the signature, for example `sha256=`. May be empty.
    pub prefix: &'static str,
    /// The text between several signatures, of which one must hold.
    pub list_separator: Option<&'static str>,
    /// The place of the time in seconds since 1970. Set if, and only if, `Timestamp` is a part of
    /// the text.
    pub timestamp: Option<Place>,
    /// The largest difference between that time and now, in seconds: 1 to 3600.
    pub tolerance_seconds: u32,
}

impl HmacCheck {
    /// HMAC-SHA256 over the body, in hexadecimal digits. `signature` is missing.
    pub const BODY: Self = Self {
        hash: CheckHash::Sha256,
        secret: CheckSecret::Text,
        encoding: CheckEncoding::Hex,
        text: &[CheckPart::Body],
        separator: "",
        signature: Place::Header(""),
        prefix: "",
        list_separator: None,
        timestamp: None,
        tolerance_seconds: 300,
    };

    /// The headers `webhook-id`, `webhook-timestamp` and `webhook-signature` of Standard Webhooks.
    pub const STANDARD_WEBHOOKS: Self = Self {
        secret: CheckSecret::Base64,
        encoding: CheckEncoding::Base64,
        text: &[CheckPart::Header("webhook-id"), CheckPart::Timestamp, CheckPart::Body],
        separator: ".",
        signature: Place::Header("webhook-signature"),
        prefix: "v1,",
        list_separator: Some(" "),
        timestamp: Some(Place::Header("webhook-timestamp")),
        ..Self::BODY
    };
}

/// A part of the text of an HMAC.
#[derive(Clone, Copy, Debug)]
pub enum CheckPart {
    /// The bytes of the body.
    Body,
    /// The time as its place has it.
    Timestamp,
    /// The value of a header.
    Header(&'static str),
    /// This text.
    Literal(&'static str),
}

/// A JSON Web Token (RFC 7519), signed with RS256 or ES256.
#[derive(Clone, Copy, Debug)]
pub struct JwtCheck {
    /// The place of the token. The gateway removes `Bearer ` in front of it.
    pub place: Place,
    /// One of them is the claim `iss`. 1 to 4.
    pub issuers: &'static [&'static str],
    /// `https` URL of the issuer's keys (RFC 7517).
    pub jwks_url: &'static str,
    /// The claim `aud`.
    pub audience: JwtAudience,
    /// Further claims that must have these values.
    pub claims: &'static [(&'static str, Claim)],
}

/// The claim `aud` of a token.
#[derive(Clone, Copy, Debug)]
pub enum JwtAudience {
    /// The address of the inbox.
    Address,
    /// The value of a setting, or the address if the operator has set none.
    Setting(&'static str),
}

/// The value of a claim.
#[derive(Clone, Copy, Debug)]
pub enum Claim {
    /// A text, or `true` and `false` for a boolean claim.
    Literal(&'static str),
    /// The value of a setting. While the operator has set none, nothing is verified.
    Setting(&'static str),
}

/// A request by which the service proves that the address is the gateway's.
#[derive(Clone, Copy, Debug)]
pub enum Handshake {
    /// The gateway answers the value of this query parameter as `text/plain`, while a subscription
    /// with this address is being made or renewed.
    EchoQuery(&'static str),
    /// It answers a member of a body that has passed the checks.
    EchoMember(EchoMember),
    /// It answers the HMAC of the value of a query parameter.
    HmacQuery(HmacQuery),
}

/// A handshake that answers a member of the body.
#[derive(Clone, Copy, Debug)]
pub struct EchoMember {
    /// JSON Pointer to a text, and the text for which the body is a handshake.
    pub when: (&'static str, &'static str),
    /// JSON Pointer to the member.
    pub member: &'static str,
}

/// A handshake that answers the HMAC of a query parameter.
#[derive(Clone, Copy, Debug)]
pub struct HmacQuery {
    /// Name of the query parameter.
    pub parameter: &'static str,
    /// The hash function.
    pub hash: CheckHash,
    /// The form in which the secret is given.
    pub secret: CheckSecret,
    /// The form of the HMAC.
    pub encoding: CheckEncoding,
    /// The name of the member of the answer, a JSON object.
    pub member: &'static str,
    /// The text in front of the HMAC.
    pub prefix: &'static str,
}

/// The place of a value in a notification.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// A header.
    Header(&'static str),
    /// A field of a header such as `t=1,v1=ab`: the name of the header and of the field.
    HeaderField(&'static str, &'static str),
    /// JSON Pointer from a notification.
    Pointer(&'static str),
    /// A query parameter.
    Query(&'static str),
    /// The SHA-256 of the body. For ids where the service signs the body and not its own id.
    BodyHash,
}

/// How a notification names an account.
#[derive(Clone, Copy, Debug)]
pub struct AccountKey {
    /// A value of the notification.
    pub place: Place,
    /// JSON Pointer into the answer of the operation that identifies accounts.
    pub account: &'static str,
}

/// A request to the service for the accounts that may see an event. It carries the application's
/// own token, which the operator sets.
#[derive(Clone, Copy, Debug)]
pub struct Visibility {
    /// Name of an upstream of the table.
    pub upstream: &'static str,
    /// Path below its base URL.
    pub path: &'static str,
    /// JSON Pointer from the body to the text that names the event.
    pub context: &'static str,
    /// The form field that takes this text.
    pub parameter: &'static str,
    /// JSON Pointer to the list of accounts in the answer, and in the body.
    pub accounts: &'static str,
    /// JSON Pointer to the cursor of the next page in the answer, and the form field that takes it.
    pub cursor: (&'static str, &'static str),
}
