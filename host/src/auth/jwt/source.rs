//! Where an issuer's keys come from, and how they are kept up to date.
//!
//! They are fetched at the start and then every ten minutes, or as often as the issuer says. A token with a key that is not
//! known has them fetched at once, as the issuer may have begun to use a new one, but not more often than every 30 seconds:
//! anybody can send tokens with names of keys they made up. Where they cannot be fetched, those known stay in use.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use hyper::Method;
use hyper::header::{ACCEPT, CACHE_CONTROL, HeaderMap, HeaderValue};
use thiserror::Error;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};
use url::Url;

use super::keys::KeySet;
use egress::{Body, Egress, EgressError, Headers, Request, Target, Upstream};

/// Callers may be waiting.
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);

/// Some hundred keys with certificates.
const MAX_ANSWER_BYTES: u64 = 512 << 10;

/// How long keys are kept where the issuer does not say.
const STANDARD_LIFE: Duration = Duration::from_secs(600);

/// An issuer that says less would be asked all the time, and one that says more could withdraw no key.
const SHORTEST_LIFE: Duration = Duration::from_secs(60);
const LONGEST_LIFE: Duration = Duration::from_secs(24 * 60 * 60);

/// Pause after a failure, and between two fetches because of unknown keys.
const PAUSE: Duration = Duration::from_secs(30);

/// Why there are no keys.
#[derive(Debug, Error)]
enum FetchError {
    #[error(transparent)]
    Egress(#[from] EgressError),
    #[error("the answer has status {0}")]
    Status(u16),
    #[error("the answer is no JSON Web Key Set")]
    NoKeySet,
}

/// The keys of one issuer.
pub(super) struct KeySource {
    /// The operator's name for the issuer.
    name: String,
    egress: Egress,
    upstream: Upstream,
    path: String,
    /// None until they were fetched once.
    keys: ArcSwapOption<KeySet>,
    /// Held while fetching because of an unknown key; when that was last done.
    asked: Mutex<Option<Instant>>,
    pause: Duration,
}

impl KeySource {
    /// # Errors
    /// When the URL is none that may be called.
    pub(super) fn new(name: &str, url: &Url, allow_private_network: bool, egress: Egress) -> Result<Self, EgressError> {
        let (upstream, path) = Upstream::of_url("JWT issuer", url, allow_private_network)?;
        let keys = ArcSwapOption::empty();
        Ok(Self { name: name.to_owned(), egress, upstream, path, keys, asked: Mutex::new(None), pause: PAUSE })
    }

    /// The keys as far as they are known.
    pub(super) fn current(&self) -> Option<Arc<KeySet>> {
        self.keys.load_full()
    }

    /// The keys, fetched anew because those seen do not suffice, if they have not been just now.
    pub(super) async fn newer_than(&self, seen: Option<&Arc<KeySet>>) -> Option<Arc<KeySet>> {
        let mut asked = self.asked.lock().await;
        let current = self.current();
        // While this caller waited for its turn, the one before may have fetched what both want.
        let is_newer = current.as_ref().map(Arc::as_ptr) != seen.map(Arc::as_ptr);
        if is_newer || asked.is_some_and(|asked| asked.elapsed() < self.pause) {
            return current;
        }
        *asked = Some(Instant::now());
        if let Err(error) = self.fetch().await {
            tracing::warn!(issuer = self.name, %error, "the keys of a JWT issuer cannot be fetched; those known stay in use");
        }
        self.current()
    }

    /// Keeps the keys up to date. Runs until it is dropped.
    pub(super) async fn follow(&self) {
        let mut is_failing = false;
        loop {
            let pause = match self.fetch().await {
                Ok(life) => {
                    is_failing = false;
                    life
                }
                Err(error) => {
                    if !is_failing {
                        tracing::error!(issuer = self.name, %error, "the keys of a JWT issuer cannot be fetched; those known stay in use");
                    }
                    is_failing = true;
                    self.pause
                }
            };
            sleep(pause).await;
        }
    }

    /// Fetches the keys, and says how long they are good.
    async fn fetch(&self) -> Result<Duration, FetchError> {
        let headers =
            HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/jwk-set+json, application/json"))]);
        let request = Request {
            method: Method::GET,
            target: Target::Path(self.path.clone()),
            headers: Headers::trusted(headers),
            body: Body::Empty,
            credential: None,
            omit_credential: false,
            deadline: Instant::now() + FETCH_TIMEOUT,
            limit: MAX_ANSWER_BYTES,
        };
        let response = self.egress.send(&self.upstream, &request).await?;
        if !response.status.is_success() {
            return Err(FetchError::Status(response.status.as_u16()));
        }
        let life = life(&response.headers);
        let body = response.body.collect(MAX_ANSWER_BYTES).await?;
        let keys = KeySet::parse(&body).ok_or(FetchError::NoKeySet)?;
        self.keys.store(Some(Arc::new(keys)));
        Ok(life)
    }
}

/// What `Cache-Control: max-age` says, within reason.
fn life(headers: &HeaderMap) -> Duration {
    let max_age = headers
        .get_all(CACHE_CONTROL)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|directive| directive.trim().split_once('='))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("max-age"))
        .and_then(|(_, seconds)| seconds.trim().trim_matches('"').parse().ok());
    match max_age {
        None | Some(0) => STANDARD_LIFE,
        Some(seconds) => Duration::from_secs(seconds).clamp(SHORTEST_LIFE, LONGEST_LIFE),
    }
}

#[cfg(test)]
impl KeySource {
    /// Two fetches because of unknown keys may follow one another this closely.
    pub(super) fn asking_every(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::{CACHE_CONTROL, Duration, HeaderMap, life};

    #[test]
    fn keys_are_kept_as_long_as_the_issuer_says_within_reason() {
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
            assert_eq!(life(&headers), Duration::from_secs(seconds), "{value}");
        }
        assert_eq!(life(&HeaderMap::new()), Duration::from_secs(600));
    }
}
