//! The open connections of callers. Their number is limited, and a connection without progress is
//! closed.
//!
//! A caller has `caller_timeout_s` for the first request of a connection, and the same time between
//! two reads of an answer. One task checks all connections each second, so this needs no
//! cooperation of the caller.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use hyper::Response;
use parking_lot::Mutex;
use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::answer_body::{AnswerBody, AnswerProgress};
use body::HeldBody;
use endpoint::answer::{AnswerDeadline, EndlessStream};
use gateway::Hooks;

/// The interval of the checks.
const INTERVAL: Duration = Duration::from_secs(1);

/// This is added to the number of requests of a connection that is closed because it has none, so
/// that no further request begins.
const CLOSED: usize = usize::MAX / 2;

/// Connections beyond the limit, while all others have requests. They are for operators.
const RESERVE: usize = 8;

/// The open connections.
pub(super) struct Connections {
    limit: usize,
    clock: Clock,
    /// Seconds that a caller may take.
    caller_timeout: u64,
    open: Mutex<HashMap<u64, Arc<State>>>,
    next_id: AtomicU64,
    /// Is notified when a connection has ended.
    ended: Notify,
    gauge: Gauge,
}

/// Whole seconds since the start, as of the last check. Reading them costs less than reading the
/// time.
#[derive(Clone)]
struct Clock {
    started: Instant,
    seconds: Arc<AtomicU64>,
}

impl Clock {
    fn start() -> Self {
        Self { started: Instant::now(), seconds: Arc::default() }
    }

    fn advance(&self) -> u64 {
        let seconds = self.started.elapsed().as_secs();
        self.seconds.store(seconds, Ordering::Relaxed);
        seconds
    }

    fn seconds(&self) -> u64 {
        self.seconds.load(Ordering::Relaxed)
    }
}

/// The places that a connection takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ConnectionKind {
    /// Those of callers, or of operators at their own address.
    Ordinary,
    /// Those beyond the limit.
    Reserve,
    /// Those of services at their own address.
    Services,
}

/// The part of a connection that the task of the connection and [`Connections`] share.
struct State {
    clock: Clock,
    /// Requests whose answer was not sent yet.
    requests: AtomicUsize,
    /// Those of them that are streams without an end.
    streams: AtomicUsize,
    kind: ConnectionKind,
    /// The second in which the connection was opened, or in which its last answer was sent.
    idle_since: AtomicU64,
    has_begun: AtomicBool,
    /// The answers in progress.
    answers: Mutex<Vec<Weak<AnswerProgress>>>,
    /// Ends the task of the connection. Unset until the task was spawned.
    task: OnceLock<AbortHandle>,
}

impl Connections {
    /// At most `limit` connections, which wait at most `caller_timeout` for their callers.
    pub(super) fn new(limit: usize, caller_timeout: Duration, gauge: Gauge) -> Self {
        Self {
            limit,
            clock: Clock::start(),
            caller_timeout: caller_timeout.as_secs(),
            open: Mutex::default(),
            next_id: AtomicU64::new(0),
            ended: Notify::new(),
            gauge,
        }
    }

    /// Adds a connection. At the limit, it closes a connection without a request: preferably one
    /// that never had a request, and the one that is idle for longest. If there is none, it closes
    /// one whose requests are all streams without an end. If each connection has another request in
    /// progress, the new one is of the reserve. If the reserve is used up too, this waits.
    pub(super) async fn open(self: &Arc<Self>) -> Connection {
        loop {
            let ended = self.ended.notified();
            if let Some(connection) = self.try_open_within_limit() {
                return connection;
            }
            // A connection that becomes idle sends no notification, so this tries again after a
            // while.
            let _ = tokio::time::timeout(INTERVAL, ended).await;
        }
    }

    /// Adds a connection, also beyond the limit.
    pub(super) fn open_beyond_limit(self: &Arc<Self>) -> Connection {
        let mut open = self.open.lock();
        self.add(&mut open, ConnectionKind::Ordinary)
    }

    /// Adds a connection at the address of services. Without a place, it closes the one of them that
    /// is idle for longest. `None` if each has a request in progress.
    pub(super) fn open_for_services(self: &Arc<Self>) -> Option<Connection> {
        let mut open = self.open.lock();
        let of_services = || open.iter().filter(|(_, state)| state.kind == ConnectionKind::Services);
        if open.len() >= self.limit || of_services().count() >= Hooks::places(self.limit) {
            let idle = of_services().filter(|(_, state)| state.is_idle());
            let (&id, state) = idle.min_by_key(|(id, state)| (state.idle_since.load(Ordering::Relaxed), **id))?;
            if !state.close_idle() {
                return None;
            }
            open.remove(&id);
        }
        Some(self.add(&mut open, ConnectionKind::Services))
    }

