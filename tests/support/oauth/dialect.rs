//! The differences between OAuth providers, documented ones and others.

use serde_json::{Value, json};

use super::unique;

/// The effect of a refresh on the refresh token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rotation {
    /// The provider issues no refresh tokens.
    Never,
    /// The refresh token stays valid, and the answer contains no other.
    Keeps,
    /// The answer contains a new refresh token, and the old one stays valid.
    Renews,
    /// The answer contains a new refresh token, and the old one is used up. Presenting it again
    /// revokes the whole grant.
    SingleUse,
}

/// The way in which a client sends its credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientAuthentication {
    /// In the form.
    Body,
    /// By HTTP Basic authentication.
    Basic,
}

/// The way in which a client revokes a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revocation {
    /// By RFC 7009.
    Form,
    /// By a POST with the access token as bearer token.
    Bearer,
    /// By a DELETE with the client's credentials, and the access token in a JSON body.
    Delete,
}

/// The form of an error at the token endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errors {
    /// By RFC 6749: status 400 or 401.
    Standard,
    /// Status 200 with `ok: false` and error codes of the provider's own.
    NotOk,
    /// Status 200 with a body as in RFC 6749, and error codes of the provider's own.
    Inside200,
}

/// A provider's way of OAuth 2.0.
#[derive(Clone, Debug)]
pub struct Dialect {
    /// The identifier of its only client.
    pub client_id: String,
    /// The client's secret.
    pub client_secret: String,
    /// The way in which the client sends its credentials. The other way is refused.
    pub client_authentication: ClientAuthentication,
    /// `true` if PKCE with S256 is required. If not, it is checked when the client uses it.
    pub pkce: bool,
    /// The separator between scopes in requests.
    pub scope_separator: &'static str,
    /// The separator between scopes in answers.
    pub answer_separator: &'static str,
    /// The name of the parameter that contains the scopes.
    pub scope_parameter: &'static str,
    /// Further parameters that an authorization request must have.
    pub parameters: &'static [(&'static str, &'static str)],
    /// The effect of a refresh on the refresh token.
    pub rotation: Rotation,
    /// Lifetime of access tokens in seconds; `None` if the answer does not tell.
    pub lifetime_s: Option<u64>,
    /// The member with the tokens in the answer to a code; empty if they are at the top level, as
    /// they always are after a refresh.
    pub token_member: &'static str,
    /// The form of an error at the token endpoint.
    pub errors: Errors,
    /// `true` if token answers are forms unless the request accepts JSON.
    pub json_on_demand: bool,
    /// The way in which a client revokes a grant; `None` if it cannot.
    pub revocation: Option<Revocation>,
    /// `true` if revoking a token ends every grant of the account, as at providers that have one
    /// grant for each user and client.
    pub one_grant_per_account: bool,
}

impl Dialect {
    /// The way of a provider of the catalogue.
    pub fn of(provider: &str) -> Self {
        match provider {
            "google" => Self::google(),
            "slack" => Self::slack(),
            "github" => Self::github(),
            "x" => Self::basic(),
            "microsoft" => Self { revocation: None, ..Self::strict() },
            _ => Self::strict(),
        }
    }

    /// A strict provider: PKCE, the secret in the form, refresh tokens of single use, revocation by
    /// RFC 7009.
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
            one_grant_per_account: false,
        }
    }

    /// Like Google: refresh tokens need two parameters of the authorization request, and stay
    /// valid. Revoking one token ends all grants of the account.
    pub fn google() -> Self {
        Self {
            one_grant_per_account: true,
            parameters: &[("access_type", "offline"), ("prompt", "consent")],
            rotation: Rotation::Keeps,
            ..Self::strict()
        }
    }

    /// Like Microsoft: a refresh returns a new refresh token, and the old one stays valid. Nothing
    /// can be revoked.
    pub fn microsoft() -> Self {
        Self {
            parameters: &[("response_mode", "query")],
            rotation: Rotation::Renews,
            revocation: None,
            ..Self::strict()
        }
    }

    /// Like Slack: the user's scopes are joined by commas, tokens are one level down, errors have
    /// status 200.
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

    /// Like GitHub: token answers are forms unless the request accepts JSON, errors have status
    /// 200, a token is deleted.
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

    /// Like X: the client's credentials come by HTTP Basic.
    pub fn basic() -> Self {
        Self { client_authentication: ClientAuthentication::Basic, lifetime_s: Some(7_200), ..Self::strict() }
    }

    /// Returns the dialect with refresh tokens that stay valid.
    #[must_use]
    pub fn without_rotation(mut self) -> Self {
        self.rotation = Rotation::Keeps;
        self
    }

    /// Returns the dialect with access tokens that do not expire, and without refresh tokens.
    #[must_use]
    pub fn without_refresh(mut self) -> Self {
        self.rotation = Rotation::Never;
        self.lifetime_s = None;
        self
    }

    /// Returns the dialect with access tokens of this lifetime.
    #[must_use]
    pub fn living(mut self, seconds: u64) -> Self {
        self.lifetime_s = Some(seconds);
        self
    }

    /// Status and body of an error at the token endpoint. `error` is an error code of RFC 6749.
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
