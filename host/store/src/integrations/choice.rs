//! The integration that a call runs on.
//!
//! Every statement reads a limited number of rows by an index, so that a call of an application
//! with many users costs no more than one with few.

use database::connection::Connection;
use database::value::values;

use super::queries::{find_integration, select};
use super::{AuthType, Choice, Holder, Integration};
use crate::Stored;
use crate::handles::Integrations;

/// Maximum number of identifiers that are offered to a caller that has to name one.
const MAX_CANDIDATES: u32 = 50;

impl Integrations<'_> {
    /// Chooses among a holder's integrations of one auth type: the named one, else the selected
    /// one, else the only one.
    pub async fn choose(self, holder: &Holder, auth_type: AuthType, named: Option<&str>) -> Stored<Choice> {
        let (holder, named) = (holder.clone(), named.map(str::to_owned));
        self.0
            .read(move |connection| {
                let chosen = match &named {
                    Some(named) => {
                        find_integration(connection, &holder, named)?.filter(|found| found.auth_type == auth_type)
                    }
                    None => match selected(connection, &holder, auth_type)? {
                        Some(selected) => Some(selected),
                        None => only(connection, &holder, auth_type)?,
                    },
                };
                Ok(match chosen {
                    Some(chosen) => Choice::One(Box::new(chosen)),
                    None => Choice::Open { candidates: candidates(connection, &holder, auth_type)? },
                })
            })
            .await
    }
}

fn selected(connection: &mut dyn Connection, holder: &Holder, auth_type: AuthType) -> Stored<Option<Integration>> {
    connection.optional(
        &select("WHERE tenant = $1 AND subject = $2 AND connector = $3 AND selected AND auth_type = $4"),
        values![&holder.tenant, &holder.subject, &holder.connector, auth_type.name()],
    )
}

/// Returns the only integration of a holder.
fn only(connection: &mut dyn Connection, holder: &Holder, auth_type: AuthType) -> Stored<Option<Integration>> {
    let mut found: Vec<Integration> = connection.all(
        &select(
            "WHERE tenant = $1 AND subject = $2 AND connector = $3 AND auth_type = $4 ORDER BY user_identifier LIMIT 2",
        ),
        values![&holder.tenant, &holder.subject, &holder.connector, auth_type.name()],
    )?;
    Ok(found.pop().filter(|_| found.is_empty()))
}

fn candidates(connection: &mut dyn Connection, holder: &Holder, auth_type: AuthType) -> Stored<Vec<String>> {
    connection.all(
        "SELECT user_identifier FROM integrations
         WHERE tenant = $1 AND subject = $2 AND connector = $3 AND auth_type = $4 ORDER BY user_identifier LIMIT $5",
        values![&holder.tenant, &holder.subject, &holder.connector, auth_type.name(), MAX_CANDIDATES],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Connected;
    use crate::testing::{Site, connect, details, holder, on_every_database};

    on_every_database!(
        the_named_one_is_chosen_then_the_selected_one_then_the_only_one,
        integrations_of_another_auth_type_are_not_chosen,
        a_limited_number_of_candidates_is_offered,
    );

    /// The chosen identifier, or the candidates.
    async fn chosen(site: &Site, auth_type: AuthType, named: Option<&str>) -> String {
        match site.store.integrations().choose(&holder(), auth_type, named).await.unwrap() {
            Choice::One(integration) => integration.user_identifier,
            Choice::Open { candidates } => format!("one of {}", candidates.join(", ")),
        }
    }

    async fn the_named_one_is_chosen_then_the_selected_one_then_the_only_one(site: Site) {
        assert_eq!(chosen(&site, AuthType::OAuth2, None).await, "one of ");
        assert_eq!(chosen(&site, AuthType::OAuth2, Some("ann")).await, "one of ");
        connect(&site.store, "bob").await;
        assert_eq!(chosen(&site, AuthType::OAuth2, None).await, "bob");
        connect(&site.store, "ann").await;
        assert_eq!(chosen(&site, AuthType::OAuth2, None).await, "one of ann, bob");
        assert_eq!(chosen(&site, AuthType::OAuth2, Some("eve")).await, "one of ann, bob");
        site.store.integrations().select(&holder(), "bob").await.unwrap();
        assert_eq!(chosen(&site, AuthType::OAuth2, None).await, "bob");
        assert_eq!(chosen(&site, AuthType::OAuth2, Some("ann")).await, "ann");
    }

    async fn integrations_of_another_auth_type_are_not_chosen(site: Site) {
        for (user, auth_type) in [("ann", AuthType::OAuth2), ("bob", AuthType::ApiKey)] {
            site.store
                .integrations()
                .connect(&holder(), user, Connected::new(auth_type, details()), Vec::new(), None)
                .await
                .unwrap();
        }
        site.store.integrations().select(&holder(), "bob").await.unwrap();
        assert_eq!(chosen(&site, AuthType::OAuth2, None).await, "ann");
        assert_eq!(chosen(&site, AuthType::OAuth2, Some("bob")).await, "one of ann");
    }

    async fn a_limited_number_of_candidates_is_offered(site: Site) {
        for number in 0..=MAX_CANDIDATES {
            connect(&site.store, &format!("user{number:02}")).await;
        }
        let offered = chosen(&site, AuthType::OAuth2, None).await;
        assert!(offered.starts_with("one of user00, ") && offered.ends_with("user49"), "{offered}");
    }

    #[tokio::test]
    async fn a_choice_uses_an_index_on_sqlite() {
        let site = Site::sqlite().await;
        let columns = "tenant = 'a' AND subject = 'b' AND connector = 'c'";
        let plans =
            [("selected", "integrations_selected"), ("user_identifier = 'd'", "sqlite_autoindex_integrations_2")].map(
                |(condition, index)| {
                    (format!("EXPLAIN QUERY PLAN SELECT id FROM integrations WHERE {columns} AND {condition}"), index)
                },
            );
        for (sql, index) in plans {
            let plan: String = site
                .store
                .read(move |connection| {
                    let mut row = connection.query(&sql, &[])?.remove(0);
                    // The number of the step, of its parent, and of nothing.
                    (0..3).try_for_each(|_| row.read::<i64>().map(drop))?;
                    row.read()
                })
                .await
                .unwrap();
            assert!(plan.contains(index), "{plan}");
        }
    }
}
