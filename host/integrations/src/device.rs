//! Authorizations by a device code (RFC 8628): begins one, and asks the provider if the user has
//! decided. The user may do this on any device, and no browser comes back.

use std::time::{Duration, SystemTime};

use secrecy::ExposeSecret;

use super::begin::random_secret;
use super::exchange::state_hash;
use super::{AccountSecret, AuthorizationResult, BeginError, IntegrationError, Integrations};
use contract::{AuthScheme, Oauth2};
use oauth::{CALL_TIMEOUT, DeviceAnswer, DeviceAuthorization, LONGEST_INTERVAL, TokenError};
use registry::Connector;
use store::{AccountAddress, Authorization, DevicePoll, DeviceProgress, Holder, KeyId, Labels, StateHash};

/// Name of the way to connect an account, in requests and answers.
pub const DEVICE_CODE: &str = "oauth2_device_code";

/// The result of an authorization whose code the user has not entered in time. RFC 8628 has the
/// same code.
const EXPIRED: &str = "expired_token";

/// The result of an authorization whose key was revoked, or whose link was deleted or finished.
pub(super) const WITHDRAWN: &str = "withdrawn";

/// Time added to the interval if the provider asks for it (RFC 8628, section 3.5).
const SLOW_DOWN: Duration = Duration::from_secs(5);

/// Time after which another gateway may ask about an authorization that this one has claimed. It is
/// longer than a call to the provider.
const CLAIM: Duration = CALL_TIMEOUT.saturating_mul(3);

/// The most authorizations about which one round asks.
const BATCH: u32 = 256;

/// The options of a caller who begins an authorization by a device code.
pub struct DeviceOptions {
    /// The name of the integration. `None` for the name of the account at the service.
    pub user_identifier: Option<String>,
    /// `true` if another account may replace the one behind the identifier.
    pub replaces: bool,
    /// The labels of the integration. `None` keeps the labels of an integration that is overwritten.
    pub labels: Option<Labels>,
    /// The parts of the account's address that the caller gave, which the connector accepts.
    pub address: AccountAddress,
    /// The id of the link whose page begins the authorization.
    pub connect_link: Option<String>,
    /// The API key of the caller. `None` for a JWT or a link.
    pub key_id: Option<KeyId>,
}

/// An authorization by a device code that was started.
pub struct StartedDevice {
    /// Identifies the authorization to its holder.
    pub id: String,
    /// The codes, and the page for the user.
    pub codes: DeviceAuthorization,
    /// The time at which the code expires.
    pub expires_at: SystemTime,
}

/// The provider's answer about an authorization that this gateway has asked about.
pub enum DeviceStep {
    /// The user has not decided yet, or the authorization was claimed by another gateway.
    Wait,
    /// The authorization has ended without an account.
    Failed(Box<DevicePoll>, AuthorizationResult),
    /// The user has consented. The caller must end the authorization with its result.
    Granted(Box<DevicePoll>, Box<AccountSecret>),
}

impl Integrations {
    /// Gets a code for the user, and stores the authorization. The gateway asks the provider about it
    /// until it expires.
    ///
    /// # Errors
    /// If settings are missing, if the provider gives no code, or if the store or the vault fails.
    pub async fn begin_device(
        &self,
        holder: &Holder,
        connector: &Connector,
        scheme: &Oauth2,
        options: DeviceOptions,
    ) -> Result<StartedDevice, BeginError> {
        let client = self.client_for_new(&holder.tenant, connector, scheme).await?;
        let provider = self.configured_provider(connector, scheme, client, &options.address)?;
        let codes = provider.device_authorization(connector.name()).await??;
        let DeviceOptions { user_identifier, replaces, labels, address, connect_link, key_id } = options;
        let id = random_secret()?;
        let context = holder.verifier_context(user_identifier.as_deref());
        let code = codes.device_code.expose_secret().as_bytes();
        let sealed = self.vault.seal(&context, code).await.map_err(IntegrationError::from)?;
        let expires_at = self.store.database().now().await.map_err(IntegrationError::from)? + codes.expires_in;
        let authorization = Authorization {
            hash: state_hash(&id),
            holder: holder.clone(),
            user_identifier,
            replaces,
            confirms: false,
            callback_url: String::new(),
            connect_link,
            redirect_uri: String::new(),
            verifier: Some(sealed),
            labels,
            address,
            key_id,
            oauth_client: provider.client_of_tenant().map(str::to_owned),
            expires_at,
        };
        let saved = self.store.authorizations().save_device(authorization, codes.interval).await;
        saved.map_err(IntegrationError::from)?;
        Ok(StartedDevice { id, codes, expires_at: expires_at.into() })
    }

