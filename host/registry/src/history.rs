//! The history of connectors: the actor and the time of each change.
//!
//! A command or a route adds its change to the history before it makes the change. If the history
//! already has the change of a new file, the gateway that loads the file adds no entry.

use std::fmt;

use super::Connector;
use super::origin::Origin;
use store::{Change, GrantStep, NewChange, Store, StoreError};

/// The cause of a change of a connector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// A caller with an API key.
    ApiKey {
        /// The key's id.
        id: String,
        /// The name that it was made with.
        name: String,
    },
    /// A caller with a token of an issuer that the operator trusts.
    Token {
        /// The tenant.
        tenant: String,
        /// The user that the token speaks for.
        subject: Option<String>,
    },
    /// A person who has signed in to the console at an OpenID provider.
    Person {
        /// The subject and the host of the provider: `SUBJECT@HOST`.
        name: String,
    },
    /// A person at the command line.
    CommandLine {
        /// The user of the operating system.
        user: String,
        /// The machine.
        host: String,
    },
    /// A file that appeared in `modules_dir`, or disappeared from it.
    ModulesDir,
    /// A file in `shipped_dir`.
    ShippedDir,
}

impl Actor {
    /// The name of the kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::ApiKey { .. } => "api_key",
            Self::Token { .. } => "token",
            Self::Person { .. } => "person",
            Self::CommandLine { .. } => "command_line",
            Self::ModulesDir => "modules_dir",
            Self::ShippedDir => "shipped_dir",
        }
    }

    /// The actor of a change that the gateway noticed in a folder of modules.
    pub(super) fn of_file(origin: Origin) -> Self {
        match origin {
            Origin::Foreign => Self::ModulesDir,
            Origin::Shipped => Self::ShippedDir,
        }
    }
}

/// The name of the actor, for people.
impl fmt::Display for Actor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ApiKey { id, name } => write!(out, "API key {name} ({id})"),
            Self::Token { tenant, subject: None } => write!(out, "token of tenant {tenant}"),
            Self::Token { tenant, subject: Some(subject) } => write!(out, "token of {subject} of tenant {tenant}"),
            Self::Person { name } => write!(out, "person {name}"),
            Self::CommandLine { user, host } => write!(out, "command line, {user} on {host}"),
            Self::ModulesDir => out.write_str("file in modules_dir"),
            Self::ShippedDir => out.write_str("file in shipped_dir"),
        }
    }
}

/// A kind of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Added,
    Replaced,
    Removed,
    RolledBack,
    Granted,
    Revoked,
}

impl Action {
    fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Replaced => "replaced",
            Self::Removed => "removed",
            Self::RolledBack => "rolled_back",
            Self::Granted => "granted",
            Self::Revoked => "revoked",
        }
    }
}

/// The changes of connectors in the store.
pub(super) struct History {
    store: Store,
}

impl History {
    pub(super) fn new(store: Store) -> Self {
        Self { store }
    }

    /// The last changes of one connector, or of all of them. The newest is first.
    pub(super) async fn list(&self, identifier: Option<&str>, limit: u32) -> Result<Vec<Change>, StoreError> {
        self.store.changes().list(identifier, limit).await
    }

    /// Adds a change that a command or a route makes, with its change of the grants.
    pub(super) async fn add(&self, entry: NewChange, grants: GrantStep) -> Result<(), StoreError> {
        self.store.changes().note(entry, grants).await
    }

    /// Adds a change that the gateway noticed in a folder, if the history does not end with it, with
    /// its change of the grants.
    pub(super) async fn add_noticed(&self, entry: NewChange, grants: GrantStep) -> Result<(), StoreError> {
        self.store.changes().note_noticed(entry, grants).await
    }

    /// The entry of a revocation of grants. The connector need not be live.
    pub(super) async fn revocation(
        &self,
        identifier: &str,
        live: Option<&Connector>,
        by: &Actor,
        detail: String,
    ) -> Result<NewChange, StoreError> {
        let last = self.list(Some(identifier), 1).await?.pop();
        let last = last.map(|last| (last.version, last.digest, last.installed));
        let live = live.map(|live| (live.manifest().version.clone(), live.digest().to_owned(), true));
        let (version, digest, installed) = live.or(last).unwrap_or_default();
        Ok(NewChange { version, digest, installed, detail, ..uninstalled(identifier, None, Action::Revoked, by) })
    }
}

/// Returns `true` if the change made its version live.
pub(super) fn made_live(change: &Change) -> bool {
    [Action::Added, Action::Replaced, Action::RolledBack].iter().any(|action| action.name() == change.action)
}

/// The entry of a change after which `connector` is installed.
pub(super) fn entry(connector: &Connector, action: Action, by: &Actor, detail: String) -> NewChange {
    NewChange { installed: true, detail, ..uninstalled(connector.name(), Some(connector), action, by) }
}

/// The entry of a removal. `connector` is the version that was live, if there was one.
pub(super) fn removal(identifier: &str, connector: Option<&Connector>, by: &Actor) -> NewChange {
    uninstalled(identifier, connector, Action::Removed, by)
}

fn uninstalled(identifier: &str, connector: Option<&Connector>, action: Action, by: &Actor) -> NewChange {
    NewChange {
        connector: identifier.to_owned(),
        action: action.name(),
        actor_kind: by.kind(),
        actor: by.to_string(),
        version: connector.map(|connector| connector.manifest().version.clone()).unwrap_or_default(),
        digest: connector.map(|connector| connector.digest().to_owned()).unwrap_or_default(),
        installed: false,
        detail: String::new(),
    }
}
