//! Turns of loads of the same module. A module that is sent twice at the same time is compiled
//! once: the second load waits, and finds the compiled form in the cache.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;

/// The modules that are compiled now, by digest.
#[derive(Default)]
pub(super) struct Turns(Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>);

/// The right to compile one module. It ends when this is dropped.
pub(super) struct Turn(#[expect(dead_code, reason = "it is held, and not read")] OwnedMutexGuard<()>);

impl Turns {
    /// Waits until no one else compiles the module with this digest.
    pub(super) async fn take(&self, digest: &str) -> Turn {
        let turn = {
            let mut turns = self.0.lock();
            turns.retain(|_, turn| turn.strong_count() > 0);
            match turns.get(digest).and_then(Weak::upgrade) {
                Some(turn) => turn,
                None => {
                    let turn = Arc::default();
                    turns.insert(digest.to_owned(), Arc::downgrade(&turn));
                    turn
                }
            }
        };
        Turn(turn.lock_owned().await)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn the_second_load_of_a_module_waits_for_the_first_and_other_modules_do_not() {
        let turns = Turns::default();
        let first = turns.take("aa").await;
        let mut second = Box::pin(turns.take("aa"));
        assert!(second.as_mut().now_or_never().is_none());
        assert!(turns.take("bb").now_or_never().is_some());
        drop(first);
        drop(second.await);
        assert!(turns.take("cc").now_or_never().is_some());
        assert_eq!(turns.0.lock().len(), 1, "modules that are no longer compiled are forgotten");
    }
}
