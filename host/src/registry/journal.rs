//! The history of connectors: who changed which one, and when.
//!
//! A command or a route notes its change before it makes the change. A gateway that then notices the new file finds the change noted.

use std::fmt;

use super::folders::Origin;
use super::{Connector, Registry};
use store::{Change, NewChange, StoreError};

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
    /// A person at the command line.
    CommandLine {
        /// The user of the operating system.
        user: String,
        /// The machine.
        host: String,
    },
    /// A file in `modules_dir`, or one that is gone from there.
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
            Self::CommandLine { .. } => "command_line",
            Self::ModulesDir => "modules_dir",
            Self::ShippedDir => "shipped_dir",
        }
    }

    fn of_file(origin: Origin) -> Self {
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

impl Registry {
    /// The last changes of one connector, or of all of them. The newest is first. A removed connector keeps its history.
    ///
    /// # Errors
    /// If the store does not answer.
    pub async fn history(&self, identifier: Option<&str>, limit: u32) -> Result<Vec<Change>, StoreError> {
        self.store.changes(identifier, limit).await
    }

    /// Notes a change that is about to be made.
    pub(super) async fn note(
        &self,
        connector: &Connector,
        action: Action,
        by: &Actor,
        detail: String,
    ) -> Result<(), StoreError> {
        self.store.note_change(change(connector, action, by, detail)).await
    }

    /// Notes the removal of a connector. `connector` is its version, if that is known.
    pub(super) async fn note_removal(
        &self,
        identifier: &str,
        connector: Option<&Connector>,
        by: &Actor,
    ) -> Result<(), StoreError> {
        self.store.note_change(removal(identifier, connector, by)).await
    }

    /// Notes that grants of a connector are revoked. Its module need not be loaded.
    pub(super) async fn note_revocation(&self, identifier: &str, by: &Actor, detail: String) -> Result<(), StoreError> {
        let last = self.store.changes(Some(identifier), 1).await?.pop();
        let live = self.get(identifier);
        let known = last.map(|last| (last.version, last.digest, last.installed));
        let known = live.map(|live| (live.manifest().version.clone(), live.digest().to_owned(), true)).or(known);
        let (version, digest, installed) = known.unwrap_or_default();
        let change = NewChange {
            connector: identifier.to_owned(),
            action: Action::Revoked.name(),
            actor_kind: by.kind(),
            actor: by.to_string(),
            version,
            digest,
            installed,
            detail,
        };
        self.store.note_change(change).await
    }

    /// Notes that a file of a folder takes the place of the live version, if no command has noted it.
    pub(super) async fn note_file(&self, candidate: &Connector) {
        let action = if self.get(candidate.name()).is_some() { Action::Replaced } else { Action::Added };
        self.note_noticed(change(candidate, action, &Actor::of_file(candidate.origin()), String::new())).await;
    }

    /// Notes that the file of a connector is gone, if no command has noted it.
    pub(super) async fn note_missing_file(&self, identifier: &str) {
        let Some(live) = self.get(identifier) else { return };
        self.note_noticed(removal(identifier, Some(&live), &Actor::of_file(live.origin()))).await;
    }

    async fn note_noticed(&self, change: NewChange) {
        let connector = change.connector.clone();
        if let Err(error) = self.store.note_noticed_change(change).await {
            tracing::warn!(connector, %error, "the change of a file could not be noted in the history");
        }
    }
}

/// `true` if the change made its version live.
pub(super) fn made_live(change: &Change) -> bool {
    [Action::Added, Action::Replaced, Action::RolledBack].iter().any(|action| action.name() == change.action)
}

fn change(connector: &Connector, action: Action, by: &Actor, detail: String) -> NewChange {
    NewChange {
        connector: connector.name().to_string(),
        action: action.name(),
        actor_kind: by.kind(),
        actor: by.to_string(),
        version: connector.manifest().version.clone(),
        digest: connector.digest().to_owned(),
        installed: true,
        detail,
    }
}

fn removal(identifier: &str, connector: Option<&Connector>, by: &Actor) -> NewChange {
    NewChange {
        connector: identifier.to_owned(),
        action: Action::Removed.name(),
        actor_kind: by.kind(),
        actor: by.to_string(),
        version: connector.map(|connector| connector.manifest().version.clone()).unwrap_or_default(),
        digest: connector.map(|connector| connector.digest().to_owned()).unwrap_or_default(),
        installed: false,
        detail: String::new(),
    }
}
