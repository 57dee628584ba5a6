//! Who calls.
//!
//! A caller shows an API key, `Authorization: Bearer cgw_…`, or a JWT of an issuer that the operator trusts. All keys, as
//! SHA-256, are in memory, so that a call costs one hash and one look into a table that is never locked. The table is
//! exchanged as a whole within about a second of a key being made or revoked, by this process or another.
//!
//! Comparing hashes takes a time that depends on how much of them is equal. That tells nothing: who could choose
//! the hash of what they send could as well guess the key.
//!
//! - [`caller`]: who it is, and what they may do
//! - [`key`]: the form of keys, and making one
//! - [`scope`]: what a caller may do
//! - [`mod@bootstrap`]: the first key
//! - [`jwt`]: tokens of somebody else

mod bootstrap;
mod caller;
mod jwt;
mod key;
mod scope;

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use hyper::header::HeaderValue;
use tokio::time::{Instant, MissedTickBehavior};

pub use self::bootstrap::{BootstrapError, DEFAULT_TENANT, bootstrap};
pub use self::caller::{AuthError, Caller, MissingScope};
pub use self::jwt::{JwtError, JwtIssuers};
pub use self::key::{NoRandomness, make_key};
pub use self::scope::{Scope, Scopes};
use store::{ApiKey, KeyHash, Store, StoreError};

/// How soon another process's change is noticed. Asking costs one row.
const POLL: Duration = Duration::from_secs(1);

/// How often is noted which keys were used: what people want to know is the day.
const NOTE_USE: Duration = Duration::from_secs(60);

/// How often in a second an unknown key makes us look whether keys have changed before the next poll does.
const LOOKS_PER_SECOND: NonZeroU32 = NonZeroU32::new(10).unwrap();

/// Tells callers by what they show.
pub struct Authenticator {
    store: Store,
    known: ArcSwap<Known>,
    looks: DefaultDirectRateLimiter,
    issuers: JwtIssuers,
}

/// All keys as they were at one moment.
struct Known {
    revision: i64,
    keys: HashMap<KeyHash, Entry>,
}

struct Entry {
    caller: Arc<Caller>,
    is_revoked: bool,
    /// Whether it was used since that was last noted. Shared with the table that follows.
    is_used: Arc<AtomicBool>,
}

