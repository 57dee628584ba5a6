//! The idle connections, which later requests use.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::sleep;

use super::connection::Connection;
use super::places::Places;

/// Maximum number of idle connections of one core to one origin. When thousands of calls run at the
/// same time, their responses come in bursts, and most of their connections are idle for a moment.
/// A connection that is closed then costs the next call as much as the call itself.
const MAX_IDLE_PER_ORIGIN: usize = 8192;

/// The time between two sweeps for connections that are idle for too long.
const SWEEP_INTERVAL: Duration = Duration::from_secs(10);

/// A connection is closed when it has been idle for this number of sweeps. The time is shorter than
/// the usual idle timeout of load balancers (60 s). Otherwise they might close a connection just as
/// a request is sent on it.
const MAX_IDLE_SWEEPS: u32 = 5;

/// Idle connections by origin. They are closed if they are idle for too long.
#[derive(Default)]
pub(super) struct IdlePool(Mutex<State>);

#[derive(Default)]
struct State {
    by_name: HashMap<Box<str>, OriginConnections>,
    /// Number of sweeps. Used as a coarse clock, because reading the time costs more.
    sweeps: u32,
    /// `true` while a task sweeps.
    is_swept: bool,
}

/// The connections to one origin.
#[derive(Default)]
struct OriginConnections {
    /// HTTP/1.1 connections without a request. The one that was used last is at the end, and is
    /// taken first.
    idle: Vec<Idle>,
    /// The HTTP/2 connection.
    shared: Option<Idle>,
    /// Notified of each connection that becomes free.
    freed: Arc<Notify>,
    /// The places of its requests.
    places: Arc<Places>,
}

struct Idle {
    connection: Connection,
    /// The sweep before its last use.
    since: u32,
}

impl IdlePool {
    /// The places of requests to an origin.
    pub(super) fn places(&self, origin: &str) -> Arc<Places> {
        let mut origins = self.0.lock();
        match origins.by_name.get(origin) {
            Some(connections) => Arc::clone(&connections.places),
            None => Arc::clone(&origins.by_name.entry(origin.into()).or_default().places),
        }
    }

    /// A connection to an origin. `None` if no connection is free.
    pub(super) fn take_idle(&self, origin: &str) -> Option<Connection> {
        let mut origins = self.0.lock();
        let sweeps = origins.sweeps;
        let OriginConnections { idle, shared, .. } = origins.by_name.get_mut(origin)?;
        if let Some(Idle { connection, since }) = shared.as_mut().filter(|shared| !shared.connection.is_closed()) {
            *since = sweeps;
            return connection.shared();
        }
        std::iter::from_fn(|| idle.pop()).map(|idle| idle.connection).find(|connection| !connection.is_closed())
    }

    /// Waits for a connection that becomes free.
    pub(super) async fn wait(self: &Arc<Self>, origin: &str) -> Connection {
        let freed = {
            let mut origins = self.0.lock();
            self.ensure_sweeping(&mut origins);
            Arc::clone(&origins.by_name.entry(origin.into()).or_default().freed)
        };
        loop {
            let freed = freed.notified();
            if let Some(connection) = self.take_idle(origin) {
                return connection;
            }
            freed.await;
        }
    }

    /// Keeps a connection as soon as it can take another request. Its last response has begun, and
    /// the body may still arrive.
    pub(super) fn give_back(self: &Arc<Self>, origin: &str, connection: Connection) {
        // An HTTP/2 connection was added when it was made.
        let Connection::Http1 { mut sender, host, guard } = connection else { return };
        if sender.is_ready() {
            return self.add_idle(origin, Connection::Http1 { sender, host, guard });
        }
        let (pool, origin) = (Arc::clone(self), origin.to_owned());
        tokio::spawn(async move {
            if sender.ready().await.is_ok() {
                pool.add_idle(&origin, Connection::Http1 { sender, host, guard });
            }
        });
    }

    /// Keeps a connection that can take a request.
    pub(super) fn add_idle(self: &Arc<Self>, origin: &str, connection: Connection) {
        let mut origins = self.0.lock();
        let since = origins.sweeps;
        let connections = match origins.by_name.get_mut(origin) {
            Some(connections) => connections,
            None => origins.by_name.entry(origin.into()).or_default(),
        };
        let idle = Idle { connection, since };
        if let Connection::Http2 { .. } = &idle.connection {
            // If two were made at the same time, the second one closes after its requests.
            if connections.shared.as_ref().is_none_or(|shared| shared.connection.is_closed()) {
                connections.shared = Some(idle);
            }
            connections.freed.notify_waiters();
        } else if connections.idle.len() < MAX_IDLE_PER_ORIGIN {
            connections.idle.push(idle);
            connections.freed.notify_one();
        }
        self.ensure_sweeping(&mut origins);
    }

    /// Starts the task that sweeps, unless it already runs.
    fn ensure_sweeping(self: &Arc<Self>, origins: &mut State) {
        if !std::mem::replace(&mut origins.is_swept, true) {
            tokio::spawn(sweep_regularly(Arc::downgrade(self)));
        }
    }

    /// Closes connections that are idle for too long. Returns `false` if no connection remains.
    fn sweep(&self) -> bool {
        let mut origins = self.0.lock();
        origins.sweeps = origins.sweeps.wrapping_add(1);
        let sweeps = origins.sweeps;
        let stays = |idle: &Idle| !idle.connection.is_closed() && sweeps.wrapping_sub(idle.since) < MAX_IDLE_SWEEPS;
        origins.by_name.retain(|_, OriginConnections { idle, shared, freed, places }| {
            idle.retain(stays);
            idle.shrink_to_fit();
            *shared = shared.take().filter(stays);
            !idle.is_empty() || shared.is_some() || Arc::strong_count(freed) > 1 || Arc::strong_count(places) > 1
        });
        origins.is_swept = !origins.by_name.is_empty();
        origins.is_swept
    }
}

async fn sweep_regularly(pool: Weak<IdlePool>) {
    loop {
        sleep(SWEEP_INTERVAL).await;
        if !pool.upgrade().is_some_and(|pool| pool.sweep()) {
            return;
        }
    }
}
