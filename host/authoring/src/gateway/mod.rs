//! The gateway that a command changes: the gateway of the configuration, by its folders and its
//! store, or a running gateway, by its admin routes. Both return the same records, so a command
//! prints the same for both.
//!
//! - here: the choice
//! - [`local`]: the gateway of the configuration
//! - [`mod@remote`]: a running gateway
//! - [`client`]: the HTTP client for requests to a running gateway
//! - [`mod@health`]: the health of a running gateway, which needs no key

mod client;
mod health;
mod local;
mod remote;

use std::collections::BTreeMap;
use std::fmt;

use connector_gateway::gateway_records::ConnectorAtGatewayRecord;
use connector_gateway::records::{ChangeRecord, ConnectorsRecord, GrantRecord, InstalledRecord, VersionRecord};
use connector_gateway::{ChangeError, Config, Installation, ServeError};
use reqwest::Method;
use secrecy::SecretString;
use serde_json::Value;
use thiserror::Error;
use url::Url;

pub use self::client::client_for;
pub use self::health::{Health, health};
pub use self::remote::{Refusal, RemoteError};

use self::local::Local;
use self::remote::Remote;
use crate::compile_cache;
use crate::module_file::{FileError, read};
use crate::options::{AccessArguments, GatewayArguments, RunningGatewayArguments};
use crate::output::remark;
use crate::shell;
use store::StoreError;

/// A gateway whose connectors are listed and changed.
pub struct Gateway {
    kind: Kind,
    /// See [`Gateway::options`].
    options: String,
}

enum Kind {
    /// The gateway of the configuration, which need not run.
    Local(Box<Local>),
    /// A running gateway.
    Remote(Remote),
}

/// A connector in the service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InService {
    /// It grows with each change of the connector. 0 if it never changed.
    pub generation: i64,
    /// The number of gateways by the state of the connector there: `live`, `compiling` or `refused`.
    pub gateways: BTreeMap<String, usize>,
}

impl InService {
    fn at(&mut self, state: &str) {
        *self.gateways.entry(state.to_owned()).or_default() += 1;
    }
}

/// The outcome of a change at each gateway. `None` if the command did not wait for them.
pub type Gateways = Option<Vec<ConnectorAtGatewayRecord>>;

/// How the module of a connector is changed.
#[derive(Clone, Copy, Debug, Default)]
pub struct ModuleChange {
    /// The generation that the change replaces. `None` if any.
    pub replaces: Option<i64>,
    /// Seconds in which the other gateways may serve or refuse it. Only a running gateway waits.
    pub wait: Option<u32>,
}

