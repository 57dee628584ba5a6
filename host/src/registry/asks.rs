//! An update that asks for more than the version before waits for the operator's word.
//!
//! `data_dir/accepted` has the digest of the version that the operator has accepted for each foreign connector: the one that a
//! command or a route has brought, or a file that asks for no more than the accepted version.

use std::collections::BTreeSet;
use std::fs;

use super::folders::Origin;
use super::load::{Arrival, Grants};
use super::{Connector, Refusal, Registry};
use contract::{AuthScheme, Effect};

/// The permissions that a version asks for.
#[derive(Default)]
struct Asks {
    hosts: BTreeSet<String>,
    credentials: BTreeSet<String>,
    scopes: BTreeSet<String>,
    destructive: BTreeSet<String>,
}

impl Asks {
    fn of(connector: &Connector) -> Self {
        let carrying = connector.services().iter().filter(|service| service.credential.is_some());
        let credentials = carrying.map(|service| match &service.host {
            Some(host) => format!("{} ({host})", service.name),
            None => service.name.clone(),
        });
        let scopes = match &connector.manifest().auth {
            AuthScheme::Oauth2(scheme) => scheme.scopes.iter().cloned().collect(),
            AuthScheme::ApiKey(_) | AuthScheme::None => BTreeSet::new(),
        };
        let destructive = connector.operations().map(|operation| &operation.manifest);
        let destructive = destructive.filter(|operation| operation.effect == Effect::Destructive);
        Self {
            hosts: connector.named_hosts().clone(),
            credentials: credentials.collect(),
            scopes,
            destructive: destructive.map(|operation| operation.path.clone()).collect(),
        }
    }

    /// The further permissions that it asks for, a line for each. A host that is granted already is accepted.
    fn more_than(&self, former: &Self, granted: &[String]) -> Vec<String> {
        let more = |what: &str, asks: &BTreeSet<String>, former: &BTreeSet<String>| -> Vec<String> {
            asks.difference(former).map(|name| format!("{what} {name}")).collect()
        };
        let hosts = self.hosts.iter().filter(|host| !granted.contains(host)).cloned().collect();
        [
            more("host", &hosts, &former.hosts),
            more("the user's credential for upstream", &self.credentials, &former.credentials),
            more("scope", &self.scopes, &former.scopes),
            more("destructive operation", &self.destructive, &former.destructive),
        ]
        .concat()
    }
}

impl Connector {
    /// The permissions that it asks for and another version of it does not, a line for each.
    pub fn asks_beyond(&self, former: &Self) -> Vec<String> {
        Asks::of(self).more_than(&Asks::of(former), self.operator_grants())
    }
}

impl Registry {
    /// The permissions that a foreign connector asks for and its accepted version does not. Empty if no version of it was accepted. If the
    /// accepted version is no longer there or no longer valid, it is everything.
    ///
    /// # Errors
    /// If the accepted version cannot be looked at now.
    pub async fn more_than_accepted(&self, candidate: &Connector) -> Result<Vec<String>, Refusal> {
        let identifier = candidate.name();
        let accepted = self.folders.accepted(identifier).filter(|accepted| accepted != candidate.digest());
        let Some(accepted) = accepted.filter(|_| !candidate.is_shipped()) else { return Ok(Vec::new()) };
        let former = match self.get(identifier).filter(|live| live.digest() == accepted) {
            Some(live) => Asks::of(&live),
            None => match fs::read(self.versions.file(identifier, Origin::Foreign, &accepted)) {
                Err(_) => Asks::default(),
                Ok(module) => match self.load(&module, Some(identifier), Grants::Stored, Arrival::LookedAt).await {
                    Ok(former) => Asks::of(&former),
                    Err(refusal) if refusal.is_passing() => return Err(refusal),
                    Err(_) => Asks::default(),
                },
            },
        };
        Ok(Asks::of(candidate).more_than(&former, candidate.operator_grants()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asks(host: &str, credential: &str, scope: &str, destructive: &str) -> Asks {
        let set = |names: &str| names.split_whitespace().map(str::to_owned).collect();
        Asks { hosts: set(host), credentials: set(credential), scopes: set(scope), destructive: set(destructive) }
    }

    #[test]
    fn an_update_is_compared_in_hosts_credentials_scopes_and_destructive_operations() {
        let former = asks("a.example", "api", "read", "purge");
        let update = asks("a.example b.example c.example", "api form", "read write", "purge erase");
        let granted = ["c.example".to_owned()];
        assert_eq!(
            update.more_than(&former, &granted),
            ["host b.example", "the user's credential for upstream form", "scope write", "destructive operation erase"]
        );
        assert!(former.more_than(&update, &[]).is_empty());
        assert!(update.more_than(&update, &[]).is_empty());
    }
}
