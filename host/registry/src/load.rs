//! Loads a module: makes a connector of its bytes, which may become live.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use tracing::Instrument;
use url::Url;

use super::origin::Origin;
use super::refusal::Refusal;
use super::{Connector, Registry, answer_schemas, connector, module_file, provider_names, reach, trust};
use config::{Config, Location, Setting};
use contract::{Additions, Manifest};
use metrics::CacheLabels;
use sandbox::Loaded;
use schema::{self, Trial};
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
pub(super) enum GrantSource<'a> {
    /// The stored grants.
    Stored,
    /// The stored grants and the given ones.
    StoredAnd(&'a [String]),
    /// The given grants.
    Exactly(&'a [String]),
    /// All hosts that the manifest names. The operator's settings are replaced by the author's.
    OfAuthor(&'a AuthorSettings),
}

/// Settings of a connector that its author tries.
#[derive(Clone, Debug, Default)]
pub struct AuthorSettings {
    /// Base URLs that replace the manifest's, by upstream. They may be at loopback and private
    /// addresses.
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
            // A schema that refuses a text as another value takes it as a string.
            let text = value.as_str().map(str::to_owned);
            let location = Location::Option("--setting");
            (name.clone(), Setting { value: value.clone(), text, location })
        }));
        Config { connectors: BTreeMap::from([(identifier.to_owned(), connector)]), ..config.clone() }
    }
}

/// The origin of the bytes of a module, with the text of its signature.
#[derive(Clone, Copy)]
pub(super) enum ModuleSource<'a> {
    /// The module came with the gateway. It needs no signature.
    Shipped,
    /// The module is foreign. The configuration may demand a signature.
    Foreign(Option<&'a str>),
    /// The module is foreign, and is inspected only. It needs no signature.
    Inspected,
}

impl<'a> ModuleSource<'a> {
    /// The source of a module of this origin.
    pub(super) fn from_origin(origin: Origin, signature: Option<&'a str>) -> Self {
        match origin {
            Origin::Shipped => Self::Shipped,
            Origin::Foreign => Self::Foreign(signature),
        }
    }

    fn origin(self) -> Origin {
        match self {
            Self::Shipped => Origin::Shipped,
            Self::Foreign(_) | Self::Inspected => Origin::Foreign,
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
            false => self.load(module, None, GrantSource::Stored, ModuleSource::Foreign(signature)).await,
        }
    }

    /// Loads a module without making it live. The module needs no signature.
    ///
    /// # Errors
    /// The reason why the module would be refused.
    pub async fn look_at(&self, module: &[u8]) -> Result<Connector, Refusal> {
        let connector = self.load(module, None, GrantSource::Stored, ModuleSource::Inspected).await?;
        let Some(shipped) = self.folders.shipped(connector.name()) else { return Ok(connector) };
        let digest = module_file::digest_of(&shipped, self.config.compile.max_module_mb).await;
        if digest.as_deref() != Some(connector.digest()) {
            return Ok(connector);
        }
        self.load(module, None, GrantSource::Stored, ModuleSource::Shipped).await
    }

    /// Loads a module for its author, who grants it all hosts that it names.
    ///
    /// # Errors
    /// The reason why the module would be refused.
    pub async fn try_out(&self, module: &[u8], settings: &AuthorSettings) -> Result<Connector, Refusal> {
        self.load(module, None, GrantSource::OfAuthor(settings), ModuleSource::Inspected).await
    }

    /// `true` if the compiled form of a module is there, so that its load takes a short time.
    pub fn has_compiled(&self, module: &[u8]) -> bool {
        self.sandbox.has_compiled(&sha256_hex(module))
    }

    /// Returns `true` if a shipped connector has the identifier of this foreign connector.
    pub fn would_replace_shipped(&self, connector: &Connector) -> bool {
        !connector.is_shipped() && self.folders.shipped(connector.name()).is_some()
    }

