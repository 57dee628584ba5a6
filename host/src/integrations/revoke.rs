//! Revokes tokens that newer tokens have replaced, and tokens that the gateway does not keep.
//!
//! It applies only to providers whose revocation ends no other access (`revokes-replaced-grants`
//! in the manifest). Other providers would also end the new grant, or further connections of the
//! same user.

use std::sync::Arc;

use secrecy::ExposeSecret;

use super::{AccountSecret, IntegrationError, Integrations};
use crate::oauth::{Provider, Tokens};
use contract::AuthScheme;
use store::{AuthType, Holder, Integration, Status};

impl Integrations {
    /// Revokes the tokens of an integration as it was before the user connected the account again.
    /// Runs in the background.
    pub(super) fn revoke_replaced(self: &Arc<Self>, previous: Integration) {
        if previous.auth_type != AuthType::OAuth2 || previous.details.status != Status::Active {
            return;
        }
        let this = Arc::clone(self);
        self.spawn(async move {
            let tokens = match this.provider_of_replaced(&previous) {
                Some((provider, scheme)) => {
                    this.account_secret(&previous, &scheme).await.map(|secret| Some((provider, secret)))
                }
                None => Ok(None),
            };
            match tokens {
                Ok(Some((provider, AccountSecret::OAuth2 { tokens, .. }))) => {
                    this.revoke_unless_in_use(&provider, &previous, &tokens).await;
                }
                Ok(_) => {}
                Err(error) => {
                    let Integration { id, holder, user_identifier, .. } = &previous;
                    let Holder { tenant, connector, .. } = holder;
                    tracing::warn!(
                        integration = id,
                        tenant,
                        connector,
                        user_identifier,
                        %error,
                        "the replaced tokens cannot be read to revoke them"
                    );
                }
            }
        });
    }

    /// Revokes tokens that an integration does not have any more. Some providers give the same
    /// token to all grants of a user. A token that is still in use is not revoked.
    pub(super) async fn revoke_unless_in_use(&self, provider: &Provider, previous: &Integration, tokens: &Tokens) {
        let result = async {
            match self.tokens_of(&previous.id).await.map_err(|error| error.to_string())? {
                Some(current) if share_a_token(&current, tokens) => Ok(()),
                _ => provider.revoke(tokens).await.map(drop).map_err(|error| error.to_string()),
            }
        };
        if let Err(error) = result.await {
            let Integration { id, holder, user_identifier, .. } = previous;
            let Holder { tenant, connector, .. } = holder;
            tracing::warn!(
                integration = id,
                tenant,
                connector,
                user_identifier,
                error,
                "the replaced tokens are not revoked"
            );
        }
    }

    /// Revokes tokens that the gateway does not keep.
    pub(super) async fn revoke_unused(&self, holder: &Holder, secret: &AccountSecret) {
        let AccountSecret::OAuth2 { tokens, .. } = secret else { return };
        let Some(connector) = self.registry.get(&holder.connector) else { return };
        let AuthScheme::Oauth2(scheme) = &connector.manifest().auth else { return };
        // Other providers might also end the access that the user has given before.
        if !scheme.revokes_replaced_grants {
            return;
        }
        if let Ok(provider) = self.provider(&connector, scheme)
            && let Err(error) = provider.revoke(tokens).await
        {
            let Holder { tenant, connector, .. } = holder;
            tracing::warn!(tenant, connector, %error, "tokens that are not kept are not revoked");
        }
    }

    /// The provider and the auth scheme of an integration, if the manifest allows the revocation
    /// of replaced tokens.
    fn provider_of_replaced(&self, previous: &Integration) -> Option<(Provider, AuthScheme)> {
        let connector = self.registry.get(&previous.holder.connector)?;
        let AuthScheme::Oauth2(scheme) = &connector.manifest().auth else { return None };
        let provider = self.provider(&connector, scheme).ok()?;
        scheme.revokes_replaced_grants.then(|| (provider, connector.manifest().auth.clone()))
    }

    /// The tokens that an integration has now, or `None` if it was removed or has no tokens.
    async fn tokens_of(&self, id: &str) -> Result<Option<Tokens>, IntegrationError> {
        let Some(row) = self.store.integration_by_id(id).await? else { return Ok(None) };
        let Some(secret) = self.secret_bytes(&row).await? else { return Ok(None) };
        Ok(Tokens::from_bytes(secret.expose_secret()).ok())
    }
}

/// Returns `true` if both have the same access token or the same refresh token. Not constant-time:
/// the gateway holds both.
fn share_a_token(one: &Tokens, other: &Tokens) -> bool {
    let refresh_token = |tokens: &Tokens| tokens.refresh_token.as_ref().map(|token| token.expose_secret().to_owned());
    one.access_token.expose_secret() == other.access_token.expose_secret()
        || refresh_token(one).is_some() && refresh_token(one) == refresh_token(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(access_token: &str, refresh_token: Option<&str>) -> Tokens {
        Tokens {
            access_token: access_token.into(),
            refresh_token: refresh_token.map(Into::into),
            expires_in: None,
            scopes: None,
        }
    }

    #[test]
    fn grants_that_share_a_token_are_not_told_apart() {
        let previous = tokens("a", Some("r"));
        assert!(share_a_token(&previous, &tokens("a", None)));
        assert!(share_a_token(&previous, &tokens("b", Some("r"))));
        assert!(!share_a_token(&previous, &tokens("b", Some("s"))));
        assert!(!share_a_token(&tokens("a", None), &tokens("b", None)));
    }
}
