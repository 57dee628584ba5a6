//! The readers of a gateway, each of which does one step at a time, and the tenants they work for.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The number of steps in progress of each tenant that has one.
type Running = BTreeMap<String, u32>;

/// All readers of a gateway.
pub(super) struct Readers {
    free: Arc<Semaphore>,
    running: Arc<Mutex<Running>>,
}

/// A reader that works for a tenant until it is dropped.
pub(super) struct Reader {
    tenant: String,
    running: Arc<Mutex<Running>>,
    _permit: OwnedSemaphorePermit,
}

impl Readers {
    pub(super) fn new(number: usize) -> Self {
        Self { free: Arc::new(Semaphore::new(number)), running: Arc::default() }
    }

    /// The number of readers that are free.
    pub(super) fn free(&self) -> u32 {
        u32::try_from(self.free.available_permits()).unwrap_or(u32::MAX)
    }

    /// The number of steps in progress of each tenant that has one.
    pub(super) fn running(&self) -> Running {
        self.running.lock().clone()
    }

    /// Takes a reader for a step of a tenant. `None` if no one is free.
    pub(super) fn take(&self, tenant: &str) -> Option<Reader> {
        let permit = Arc::clone(&self.free).try_acquire_owned().ok()?;
        *self.running.lock().entry(tenant.to_owned()).or_default() += 1;
        Some(Reader { tenant: tenant.to_owned(), running: Arc::clone(&self.running), _permit: permit })
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut running = self.running.lock();
        if let Some(steps) = running.get_mut(&self.tenant) {
            *steps -= 1;
        }
        running.retain(|_, steps| *steps > 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_counts_for_its_tenant_until_it_ends() {
        let readers = Readers::new(3);
        let first = readers.take("acme").unwrap();
        let others = [readers.take("acme").unwrap(), readers.take("globex").unwrap()];
        assert_eq!((readers.free(), readers.take("globex").is_none()), (0, true));
        assert_eq!(readers.running(), Running::from([("acme".to_owned(), 2), ("globex".to_owned(), 1)]));
        drop(first);
        assert_eq!((readers.free(), readers.running().get("acme").copied()), (1, Some(1)));
        drop(others);
        assert_eq!((readers.free(), readers.running()), (3, Running::new()));
    }
}