/// Why a gateway was not opened, or did not do what the command requested.
#[derive(Debug, Error)]
pub enum GatewayError {
    /// The command needs a running gateway.
    #[error(
        "this command needs a running gateway; set GATEWAY_URL, or name it with --url, such as --url http://127.0.0.1:8080"
    )]
    NoUrl,
    /// The store does not open.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The registry of the gateway does not start.
    #[error(transparent)]
    Start(#[from] ServeError),
    /// The change was not made.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// The running gateway refused, or did not respond.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// The file with the key cannot be read.
    #[error(transparent)]
    KeyFile(#[from] FileError),
}

impl GatewayError {
    /// Returns `true` if the gateway did not respond, so that the request may be sent again.
    pub fn is_unreachable(&self) -> bool {
        matches!(self, Self::Remote(RemoteError::Unreachable { .. }))
    }
}

/// Why a module was not added.
pub enum AddError {
    /// It asks for more than the previous version, a line for each permission.
    AsksForMore(Vec<String>),
    /// Any other reason.
    Other(GatewayError),
}

/// A running gateway, for commands about what only its routes give.
pub struct RunningGateway(Remote);

impl RunningGateway {
    /// The running gateway that the arguments name, or `None` if they name no running gateway.
    ///
    /// # Errors
    /// If the arguments have no key.
    pub fn open(arguments: &GatewayArguments) -> Result<Option<Self>, GatewayError> {
        let GatewayArguments { url, access } = arguments;
        url.as_ref().map(|url| Ok(Self(remote(url, access)?))).transpose()
    }

    /// The running gateway of a command that needs one.
    ///
    /// # Errors
    /// If the arguments have no URL or no key.
    pub fn at(arguments: &RunningGatewayArguments) -> Result<Self, GatewayError> {
        let url = arguments.url.as_ref().ok_or(GatewayError::NoUrl)?;
        Ok(Self(remote(url, &arguments.access)?))
    }

    /// Reads the answer of a route.
    ///
    /// # Errors
    /// If the gateway refuses or does not respond.
    pub async fn get(&self, path: &[&str], query: &[(&str, &str)]) -> Result<Value, GatewayError> {
        Ok(self.0.json(Method::GET, path, query, None).await?)
    }

    /// Reads a page of a list, whose entries are the member of this name, and the cursor of the next
    /// page.
    ///
    /// # Errors
    /// If the gateway refuses or does not respond, or if the answer has no such list.
    pub async fn page(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
        member: &str,
    ) -> Result<(Vec<Value>, Option<String>), GatewayError> {
        Ok(self.0.page(path, query, member).await?)
    }

    /// Sends a request with or without a body.
    ///
    /// # Errors
    /// If the gateway refuses or does not respond.
    pub async fn post(&self, path: &[&str], body: Option<&Value>) -> Result<Value, GatewayError> {
        Ok(self.0.json(Method::POST, path, &[], body).await?)
    }

    /// Sends lines of JSON, and reads the lines of the answer. If the answer breaks off, returns only
    /// the complete lines that have arrived.
    ///
    /// # Errors
    /// If the gateway refuses or does not respond.
    pub async fn lines(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
        lines: Vec<u8>,
    ) -> Result<Vec<Value>, GatewayError> {
        Ok(self.0.lines(path, query, lines).await?)
    }

    /// Sets what a path names.
    ///
    /// # Errors
    /// If the gateway refuses or does not respond.
    pub async fn put(&self, path: &[&str], body: &Value) -> Result<Value, GatewayError> {
        Ok(self.0.json(Method::PUT, path, &[], Some(body)).await?)
    }

    /// Deletes what a path names.
    ///
    /// # Errors
    /// If the gateway refuses or does not respond.
    pub async fn delete(&self, path: &[&str]) -> Result<Value, GatewayError> {
        Ok(self.0.json(Method::DELETE, path, &[], None).await?)
    }
}

/// A running gateway, with the key that the arguments name.
fn remote(url: &Url, access: &AccessArguments) -> Result<Remote, GatewayError> {
    let key = match (&access.key_file, &access.key) {
        (Some(file), _) => SecretString::from(files::secret_of(&String::from_utf8_lossy(&read(file)?))),
        (None, Some(key)) => key.clone(),
        (None, None) => return Err(RemoteError::NoKey.into()),
    };
    Ok(Remote::new(url.clone(), &key, access.client_certificate.as_deref())?)
}

/// The options for a running gateway, each after a blank. A key that was given itself is left out,
/// because it is secret.
fn options(url: &str, access: &AccessArguments) -> String {
    let files = [("--key-file", &access.key_file), ("--client-certificate", &access.client_certificate)];
    let mut options = format!(" --url {}", shell::quoted(url));
    for (option, file) in files {
        let Some(file) = file else { continue };
        options.push_str(&format!(" {option} {}", shell::quoted(&file.to_string_lossy())));
    }
    options
}

impl Gateway {
    /// The gateway that the arguments name.
    ///
    /// # Errors
    /// If the arguments have no key for a running gateway, or if the store or the registry does not
    /// open.
    pub async fn open(arguments: &GatewayArguments, config: Config) -> Result<Self, GatewayError> {
        Self::open_for(arguments, config, false).await
    }

    /// Like [`Gateway::open`], for a command that adds a module. If the gateway does not run, the
    /// command takes the compiled module of the user, in place of compiling it again.
    ///
    /// # Errors
    /// See [`Gateway::open`].
    pub async fn open_to_add(arguments: &GatewayArguments, config: Config) -> Result<Self, GatewayError> {
        Self::open_for(arguments, config, true).await
    }

    async fn open_for(arguments: &GatewayArguments, config: Config, adds: bool) -> Result<Self, GatewayError> {
        if let Some(url) = &arguments.url {
            return Self::running(url, &arguments.access);
        }
        let shared = if adds { compile_cache::open_present() } else { None };
        let local = Local::open(config, shared.as_ref()).await?;
        Ok(Self { kind: Kind::Local(Box::new(local)), options: String::new() })
    }

    /// A running gateway.
    ///
    /// # Errors
    /// If the arguments have no key, or one that cannot be sent.
    pub(crate) fn running(url: &Url, access: &AccessArguments) -> Result<Self, GatewayError> {
        let remote = remote(url, access)?;
        let options = options(remote.url(), access);
        Ok(Self { kind: Kind::Remote(remote), options })
    }

    /// Says what a command that sends a module waits for.
    pub fn announce(&self, module: &[u8]) {
        if let Kind::Remote(remote) = &self.kind {
            let kb = module.len().div_ceil(1 << 10);
            remark(format_args!("Sending {kb} KiB to {}, which compiles and checks the module …", remote.url()));
        }
    }

    /// A running gateway, which has made the key.
    ///
    /// # Errors
    /// If the key cannot be sent.
    pub(crate) fn at(url: Url, key: &SecretString) -> Result<Self, GatewayError> {
        let remote = Remote::new(url, key, None)?;
        let options = options(remote.url(), &AccessArguments::default());
        Ok(Self { kind: Kind::Remote(remote), options })
    }

    /// Adds a module. A running gateway waits up to `wait` seconds for the others.
    ///
    /// # Errors
    /// See [`AddError`].
    pub async fn add(
        &self,
        module: Vec<u8>,
        installation: Installation<'_>,
        wait: Option<u32>,
    ) -> Result<InstalledRecord, AddError> {
        match &self.kind {
            Kind::Local(local) => local.add(module, installation).await.map_err(|error| match error {
                ChangeError::AsksForMore { more, .. } => AddError::AsksForMore(more),
                error => AddError::Other(error.into()),
            }),
            Kind::Remote(remote) => remote.add(module, installation, wait).await.map_err(|error| match error {
                RemoteError::Problem(problem) if !problem.asks_for.is_empty() => {
                    AddError::AsksForMore(problem.asks_for)
                }
                error => AddError::Other(error.into()),
            }),
        }
    }

    /// Lists the connectors.
    ///
    /// # Errors
    /// See [`GatewayError`].
    pub async fn list(&self) -> Result<ConnectorsRecord, GatewayError> {
        match &self.kind {
            Kind::Local(local) => Ok(local.list().await?),
            Kind::Remote(remote) => Ok(remote.list().await?),
        }
    }

    /// The generations of connectors, and the gateways that serve them, by connector. A connector
    /// that is missing here has never changed, and no gateway serves it now.
    ///
    /// # Errors
    /// See [`GatewayError`].
    pub async fn service(&self) -> Result<BTreeMap<String, InService>, GatewayError> {
        match &self.kind {
            Kind::Local(local) => Ok(local.service().await?),
            Kind::Remote(remote) => Ok(remote.service().await?),
        }
    }

    /// Removes a connector. Returns what the other gateways made of it, if the change has a time to
    /// wait for them.
    ///
    /// # Errors
    /// See [`GatewayError`].
    pub async fn remove(&self, id: &str, change: ModuleChange) -> Result<Gateways, GatewayError> {
        match &self.kind {
            Kind::Local(local) => Ok(local.remove(id, change.replaces).await.map(|()| None)?),
            Kind::Remote(remote) => Ok(remote.remove(id, change).await?),
        }
    }

    /// Brings back a version of a connector.
    ///
    /// # Errors
    /// See [`GatewayError`].
    pub async fn rollback(
        &self,
        id: &str,
        to: Option<&str>,
        change: ModuleChange,
    ) -> Result<InstalledRecord, GatewayError> {
        match &self.kind {
            Kind::Local(local) => Ok(local.rollback(id, to, change.replaces).await?),
            Kind::Remote(remote) => Ok(remote.rollback(id, to, change).await?),
        }
    }

    /// Grants hosts to a connector, and returns all its hosts.
    ///
    /// # Errors
    /// See [`GatewayError`].
    pub async fn grant(&self, id: &str, hosts: &[String]) -> Result<Vec<GrantRecord>, GatewayError> {
        match &self.kind {
            Kind::Local(local) => Ok(local.grant(id, hosts).await?),
            Kind::Remote(remote) => Ok(remote.grant(id, hosts).await?),
        }
    }

    /// Revokes grants of a connector.
    ///
    /// # Errors
    /// See [`GatewayError`].
    pub async fn revoke(&self, id: &str, hosts: &[String]) -> Result<(), GatewayError> {
        match &self.kind {
            Kind::Local(local) => Ok(local.revoke(id, hosts).await?),
            Kind::Remote(remote) => Ok(remote.revoke(id, hosts).await?),
        }
    }

    /// Lists the hosts of one connector, or of all that need grants.
    ///
    /// # Errors
    /// See [`GatewayError`].
    pub async fn grants(&self, id: Option<&str>) -> Result<Vec<GrantRecord>, GatewayError> {
        match &self.kind {
            Kind::Local(local) => Ok(local.grants(id).await?),
            Kind::Remote(remote) => Ok(remote.grants(id).await?),
        }
    }

    /// Lists the stored versions of a connector.
    ///
    /// # Errors
    /// See [`GatewayError`].
    pub async fn versions(&self, id: &str) -> Result<Vec<VersionRecord>, GatewayError> {
        match &self.kind {
            Kind::Local(local) => Ok(local.versions(id).await?),
            Kind::Remote(remote) => Ok(remote.versions(id).await?),
        }
    }

    /// Lists the last changes of one connector, or of all.
    ///
    /// # Errors
    /// See [`GatewayError`].
    pub async fn history(&self, id: Option<&str>, limit: u32) -> Result<Vec<ChangeRecord>, GatewayError> {
        match &self.kind {
            Kind::Local(local) => Ok(local.history(id, limit).await?),
            Kind::Remote(remote) => Ok(remote.history(id, limit).await?),
        }
    }

    /// Writes the remark about a change. `later` says when a gateway notices a change of its
    /// folders or its store.
    pub fn remark(&self, done: &str, later: &str) {
        match &self.kind {
            Kind::Local(_) => remark(format_args!("{done} {self}. {later}")),
            Kind::Remote(_) => remark(format_args!("{done} {self}.")),
        }
    }

    /// The options that a further command for the same gateway needs.
    pub fn options(&self) -> &str {
        &self.options
    }
}

/// The folders or the URL of the gateway, for people.
impl fmt::Display for Gateway {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Local(local) => {
                let (modules, data) = local.folders();
                write!(out, "the modules folder `{}` of the data folder `{}`", modules.display(), data.display())
            }
            Kind::Remote(remote) => write!(out, "the gateway at {}", remote.url()),
        }
    }
}
