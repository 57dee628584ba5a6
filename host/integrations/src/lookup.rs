//! Finding, listing and selecting integrations.

use super::{IntegrationError, Integrations, auth_type};
use registry::Connector;
use store::{AuthType, Choice, Holder, Integration, IntegrationFilter, Labels};

/// The result of [`Integrations::exists`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Existence {
    /// `true` if the holder has an integration, with the requested name if there was one.
    pub exists: bool,
    /// The integration that an operation would use, or `None` if the operation could not choose.
    pub user_identifier: Option<String>,
}

impl Integrations {
    /// The integration of a holder with this identifier.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn find(&self, holder: &Holder, user_identifier: &str) -> Result<Option<Integration>, IntegrationError> {
        Ok(self.store.integrations().get(holder, user_identifier).await?)
    }

    /// A page of the integrations of a tenant's user, for all connectors.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn list_of_user(
        &self,
        tenant: &str,
        subject: &str,
        filter: IntegrationFilter,
    ) -> Result<Vec<Integration>, IntegrationError> {
        Ok(self.store.integrations().of_subject(tenant, subject, filter).await?)
    }

    /// Selects the integration that operations use if the caller names no other. Returns `None` if
    /// it does not exist.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn select(
        &self,
        holder: &Holder,
        user_identifier: &str,
    ) -> Result<Option<Integration>, IntegrationError> {
        let selected = self.store.integrations().select(holder, user_identifier).await?;
        self.cache.changed(holder, user_identifier).await;
        Ok(selected)
    }

    /// Sets the labels of an integration. Returns `None` if it does not exist.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn label(
        &self,
        holder: &Holder,
        user_identifier: &str,
        labels: &Labels,
    ) -> Result<Option<Integration>, IntegrationError> {
        Ok(self.store.integrations().label(holder, user_identifier, labels).await?)
    }

    /// The identifiers of a holder's integrations, limited in number, for a caller that named one
    /// that does not exist.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn candidates(
        &self,
        connector: &Connector,
        holder: &Holder,
        named: &str,
    ) -> Result<Vec<String>, IntegrationError> {
        let auth_type = auth_type(&connector.manifest().auth);
        Ok(match self.store.integrations().choose(holder, auth_type, Some(named)).await? {
            Choice::One(_) => Vec::new(),
            Choice::Open { candidates } => candidates,
        })
    }

    /// Checks if a holder has an integration of the kind that the connector uses, with this name
    /// if one is given.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn exists(
        &self,
        holder: &Holder,
        auth_type: AuthType,
        named: Option<&str>,
    ) -> Result<Existence, IntegrationError> {
        Ok(match self.store.integrations().choose(holder, auth_type, named).await? {
            Choice::One(chosen) => Existence { exists: true, user_identifier: Some(chosen.user_identifier) },
            Choice::Open { candidates } => {
                Existence { exists: named.is_none() && !candidates.is_empty(), user_identifier: None }
            }
        })
    }
}
