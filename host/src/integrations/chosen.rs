//! The integration of one operation: chosen first, without a request to the provider, and made ready later.
//!
//! Between the two steps the pipeline admits the call. So a call that is over a limit causes no refresh.

use std::sync::Arc;
use std::time::SystemTime;

use super::cache::CachedIntegration;
use super::freshness::Freshness;
use super::live_credential::{not_refreshed, reauthorize};
use super::lookup::{choose, usable};
use super::{AccessError, IntegrationError, Integrations, LiveCredential, auth_type};
use crate::registry::Connector;
use store::{Holder, Integration};

/// Attempts to find a credential that is good. Usually one refresh is enough. An integration that others write at the same time
/// may need more attempts.
const ATTEMPTS: usize = 4;

/// The integration that an operation runs on. Its credential may have expired.
pub struct ChosenIntegration(Arc<CachedIntegration>);

impl ChosenIntegration {
    /// Its name among the holder's integrations.
    pub fn user_identifier(&self) -> &str {
        &self.0.integration.user_identifier
    }
}

impl Integrations {
    /// Chooses the integration of an operation: the named one, else the selected one, else the only one.
    ///
    /// # Errors
    /// If the holder has no such integration, if the choice is ambiguous, or if no refresh can give a good credential now.
    pub async fn choose(
        &self,
        connector: &Connector,
        holder: &Holder,
        named: Option<&str>,
    ) -> Result<ChosenIntegration, AccessError> {
        let read = self.store.integrations_of(holder);
        let found = self.cache.rows(holder, connector.digest(), read).await?;
        let usable = usable(&found.rows, auth_type(&connector.manifest().auth));
        let row = choose(&usable, named)?;
        match Freshness::at(&row.integration.details, SystemTime::now()) {
            Freshness::Fresh | Freshness::Due | Freshness::Expired => Ok(ChosenIntegration(Arc::clone(row))),
            Freshness::RetryIn(pause) => Err(not_refreshed(&row.integration, pause)),
            Freshness::Ended => Err(reauthorize(&row.integration)),
        }
    }

    /// Makes the credential of a chosen integration ready. An expired credential is refreshed first.
    ///
    /// # Errors
    /// If the refresh gives no good credential, or the credential cannot be unsealed.
    pub async fn live_credential(
        self: &Arc<Self>,
        connector: &Arc<Connector>,
        mut chosen: ChosenIntegration,
    ) -> Result<LiveCredential, AccessError> {
        let scheme = &connector.manifest().auth;
        for _ in 0..ATTEMPTS {
            let ChosenIntegration(row) = &chosen;
            let Integration { id, version, holder, user_identifier, details, .. } = &row.integration;
            match Freshness::at(details, SystemTime::now()) {
                Freshness::Fresh => {}
                // The refresh runs in the background; this call does not wait for it.
                Freshness::Due => drop(self.refresh(id, *version)),
                Freshness::Expired => {
                    self.refresh(id, *version).await;
                    self.cache.changed(holder).await;
                    chosen = self.choose(connector, holder, Some(user_identifier)).await?;
                    continue;
                }
                // The credential ended after the integration was chosen. Choosing again says why.
                Freshness::RetryIn(_) | Freshness::Ended => {
                    chosen = self.choose(connector, holder, Some(user_identifier)).await?;
                    continue;
                }
            }
            let unsealed = row.credential.get_or_try_init(|| self.unseal(&row.integration, scheme)).await?.clone();
            return Ok(LiveCredential::new(self, connector, Arc::clone(row), unsealed.credential));
        }
        Err(IntegrationError::Secret("the integration kept changing while it was being read".to_owned()).into())
    }
}
