//! Values that are computed from all live connectors, and cached until these change.

use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::{Live, Registry};

/// A value that is computed from the live connectors.
pub struct Derived<T>(Mutex<Option<Cached<T>>>);

struct Cached<T> {
    /// For comparison only. It keeps no connector alive.
    live: Weak<Live>,
    value: Arc<T>,
}

impl<T> Default for Derived<T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<T> Derived<T> {
    /// The value for the connectors that are live now. Other callers wait while it is computed.
    pub fn get(&self, registry: &Registry, make: impl FnOnce(&Live) -> T) -> Arc<T> {
        self.get_for(&registry.live(), make)
    }

    fn get_for(&self, live: &Arc<Live>, make: impl FnOnce(&Live) -> T) -> Arc<T> {
        let mut cached = self.0.lock();
        if let Some(cached) = cached.as_ref().filter(|cached| std::ptr::eq(cached.live.as_ptr(), Arc::as_ptr(live))) {
            return Arc::clone(&cached.value);
        }
        let value = Arc::new(make(live));
        *cached = Some(Cached { live: Arc::downgrade(live), value: Arc::clone(&value) });
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_made_once_for_each_change_and_keeps_no_connector_alive() {
        let derived = Derived::default();
        let mut made = 0;
        let mut get = |live: &Arc<Live>| {
            *derived.get_for(live, |_| {
                made += 1;
                made
            })
        };
        let (first, second) = (Arc::new(Live::new()), Arc::new(Live::new()));
        assert_eq!([get(&first), get(&first), get(&second), get(&second), get(&first)], [1, 1, 2, 2, 3]);
        assert_eq!((Arc::strong_count(&first), Arc::strong_count(&second)), (1, 1));
    }
}
