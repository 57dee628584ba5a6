//! The table of API keys, and the search for the caller of a request.
//!
//! The SHA-256 hashes of all keys are in memory, so that a call costs one hash and one lookup
//! without a lock. The table is replaced as a whole about a second after any process makes or
//! revokes a key. While the store does not answer, the table grows old, and from
//! `keys.max_age_s` on no key is accepted: it may have been revoked.
//!
//! The time of a lookup may depend on the hash. That does not help an attacker, who cannot
//! control the hash of a chosen token.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use arc_swap::ArcSwap;
use hyper::header::HeaderValue;
use secrecy::SecretString;
use tokio::sync::Mutex;
use tokio::time::{Instant, MissedTickBehavior};

use super::bootstrap::hash_of;
use super::caller::Caller;
use super::error::AuthError;
use super::jwt::JwtIssuers;
use super::key;
use super::limits::has_expired;
use super::sessions::Sessions;
use metrics::Metrics;
use store::{ApiKey, KeyHash, Store, StoreError};

/// Longest time until a change by another process is noticed. Each poll reads one row.
pub(crate) const POLL: Duration = Duration::from_secs(1);

/// Time between two writes of the last use of keys. With it, a last use is in the store after less
/// than a minute.
const NOTE_USE: Duration = Duration::from_secs(45);

/// Time between the beginnings of two looks, because callers can send unknown keys at any rate.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// Longest time of a look. A request does not wait longer for a store that does not answer.
const LOOK_WAIT: Duration = Duration::from_secs(1);

/// Time for which a look that failed answers for all requests.
const FAILURE_LIFE: Duration = Duration::from_secs(1);

/// Finds the caller of a request.
pub struct Authenticator {
    store: Store,
    metrics: Arc<Metrics>,
    table: ArcSwap<KeyTable>,
    began: Instant,
    /// Milliseconds from `began` to the last time at which the table was known to equal the store.
    /// 0 before the first reading.
    confirmed_ms: AtomicU64,
    /// The age from which on the table tells nothing about a key.
    max_age: Duration,
    last_look: Mutex<Option<Look>>,
    sessions: Sessions,
    issuers: JwtIssuers,
}

