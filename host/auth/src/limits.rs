//! The limits of API keys: the operations that a key may call, and the time until which it may.

use std::time::SystemTime;

use thiserror::Error;

use super::caller::Caller;
use super::scope::Scope;
use contract::Effect;
use store::ApiKey;

/// The operations that a key may call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// Connectors, and operations as `connector/operation`. `None` for all.
    allow: Option<Vec<String>>,
    /// Names of effects. `None` for all.
    effects: Option<Vec<String>>,
}

/// Why a key may not call an operation.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum KeyRefusal {
    /// Its `allow` names neither the operation nor its connector.
    #[error("the member `allow` of the key names neither `{0}` nor its connector")]
    Operation(String),
    /// Its `allow` does not name the whole connector.
    #[error("the member `allow` of the key does not name the whole connector `{0}`")]
    Proxy(String),
    /// Its `effects` do not have the operation's.
    #[error(
        "the operation `{operation}` has the effect `{effect}`, which the member `effects` of the key does not name"
    )]
    Effect {
        /// With its connector.
        operation: String,
        /// The effect.
        effect: &'static str,
    },
    /// Its `effects` do not have one that a set of operations has.
    #[error("the member `effects` of the key does not name `{0}`")]
    EffectOfSet(&'static str),
    /// The key lacks the scope for operations.
    #[error("the key lacks the scope `operate`")]
    Scope,
    /// The key was revoked.
    #[error("the key was revoked")]
    Revoked,
    /// The key has expired.
    #[error("the key has expired")]
    Expired,
    /// There is no such key.
    #[error("the key is not known")]
    Unknown,
}

impl Limits {
    /// Limits with these names of connectors and operations, and these effects.
    pub fn new(allow: Vec<String>, effects: Option<Vec<String>>) -> Self {
        Self { allow: Some(allow), effects }
    }

    /// The limits of a key, or `None` if it has no limits.
    pub(super) fn of_key(key: &ApiKey) -> Option<Self> {
        if key.allow.is_none() && key.effects.is_none() {
            return None;
        }
        // A text that this version cannot read allows nothing.
        let allow = key.allow.as_ref().map(|text| serde_json::from_str(text).unwrap_or_default());
        let effects = key.effects.as_ref().map(|names| names.split_whitespace().map(str::to_owned).collect());
        Some(Self { allow, effects })
    }

    /// Admits a request around the operations of a connector. A key that names single operations of
    /// the connector may send none.
    pub(super) fn admit_proxy(&self, connector: &str, effect: Effect) -> Result<(), KeyRefusal> {
        if self.allow.as_ref().is_some_and(|allow| !allow.iter().any(|name| name == connector)) {
            return Err(KeyRefusal::Proxy(connector.to_owned()));
        }
        self.admit_effect(&format!("the proxy of `{connector}`"), effect)
    }

    /// Admits a call of an operation.
    ///
    /// # Errors
    /// If the limits do not have the operation, or its effect.
    pub fn admit(&self, connector: &str, operation: &str, effect: Effect) -> Result<(), KeyRefusal> {
        let is_named = |name: &String| match name.split_once('/') {
            Some(named) => named == (connector, operation),
            None => name == connector,
        };
        let name = || format!("{connector}/{operation}");
        if self.allow.as_ref().is_some_and(|allow| !allow.iter().any(is_named)) {
            return Err(KeyRefusal::Operation(name()));
        }
        self.admit_effect(&name(), effect)
    }

    /// Admits a set of operations with all its names and effects. `effects` is `None` for all.
    ///
    /// # Errors
    /// If the limits do not have one of them.
    pub fn admit_set(&self, allow: &[String], effects: Option<&[String]>) -> Result<(), KeyRefusal> {
        for name in self.allow.as_ref().map_or(&[][..], |_| allow) {
            let is_named = |name: &str| self.allow.iter().flatten().any(|allowed| allowed == name);
            match name.split_once('/') {
                None if !is_named(name) => return Err(KeyRefusal::Proxy(name.clone())),
                Some((connector, _)) if !is_named(connector) && !is_named(name) => {
                    return Err(KeyRefusal::Operation(name.clone()));
                }
                _ => {}
            }
        }
        let has = |effects: Option<&[String]>, effect: &str| {
            effects.is_none_or(|effects| effects.iter().any(|named| named == effect))
        };
        let mut all = [Effect::Read, Effect::Write, Effect::Destructive].into_iter().map(Effect::name);
        match all.find(|effect| has(effects, effect) && !has(self.effects.as_deref(), effect)) {
            Some(effect) => Err(KeyRefusal::EffectOfSet(effect)),
            None => Ok(()),
        }
    }