    fn try_open_within_limit(self: &Arc<Self>) -> Option<Connection> {
        let mut open = self.open.lock();
        if open.len() >= self.limit {
            let idle = open.iter().filter(|(_, state)| state.is_idle());
            let age =
                |state: &State| (state.has_begun.load(Ordering::Relaxed), state.idle_since.load(Ordering::Relaxed));
            let oldest = idle.min_by_key(|(id, state)| (age(state), **id));
            let closed = match oldest {
                Some((&id, state)) if state.close_idle() => Some(id),
                // A request has begun on it just now.
                Some(_) => return None,
                None => {
                    let streams = open.iter().filter(|(_, state)| state.has_streams_alone());
                    streams.min_by_key(|(id, _)| **id).map(|(&id, state)| {
                        state.close();
                        id
                    })
                }
            };
            match closed {
                Some(id) => open.remove(&id),
                None if open.len() < self.limit + RESERVE => {
                    return Some(self.add(&mut open, ConnectionKind::Reserve));
                }
                None => return None,
            };
        }
        // A connection of the reserve may have been the one that was closed.
        let kind = if open.len() >= self.limit { ConnectionKind::Reserve } else { ConnectionKind::Ordinary };
        Some(self.add(&mut open, kind))
    }

    fn add(self: &Arc<Self>, open: &mut HashMap<u64, Arc<State>>, kind: ConnectionKind) -> Connection {
        let state = Arc::new(State {
            clock: self.clock.clone(),
            requests: AtomicUsize::new(0),
            streams: AtomicUsize::new(0),
            kind,
            idle_since: AtomicU64::new(self.clock.advance()),
            has_begun: AtomicBool::new(false),
            answers: Mutex::default(),
            task: OnceLock::new(),
        });
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        open.insert(id, Arc::clone(&state));
        self.gauge.set(open.len() as i64);
        Connection { id, state, connections: Arc::clone(self) }
    }

    fn remove(&self, id: u64) {
        let mut open = self.open.lock();
        open.remove(&id);
        self.gauge.set(open.len() as i64);
        drop(open);
        self.ended.notify_one();
    }

    /// Checks the connections each second, until the task is aborted.
    pub(super) async fn sweep(self: Arc<Self>) {
        let mut ticks = tokio::time::interval(INTERVAL);
        loop {
            ticks.tick().await;
            self.close_stuck();
        }
    }

    /// Closes connections without progress, and gives up answers that their callers do not read.
    fn close_stuck(&self) {
        let now = self.clock.advance();
        let late = |since: u64| now.saturating_sub(since) > self.caller_timeout;
        let open: Vec<Arc<State>> = self.open.lock().values().map(Arc::clone).collect();
        for state in open {
            if !state.has_begun.load(Ordering::Relaxed) && late(state.idle_since.load(Ordering::Relaxed)) {
                state.close_idle();
            } else if state.give_up(|answer| late(answer.waiting_since()) || answer.is_overdue()) {
                state.close();
            }
        }
    }
}

impl State {
    /// Closes the connection.
    fn close(&self) {
        if let Some(task) = self.task.get() {
            tracing::debug!("a connection without progress is closed");
            task.abort();
        }
    }

    /// Closes the connection, unless a request has begun. Returns `true` if it is closed.
    fn close_idle(&self) -> bool {
        let is_idle = self.requests.compare_exchange(0, CLOSED, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if is_idle {
            self.close();
        }
        is_idle
    }

    fn is_idle(&self) -> bool {
        self.requests.load(Ordering::Relaxed) == 0
    }

    /// Returns `true` if there are requests, and each is a stream without an end.
    fn has_streams_alone(&self) -> bool {
        let streams = self.streams.load(Ordering::Relaxed);
        streams > 0 && streams == self.requests.load(Ordering::Relaxed)
    }

    /// Gives up the answers that are stuck. Returns `true` if the connection has requests, and the
    /// answer to each was given up by an earlier check: then its caller reads nothing.
    fn give_up(&self, is_stuck: impl Fn(&AnswerProgress) -> bool) -> bool {
        let answers: Vec<Arc<AnswerProgress>> = self.answers.lock().iter().filter_map(Weak::upgrade).collect();
        let requests = self.requests.load(Ordering::Relaxed);
        let already = answers.iter().filter(|answer| answer.is_given_up()).count();
        for answer in answers.iter().filter(|answer| is_stuck(answer)) {
            answer.give_up();
        }
        requests > 0 && already >= requests
    }
}

/// A connection in the list. Leaves the list when it is dropped.
pub(super) struct Connection {
    id: u64,
    state: Arc<State>,
    connections: Arc<Connections>,
}

impl Connection {
    /// The head of a request has arrived. `None` if the connection is being closed.
    pub(super) fn begin_request(&self) -> Option<ActiveRequest> {
        self.state.has_begun.store(true, Ordering::Relaxed);
        ActiveRequest::begin(&self.state)
    }