    /// Compiles, describes and checks a module. `expected` is the identifier in the name of its
    /// file.
    pub(super) async fn load(
        &self,
        module: &[u8],
        expected: Option<&str>,
        grants: GrantSource<'_>,
        source: ModuleSource<'_>,
    ) -> Result<Connector, Refusal> {
        let digest = sha256_hex(module);
        let origin = source.origin();
        // This comes before the compilation, so that no module of an unknown author is compiled.
        let vouched = match source {
            ModuleSource::Foreign(signature) => Some(trust::check(&self.config.trust, module, signature)?),
            ModuleSource::Shipped | ModuleSource::Inspected => None,
        };
        let stored = match (grants, expected) {
            (GrantSource::Exactly(_) | GrantSource::OfAuthor(_), _) | (_, None) => None,
            // This comes before the compilation, which would be wasted if the store does not
            // answer.
            (_, Some(expected)) => Some(self.grants.granted(expected).await.map_err(Refusal::Store)?),
        };
        let mut loaded = self.sandbox.load(module, &digest).await?;
        let outcome = if loaded.compiled.took.is_none() { "hit" } else { "miss" };
        self.metrics.module_cache.get_or_create_owned(&CacheLabels { outcome }).inc();
        let (manifest, additions) = self.describe(&loaded, &digest, expected).await?;
        check_name(&manifest.identifier, expected)?;
        let signed = vouched.map(|vouched| vouched.publishes(&manifest.identifier)).transpose()?.flatten();
        let trial = Trial::of_manifest(&manifest, &additions.triggers)
            .to_bytes()
            .map_err(|error| format!("its schemas cannot be tried: {error}"))?;
        self.sandbox.try_schemas(&mut loaded.record, TRY_SCHEMAS, &trial).await?;
        let answer_schemas = answer_schemas::of_module(module, &manifest)?;
        if origin == Origin::Foreign {
            provider_names::check(&manifest.identifier, &self.live())?;
        }
        let stored = async || match stored {
            Some(stored) => Ok(stored),
            None => self.grants.granted(&manifest.identifier).await.map_err(Refusal::Store),
        };
        let applied;
        let config: &Config = match grants {
            GrantSource::OfAuthor(settings) => {
                applied = settings.applied(&self.config, &manifest.identifier);
                &applied
            }
            _ => &self.config,
        };
        let mut granted = match grants {
            GrantSource::OfAuthor(_) => {
                reach::named_hosts(&manifest, &additions, config.connector(&manifest.identifier))
            }
            GrantSource::Stored => stored().await?,
            GrantSource::StoredAnd(hosts) => [stored().await?, hosts.to_vec()].concat(),
            GrantSource::Exactly(hosts) => hosts.to_vec(),
        };
        granted.sort_unstable();
        granted.dedup();
        let previous = self.get(&manifest.identifier);
        let Loaded { module, compiled, record } = loaded;
        let described = connector::Described {
            manifest,
            additions,
            module,
            compiled,
            digest: digest.clone(),
            origin,
            signed,
            has_answer_schemas: answer_schemas.is_some(),
            granted,
            config,
            metrics: &self.metrics,
            previous: previous.as_deref(),
            exchange: self.exchange.as_ref(),
        };
        let connector = Connector::build(described)?;
        if let Err(error) = self.sandbox.keep(&digest, record) {
            tracing::warn!(sha256 = digest, %error, "the compiled module could not be stored; the next start compiles it again");
        }
        Ok(connector)
    }

    /// The manifest of a module and what it declares in addition, if they break no rule.
    pub(super) async fn describe(
        &self,
        loaded: &Loaded,
        digest: &str,
        expected: Option<&str>,
    ) -> Result<(Manifest, Additions), Refusal> {
        let limits = &self.config.connector(expected.unwrap_or_default()).limits;
        let call = sandbox::Call::for_description(
            Instant::now() + Duration::from_secs(limits.timeout_s),
            Duration::from_millis(limits.cpu_ms),
        );
        let describing = self.sandbox.describe(&loaded.module, call, connector::limits(limits));
        let described = describing.instrument(tracing::error_span!("describe", module = digest)).await;
        let (manifest, additions) = described?;
        let violations = contract::check(&manifest, &additions);
        if violations.is_empty() {
            return Ok((manifest, additions));
        }
        let mut listed: Vec<String> = violations.iter().take(MAX_LISTED_RULES).map(ToString::to_string).collect();
        if let Some(more) = violations.len().checked_sub(MAX_LISTED_RULES).filter(|more| *more > 0) {
            listed.push(format!("and {more} more"));
        }
        Err(format!("its manifest breaks rules: {}", listed.join("; ")).into())
    }
}

/// Checks the identifier of a module by the name of its file.
fn check_name(identifier: &str, expected: Option<&str>) -> Result<(), Refusal> {
    match expected {
        Some(expected) if expected != identifier => Err(Refusal::Module(format!(
            "it describes itself as `{identifier}`, but its file is named `{expected}.wasm`; name the file `{identifier}.wasm`"
        ))),
        _ => Ok(()),
    }
}
