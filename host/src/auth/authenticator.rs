//! The table of API keys, and the search for the caller of a request.
//!
//! The SHA-256 hashes of all keys are in memory, so that a call costs one hash and one lookup
//! without a lock. The table is replaced as a whole about a second after any process makes or
//! revokes a key.
//!
//! The time of a lookup may depend on the hash. That does not help an attacker, who cannot
//! control the hash of a chosen token.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use hyper::header::HeaderValue;
use parking_lot::Mutex;
use secrecy::{ExposeSecret, SecretString};
use tokio::time::{Instant, MissedTickBehavior};

use super::caller::Caller;
use super::error::AuthError;
use super::jwt::JwtIssuers;
use super::key;
use super::limits::has_expired;
use crate::allowance::Allowance;
use store::{ApiKey, KeyHash, Store, StoreError};

/// Longest time until a change by another process is noticed. Each poll reads one row.
const POLL: Duration = Duration::from_secs(1);

/// Time between two writes of the last use of keys. With it, a last use is in the store after less
/// than a minute.
const NOTE_USE: Duration = Duration::from_secs(45);

/// Number of extra polls that unknown keys can cause in a second.
const LOOKS_PER_SECOND: u32 = 10;

/// Finds the caller of a request.
pub struct Authenticator {
    store: Store,
    table: ArcSwap<KeyTable>,
    /// Bounds the extra polls, because callers can send unknown keys at any rate.
    looks: Mutex<Allowance>,
    issuers: JwtIssuers,
}

/// All keys at one moment.
struct KeyTable {
    /// The store's revision of the keys, which shows if they have changed.
    revision: i64,
    keys: HashMap<KeyHash, Entry>,
}

struct Entry {
    caller: Arc<Caller>,
    is_revoked: bool,
    expires_at: Option<SystemTime>,
    /// `true` if the key was used since the last write to the store. The next table shares it.
    is_used: Arc<AtomicBool>,
}

