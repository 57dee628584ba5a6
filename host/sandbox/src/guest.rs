//! The data of one invocation, which the host functions use.

use std::collections::HashMap;

use bytes::Bytes;
use contract_rules::limit::{LOG_LINE_BYTES, LOG_LINES};
use egress::Multipart;
use wasmtime::ResourceLimiter;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::p2::pipe::MemoryOutputPipe;
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

use super::call::Call;
use super::declarations::Declarations;
use super::host_memory::HostMemory;
use super::limits::{Awaited, GuestMemory, Limits, NoGrowth, Waiting, thread_time};
use super::running_guest::RunningGuest;
use super::shares::Permits;
use super::ticker::TICK;
use super::trap::LastLines;

/// Maximum number of random bytes that a WASI module gets in one call. They are made in the memory
/// of the gateway.
const MAX_RANDOM_BYTES: u64 = 64 << 10;

/// The data of a store.
pub(crate) struct Guest {
    pub(super) call: Call,
    pub(super) table: ResourceTable,
    pub(super) limits: Limits,
    pub(super) requests: u32,
    /// The number of responses whose bodies the guest has not read.
    pub(super) open_responses: usize,
    pub(super) host_memory: HostMemory,
    /// Bodies of forms with files, by the media types that stand for them.
    pub(super) multiparts: HashMap<String, Multipart>,
    /// The declarations of the guest so far. `None` unless it describes itself.
    pub(super) declarations: Option<Box<Declarations>>,
    memory: GuestMemory,
    log_lines: u32,
    /// For the report of a trap.
    pub(super) last_lines: LastLines,
    /// Made on first use, because most modules do not use it.
    wasi: Option<Box<Wasi>>,
    pub(super) module: RunningGuest,
    _slots: Permits,
}

struct Wasi {
    context: WasiCtx,
    output: MemoryOutputPipe,
}

impl Guest {
    pub(super) fn new(call: Call, limits: Limits, module: RunningGuest, slots: Permits) -> Self {
        let shared = call.outbound.memory();
        Self {
            call,
            table: ResourceTable::new(),
            limits,
            requests: 0,
            open_responses: 0,
            host_memory: HostMemory::for_limits(&limits).within(shared),
            multiparts: HashMap::new(),
            declarations: None,
            memory: GuestMemory::new(limits.memory_bytes),
            log_lines: 0,
            last_lines: LastLines::default(),
            wasi: None,
            module,
            _slots: slots,
        }
    }

    /// Runs work of the gateway on a value of this size. The guest pays for its CPU time: the epoch
    /// counts only one tick for a host function, however long it ran. Work on a small value may take
    /// long too, such as the search for a long pointer.
    pub(super) async fn compute<T>(
        &mut self,
        bytes: usize,
        work: impl FnOnce(&mut Self) -> wasmtime::Result<T>,
    ) -> wasmtime::Result<T> {
        let compute = || {
            let started = thread_time();
            let result = work(self)?;
            self.call.cpu.spend(thread_time().saturating_sub(started).saturating_sub(TICK))?;
            Ok(result)
        };
        compute::run(bytes, compute).await
    }

    /// Records that the guest waits for something other than a processor, until the returned value
    /// is dropped.
    pub(super) fn wait_for(&self, awaited: Awaited) -> Waiting {
        self.call.cpu.wait_for(awaited, self.call.deadline)
    }

    /// Why memory was refused to the guest; `None` if it was not.
    pub(super) fn refused_growth(&self) -> Option<NoGrowth> {
        self.memory.refused
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

    /// Takes what a WASI module has written to its output. `None` if it has not used WASI.
    pub(super) fn take_output(&mut self) -> Option<Bytes> {
        self.wasi.take().map(|wasi| wasi.output.contents())
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
