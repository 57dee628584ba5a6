//! The gateway's own memory that a guest makes it hold: texts it had parsed, bodies it had read, what was found in them.
//!
//! The engine bounds a guest's memories; without this, a guest could put into the gateway's what it may not put into its own.
//! What is bounded by number, as handles and requests are, is not counted here.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use thiserror::Error;

/// Answers of the largest size that may be held at once: a body, a copy of it on its way into the guest that may have three
/// times its size (where it is text with errors), or else what was found in it.
const LARGEST_ANSWERS: usize = 4;

/// The guest made the gateway hold too much. Ends the invocation.
#[derive(Debug, Error)]
#[error("the gateway would hold too much memory for the guest")]
pub(super) struct TooMuchHeld;

/// What the gateway may hold for one invocation.
pub(super) struct HostMemory {
    limit: usize,
    /// Made with the first byte that is held: a thin operation holds none.
    used: Option<Arc<AtomicUsize>>,
}

impl HostMemory {
    /// For an invocation whose answers have at most so many bytes.
    pub(super) fn of(answer_bytes: usize) -> Self {
        Self { limit: answer_bytes.saturating_mul(LARGEST_ANSWERS), used: None }
    }

    /// Bytes that may still be held.
    pub(super) fn left(&self) -> usize {
        self.limit - self.used.as_ref().map_or(0, |used| used.load(Ordering::Relaxed))
    }

    /// Makes sure that there is room for what is made and handed over at once.
    pub(super) fn admit(&self, bytes: usize) -> Result<(), TooMuchHeld> {
        if bytes <= self.left() { Ok(()) } else { Err(TooMuchHeld) }
    }

    /// Counts bytes from now on. To be called before they are allocated, where that can be.
    pub(super) fn hold(&mut self, bytes: usize) -> Result<Held, TooMuchHeld> {
        let used = Arc::clone(self.used.get_or_insert_default());
        let mut held = Held { used, limit: self.limit, bytes: 0 };
        held.grow(bytes)?;
        Ok(held)
    }
}

/// Bytes that are counted for as long as this lives.
pub(super) struct Held {
    used: Arc<AtomicUsize>,
    limit: usize,
    bytes: usize,
}

impl Held {
    /// Counts more of them.
    pub(super) fn grow(&mut self, bytes: usize) -> Result<(), TooMuchHeld> {
        let more = |used: usize| used.checked_add(bytes).filter(|used| *used <= self.limit);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).map_err(|_| TooMuchHeld)?;
        self.bytes += bytes;
        Ok(())
    }

    /// Ties these to a text: they are given back with the last part of it, whoever has that then.
    pub(super) fn tie(self, text: Bytes) -> Bytes {
        Bytes::from_owner(Tied { text, _held: self })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

struct Tied {
    text: Bytes,
    _held: Held,
}

impl AsRef<[u8]> for Tied {
    fn as_ref(&self) -> &[u8] {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_can_be_held_again() {
        let mut memory = HostMemory::of(25);
        let mut first = memory.hold(60).unwrap();
        assert!(memory.hold(41).is_err());
        assert!(first.grow(41).is_err());
        assert_eq!(memory.left(), 40, "what was refused is not counted");
        first.grow(40).unwrap();
        assert!(memory.admit(1).is_err());
        drop(first);
        assert_eq!(memory.left(), 100);
        memory.admit(100).unwrap();
    }

    #[test]
    fn a_text_is_held_until_its_last_part_is_dropped() {
        let mut memory = HostMemory::of(25);
        let text = memory.hold(10).unwrap().tie(Bytes::from_static(b"0123456789"));
        let part = text.slice(3..5);
        drop(text);
        assert_eq!((memory.left(), &part[..]), (90, &b"34"[..]));
        drop(part);
        assert_eq!(memory.left(), 100);
    }

    #[test]
    fn sizes_near_the_largest_number_do_not_overflow() {
        let mut memory = HostMemory::of(usize::MAX);
        let _held = memory.hold(1).unwrap();
        assert!(memory.hold(usize::MAX).is_err());
    }
}
