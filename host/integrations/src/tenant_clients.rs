//! The OAuth clients of tenants, which the operator sets.

use secrecy::SecretString;

use super::{IntegrationError, Integrations};
use store::{NewOauthClient, TenantOauthClient};

impl Integrations {
    /// Sets the client of a tenant for a connector or a provider, in place of the configuration's.
    /// Accounts that are connected with another client keep that one.
    ///
    /// # Errors
    /// If the store or the vault fails.
    pub async fn set_client(
        &self,
        client: NewOauthClient,
        secret: Option<SecretString>,
    ) -> Result<TenantOauthClient, IntegrationError> {
        let secret = match secret {
            None => None,
            Some(secret) => {
                let context = TenantOauthClient::context(&client.tenant, &client.name);
                Some(self.vault.seal(&context, &secret).await?)
            }
        };
        Ok(self.store.oauth_clients().set(NewOauthClient { secret, ..client }).await?)
    }
}
