//! A guest that runs, and the parts of its module that it uses.

use std::ops::Deref;
use std::sync::Arc;

use super::log_rate::LogRate;
use super::shares::Share;
use super::ticker::Ticker;

/// The parts of a module that its guests use. A guest has a single reference to all of them,
/// because the guests of all cores change the reference count.
pub(super) struct Common {
    pub(super) log_rate: LogRate,
    /// For the connections of responses.
    pub(super) connections: Arc<Share>,
    pub(super) ticker: Arc<Ticker>,
}

/// The reference of a guest to its module. The clock ticks until it is dropped.
pub(super) struct RunningGuest(Arc<Common>);

impl RunningGuest {
    /// Starts the clock.
    pub(super) fn start(common: &Arc<Common>) -> Self {
        common.ticker.guest_begins();
        Self(Arc::clone(common))
    }
}

impl Deref for RunningGuest {
    type Target = Common;

    fn deref(&self) -> &Common {
        &self.0
    }
}

impl Drop for RunningGuest {
    fn drop(&mut self) {
        self.0.ticker.guest_ends();
    }
}
