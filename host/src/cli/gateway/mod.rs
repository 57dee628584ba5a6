//! The gateway that a command changes: that of the configuration, by its folders and its store, or another one by its admin routes.
//! Both answer with the same records, so that a command prints the same for both.
//!
//! - here: the choice; [`local`], [`remote`]: the two kinds

mod local;
pub(super) mod remote;

use std::fmt;

use secrecy::SecretString;
use url::Url;

use self::local::Local;
use self::remote::{Remote, RemoteError};
use super::arguments::GatewayArguments;
use super::connectors::{ConnectorsError, read};
use super::output::remark;
use crate::api::records::{ChangeRecord, ConnectorsRecord, GrantRecord, InstalledRecord, VersionRecord};
use crate::config::Config;
use crate::registry::{ChangeError, Installation};

/// A gateway whose connectors are listed and changed.
pub(super) enum Gateway {
    /// That of the configuration, which need not run.
    Local(Box<Local>),
    /// A running one.
    Remote(Remote),
}

/// Why a module was not added.
pub(super) enum AddError {
    /// It asks for more than the version before, a line for each permission.
    AsksForMore(Vec<String>),
    /// Any other reason.
    Other(ConnectorsError),
}

impl Gateway {
    /// The gateway that the arguments name.
    ///
    /// # Errors
    /// If there is no key for another gateway, or if the own one's store or modules do not open.
    pub(super) async fn open(arguments: &GatewayArguments, config: Config) -> Result<Self, ConnectorsError> {
        let Some(url) = &arguments.url else { return Ok(Self::Local(Box::new(Local::open(config).await?))) };
        let key = match (&arguments.key_file, &arguments.key) {
            (Some(file), _) => SecretString::from(String::from_utf8_lossy(&read(file)?).trim()),
            (None, Some(key)) => key.clone(),
            (None, None) => return Err(RemoteError::NoKey.into()),
        };
        Ok(Self::Remote(Remote::new(url.clone(), key)?))
    }

    /// A running gateway.
    ///
    /// # Errors
    /// If the key is not one of a gateway.
    pub(super) fn at(url: Url, key: SecretString) -> Result<Self, ConnectorsError> {
        Ok(Self::Remote(Remote::new(url, key)?))
    }

    /// Adds a module.
    pub(super) async fn add(&self, module: Vec<u8>, word: Installation<'_>) -> Result<InstalledRecord, AddError> {
        match self {
            Self::Local(local) => local.add(module, word).await.map_err(|error| match error {
                ChangeError::AsksForMore { more, .. } => AddError::AsksForMore(more),
                error => AddError::Other(error.into()),
            }),
            Self::Remote(remote) => remote.add(module, word).await.map_err(|error| match error {
                RemoteError::Problem(problem) if !problem.asks_for.is_empty() => {
                    AddError::AsksForMore(problem.asks_for)
                }
                error => AddError::Other(error.into()),
            }),
        }
    }

    /// Lists the connectors.
    pub(super) async fn list(&self) -> Result<ConnectorsRecord, ConnectorsError> {
        match self {
            Self::Local(local) => Ok(local.list().await?),
            Self::Remote(remote) => Ok(remote.list().await?),
        }
    }

    /// Removes a connector.
    pub(super) async fn remove(&self, id: &str) -> Result<(), ConnectorsError> {
        match self {
            Self::Local(local) => Ok(local.remove(id).await?),
            Self::Remote(remote) => Ok(remote.remove(id).await?),
        }
    }

    /// Brings back a version of a connector.
    pub(super) async fn rollback(&self, id: &str, to: Option<&str>) -> Result<InstalledRecord, ConnectorsError> {
        match self {
            Self::Local(local) => Ok(local.rollback(id, to).await?),
            Self::Remote(remote) => Ok(remote.rollback(id, to).await?),
        }
    }

    /// Grants hosts to a connector, and returns all its hosts.
    pub(super) async fn grant(&self, id: &str, hosts: &[String]) -> Result<Vec<GrantRecord>, ConnectorsError> {
        match self {
            Self::Local(local) => Ok(local.grant(id, hosts).await?),
            Self::Remote(remote) => Ok(remote.grant(id, hosts).await?),
        }
    }

    /// Revokes grants of a connector.
    pub(super) async fn revoke(&self, id: &str, hosts: &[String]) -> Result<(), ConnectorsError> {
        match self {
            Self::Local(local) => Ok(local.revoke(id, hosts).await?),
            Self::Remote(remote) => Ok(remote.revoke(id, hosts).await?),
        }
    }

    /// Lists the hosts of one connector, or of all that need grants.
    pub(super) async fn grants(&self, id: Option<&str>) -> Result<Vec<GrantRecord>, ConnectorsError> {
        match self {
            Self::Local(local) => Ok(local.grants(id).await?),
            Self::Remote(remote) => Ok(remote.grants(id).await?),
        }
    }

    /// Lists the stored versions of a connector.
    pub(super) async fn versions(&self, id: &str) -> Result<Vec<VersionRecord>, ConnectorsError> {
        match self {
            Self::Local(local) => Ok(local.versions(id).await?),
            Self::Remote(remote) => Ok(remote.versions(id).await?),
        }
    }

    /// Lists the last changes of one connector, or of all.
    pub(super) async fn history(&self, id: Option<&str>, limit: u32) -> Result<Vec<ChangeRecord>, ConnectorsError> {
        match self {
            Self::Local(local) => Ok(local.history(id, limit).await?),
            Self::Remote(remote) => Ok(remote.history(id, limit).await?),
        }
    }

    /// The remark about a change. `later` says when a gateway notices a change of its folders or its store.
    pub(super) fn remark(&self, done: &str, later: &str) {
        match self {
            Self::Local(_) => remark(format_args!("{done} {self}. {later}")),
            Self::Remote(_) => remark(format_args!("{done} {self}.")),
        }
    }

    /// The options of a further command for the same gateway.
    pub(super) fn options(&self) -> String {
        match self {
            Self::Local(_) => String::new(),
            Self::Remote(remote) => format!(" --url {}", remote.url()),
        }
    }
}

/// The place of the gateway, for people.
impl fmt::Display for Gateway {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local(local) => {
                let (modules, data) = local.folders();
                write!(out, "the modules folder `{}` of the data folder `{}`", modules.display(), data.display())
            }
            Self::Remote(remote) => write!(out, "the gateway at {}", remote.url()),
        }
    }
}
