//! The permissions that connectors request. An update that requests more permissions than the
//! previous version waits until the operator accepts it.
//!
//! `data_dir/accepted` has the digest of the accepted version of each foreign connector. A version
//! that a command or a route installs is accepted, and so is a file that requests no more
//! permissions than the accepted version. Gateways that share a database have one accepted version:
//! the module of the service.

mod auth_additions;
mod operations;

use std::collections::{BTreeMap, BTreeSet};

use url::{Url, form_urlencoded};

use super::load::{GrantSource, ModuleSource};
use super::{Connector, Refusal, Registry};
use contract::{
    Additions, AddressPart, ApiKey, AuthScheme, ClientAuthentication, CredentialUse, Effect, Identity, KeyHeader,
    KeyPlacement, Manifest, Oauth2, Operation, PartSource, Revocation, Upstream, UpstreamAdditions,
};

/// The permissions that a version requests: everything in its manifest that decides where
/// credentials and users go, and what may be lost.
///
/// The records of the manifest are taken apart without `..`, so that a new member does not compile
/// until it is compared or left out here. A member is left out only if it has no part in this.
#[derive(Debug, Default, PartialEq, Eq)]
struct Permissions {
    hosts: BTreeSet<String>,
    /// A line for each other permission.
    others: BTreeSet<String>,
    operations: BTreeMap<String, operations::Operation>,
}

impl Permissions {
    fn requested_by(connector: &Connector) -> Self {
        let operations = connector.operations().map(|operation| &operation.manifest);
        let mut others = others(connector.manifest(), operations);
        of_additions(connector.additions(), &mut others);
        Self { hosts: connector.named_hosts().clone(), others, operations: operations::of(connector) }
    }

    /// The permissions that are not among the previous ones, a line for each. Hosts that are
    /// granted already are left out.
    fn beyond(&self, previous: &Self, granted: &[String]) -> Vec<String> {
        let hosts = self.hosts.difference(&previous.hosts).filter(|host| !granted.contains(host));
        let hosts = hosts.map(|host| format!("host {host}"));
        let others = self.others.difference(&previous.others).cloned();
        hosts.chain(others).chain(operations::beyond(&self.operations, &previous.operations)).collect()
    }
}

/// The permissions of a manifest, except hosts.
fn others<'a>(manifest: &Manifest, operations: impl Iterator<Item = &'a Operation>) -> BTreeSet<String> {
    // The operations of a connector are not in its manifest. The rest is shown, or limits the
    // connector.
    let Manifest {
        auth,
        upstreams,
        identifier: _,
        version: _,
        title: _,
        description: _,
        imprint: _,
        rate_limits: _,
        settings: _,
        operations: _,
    } = manifest;
    let mut lines = BTreeSet::new();
    of_auth(auth, &mut lines);
    for upstream in upstreams {
        of_upstream(upstream, auth, &mut lines);
    }
    lines.extend(operations.filter_map(of_operation));
    lines
}

fn of_auth(auth: &AuthScheme, lines: &mut BTreeSet<String>) {
    match auth {
        AuthScheme::None => {}
        AuthScheme::Oauth2(scheme) => of_oauth2(scheme, lines),
        AuthScheme::ApiKey(ApiKey { placement, form_field, check }) => {
            lines.insert(match placement {
                KeyPlacement::Header(KeyHeader { name, prefix }) => {
                    format!("the user's key in header {name} `{prefix}`")
                }
                KeyPlacement::Query(name) => format!("the user's key in query parameter {name}"),
                KeyPlacement::Basic => "the user's name and password".to_owned(),
            });
            lines.extend(form_field.iter().map(|name| format!("the user's key in form field {name}")));
            lines.extend(check.iter().map(|operation| format!("test of keys by operation {operation}")));
        }
    }
}

fn of_oauth2(scheme: &Oauth2, lines: &mut BTreeSet<String>) {
    let Oauth2 {
        provider,
        authorization_url,
        token_url,
        refresh_url,
        revocation,
        scopes,
        scope_separator,
        scope_parameter,
        authorization_parameters,
        token_parameters,
        pkce,
        client_authentication,
        token_pointer,
        default_lifetime_seconds,
        form_field,
        revokes_replaced_grants,
        identity,
    } = scheme;
    lines.insert(format!("client credentials of provider {provider}"));
    lines.insert(format!("authorization at {authorization_url}"));
    lines.insert(format!("tokens from {token_url}"));
    lines.extend(refresh_url.iter().map(|url| format!("refreshed tokens from {url}")));
    lines.extend(revocation.iter().map(|revocation| match revocation {
        Revocation::Form(url) => format!("revocation with a form at {url}"),
        Revocation::Bearer(url) => format!("revocation with the access token at {url}"),
        Revocation::Delete(url) => format!("revocation with the client secret at {url}"),
    }));
    lines.extend(scopes.iter().map(|scope| format!("scope {scope}")));
    lines.insert(format!("scopes in parameter {scope_parameter}, separated by `{scope_separator}`"));
    // A list is one permission, because a parameter that is left out can request more too.
    lines.insert(format!("authorization parameters {}", parameters(authorization_parameters)));
    lines.insert(format!("token parameters {}", parameters(token_parameters)));
    if !pkce {
        lines.insert("authorization without PKCE".to_owned());
    }
    lines.insert(match client_authentication {
        ClientAuthentication::Body => "client secret in the form".to_owned(),
        ClientAuthentication::Basic => "client secret in the header".to_owned(),
    });
    lines.insert(format!("access token at `{token_pointer}`"));
    let lifetime = default_lifetime_seconds.map_or("unlimited".to_owned(), |seconds| format!("{seconds} s"));
    lines.insert(format!("lifetime of tokens {lifetime}"));
    lines.extend(form_field.iter().map(|name| format!("the user's token in form field {name}")));
    if *revokes_replaced_grants {
        lines.insert("revocation of replaced tokens".to_owned());
    }
    lines.extend(identity.iter().map(|Identity { operation, id, email, name }| {
        let [email, name] = [email, name].map(|pointer| pointer.as_deref().unwrap_or("-"));
        format!("identity of accounts from operation {operation}: `{id}`, `{email}`, `{name}`")
    }));
}

