//! Lists the stored versions of a connector, so that the operator can choose one.

use std::sync::Arc;
use std::time::SystemTime;

use super::load::{GrantSource, ModuleSource};
use super::origin::Origin;
use super::trust::signature_of;
use super::versions::Version;
use super::{ChangeError, Connector, Registry, history, module_file};

/// Minimum length of the beginning of a digest that names a version.
const MIN_DIGEST_CHARACTERS: usize = 6;

/// Maximum number of changes that are searched for the actor of a version.
const MAX_CHANGES: u32 = 1000;

/// A version of a connector that was live.
pub struct StoredVersion {
    /// The version in its manifest. `None` if the module is refused now.
    pub version: Option<String>,
    /// SHA-256 of the module in hexadecimal digits.
    pub digest: String,
    /// The last time it became live.
    pub live_at: SystemTime,
    /// `true` if it is shipped.
    pub is_shipped: bool,
    /// `true` if it is live now.
    pub is_live: bool,
    /// The actor that made it live last. `None` if the history no longer says so.
    pub by: Option<String>,
}

impl Registry {
    /// The stored versions of a connector, the newest first.
    ///
    /// # Errors
    /// If no version is stored, or if the folder of versions cannot be read.
    pub async fn stored_versions(&self, identifier: &str) -> Result<Vec<StoredVersion>, ChangeError> {
        self.mirror_versions(identifier).await?;
        let live = self.get(identifier);
        let changes = self.history.list(Some(identifier), MAX_CHANGES).await?;
        let mut stored = Vec::new();
        for version in self.available_versions(identifier).await? {
            let loaded = self.load_version(identifier, &version).await;
            let is_live = live.as_ref().is_some_and(|live| is_version(live, &version));
            let by = changes.iter().find(|change| change.digest == version.digest && history::made_live(change));
            stored.push(StoredVersion {
                by: by.map(|change| change.actor.clone()),
                version: loaded.ok().map(|connector| connector.manifest().version.clone()),
                digest: version.digest,
                live_at: version.live_at,
                is_shipped: version.origin == Origin::Shipped,
                is_live,
            });
        }
        Ok(stored)
    }

    /// The newest stored version with this version in its manifest, or with a digest that begins
    /// with `name`. The present version is left out.
    pub(super) async fn find_version(
        &self,
        identifier: &str,
        name: &str,
        present: Option<(Origin, &str)>,
    ) -> Result<Version, ChangeError> {
        for version in self.available_versions(identifier).await? {
            if present == Some((version.origin, version.digest.as_str())) {
                continue;
            }
            if name.len() >= MIN_DIGEST_CHARACTERS && version.digest.starts_with(name) {
                return Ok(version);
            }
            if self.load_version(identifier, &version).await.is_ok_and(|connector| connector.manifest().version == name)
            {
                return Ok(version);
            }
        }
        Err(ChangeError::NoSuchVersion { connector: identifier.to_owned(), version: name.to_owned() })
    }

    /// The versions that a rollback can make live. Of the shipped versions, this is only the one in
    /// `shipped_dir`.
    async fn available_versions(&self, identifier: &str) -> Result<Vec<Version>, ChangeError> {
        let unknown = || ChangeError::Unknown(identifier.to_owned());
        contract_rules::name::identifier(identifier).map_err(|_| unknown())?;
        let shipped = match self.folders.shipped(identifier) {
            Some(path) => module_file::digest_of(&path, self.config.compile.max_module_mb).await,
            None => None,
        };
        let mut available = self.versions.newest_first(identifier)?;
        available.retain(|version| version.origin == Origin::Foreign || shipped.as_ref() == Some(&version.digest));
        if available.is_empty() { Err(unknown()) } else { Ok(available) }
    }

    async fn load_version(&self, identifier: &str, version: &Version) -> Result<Connector, ChangeError> {
        let (module, signature) = (self.read_module(&version.path)?, signature_of(&version.path)?);
        let source = ModuleSource::from_origin(version.origin, signature.as_deref());
        Ok(self.load(&module, Some(identifier), GrantSource::Stored, source).await?)
    }
}

fn is_version(live: &Arc<Connector>, version: &Version) -> bool {
    live.origin() == version.origin && live.digest() == version.digest
}
