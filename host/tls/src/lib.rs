//! TLS with callers and operators: the certificates that listeners present.
//!
//! - here: the pair that each listener presents now, and its replacement when the files change
//! - [`pair`]: a certificate with its key, read from files and checked
//! - [`error`]: what is wrong with the files

mod error;
mod pair;

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use arc_swap::ArcSwap;
use prometheus_client::metrics::gauge::Gauge;
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval};

pub use self::error::TlsError;
pub use self::pair::Pair;

use self::pair::Content;
use config::{Config, Tls};
use metrics::{CertificateLabels, Metrics};

/// Time between two readings of the files. A changed pair serves once two readings agree, so that
/// half of a change is never judged: the two files cannot be replaced in one step.
const INTERVAL: Duration = Duration::from_secs(1);

/// The certificates of the listeners.
pub struct Certificates {
    /// The certificate at `listen`. `None` if the gateway speaks plain HTTP there.
    pub callers: Option<Arc<Presented>>,
    /// The certificate at `admin_listen`.
    pub admin: Option<Arc<Presented>>,
}

/// The pair that a listener presents.
pub struct Presented {
    files: Tls,
    pair: ArcSwap<Pair>,
    /// Shows when the certificate expires.
    expiry: Gauge,
}

impl Certificates {
    /// Reads the files of the configuration.
    ///
    /// # Errors
    /// See [`TlsError`].
    pub fn open(config: &Config, metrics: &Metrics) -> Result<Self, TlsError> {
        let open = |files: &Option<Tls>| files.as_ref().map(|files| Presented::open(files, metrics)).transpose();
        Ok(Self { callers: open(&config.tls)?, admin: open(&config.admin_tls)? })
    }

    /// Presents the pairs of changed files. Runs until the task is aborted.
    pub async fn follow(self) {
        let follow = |presented: Option<Arc<Presented>>| async move {
            if let Some(presented) = presented {
                presented.follow().await;
            }
        };
        tokio::join!(follow(self.callers), follow(self.admin));
    }
}

impl Presented {
    fn open(files: &Tls, metrics: &Metrics) -> Result<Arc<Self>, TlsError> {
        let pair = Pair::read(files)?;
        let labels = CertificateLabels { section: files.section };
        let expiry = metrics.certificate_expiry.get_or_create_owned(&labels);
        if pair.has_expired(clock::now()) {
            // A gateway that does not start would help no one, and some clients do not check it.
            tracing::warn!(
                certificate = %files.certificate.display(),
                "the certificate in `{}` has expired, so callers refuse it; renew it",
                files.section
            );
        }
        let presented = Self { files: files.clone(), pair: ArcSwap::from_pointee(pair), expiry };
        presented.show_expiry();
        Ok(Arc::new(presented))
    }

    /// The pair for a new connection.
    pub fn pair(&self) -> Arc<Pair> {
        self.pair.load_full()
    }

    fn show_expiry(&self) {
        let expires_at = self.pair().expires_at().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.expiry.set(i64::try_from(expires_at.as_secs()).unwrap_or(i64::MAX));
    }

    async fn follow(&self) {
        let mut ticks = interval(INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut changes = Changes::new(self.pair().digest());
        loop {
            ticks.tick().await;
            let files = self.files.clone();
            // This fails only while the runtime shuts down.
            let Ok(read) = spawn_blocking(move || Content::read(&files)).await else { return };
            let state = read.as_ref().map(Content::digest).map_err(ToString::to_string);
            if changes.is_new(state) {
                self.replace(read);
            }
        }
    }

    /// Presents the pair in changed files if it is good.
    fn replace(&self, read: Result<Content, TlsError>) {
        let section = self.files.section;
        let checked = read.and_then(|content| content.into_pair(&self.files)).and_then(|pair| {
            let is_expired = pair.has_expired(clock::now());
            if is_expired { Err(TlsError::expired(&self.files, pair.expires_at())) } else { Ok(pair) }
        });
        match checked {
            Ok(pair) => {
                let expires_at = humantime::format_rfc3339_seconds(pair.expires_at()).to_string();
                self.pair.store(Arc::new(pair));
                self.show_expiry();
                tracing::info!(expires_at, "the changed certificate in `{section}` serves");
            }
            Err(error) => {
                tracing::error!(%error, "the changed files in `{section}` are not used; the previous certificate serves");
            }
        }
    }
}

/// The files as one reading found them: the digest of their content, or the message of the error.
type State = Result<[u8; 32], String>;

/// Finds the changes of files that are read again and again.
struct Changes {
    /// The state that was judged last.
    judged: State,
    /// A state that one reading has found.
    seen: Option<State>,
}

impl Changes {
    fn new(judged: [u8; 32]) -> Self {
        Self { judged: Ok(judged), seen: None }
    }

    /// Returns `true` once for each state that two readings in a row have found.
    fn is_new(&mut self, state: State) -> bool {
        if state == self.judged {
            self.seen = None;
            return false;
        }
        if self.seen.as_ref() != Some(&state) {
            self.seen = Some(state);
            return false;
        }
        self.judged = state;
        self.seen = None;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_judged_once_and_only_when_two_readings_agree() {
        let (first, second, third) = (Ok([1; 32]), Ok([2; 32]), Err("it is missing".to_owned()));
        let mut changes = Changes::new([1; 32]);
        let mut judged = |state: &State| changes.is_new(state.clone());
        assert!(!judged(&first));
        assert!(!judged(&second), "half of a change");
        assert!(!judged(&third));
        assert!(judged(&third));
        assert!(!judged(&third), "an error is logged once");
        assert!(!judged(&first));
        assert!(judged(&first), "the previous files are back");
        assert!(!judged(&second));
        assert!(!judged(&first), "a change that was undone");
        assert!(!judged(&second));
        assert!(judged(&second));
    }
}