/// The list in the form of a query, in which no two lists are the same text.
fn parameters(list: &[(String, String)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    match list {
        [] => "none".to_owned(),
        list => query.extend_pairs(list).finish(),
    }
}

fn of_upstream(upstream: &Upstream, auth: &AuthScheme, lines: &mut BTreeSet<String>) {
    // Link hosts are hosts that the operator grants, and carry no credential. Pacing only delays.
    let Upstream { name, base_url, credential, link_hosts: _, pacing: _ } = upstream;
    lines.insert(format!("requests to upstream {name} at {}", normal(base_url)));
    let form = match (auth, credential) {
        (AuthScheme::None, _) | (_, CredentialUse::None) => return,
        (_, CredentialUse::Standard) => "",
        (_, CredentialUse::FormField) => ", in a form field",
    };
    lines.insert(format!("the user's credential for upstream {name}{form}"));
}

fn of_additions(additions: &Additions, lines: &mut BTreeSet<String>) {
    // Rows are compared operation by operation. Pages are a part of the documentation.
    let Additions { auth, upstreams: UpstreamAdditions { parts, sites }, rows: _, pages: _, inboxes, triggers } =
        additions;
    for visibility in inboxes.iter().filter_map(|inbox| inbox.visibility.as_ref()) {
        lines.insert(format!("the application's token for upstream {}, at {}", visibility.upstream, visibility.path));
    }
    let scopes = triggers.iter().flat_map(|trigger| &trigger.scopes);
    lines.extend(scopes.map(|scope| format!("scope {scope}")));
    lines.extend(auth_additions::lines(auth));
    for AddressPart { name, title: _, form, max_length: _, source } in parts {
        let source = match source {
            PartSource::User => "from the user".to_owned(),
            PartSource::Account(pointer) => format!("from the service, at `{pointer}`"),
        };
        lines.insert(format!("part {name} of accounts' addresses {source}: {}", form.words()));
    }
    lines.extend(sites.iter().map(|(upstream, site)| format!("hosts of upstream {upstream} below {site}")));
}

/// A base URL in one form, so that another spelling of it is not another permission.
fn normal(base_url: &str) -> String {
    match Url::parse(base_url) {
        Ok(url) => url.as_str().trim_end_matches('/').to_owned(),
        Err(_) => base_url.to_owned(),
    }
}

fn of_operation(operation: &Operation) -> Option<String> {
    // The rest says how an operation is called and documented.
    let Operation {
        path,
        effect,
        summary: _,
        description: _,
        input_schema: _,
        example: _,
        envelope: _,
        answer: _,
        answer_schema: _,
        answer_example: _,
        pagination: _,
        background: _,
        immediate: _,
        rate_limit: _,
    } = operation;
    match effect {
        Effect::Destructive => Some(format!("destructive operation {path}")),
        Effect::Read | Effect::Write => None,
    }
}

impl Connector {
    /// The permissions that this version requests and the previous one does not, a line for each.
    pub fn permissions_beyond(&self, previous: &Self) -> Vec<String> {
        Permissions::requested_by(self).beyond(&Permissions::requested_by(previous), self.operator_grants())
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
    let accepted = accepted_version(registry, identifier).await?.filter(|accepted| accepted != candidate.digest());
    let Some(accepted) = accepted.filter(|_| !candidate.is_shipped()) else { return Ok(Vec::new()) };
    let previous = match registry.get(identifier).filter(|live| live.digest() == accepted) {
        Some(live) => Permissions::requested_by(&live),
        None => match accepted_module(registry, identifier, &accepted).await? {
            None => Permissions::default(),
            Some(module) => {
                let source = ModuleSource::Inspected;
                match registry.load(&module, Some(identifier), GrantSource::Stored, source).await {
                    Ok(previous) => Permissions::requested_by(&previous),
                    Err(refusal) if refusal.is_temporary() => return Err(refusal),
                    Err(_) => Permissions::default(),
                }
            }
        },
    };
    Ok(Permissions::requested_by(candidate).beyond(&previous, candidate.operator_grants()))
}

/// The digest of the version that the operator accepted last. Whoever published a module of the
/// service has accepted it for all gateways, also for one that does not serve it yet.
async fn accepted_version(registry: &Registry, identifier: &str) -> Result<Option<String>, Refusal> {
    if registry.service.is_shared()
        && let Some(present) = registry.service.store().modules().live_of(identifier).await.map_err(Refusal::Store)?
    {
        return Ok(present.digest);
    }
    Ok(registry.folders.accepted(identifier))
}

/// The module of an accepted version. `None` if it is missing.
///
/// # Errors
/// If the store does not answer.
async fn accepted_module(registry: &Registry, identifier: &str, digest: &str) -> Result<Option<Vec<u8>>, Refusal> {
    match registry.fetch(identifier, digest).await {
        Ok(module) => Ok(Some(module)),
        Err(Refusal::Store(error)) => Err(Refusal::Store(error)),
        Err(_) => Ok(None),
    }
}

#[cfg(test)]
mod tests;
