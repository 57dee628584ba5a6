//! The number of requests that a search may still send.

/// The gateway allows 256 requests in an invocation. A search stops earlier and returns the issues
/// that it has found.
const MAX_CALLS: usize = 250;

/// The remaining requests of a search.
pub(crate) struct Calls(usize);

impl Calls {
    pub(crate) const fn new() -> Self {
        Self(MAX_CALLS)
    }

    /// Takes `wanted` requests. Returns `false`, and takes no request, if fewer remain.
    pub(crate) fn take(&mut self, wanted: usize) -> bool {
        let left = self.0.checked_sub(wanted);
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }
}
