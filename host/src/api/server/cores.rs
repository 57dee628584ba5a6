//! The threads that serve callers: one for each core of the machine.
//!
//! Each has a runtime and a pool of connections to upstreams of its own. A call stays on one of them from its first byte to its
//! last, so that no other thread is woken for it, and its data stays in one core's cache. A runtime has one worker, and can still
//! give its tasks to another thread while it computes for long: see the crate `compute`.
//!
//! Two cores that write to one cache line wait for each other at each call. So a call writes to parts of its core where it can:
//! connections, counts of references, and shards of metrics. Only limits that hold for all cores are counted in common.

use std::io;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::Either;
use hyper::body::Incoming;
use hyper::{Request, Response, Version};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::{AbortHandle, JoinError};
use tokio_util::task::AbortOnDropHandle;

use super::super::body::RequestBody;
use super::super::route::Door;
use super::super::router;
use crate::gateway::Gateway;
use crate::pipeline::body::Body;

/// The cores that serve callers.
pub struct Cores {
    homes: Vec<Home>,
    runtimes: Vec<Runtime>,
}

/// An idle thread ends after this time. Large values make a core start many threads beside the one that serves, and each of them
/// keeps some memory.
const IDLE_THREAD: Duration = Duration::from_secs(1);

/// The time between two ticks of [`beat`]. Few deadlines are earlier.
const BEAT: Duration = Duration::from_secs(1);

/// The part of a core that its tasks share. Each call changes it, so it shares no pair of cache lines with another core's.
#[repr(align(128))]
struct Core {
    runtime: Handle,
    gateway: Arc<Gateway>,
    /// The number of open connections of callers.
    connections: Arc<AtomicUsize>,
    /// The number of requests that are being answered.
    requests: AtomicUsize,
}

impl Cores {
    /// Starts a thread for each core.
    ///
    /// # Errors
    /// If the operating system gives no thread.
    pub async fn start(gateway: &Gateway) -> io::Result<Self> {
        let count = available_parallelism().map_or(1, usize::from);
        let runtimes = (0..count).map(|number| {
            let name = format!("core-{number}");
            let mut builder = Builder::new_multi_thread();
            builder.worker_threads(1).thread_keep_alive(IDLE_THREAD).thread_name(name).enable_all().build()
        });
        let runtimes = runtimes.collect::<io::Result<Vec<Runtime>>>()?;
        let mut cores = Vec::with_capacity(count);
        for (number, runtime) in runtimes.iter().enumerate() {
            runtime.spawn(beat());
            let gateway = gateway.clone();
            // In the thread of the core: the small parts that one thread makes lie side by side, in the same cache lines.
            let made = runtime.spawn(async move { Arc::new(gateway.for_core(number)) });
            cores.push(Core {
                runtime: runtime.handle().clone(),
                gateway: made.await.map_err(io::Error::other)?,
                connections: Arc::default(),
                requests: AtomicUsize::new(0),
            });
        }
        let cores: Arc<[Core]> = cores.into();
        let home = |home| Home(Arc::new(Place { cores: Arc::clone(&cores), home }));
        Ok(Self { homes: (0..count).map(home).collect(), runtimes })
    }

    /// The number of cores.
    pub(super) fn count(&self) -> usize {
        self.homes.len()
    }

    /// Runs a task that serves a connection, on the core that has the fewest. The task is given that core.
    pub(super) fn spawn<T>(&self, task: impl FnOnce(Home) -> T) -> AbortHandle
    where
        T: Future<Output = ()> + Send + 'static,
    {
        let loads = self.homes.iter().map(|home| home.core().connections.load(Ordering::Relaxed));
        let number = loads.enumerate().min_by_key(|(_, load)| *load).map_or(0, |(number, _)| number);
        let home = &self.homes[number];
        let core = home.core();
        let counted = Counted::new(Arc::clone(&core.connections));
        let task = task(home.clone());
        // An async block would hold the task twice: as it was given, and as it runs.
        core.runtime.spawn(task.map(move |()| drop(counted))).abort_handle()
    }
}

/// Keeps a timer in a runtime that is earlier than those of calls. Without one, tokio wakes the runtime's thread with a system call for
/// each deadline that it adds.
async fn beat() {
    let mut ticks = tokio::time::interval(BEAT);
    loop {
        ticks.tick().await;
    }
}

impl Drop for Cores {
    fn drop(&mut self) {
        // Without this, the task that drops the runtimes would wait for their threads.
        for runtime in self.runtimes.drain(..) {
            runtime.shutdown_background();
        }
    }
}

/// The core that serves a connection. Each request has a clone, and each core counts its own.
#[derive(Clone)]
pub(super) struct Home(Arc<Place>);

#[repr(align(128))]
struct Place {
    cores: Arc<[Core]>,
    home: usize,
}

impl Home {
    /// The number of the core, from 0.
    pub(super) fn number(&self) -> usize {
        self.0.home
    }

    fn core(&self) -> &Core {
        &self.0.cores[self.0.home]
    }

    /// Answers a request, as [`router::answer`]. All streams of an HTTP/2 connection arrive on one core, so each goes to the core
    /// that answers the fewest requests.
    ///
    /// # Errors
    /// If the request panics on another core, or the gateway stops.
    pub(super) fn answer(
        self,
        door: Door,
        request: Request<Incoming>,
    ) -> impl Future<Output = Result<(Response<Body>, RequestBody), JoinError>> {
        let number = if request.version() == Version::HTTP_2 { self.0.least_busy() } else { self.0.home };
        if number == self.0.home {
            return Either::Left(self.answer_on(number, door, request).map(Ok));
        }
        let runtime = self.0.cores[number].runtime.clone();
        Either::Right(AbortOnDropHandle::new(runtime.spawn(self.answer_on(number, door, request))))
    }

    async fn answer_on(self, number: usize, door: Door, request: Request<Incoming>) -> (Response<Body>, RequestBody) {
        let core = &self.0.cores[number];
        let _counted = Counted::new(&core.requests);
        router::answer(&core.gateway, door, request).await
    }
}

impl Place {
    fn least_busy(&self) -> usize {
        let load = |number: usize| (self.cores[number].requests.load(Ordering::Relaxed), number != self.home);
        (0..self.cores.len()).min_by_key(|number| load(*number)).unwrap_or(self.home)
    }
}

/// Counts something while it lasts.
struct Counted<C: Deref<Target = AtomicUsize>>(C);

impl<C: Deref<Target = AtomicUsize>> Counted<C> {
    fn new(count: C) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl<C: Deref<Target = AtomicUsize>> Drop for Counted<C> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
