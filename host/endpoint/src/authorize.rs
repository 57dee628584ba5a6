//! The one place that decides who may call an endpoint.

use std::sync::Arc;
use std::time::SystemTime;

use hyper::header::AUTHORIZATION;
use hyper::http::request::Parts;

use super::console_cookie::{self, cookie};
use super::path::normalized;
use super::records::ScopeName;
use super::route::Family;
use auth::{AuthError, Caller, JwtError, Limits, MakerError, Scope, Scopes, SessionBounds, check_maker};
use contract::Effect;
use contract::words::sentence;
use gateway::Gateway;
use jobs::JobsOf;
use mcp::ToolSet;
use problem::{self, Problem};
use registry::Operation;
use store::{Holder, KeyId};
use triggers::Of;

/// A caller that may call the endpoint. Only [`authorize`] and [`authorize_link`] make one, so that
/// no handler can run without it.
#[derive(Clone)]
pub struct AuthorizedCaller(Arc<Caller>);

impl AuthorizedCaller {
    /// The caller's tenant.
    pub fn tenant(&self) -> &str {
        &self.0.tenant
    }

    /// The user that the caller speaks for; empty for the tenant itself.
    pub fn subject(&self) -> &str {
        self.0.subject.as_deref().unwrap_or_default()
    }

    /// The caller's API key or agent session. `None` if the caller sent a JWT.
    pub fn key_id(&self) -> Option<&KeyId> {
        self.0.key_id.as_ref()
    }

    /// The person who has signed in to the console at an OpenID provider: `SUBJECT@HOST`.
    pub fn person(&self) -> Option<&str> {
        self.0.person.as_deref()
    }

    /// The names of the caller's scopes.
    pub fn scopes(&self) -> Vec<ScopeName> {
        self.0.scopes.iter().map(|scope| ScopeName(scope.name().to_owned())).collect()
    }

    /// The scopes of this list that the caller has, as text in the form of the store.
    pub fn scopes_among(&self, scopes: &[Scope]) -> String {
        scopes.iter().copied().filter(|scope| self.may(*scope)).collect::<Scopes>().to_string()
    }

    /// The bounds of the caller's agent session. `None` for all other callers.
    pub fn session(&self) -> Option<&SessionBounds> {
        self.0.session.as_ref()
    }

    /// The end of the caller's JWT. `None` for all other callers.
    pub fn token_ends_at(&self) -> Option<SystemTime> {
        self.0.token_ends_at
    }

    /// Returns `true` if the caller's token has a scope.
    pub fn may(&self, scope: Scope) -> bool {
        self.0.require(scope).is_ok()
    }

    /// The limits of the caller's key. `None` if it has none.
    pub fn limits(&self) -> Option<&Limits> {
        self.0.limits.as_ref()
    }

    /// Returns `true` if agents that use the caller's key must confirm destructive calls.
    pub fn confirms(&self) -> bool {
        self.0.confirms
    }

    /// Requires that the limits of the caller's key admit an operation.
    ///
    /// # Errors
    /// 403 if they do not.
    pub fn require_operation(&self, connector: &str, operation: &Operation) -> Result<(), Problem> {
        let manifest = &operation.manifest;
        self.0.require_operation(connector, &manifest.path, manifest.effect).map_err(|refusal| {
            problem::NOT_ALLOWED.with_detail(format!(
                "{} Use a key that may call it; `connector-gateway keys create --allow` says which operations a key may call.",
                sentence(&refusal.to_string())
            ))
        })
    }

    /// Requires that the limits of the caller's key admit requests around the operations of a
    /// connector.
    ///
    /// # Errors
    /// 403 if they do not.
    pub fn require_proxy(&self, connector: &str, effect: Effect) -> Result<(), Problem> {
        self.0.require_proxy(connector, effect).map_err(|refusal| {
            problem::NOT_ALLOWED.with_detail(format!(
                "{} Use a key that may send it: GET and HEAD are `read`, POST, PUT and PATCH are `write`, and DELETE is \
                 `destructive`.",
                sentence(&refusal.to_string())
            ))
        })
    }

