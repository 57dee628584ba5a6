//! The keys of a section `jwt_issuers.NAME`.

use std::collections::BTreeMap;

use super::declare::Entry;
use super::list::List;
use super::section::{Expected, Given, Section};
use super::value;
use auth::{JwtIssuer, Scope, Scopes, TenantOf};

/// The sections by their names.
pub(super) struct JwtIssuers;

impl Entry<BTreeMap<String, JwtIssuer>> for JwtIssuers {
    fn read(&self, section: &mut Section<'_>, key: &'static str, target: &mut BTreeMap<String, JwtIssuer>) {
        section.each(key, |name, issuers| {
            let mut issuer = None;
            issuers.section(name, |section| issuer = read_jwt_issuer(section));
            let Some(issuer) = issuer else { return };
            if let Some(problem) = target.iter().find_map(|(previous, other)| conflict(&issuer, previous, other)) {
                issuers.problem(name, problem);
            }
            target.insert(name.to_owned(), issuer);
        });
    }

    fn show(&self, list: &mut List, key: &'static str, issuers: &BTreeMap<String, JwtIssuer>) {
        list.section(key, |list| {
            for (name, issuer) in issuers {
                list.section(name, |list| show(issuer, list));
            }
        });
    }
}

fn show(issuer: &JwtIssuer, list: &mut List) {
    let JwtIssuer { issuer, audience, jwks_url, tenant, scopes, allow_private_network } = issuer;
    list.add("issuer", issuer.as_str());
    list.add("audience", audience.as_str());
    list.add("jwks_url", value::shown_url(jwks_url));
    let (tenant, claim) = match tenant {
        TenantOf::Issuer(tenant) => (Some(tenant.as_str()), None),
        TenantOf::Claim(claim) => (None, Some(claim.as_str())),
    };
    list.add("tenant", tenant);
    list.add("tenant_claim", claim);
    list.add("scopes", scopes.iter().map(Scope::name).collect::<Vec<_>>());
    list.add("allow_private_network", *allow_private_network);
}

/// Reads a section. Returns `None` if its required keys are all empty, as in the example.
fn read_jwt_issuer(section: &mut Section<'_>) -> Option<JwtIssuer> {
    let (mut issuer, mut audience, mut jwks_url) = (String::new(), String::new(), None);
    value::string().read(section, "issuer", &mut issuer);
    value::string().read(section, "audience", &mut audience);
    value::optional_endpoint().read(section, "jwks_url", &mut jwks_url);
    let (mut tenant, mut tenant_claim) = ("default".to_owned(), String::new());
    let has_tenant = section.has("tenant");
    value::string().read(section, "tenant", &mut tenant);
    value::string().read(section, "tenant_claim", &mut tenant_claim);
    let mut scopes = [Scope::Operate, Scope::Integrate].into_iter().collect();
    section.value("scopes", &mut scopes, permitted_scopes);
    let mut allow_private_network = false;
    value::boolean().read(section, "allow_private_network", &mut allow_private_network);

    if issuer.is_empty() && audience.is_empty() && jwks_url.is_none() {
        return None;
    }
    for (key, is_set) in
        [("issuer", !issuer.is_empty()), ("audience", !audience.is_empty()), ("jwks_url", jwks_url.is_some())]
    {
        if !is_set {
            section.problem(key, "is missing; an issuer needs `issuer`, `audience` and `jwks_url`".to_owned());
        }
    }
    if has_tenant && tenant.is_empty() {
        section.problem("tenant", "must not be empty".to_owned());
    }
    if has_tenant && !tenant_claim.is_empty() {
        section.problem("tenant_claim", "is set together with `tenant`; keep one of them".to_owned());
    }
    let jwks_url = jwks_url?;
    if jwks_url.scheme() == "http" && !allow_private_network {
        let message = "must begin with https://, because with http:// an attacker in the network could forge tokens; in a \
                       private network, set `allow_private_network`";
        section.problem("jwks_url", message.to_owned());
    }
    let tenant = if tenant_claim.is_empty() { TenantOf::Issuer(tenant) } else { TenantOf::Claim(tenant_claim) };
    Some(JwtIssuer { issuer, audience, jwks_url, tenant, scopes, allow_private_network })
}

/// The scopes that a JWT may have. `admin` is not one of them: it needs an API key, which can be
/// revoked.
fn permitted_scopes(given: &Given<'_>) -> Result<Scopes, Expected> {
    const EXPECTED: &str = "a list of \"operate\" and \"integrate\"";
    let scope = |name: String| [Scope::Operate, Scope::Integrate].into_iter().find(|scope| scope.name() == name);
    value::texts(given).ok().and_then(|names| names.into_iter().map(scope).collect()).ok_or_else(|| EXPECTED.to_owned())
}

/// The problem that two sections have together, if there is one. `other` is the section
/// `other_name`, which was read before.
fn conflict(issuer: &JwtIssuer, other_name: &str, other: &JwtIssuer) -> Option<String> {
    if issuer.issuer == other.issuer {
        let is_same = issuer.audience == other.audience;
        return is_same.then(|| format!("has the same `issuer` and `audience` as `{other_name}`"));
    }
    match (&issuer.tenant, &other.tenant) {
        // A `sub` identifies a user only within its issuer (OpenID Connect Core, section 2).
        (TenantOf::Issuer(tenant), TenantOf::Issuer(others)) if tenant == others => Some(format!(
            "has the tenant `{tenant}`, as `jwt_issuers.{other_name}` with another `issuer` has: users of both with the same \
             `sub` would share their accounts; give each section a separate `tenant`"
        )),
        _ => None,
    }
}