/// An extra poll for a request whose key the table does not know.
#[derive(Clone, Copy)]
struct Look {
    began: Instant,
    ended: Instant,
    has_succeeded: bool,
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
    /// Reads all keys. A table older than `max_age` is not used.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn new(store: Store, metrics: Arc<Metrics>, max_age: Duration) -> Result<Self, StoreError> {
        let authenticator = Self::with_keys(store, metrics, max_age, HashMap::new());
        authenticator.reload().await?;
        Ok(authenticator)
    }

    /// Knows no key but the one that the operator chose for the first start, until
    /// [`Authenticator::watch`] can read the keys. This key is a part of the configuration, so it
    /// has no age until then.
    pub fn without_database(
        store: Store,
        metrics: Arc<Metrics>,
        max_age: Duration,
        chosen: Option<&SecretString>,
    ) -> Self {
        let entry = |chosen: &SecretString| {
            let entry = Entry {
                caller: Arc::new(Caller::of_first_key()),
                is_revoked: false,
                expires_at: None,
                is_used: Arc::default(),
            };
            (hash_of(chosen), entry)
        };
        Self::with_keys(store, metrics, max_age, chosen.map(entry).into_iter().collect())
    }

    fn with_keys(store: Store, metrics: Arc<Metrics>, max_age: Duration, keys: HashMap<KeyHash, Entry>) -> Self {
        Self {
            sessions: Sessions::new(store.clone(), max_age),
            store,
            metrics,
            table: ArcSwap::from_pointee(KeyTable { revision: -1, keys }),
            began: Instant::now(),
            confirmed_ms: AtomicU64::new(0),
            max_age,
            last_look: Mutex::new(None),
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
            // Boxed, so that the common case of a known key has a small future.
            Err(AuthError::Unknown) => Box::pin(self.authenticate_unknown(token, &hash)).await,
            Err(AuthError::Unavailable) => Box::pin(self.look_and_find(&hash)).await,
            result => result,
        }
    }

    /// The caller with the key that has this hash.
    ///
    /// # Errors
    /// If the key was revoked, or has expired.
    pub async fn authenticate_hash(&self, hash: &KeyHash) -> Result<Arc<Caller>, AuthError> {
        match self.look_up(hash) {
            Err(AuthError::Unknown | AuthError::Unavailable) => self.look_and_find(hash).await,
            result => result,
        }
    }

    /// The caller with a token that is not a key in the table.
    async fn authenticate_unknown(&self, token: &str, hash: &KeyHash) -> Result<Arc<Caller>, AuthError> {
        match key::form_of(token) {
            key::Form::Ours => self.look_and_find(hash).await,
            key::Form::Session => self.sessions.find(hash).await,
            // A character is missing or wrong, so the store cannot have it.
            key::Form::Damaged => Err(AuthError::Malformed),
            key::Form::Other if self.issuers.may_know(token) => Ok(Arc::new(self.issuers.verify(token).await?)),
            key::Form::Other => Err(AuthError::Unknown),
        }
    }

    /// The caller with a key that another process may have made or revoked a moment ago.
    async fn look_and_find(&self, hash: &KeyHash) -> Result<Arc<Caller>, AuthError> {
        self.look().await?;
        self.look_up(hash)
    }

    /// Reads the keys again if they have changed since this call.
    ///
    /// Requests that ask at the same time share a look. So the number of looks is limited, and yet
    /// no caller can use up the looks of another one.
    async fn look(&self) -> Result<(), AuthError> {
        let asked = Instant::now();
        let mut last = self.last_look.lock().await;
        let look = match *last {
            Some(look) if look.answers_since(asked) => look,
            previous => {
                if let Some(previous) = previous {
                    tokio::time::sleep_until(previous.began + LOOK_INTERVAL).await;
                }
                *last.insert(self.look_now().await)
            }
        };
        if look.has_succeeded { Ok(()) } else { Err(AuthError::Unavailable) }
    }

    async fn look_now(&self) -> Look {
        let began = Instant::now();
        let result = tokio::time::timeout(LOOK_WAIT, self.reload_if_changed()).await;
        if let Ok(Err(error)) = &result {
            error.log_failure();
        }
        Look { began, ended: Instant::now(), has_succeeded: matches!(result, Ok(Ok(()))) }
    }

    /// Reads keys and agent sessions again after this gateway has changed them, so that the change
    /// holds here at once. If the store fails, the next poll reads them.
    pub async fn note_change(&self) {
        self.sessions.forget();
        if let Err(error) = self.reload_if_changed().await {
            error.log_failure();
        }
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
                        "the API keys cannot be read; new keys are refused, and from keys.max_age_s on all keys are, because \
                         they may have been revoked"
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
        if used.is_empty() { Ok(()) } else { self.store.keys().note_used(used).await }
    }

    /// The result for a key in the table: [`AuthError::Unknown`] if it is not there, and
    /// [`AuthError::Unavailable`] if the table is too old to know.
    fn look_up(&self, hash: &KeyHash) -> Result<Arc<Caller>, AuthError> {
        let table = self.table.load();
        let entry = table.keys.get(hash).ok_or(AuthError::Unknown)?;
        if entry.is_revoked {
            return Err(AuthError::Revoked);
        }
        if has_expired(entry.expires_at) {
            return Err(AuthError::Expired);
        }
        if self.is_outdated() {
            return Err(AuthError::Unavailable);
        }
        // Reads before it writes: a write at every call would invalidate the cache line of the
        // other cores.
        if !entry.is_used.load(Ordering::Relaxed) {
            entry.is_used.store(true, Ordering::Relaxed);
        }
        Ok(Arc::clone(&entry.caller))
    }

    fn is_outdated(&self) -> bool {
        let confirmed_ms = self.confirmed_ms.load(Ordering::Relaxed);
        confirmed_ms > 0 && self.began.elapsed() > Duration::from_millis(confirmed_ms) + self.max_age
    }

    /// Notes that the table has every change that was made before this time.
    fn confirm(&self, at: Instant) {
        let confirmed_ms = u64::try_from((at - self.began).as_millis()).unwrap_or(u64::MAX).max(1);
        self.confirmed_ms.fetch_max(confirmed_ms, Ordering::Relaxed);
        let time = clock::now().checked_sub(at.elapsed()).unwrap_or(UNIX_EPOCH);
        let seconds = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        self.metrics.keys_read.set(i64::try_from(seconds).unwrap_or(i64::MAX));
    }

    async fn reload_if_changed(&self) -> Result<(), StoreError> {
        let asked = Instant::now();
        if self.store.keys().revision().await? != self.table.load().revision {
            return self.reload().await;
        }
        self.confirm(asked);
        Ok(())
    }

    pub(super) async fn reload(&self) -> Result<(), StoreError> {
        let asked = Instant::now();
        let (revision, keys) = self.store.keys().at_revision().await?;
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
        self.confirm(asked);
        Ok(())
    }
}

impl Look {
    /// Returns `true` if this look tells a request that began to ask at this time what it wants to
    /// know. While the store does not answer, requests share the failure, and do not wait in turn.
    fn answers_since(self, asked: Instant) -> bool {
        self.began >= asked || (!self.has_succeeded && self.ended.elapsed() < FAILURE_LIFE)
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
