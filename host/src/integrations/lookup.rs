//! Finding, listing and selecting integrations.

use std::sync::Arc;

use super::cache::CachedIntegration;
use super::{AccessError, IntegrationError, Integrations};
use store::{AuthType, Holder, Integration};

/// The answer to the question if a holder has an integration.
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
    pub async fn get(&self, holder: &Holder, user_identifier: &str) -> Result<Option<Integration>, IntegrationError> {
        Ok(self.store.integration(holder, user_identifier).await?)
    }

    /// All integrations of a tenant's user, for all connectors.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn list(&self, tenant: &str, subject: &str) -> Result<Vec<Integration>, IntegrationError> {
        Ok(self.store.integrations_of_subject(tenant, subject).await?)
    }

    /// Selects the integration that operations use if the caller names no other. Returns `None` if it does not exist.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn select(
        &self,
        holder: &Holder,
        user_identifier: &str,
    ) -> Result<Option<Integration>, IntegrationError> {
        let selected = self.store.select_integration(holder, user_identifier).await?;
        self.cache.changed(holder).await;
        Ok(selected)
    }

    /// Returns whether a holder has an integration of the kind that the connector uses, with this name if one is given.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn exists(
        &self,
        holder: &Holder,
        auth_type: AuthType,
        named: Option<&str>,
    ) -> Result<Existence, IntegrationError> {
        let integrations = self.store.integrations_of(holder).await?;
        let rows: Vec<_> = integrations.into_iter().map(CachedIntegration::new).collect();
        let rows = usable(&rows, auth_type);
        let chosen = choose(&rows, named).ok();
        Ok(Existence {
            exists: chosen.is_some() || named.is_none() && !rows.is_empty(),
            user_identifier: chosen.map(|row| row.integration.user_identifier.clone()),
        })
    }
}

/// The integrations of one auth type. A new version of a connector may use another type than the stored integrations.
pub(super) fn usable(rows: &[Arc<CachedIntegration>], auth_type: AuthType) -> Vec<Arc<CachedIntegration>> {
    rows.iter().filter(|row| row.integration.auth_type == auth_type).cloned().collect()
}

/// The integration that an operation uses: the named one, else the selected one, else the only one.
pub(super) fn choose<'a>(
    rows: &'a [Arc<CachedIntegration>],
    named: Option<&str>,
) -> Result<&'a Arc<CachedIntegration>, AccessError> {
    if let Some(named) = named {
        let found = rows.iter().find(|row| row.integration.user_identifier == named);
        return found.ok_or_else(|| AccessError::Required { named: Some(named.to_owned()) });
    }
    match rows {
        [] => Err(AccessError::Required { named: None }),
        [only] => Ok(only),
        several => several.iter().find(|row| row.integration.selected).ok_or_else(|| AccessError::Ambiguous {
            candidates: several.iter().map(|row| row.integration.user_identifier.clone()).collect(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::integrations::tests::integration;

    fn row(user_identifier: &str, selected: bool) -> Arc<CachedIntegration> {
        CachedIntegration::new(Integration {
            user_identifier: user_identifier.to_owned(),
            selected,
            ..integration(user_identifier, 1)
        })
    }

    fn chosen(rows: &[Arc<CachedIntegration>], named: Option<&str>) -> String {
        match choose(rows, named) {
            Ok(row) => row.integration.user_identifier.clone(),
            Err(AccessError::Required { named }) => format!("required {named:?}"),
            Err(AccessError::Ambiguous { candidates }) => format!("one of {}", candidates.join(", ")),
            Err(other) => other.to_string(),
        }
    }

    #[test]
    fn the_named_one_wins_then_the_selected_one_then_the_only_one() {
        let rows = [row("a", false), row("b", true), row("c", false)];
        assert_eq!(chosen(&rows, Some("c")), "c");
        assert_eq!(chosen(&rows, None), "b");
        assert_eq!(chosen(&rows[..1], None), "a");
    }

    #[test]
    fn several_integrations_without_a_selection_are_ambiguous() {
        let rows = [row("a", false), row("c", false)];
        assert_eq!(chosen(&rows, None), "one of a, c");
        assert_eq!(chosen(&rows, Some("b")), r#"required Some("b")"#);
        assert_eq!(chosen(&[], None), "required None");
    }
}
