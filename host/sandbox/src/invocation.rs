//! One invocation: a store, an instance, one call, and what it left behind.
//!
//! Every invocation begins with a fresh store and a fresh instance, and both are dropped with it, whatever its end: no
//! memory of one is ever seen by another, and a store that trapped or was cancelled is never entered again.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use serde::de::IgnoredAny;
use thiserror::Error;
use tokio::time::timeout_at;
use wasmtime::component::{InstancePre, ResourceTable};
use wasmtime::{PoolConcurrencyLimitError, Store, Trap, UpdateDeadline};
use wasmtime_wasi::p2::pipe::MemoryOutputPipe;
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

use contract::Manifest;

use super::bindings::gateway::connector::outcome;
use super::host_memory::{HostMemory, TooMuchHeld};
use super::http::Outbound;
use super::limits::{CpuBudget, Limit, Limits, MAX_HANDLES, MAX_LOG_LINE_BYTES, MAX_LOG_LINES, MemoryBudget};
use super::module::Module;
use super::storage::Scope;
use super::ticker::{Running, TICK};

/// The longest that a guest without a fiber may hold its thread. One that takes longer is run again on a fiber, where it
/// yields to others; it cannot have done anything yet that would be done twice.
const IMMEDIATE_TICKS: u64 = 5;

/// Random bytes that a WASI module gets in one call. They are made in the gateway's memory.
const MAX_RANDOM_BYTES: u64 = 1 << 20;

/// What an invocation is given.
pub struct Call {
    /// The instant at which the invocation ends, with an outcome or without. Its requests end at the deadline of `outbound`.
    pub deadline: tokio::time::Instant,
    /// The operator's settings: each as JSON text.
    pub settings: Arc<Settings>,
    /// The way to its upstreams.
    pub outbound: Outbound,
    /// Its key-value store.
    pub storage: Option<Scope>,
}

impl Call {
    /// For `describe`: the module can send no request and store nothing.
    pub fn for_description(deadline: tokio::time::Instant) -> Self {
        Self { deadline, settings: Arc::default(), outbound: Outbound::nowhere(), storage: None }
    }
}

/// The operator's settings for a connector, as JSON text by key.
pub type Settings = std::collections::HashMap<String, String>;

/// What an invocation answered.
pub enum Outcome {
    /// Send this and answer with what comes back.
    Forward(super::http::Request),
    /// JSON text.
    Reply(Bytes),
    /// A file.
    File(File),
}

/// See `file` in the contract.
pub struct File {
    /// Its bytes.
    pub content: Content,
    /// Its name.
    pub file_name: String,
    /// Media type without parameters.
    pub content_type: String,
    /// Further members of the JSON form, as the text of an object, or empty.
    pub members: String,
    /// Whether the JSON form has `sha256`.
    pub digest: bool,
    /// Largest size in bytes; 0 when the connector sets none.
    pub max_bytes: u64,
}

/// Where a file's bytes are.
pub enum Content {
    /// Made by the connector.
    Bytes(Bytes),
    /// In a response, read or not.
    Response(Box<super::http::Response>),
}

/// An answer that the connector declined to give.
pub use outcome::Fault;

/// Why an invocation gave no answer at all.
#[derive(Debug, Error)]
pub enum Failure {
    /// It broke a limit.
    #[error("it went over its {0} limit")]
    Limit(Limit),
    /// It did not end before its deadline.
    #[error("it did not end in time (`limits.timeout_s`)")]
    TimedOut,
    /// It trapped.
    #[error("it trapped: {0}")]
    Trapped(String),
    /// All slots are taken.
    #[error("all slots for running connectors are taken")]
    Busy,
}

/// The data of a store.
pub struct Guest {
    pub(super) call: Call,
    pub(super) table: ResourceTable,
    pub(super) limits: Limits,
    pub(super) requests: u32,
    pub(super) host_memory: HostMemory,
    pub(super) cpu: CpuBudget,
    memory: MemoryBudget,
    log_lines: u32,
    /// Made when it is first asked for: most modules never do.
    wasi: Option<Box<Wasi>>,
    _running: Running,
}

struct Wasi {
    context: WasiCtx,
    output: MemoryOutputPipe,
}

impl Guest {
    fn new(call: Call, limits: Limits, running: Running) -> Self {
        Self {
            call,
            table: ResourceTable::new(),
            limits,
            requests: 0,
            host_memory: HostMemory::of(limits.output_bytes),
            cpu: CpuBudget::new(limits.cpu),
            memory: MemoryBudget::new(limits.memory_bytes),
            log_lines: 0,
            wasi: None,
            _running: running,
        }
    }

