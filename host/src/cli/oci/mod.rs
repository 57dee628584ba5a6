//! Modules in registries of the Open Container Initiative. Only the command line asks them: a gateway that serves fetches nothing.
//!
//! - here: push and pull; [`mod@reference`]: names of modules; [`artifact`]: the layout; [`credentials`]: who asks

mod artifact;
mod credentials;
mod reference;

use std::time::Duration;

use bytes::Bytes;
use futures_util::TryStreamExt;
use oci_client::client::{Client, ClientConfig, ClientProtocol};
use oci_client::errors::{OciDistributionError, OciErrorCode};
use oci_client::manifest::OCI_IMAGE_MEDIA_TYPE;
use oci_client::secrets::RegistryAuth;
use oci_client::{Reference, RegistryOperation};
use reqwest::header::HeaderValue;
use thiserror::Error;

pub(super) use self::artifact::Artifact;
pub(super) use self::reference::{ModuleReference, SCHEME, Version};

use super::arguments::RegistryArguments;

/// The longest time until a connection is there, and between two pieces of an answer.
const PATIENCE: Duration = Duration::from_secs(30);

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
    #[error("`{0}` names a digest, which follows from the module; name a version, such as :1.0.0, or none")]
    Digest(String),
    /// The version is another module already.
    #[error(
        "`{reference}` is {present} already; push another version, or replace it with --force if nobody relies on it"
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
pub(super) struct Pulled {
    pub(super) module: Vec<u8>,
    /// The text of its signature.
    pub(super) signature: Option<String>,
    /// Its name by digest.
    pub(super) reference: ModuleReference,
}

/// A module that is in the registry now.
pub(super) struct Pushed {
    /// Its name by digest.
    pub(super) reference: ModuleReference,
    /// `false` if it was there before.
    pub(super) is_new: bool,
}

/// Pulls a module of at most `limit_mb` MiB.
///
/// # Errors
/// See [`RegistryError`].
pub(super) async fn pull(
    reference: &ModuleReference,
    arguments: &RegistryArguments,
    limit_mb: u64,
) -> Result<Pulled, RegistryError> {
    let no_version = || RegistryError::NoVersion(reference.to_string());
    let library = reference.to_library().ok_or_else(no_version)?;
    let (client, auth) = connect(reference, arguments)?;
    let failed = |error: OciDistributionError| failed(reference, why(&error));
    let unusable = |reason: String| self::failed(reference, reason);
    let (manifest, digest) = client.pull_image_manifest(&library, &auth).await.map_err(failed)?;
    let (layer, signature) = artifact::layer(manifest).map_err(unusable)?;
    let limit = limit_mb << 20;
    let too_large = || unusable(format!("it is over the limit of {limit_mb} MB (`compile.max_module_mb`)"));
    if u64::try_from(layer.size).is_ok_and(|size| size > limit) {
        return Err(too_large());
    }
    let mut stream = client.pull_blob_stream(&library, &layer).await.map_err(failed)?.stream;
    let mut module = Vec::new();
    while let Some(piece) = stream.try_next().await.map_err(|error| unusable(printable(&error.to_string())))? {
        if (module.len() + piece.len()) as u64 > limit {
            return Err(too_large());
        }
        module.extend_from_slice(&piece);
    }
    if artifact::digest(&module) != layer.digest {
        return Err(unusable("the registry sent another module than the manifest names by its digest".to_owned()));
    }
    Ok(Pulled { module, signature, reference: reference.at(Version::Digest(digest)) })
}

