//! The threads that serve callers: one for each core of the machine.
//!
//! Each core has its own runtime and its own pool of connections to upstreams. A call stays on one
//! core from its first byte to its last, so that no other thread is woken for it, and its data
//! stays in one core's cache. A runtime has one worker thread. During a long computation it can
//! give its tasks to another thread: see the crate `compute`.
//!
//! Two cores that write to one cache line wait for each other on every call. Each core therefore
//! has its own connections, counts of references and shards of metrics. Only limits that hold for
//! all cores are counted in one place.

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

use super::super::router;
use body::HeldBody;
use endpoint::body::RequestBody;
use endpoint::route::Peer;
use gateway::Gateway;

/// The cores that serve callers.
pub struct Cores {
    handles: Vec<Arc<CoreHandle>>,
    runtimes: Vec<Runtime>,
}

/// An idle thread ends after this time. With a larger value, a core keeps more threads in addition
/// to the one that serves, and each of them uses memory.
const IDLE_THREAD: Duration = Duration::from_secs(1);

/// The interval of [`keep_timer_armed`]. Few deadlines are earlier.
const TIMER_INTERVAL: Duration = Duration::from_secs(1);

/// A runtime's first queue holds 256 tasks. Further ones go to a second queue, from which each
/// second task is then taken, so that tasks run about in the order of their arrival. By default it
/// is one of 61. Of 2,000 busy connections, many then wait for a second while others are served.
const SECOND_QUEUE_INTERVAL: u32 = 2;

/// A request of an HTTP/2 connection goes to another core if its own answers this many requests
/// more than twice as many as the other. Below that, the way to another core costs more than it
/// saves.
const IMBALANCE: usize = 8;

/// The part of a core that its tasks share. Each call changes it, so it shares no pair of cache
/// lines with another core's.
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
            builder.worker_threads(1).global_queue_interval(SECOND_QUEUE_INTERVAL);
            builder.thread_keep_alive(IDLE_THREAD).thread_name(name).enable_all().build()
        });
        let runtimes = runtimes.collect::<io::Result<Vec<Runtime>>>()?;
        let mut cores = Vec::with_capacity(count);
        for (number, runtime) in runtimes.iter().enumerate() {
            runtime.spawn(keep_timer_armed());
            let gateway = gateway.clone();
            // In the thread of the core: small allocations of one thread share cache lines.
            let made = runtime.spawn(async move { Arc::new(gateway.for_core(number)) });
            cores.push(Core {
                runtime: runtime.handle().clone(),
                gateway: made.await.map_err(io::Error::other)?,
                connections: Arc::default(),
                requests: AtomicUsize::new(0),
            });
        }
        let cores: Arc<[Core]> = cores.into();
        let handle = |number| Arc::new(CoreHandle { cores: Arc::clone(&cores), number });
        Ok(Self { handles: (0..count).map(handle).collect(), runtimes })
    }

    /// The number of cores.
    pub(super) fn count(&self) -> usize {
        self.handles.len()
    }

    /// Runs a task that serves a connection, on the core that has the fewest. The task is given
    /// that core.
    pub(super) fn spawn<T>(&self, task: impl FnOnce(Arc<CoreHandle>) -> T) -> AbortHandle
    where
        T: Future<Output = ()> + Send + 'static,
    {
        let loads = self.handles.iter().map(|handle| handle.core().connections.load(Ordering::Relaxed));
        let number = loads.enumerate().min_by_key(|(_, load)| *load).map_or(0, |(number, _)| number);
        let handle = &self.handles[number];
        let core = handle.core();
        let counted = Counted::new(Arc::clone(&core.connections));
        let task = task(Arc::clone(handle));
        // An async block would hold the task twice: as it was given, and as it runs.
        core.runtime.spawn(task.map(move |()| drop(counted))).abort_handle()
    }
}

/// Keeps a timer in a runtime that is earlier than the timers of calls. Without it, tokio wakes the
/// runtime's thread with a system call for each deadline that it adds.
async fn keep_timer_armed() {
    let mut ticks = tokio::time::interval(TIMER_INTERVAL);
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

/// The core that serves a connection, and the way to the others. Each request clones the `Arc` of
/// its core, so that the cores do not write to one count of references.
#[repr(align(128))]
pub(super) struct CoreHandle {
    cores: Arc<[Core]>,
    number: usize,
}

impl CoreHandle {
    /// The number of the core, from 0.
    pub(super) fn number(&self) -> usize {
        self.number
    }

    fn core(&self) -> &Core {
        &self.cores[self.number]
    }

    /// Answers a request, as [`router::answer_request`]. All streams of an HTTP/2 connection arrive
    /// on one core, so some of them go to another one if that has less to do.
    ///
    /// # Errors
    /// If the request panics on another core, or the gateway stops.
    pub(super) fn answer_request(
        self: Arc<Self>,
        peer: Peer,
        request: Request<Incoming>,
    ) -> impl Future<Output = Result<(Response<HeldBody>, RequestBody), JoinError>> {
        let number = if request.version() == Version::HTTP_2 { self.least_busy() } else { self.number };
        if number == self.number {
            return Either::Left(self.answer_on(number, peer, request).map(Ok));
        }
        let runtime = self.cores[number].runtime.clone();
        Either::Right(AbortOnDropHandle::new(runtime.spawn(self.answer_on(number, peer, request))))
    }

    async fn answer_on(
        self: Arc<Self>,
        number: usize,
        peer: Peer,
        request: Request<Incoming>,
    ) -> (Response<HeldBody>, RequestBody) {
        let core = &self.cores[number];
        let _counted = Counted::new(&core.requests);
        router::answer_request(&core.gateway, peer, request).await
    }

    /// The number of the core for a request: this one, unless another core answers far fewer.
    fn least_busy(&self) -> usize {
        let load = |number: &usize| self.cores[*number].requests.load(Ordering::Relaxed);
        match (0..self.cores.len()).min_by_key(load) {
            Some(other) if load(&self.number) > 2 * load(&other) + IMBALANCE => other,
            _ => self.number,
        }
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
