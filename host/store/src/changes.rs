//! The history of connectors: each change with its time and its actor.

use std::time::SystemTime;

use database::conditions::Conditions;
use database::connection::{Connection, Durability};
use database::value::values;

use crate::audit::{self, Acting, AuditAction};
use crate::handles::Changes;
use crate::records::record;
use crate::{GrantStep, Stored, grants};

/// Maximum number of changes of one connector that are kept.
const MAX_CHANGES: i64 = 1000;

const COLUMNS: &str = "changed_at, connector, action, actor_kind, actor, version, digest, installed, detail";

/// A change of a connector. The store does not interpret the texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewChange {
    /// The connector's identifier.
    pub connector: String,
    /// The name of the kind of change.
    pub action: &'static str,
    /// The kind of actor.
    pub actor_kind: &'static str,
    /// The name of the actor.
    pub actor: String,
    /// The version in the manifest of the module. Empty if it is not known.
    pub version: String,
    /// SHA-256 of the module in hexadecimal digits. Empty if it is not known.
    pub digest: String,
    /// `true` if the connector has this module after the change, `false` if the connector is
    /// removed.
    pub installed: bool,
    /// More about the change. May be empty.
    pub detail: String,
}

record! {
    /// A change in the history.
    #[derive(Clone, Debug, PartialEq, Eq)]
    #[expect(missing_docs, reason = "see `NewChange`")]
    pub struct Change {
        /// Time of the change.
        pub at: SystemTime,
        pub connector: String,
        pub action: String,
        pub actor_kind: String,
        pub actor: String,
        pub version: String,
        pub digest: String,
        pub installed: bool,
        pub detail: String,
    }
}

/// A change that replaced one version of a connector by another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swap {
    /// Time of the change.
    pub at: SystemTime,
    /// The number of the change, which no other change has.
    pub number: i64,
    /// See [`NewChange::version`].
    pub version: String,
    /// [`NewChange::version`] and [`NewChange::digest`] of the replaced module.
    pub replaced: (String, String),
}

record! {
    /// The columns of the history that a swap is read from.
    struct State {
        number: i64,
        at: SystemTime,
        version: String,
        digest: String,
        installed: bool,
    }
}

impl Changes<'_> {
    /// Adds a change to the history of its connector, deletes the oldest ones, and changes the
    /// grants, in one transaction.
    pub async fn note(self, change: NewChange, grants: GrantStep) -> Stored<()> {
        let by = actor(&change);
        self.0
            .write(Durability::PowerLoss, move |connection| {
                insert_and_trim(connection, &by, &change)?;
                grants::step_on(connection, &change.connector, &grants)
            })
            .await
    }

    /// The same for a change that this process has only noticed. Adds nothing if the history already
    /// ends with the state after the change: the process that made the change, or another one that
    /// noticed it, has added it.
    pub async fn note_noticed(self, change: NewChange, grants: GrantStep) -> Stored<()> {
        let (seen, by) = (change.clone(), actor(&change));
        let changes_grants = !matches!(grants, GrantStep::Unchanged);
        if !changes_grants && self.0.read(move |connection| is_known(connection, &seen)).await? {
            return Ok(());
        }
        let durability = if changes_grants { Durability::PowerLoss } else { Durability::ProcessKill };
        self.0
            .write(durability, move |connection| {
                connection.lock(&format!("history {}", change.connector))?;
                if !is_known(connection, &change)? {
                    insert_and_trim(connection, &by, &change)?;
                }
                grants::step_on(connection, &change.connector, &grants)
            })
            .await
    }

    /// The last change by which the module with this digest replaced another one. `None` if the
    /// connector had no other module before.
    pub async fn last_swap(self, connector: &str, digest: &str) -> Stored<Option<Swap>> {
        let states = "SELECT number, changed_at, version, digest, installed FROM connector_changes WHERE connector = $1 \
             ORDER BY number DESC LIMIT $2";
        Ok(last_swap(self.0.read_all(states, values![connector, MAX_CHANGES]).await?, digest))
    }

    /// The last changes of one connector, or of all of them. The newest is first.
    pub async fn list(self, connector: Option<&str>, limit: u32) -> Stored<Vec<Change>> {
        let mut conditions = Conditions::with_limit(limit);
        conditions.equal("connector", connector);
        let (clause, values) = conditions.finish();
        let list = format!("SELECT {COLUMNS} FROM connector_changes {clause} ORDER BY number DESC LIMIT $1");
        self.0.read_all(list, &values).await
    }
}