    /// Requires that the caller's key has no limits, as for changes of the gateway itself: with
    /// them, the key could make itself another one without limits.
    ///
    /// # Errors
    /// 403 if it has.
    pub fn require_unlimited(&self) -> Result<(), Problem> {
        match self.0.limits {
            None => Ok(()),
            Some(_) => Err(problem::NOT_ALLOWED.with_detail(
                "The key has limits (`allow` or `effects`), so it can read below /admin, and change nothing. Use a key of the scope \
                 `admin` without limits.",
            )),
        }
    }

    /// Requires that the limits of the caller's key admit each operation of a tool set.
    ///
    /// # Errors
    /// 403 if they do not.
    pub fn require_set(&self, set: &ToolSet) -> Result<(), Problem> {
        let admitted = self.0.limits.as_ref().map(|limits| limits.admit_set(&set.allow, set.effects.as_deref()));
        admitted.unwrap_or(Ok(())).map_err(|refusal| {
            problem::NOT_ALLOWED.with_detail(format!(
                "{} A limited key makes and deletes tool sets of operations that it may call itself. Use another key.",
                sentence(&refusal.to_string())
            ))
        })
    }

    /// The jobs that the caller may see and cancel.
    pub fn jobs(&self) -> JobsOf<'_> {
        JobsOf {
            tenant: self.tenant(),
            subject: self.subject(),
            limits: self.limits(),
            account: self.session().and_then(|session| session.account.as_deref()),
        }
    }

    /// The triggers that the caller may see and change.
    pub fn triggers(&self) -> Of<'_> {
        Of::Caller { tenant: self.tenant(), subject: self.subject(), limits: self.limits() }
    }

    /// The part of a request with an `Idempotency-Key` that has a secret in its answer: the answer
    /// is repeated only to the API key that got it first.
    pub fn maker(&self) -> &[u8] {
        self.key_id().map_or(b"", |id| id.0.as_bytes())
    }

    /// The holder of the caller's integrations of a connector.
    pub fn holder(&self, connector: &str) -> Holder {
        Holder { tenant: self.tenant().to_owned(), subject: self.subject().to_owned(), connector: connector.to_owned() }
    }
}

/// Identifies the caller by the token in the headers, and requires the scope if there is one. On
/// most routes, the cookie of the console stands for the key that the operator signed in with.
///
/// # Errors
/// 401 without a valid token, 403 without the scope, 503 while tokens cannot be checked.
pub async fn authorize(
    gateway: &Gateway,
    head: &Parts,
    family: Family,
    scope: Option<Scope>,
) -> Result<AuthorizedCaller, Problem> {
    let token = head.headers.get(AUTHORIZATION);
    // Agents, and programs that go around operations, have separate keys.
    let takes_cookie = token.is_none() && !matches!(family, Family::Mcp | Family::Proxy);
    let found = match takes_cookie.then(|| cookie(&head.headers)).flatten() {
        Some(cookie) => {
            // Boxed, so that calls with a key have a small future.
            Box::pin(console_cookie::caller_of_cookie(gateway, head, cookie)).await?
        }
        None => gateway.authenticator.authenticate(token).await,
    };
    let caller = found.map_err(|error| unauthenticated(&error))?;
    if let Some(session) = &caller.session
        && !is_address_of(session, &normalized(head.uri.path()))
    {
        return Err(problem::NOT_ALLOWED.with_detail(
            "The token of an agent session is for the address that came with it alone (`url`). Use an API key for all other \
             routes.",
        ));
    }
    if let Some(scope) = scope {
        caller.require(scope).map_err(|missing| {
            let name = missing.0.name();
            problem::MISSING_SCOPE
                .with_detail(format!("This token lacks the scope `{name}`; use one that has it."))
                .with("scope", name)
                .challenge(&format!("Bearer error=\"insufficient_scope\", scope=\"{name}\""))
        })?;
    }
    Ok(AuthorizedCaller(caller))
}

