//! How users authenticate at the service: constant data for the table's statements `auth` and
//! `auth_additions`.

#[doc(hidden)]
pub mod additions;

use additions::are_equal;

/// How the client authenticates at the token endpoint (RFC 6749, section 2.3.1).
pub use crate::bindings::gateway::connector::manifest::ClientAuthentication;
pub use additions::{
    AppInstallation, AuthAddition, AwsSignature, DeviceCode, Encoding, Hash, HmacSignature, Region, SecretForm,
    ServiceAccount, Subject, TextPart, Timestamp, TimestampForm,
};

/// The auth scheme of a connector.
#[expect(clippy::large_enum_variant, reason = "each connector has one value of this type, a constant")]
pub enum Auth {
    /// Users need no account.
    None,
    /// Users grant access by OAuth 2.0.
    OAuth2(OAuth2),
    /// Users bring a key that the service issued to them.
    ApiKey(ApiKey),
}

/// Returns `true` if an identifier is the name of the scheme's OAuth 2.0 provider. `connector!`
/// refuses such a table at compile time, because operators set client credentials under both names.
#[doc(hidden)]
#[must_use]
pub const fn is_provider(identifier: &str, auth: &Auth) -> bool {
    let Auth::OAuth2(client) = auth else { return false };
    !identifier.is_empty() && are_equal(identifier.as_bytes(), client.provider.as_bytes())
}

/// An OAuth 2.0 authorization code client (RFC 6749). The fields describe how the provider differs
/// from the standard.
///
/// Most providers differ in a few fields: `OAuth2 { provider: "acme", …, ..OAuth2::STANDARD }`. The
/// URLs are `https`. The gateway sends tokens to them after the operator has granted a host of the
/// same site, usually the host of an upstream.
#[derive(Clone, Copy)]
pub struct OAuth2 {
    /// Name of the provider, for example `google`. The operator sets the client credentials in the
    /// section `[oauth_clients.IDENTIFIER]` of the connector. A connector that came with the gateway
    /// may use its provider's credentials. The connector's identifier must be another name.
    pub provider: &'static str,
    /// Empty if only the operator knows it.
    pub authorization_url: &'static str,
    /// Empty if only the operator knows it.
    pub token_url: &'static str,
    /// URL for refreshing tokens, if it is not `token_url`.
    pub refresh_url: Option<&'static str>,
    /// How the gateway revokes a grant. `None` if the provider offers no revocation.
    pub revocation: Option<Revocation>,
    /// The smallest set of scopes that the operations need.
    pub scopes: &'static [&'static str],
    /// Separator between scopes in the request.
    pub scope_separator: &'static str,
    /// Name of the scope parameter.
    pub scope_parameter: &'static str,
    /// Further parameters of the authorization request.
    pub authorization_parameters: &'static [(&'static str, &'static str)],
    /// Further parameters of token and refresh requests.
    pub token_parameters: &'static [(&'static str, &'static str)],
    /// `true` if the provider supports PKCE with S256 (RFC 7636).
    pub pkce: bool,
    /// How the client authenticates at the token endpoint.
    pub client_authentication: ClientAuthentication,
    /// JSON Pointer to the object in the token response that holds `access_token`. Empty for the
    /// response itself.
    pub token_pointer: &'static str,
    /// Lifetime in seconds of an access token whose response has no `expires_in`. `None` if such a
    /// token does not expire.
    pub default_lifetime_seconds: Option<u32>,
    /// Name of the form field for the access token, for upstreams with `credential form_field`.
    pub form_field: Option<&'static str>,
    /// `true` if the gateway revokes a grant that a newer grant of the same account has replaced.
    /// `false` if the provider would then also end the newer grant, because it has one grant for
    /// each user and client.
    pub revokes_replaced_grants: bool,
    /// How the gateway finds the identity of a connected account.
    pub identity: Option<Identity>,
}

impl OAuth2 {
    /// A provider that follows the standard: PKCE, client credentials in the form body, spaces
    /// between scopes, and a new grant for each authorization.
    pub const STANDARD: Self = Self {
        provider: "",
        authorization_url: "",
        token_url: "",
        refresh_url: None,
        revocation: None,
        scopes: &[],
        scope_separator: " ",
        scope_parameter: "scope",
        authorization_parameters: &[],
        token_parameters: &[],
        pkce: true,
        client_authentication: ClientAuthentication::Body,
        token_pointer: "",
        default_lifetime_seconds: None,
        form_field: None,
        revokes_replaced_grants: true,
        identity: None,
    };
}

/// How the gateway revokes a grant at the provider.
#[derive(Clone, Copy)]
pub enum Revocation {
    /// A POST of the form `token=…` with client authentication (RFC 7009), to this URL.
    Form(&'static str),
    /// A POST to this URL with the access token as bearer token.
    Bearer(&'static str),
    /// A DELETE of this URL, in which `{client_id}` is replaced, with HTTP Basic client
    /// authentication and the JSON body `{"access_token": …}`.
    Delete(&'static str),
}

/// How the gateway finds the identity of an account that a user connects.
#[derive(Clone, Copy)]
pub struct Identity {
    /// The operation that the gateway invokes, with the body `{}`.
    pub operation: &'static str,
    /// JSON Pointer to the account's id in the operation's answer.
    pub id: &'static str,
    /// JSON Pointer to the email address.
    pub email: Option<&'static str>,
    /// JSON Pointer to the name.
    pub name: Option<&'static str>,
}

impl Identity {
    /// The identity in the answer of an operation `userinfo`, which returns
    /// [`Userinfo`](crate::userinfo::Userinfo).
    pub const USERINFO: Self =
        Self { operation: "userinfo", id: "/data/id", email: Some("/data/email"), name: Some("/data/name") };
}

/// A key that the service issues to a user.
#[derive(Clone, Copy)]
pub struct ApiKey {
    /// The part of a request that carries the key.
    pub placement: KeyPlacement,
    /// Name of the form field for the key, for upstreams with `credential form_field`.
    pub form_field: Option<&'static str>,
    /// Operation that the gateway invokes with the body `{}` to test the key before it stores it.
    pub check: Option<&'static str>,
}

/// The part of a request that carries the key.
#[derive(Clone, Copy)]
pub enum KeyPlacement {
    /// A header.
    Header {
        /// `Authorization`, or a header that the gateway does not set itself.
        name: &'static str,
        /// Text before the key, for example `Token `. May be empty.
        prefix: &'static str,
    },
    /// A query parameter of this name.
    Query(&'static str),
    /// HTTP Basic: the user's `username` and `password`.
    Basic,
}
