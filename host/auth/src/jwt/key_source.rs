//! Fetches an issuer's keys.
//!
//! Keys are fetched at the start and then every ten minutes, or as often as the issuer says. A
//! token with an unknown key causes an immediate fetch, because the issuer may have started to
//! use a new one. A token that the known key of its id does not verify does so too, because the
//! issuer may have given the id to a new key. That happens at most every 30 seconds, because
//! anyone can send tokens with invented key ids and signatures. If a fetch fails, the known keys
//! stay in use.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use hyper::Method;
use hyper::header::{ACCEPT, CACHE_CONTROL, HeaderMap, HeaderValue};
use thiserror::Error;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};
use url::Url;

use egress::{Egress, EgressError, Headers, Request, Target, Upstream};
use jwt::KeySet;

/// Longest time for one fetch. It is short, because callers may wait for it.
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);

/// Largest key set: some hundred keys with certificates.
const MAX_ANSWER_BYTES: u64 = 512 << 10;

/// Lifetime of keys if the issuer does not state one.
const DEFAULT_LIFETIME: Duration = Duration::from_secs(600);

/// Bounds of the lifetime that an issuer names. A shorter one would cause too many requests. A
/// longer one would keep withdrawn keys in use.
const SHORTEST_LIFETIME: Duration = Duration::from_secs(60);
pub(super) const LONGEST_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

/// Delay after a failed fetch, and between two fetches because of tokens that no known key
/// verifies.
const FETCH_BACKOFF: Duration = Duration::from_secs(30);

/// Why a fetch failed.
#[derive(Debug, Error)]
pub(super) enum FetchError {
    #[error(transparent)]
    Egress(#[from] EgressError),
    #[error("the answer has status {0}")]
    Status(u16),
    #[error("the answer is not a JSON Web Key Set")]
    NoKeySet,
}

/// The keys of one issuer.
pub(super) struct KeySource {
    /// The operator's name for the issuer, for the log.
    name: String,
    egress: Egress,
    upstream: Upstream,
    path: String,
    /// `None` until the first fetch succeeds.
    keys: ArcSwapOption<KeySet>,
    /// Time of the last fetch because of a token that no known key verifies. Held during such a
    /// fetch, so that concurrent callers share it.
    last_extra_fetch: Mutex<Option<Instant>>,
    /// [`FETCH_BACKOFF`], except in tests.
    backoff: Duration,
}

impl KeySource {
    /// # Errors
    /// If egress cannot call the URL.
    pub(super) fn new(name: &str, url: &Url, allow_private_network: bool, egress: Egress) -> Result<Self, EgressError> {
        let (upstream, path) = Upstream::of_url("JWT issuer", url, allow_private_network)?;
        let keys = ArcSwapOption::empty();
        Ok(Self {
            name: name.to_owned(),
            egress,
            upstream,
            path,
            keys,
            last_extra_fetch: Mutex::new(None),
            backoff: FETCH_BACKOFF,
        })
    }

    /// The known keys, or `None` if no fetch has succeeded yet.
    pub(super) fn current(&self) -> Option<Arc<KeySet>> {
        self.keys.load_full()
    }

    /// The keys after `seen`, which do not verify a token. Fetches them, unless that
    /// was done a moment ago. Returns the known keys if there are no newer ones.
    pub(super) async fn newer_than(&self, seen: Option<&Arc<KeySet>>) -> Option<Arc<KeySet>> {
        let mut last_extra_fetch = self.last_extra_fetch.lock().await;
        let current = self.current();
        // While this caller waited for the lock, another one may have fetched the keys.
        let is_newer = current.as_ref().map(Arc::as_ptr) != seen.map(Arc::as_ptr);
        if is_newer || last_extra_fetch.is_some_and(|last| last.elapsed() < self.backoff) {
            return current;
        }
        *last_extra_fetch = Some(Instant::now());
        if let Err(error) = self.fetch().await {
            self.warn(&error);
        }
        self.current()
    }

    /// Logs a failed fetch.
    pub(super) fn warn(&self, error: &FetchError) {
        tracing::warn!(issuer = self.name, %error, "the keys of a JWT issuer cannot be fetched; known keys stay in use");
    }

    /// Fetches the keys at the end of each lifetime. Runs until it is dropped.
    pub(super) async fn follow(&self) {
        let mut is_failing = false;
        loop {
            let backoff = match self.fetch().await {
                Ok(lifetime) => {
                    is_failing = false;
                    lifetime
                }
                Err(error) => {
                    if !is_failing {
                        tracing::error!(issuer = self.name, %error, "the keys of a JWT issuer cannot be fetched; known keys stay in use");
                    }
                    is_failing = true;
                    self.backoff
                }
            };
            sleep(backoff).await;
        }
    }

    /// Fetches the keys. Returns their lifetime.
    pub(super) async fn fetch(&self) -> Result<Duration, FetchError> {
        let headers =
            HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/jwk-set+json, application/json"))]);
        let (target, deadline) = (Target::Path(self.path.clone()), Instant::now() + FETCH_TIMEOUT);
        let request = Request {
            headers: Headers::trusted(headers),
            ..Request::new(Method::GET, target, deadline, MAX_ANSWER_BYTES)
        };
        let response = self.egress.send(&self.upstream, &request).await?;
        if !response.status.is_success() {
            return Err(FetchError::Status(response.status.as_u16()));
        }
        let lifetime = lifetime(&response.headers);
        let body = response.body.collect(MAX_ANSWER_BYTES).await?;
        let keys = KeySet::parse(&body).ok_or(FetchError::NoKeySet)?;
        self.keys.store(Some(Arc::new(keys)));
        Ok(lifetime)
    }
}

/// The lifetime of `Cache-Control: max-age`, within bounds.
fn lifetime(headers: &HeaderMap) -> Duration {
    let max_age = headers
        .get_all(CACHE_CONTROL)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|directive| directive.trim().split_once('='))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("max-age"))
        .and_then(|(_, seconds)| seconds.trim().trim_matches('"').parse().ok());
    match max_age {
        None | Some(0) => DEFAULT_LIFETIME,
        Some(seconds) => Duration::from_secs(seconds).clamp(SHORTEST_LIFETIME, LONGEST_LIFETIME),
    }
}

#[cfg(test)]
impl KeySource {
    /// Sets the delay between two fetches because of unknown keys.
    pub(super) fn with_backoff(mut self, backoff: Duration) -> Self {
        self.backoff = backoff;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::{CACHE_CONTROL, Duration, HeaderMap, lifetime};

    #[test]
    fn the_lifetime_of_keys_is_the_issuers_max_age_within_bounds() {
        let cases = [
            ("", 600),
            ("no-cache", 600),
            ("public, max-age=0", 600),
            ("public, max-age=22000, must-revalidate, no-transform", 22_000),
            ("Max-Age=\"300\"", 300),
            ("max-age=5", 60),
            ("max-age=99999999", 86_400),
            ("max-age=-1", 600),
            ("s-maxage=70", 600),
        ];
        for (value, seconds) in cases {
            let headers = HeaderMap::from_iter([(CACHE_CONTROL, value.parse().unwrap())]);
            assert_eq!(lifetime(&headers), Duration::from_secs(seconds), "{value}");
        }
        assert_eq!(lifetime(&HeaderMap::new()), Duration::from_secs(600));
    }
}
