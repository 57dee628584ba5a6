//! One invocation: a store, an instance, one call, and its outcome.
//!
//! Every invocation has a new store and a new instance. Both are dropped at its end. So no invocation sees the memory of another,
//! and a store that trapped or was cancelled is not used again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde::de::IgnoredAny;
use thiserror::Error;
use tokio::time::timeout_at;
use wasmtime::component::{InstancePre, ResourceTable};
use wasmtime::{PoolConcurrencyLimitError, ResourceLimiter, Store, Trap, UpdateDeadline};
use wasmtime_wasi::p2::pipe::MemoryOutputPipe;
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

use contract::Manifest;
use contract::limit::{LOG_LINE_BYTES, LOG_LINES};

use super::bindings::gateway::connector::outcome;
use super::deadline::until;
use super::host_memory::{HostMemory, TooMuchHeld};
use super::http::Outbound;
use super::limits::{Awaited, CpuBudget, GuestMemory, Limit, Limits, MAX_HANDLES, NoGrowth, Waiting};
use super::module::{Module, NeedsFiber, Running};
use super::progress::ProgressSender;
use super::shares::Taken;
use super::storage::Scope;
use super::ticker::TICK;
use super::trap::{LastLines, TrapReport};

/// Maximum time that a guest without a fiber may occupy its thread. If it takes longer, it is run again on a fiber, where it yields
/// to others. It has sent and stored nothing yet, so nothing is done twice.
const IMMEDIATE_TICKS: u32 = 5;

/// Maximum number of random bytes that a WASI module gets in one call. They are made in the memory of the gateway.
const MAX_RANDOM_BYTES: u64 = 1 << 20;

/// The surroundings of an invocation.
pub struct Call {
    /// The instant at which the invocation ends, with an outcome or without. Its requests end at the deadline of `outbound`.
    pub deadline: tokio::time::Instant,
    /// The values of the connector's settings.
    pub settings: Arc<Settings>,
    /// Sends its requests.
    pub outbound: Outbound,
    /// Its key-value store; `None` if it must not use one.
    pub storage: Option<Scope>,
    /// Takes its reports of progress; `None` if the caller waits.
    pub progress: Option<ProgressSender>,
    /// The CPU time for all invocations of the call.
    pub cpu: CpuBudget,
}

impl Call {
    /// For `describe`, which may not send requests or store values.
    pub fn for_description(deadline: tokio::time::Instant, cpu: Duration) -> Self {
        Self {
            deadline,
            settings: Arc::default(),
            outbound: Outbound::nowhere(),
            storage: None,
            progress: None,
            cpu: CpuBudget::new(cpu),
        }
    }
}

/// Values of settings as JSON text, by name.
pub type Settings = std::collections::HashMap<String, String>;

/// The result of an invocation.
pub enum Outcome {
    /// The gateway sends this request, and answers with the response.
    Forward(super::http::Request),
    /// JSON text.
    Reply(Bytes),
    /// A file.
    File(File),
}

/// A file; see `file` in the contract.
pub struct File {
    /// The content.
    pub content: Content,
    /// The name.
    pub file_name: String,
    /// Media type without parameters.
    pub content_type: String,
    /// Further members for the JSON form, as the text of an object. May be empty.
    pub members: String,
    /// `true` if the JSON form has `sha256`.
    pub digest: bool,
    /// Maximum size in bytes; 0 if the connector sets none.
    pub max_bytes: u64,
}

/// The content of a file.
pub enum Content {
    /// Bytes that the connector made.
    Bytes(Bytes),
    /// The body of a response.
    Response(Box<super::http::Response>),
}

pub use outcome::Fault;

/// Why an invocation has no outcome and no fault.
#[derive(Debug, Error)]
pub enum InvocationError {
    /// It broke a limit.
    #[error("it went over its {0} limit")]
    Limit(Limit),
    /// It did not end before its deadline, because of what it waited for.
    #[error("it did not end in time (`limits.timeout_s`)")]
    TimedOut(Awaited),
    /// It trapped.
    #[error("it trapped: {0}")]
    Trapped(Box<TrapReport>),
    /// No slot of the pool is free for the module.
    #[error("no slot for running connectors is free")]
    Busy,
    /// The memory that all calls share is used up.
    #[error("the memory for calls is used up")]
    NoMemory,
}

/// The data of a store.
pub struct Guest {
    pub(super) call: Call,
    pub(super) table: ResourceTable,
    pub(super) limits: Limits,
    pub(super) requests: u32,
    /// The number of responses whose bodies the guest has not read.
    pub(super) open_responses: usize,
    pub(super) host_memory: HostMemory,
    memory: GuestMemory,
    log_lines: u32,
    /// For the report of a trap.
    pub(super) last_lines: LastLines,
    /// Made on first use, because most modules do not use it.
    wasi: Option<Box<Wasi>>,
    pub(super) module: Running,
    _slots: Taken,
}

struct Wasi {
    context: WasiCtx,
    output: MemoryOutputPipe,
}

