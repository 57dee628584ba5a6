//! Importing integrations of other systems.

use database::connection::{Connection, Durability};
use database::value::values;

use super::queries::note;
use super::upsert::{connection_lock, upsert_integration};
use super::{Connected, Holder};
use crate::audit::{Acting, AuditAction};
use crate::handles::Integrations;
use crate::{StoreError, Stored};

/// An account to import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewImport {
    /// The owner.
    pub holder: Holder,
    /// The name of the account.
    pub user_identifier: String,
    /// The account and its secret.
    pub connected: Connected,
    /// The hash of what is imported, by which the same import is recognised later.
    pub hash: String,
}

/// The outcome for an account to import. `String` is the id of the integration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Imported {
    /// It is new.
    Created(String),
    /// The same was imported before.
    Unchanged(String),
    /// It has replaced what was there.
    Replaced(String),
    /// Another account or another import is there, and nothing is to be replaced.
    Differs,
    /// The holder has so many integrations that no other one is added.
    TooMany {
        /// The limit.
        limit: u64,
    },
}

impl Integrations<'_> {
    /// Imports accounts, in one transaction. What became of each is in the order of the accounts.
    pub async fn import(self, imports: Vec<NewImport>, replaces: bool) -> Stored<Vec<Imported>> {
        let by = Acting::current();
        self.0
            .write(Durability::PowerLoss, move |connection| {
                // Without the locks, another transaction could connect an account after it was looked for,
                // and the import would replace it. In one order, so that two imports never wait for each
                // other.
                let mut names: Vec<_> =
                    imports.iter().map(|import| connection_lock(&import.holder, &import.user_identifier)).collect();
                names.sort_unstable();
                names.dedup();
                names.iter().try_for_each(|name| connection.lock(name))?;
                imports.iter().map(|import| import_one(connection, &by, import, replaces)).collect()
            })
            .await
    }
}

fn import_one(connection: &mut dyn Connection, by: &Acting, import: &NewImport, replaces: bool) -> Stored<Imported> {
    let NewImport { holder, user_identifier, connected, hash } = import;
    let found: Option<(String, Option<String>)> = connection.optional(
        "SELECT id, imported FROM integrations
         WHERE tenant = $1 AND subject = $2 AND connector = $3 AND user_identifier = $4",
        values![&holder.tenant, &holder.subject, &holder.connector, user_identifier],
    )?;
    match &found {
        Some((id, Some(imported))) if imported == hash => return Ok(Imported::Unchanged(id.clone())),
        Some(_) if !replaces => return Ok(Imported::Differs),
        _ => {}
    }
    let integration = match upsert_integration(connection, holder, user_identifier, connected, &[]) {
        // Nothing was written.
        Err(StoreError::TooManyIntegrations { limit }) => return Ok(Imported::TooMany { limit }),
        upserted => upserted?,
    };
    connection.execute("UPDATE integrations SET imported = $1 WHERE id = $2", values![hash, &integration.id])?;
    note(connection, by, AuditAction::IntegrationImported, &integration)?;
    Ok(if found.is_some() { Imported::Replaced(integration.id) } else { Imported::Created(integration.id) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AuthType;
    use crate::testing::{Site, details, holder, on_every_database};

    on_every_database!(
        what_was_imported_is_recognised_and_replaced_on_request,
        an_account_that_is_connected_at_the_same_time_is_not_replaced,
    );

    fn import(name: &str, hash: &str) -> NewImport {
        let connected = Connected::new(AuthType::OAuth2, details());
        NewImport { holder: holder(), user_identifier: name.into(), connected, hash: hash.into() }
    }

    async fn an_account_that_is_connected_at_the_same_time_is_not_replaced(site: Site) {
        // Another gateway connects accounts while imports with the same names run. One of the two is
        // the first, and an import that comes second changes nothing.
        let other = site.open_again().await;
        for number in 0..20 {
            let names = [format!("a{number}"), format!("b{number}")];
            let forth = || vec![import(&names[0], "1"), import(&names[1], "1")];
            let back = || forth().into_iter().rev().map(|import| NewImport { hash: "2".into(), ..import }).collect();
            let (first, second) = tokio::join!(
                site.store.integrations().import(forth(), false),
                other.integrations().import(back(), false)
            );
            let (first, mut second) = (first.unwrap(), second.unwrap());
            second.reverse();
            for (one, other) in first.iter().zip(&second) {
                let outcomes = [one, other];
                let created = outcomes.iter().filter(|outcome| matches!(outcome, Imported::Created(_))).count();
                let differs = outcomes.iter().filter(|outcome| matches!(outcome, Imported::Differs)).count();
                assert_eq!((created, differs), (1, 1), "{outcomes:?}");
            }
        }
    }

    async fn what_was_imported_is_recognised_and_replaced_on_request(site: Site) {
        let store = &site.store;
        let both = || vec![import("ann", "1"), import("bob", "1")];
        let [Imported::Created(ann), Imported::Created(bob)] =
            &store.integrations().import(both(), false).await.unwrap()[..]
        else {
            panic!("they are new")
        };
        let unchanged = [Imported::Unchanged(ann.clone()), Imported::Unchanged(bob.clone())];
        assert_eq!(store.integrations().import(both(), true).await.unwrap(), unchanged);
        let other = || vec![import("ann", "2"), import("bob", "1")];
        let refused = [Imported::Differs, Imported::Unchanged(bob.clone())];
        assert_eq!(store.integrations().import(other(), false).await.unwrap(), refused);
        let replaced = [Imported::Replaced(ann.clone()), Imported::Unchanged(bob.clone())];
        assert_eq!(store.integrations().import(other(), true).await.unwrap(), replaced);

        // The user connects the account, so that it is no longer the imported one.
        crate::testing::connect(store, "ann").await;
        assert_eq!(store.integrations().import(other(), false).await.unwrap()[0], Imported::Differs);
    }
}
