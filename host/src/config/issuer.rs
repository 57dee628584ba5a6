//! The sections `jwt_issuers.NAME`.

use url::Url;

use super::section::{Expected, Given, Section};
use super::value;
use crate::auth::{Scope, Scopes};

/// Whose JWTs are accepted from callers, and what they are good for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JwtIssuer {
    /// The claim `iss` of its tokens.
    pub issuer: String,
    /// What the claim `aud` has to name: this gateway.
    pub audience: String,
    /// Where its public keys are.
    pub jwks_url: Url,
    /// Whose data its tokens are about.
    pub tenant: TenantOf,
    /// What its tokens permit, whatever they say themselves.
    pub scopes: Scopes,
    /// Whether `jwks_url` may lie at a loopback or private address.
    pub allow_private_network: bool,
}

/// How a token's tenant is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TenantOf {
    /// The same for every token.
    Issuer(String),
    /// A claim of this name has it.
    Claim(String),
}

impl JwtIssuer {
    /// Why this cannot stand beside another section, if it cannot.
    pub(super) fn conflict(&self, name: &str, other: &Self) -> Option<String> {
        if self.issuer == other.issuer {
            let is_same = self.audience == other.audience;
            return is_same.then(|| format!("has the same `issuer` and `audience` as `{name}`"));
        }
        match (&self.tenant, &other.tenant) {
            // A `sub` is somebody within its issuer only (OpenID Connect Core, section 2).
            (TenantOf::Issuer(tenant), TenantOf::Issuer(others)) if tenant == others => Some(format!(
                "has the tenant `{tenant}`, as `jwt_issuers.{name}` with another `issuer` has: users of both with the same `sub` \
                 would share their accounts; give each section a `tenant` of its own"
            )),
            _ => None,
        }
    }
}

/// None where nothing is said about it, as in the example.
pub(super) fn read(section: &mut Section<'_>) -> Option<JwtIssuer> {
    let (mut issuer, mut audience, mut jwks_url) = (String::new(), String::new(), None);
    section.value("issuer", &mut issuer, value::string);
    section.value("audience", &mut audience, value::string);
    section.value("jwks_url", &mut jwks_url, value::optional_endpoint);
    let (mut tenant, mut tenant_claim) = ("default".to_owned(), String::new());
    let has_tenant = section.has("tenant");
    section.value("tenant", &mut tenant, value::string);
    section.value("tenant_claim", &mut tenant_claim, value::string);
    let mut scopes = [Scope::Operate, Scope::Integrate].into_iter().collect();
    section.value("scopes", &mut scopes, grantable);
    let mut allow_private_network = false;
    section.value("allow_private_network", &mut allow_private_network, value::boolean);

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
        let message = "must begin with https://, or whoever sits in between could make tokens; http:// is for private \
                       networks, with `allow_private_network`";
        section.problem("jwks_url", message.to_owned());
    }
    let tenant = if tenant_claim.is_empty() { TenantOf::Issuer(tenant) } else { TenantOf::Claim(tenant_claim) };
    Some(JwtIssuer { issuer, audience, jwks_url, tenant, scopes, allow_private_network })
}

/// What a JWT may permit at most: who changes the gateway itself does so with a key that can be revoked.
fn grantable(given: &Given<'_>) -> Result<Scopes, Expected> {
    const EXPECTED: &str = "a list of \"operate\" and \"integrate\"";
    let scope = |name: String| [Scope::Operate, Scope::Integrate].into_iter().find(|scope| scope.name() == name);
    value::strings(given)
        .ok()
        .and_then(|names| names.into_iter().map(scope).collect())
        .ok_or_else(|| EXPECTED.to_owned())
}
