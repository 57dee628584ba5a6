//! Keys of issuers whose tokens come with notifications of services.
//!
//! A notification gets its answer without a request to anyone, so only keys that are known already
//! verify it. They are fetched in the background, once one has been asked for.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::time::Instant;
use url::Url;

use super::key_source::{KeySource, LONGEST_LIFETIME};
use egress::{Egress, EgressError};
use jwt::KeySet;

/// Delay after a failed fetch.
const FAILURE_BACKOFF: Duration = Duration::from_secs(10);

/// Time between two fetches because of an unknown key. Anyone can send tokens with invented keys.
const UNKNOWN_KEY_BACKOFF: Duration = Duration::from_secs(60);

/// The keys of many issuers.
pub struct KeyRing {
    egress: Egress,
    /// The runtime of the fetches. It outlives the requests that ask for keys.
    background: Handle,
    sources: Mutex<HashMap<Url, Arc<Kept>>>,
}

/// The keys of one issuer.
struct Kept {
    source: KeySource,
    progress: Mutex<Progress>,
}

#[derive(Default)]
struct Progress {
    is_fetching: bool,
    /// The beginning of the last fetch.
    began: Option<Instant>,
    /// `true` if the last fetch has failed, so that the issuer may have more keys than are known.
    has_failed: bool,
    /// The end of the last fetch that has succeeded.
    fetched: Option<Instant>,
    /// Time of the next fetch.
    due: Option<Instant>,
}

impl KeyRing {
    /// Fetches nothing yet.
    pub fn new(egress: Egress, background: Handle) -> Self {
        Self { egress, background, sources: Mutex::default() }
    }

    /// The known keys at a URL, or `None` if there are none that are new enough. Begins to fetch
    /// newer ones when it is time.
    ///
    /// # Errors
    /// If egress cannot call the URL.
    pub fn keys(&self, url: &Url, allow_private_network: bool) -> Result<Option<Arc<KeySet>>, EgressError> {
        let kept = self.kept(url, allow_private_network)?;
        let now = Instant::now();
        let (is_due, is_fresh) = {
            let progress = kept.progress.lock();
            let is_due = progress.due.is_none_or(|due| due <= now);
            (is_due, progress.fetched.is_some_and(|fetched| fetched + LONGEST_LIFETIME > now))
        };
        if is_due {
            self.fetch(&kept, now);
        }
        Ok(kept.source.current().filter(|_| is_fresh))
    }

    /// Begins to fetch keys at a URL, because the known ones lack one. Returns `true` if other keys
    /// may be known in a moment, and `false` if the known ones are so new that the issuer has no such
    /// key.
    ///
    /// # Errors
    /// If egress cannot call the URL.
    pub fn look_for_newer(&self, url: &Url, allow_private_network: bool) -> Result<bool, EgressError> {
        let kept = self.kept(url, allow_private_network)?;
        let now = Instant::now();
        let (may_have_more, is_recent) = {
            let progress = kept.progress.lock();
            let is_recent = progress.began.is_some_and(|began| began + UNKNOWN_KEY_BACKOFF > now);
            (progress.is_fetching || progress.has_failed, is_recent)
        };
        if is_recent {
            return Ok(may_have_more);
        }
        self.fetch(&kept, now);
        Ok(true)
    }

    fn kept(&self, url: &Url, allow_private_network: bool) -> Result<Arc<Kept>, EgressError> {
        let mut sources = self.sources.lock();
        if let Some(kept) = sources.get(url) {
            return Ok(Arc::clone(kept));
        }
        let name = url.host_str().unwrap_or_default();
        let source = KeySource::new(name, url, allow_private_network, self.egress.clone())?;
        let kept = Arc::new(Kept { source, progress: Mutex::default() });
        sources.insert(url.clone(), Arc::clone(&kept));
        Ok(kept)
    }

    /// Begins a fetch, unless one is in progress.
    fn fetch(&self, kept: &Arc<Kept>, now: Instant) {
        {
            let mut progress = kept.progress.lock();
            if std::mem::replace(&mut progress.is_fetching, true) {
                return;
            }
            progress.began = Some(now);
        }
        let kept = Arc::clone(kept);
        self.background.spawn(async move {
            let result = kept.source.fetch().await;
            let ended = Instant::now();
            let mut progress = kept.progress.lock();
            progress.is_fetching = false;
            progress.has_failed = result.is_err();
            match result {
                Ok(lifetime) => {
                    progress.fetched = Some(ended);
                    progress.due = Some(ended + lifetime);
                }
                Err(error) => {
                    progress.due = Some(ended + FAILURE_BACKOFF);
                    kept.source.warn(&error);
                }
            }
        });
    }
}
