//! The operator installs a module.

use std::sync::Arc;

use bytes::Bytes;

use super::commit::{Candidate, Change, Committed, Expected, FoldersStep, GrantsStep};
use super::history::{self, Action, Actor};
use super::live::Swapped;
use super::load::{GrantSource, ModuleSource};
use super::origin::Origin;
use super::service::ServiceStep;
use super::{ChangeError, Connector, Refusal, Registry, grants, permissions};
use store::{GrantChange, ModuleCondition};

/// The operator's choices for a module that is installed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Installation<'a> {
    /// Hosts that are granted, in addition to those that are granted already.
    pub grants: &'a [String],
    /// `true` if the module may request more permissions than the previous version.
    pub accepts: bool,
    /// `true` if the hosts that the module asks for are granted too.
    pub grants_asked: bool,
    /// `true` if the module may replace the shipped connector of its identifier.
    pub replaces_shipped: bool,
    /// The text of the module's signature.
    pub signature: Option<&'a str>,
    /// The generation that the change replaces. `None` if any.
    pub replaces: Option<i64>,
    /// `true` if the connector must be installed already.
    pub must_exist: bool,
}

/// A module that was installed.
pub struct Installed {
    /// The connector, which is live now.
    pub live: Arc<Connector>,
    /// The generation that the change led to.
    pub generation: i64,
    /// The hosts that were granted with it.
    pub granted: Vec<String>,
}

/// A module that may be installed.
struct Installable {
    connector: Connector,
    /// The connector has not changed since it was compared.
    condition: ModuleCondition,
    /// The hosts that are granted with it.
    grants: Vec<String>,
    /// The permissions that it requests and that the operator had not accepted before.
    accepted: Vec<String>,
}

impl Registry {
    /// Installs a module under the identifier of its manifest, or swaps it for the live version.
    ///
    /// # Errors
    /// If the module is refused, or if files or grants cannot be written. The live version then
    /// stays live.
    pub async fn install(
        &self,
        module: Bytes,
        installation: Installation<'_>,
        by: &Actor,
    ) -> Result<Installed, ChangeError> {
        grants::check_form(installation.grants)?;
        loop {
            let expected = Expected::now(self);
            let Installable { connector, condition, grants, accepted } =
                self.installable(&module, installation).await?;
            let present = self.present_digest(connector.name()).await?;
            let action = if present.is_some() { Action::Replaced } else { Action::Added };
            let details = [("granted", &grants), ("accepted", &accepted)];
            let details = details.into_iter().filter(|(_, list)| !list.is_empty());
            let details: Vec<String> = details.map(|(what, list)| format!("{what} {}", list.join(", "))).collect();
            let change = Change {
                entry: Some(history::entry(&connector, action, by, details.join("; "))),
                grants: GrantsStep::Swap { previous: present, change: GrantChange::Add(&grants) },
                folders: FoldersStep::Write,
                service: ServiceStep::Publish { condition, replaces_shipped: installation.replaces_shipped },
                is_noticed: false,
            };
            let candidate = Candidate { connector, module: &module, outcome: "installed" };
            let ended = self.commit(&expected, candidate, change).await;
            if let Committed::Done(swapped) = Committed::again_unless_named(ended, installation.replaces)? {
                let Swapped { live, generation } = swapped;
                return Ok(Installed { live, generation, granted: grants });
            }
        }
    }

    /// Loads a module that may be installed.
    async fn installable(&self, module: &[u8], installation: Installation<'_>) -> Result<Installable, ChangeError> {
        let Installation { grants, accepts, grants_asked, replaces_shipped, signature, replaces, must_exist } =
            installation;
        let source = ModuleSource::Foreign(signature);
        let mut grants = grants.to_vec();
        let mut candidate = self.load(module, None, GrantSource::StoredAnd(&grants), source).await?;
        // The module says which connector it is. Nothing else of it counts if the operator meant
        // another state.
        let condition = self.service.condition(candidate.name(), replaces).await?;
        if must_exist && self.present_digest(candidate.name()).await?.is_none() {
            let generation = self.service.present_generation(candidate.name()).await?;
            return Err(ChangeError::ChangedMeanwhile { connector: candidate.name().to_string(), generation });
        }
        grants::check_named(&candidate, &grants)?;
        let asked = candidate.missing_hosts().into_iter().map(str::to_owned);
        let asked: Vec<String> = if grants_asked { asked.collect() } else { Vec::new() };
        if !asked.is_empty() {
            grants.extend(asked);
            candidate = self.load(module, None, GrantSource::StoredAnd(&grants), source).await?;
        }
        let more = permissions::beyond_accepted(self, &candidate).await?;
        if !accepts && !more.is_empty() {
            let manifest = candidate.manifest();
            let (connector, version) = (manifest.identifier.clone(), manifest.version.clone());
            return Err(ChangeError::AsksForMore { connector, version, more });
        }
        if !replaces_shipped {
            let checked = self.folders.check_identifier(Origin::Foreign, candidate.name(), candidate.digest());
            checked.map_err(Refusal::from)?;
        }
        Ok(Installable { connector: candidate, condition, grants, accepted: more })
    }
}
