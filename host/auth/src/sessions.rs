//! The sessions of agents.
//!
//! Applications make and delete them at any rate, so no gateway has all of them in memory. A
//! session is read when its token is used, and is then kept for a second. So a session that was
//! deleted, or whose key was revoked, is refused at every gateway within this time. While the store
//! does not answer, a session that was read is accepted for `keys.max_age_s`, like a key.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use super::caller::Caller;
use super::error::AuthError;
use super::limits::has_expired;
use store::{KeyHash, Store};

/// Time for which a session that was read is not read again.
const FRESH: Duration = Duration::from_secs(1);

/// Longest time of a read. A request does not wait longer for a store that does not answer.
const READ_WAIT: Duration = Duration::from_secs(1);

/// The most sessions that are kept. Further ones are read at each use.
const MAX_KEPT: usize = 10_000;

/// Reads at the same time. Anyone can send tokens that no session has, and other work needs
/// connections to the database too.
const MAX_READS: usize = 8;

/// Finds the session of a token.
pub(super) struct Sessions {
    store: Store,
    /// The age from which on a session that was read tells nothing.
    max_age: Duration,
    kept: Mutex<HashMap<KeyHash, Kept>>,
    reads: Semaphore,
}

/// A session that was read.
#[derive(Clone)]
struct Kept {
    caller: Arc<Caller>,
    expires_at: SystemTime,
    read_at: Instant,
}

impl Kept {
    fn caller(&self) -> Result<Arc<Caller>, AuthError> {
        if has_expired(Some(self.expires_at)) {
            return Err(AuthError::AgentSessionEnded);
        }
        Ok(Arc::clone(&self.caller))
    }
}

impl Sessions {
    pub(super) fn new(store: Store, max_age: Duration) -> Self {
        Self { store, max_age, kept: Mutex::default(), reads: Semaphore::new(MAX_READS) }
    }

    /// The agent whose token has this hash.
    ///
    /// # Errors
    /// If the session has ended, or the store does not answer.
    pub(super) async fn find(&self, hash: &KeyHash) -> Result<Arc<Caller>, AuthError> {
        let known = self.kept.lock().get(hash).cloned();
        if let Some(known) = known.as_ref().filter(|known| known.read_at.elapsed() < FRESH) {
            return known.caller();
        }
        // The time is taken before the read, so that the session is not kept for longer than it is known.
        let asked = Instant::now();
        let reading = async {
            let _permit = self.reads.acquire().await;
            self.store.agent_sessions().by_hash(hash).await
        };
        match timeout(READ_WAIT, reading).await {
            Ok(Ok(Some(session))) => {
                let caller = Arc::new(Caller::of_session(&session));
                let read = Kept { caller, expires_at: session.expires_at, read_at: asked };
                self.keep(*hash, read.clone());
                read.caller()
            }
            Ok(Ok(None)) => {
                self.kept.lock().remove(hash);
                Err(AuthError::AgentSessionEnded)
            }
            failed => {
                if let Ok(Err(error)) = failed {
                    error.log_failure();
                }
                let known = known.filter(|known| known.read_at.elapsed() < self.max_age);
                known.ok_or(AuthError::Unavailable)?.caller()
            }
        }
    }

    /// Reads every session again at its next use.
    pub(super) fn forget(&self) {
        self.kept.lock().clear();
    }

    fn keep(&self, hash: KeyHash, session: Kept) {
        let mut kept = self.kept.lock();
        if kept.len() >= MAX_KEPT {
            kept.retain(|_, known| known.read_at.elapsed() < FRESH);
        }
        if kept.len() < MAX_KEPT {
            kept.insert(hash, session);
        }
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::key::make_session_token;
    use store::{KeyId, NewAgentSession};

    /// Stores a session like another process would. Returns its id and the hash of its token.
    async fn add(store: &Store) -> (KeyId, KeyHash) {
        let (id, hash, _) = make_session_token().unwrap();
        let new = NewAgentSession {
            id: id.clone(),
            hash,
            tenant: "acme".to_owned(),
            scopes: "operate".to_owned(),
            lifetime: Duration::from_secs(60),
            ..NewAgentSession::default()
        };
        store.agent_sessions().add(new).await.unwrap().unwrap();
        (id, hash)
    }

    #[tokio::test]
    async fn a_session_that_another_process_deletes_is_refused_within_two_seconds() {
        let folder = TempDir::new().unwrap();
        let [store, other] = [Store::open(folder.path()).await.unwrap(), Store::open(folder.path()).await.unwrap()];
        let sessions = Sessions::new(store, Duration::from_secs(60));
        let (id, hash) = add(&other).await;
        let caller = sessions.find(&hash).await.unwrap();
        assert_eq!((caller.key_id.as_ref(), caller.session.is_some()), (Some(&id), true));
        assert!(other.agent_sessions().end("acme", None, &id).await.unwrap());
        // A busy machine may take longer than the time for which a session is kept.
        assert!(FRESH < Duration::from_secs(2), "{FRESH:?}");
        let ended = Instant::now();
        while sessions.find(&hash).await.is_ok() {
            assert!(ended.elapsed() < Duration::from_secs(30), "the session is still accepted");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert!(matches!(sessions.find(&hash).await, Err(AuthError::AgentSessionEnded)));
        assert!(matches!(sessions.find(&[0; 32]).await, Err(AuthError::AgentSessionEnded)));
    }

    #[tokio::test]
    async fn a_change_by_this_process_holds_at_once() {
        let folder = TempDir::new().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let sessions = Sessions::new(store.clone(), Duration::from_secs(60));
        let (id, hash) = add(&store).await;
        sessions.find(&hash).await.unwrap();
        assert!(store.agent_sessions().end("acme", None, &id).await.unwrap());
        sessions.forget();
        assert!(matches!(sessions.find(&hash).await, Err(AuthError::AgentSessionEnded)));
    }

    #[tokio::test]
    async fn without_the_store_a_session_is_accepted_for_as_long_as_a_key() {
        let folder = TempDir::new().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        for (max_age, is_accepted) in [(Duration::from_secs(60), true), (Duration::ZERO, false)] {
            let sessions = Sessions::new(store.clone(), max_age);
            let (_, hash) = add(&store).await;
            sessions.find(&hash).await.unwrap();
            // It is not fresh, and every permit to read is taken, as with a store that does not answer.
            sessions.kept.lock().get_mut(&hash).unwrap().read_at -= FRESH;
            let _reads = sessions.reads.acquire_many(8).await.unwrap();
            let found = sessions.find(&hash).await;
            assert_eq!(found.is_ok(), is_accepted);
            assert!(is_accepted || matches!(found, Err(AuthError::Unavailable)));
        }
    }
}
