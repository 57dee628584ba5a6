//! The connections that are kept for later requests.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::sleep;

use super::connection::Connection;

/// Maximum number of idle connections to one origin. It is about the number of connections that a burst of calls leaves.
const IDLE_PER_ORIGIN: usize = 512;

/// The time between two looks for connections that are idle for too long.
const TICK: Duration = Duration::from_secs(10);

/// A connection is closed when it has been idle for so many ticks. The time is shorter than the usual idle timeout of load
/// balancers (60 s). Otherwise they might close a connection just as a request is sent on it.
const IDLE_TICKS: u32 = 5;

/// Connections by origin.
#[derive(Default)]
pub(super) struct Kept(Mutex<Origins>);

#[derive(Default)]
struct Origins {
    by_name: HashMap<Box<str>, Origin>,
    /// Counts the looks. It stands in for the time, which costs more to read.
    ticks: u32,
    /// A task looks for idle connections.
    is_watched: bool,
}

/// The connections to one origin.
#[derive(Default)]
struct Origin {
    /// HTTP/1.1 connections without a request. The one that was used last is at the end, and is taken first.
    idle: Vec<Idle>,
    /// The HTTP/2 connection.
    shared: Option<Idle>,
    /// Told of each connection that becomes free.
    freed: Arc<Notify>,
}

struct Idle {
    connection: Connection,
    /// The tick in which it was used last.
    since: u32,
}

impl Kept {
    /// A connection to an origin. `None` if none is free.
    pub(super) fn take(&self, origin: &str) -> Option<Connection> {
        let mut origins = self.0.lock();
        let ticks = origins.ticks;
        let Origin { idle, shared, .. } = origins.by_name.get_mut(origin)?;
        if let Some(Idle { connection, since }) = shared.as_mut().filter(|shared| !shared.connection.is_closed()) {
            *since = ticks;
            return connection.shared();
        }
        std::iter::from_fn(|| idle.pop()).map(|idle| idle.connection).find(|connection| !connection.is_closed())
    }

    /// Waits for a connection that becomes free.
    pub(super) async fn wait(self: &Arc<Self>, origin: &str) -> Connection {
        let freed = {
            let mut origins = self.0.lock();
            self.watch(&mut origins);
            Arc::clone(&origins.by_name.entry(origin.into()).or_default().freed)
        };
        loop {
            let freed = freed.notified();
            if let Some(connection) = self.take(origin) {
                return connection;
            }
            freed.await;
        }
    }

    /// Keeps a connection as soon as it can take another request. It has just had a response, whose body may still arrive.
    pub(super) fn give_back(self: &Arc<Self>, origin: &str, connection: Connection) {
        // One over HTTP/2 was kept when it was made.
        let Connection::Http1 { mut sender, host, guard } = connection else { return };
        if sender.is_ready() {
            return self.put(origin, Connection::Http1 { sender, host, guard });
        }
        let (kept, origin) = (Arc::clone(self), origin.to_owned());
        tokio::spawn(async move {
            if sender.ready().await.is_ok() {
                kept.put(&origin, Connection::Http1 { sender, host, guard });
            }
        });
    }

    /// Keeps a connection that can take a request.
    pub(super) fn put(self: &Arc<Self>, origin: &str, connection: Connection) {
        let mut origins = self.0.lock();
        let since = origins.ticks;
        let kept = match origins.by_name.get_mut(origin) {
            Some(kept) => kept,
            None => origins.by_name.entry(origin.into()).or_default(),
        };
        let idle = Idle { connection, since };
        if let Connection::Http2 { .. } = &idle.connection {
            // Of two that were made at the same time, the second one ends with its requests.
            if kept.shared.as_ref().is_none_or(|shared| shared.connection.is_closed()) {
                kept.shared = Some(idle);
            }
            kept.freed.notify_waiters();
        } else if kept.idle.len() < IDLE_PER_ORIGIN {
            kept.idle.push(idle);
            kept.freed.notify_one();
        }
        self.watch(&mut origins);
    }

    /// Begins to look for connections that are idle for too long, unless that goes on already.
    fn watch(self: &Arc<Self>, origins: &mut Origins) {
        if !std::mem::replace(&mut origins.is_watched, true) {
            tokio::spawn(look_each_tick(Arc::downgrade(self)));
        }
    }

    /// Closes connections that are idle for too long. Returns `false` if no origin has any left.
    fn look(&self) -> bool {
        let mut origins = self.0.lock();
        origins.ticks = origins.ticks.wrapping_add(1);
        let ticks = origins.ticks;
        let stays = |idle: &Idle| !idle.connection.is_closed() && ticks.wrapping_sub(idle.since) < IDLE_TICKS;
        origins.by_name.retain(|_, Origin { idle, shared, freed }| {
            idle.retain(stays);
            idle.shrink_to_fit();
            *shared = shared.take().filter(stays);
            !idle.is_empty() || shared.is_some() || Arc::strong_count(freed) > 1
        });
        origins.is_watched = !origins.by_name.is_empty();
        origins.is_watched
    }
}

async fn look_each_tick(kept: Weak<Kept>) {
    loop {
        sleep(TICK).await;
        if !kept.upgrade().is_some_and(|kept| kept.look()) {
            return;
        }
    }
}
