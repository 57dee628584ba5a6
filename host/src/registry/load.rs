//! From the bytes of a module to a connector that could be live.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use tracing::Instrument;
use url::Url;

use super::folders::Origin;
use super::refusal::Refusal;
use super::{Connector, Registry, connector, provider_names, reach, trust};
use crate::config::{Config, Location, Setting};
use crate::metrics::CacheLabels;
use crate::schema::{self, Trial};
use contract::Manifest;
use sandbox::Loaded;
use store::digest::sha256_hex;

/// The command of the gateway that tries the schemas of a module.
const TRY_SCHEMAS: &str = "try-schemas";

/// Maximum number of broken rules that a refusal lists.
const MAX_LISTED_RULES: usize = 20;

/// Tries the schemas in a file. This is the work of a limited process.
///
/// # Errors
/// The reason why the module is refused.
pub fn try_schemas(file: &Path) -> Result<(), String> {
    schema::run_file(file)
}

/// The grants that a connector is made with.
#[derive(Clone, Copy)]
pub(super) enum Grants<'a> {
    /// Those in the store.
    Stored,
    /// Those in the store, and these.
    Added(&'a [String]),
    /// These.
    Exactly(&'a [String]),
    /// All that the manifest names. The operator's settings are those of the author.
    OfAuthor(&'a AuthorSettings),
}

/// Settings of a connector that its author tries.
#[derive(Clone, Debug, Default)]
pub struct AuthorSettings {
    /// Base URLs that replace the manifest's, by upstream. They may be at loopback and private addresses.
    pub upstreams: BTreeMap<String, Url>,
    /// Values of the connector's settings.
    pub settings: BTreeMap<String, Value>,
}

impl AuthorSettings {
    /// The configuration with these settings of a connector.
    pub fn applied(&self, config: &Config, identifier: &str) -> Config {
        let mut connector = config.connector(identifier).clone();
        connector.trusts_replacements = !self.upstreams.is_empty();
        connector.upstreams.extend(self.upstreams.clone());
        connector.settings.extend(self.settings.iter().map(|(name, value)| {
            // Texts are strings to a schema that refuses them as another value.
            let text = value.as_str().map(str::to_owned);
            let location = Location::Option("--setting");
            (name.clone(), Setting { value: value.clone(), text, location })
        }));
        Config { connectors: BTreeMap::from([(identifier.to_owned(), connector)]), ..config.clone() }
    }
}

/// The way in which a module arrived.
#[derive(Clone, Copy)]
pub(super) enum Arrival<'a> {
    /// With the gateway.
    Shipped,
    /// From elsewhere, with the text of its signature.
    Foreign(Option<&'a str>),
    /// From elsewhere, and it is only looked at. No signature is asked for.
    LookedAt,
}

impl<'a> Arrival<'a> {
    /// The arrival of a module of this origin.
    pub(super) fn of(origin: Origin, signature: Option<&'a str>) -> Self {
        match origin {
            Origin::Shipped => Self::Shipped,
            Origin::Foreign => Self::Foreign(signature),
        }
    }

    fn origin(self) -> Origin {
        match self {
            Self::Shipped => Origin::Shipped,
            Self::Foreign(_) | Self::LookedAt => Origin::Foreign,
        }
    }
}

impl Registry {
    /// Loads a module with the text of its signature, without making it live.
    ///
    /// # Errors
    /// The reason why the module would be refused.
    pub async fn check(&self, module: &[u8], signature: Option<&str>) -> Result<Connector, Refusal> {
        let connector = self.look_at(module).await?;
        match connector.is_shipped() {
            true => Ok(connector),
            false => self.load(module, None, Grants::Stored, Arrival::Foreign(signature)).await,
        }
    }

    /// Loads a module without making it live. No signature is asked for.
    ///
    /// # Errors
    /// The reason why the module would be refused.
    pub async fn look_at(&self, module: &[u8]) -> Result<Connector, Refusal> {
        let connector = self.load(module, None, Grants::Stored, Arrival::LookedAt).await?;
        let Some(shipped) = self.folders.shipped(connector.name()) else { return Ok(connector) };
        if self.digest_of(&shipped).await.as_deref() != Some(connector.digest()) {
            return Ok(connector);
        }
        self.load(module, None, Grants::Stored, Arrival::Shipped).await
    }

    /// Loads a module for its author, who grants it all hosts that it names.
    ///
    /// # Errors
    /// The reason why the module would be refused.
    pub async fn try_out(&self, module: &[u8], settings: &AuthorSettings) -> Result<Connector, Refusal> {
        self.load(module, None, Grants::OfAuthor(settings), Arrival::LookedAt).await
    }

    /// `true` if a module is not the shipped one of its identifier, and would take that one's place.
    pub fn would_replace_shipped(&self, connector: &Connector) -> bool {
        !connector.is_shipped() && self.folders.shipped(connector.name()).is_some()
    }

    /// The number of changes of grants so far. A connector is current if the number is the same before and after its load.
    pub(super) fn grants_version(&self) -> u64 {
        self.grants_changed.load(Ordering::Acquire)
    }

    /// Compiles, describes and checks a module. `expected` is the identifier in the name of its file.
    pub(super) async fn load(
        &self,
        module: &[u8],
        expected: Option<&str>,
        grants: Grants<'_>,
        arrival: Arrival<'_>,
    ) -> Result<Connector, Refusal> {
        let digest = sha256_hex(module);
        let origin = arrival.origin();
        // Before the module is compiled, so that nothing of a stranger is.
        let vouched = match arrival {
            Arrival::Foreign(signature) => Some(trust::check(&self.config.trust, module, signature)?),
            Arrival::Shipped | Arrival::LookedAt => None,
        };
        let stored = match (grants, expected) {
            (Grants::Exactly(_) | Grants::OfAuthor(_), _) | (_, None) => None,
            // Before the module is compiled, which would be in vain without the store.
            (_, Some(expected)) => Some(self.store.grants(expected).await.map_err(Refusal::Store)?),
        };
        let mut loaded = self.sandbox.load(module, &digest).await?;
        let outcome = if loaded.cached { "hit" } else { "miss" };
        self.metrics.module_cache.get_or_create_owned(&CacheLabels { outcome }).inc();
        let manifest = self.describe(&loaded, &digest, expected).await?;
        if let Some(expected) = expected
            && manifest.identifier != expected
        {
            return Err(Refusal::Module(format!(
                "it describes itself as `{0}`, but its file is named `{expected}.wasm`; name the file `{0}.wasm`",
                manifest.identifier
            )));
        }
        let signed = vouched.map(|vouched| vouched.publishes(&manifest.identifier)).transpose()?.flatten();
        let trial = Trial::of(&manifest).to_bytes().map_err(|error| format!("its schemas cannot be tried: {error}"))?;
        self.sandbox.try_schemas(&mut loaded.record, TRY_SCHEMAS, &trial).await?;
        if origin == Origin::Foreign {
            provider_names::check(&manifest.identifier, &self.live())?;
        }
        let stored = async || match stored {
            Some(stored) => Ok(stored),
            None => self.store.grants(&manifest.identifier).await.map_err(Refusal::Store),
        };
        let applied;
        let config: &Config = match grants {
            Grants::OfAuthor(settings) => {
                applied = settings.applied(&self.config, &manifest.identifier);
                &applied
            }
            _ => &self.config,
        };
        let mut granted = match grants {
            Grants::OfAuthor(_) => reach::named_hosts(&manifest, config.connector(&manifest.identifier)),
            Grants::Stored => stored().await?,
            Grants::Added(hosts) => [stored().await?, hosts.to_vec()].concat(),
            Grants::Exactly(hosts) => hosts.to_vec(),
        };
        granted.sort_unstable();
        granted.dedup();
        let predecessor = self.get(&manifest.identifier);
        let Loaded { module, record, .. } = loaded;
        let candidate = connector::Candidate {
            manifest,
            module,
            digest: digest.clone(),
            origin,
            signed,
            granted,
            config,
            metrics: &self.metrics,
            predecessor: predecessor.as_deref(),
        };
        // The schemas of a large module take a while to compile.
        let connector = tokio::task::block_in_place(|| Connector::build(candidate))?;
        if let Err(error) = self.sandbox.keep(&digest, record) {
            tracing::warn!(sha256 = digest, %error, "the compiled module could not be kept; the next start compiles it again");
        }
        Ok(connector)
    }

    /// The manifest of a module, which keeps the rules.
    async fn describe(&self, loaded: &Loaded, digest: &str, expected: Option<&str>) -> Result<Manifest, Refusal> {
        let limits = &self.config.connector(expected.unwrap_or_default()).limits;
        let call = sandbox::Call::for_description(
            Instant::now() + Duration::from_secs(limits.timeout_s),
            Duration::from_millis(limits.cpu_ms),
        );
        let describing = self.sandbox.describe(&loaded.module, call, connector::limits(limits));
        let described = describing.instrument(tracing::error_span!("describe", module = digest)).await;
        let manifest = described?;
        let violations = contract::check(&manifest);
        if violations.is_empty() {
            return Ok(manifest);
        }
        let mut listed: Vec<String> = violations.iter().take(MAX_LISTED_RULES).map(ToString::to_string).collect();
        if let Some(more) = violations.len().checked_sub(MAX_LISTED_RULES).filter(|more| *more > 0) {
            listed.push(format!("and {more} more"));
        }
        Err(format!("its manifest breaks rules: {}", listed.join("; ")).into())
    }
}