    fn admit_effect(&self, operation: &str, effect: Effect) -> Result<(), KeyRefusal> {
        let effect = effect.name();
        if self.effects.as_ref().is_some_and(|effects| !effects.iter().any(|named| named == effect)) {
            return Err(KeyRefusal::Effect { operation: operation.to_owned(), effect });
        }
        Ok(())
    }
}

/// Returns `true` if a key has expired.
pub(super) fn has_expired(expires_at: Option<SystemTime>) -> bool {
    expires_at.is_some_and(|time| time <= clock::now())
}

/// Checks if a key that made a call earlier may still call the operation now.
///
/// # Errors
/// If it may not.
pub fn check_key(key: Option<&ApiKey>, connector: &str, operation: &str, effect: Effect) -> Result<(), KeyRefusal> {
    let key = key.ok_or(KeyRefusal::Unknown)?;
    if key.revoked_at.is_some() {
        return Err(KeyRefusal::Revoked);
    }
    if has_expired(key.expires_at) {
        return Err(KeyRefusal::Expired);
    }
    let caller = Caller::of_key(key);
    caller.require(Scope::Operate).map_err(|_| KeyRefusal::Scope)?;
    caller.require_operation(connector, operation, effect)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(allow: &str, effects: Option<&str>) -> Limits {
        Limits {
            allow: Some(serde_json::from_str(allow).unwrap()),
            effects: effects.map(|names| names.split(' ').map(str::to_owned).collect()),
        }
    }

    #[test]
    fn a_key_calls_the_connectors_and_operations_that_it_names() {
        let limits = limits(r#"["mail", "chat/search"]"#, None);
        assert_eq!(limits.admit("mail", "send", Effect::Write), Ok(()));
        assert_eq!(limits.admit("chat", "search", Effect::Read), Ok(()));
        for (connector, operation) in [("chat", "post"), ("mail2", "send"), ("search", "chat")] {
            let name = format!("{connector}/{operation}");
            assert_eq!(limits.admit(connector, operation, Effect::Read), Err(KeyRefusal::Operation(name)));
        }
    }

    #[test]
    fn a_key_that_names_single_operations_may_not_go_around_them() {
        let limits = limits(r#"["mail", "chat/search"]"#, Some("read"));
        assert_eq!(limits.admit_proxy("mail", Effect::Read), Ok(()));
        assert_eq!(limits.admit_proxy("chat", Effect::Read), Err(KeyRefusal::Proxy("chat".to_owned())));
        assert!(matches!(limits.admit_proxy("mail", Effect::Write), Err(KeyRefusal::Effect { .. })));
    }

    #[test]
    fn a_key_admits_sets_that_have_nothing_else() {
        let key = limits(r#"["mail", "chat/search"]"#, Some("read write"));
        let set = |allow: &[&str], effects: Option<&[&str]>| {
            let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
            key.admit_set(&owned(allow), effects.map(owned).as_deref())
        };
        assert_eq!(set(&["mail", "mail/send", "chat/search"], Some(&["read", "write"])), Ok(()));
        assert_eq!(set(&["chat"], Some(&["read"])), Err(KeyRefusal::Proxy("chat".to_owned())));
        assert_eq!(set(&["chat/post"], Some(&["read"])), Err(KeyRefusal::Operation("chat/post".to_owned())));
        assert_eq!(set(&["mail"], None), Err(KeyRefusal::EffectOfSet("destructive")));
        let by_effect = Limits { allow: None, effects: Some(vec!["read".to_owned()]) };
        assert_eq!(by_effect.admit_set(&["mail".to_owned()], Some(&["read".to_owned()])), Ok(()));
    }

    #[test]
    fn a_key_calls_operations_with_the_effects_that_it_names() {
        let limits = limits(r#"["mail"]"#, Some("read write"));
        assert_eq!(limits.admit("mail", "send", Effect::Write), Ok(()));
        let refusal = KeyRefusal::Effect { operation: "mail/purge".to_owned(), effect: "destructive" };
        assert_eq!(limits.admit("mail", "purge", Effect::Destructive), Err(refusal));
    }
}