impl Guest {
    fn new(call: Call, limits: Limits, module: &Module, slots: Taken) -> Self {
        let shared = call.outbound.memory();
        Self {
            call,
            table: ResourceTable::new(),
            limits,
            requests: 0,
            open_responses: 0,
            host_memory: HostMemory::of(usize::try_from(limits.response_bytes).unwrap_or(usize::MAX)).out_of(shared),
            memory: GuestMemory::new(limits.memory_bytes),
            log_lines: 0,
            last_lines: LastLines::default(),
            wasi: None,
            module: module.run(),
            _slots: slots,
        }
    }

    /// Runs work of the gateway on a value of this size, and counts its time as CPU time of the guest. The epoch counts only one
    /// tick for a host function, however long it ran.
    pub(super) async fn compute<T>(
        &mut self,
        bytes: usize,
        work: impl FnOnce(&mut Self) -> wasmtime::Result<T>,
    ) -> wasmtime::Result<T> {
        let compute = || {
            let started = Instant::now();
            let result = work(self)?;
            self.call.cpu.spend(started.elapsed().saturating_sub(TICK))?;
            Ok(result)
        };
        compute::run(bytes, compute).await
    }

    /// The guest waits for something else than a processor until the returned value is dropped.
    pub(super) fn wait_for(&self, awaited: Awaited) -> Waiting {
        self.call.cpu.wait_for(awaited, self.call.deadline)
    }

    /// Counts a log line. Returns `false` if the invocation has written too many.
    pub(super) fn admit_log_line(&mut self) -> bool {
        self.log_lines = self.log_lines.saturating_add(1);
        if self.log_lines as usize > LOG_LINES {
            if self.log_lines as usize == LOG_LINES + 1 {
                tracing::warn!("the connector wrote {LOG_LINES} lines in one invocation; further lines are dropped");
            }
            return false;
        }
        true
    }

    /// Writes the output of a WASI module to the log.
    fn flush_output(&mut self) {
        if let Some(wasi) = self.wasi.take() {
            for line in String::from_utf8_lossy(&wasi.output.contents()).lines() {
                super::log::write(self, super::log::Level::Info, line.to_owned());
            }
        }
    }
}

impl ResourceLimiter for Guest {
    fn memory_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        Ok(self.memory.grow_memory(current, desired, || self.call.outbound.memory()))
    }

    fn table_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        Ok(self.memory.grow_table(current, desired, || self.call.outbound.memory()))
    }
}

