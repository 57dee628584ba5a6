//! The integration of one operation: chosen first, without a request to the provider, and its
//! credential is made ready later.
//!
//! Between the two steps the pipeline admits the call. So a call that is over a limit causes no
//! refresh.

use std::sync::Arc;
use std::time::Instant;

use super::cache::{CachedChoice, CachedIntegration, FRESH_FOR};
use super::freshness::Freshness;
use super::live_credential::not_refreshed;
use super::{AccessError, IntegrationError, Integrations, auth_type};
use registry::{Connector, RefusedPart};
use store::{Holder, Integration};

/// The integration that an operation runs on. Its credential may have expired.
pub struct ChosenIntegration(pub(super) Arc<CachedIntegration>);

impl ChosenIntegration {
    /// The integration's id.
    pub fn id(&self) -> &str {
        &self.0.integration.id
    }

    /// The integration's name among the holder's integrations.
    pub fn user_identifier(&self) -> &str {
        &self.0.integration.user_identifier
    }
}

impl Integrations {
    /// Chooses the integration of an operation: the named one, else the selected one, else the only
    /// one.
    ///
    /// # Errors
    /// If the holder has no such integration, if the choice is ambiguous, or if no refresh can give
    /// a good credential now. If the user must connect an account and cannot, the error is for the
    /// operator.
    pub async fn choose(
        &self,
        connector: &Connector,
        holder: &Holder,
        named: Option<&str>,
    ) -> Result<ChosenIntegration, AccessError> {
        let asked_at = Instant::now();
        let since = asked_at.checked_sub(FRESH_FOR).unwrap_or(asked_at);
        let found = self.choice(connector, holder, named, since).await?;
        let decide = |found: &CachedChoice| self.with_address(self.decide(found, named)?, connector);
        let decided = match decide(&found) {
            // The account may have been connected by another gateway a moment ago.
            Err(_) if !found.was_read_since(asked_at) => {
                decide(&*self.choice(connector, holder, named, asked_at).await?)
            }
            decided => decided,
        };
        match decided {
            Err(error) if has_no_account(&error) => {
                Err(self.missing_setup(&holder.tenant, connector).await?.map_or(error, AccessError::NotConfigured))
            }
            decided => decided,
        }
    }

    /// The error of calls on an account whose user has to authorize again, as the store has it now.
    /// `None` if the account can be used, or if there is none.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn ended(&self, holder: &Holder, user_identifier: &str) -> Result<Option<AccessError>, IntegrationError> {
        let found = self.store.integrations().get(holder, user_identifier).await?;
        let is_ended = |found: &Integration| Freshness::at(&found.details, clock::now()) == Freshness::Ended;
        Ok(found.filter(is_ended).map(|found| self.reauthorize(&found)))
    }

    async fn choice(
        &self,
        connector: &Connector,
        holder: &Holder,
        named: Option<&str>,
        since: Instant,
    ) -> Result<Arc<CachedChoice>, IntegrationError> {
        let read = self.store.integrations().choose(holder, auth_type(&connector.manifest().auth), named);
        Ok(self.cache.choice(holder, named, connector.digest(), since, read).await?)
    }

    /// The integration of a call, or the reason why the call cannot run.
    fn decide(&self, found: &CachedChoice, named: Option<&str>) -> Result<ChosenIntegration, AccessError> {
        let row = match &found.chosen {
            Ok(row) => row,
            Err(candidates) => return Err(no_choice(named, candidates.clone())),
        };
        match Freshness::at(&row.integration.details, clock::now()) {
            Freshness::Fresh | Freshness::Due | Freshness::Expired => Ok(ChosenIntegration(Arc::clone(row))),
            Freshness::RetryIn(backoff) => Err(not_refreshed(&row.integration, backoff)),
            Freshness::Ended => Err(self.reauthorize(&row.integration)),
        }
    }

    /// The error of a call on an account that lacks a part of its address, or has one that this
    /// version of the connector refuses. The user must connect the account again.
    fn with_address(&self, chosen: ChosenIntegration, connector: &Connector) -> Result<ChosenIntegration, AccessError> {
        let ChosenIntegration(row) = &chosen;
        match connector.check_address(&row.integration.details.account.address) {
            Ok(()) => Ok(chosen),
            Err(RefusedPart { name, .. }) => {
                let detail = format!(
                    "The address of the account has no `{name}` that the connector accepts. Connect the account again, with `{name}` \
                     in `address` if GET /connectors/{}/auth-schema names it.",
                    connector.name()
                );
                Err(self.reauthorize_with_detail(&row.integration, detail))
            }
        }
    }
}

/// Returns `true` if the call can only run after the user has connected a first account.
fn has_no_account(error: &AccessError) -> bool {
    matches!(error, AccessError::Required { candidates, .. } if candidates.is_empty())
}

/// Why no integration is chosen.
fn no_choice(named: Option<&str>, candidates: Vec<String>) -> AccessError {
    match named {
        None if !candidates.is_empty() => AccessError::Ambiguous { candidates },
        named => AccessError::Required { named: named.map(str::to_owned), candidates },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_without_a_choice_learns_which_accounts_there_are() {
        let candidates = || vec!["a".to_owned(), "b".to_owned()];
        assert!(
            matches!(no_choice(None, candidates()), AccessError::Ambiguous { candidates } if candidates == ["a", "b"])
        );
        assert!(matches!(no_choice(None, Vec::new()), AccessError::Required { named: None, .. }));
        let unknown = no_choice(Some("c"), candidates());
        assert!(matches!(unknown, AccessError::Required { named: Some(_), candidates } if candidates == ["a", "b"]));
    }
}
