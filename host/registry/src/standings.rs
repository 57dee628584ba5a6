//! The version of each connector that this gateway serves, and the outcome of the present one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::folders::identifier_of;
use super::service::Standing;
use super::{Connector, Registry};
use store::ConnectorAtGateway;

impl Registry {
    /// The versions that this gateway serves, by identifier, with the time since which it is
    /// so.
    pub fn standings(&self) -> Vec<(ConnectorAtGateway, Duration)> {
        let (live, present) = (Arc::clone(&self.live()), self.service.last_read());
        let present: BTreeMap<&str, _> = present.iter().map(|live| (live.connector.as_str(), live)).collect();
        let refused = self.refused();
        // A shared store decides which module is the present one. Otherwise the folders do.
        let refused_files: BTreeMap<&str, _> = match self.service.is_shared() {
            true => BTreeMap::new(),
            false => refused.iter().map(|refused| (identifier_of(&refused.path), refused)).collect(),
        };
        let installed = present.values().filter(|live| live.digest.is_some()).map(|live| live.connector.as_str());
        let mut identifiers: BTreeSet<&str> = live.keys().map(String::as_str).collect();
        identifiers.extend(installed);
        identifiers.extend(refused_files.keys());
        let standing = |identifier: &str| {
            let serving = live.get(identifier).map(|live| &**live);
            let generation = self.service.generation(identifier);
            if let Some(file) = refused_files.get(identifier) {
                let age = file.at.elapsed().unwrap_or_default();
                let standing = Standing::Refused(file.reason.clone());
                return (entry(identifier, serving, generation, generation, standing), age);
            }
            let age_of_live = || serving.and_then(|live| live.live_since().elapsed().ok()).unwrap_or_default();
            let Some(present) = present.get(identifier) else {
                return (entry(identifier, serving, generation, generation, Standing::Live), age_of_live());
            };
            let about = present.generation.max(generation);
            let (standing, since) = self.service.standing(present);
            let age = match standing {
                Standing::Live => age_of_live(),
                Standing::Refused(_) | Standing::Compiling => since.map(|since| since.elapsed()).unwrap_or_default(),
            };
            (entry(identifier, serving, generation, about, standing), age)
        };
        identifiers.into_iter().map(standing).collect()
    }

    /// The number of connectors whose newest module this gateway refuses, as present module of the
    /// service or as file in a folder. `standings` is a result of [`Registry::standings`].
    pub fn count_refused(&self, standings: &[(ConnectorAtGateway, Duration)]) -> usize {
        let files = self.refused();
        let mut identifiers: BTreeSet<&str> = files.iter().map(|refused| identifier_of(&refused.path)).collect();
        let refused = standings.iter().filter(|(at, _)| at.state == REFUSED);
        identifiers.extend(refused.map(|(at, _)| at.connector.as_str()));
        identifiers.len()
    }
}

/// The state of a connector whose present module this gateway refuses.
const REFUSED: &str = "refused";

fn entry(
    identifier: &str,
    serving: Option<&Connector>,
    generation: i64,
    about: i64,
    standing: Standing,
) -> ConnectorAtGateway {
    let (state, reason) = match standing {
        Standing::Live => ("live", None),
        Standing::Compiling => ("compiling", None),
        Standing::Refused(reason) => (REFUSED, Some(reason)),
    };
    ConnectorAtGateway {
        gateway: String::new(),
        connector: identifier.to_owned(),
        version: serving.map(|live| live.manifest().version.clone()),
        title: serving.map(|live| live.manifest().title.clone()),
        digest: serving.map(|live| live.digest().to_owned()),
        generation: serving.map(|_| generation),
        is_shipped: serving.is_some_and(Connector::is_shipped),
        about,
        state: state.to_owned(),
        reason,
        // The database sets the time.
        since: std::time::SystemTime::UNIX_EPOCH,
    }
}