impl WasiView for Guest {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        let wasi = self.wasi.get_or_insert_with(|| {
            let output = MemoryOutputPipe::new(LOG_LINE_BYTES * 16);
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
    /// Calls `describe`.
    pub(super) async fn describe(&self, call: Call, limits: Limits) -> Result<Manifest, InvocationError> {
        let (deadline, cpu) = (call.deadline, call.cpu.clone());
        let run = async {
            let mut store = yielding_store(self.linked.engine(), self.guest(call, limits)?)?;
            let result = async {
                let instance = self.linked.instantiate_async(&mut store).await?;
                self.exports_of(&instance, &mut store)?.call_describe(&mut store).await
            };
            let result = result.await;
            finish(result, store)
        };
        let (manifest, _) = until(deadline, &cpu, run).await?;
        Ok(manifest)
    }

    fn guest(&self, call: Call, limits: Limits) -> Result<Guest, InvocationError> {
        let slots = self.take_slots().ok_or(InvocationError::Busy)?;
        Ok(Guest::new(call, limits, self, slots))
    }

    /// Runs one operation. `immediate` is the flag of the operation in the manifest. `make_call` may be called twice. It is given
    /// `false` for a run in which the guest has no storage, because storage may wait.
    ///
    /// # Errors
    /// If the guest traps, breaks a limit, does not end in time, or finds no free slot.
    pub async fn invoke(
        &self,
        make_call: impl Fn(bool) -> Call,
        limits: Limits,
        operation: &str,
        input: &str,
        immediate: bool,
    ) -> Result<Result<Outcome, Fault>, InvocationError> {
        if let (true, Some(linked)) = (immediate, &self.immediate) {
            let call = make_call(false);
            let (cpu, deadline) = (call.cpu.clone(), call.deadline);
            match self.run_at_once(linked, self.guest(call, limits)?, (operation, input)) {
                // The guest has used up its time without a fiber. It may have time left for a run on a fiber.
                Err(error @ InvocationError::Limit(Limit::Cpu)) => {
                    cpu.spend(TICK.saturating_mul(IMMEDIATE_TICKS)).map_err(|_| error)?;
                }
                Err(error) => return Err(error),
                Ok((outcome, store)) => {
                    let taken = timeout_at(deadline, take_outcome(outcome, store, limits)).await;
                    return taken.unwrap_or(Err(InvocationError::TimedOut(Awaited::Processor)));
                }
            }
        }
        let call = make_call(true);
        let (deadline, cpu) = (call.deadline, call.cpu.clone());
        let run = async {
            let (outcome, store) = self.run_on_fiber(self.guest(call, limits)?, (operation, input)).await?;
            take_outcome(outcome, store, limits).await
        };
        // Boxed, because callers move their futures at each call, and most calls do not need this one.
        until(deadline, &cpu, Box::pin(run)).await
    }

    fn run_at_once(
        &self,
        linked: &InstancePre<Guest>,
        guest: Guest,
        arguments: (&str, &str),
    ) -> Result<(WitOutcome, Store<Guest>), InvocationError> {
        let mut store = store(linked.engine(), guest)?;
        store.set_epoch_deadline(IMMEDIATE_TICKS.into());
        let result = linked
            .instantiate(&mut store)
            .and_then(|instance| self.invoke_of(&instance, &mut store)?.call(&mut store, arguments));
        finish(result.map(|(outcome,)| outcome), store)
    }

    async fn run_on_fiber(
        &self,
        guest: Guest,
        arguments: (&str, &str),
    ) -> Result<(WitOutcome, Store<Guest>), InvocationError> {
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

fn store(engine: &wasmtime::Engine, guest: Guest) -> Result<Store<Guest>, InvocationError> {
    let limits = guest.limits;
    let mut store = Store::try_new(engine, guest).map_err(|error| trapped(&error, Vec::new()))?;
    store.limiter(|guest| guest);
    store.set_hostcall_fuel(limits.output_bytes);
    store.set_max_component_handles(MAX_HANDLES);
    Ok(store)
}

/// A store whose guest yields at each tick, and traps when its CPU budget is used up.
fn yielding_store(engine: &wasmtime::Engine, guest: Guest) -> Result<Store<Guest>, InvocationError> {
    let mut store = store(engine, guest)?;
    // The callback runs only while the guest computes, so the time in which the guest waits is not counted.
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(|mut store| {
        store.data_mut().call.cpu.spend(TICK)?;
        Ok(UpdateDeadline::Yield(1))
    });
    Ok(store)
}

fn finish<R>(result: wasmtime::Result<R>, mut store: Store<Guest>) -> Result<(R, Store<Guest>), InvocationError> {
    store.data_mut().flush_output();
    match result {
        Ok(answer) => Ok((answer, store)),
        Err(error) => Err(cause(&error, store.data_mut())),
    }
}

/// The limit that caused a trap, or the report of the trap.
fn cause(error: &wasmtime::Error, guest: &mut Guest) -> InvocationError {
    match guest.memory.refused {
        Some(NoGrowth::ForGuest) => return InvocationError::Limit(Limit::Memory),
        Some(NoGrowth::ForAll) => return InvocationError::NoMemory,
        None => {}
    }
    match error.downcast_ref() {
        Some(TooMuchHeld::ForGuest) => return InvocationError::Limit(Limit::HostMemory),
        Some(TooMuchHeld::ForAll(_)) => return InvocationError::NoMemory,
        None => {}
    }
    // It is run again on a fiber, like a guest that needs more time.
    if error.downcast_ref::<NeedsFiber>().is_some() {
        return InvocationError::Limit(Limit::Cpu);
    }
    if error.downcast_ref::<PoolConcurrencyLimitError>().is_some() {
        return InvocationError::Busy;
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::Interrupt) => return InvocationError::Limit(Limit::Cpu),
        Some(Trap::StackOverflow) => return InvocationError::Limit(Limit::Stack),
        _ => {}
    }
    // These two errors have no public type.
    let text = format!("{error:#}");
    if text.contains("hostcalls has been exhausted") {
        return InvocationError::Limit(Limit::Output);
    }
    if text.contains("handle limit exceeded") || text.contains("resource table has no free keys") {
        return InvocationError::Limit(Limit::Handles);
    }
    let lines = if guest.may_repeat_last_lines() { guest.last_lines.take() } else { Vec::new() };
    trapped(error, lines)
}

fn trapped(error: &wasmtime::Error, last_lines: Vec<String>) -> InvocationError {
    InvocationError::Trapped(Box::new(TrapReport::new(error, last_lines)))
}

/// Takes the resources of an outcome out of the store, and drops the store.
async fn take_outcome(
    outcome: WitOutcome,
    mut store: Store<Guest>,
    limits: Limits,
) -> Result<Result<Outcome, Fault>, InvocationError> {
    let table = &mut store.data_mut().table;
    let foreign = |error: wasmtime::component::ResourceTableError| trapped(&error.into(), Vec::new());
    let outcome = match outcome {
        Err(fault) => return Ok(Err(fault)),
        Ok(outcome) => outcome,
    };
    Ok(Ok(match outcome {
        outcome::Outcome::Forward(request) => {
            Outcome::Forward(super::http::Request::take(request, table).map_err(|error| trapped(&error, Vec::new()))?)
        }
        outcome::Outcome::Reply(text) => {
            if text.len() > limits.output_bytes {
                return Err(InvocationError::Limit(Limit::Output));
            }
            let checked = compute::run(text.len(), || serde_json::from_str::<IgnoredAny>(&text)).await;
            if let Err(error) = checked {
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