impl Authenticator {
    /// Reads all keys.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn new(store: Store) -> Result<Self, StoreError> {
        let authenticator = Self::with_keys(store, HashMap::new());
        authenticator.reload().await?;
        Ok(authenticator)
    }

    /// Knows no key but the one that the operator chose for the first start, until
    /// [`Authenticator::watch`] can read the keys.
    pub fn without_database(store: Store, chosen: Option<&SecretString>) -> Self {
        let entry = |chosen: &SecretString| {
            let entry = Entry {
                caller: Arc::new(Caller::of_first_key()),
                is_revoked: false,
                expires_at: None,
                is_used: Arc::default(),
            };
            (key::hash(chosen.expose_secret()), entry)
        };
        Self::with_keys(store, chosen.map(entry).into_iter().collect())
    }

    fn with_keys(store: Store, keys: HashMap<KeyHash, Entry>) -> Self {
        Self {
            store,
            table: ArcSwap::from_pointee(KeyTable { revision: -1, keys }),
            looks: Mutex::new(Allowance::new(LOOKS_PER_SECOND, Duration::from_secs(1) / LOOKS_PER_SECOND)),
            issuers: JwtIssuers::none(),
        }
    }

    /// Also accepts JWTs of these issuers.
    #[must_use]
    pub fn trusting(self, issuers: JwtIssuers) -> Self {
        Self { issuers, ..self }
    }

    /// The caller that sent this `Authorization` header.
    ///
    /// # Errors
    /// If the header contains no key and no JWT of a known caller.
    pub async fn authenticate(&self, authorization: Option<&HeaderValue>) -> Result<Arc<Caller>, AuthError> {
        let token = bearer_token(authorization.ok_or(AuthError::Missing)?).ok_or(AuthError::Malformed)?;
        let hash = key::hash(token);
        match self.look_up(&hash) {
            Some(result) => result,
            // Boxed, so that the common case of a known key has a small future.
            None => Box::pin(self.authenticate_unknown(token, &hash)).await,
        }
    }

    /// The caller with the key that has this hash.
    ///
    /// # Errors
    /// If the key was revoked, or has expired.
    pub async fn authenticate_hash(&self, hash: &KeyHash) -> Result<Arc<Caller>, AuthError> {
        if let Some(result) = self.look_up(hash) {
            return result;
        }
        // Another process may have made the key a moment ago.
        self.reload_if_changed().await.map_err(AuthError::Unavailable)?;
        self.look_up(hash).unwrap_or(Err(AuthError::Unknown))
    }

    /// The caller with a token that is not a key in the table.
    async fn authenticate_unknown(&self, token: &str, hash: &KeyHash) -> Result<Arc<Caller>, AuthError> {
        match key::form_of(token) {
            key::Form::Ours => {}
            // A character is missing or wrong, so the store cannot have it.
            key::Form::Damaged => return Err(AuthError::Malformed),
            key::Form::Other if self.issuers.may_know(token) => {
                return Ok(Arc::new(self.issuers.verify(token).await?));
            }
            key::Form::Other => return Err(AuthError::Unknown),
        }
        // The key may have been made a moment ago. If the limit denies the extra poll, the next
        // regular poll finds it.
        if !self.looks.lock().take() {
            return Err(AuthError::Unknown);
        }
        self.reload_if_changed().await.map_err(AuthError::Unavailable)?;
        // Looks again even without a change, because the regular poll may have reloaded the table
        // in the meantime.
        self.look_up(hash).unwrap_or(Err(AuthError::Unknown))
    }

    /// Follows changes of API keys and of issuers' keys, and stores when API keys were used. Runs
    /// until it is dropped.
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
            let mut result = self.reload_if_changed().await;
            if noted.elapsed() >= NOTE_USE {
                noted = Instant::now();
                result = result.and(self.note_use().await);
            }
            match result {
                Ok(()) => is_failing = false,
                Err(error) if !is_failing => {
                    is_failing = true;
                    tracing::error!(
                        %error,
                        "the API keys cannot be read; until they can, new keys are refused and revoked ones accepted"
                    );
                }
                Err(_) => {}
            }
        }
    }

    /// Stores which keys were used since the last call. It is called every 45 s, and once when the
    /// gateway stops.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn note_use(&self) -> Result<(), StoreError> {
        let used: Vec<_> = self
            .table
            .load()
            .keys
            .values()
            .filter(|entry| entry.is_used.swap(false, Ordering::Relaxed))
            .filter_map(|entry| entry.caller.key_id.clone())
            .collect();
        if used.is_empty() { Ok(()) } else { self.store.note_keys_used(used).await }
    }

    /// The result for a key in the table, or `None` if it is not there.
    fn look_up(&self, hash: &KeyHash) -> Option<Result<Arc<Caller>, AuthError>> {
        let table = self.table.load();
        let entry = table.keys.get(hash)?;
        if entry.is_revoked {
            return Some(Err(AuthError::Revoked));
        }
        if has_expired(entry.expires_at) {
            return Some(Err(AuthError::Expired));
        }
        // Reads before it writes: a write at every call would invalidate the cache line of the
        // other cores.
        if !entry.is_used.load(Ordering::Relaxed) {
            entry.is_used.store(true, Ordering::Relaxed);
        }
        Some(Ok(Arc::clone(&entry.caller)))
    }

    async fn reload_if_changed(&self) -> Result<(), StoreError> {
        if self.store.keys_revision().await? == self.table.load().revision {
            return Ok(());
        }
        self.reload().await
    }

    pub(super) async fn reload(&self) -> Result<(), StoreError> {
        let (revision, keys) = self.store.keys_at_revision().await?;
        self.table.rcu(|previous| {
            // Two tasks may read at the same time, and the task with the older revision may come
            // last.
            if previous.revision > revision {
                return Arc::clone(previous);
            }
            let entry = |key: &ApiKey| Entry {
                caller: Arc::new(Caller::of_key(key)),
                is_revoked: key.revoked_at.is_some(),
                expires_at: key.expires_at,
                is_used: previous
                    .keys
                    .get(&key.hash)
                    .map_or_else(Arc::default, |previous| Arc::clone(&previous.is_used)),
            };
            Arc::new(KeyTable { revision, keys: keys.iter().map(|key| (key.hash, entry(key))).collect() })
        });
        Ok(())
    }
}

/// Returns `true` if the token is a JWT by its form (RFC 7519): a JSON object and two further
/// parts, in base64url. An API key never has this beginning.
pub fn is_jwt(authorization: &HeaderValue) -> bool {
    bearer_token(authorization).is_some_and(|token| token.starts_with("eyJ") && token.split('.').count() == 3)
}

/// The token of RFC 6750: one word after the scheme `Bearer`, which may be in upper or lower case.
pub(super) fn bearer_token(authorization: &HeaderValue) -> Option<&str> {
    let (scheme, token) = authorization.to_str().ok()?.trim().split_once(' ')?;
    let token = token.trim_start();
    let is_one_word = !token.is_empty() && !token.contains([' ', '\t']);
    (scheme.eq_ignore_ascii_case("bearer") && is_one_word).then_some(token)
}