    /// Does what may take the gateway long. An epoch that passes in a host function is counted when the guest goes on, but only
    /// one of them, however many there were.
    pub(super) fn compute<T>(&mut self, work: impl FnOnce(&mut Self) -> wasmtime::Result<T>) -> wasmtime::Result<T> {
        let started = Instant::now();
        let result = work(self)?;
        self.cpu.spend(started.elapsed().saturating_sub(TICK))?;
        Ok(result)
    }

    /// Counts a log line; `None` when it is not to be written.
    pub(super) fn admit_log_line(&mut self, line: &mut String) -> Option<()> {
        self.log_lines = self.log_lines.saturating_add(1);
        if self.log_lines > MAX_LOG_LINES {
            if self.log_lines == MAX_LOG_LINES + 1 {
                tracing::warn!("the connector wrote {MAX_LOG_LINES} lines in one invocation; the rest is dropped");
            }
            return None;
        }
        if line.len() > MAX_LOG_LINE_BYTES {
            line.truncate(line.floor_char_boundary(MAX_LOG_LINE_BYTES));
            line.push('…');
        }
        Some(())
    }

    /// Hands what a WASI module printed to the log.
    fn flush_output(&mut self) {
        if let Some(wasi) = self.wasi.take() {
            for line in String::from_utf8_lossy(&wasi.output.contents()).lines() {
                super::log::write(self, super::log::Level::Info, line.to_owned());
            }
        }
    }
}

impl WasiView for Guest {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        let wasi = self.wasi.get_or_insert_with(|| {
            let output = MemoryOutputPipe::new(MAX_LOG_LINE_BYTES * 16);
            let context = WasiCtxBuilder::new()
                .stdout(output.clone())
                .stderr(output.clone())
                .max_random_size(MAX_RANDOM_BYTES)
                .allow_tcp(false)
                .allow_udp(false)
                .build();
            Box::new(Wasi { context, output })
        });
        WasiCtxView { ctx: &mut wasi.context, table: &mut self.table }
    }
}

impl Module {
    /// What the connector says about itself.
    pub(super) async fn describe(&self, call: Call, limits: Limits) -> Result<Manifest, Failure> {
        let deadline = call.deadline;
        let run = async {
            let mut store = yielding_store(self.linked.engine(), self.guest(call, limits))?;
            let result = async {
                let instance = self.linked.instantiate_async(&mut store).await?;
                self.exports_of(&instance, &mut store)?.call_describe(&mut store).await
            };
            let result = result.await;
            finish(result, store)
        };
        let (manifest, _) = until(deadline, run).await?;
        Ok(manifest)
    }

    fn guest(&self, call: Call, limits: Limits) -> Guest {
        Guest::new(call, limits, self.ticker.run())
    }

    /// Runs one operation. `immediate` as the manifest says it.
    ///
    /// # Errors
    /// When there is no answer, not even a fault; the instance is gone in any case.
    pub async fn invoke(
        &self,
        make_call: impl Fn() -> Call,
        limits: Limits,
        operation: &str,
        input: &str,
        immediate: bool,
    ) -> Result<Result<Outcome, Fault>, Failure> {
        if let (true, Some(linked)) = (immediate, &self.immediate) {
            match self.run_at_once(linked, self.guest(make_call(), limits), (operation, input)) {
                Err(Failure::Limit(Limit::Cpu)) => {}
                Err(failure) => return Err(failure),
                Ok((outcome, store)) => return take_outcome(outcome, store, limits),
            }
        }
        // In a box: callers' futures are moved at each call, and most calls have no use for this one.
        let call = make_call();
        let deadline = call.deadline;
        let run = Box::pin(self.run_on_fiber(self.guest(call, limits), (operation, input)));
        let (outcome, store) = until(deadline, run).await?;
        take_outcome(outcome, store, limits)
    }

    fn run_at_once(
        &self,
        linked: &InstancePre<Guest>,
        guest: Guest,
        arguments: (&str, &str),
    ) -> Result<(WitOutcome, Store<Guest>), Failure> {
        let mut store = store(linked.engine(), guest)?;
        store.set_epoch_deadline(IMMEDIATE_TICKS);
        let result = linked
            .instantiate(&mut store)
            .and_then(|instance| self.invoke_of(&instance, &mut store)?.call(&mut store, arguments));
        finish(result.map(|(outcome,)| outcome), store)
    }

