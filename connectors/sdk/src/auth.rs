//! How users of a connector are authenticated at the service, as constant data for the table's `auth` statement.

/// The scheme of a connector.
#[expect(clippy::large_enum_variant, reason = "there is one, a constant, in each connector")]
pub enum Auth {
    /// Users need no account.
    None,
    /// Users grant access.
    OAuth2(OAuth2),
    /// Users bring a key.
    ApiKey(ApiKey),
}

/// An OAuth 2.0 authorization code client (RFC 6749) with the provider's peculiarities.
///
/// Most providers differ in a few fields only: `OAuth2 { provider: "acme", …, ..OAuth2::STANDARD }`. Its URLs are https; tokens
/// go there once the operator has granted a host of the same site, as a rule that of an upstream.
#[derive(Clone, Copy)]
pub struct OAuth2 {
    /// Whose client credentials are used when the operator has set none for this connector, for example `google`.
    pub provider: &'static str,
    /// Empty when only the operator knows it.
    pub authorization_url: &'static str,
    /// Empty when only the operator knows it.
    pub token_url: &'static str,
    /// Where tokens are refreshed, if not at `token_url`.
    pub refresh_url: Option<&'static str>,
    /// How a grant is given back.
    pub revocation: Option<Revocation>,
    /// The least set of scopes that the operations need.
    pub scopes: &'static [&'static str],
    /// Between scopes in the request.
    pub scope_separator: &'static str,
    /// Name of the scope parameter.
    pub scope_parameter: &'static str,
    /// Sent with the authorization request besides the standard parameters.
    pub authorization_parameters: &'static [(&'static str, &'static str)],
    /// Sent with every token and refresh request besides the standard parameters.
    pub token_parameters: &'static [(&'static str, &'static str)],
    /// Whether the provider takes PKCE with S256 (RFC 7636).
    pub pkce: bool,
    /// How the client proves itself at the token endpoint.
    pub client_authentication: ClientAuthentication,
    /// JSON Pointer to the object in the token answer that holds `access_token`; empty for the answer itself.
    pub token_pointer: &'static str,
    /// Life of an access token whose answer has no `expires_in`, in seconds; none when it does not expire.
    pub default_lifetime_seconds: Option<u32>,
    /// Where the account's identity is found once a user is connected.
    pub identity: Option<Identity>,
}

impl OAuth2 {
    /// What the standard says where a provider says nothing else: PKCE, client credentials in the body, blanks between scopes.
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
        identity: None,
    };
}

/// How the client proves itself at the token endpoint (RFC 6749, section 2.3.1).
#[derive(Clone, Copy)]
pub enum ClientAuthentication {
    /// `client_id` and `client_secret` in the form body.
    Body,
    /// HTTP Basic.
    Basic,
}

/// How a grant is given back.
#[derive(Clone, Copy)]
pub enum Revocation {
    /// A POST of the form `token=…` with client authentication (RFC 7009).
    Form(&'static str),
    /// A POST with the access token as bearer token.
    Bearer(&'static str),
    /// A DELETE of this URL, in which `{client_id}` is replaced, with HTTP Basic client authentication.
    Delete(&'static str),
}

/// Where the account's identity is found.
#[derive(Clone, Copy)]
pub struct Identity {
    /// The operation to invoke, with the body `{}`.
    pub operation: &'static str,
    /// JSON Pointer to the account's id in its answer.
    pub id: &'static str,
    /// JSON Pointer to the email address.
    pub email: Option<&'static str>,
    /// JSON Pointer to the name.
    pub name: Option<&'static str>,
}

/// A key that users bring from the service.
#[derive(Clone, Copy)]
pub struct ApiKey {
    /// Where the gateway puts it.
    pub placement: KeyPlacement,
    /// Operation that is invoked with `{}` to try the key before it is stored.
    pub check: Option<&'static str>,
}

/// Where the gateway puts a key in a request.
#[derive(Clone, Copy)]
pub enum KeyPlacement {
    /// A header.
    Header {
        /// Its name: `Authorization`, or one that the gateway does not set itself.
        name: &'static str,
        /// Put before the key, for example `Token `; may be empty.
        prefix: &'static str,
    },
    /// A query parameter of this name.
    Query(&'static str),
    /// HTTP Basic: the user's `username` and `password`.
    Basic,
}
