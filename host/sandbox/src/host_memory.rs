//! The memory of the gateway that is used for a guest: parsed texts, read bodies, and the values
//! found in them.
//!
//! The engine limits the guest's own memory. Without this limit, a guest could fill the gateway's
//! memory instead. Objects with a maximum number, such as handles and requests, are not counted
//! here.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use memory::{Exhausted, MemoryBudget};
use thiserror::Error;

use super::limits::Limits;

/// Number of responses of the maximum size that fit. A body may be held with a copy for the guest,
/// which can have three times the size of the body if it is text with errors.
const MAX_RESPONSES: usize = 4;

/// The gateway would hold too much. This ends the invocation.
#[derive(Debug, Error)]
pub(super) enum TooMuchHeld {
    /// The limit of this guest is reached.
    #[error("the gateway would hold too much memory for the guest")]
    ForGuest,
    /// The memory for all calls together is used up.
    #[error(transparent)]
    ForAll(#[from] Exhausted),
}

/// The memory that the gateway may hold for one invocation.
pub(super) struct HostMemory {
    limit: usize,
    /// Made with the first byte, because most invocations hold none.
    used: Option<Arc<AtomicUsize>>,
    /// The memory that all calls share. `None` if the invocation belongs to no call.
    shared: Option<MemoryBudget>,
}

impl HostMemory {
    /// For an invocation with these limits. There is room for a body that the guest composes, even
    /// if it may be larger than a response.
    pub(super) fn for_limits(limits: &Limits) -> Self {
        let response_bytes = usize::try_from(limits.response_bytes).unwrap_or(usize::MAX);
        let more = limits.output_bytes.saturating_sub(response_bytes);
        Self::for_responses_of(response_bytes).with_room_for(more)
    }

    /// For an invocation whose responses have at most this number of bytes.
    pub(super) fn for_responses_of(response_bytes: usize) -> Self {
        Self { limit: response_bytes.saturating_mul(MAX_RESPONSES), used: None, shared: None }
    }

    fn with_room_for(self, bytes: usize) -> Self {
        Self { limit: self.limit.saturating_add(bytes), ..self }
    }

    /// Also takes all bytes from the budget `shared`.
    #[must_use]
    pub(super) fn within(self, shared: MemoryBudget) -> Self {
        Self { shared: Some(shared), ..self }
    }

    /// The number of further bytes that may be held.
    pub(super) fn left(&self) -> usize {
        self.limit - self.used.as_ref().map_or(0, |used| used.load(Ordering::Relaxed))
    }

    /// Checks that there is room for bytes that are passed to the guest immediately.
    pub(super) fn admit(&self, bytes: usize) -> Result<(), TooMuchHeld> {
        if bytes <= self.left() { Ok(()) } else { Err(TooMuchHeld::ForGuest) }
    }

    /// Counts bytes until the returned value is dropped. Call it before the allocation if possible.
    pub(super) fn hold(&mut self, bytes: usize) -> Result<HeldMemory, TooMuchHeld> {
        let mut held = self.nothing();
        held.part = self.shared.as_ref().map(MemoryBudget::part);
        held.grow(bytes)?;
        Ok(held)
    }

    /// As [`Self::hold`], for bytes that are already taken from the shared budget.
    pub(super) fn hold_shared(&mut self, bytes: usize) -> Result<HeldMemory, TooMuchHeld> {
        let mut held = self.nothing();
        held.grow(bytes)?;
        Ok(held)
    }

    fn nothing(&mut self) -> HeldMemory {
        HeldMemory { used: Arc::clone(self.used.get_or_insert_default()), limit: self.limit, bytes: 0, part: None }
    }
}

/// Bytes that are counted until this is dropped.
pub(super) struct HeldMemory {
    used: Arc<AtomicUsize>,
    limit: usize,
    bytes: usize,
    part: Option<memory::Reservation>,
}

impl HeldMemory {
    /// Counts further bytes.
    pub(super) fn grow(&mut self, bytes: usize) -> Result<(), TooMuchHeld> {
        let more = |used: usize| used.checked_add(bytes).filter(|used| *used <= self.limit);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).map_err(|_| TooMuchHeld::ForGuest)?;
        self.bytes += bytes;
        if let Some(part) = &mut self.part {
            part.grow_to(self.bytes)?;
        }
        Ok(())
    }

    /// Ties the count to a text: it ends when the last part of the text is dropped.
    pub(super) fn tie(self, text: Bytes) -> Bytes {
        Bytes::from_owner(Tied { text, _held: self })
    }
}

impl Drop for HeldMemory {
    fn drop(&mut self) {
        self.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

struct Tied {
    text: Bytes,
    _held: HeldMemory,
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
    fn dropped_bytes_can_be_held_again() {
        let mut memory = HostMemory::for_responses_of(25);
        let mut first = memory.hold(60).unwrap();
        assert!(memory.hold(41).is_err());
        assert!(first.grow(41).is_err());
        assert_eq!(memory.left(), 40, "refused bytes are not counted");
        first.grow(40).unwrap();
        assert!(memory.admit(1).is_err());
        drop(first);
        assert_eq!(memory.left(), 100);
        memory.admit(100).unwrap();
    }

    #[test]
    fn bytes_are_taken_out_of_the_memory_of_all_calls() {
        let shared = MemoryBudget::new(10_000);
        let mut memory = HostMemory::for_responses_of(1 << 20).within(shared.clone());
        let held = memory.hold(8000).unwrap();
        assert!(matches!(memory.hold(8000), Err(TooMuchHeld::ForAll(Exhausted))));
        let _read = memory.hold_shared(8000).unwrap();
        assert_eq!((shared.held(), memory.left()), (8000, (4 << 20) - 16_000));
        drop(held);
        assert_eq!(shared.held(), 0);
    }

    #[test]
    fn a_text_is_held_until_its_last_part_is_dropped() {
        let mut memory = HostMemory::for_responses_of(25);
        let text = memory.hold(10).unwrap().tie(Bytes::from_static(b"0123456789"));
        let part = text.slice(3..5);
        drop(text);
        assert_eq!((memory.left(), &part[..]), (90, &b"34"[..]));
        drop(part);
        assert_eq!(memory.left(), 100);
    }

    #[test]
    fn sizes_near_the_largest_number_do_not_overflow() {
        let mut memory = HostMemory::for_responses_of(usize::MAX);
        let _held = memory.hold(1).unwrap();
        assert!(memory.hold(usize::MAX).is_err());
    }
}