/// Pushes a module. A version that is another module already stays, unless `replace` is `true`.
///
/// # Errors
/// See [`RegistryError`].
pub(super) async fn push(
    reference: &ModuleReference,
    artifact: &Artifact,
    replace: bool,
    arguments: &RegistryArguments,
) -> Result<Pushed, RegistryError> {
    let no_version = || RegistryError::NoVersion(reference.to_string());
    let library = reference.to_library().ok_or_else(no_version)?;
    let (client, auth) = connect(reference, arguments)?;
    let failed = |error: OciDistributionError| failed(reference, why(&error));
    let digest = artifact.digest();
    let name = reference.at(Version::Digest(digest.clone()));
    match client.fetch_manifest_digest(&library, &auth).await {
        Ok(present) if present == digest => return Ok(Pushed { reference: name, is_new: false }),
        Ok(present) if !replace => return Err(RegistryError::Taken { reference: reference.to_string(), present }),
        Ok(_) => {}
        Err(error) if is_missing(&error) => {}
        Err(error) => return Err(failed(error)),
    }
    // The tokens for pulling do not let it push.
    client.auth(&library, &auth, RegistryOperation::Push).await.map_err(failed)?;
    for blob in [&artifact.module, &artifact.config] {
        push_blob(&client, &library, blob).await.map_err(failed)?;
    }
    let content_type = HeaderValue::from_static(OCI_IMAGE_MEDIA_TYPE);
    client.push_manifest_raw(&library, artifact.manifest.clone(), content_type).await.map_err(failed)?;
    Ok(Pushed { reference: name, is_new: true })
}

async fn push_blob(client: &Client, library: &Reference, blob: &Bytes) -> Result<(), OciDistributionError> {
    let digest = artifact::digest(blob);
    if !client.blob_exists(library, &digest).await? {
        client.push_blob(library, blob.clone(), &digest).await?;
    }
    Ok(())
}

fn connect(
    reference: &ModuleReference,
    arguments: &RegistryArguments,
) -> Result<(Client, RegistryAuth), RegistryError> {
    let auth = credentials::find(reference.registry(), arguments)?;
    // This fails if there is a provider already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let is_plain = arguments.plain_http || reference.is_on_loopback();
    let config = ClientConfig {
        protocol: if is_plain { ClientProtocol::Http } else { ClientProtocol::Https },
        // An index of several platforms is no module.
        platform_resolver: None,
        read_timeout: Some(PATIENCE),
        connect_timeout: Some(PATIENCE),
        user_agent: concat!("connector-gateway/", env!("CARGO_PKG_VERSION")),
        ..ClientConfig::default()
    };
    let client = Client::try_from(config).map_err(|error| failed(reference, why(&error)))?;
    Ok((client, auth))
}

fn failed(reference: &ModuleReference, reason: String) -> RegistryError {
    RegistryError::Failed { reference: reference.to_string(), reason: contract::words::one_line(&reason).into_owned() }
}

/// `true` if the registry has no such module.
fn is_missing(error: &OciDistributionError) -> bool {
    match error {
        OciDistributionError::ImageManifestNotFoundError(_) | OciDistributionError::ServerError { code: 404, .. } => {
            true
        }
        OciDistributionError::RegistryError { envelope, .. } => envelope.errors.iter().any(|error| {
            matches!(error.code, OciErrorCode::ManifestUnknown | OciErrorCode::NameUnknown | OciErrorCode::NotFound)
        }),
        _ => false,
    }
}

/// The cause of an error, on one line.
fn why(error: &OciDistributionError) -> String {
    match error {
        OciDistributionError::UnauthorizedError { .. } | OciDistributionError::AuthenticationFailure(_) => {
            "the registry refuses these credentials, or asks for some; log in with `docker login`, or name them with \
             --username and --password-stdin"
                .to_owned()
        }
        error if is_missing(error) => "the registry has no such module".to_owned(),
        error => {
            let mut text = error.to_string();
            let mut cause = std::error::Error::source(error);
            while let Some(inner) = cause {
                let inner_text = inner.to_string();
                if !text.contains(&inner_text) {
                    text.push_str(&format!(": {inner_text}"));
                }
                cause = inner.source();
            }
            printable(&text)
        }
    }
}

/// A text of a registry, without characters that change a terminal.
fn printable(text: &str) -> String {
    const MAX_CHARACTERS: usize = 500;
    text.chars().take(MAX_CHARACTERS).map(|character| if character.is_control() { ' ' } else { character }).collect()
}
