//! Why a change of a connector was not made, or not to its end.

use std::io;

use thiserror::Error;

use super::Refusal;
use store::StoreError;

/// Why a change was not made, or not to its end.
#[derive(Debug, Error)]
pub enum ChangeError {
    /// The change was stored, and what follows it failed. A part of the change may be missing.
    #[error("{0}")]
    AfterChange(Box<ChangeError>),
    /// The module is refused, with the reason.
    #[error("{0}")]
    Refused(String),
    /// The module cannot be checked at this moment.
    #[error("the module cannot be checked now, so try again: {0}")]
    NotNow(String),
    /// No connector of this name is installed.
    #[error("no connector `{0}` is installed")]
    Unknown(String),
    /// The connector has another generation than the one that the change should replace.
    #[error(
        "`{connector}` changed meanwhile: its generation is {generation}; look at the change, then send yours again \
         with this generation"
    )]
    ChangedMeanwhile {
        /// The connector's identifier.
        connector: String,
        /// Its present generation.
        generation: i64,
    },
    /// No earlier version of the connector is stored.
    #[error("no earlier version of `{0}` is stored")]
    NoEarlierVersion(String),
    /// No stored version of the connector has this version or digest.
    #[error(
        "no other stored version of `{connector}` is `{version}`; `connector-gateway connectors versions {connector}` lists them"
    )]
    NoSuchVersion {
        /// The connector's identifier.
        connector: String,
        /// The version or the beginning of a digest.
        version: String,
    },
    /// An update requests more permissions than the previous version.
    #[error(
        "`{connector}` {version} requests more permissions than the previous version, which keeps serving: {}",
        more.join(", ")
    )]
    AsksForMore {
        /// The connector's identifier.
        connector: String,
        /// The version of the update.
        version: String,
        /// The additional permissions that it requests.
        more: Vec<String>,
    },
    /// The connector came with the gateway, which never changes `shipped_dir`.
    #[error(
        "`{0}` came with the gateway, which never changes `shipped_dir`; replace it by another module with \
         `connector-gateway connectors add --replace-shipped FILE`, or change the files of `shipped_dir`"
    )]
    Shipped(String),
    /// A shipped connector is granted a host.
    #[error("`{0}` came with the gateway, and may reach the hosts of its manifest without grants")]
    NeedsNoGrants(String),
    /// A grant is not a host or a wildcard.
    #[error("`{0}` is not a host name; write it like api.example.com, or *.example.com for link hosts")]
    InvalidHost(String),
    /// A host is granted that the connector does not name.
    #[error("no upstream of `{connector}` names `{host}`, so it cannot be granted; {named}")]
    UnnamedHost {
        /// The connector's identifier.
        connector: String,
        /// The host.
        host: String,
        /// Says which hosts the connector names.
        named: String,
    },
    /// A host is revoked that is not granted.
    #[error(
        "`{host}` is not granted to `{connector}`; `connector-gateway connectors grants {connector}` lists its grants"
    )]
    NotGranted {
        /// The connector's identifier.
        connector: String,
        /// The host.
        host: String,
    },
    /// The modules folder or the folder of versions cannot be changed.
    #[error("the modules cannot be changed: {0}")]
    Io(#[from] io::Error),
    /// The grants cannot be read or stored.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ChangeError {
    /// The same error, of a step after the change was stored.
    #[must_use]
    pub fn after_change(self) -> Self {
        Self::AfterChange(Box::new(self))
    }
}

impl From<Refusal> for ChangeError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Store(error) => Self::Store(error),
            Refusal::Temporary(reason) => Self::NotNow(reason),
            Refusal::Module(_) | Refusal::Settings(_) => Self::Refused(refusal.to_string()),
        }
    }
}
