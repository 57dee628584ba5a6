//! The limits of API keys: the operations that a key may call, and the time until which it may.

use std::time::SystemTime;

use thiserror::Error;

use super::caller::Caller;
use super::key;
use super::scope::Scope;
use contract::Effect;
use store::{ApiKey, KeyId, Store, StoreError};

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
    /// The agent session has expired or was deleted, or its key was revoked.
    #[error("the agent session has ended")]
    SessionEnded,
}

/// Why the maker of an earlier call may not call an operation now.
#[derive(Debug, Error)]
pub enum MakerError {
    /// It may not.
    #[error(transparent)]
    Refused(#[from] KeyRefusal),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Limits {
    /// Limits with these names of connectors and operations, and these effects.
    pub fn new(allow: Vec<String>, effects: Option<Vec<String>>) -> Self {
        Self { allow: Some(allow), effects }
    }

    /// The limits of a key, or `None` if it has no limits.
    pub(super) fn of_key(key: &ApiKey) -> Option<Self> {
        Self::of_texts(key.allow.as_deref(), key.effects.as_deref())
    }

    /// The limits that the store has as these texts, or `None` if there are no limits.
    pub(super) fn of_texts(allow: Option<&str>, effects: Option<&str>) -> Option<Self> {
        if allow.is_none() && effects.is_none() {
            return None;
        }
        // A text that this version cannot read allows nothing.
        let allow = allow.map(|text| serde_json::from_str(text).unwrap_or_default());
        let effects = effects.map(|names| names.split_whitespace().map(str::to_owned).collect());
        Some(Self { allow, effects })
    }

    /// The texts of `allow` and `effects` for the store.
    pub fn to_texts(&self) -> (Option<String>, Option<String>) {
        // Strings can always be written as JSON.
        let allow = self.allow.as_ref().map(|names| serde_json::to_string(names).unwrap_or_default());
        (allow, self.effects.as_ref().map(|effects| effects.join(" ")))
    }

    /// The operations that both these limits and `allow` and `effects` have. `None` stands for all.
    #[must_use]
    pub fn narrowed(limits: Option<&Self>, allow: Option<&[String]>, effects: Option<&[String]>) -> Option<Self> {
        let own = limits.map(|limits| (limits.allow.as_deref(), limits.effects.as_deref()));
        let (own_allow, own_effects) = own.unwrap_or_default();
        let allow = both(own_allow, allow, |names, name| {
            let is_in = |connector: &str| names.iter().any(|allowed| allowed == connector);
            is_in(name) || name.split_once('/').is_some_and(|(connector, _)| is_in(connector))
        });
        let effects = both(own_effects, effects, |names, name| names.iter().any(|effect| effect == name));
        (allow.is_some() || effects.is_some()).then_some(Self { allow, effects })
    }

    /// Returns `true` if the limits admit nothing at all.
    pub fn are_empty(&self) -> bool {
        [&self.allow, &self.effects].into_iter().flatten().any(Vec::is_empty)
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

/// The names that two lists have in common. A name is in a list if `has` says so, since a list may
/// have it as a part of another name. `None` stands for all names.
fn both(
    one: Option<&[String]>,
    other: Option<&[String]>,
    has: impl Fn(&[String], &str) -> bool,
) -> Option<Vec<String>> {
    let (Some(one), Some(other)) = (one, other) else { return one.or(other).map(<[String]>::to_vec) };
    let mut common: Vec<String> = one.iter().filter(|name| has(other, name)).cloned().collect();
    let missing = other.iter().filter(|name| has(one, name) && !one.contains(name));
    common.extend(missing.cloned());
    Some(common)
}

/// Returns `true` if a key has expired.
pub(super) fn has_expired(expires_at: Option<SystemTime>) -> bool {
    expires_at.is_some_and(|time| time <= clock::now())
}

/// Checks if the key or the agent session that made a call earlier may still call the operation
/// now.
///
/// # Errors
/// If it may not, or the store fails.
pub async fn check_maker(
    store: &Store,
    id: &KeyId,
    connector: &str,
    operation: &str,
    effect: Effect,
) -> Result<(), MakerError> {
    let caller = match key::is_session(id) {
        true => Caller::of_session(&store.agent_sessions().get(id).await?.ok_or(KeyRefusal::SessionEnded)?),
        false => caller_of_key(store.keys().get(id).await?.as_ref())?,
    };
    caller.require(Scope::Operate).map_err(|_| KeyRefusal::Scope)?;
    Ok(caller.require_operation(connector, operation, effect)?)
}

fn caller_of_key(key: Option<&ApiKey>) -> Result<Caller, KeyRefusal> {
    let key = key.ok_or(KeyRefusal::Unknown)?;
    if key.revoked_at.is_some() {
        return Err(KeyRefusal::Revoked);
    }
    if has_expired(key.expires_at) {
        return Err(KeyRefusal::Expired);
    }
    Ok(Caller::of_key(key))
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
    fn limits_are_narrowed_to_what_both_sides_have() {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let narrow = |allow: &[&str], effects: Option<&[&str]>| {
            let maker = limits(r#"["mail", "chat/search"]"#, Some("read write"));
            Limits::narrowed(Some(&maker), Some(&owned(allow)), effects.map(owned).as_deref()).unwrap()
        };
        let narrowed = narrow(&["chat", "mail/send", "files"], Some(&["read", "destructive"]));
        assert_eq!(narrowed.to_texts(), (Some(r#"["chat/search","mail/send"]"#.to_owned()), Some("read".to_owned())));
        assert!(narrow(&["files", "chat/post"], None).are_empty());
        assert!(narrow(&["mail"], Some(&["destructive"])).are_empty());
        let all = narrow(&["mail", "chat"], None);
        assert_eq!(all.to_texts().0.unwrap(), r#"["mail","chat/search"]"#);
        assert_eq!(Limits::narrowed(None, None, None), None);
        assert_eq!(Limits::narrowed(Some(&all), None, None), Some(all.clone()));
        let by_effect = Limits::narrowed(None, None, Some(&owned(&["read"]))).unwrap();
        assert_eq!(by_effect.admit("any", "read", Effect::Read), Ok(()));
        assert!(by_effect.admit("any", "write", Effect::Write).is_err());
    }

    #[test]
    fn a_key_calls_operations_with_the_effects_that_it_names() {
        let limits = limits(r#"["mail"]"#, Some("read write"));
        assert_eq!(limits.admit("mail", "send", Effect::Write), Ok(()));
        let refusal = KeyRefusal::Effect { operation: "mail/purge".to_owned(), effect: "destructive" };
        assert_eq!(limits.admit("mail", "purge", Effect::Destructive), Err(refusal));
    }
}