/// The change by which the module with this digest replaced another one, from the states of its
/// connector. The newest is first.
fn last_swap(states: Vec<State>, digest: &str) -> Option<Swap> {
    let mut swap: Option<State> = None;
    for state in states.into_iter().skip_while(|state| !state.installed || state.digest != digest) {
        if !state.installed {
            // The connector was removed and added again.
            return None;
        }
        if state.digest == digest {
            swap = Some(state);
        } else if !state.digest.is_empty() {
            let replaced = (state.version, state.digest);
            return swap.map(|State { at, number, version, .. }| Swap { at, number, version, replaced });
        }
    }
    None
}

/// Returns `true` if the history already ends with the state after this change.
pub(crate) fn is_known(connection: &mut dyn Connection, change: &NewChange) -> Stored<bool> {
    let last: Option<(String, bool)> = connection.optional(
        "SELECT digest, installed FROM connector_changes WHERE connector = $1 ORDER BY number DESC LIMIT 1",
        values![&change.connector],
    )?;
    Ok(last.is_some_and(|(digest, installed)| installed == change.installed && (!installed || digest == change.digest)))
}

/// The actor of a change, as the audit names it.
pub(crate) fn actor(change: &NewChange) -> Acting {
    match change.actor_kind {
        folder @ ("modules_dir" | "shipped_dir") => Acting::file(folder),
        _ => Acting::current(),
    }
}

/// The action of a change, as the audit names it. `None` if the audit has no such action.
fn audit_action(action: &str) -> Option<AuditAction> {
    use AuditAction::{
        ConnectorAdded, ConnectorGranted, ConnectorRemoved, ConnectorReplaced, ConnectorRevoked, ConnectorRolledBack,
    };
    let actions =
        [ConnectorAdded, ConnectorGranted, ConnectorRemoved, ConnectorReplaced, ConnectorRevoked, ConnectorRolledBack];
    actions.into_iter().find(|known| known.name().strip_prefix("connector.") == Some(action))
}

/// Adds a change in a transaction, with its entry in the audit, and deletes the oldest ones of its
/// connector.
pub(crate) fn insert_and_trim(connection: &mut dyn Connection, by: &Acting, change: &NewChange) -> Stored<()> {
    let NewChange { connector, action, actor_kind, actor, version, digest, installed, detail } = change;
    connection.execute(
        &format!("INSERT INTO connector_changes ({COLUMNS}) VALUES (now_ms(), $1, $2, $3, $4, $5, $6, $7, $8)"),
        values![connector, *action, *actor_kind, actor, version, digest, *installed, detail],
    )?;
    if let Some(action) = audit_action(action) {
        let version = [version.as_str(), detail.as_str()].into_iter().filter(|text| !text.is_empty());
        audit::note(connection, by, action, connector, "", &version.collect::<Vec<_>>().join("; "))?;
    }
    connection.run(
        "DELETE FROM connector_changes WHERE connector = $1 AND number <= (SELECT number FROM connector_changes \
         WHERE connector = $1 ORDER BY number DESC LIMIT 1 OFFSET $2)",
        values![connector, MAX_CHANGES],
    )
}

#[cfg(test)]
mod tests {
    use super::NewChange;
    use crate::GrantStep::Unchanged;
    use crate::testing::{Site, on_every_database};

    on_every_database!(
        changes_are_kept_with_their_actors_and_the_newest_is_first,
        a_change_that_several_processes_notice_is_noted_once,
        the_oldest_changes_are_forgotten,
        the_swap_to_a_version_is_the_first_change_after_another_version,
    );

    fn change(connector: &str, digest: &str, installed: bool) -> NewChange {
        NewChange {
            connector: connector.to_owned(),
            action: if installed { "added" } else { "removed" },
            actor_kind: "api_key",
            actor: "ci (k1)".to_owned(),
            version: "1.0.0".to_owned(),
            digest: digest.to_owned(),
            installed,
            detail: String::new(),
        }
    }

