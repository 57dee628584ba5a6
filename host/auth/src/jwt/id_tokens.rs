//! ID tokens: who has signed in at an OpenID provider (OpenID Connect Core, section 2).

use serde_json::Value;
use url::Url;

use super::issuers::{Issuer, name_in};
use super::key_source::KeySource;
use super::settings::{JwtIssuer, TenantOf};
use crate::scope::Scopes;
use egress::{Egress, EgressError};
use jwt::{Claims, JwtError, Token};

/// The operator's name of the provider, for the log.
const NAME: &str = "console.oidc";

/// The ID tokens of one provider for one client. They are verified as the JWTs of callers are.
pub(crate) struct IdTokens {
    issuer: Issuer,
}

impl IdTokens {
    /// Tokens of `issuer` for the client, which are verified with the keys at `jwks_url`.
    ///
    /// # Errors
    /// If egress cannot call the URL.
    pub(crate) fn new(
        issuer: &str,
        client_id: &str,
        jwks_url: &Url,
        allow_private_network: bool,
        egress: &Egress,
    ) -> Result<Self, EgressError> {
        let keys = KeySource::new(NAME, jwks_url, allow_private_network, egress.clone())?;
        let settings = JwtIssuer {
            issuer: issuer.to_owned(),
            audience: client_id.to_owned(),
            jwks_url: jwks_url.clone(),
            tenant: TenantOf::Issuer(String::new()),
            scopes: Scopes::default(),
            allow_private_network,
        };
        Ok(Self { issuer: Issuer { settings, keys } })
    }

    /// Verifies a token for the sign-in with this nonce. Returns the subject and all claims.
    ///
    /// # Errors
    /// If the token is not accepted.
    pub(crate) async fn verify(&self, token: &str, nonce: &str) -> Result<(String, Claims), JwtError> {
        let claims = self.issuer.verify(&Token::read(token)?).await?;
        let text = |name: &str| claims.get(name).and_then(Value::as_str);
        if text("nonce") != Some(nonce) {
            return Err(JwtError::Claim("nonce"));
        }
        // A token for several clients names the one that it was issued to.
        let is_for_several = claims.get("aud").and_then(Value::as_array).is_some_and(|audiences| audiences.len() > 1);
        if (is_for_several || claims.contains_key("azp")) && text("azp") != Some(self.issuer.settings.audience.as_str())
        {
            return Err(JwtError::Claim("azp"));
        }
        let subject = claims.get("sub").and_then(name_in).ok_or(JwtError::Claim("sub"))?.to_owned();
        Ok((subject, claims))
    }
}