    async fn run_on_fiber(&self, guest: Guest, arguments: (&str, &str)) -> Result<(WitOutcome, Store<Guest>), Failure> {
        let mut store = yielding_store(self.linked.engine(), guest)?;
        let result = async {
            let instance = self.linked.instantiate_async(&mut store).await?;
            self.invoke_of(&instance, &mut store)?.call_async(&mut store, arguments).await
        };
        let result = result.await;
        finish(result.map(|(outcome,)| outcome), store)
    }
}

type WitOutcome = Result<outcome::Outcome, outcome::Fault>;

/// Runs an invocation until its deadline. An epoch ends a guest that computes, but it does not wake a guest that waits in a
/// host function.
async fn until<T>(deadline: tokio::time::Instant, run: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    timeout_at(deadline, run).await.unwrap_or(Err(Failure::TimedOut))
}

fn store(engine: &wasmtime::Engine, guest: Guest) -> Result<Store<Guest>, Failure> {
    let limits = guest.limits;
    let mut store = Store::try_new(engine, guest).map_err(|error| Failure::Trapped(error.to_string()))?;
    store.limiter(|guest| &mut guest.memory);
    store.set_hostcall_fuel(limits.output_bytes);
    store.set_max_component_handles(MAX_HANDLES);
    Ok(store)
}

/// A store whose guest yields at each tick, and traps when it has used up its computing time.
fn yielding_store(engine: &wasmtime::Engine, guest: Guest) -> Result<Store<Guest>, Failure> {
    let mut store = store(engine, guest)?;
    // The callback runs only while the guest computes, so that counting its ticks leaves out the time it waits.
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(|mut store| {
        store.data_mut().cpu.spend(TICK)?;
        Ok(UpdateDeadline::Yield(1))
    });
    Ok(store)
}

fn finish<R>(result: wasmtime::Result<R>, mut store: Store<Guest>) -> Result<(R, Store<Guest>), Failure> {
    store.data_mut().flush_output();
    match result {
        Ok(answer) => Ok((answer, store)),
        Err(error) => Err(failure(&error, store.data())),
    }
}

/// Finds the limit behind a trap, or words for it.
fn failure(error: &wasmtime::Error, guest: &Guest) -> Failure {
    if guest.memory.exceeded {
        return Failure::Limit(Limit::Memory);
    }
    if error.downcast_ref::<TooMuchHeld>().is_some() {
        return Failure::Limit(Limit::HostMemory);
    }
    if error.downcast_ref::<PoolConcurrencyLimitError>().is_some() {
        return Failure::Busy;
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::Interrupt) => return Failure::Limit(Limit::Cpu),
        Some(Trap::StackOverflow) => return Failure::Limit(Limit::Stack),
        _ => {}
    }
    // These two have no public type.
    let text = format!("{error:#}");
    if text.contains("hostcalls has been exhausted") {
        return Failure::Limit(Limit::Output);
    }
    if text.contains("handle limit exceeded") || text.contains("resource table has no free keys") {
        return Failure::Limit(Limit::Handles);
    }
    Failure::Trapped(text)
}

/// Moves what an outcome refers to out of the store, which ends here.
fn take_outcome(
    outcome: WitOutcome,
    mut store: Store<Guest>,
    limits: Limits,
) -> Result<Result<Outcome, Fault>, Failure> {
    let table = &mut store.data_mut().table;
    let foreign = |error: wasmtime::component::ResourceTableError| Failure::Trapped(error.to_string());
    let outcome = match outcome {
        Err(fault) => return Ok(Err(fault)),
        Ok(outcome) => outcome,
    };
    Ok(Ok(match outcome {
        outcome::Outcome::Forward(request) => Outcome::Forward(request),
        outcome::Outcome::Reply(text) => {
            if text.len() > limits.output_bytes {
                return Err(Failure::Limit(Limit::Output));
            }
            if let Err(error) = serde_json::from_str::<IgnoredAny>(&text) {
                return Ok(Err(Fault::Failed(format!("the connector's answer is not JSON: {error}"))));
            }
            Outcome::Reply(text.into())
        }
        outcome::Outcome::ReplyDocument(document) => {
            Outcome::Reply(table.delete(document).map_err(foreign)?.into_text())
        }
        outcome::Outcome::ReplyFile(file) => Outcome::File(File {
            content: match file.content {
                outcome::Content::Bytes(bytes) => Content::Bytes(bytes.into()),
                outcome::Content::Response(response) => {
                    Content::Response(Box::new(table.delete(response).map_err(foreign)?))
                }
            },
            file_name: file.file_name,
            content_type: file.content_type,
            members: file.members,
            digest: file.digest,
            max_bytes: file.max_bytes,
        }),
    }))
}
