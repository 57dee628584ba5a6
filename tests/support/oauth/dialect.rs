//! How a provider differs from others: what clients are told in its documentation, or find out.

use serde_json::{Value, json};

use super::unique;

/// What a refresh does to the refresh token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rotation {
    /// There is none: a token ends with nothing to renew it.
    Never,
    /// It stays, and the answer holds none.
    Keeps,
    /// The answer holds a new one, and the old one stays good.
    Renews,
    /// The answer holds a new one, and the old one is spent: who presents it again loses the whole grant.
    SingleUse,
}

/// How its client proves itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientAuthentication {
    /// In the body.
    Body,
    /// HTTP Basic.
    Basic,
}

/// How it takes a grant back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revocation {
    /// RFC 7009.
    Form,
    /// A POST with the access token.
    Bearer,
    /// A DELETE with the client's credentials, and the access token in a JSON body.
    Delete,
}

/// How it says no at the token endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errors {
    /// RFC 6749: status 400 or 401.
    Standard,
    /// As `ok: false`, with names of its own, in an answer of status 200.
    NotOk,
    /// As RFC 6749 with names of its own, in an answer of status 200.
    Inside200,
}

/// A provider's peculiarities.
#[derive(Clone, Debug)]
pub struct Dialect {
    /// Who its client is.
    pub client_id: String,
    /// The client's secret.
    pub client_secret: String,
    /// How the client proves itself. The other way is refused.
    pub client_authentication: ClientAuthentication,
    /// Whether PKCE with S256 is demanded; otherwise it is honoured where it is used.
    pub pkce: bool,
    /// Between scopes, in requests.
    pub scope_separator: &'static str,
    /// Between scopes, in answers.
    pub answer_separator: &'static str,
    /// The parameter that holds scopes.
    pub scope_parameter: &'static str,
    /// What authorization requests must hold besides.
    pub parameters: &'static [(&'static str, &'static str)],
    /// What a refresh does to the refresh token.
    pub rotation: Rotation,
    /// How long access tokens live; none when the answer does not say.
    pub lifetime_s: Option<u64>,
    /// Member of the answer to a code that holds the tokens; empty for the answer itself, which holds them after a refresh.
    pub token_member: &'static str,
    /// How it says no.
    pub errors: Errors,
    /// Whether token answers are JSON only for those who ask for it, and forms for others.
    pub json_on_demand: bool,
    /// How it takes a grant back; none when it does not.
    pub revocation: Option<Revocation>,
}

impl Dialect {
    /// The strict one: PKCE, the secret in the body, refresh tokens of single use, RFC 7009.
    pub fn strict() -> Self {
        Self {
            client_id: format!("client-{}", &unique()[..8]),
            client_secret: format!("client-secret-{}", unique()),
            client_authentication: ClientAuthentication::Body,
            pkce: true,
            scope_separator: " ",
            answer_separator: " ",
            scope_parameter: "scope",
            parameters: &[],
            rotation: Rotation::SingleUse,
            lifetime_s: Some(3600),
            token_member: "",
            errors: Errors::Standard,
            json_on_demand: false,
            revocation: Some(Revocation::Form),
        }
    }

    /// As Google does it: refresh tokens only for who asks in its way, and they stay.
    pub fn google() -> Self {
        Self {
            parameters: &[("access_type", "offline"), ("prompt", "consent")],
            rotation: Rotation::Keeps,
            ..Self::strict()
        }
    }

    /// As Slack does it: scopes of the user joined by commas, tokens one level down, errors inside a 200.
    pub fn slack() -> Self {
        Self {
            pkce: false,
            scope_separator: ",",
            answer_separator: ",",
            scope_parameter: "user_scope",
            token_member: "authed_user",
            lifetime_s: Some(43_200),
            errors: Errors::NotOk,
            revocation: Some(Revocation::Bearer),
            ..Self::strict()
        }
    }

    /// As GitHub does it: forms unless JSON is asked for, errors inside a 200, a token is deleted.
    pub fn github() -> Self {
        Self {
            answer_separator: ",",
            lifetime_s: Some(28_800),
            errors: Errors::Inside200,
            json_on_demand: true,
            revocation: Some(Revocation::Delete),
            ..Self::strict()
        }
    }

    /// As X does it: the client proves itself by HTTP Basic.
    pub fn basic() -> Self {
        Self { client_authentication: ClientAuthentication::Basic, lifetime_s: Some(7_200), ..Self::strict() }
    }

    /// The same with refresh tokens that stay.
    #[must_use]
    pub fn without_rotation(mut self) -> Self {
        self.rotation = Rotation::Keeps;
        self
    }

    /// The same with tokens that do not expire, and nothing to renew them.
    #[must_use]
    pub fn without_refresh(mut self) -> Self {
        self.rotation = Rotation::Never;
        self.lifetime_s = None;
        self
    }

    /// The same with tokens of this life.
    #[must_use]
    pub fn living(mut self, seconds: u64) -> Self {
        self.lifetime_s = Some(seconds);
        self
    }

    /// How it says this at the token endpoint: status and document. `error` is a name of RFC 6749.
    pub(super) fn refusal(&self, error: &str, description: &str) -> (u16, Value) {
        match self.errors {
            Errors::Standard => {
                let status = if error == "invalid_client" { 401 } else { 400 };
                (status, json!({"error": error, "error_description": description}))
            }
            Errors::NotOk => {
                let name = match (error, description.contains("refresh")) {
                    ("invalid_grant", true) => "invalid_refresh_token",
                    ("invalid_grant", false) => "invalid_code",
                    ("invalid_client", _) => "bad_client_secret",
                    (other, _) => other,
                };
                (200, json!({"ok": false, "error": name}))
            }
            Errors::Inside200 => {
                let name = match (error, description.contains("refresh")) {
                    ("invalid_grant", true) => "bad_refresh_token",
                    ("invalid_grant", false) => "bad_verification_code",
                    ("invalid_client", _) => "incorrect_client_credentials",
                    (other, _) => other,
                };
                let document =
                    json!({"error": name, "error_description": description, "error_uri": "https://docs.example"});
                (200, document)
            }
        }
    }
}