/// Returns `true` for the address of an agent session, and for those that show a part of its tools.
fn is_address_of(session: &SessionBounds, path: &str) -> bool {
    let path = path.strip_suffix("/readonly").unwrap_or(path);
    match &session.set {
        Some(set) => path.strip_prefix("/mcp/sets/") == Some(set.as_str()),
        None => path == "/mcp" || path.strip_prefix("/mcp/").is_some_and(|connector| !connector.contains('/')),
    }
}

/// The caller of a sealed address, which a caller with this key got before. It may only call the
/// operation. A caller that had sent a JWT has no key.
///
/// # Errors
/// 403 if the key may not call the operation now, 503 while keys cannot be read.
pub async fn authorize_link(
    gateway: &Gateway,
    tenant: &str,
    subject: &str,
    key_id: Option<KeyId>,
    (connector, operation): (&str, &Operation),
) -> Result<AuthorizedCaller, Problem> {
    if let Some(id) = &key_id {
        let manifest = &operation.manifest;
        let checked = check_maker(&gateway.store, id, connector, &manifest.path, manifest.effect).await;
        checked.map_err(|error| match error {
            MakerError::Refused(refusal) => problem::NOT_ALLOWED.with_detail(sentence(&refusal.to_string())),
            MakerError::Store(error) => problem::store_problem(&error, "The API keys cannot be read now; try again."),
        })?;
    }
    Ok(AuthorizedCaller(Arc::new(Caller {
        tenant: tenant.to_owned(),
        subject: Some(subject.to_owned()).filter(|subject| !subject.is_empty()),
        key_id,
        scopes: Scopes::parse(Scope::Operate.name()),
        limits: None,
        confirms: false,
        person: None,
        session: None,
        token_ends_at: None,
    })))
}

fn unauthenticated(error: &AuthError) -> Problem {
    match error {
        AuthError::Unavailable => {
            problem::STORE_UNAVAILABLE.with_detail("The API keys cannot be read now; try again.").retry_after(1)
        }
        AuthError::Jwt(JwtError::KeysUnavailable) => problem::ISSUER_UNAVAILABLE
            .with_detail(format!("{} Try again.", sentence(&error.to_string())))
            .retry_after(5),
        AuthError::Missing => refused(error).challenge("Bearer"),
        _ => refused(error).challenge("Bearer error=\"invalid_token\""),
    }
}

fn refused(error: &AuthError) -> Problem {
    if matches!(error, AuthError::AgentSessionEnded) {
        return problem::UNAUTHENTICATED.with_detail(format!(
            "{} The application makes another one with POST /agent-sessions.",
            sentence(&error.to_string())
        ));
    }
    if matches!(error, AuthError::SessionEnded) {
        return problem::UNAUTHENTICATED.with_detail(format!("{} Sign in again.", sentence(&error.to_string())));
    }
    problem::UNAUTHENTICATED.with_detail(format!(
        "{} Send an API key as `Authorization: Bearer cgw_…`; `connector-gateway keys create` makes one.",
        sentence(&error.to_string())
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_for_its_address_and_parts_of_it() {
        let is_for = |set: Option<&str>, path: &str| {
            is_address_of(&SessionBounds { account: None, set: set.map(str::to_owned) }, path)
        };
        for path in ["/mcp", "/mcp/readonly", "/mcp/mail", "/mcp/mail/readonly"] {
            assert!(is_for(None, path) && !is_for(Some("mail"), path), "{path}");
        }
        for path in ["/mcp/sets/mail", "/mcp/sets/mail/readonly"] {
            assert!(is_for(Some("mail"), path) && !is_for(None, path) && !is_for(Some("mai"), path), "{path}");
        }
        for path in
            ["/", "/connectors", "/connectors/mail/send", "/mcp-sets", "/mcp-sets/mail", "/agent-sessions", "/readonly"]
        {
            assert!(!is_for(None, path) && !is_for(Some("mail"), path), "{path}");
        }
    }
}
