//! The open streams of `subscriptions/listen`. Their number is limited.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

/// The open streams of this gateway, by tenant.
#[derive(Debug)]
pub struct Streams {
    limit: usize,
    open: Mutex<HashMap<String, usize>>,
    turns: tokio::sync::Mutex<()>,
}

/// One open stream. It makes room when it is dropped.
#[derive(Debug)]
pub struct OpenStream {
    streams: Arc<Streams>,
    tenant: String,
}

impl Streams {
    /// At most `limit` streams. A tenant gets at most half of them, so that others get some.
    pub fn new(limit: usize) -> Self {
        Self { limit, open: Mutex::default(), turns: tokio::sync::Mutex::default() }
    }

    /// Waits for the turn of a stream to do what one stream at a time does.
    pub async fn turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.turns.lock().await
    }

    /// Opens a stream of a tenant. `None` at a limit.
    pub fn open(self: &Arc<Self>, tenant: &str) -> Option<OpenStream> {
        let mut open = self.open.lock();
        let all: usize = open.values().sum();
        let own = open.get(tenant).copied().unwrap_or_default();
        if all >= self.limit || own >= self.limit.div_ceil(2) {
            return None;
        }
        open.insert(tenant.to_owned(), own + 1);
        Some(OpenStream { streams: Arc::clone(self), tenant: tenant.to_owned() })
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let mut open = self.streams.open.lock();
        if let Some(own) = open.get_mut(&self.tenant) {
            *own -= 1;
            if *own == 0 {
                open.remove(&self.tenant);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_gets_half_of_the_streams() {
        let streams = Arc::new(Streams::new(3));
        let (first, _second) = (streams.open("a").unwrap(), streams.open("a").unwrap());
        assert!(streams.open("a").is_none());
        let _other = streams.open("b").unwrap();
        assert!(streams.open("b").is_none(), "all are open");
        drop(first);
        assert!(streams.open("b").is_some());
        assert!(Arc::new(Streams::new(0)).open("a").is_none());
    }
}
