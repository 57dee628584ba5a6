//! The user enters a code on any device (RFC 8628), and no browser comes back: the gateway asks the
//! provider if the user has decided.

use std::time::{Duration, SystemTime};

use secrecy::SecretString;

use super::request::ConnectRequest;
use crate::authorization::{NewAuthorization, WITHDRAWN, random_secret, secret_of_user, state_hash};
use crate::{AccountSecret, AuthorizationResult, BeginError, IntegrationError, Integrations};
use contract::Oauth2;
use oauth::{CALL_TIMEOUT, DeviceAnswer, DeviceAuthorization, LONGEST_INTERVAL, TokenError};
use registry::Connector;
use store::{Account, Authorization, DevicePoll, DeviceProgress, Holder, StateHash};

/// Name of the way to connect an account, in requests and answers.
pub const DEVICE_CODE: &str = "oauth2_device_code";

/// The result of an authorization whose code the user has not entered in time. RFC 8628 has the
/// same code.
const EXPIRED: &str = "expired_token";

/// Time added to the interval if the provider asks for it (RFC 8628, section 3.5).
const SLOW_DOWN: Duration = Duration::from_secs(5);

/// Time after which another gateway may ask about an authorization that this one has claimed. It is
/// longer than a call to the provider.
const CLAIM: Duration = CALL_TIMEOUT.saturating_mul(3);

/// The most authorizations about which one round asks.
const BATCH: u32 = 256;

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
    pub(super) async fn begin_device(
        &self,
        connector: &Connector,
        scheme: &Oauth2,
        request: &ConnectRequest,
    ) -> Result<StartedDevice, BeginError> {
        let client = self.client_for_new(&request.holder.tenant, connector, scheme).await?;
        let provider = self.configured_provider(connector, scheme, client, &request.address)?;
        let codes = provider.device_authorization(connector.name()).await??;
        let id = random_secret()?;
        let new = NewAuthorization {
            id: &id,
            verifier: Some(&codes.device_code),
            redirect_uri: String::new(),
            life: codes.expires_in,
            poll_interval: Some(codes.interval),
        };
        let expires_at = self.save_authorization(request, &provider, new).await?.into();
        Ok(StartedDevice { id, codes, expires_at })
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
                    self.revoke_unused(holder, &unknown_account(authorization), &secret).await;
                    return DeviceStep::Wait;
                }
                Err(error) => {
                    // The code may be taken, so asking again gives no tokens.
                    IntegrationError::from(error).log("the tokens of a device code cannot be stored");
                    self.revoke_unused(holder, &unknown_account(authorization), &secret).await;
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
        let Holder { tenant, connector, .. } = &poll.authorization.holder;
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
        let connector = authorization.holder.connector.as_str();
        // Another gateway may have the connector, and ask the next time. If none has it, the code expires.
        if self.registry.get(connector).is_none() {
            return Ok(Asked::Pending);
        }
        let provider = self.provider_of(authorization).await?;
        let code = self.verifier_of(authorization).await?;
        let code: SecretString = code.ok_or_else(|| AuthorizationResult::failed("internal_error"))?;
        let since = clock::now();
        match provider.poll_device(&code).await {
            Ok(DeviceAnswer::Pending) => Ok(Asked::Pending),
            Ok(DeviceAnswer::SlowDown) => Ok(Asked::SlowDown),
            Ok(DeviceAnswer::Granted(tokens)) => {
                Ok(Asked::Granted(Box::new(secret_of_user(&provider, *tokens, since))))
            }
            Err(TokenError::Unavailable { detail, retry_after }) => {
                tracing::warn!(connector, detail, "a provider cannot answer about a device code now");
                Ok(Asked::Unavailable(retry_after))
            }
            Err(TokenError::Refused { error, .. }) if matches!(error.as_str(), "access_denied" | EXPIRED) => {
                Err(AuthorizationResult::of_provider(&error))
            }
            Err(error) => {
                tracing::warn!(connector, %error, "a device code cannot be exchanged");
                Err(AuthorizationResult::from(&error))
            }
        }
    }
}

/// The account of an authorization before the service has said whose it is.
fn unknown_account(authorization: &Authorization) -> Account {
    Account { address: authorization.address.clone(), ..Account::default() }
}

/// A provider's answer about a device code, unless the authorization has failed.
enum Asked {
    /// The user has not decided yet, or this gateway could not ask.
    Pending,
    SlowDown,
    /// The time after which the provider accepts another request, if it says so.
    Unavailable(Option<Duration>),
    Granted(Box<AccountSecret>),
}
