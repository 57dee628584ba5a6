//! Modules in registries of the Open Container Initiative. Only commands use registries: a gateway
//! that serves fetches no module.
//!
//! - here: push and pull
//! - [`mod@reference`]: names of modules
//! - [`artifact`]: the layout of a module in a registry
//! - [`client`]: the requests, with limits for all that a registry sends
//! - [`login`]: names, passwords and tokens
//! - [`credentials`]: the user's credentials for a registry

mod artifact;
mod client;
mod credentials;
mod login;
mod reference;

use contract::words::one_line;
use thiserror::Error;

pub(crate) use self::artifact::Artifact;
pub(crate) use self::reference::ModuleReference;
pub(crate) use self::reference::{SCHEME, Version};

use self::client::{Client, ClientError};
use self::login::Access;
use crate::options::RegistryArguments;

/// Why a module was not pushed or pulled.
#[derive(Debug, Error)]
pub enum RegistryError {
    /// The registry, or the network, refused.
    #[error("`{reference}`: {reason}")]
    Failed {
        /// The module.
        reference: String,
        /// The cause.
        reason: String,
    },
    /// The name has no version.
    #[error("`{0}` names no version; add :1.0.0, or @sha256: and the digest that `connectors push` printed")]
    NoVersion(String),
    /// The name has a digest, which the registry computes.
    #[error("`{0}` names a digest, which follows from the module; name a version, such as :1.0.0, or leave it out")]
    Digest(String),
    /// The version is another module already.
    #[error(
        "`{reference}` is {present} already; push another version, or replace it with --force if no one relies on it"
    )]
    Taken {
        /// The module.
        reference: String,
        /// The digest of the present one.
        present: String,
    },
    /// The credentials cannot be read.
    #[error("the registry's credentials cannot be read: {0}")]
    Credentials(String),
    /// The artifact cannot be made.
    #[error("the artifact cannot be made: {0}")]
    Json(#[from] serde_json::Error),
}

/// A module that was pulled.
pub(crate) struct Pulled {
    pub(crate) module: Vec<u8>,
    /// The text of its signature.
    pub(crate) signature: Option<String>,
    /// Its name by digest.
    pub(crate) reference: ModuleReference,
}

/// A module that is in the registry now.
pub(crate) struct Pushed {
    /// Its name by digest.
    pub(crate) reference: ModuleReference,
    /// `false` if the registry already had it.
    pub(crate) is_new: bool,
}

/// Pulls a module of at most `limit_mb` MiB.
///
/// # Errors
/// See [`RegistryError`].
pub(crate) async fn pull(
    reference: &ModuleReference,
    arguments: &RegistryArguments,
    limit_mb: u64,
) -> Result<Pulled, RegistryError> {
    let version = version_of(reference)?;
    let unusable = |reason: &str| failed(reference, reason);
    let client_failed = |error: ClientError| failed(reference, &reason(error));
    let client = connect(reference, Access::Pull, arguments).await?;
    let manifest = client.manifest(version).await.map_err(client_failed)?;
    let manifest = manifest.ok_or_else(|| client_failed(ClientError::Missing))?;
    if matches!(reference.version(), Some(Version::Digest(digest)) if *digest != manifest.digest) {
        return Err(unusable("the registry sent another manifest than the one with this digest"));
    }
    let (layer, signature) = artifact::layer(&manifest.bytes).map_err(|reason| unusable(&reason))?;
    let limit = limit_mb << 20;
    let too_large = || unusable(&format!("it is over the limit of {limit_mb} MB (`compile.max_module_mb`)"));
    if layer.size > limit {
        return Err(too_large());
    }
    let module = client.blob(&layer.digest, limit).await.map_err(client_failed)?.ok_or_else(too_large)?;
    if artifact::digest(&module) != layer.digest {
        return Err(unusable("the registry sent another module than the manifest names by its digest"));
    }
    Ok(Pulled { module, signature, reference: reference.at_version(Version::Digest(manifest.digest)) })
}

/// Pushes a module. If the registry already has another module under this version, it is replaced
/// only if `replace` is `true`.
///
/// # Errors
/// See [`RegistryError`].
pub(crate) async fn push(
    reference: &ModuleReference,
    artifact: &Artifact,
    replace: bool,
    arguments: &RegistryArguments,
) -> Result<Pushed, RegistryError> {
    let version = version_of(reference)?;
    let client_failed = |error: ClientError| failed(reference, &reason(error));
    let client = connect(reference, Access::Push, arguments).await?;
    let digest = artifact.digest();
    let name = reference.at_version(Version::Digest(digest.clone()));
    match client.manifest(version).await.map_err(client_failed)? {
        Some(present) if present.digest == digest => return Ok(Pushed { reference: name, is_new: false }),
        Some(present) if !replace => {
            return Err(RegistryError::Taken { reference: reference.to_string(), present: present.digest });
        }
        _ => {}
    }
    for blob in [&artifact.module, &artifact.config] {
        client.push_blob(blob).await.map_err(client_failed)?;
    }
    client.push_manifest(version, &artifact.manifest).await.map_err(client_failed)?;
    Ok(Pushed { reference: name, is_new: true })
}

async fn connect(
    reference: &ModuleReference,
    access: Access,
    arguments: &RegistryArguments,
) -> Result<Client, RegistryError> {
    let credentials = credentials::find(reference.registry(), arguments)?;
    let is_plain = arguments.plain_http || reference.is_on_loopback();
    let registry = reference.registry_url(if is_plain { "http" } else { "https" });
    let registry = registry.map_err(|reason| failed(reference, &reason))?;
    let client = Client::connect(registry, reference.repository(), access, credentials.as_ref()).await;
    client.map_err(|error| failed(reference, &reason(error)))
}

fn version_of(reference: &ModuleReference) -> Result<&str, RegistryError> {
    match reference.version() {
        Some(Version::Tag(version) | Version::Digest(version)) => Ok(version),
        None => Err(RegistryError::NoVersion(reference.to_string())),
    }
}

fn failed(reference: &ModuleReference, reason: &str) -> RegistryError {
    const MAX_CHARACTERS: usize = 500;
    let reason: String = reason.chars().take(MAX_CHARACTERS).collect();
    RegistryError::Failed { reference: reference.to_string(), reason: one_line(&reason).into_owned() }
}

/// The cause of an error.
fn reason(error: ClientError) -> String {
    match error {
        ClientError::Refused => {
            "the registry refuses these credentials, or requires some; log in with `docker login`, or name them with \
             --username and --password-stdin"
                .to_owned()
        }
        ClientError::Missing => "the registry has no such module".to_owned(),
        ClientError::Other(reason) => reason,
    }
}
