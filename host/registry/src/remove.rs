//! The operator removes a connector.

use super::commit::{Committed, Expected};
use super::history::{Action, Actor};
use super::origin::Origin;
use super::{ChangeError, Registry};

impl Registry {
    /// Removes a connector, and deletes its grants. If it replaced a shipped connector, the shipped
    /// one is live again. Calls in progress end normally.
    ///
    /// # Errors
    /// If the connector is not installed, if it is shipped, or if its file cannot be removed.
    pub async fn remove(&self, identifier: &str, replaces: Option<i64>, by: &Actor) -> Result<(), ChangeError> {
        if contract_rules::name::identifier(identifier).is_err() {
            return Err(ChangeError::Unknown(identifier.to_owned()));
        }
        if self.get(identifier).is_some_and(|live| self.would_replace_shipped(&live)) {
            match self.restore_shipped(identifier, "restored", Action::Removed, replaces, by).await {
                Ok(_) => return Ok(()),
                // Remove the module anyway. The next scan refuses the shipped module again and
                // reports why.
                Err(ChangeError::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        loop {
            let expected = Expected::now(self);
            let condition = self.service.condition(identifier, replaces).await?;
            if self.folders.file(Origin::Foreign, identifier).is_none() && !self.is_in_service(identifier).await? {
                match (self.folders.shipped(identifier), expected.live(identifier)) {
                    (Some(_), _) => return Err(ChangeError::Shipped(identifier.to_owned())),
                    (None, None) => return Err(ChangeError::Unknown(identifier.to_owned())),
                    (None, Some(_)) => {}
                }
            }
            let ended = self.commit_removal(&expected, identifier, condition, by).await;
            if let Committed::Done(()) = Committed::again_unless_named(ended, replaces)? {
                return Ok(());
            }
        }
    }

    /// Returns `true` if the service has a foreign module for the connector, so that a file on this
    /// disk is not needed.
    async fn is_in_service(&self, identifier: &str) -> Result<bool, ChangeError> {
        if !self.service.is_shared() {
            return Ok(false);
        }
        let live = self.service.store().modules().live_of(identifier).await?;
        Ok(live.is_some_and(|live| live.digest.is_some()))
    }
}
