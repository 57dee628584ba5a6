//! The permissions that connectors request. An update that requests more permissions than the
//! previous version waits until the operator accepts it.
//!
//! `data_dir/accepted` has the digest of the accepted version of each foreign connector. A version
//! that a command or a route installs is accepted, and so is a file that requests no more
//! permissions than the accepted version.

use std::collections::BTreeSet;

use super::load::{GrantSource, ModuleSource};
use super::origin::Origin;
use super::{Connector, Refusal, Registry, module_file};
use contract::{AuthScheme, Effect};

/// The permissions that a version requests.
#[derive(Default)]
struct Permissions {
    hosts: BTreeSet<String>,
    credentials: BTreeSet<String>,
    scopes: BTreeSet<String>,
    destructive: BTreeSet<String>,
}

impl Permissions {
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

    /// The permissions that are not among the previous ones, a line for each. Hosts that are
    /// granted already are left out.
    fn beyond(&self, previous: &Self, granted: &[String]) -> Vec<String> {
        let more = |what: &str, requested: &BTreeSet<String>, previous: &BTreeSet<String>| -> Vec<String> {
            requested.difference(previous).map(|name| format!("{what} {name}")).collect()
        };
        let hosts = self.hosts.iter().filter(|host| !granted.contains(host)).cloned().collect();
        [
            more("host", &hosts, &previous.hosts),
            more("the user's credential for upstream", &self.credentials, &previous.credentials),
            more("scope", &self.scopes, &previous.scopes),
            more("destructive operation", &self.destructive, &previous.destructive),
        ]
        .concat()
    }
}

impl Connector {
    /// The permissions that this version requests and the previous one does not, a line for each.
    pub fn permissions_beyond(&self, previous: &Self) -> Vec<String> {
        Permissions::of(self).beyond(&Permissions::of(previous), self.operator_grants())
    }
}

/// The permissions that a foreign connector requests and its accepted version does not. Empty if
/// the operator has not accepted any version yet. If the accepted version is missing or no longer
/// valid, all permissions are returned.
///
/// # Errors
/// If the accepted version cannot be loaded now.
pub(super) async fn beyond_accepted(registry: &Registry, candidate: &Connector) -> Result<Vec<String>, Refusal> {
    let identifier = candidate.name();
    let accepted = registry.folders.accepted(identifier).filter(|accepted| accepted != candidate.digest());
    let Some(accepted) = accepted.filter(|_| !candidate.is_shipped()) else { return Ok(Vec::new()) };
    let previous = match registry.get(identifier).filter(|live| live.digest() == accepted) {
        Some(live) => Permissions::of(&live),
        None => match module_file::read(
            &registry.versions.file(identifier, Origin::Foreign, &accepted),
            registry.config.compile.max_module_mb,
        )
        .await
        {
            Err(_) => Permissions::default(),
            Ok(module) => {
                let source = ModuleSource::Inspected;
                match registry.load(&module, Some(identifier), GrantSource::Stored, source).await {
                    Ok(previous) => Permissions::of(&previous),
                    Err(refusal) if refusal.is_temporary() => return Err(refusal),
                    Err(_) => Permissions::default(),
                }
            }
        },
    };
    Ok(Permissions::of(candidate).beyond(&previous, candidate.operator_grants()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permissions(host: &str, credential: &str, scope: &str, destructive: &str) -> Permissions {
        let set = |names: &str| names.split_whitespace().map(str::to_owned).collect();
        Permissions {
            hosts: set(host),
            credentials: set(credential),
            scopes: set(scope),
            destructive: set(destructive),
        }
    }

    #[test]
    fn an_update_is_compared_in_hosts_credentials_scopes_and_destructive_operations() {
        let previous = permissions("a.example", "api", "read", "purge");
        let update = permissions("a.example b.example c.example", "api form", "read write", "purge erase");
        let granted = ["c.example".to_owned()];
        assert_eq!(
            update.beyond(&previous, &granted),
            ["host b.example", "the user's credential for upstream form", "scope write", "destructive operation erase"]
        );
        assert!(previous.beyond(&update, &[]).is_empty());
        assert!(update.beyond(&update, &[]).is_empty());
    }
}