impl Authenticator {
    /// Reads all keys.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn new(store: Store) -> Result<Self, StoreError> {
        let authenticator = Self {
            store,
            known: ArcSwap::from_pointee(Known { revision: -1, keys: HashMap::new() }),
            looks: RateLimiter::direct(Quota::per_second(LOOKS_PER_SECOND)),
            issuers: JwtIssuers::none(),
        };
        authenticator.refresh().await?;
        Ok(authenticator)
    }

    /// Also takes JWTs of these issuers.
    #[must_use]
    pub fn trusting(self, issuers: JwtIssuers) -> Self {
        Self { issuers, ..self }
    }

    /// Who sent a request with this `Authorization` header.
    ///
    /// # Errors
    /// When nobody we know did.
    pub async fn authenticate(&self, authorization: Option<&HeaderValue>) -> Result<Arc<Caller>, AuthError> {
        let token = bearer_token(authorization.ok_or(AuthError::Missing)?).ok_or(AuthError::Malformed)?;
        let hash = key::hash(token);
        match self.look_up(&hash) {
            Some(answer) => answer,
            // In a box: the keys that are known, which are most, take no room for this.
            None => Box::pin(self.look_further(token, &hash)).await,
        }
    }

    /// Who a token belongs to that is none of the keys in memory.
    async fn look_further(&self, token: &str, hash: &KeyHash) -> Result<Arc<Caller>, AuthError> {
        match key::check(token) {
            key::Form::Ours => {}
            // A letter is missing or wrong: no need to look for it.
            key::Form::Damaged => return Err(AuthError::Malformed),
            key::Form::Other if self.issuers.may_know(token) => {
                return Ok(Arc::new(self.issuers.verify(token).await?));
            }
            key::Form::Other => return Err(AuthError::Unknown),
        }
        // It may have been made a moment ago. Callers can send well-formed keys of their own making as fast as they like, so
        // that looking is rationed; what is not looked for now is found by the next poll.
        if self.looks.check().is_err() {
            return Err(AuthError::Unknown);
        }
        self.refresh_if_changed().await.map_err(AuthError::Unavailable)?;
        // Also when there was no change: the poll may have come between.
        self.look_up(hash).unwrap_or(Err(AuthError::Unknown))
    }

    /// Follows changes of the keys, those of issuers included, and notes which are used. Runs until it is dropped.
    pub async fn watch(&self) {
        tokio::join!(self.watch_keys(), self.issuers.follow());
    }

    async fn watch_keys(&self) {
        let mut polls = tokio::time::interval(POLL);
        polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut noted = Instant::now();
        let mut is_failing = false;
        loop {
            polls.tick().await;
            let mut result = self.refresh_if_changed().await;
            if noted.elapsed() >= NOTE_USE {
                noted = Instant::now();
                result = result.and(self.note_use().await);
            }
            match result {
                Ok(()) => is_failing = false,
                Err(error) if !is_failing => {
                    is_failing = true;
                    tracing::error!(%error, "the API keys cannot be read: until they can, new keys are refused and revoked ones accepted");
                }
                Err(_) => {}
            }
        }
    }

    /// Notes in the store which keys were used since this was last called: each minute, and once at the end.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn note_use(&self) -> Result<(), StoreError> {
        let used: Vec<_> = self
            .known
            .load()
            .keys
            .values()
            .filter(|entry| entry.is_used.swap(false, Ordering::Relaxed))
            .filter_map(|entry| entry.caller.key_id.clone())
            .collect();
        if used.is_empty() { Ok(()) } else { self.store.note_keys_used(used).await }
    }

    fn look_up(&self, hash: &KeyHash) -> Option<Result<Arc<Caller>, AuthError>> {
        let known = self.known.load();
        let entry = known.keys.get(hash)?;
        if entry.is_revoked {
            return Some(Err(AuthError::Revoked));
        }
        // Read first: a write would take the cache line from the other cores at every call.
        if !entry.is_used.load(Ordering::Relaxed) {
            entry.is_used.store(true, Ordering::Relaxed);
        }
        Some(Ok(Arc::clone(&entry.caller)))
    }

    async fn refresh_if_changed(&self) -> Result<(), StoreError> {
        if self.store.keys_revision().await? == self.known.load().revision {
            return Ok(());
        }
        self.refresh().await
    }

    async fn refresh(&self) -> Result<(), StoreError> {
        let (revision, keys) = self.store.keys_at_revision().await?;
        self.known.rcu(|former| {
            // Two may read at once, and the one that read first come last.
            if former.revision > revision {
                return Arc::clone(former);
            }
            let entry = |key: &ApiKey| Entry {
                caller: Arc::new(Caller {
                    tenant: key.tenant.clone(),
                    subject: key.subject.clone(),
                    key_id: Some(key.id.clone()),
                    scopes: Scopes::parse(&key.scopes),
                }),
                is_revoked: key.revoked_at.is_some(),
                is_used: former.keys.get(&key.hash).map_or_else(Arc::default, |former| Arc::clone(&former.is_used)),
            };
            Arc::new(Known { revision, keys: keys.iter().map(|key| (key.hash, entry(key))).collect() })
        });
        Ok(())
    }
}

/// The token of RFC 6750: one word after the scheme, which is written in any case.
fn bearer_token(authorization: &HeaderValue) -> Option<&str> {
    let (scheme, token) = authorization.to_str().ok()?.trim().split_once(' ')?;
    let token = token.trim_start();
    let is_one_word = !token.is_empty() && !token.contains([' ', '\t']);
    (scheme.eq_ignore_ascii_case("bearer") && is_one_word).then_some(token)
}

#[cfg(test)]
mod tests;