    async fn changes_are_kept_with_their_actors_and_the_newest_is_first(site: Site) {
        let store = &site.store;
        for new in [change("one", "aa", true), change("two", "bb", true), change("one", "aa", false)] {
            store.changes().note(new, Unchanged).await.unwrap();
        }
        let of_one = store.changes().list(Some("one"), 10).await.unwrap();
        let seen: Vec<_> = of_one.iter().map(|change| (change.action.as_str(), change.installed)).collect();
        assert_eq!(seen, [("removed", false), ("added", true)]);
        assert_eq!((&*of_one[0].actor_kind, &*of_one[0].actor, &*of_one[0].digest), ("api_key", "ci (k1)", "aa"));
        let all = store.changes().list(None, 2).await.unwrap();
        let seen: Vec<_> = all.iter().map(|change| &*change.connector).collect();
        assert_eq!(seen, ["one", "two"]);
    }

    async fn a_change_that_several_processes_notice_is_noted_once(site: Site) {
        let (store, other) = (&site.store, site.open_again().await);
        for (new, expected) in [
            (change("one", "aa", true), 1),
            (change("one", "bb", true), 2),
            (change("one", "bb", false), 3),
            (change("one", "bb", true), 4),
        ] {
            let (one, two) = tokio::join!(
                store.changes().note_noticed(new.clone(), Unchanged),
                other.changes().note_noticed(new, Unchanged)
            );
            one.unwrap();
            two.unwrap();
            assert_eq!(store.changes().list(Some("one"), 10).await.unwrap().len(), expected);
        }
        store.changes().note(change("one", "", false), Unchanged).await.unwrap();
        store.changes().note_noticed(change("one", "bb", false), Unchanged).await.unwrap();
        assert_eq!(store.changes().list(Some("one"), 10).await.unwrap().len(), 5);
    }

    async fn the_swap_to_a_version_is_the_first_change_after_another_version(site: Site) {
        let store = &site.store;
        let swap = async |digest: &str| store.changes().last_swap("one", digest).await.unwrap();
        let replaced = async |digest: &str| swap(digest).await.map(|swap| swap.replaced.1);
        store.changes().note(change("one", "aa", true), Unchanged).await.unwrap();
        assert_eq!(swap("aa").await, None, "a new connector replaces no other");
        store.changes().note(change("one", "bb", true), Unchanged).await.unwrap();
        let first = swap("bb").await.unwrap();
        assert_eq!(first.replaced, ("1.0.0".to_owned(), "aa".to_owned()));
        // Grants, or the same module once more.
        store.changes().note(change("one", "bb", true), Unchanged).await.unwrap();
        assert_eq!(swap("bb").await, Some(first.clone()));
        store.changes().note(change("one", "aa", true), Unchanged).await.unwrap();
        assert_eq!((replaced("aa").await.as_deref(), swap("bb").await), (Some("bb"), Some(first.clone())));
        store.changes().note(change("one", "bb", true), Unchanged).await.unwrap();
        assert!(swap("bb").await.unwrap().number > first.number, "it is a swap again");
        store.changes().note(change("one", "bb", false), Unchanged).await.unwrap();
        store.changes().note(change("one", "aa", true), Unchanged).await.unwrap();
        assert_eq!(swap("aa").await, None, "it was removed before");
    }

    async fn the_oldest_changes_are_forgotten(site: Site) {
        let store = &site.store;
        store.changes().note(change("other", "aa", true), Unchanged).await.unwrap();
        site.execute(
            "INSERT INTO connector_changes (connector, changed_at, action, actor_kind, actor, version, digest, installed, detail) \
             WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1005) \
             SELECT 'one', 0, 'added', 'file', '', '', '', TRUE, '' FROM numbers",
        )
        .await;
        store.changes().note(change("one", "bb", true), Unchanged).await.unwrap();
        let kept = store.changes().list(Some("one"), 2000).await.unwrap();
        assert_eq!((kept.len(), &*kept[0].digest), (1000, "bb"));
        assert_eq!(store.changes().list(Some("other"), 10).await.unwrap().len(), 1);
    }
}
