//! The caller of a request, and its permissions.

use std::time::SystemTime;

use thiserror::Error;

use super::bootstrap::DEFAULT_TENANT;
use super::limits::{KeyRefusal, Limits};
use super::scope::{Scope, Scopes};
use contract::Effect;
use store::{AgentSession, ApiKey, KeyId};

/// The caller of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The tenant whose data the caller works with. Tenants never see each other's data.
    pub tenant: String,
    /// The user that the caller acts for, or `None` if it acts for every user of the tenant.
    pub subject: Option<String>,
    /// The API key, or the agent session. `None` if the caller sent a JWT.
    pub key_id: Option<KeyId>,
    /// The permissions of the key or JWT.
    pub scopes: Scopes,
    /// The operations that the key may call. `None` if it may call all.
    pub limits: Option<Limits>,
    /// `true` if destructive operations ask first, for agents that use the key.
    pub confirms: bool,
    /// The name of a person who has signed in to the console at an OpenID provider, for the audit:
    /// `SUBJECT@HOST`. `None` for all other callers.
    pub person: Option<String>,
    /// The bounds of an agent session. `None` for all other callers.
    pub session: Option<SessionBounds>,
    /// The end of the caller's JWT. `None` for all other callers.
    pub token_ends_at: Option<SystemTime>,
}

/// The bounds of an agent session, in addition to its tenant and user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionBounds {
    /// The one account that its calls use. `None` if calls choose it.
    pub account: Option<String>,
    /// The tool set whose address its token is for. `None` for the address of all tools.
    pub set: Option<String>,
}

impl Caller {
    /// The caller with a key.
    pub(super) fn of_key(key: &ApiKey) -> Self {
        Self {
            tenant: key.tenant.clone(),
            subject: key.subject.clone(),
            key_id: Some(key.id.clone()),
            scopes: Scopes::parse(&key.scopes),
            limits: Limits::of_key(key),
            confirms: key.confirm,
            person: None,
            session: None,
            token_ends_at: None,
        }
    }

    /// The agent with the token of a session.
    pub(super) fn of_session(session: &AgentSession) -> Self {
        Self {
            tenant: session.tenant.clone(),
            subject: session.subject.clone(),
            key_id: Some(session.id.clone()),
            scopes: Scopes::parse(&session.scopes),
            limits: Limits::of_texts(session.allow.as_deref(), session.effects.as_deref()),
            confirms: session.confirm,
            person: None,
            session: Some(SessionBounds { account: session.account.clone(), set: session.set.clone() }),
            token_ends_at: None,
        }
    }

    /// The caller with the key that the operator chose for the first start.
    pub(super) fn of_first_key() -> Self {
        Self {
            tenant: DEFAULT_TENANT.to_owned(),
            subject: None,
            key_id: None,
            scopes: Scopes::of_first_key(),
            limits: None,
            confirms: false,
            person: None,
            session: None,
            token_ends_at: None,
        }
    }

    /// A person who has signed in to the console at an OpenID provider. `name` is for the audit.
    pub fn of_operator(subject: &str, name: String) -> Self {
        Self {
            tenant: DEFAULT_TENANT.to_owned(),
            subject: Some(subject.to_owned()),
            key_id: None,
            scopes: [Scope::Admin].into_iter().collect(),
            limits: None,
            confirms: false,
            person: Some(name),
            session: None,
            token_ends_at: None,
        }
    }

    /// # Errors
    /// If the limits of the key do not admit the operation.
    pub fn require_operation(&self, connector: &str, operation: &str, effect: Effect) -> Result<(), KeyRefusal> {
        self.limits.as_ref().map_or(Ok(()), |limits| limits.admit(connector, operation, effect))
    }

    /// # Errors
    /// If the limits of the key do not admit requests around the operations of the connector.
    pub fn require_proxy(&self, connector: &str, effect: Effect) -> Result<(), KeyRefusal> {
        self.limits.as_ref().map_or(Ok(()), |limits| limits.admit_proxy(connector, effect))
    }

    /// # Errors
    /// If the caller does not have the scope.
    pub fn require(&self, scope: Scope) -> Result<(), MissingScope> {
        if self.scopes.contains(scope) { Ok(()) } else { Err(MissingScope(scope)) }
    }
}

/// The caller is known, but its token lacks this scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the token lacks the scope `{}`", .0.name())]
pub struct MissingScope(pub Scope);