    /// Returns `true` if the connection is beyond the limit, and for operators.
    pub(super) fn is_of_reserve(&self) -> bool {
        self.state.kind == ConnectionKind::Reserve
    }

    /// Knows if the connection has requests.
    pub(super) fn activity(&self) -> Activity {
        Activity(Arc::clone(&self.state))
    }

    /// The way to close the connection once it is served by a task.
    pub(super) fn closer(&self) -> Closer {
        Closer(Arc::clone(&self.state))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.connections.remove(self.id);
    }
}

/// Knows if a connection has requests.
pub(super) struct Activity(Arc<State>);

impl Activity {
    /// Returns `true` if a request has begun whose answer was not sent completely.
    pub(super) fn has_requests(&self) -> bool {
        !self.0.is_idle()
    }
}

/// Gives [`Connections`] the task of a connection, once it is spawned.
pub(super) struct Closer(Arc<State>);

impl Closer {
    /// Sets the task that serves the connection. Aborting it closes the connection.
    pub(super) fn set_task(self, task: AbortHandle) {
        // It is set once, because a connection has one task.
        let _ = self.0.task.set(task);
    }
}

/// A request whose answer was not sent completely. The connection is idle again when the last one
/// is dropped.
pub(super) struct ActiveRequest {
    state: Arc<State>,
    answer: Option<Arc<AnswerProgress>>,
    is_stream: bool,
}

impl ActiveRequest {
    fn begin(state: &Arc<State>) -> Option<Self> {
        let others = state.requests.fetch_add(1, Ordering::Relaxed);
        let request = Self { state: Arc::clone(state), answer: None, is_stream: false };
        (others < CLOSED).then_some(request)
    }

    /// Waits for a future, and counts the connection as idle meanwhile. `None` if the connection is
    /// being closed.
    pub(super) async fn idle_during<T>(self, waiting: impl Future<Output = T>) -> Option<(Self, T)> {
        let state = Arc::clone(&self.state);
        drop(self);
        let outcome = waiting.await;
        Self::begin(&state).map(|request| (request, outcome))
    }

    /// Closes the connection of the request.
    pub(super) fn close_connection(&self) {
        self.state.close();
    }

    /// Lets [`Connections`] watch the body of the answer, and give it up if the caller does not
    /// read it.
    pub(super) fn deliver(mut self, response: Response<HeldBody>) -> Response<AnswerBody> {
        let (parts, body) = response.into_parts();
        self.is_stream = parts.extensions.get::<EndlessStream>().is_some();
        if self.is_stream {
            self.state.streams.fetch_add(1, Ordering::Relaxed);
        }
        let deadline = parts.extensions.get::<AnswerDeadline>().map(|deadline| deadline.0);
        let answer = Arc::new(AnswerProgress::new(body, deadline, self.seconds()));
        self.state.answers.lock().push(Arc::downgrade(&answer));
        self.answer = Some(Arc::clone(&answer));
        Response::from_parts(parts, AnswerBody::new(answer, self))
    }

    /// Whole seconds since the start, as of the last check of all connections.
    pub(super) fn seconds(&self) -> u64 {
        self.state.clock.seconds()
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        if let Some(answer) = &self.answer {
            self.state.answers.lock().retain(|other| !std::ptr::eq(other.as_ptr(), Arc::as_ptr(answer)));
        }
        if self.is_stream {
            self.state.streams.fetch_sub(1, Ordering::Relaxed);
        }
        self.state.idle_since.store(self.seconds(), Ordering::Relaxed);
        self.state.requests.fetch_sub(1, Ordering::Relaxed);
    }
}
