//! The operator removes a connector.

use std::sync::Arc;

use super::commit::{Committed, Expected};
use super::history::{Action, Actor};
use super::live::Swapped;
use super::origin::Origin;
use super::{ChangeError, Connector, Registry};

/// A connector that was removed.
pub struct Removed {
    /// The generation of the removal.
    pub generation: i64,
    /// The shipped connector of the same identifier, which is live after the removal.
    pub live: Option<Arc<Connector>>,
}

impl Registry {
    /// Removes a connector, and deletes its grants. If it replaced a shipped connector, the shipped
    /// one is live again. Calls in progress end normally.
    ///
    /// # Errors
    /// If the connector is not installed, if it is shipped, or if its file cannot be removed.
    pub async fn remove(&self, identifier: &str, replaces: Option<i64>, by: &Actor) -> Result<Removed, ChangeError> {
        if contract_rules::name::identifier(identifier).is_err() {
            return Err(ChangeError::Unknown(identifier.to_owned()));
        }
        if self.get(identifier).is_some_and(|live| self.would_replace_shipped(&live)) {
            match self.restore_shipped(identifier, "restored", Action::Removed, replaces, by).await {
                Ok(Swapped { live, generation }) => return Ok(Removed { generation, live: Some(live) }),
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
            if let Committed::Done(generation) = Committed::again_unless_named(ended, replaces)? {
                let live = expected.live(identifier).filter(|live| live.is_shipped()).cloned();
                return Ok(Removed { generation, live });
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