    /// The progress of an authorization of this holder. `None` if there is no such authorization.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn device_progress(&self, holder: &Holder, id: &str) -> Result<Option<DeviceProgress>, IntegrationError> {
        Ok(self.store.authorizations().device_progress(holder, &state_hash(id)).await?)
    }

    /// The authorizations about which a gateway must ask the provider now.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn due_devices(&self) -> Result<Vec<StateHash>, IntegrationError> {
        Ok(self.store.authorizations().due_devices(BATCH).await?)
    }

    /// Asks the provider about an authorization, unless another gateway does. An authorization that
    /// the user has declined, or that cannot succeed, ends here.
    pub async fn ask_about_device(&self, hash: &StateHash) -> DeviceStep {
        let poll = match self.store.authorizations().claim_device(hash, CLAIM, EXPIRED, WITHDRAWN).await {
            Ok(Some(poll)) => poll,
            Ok(None) => return DeviceStep::Wait,
            Err(error) => {
                IntegrationError::from(error).log("a provider is not asked about a device code");
                return DeviceStep::Wait;
            }
        };
        let DevicePoll { authorization, interval, number } = &poll;
        let holder = &authorization.holder;
        let again = match self.ask_provider(authorization).await {
            Ok(Asked::Granted(secret)) => match self.store.authorizations().take_device(hash, *number).await {
                Ok(true) => return DeviceStep::Granted(Box::new(poll), secret),
                Ok(false) => {
                    tracing::warn!(
                        "the tokens of a device code came too late, because another gateway has asked since"
                    );
                    self.revoke_unused(holder, &authorization.address, &secret).await;
                    return DeviceStep::Wait;
                }
                Err(error) => {
                    // The code may be taken, so asking again gives no tokens.
                    IntegrationError::from(error).log("the tokens of a device code cannot be stored");
                    self.revoke_unused(holder, &authorization.address, &secret).await;
                    return DeviceStep::Wait;
                }
            },
            Ok(Asked::Pending) => (*interval, *interval),
            Ok(Asked::SlowDown) => {
                let longer = *interval + SLOW_DOWN;
                (longer, longer)
            }
            Ok(Asked::Unavailable(retry_after)) => {
                // RFC 8628, section 3.5: the requests become less frequent after a failure.
                let longer = (*interval * 2).min(LONGEST_INTERVAL.max(*interval));
                (longer, retry_after.unwrap_or_default().max(longer))
            }
            Err(result) => {
                self.end_device(&poll, &result).await;
                return DeviceStep::Failed(Box::new(poll), result);
            }
        };
        let (interval, delay) = again;
        if let Err(error) = self.store.authorizations().postpone_device(hash, *number, interval, delay).await {
            IntegrationError::from(error).log("the next request about a device code cannot be stored");
        }
        DeviceStep::Wait
    }

    /// Stores the result of an authorization.
    pub async fn end_device(&self, poll: &DevicePoll, result: &AuthorizationResult) {
        let stored = match result {
            AuthorizationResult::Connected { user_identifier }
            | AuthorizationResult::Pending { user_identifier, .. } => Ok(user_identifier.clone()),
            AuthorizationResult::OtherAccount { .. } => Err("other_account".to_owned()),
            AuthorizationResult::Failed { code, .. } => Err(code.clone()),
        };
        let Authorization { holder: Holder { tenant, connector, .. }, connect_link, .. } = &poll.authorization;
        if let (Ok(user_identifier), Some(link)) = (&stored, connect_link)
            && let Err(error) = self.store.connect_links().note_account(link, connector, user_identifier).await
        {
            tracing::warn!(%error, "the page of a link cannot show an account that was connected");
        }
        if let Err(code) = &stored {
            tracing::info!(tenant, connector, code, "an authorization by a device code has ended without an account");
        }
        if let Err(error) = self.store.authorizations().end_device(&poll.authorization.hash, poll.number, stored).await
        {
            IntegrationError::from(error).log("the result of an authorization by a device code cannot be stored");
        }
    }

    /// Asks the provider once.
    ///
    /// # Errors
    /// The failed result of the authorization.
    async fn ask_provider(&self, authorization: &Authorization) -> Result<Asked, AuthorizationResult> {
        let Authorization { holder, user_identifier, oauth_client, address, .. } = authorization;
        let name = holder.connector.as_str();
        let connector = self.registry.get(name).ok_or_else(|| AuthorizationResult::failed("connector_changed"))?;
        let AuthScheme::Oauth2(scheme) = &connector.manifest().auth else {
            return Err(AuthorizationResult::failed("connector_changed"));
        };
        let provider = self.provider_of_authorization(&connector, scheme, oauth_client.as_deref(), address).await?;
        let Some(sealed) = &authorization.verifier else { return Err(AuthorizationResult::failed("internal_error")) };
        let context = holder.verifier_context(user_identifier.as_deref());
        let code = self.unseal_text(&context, sealed).await.map_err(|error| {
            error.log("a device code cannot be unsealed");
            AuthorizationResult::failed("internal_error")
        })?;
        let since = clock::now();
        match provider.poll_device(&code).await {
            Ok(DeviceAnswer::Pending) => Ok(Asked::Pending),
            Ok(DeviceAnswer::SlowDown) => Ok(Asked::SlowDown),
            Ok(DeviceAnswer::Granted(tokens)) => {
                let client = provider.client_of_tenant().map(str::to_owned);
                let scopes = provider.scopes().to_vec();
                Ok(Asked::Granted(Box::new(AccountSecret::OAuth2 { tokens: *tokens, scopes, since, client })))
            }
            Err(TokenError::Unavailable { detail, retry_after }) => {
                tracing::warn!(connector = name, detail, "a provider cannot answer about a device code now");
                Ok(Asked::Unavailable(retry_after))
            }
            Err(TokenError::Refused { error, .. }) if matches!(error.as_str(), "access_denied" | EXPIRED) => {
                Err(AuthorizationResult::of_provider(&error))
            }
            Err(error) => {
                tracing::warn!(connector = name, %error, "a device code cannot be exchanged");
                Err(AuthorizationResult::from(&error))
            }
        }
    }
}

/// A provider's answer about a device code, unless the authorization has failed.
enum Asked {
    Pending,
    SlowDown,
    /// The time after which the provider accepts another request, if it says so.
    Unavailable(Option<Duration>),
    Granted(Box<AccountSecret>),
}
