//! The one `Engine` of the gateway.

use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig, WasmFeatures};

use super::Pool;

/// Address space kept for each linear memory, so that bounds checks are done by the memory management unit. Part of
/// what a module is compiled against: equal in the gateway and in the process that compiles.
const MEMORY_RESERVATION: u64 = 4 << 30;
const MEMORY_GUARD: u64 = 32 << 20;

/// Bytes of a slot that are put back by copying rather than by giving the pages back to the kernel; a page that stays
/// mapped costs the next invocation no fault. Modules built with the SDK have 128 KiB, those of Rust's own settings a
/// little over 1 MiB.
const KEEP_RESIDENT: usize = 1280 << 10;

/// Stack of a guest. Connectors are compiled with a shadow stack of their own, so that few need more.
const WASM_STACK: usize = 512 << 10;

/// What a module is compiled against. The compiling process and the gateway must agree on all of it, or the artifact is
/// refused.
fn compiler_settings() -> Config {
    let mut config = Config::new();
    config.cranelift_opt_level(OptLevel::Speed);
    config.epoch_interruption(true);
    config.memory_reservation(MEMORY_RESERVATION);
    config.memory_guard_size(MEMORY_GUARD);
    config.memory_may_move(false);
    config.max_wasm_stack(WASM_STACK);
    // Names of functions in the log of a trap are worth their bytes; source positions are not.
    config.generate_address_map(false);
    // No proposal that shares state between threads or that no toolchain for connectors emits.
    config.wasm_features(WasmFeatures::THREADS, false);
    config.wasm_features(WasmFeatures::SHARED_EVERYTHING_THREADS, false);
    config
}

/// The engine of the process that compiles one module and ends.
///
/// # Errors
/// When the processor lacks what compiled code needs.
pub(super) fn compiler() -> wasmtime::Result<Engine> {
    let mut config = compiler_settings();
    config.parallel_compilation(true);
    Engine::new(&config)
}

/// The engine that runs modules, with a pool of slots.
///
/// # Errors
/// When the pool's address space is not to be had.
pub(super) fn runtime(sandbox: &Pool, memory_bytes: usize) -> wasmtime::Result<Engine> {
    let mut config = compiler_settings();
    config.async_stack_size(WASM_STACK + (512 << 10));

    let mut pool = PoolingAllocationConfig::new();
    // Slots are address space, not memory: they cost nothing until an instance touches them.
    pool.total_component_instances(sandbox.instances);
    pool.total_stacks(sandbox.instances);
    pool.total_core_instances(sandbox.instances.saturating_mul(4).max(sandbox.core_instances_per_component));
    pool.total_memories(sandbox.instances.saturating_mul(2).max(sandbox.memories_per_component));
    pool.total_tables(sandbox.instances.saturating_mul(4).max(sandbox.tables_per_component));
    pool.max_core_instances_per_component(sandbox.core_instances_per_component);
    pool.max_memories_per_component(sandbox.memories_per_component);
    pool.max_tables_per_component(sandbox.tables_per_component);
    pool.max_component_instance_size(1 << 20);
    pool.max_core_instance_size(1 << 20);
    pool.table_elements(MAX_TABLE_ELEMENTS);
    pool.max_memory_size(memory_bytes);
    pool.linear_memory_keep_resident(KEEP_RESIDENT);
    pool.table_keep_resident(KEEP_RESIDENT);
    // To ask the kernel which pages were written takes longer than to put 128 KiB back.
    pool.pagemap_scan(Enabled::No);
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    Engine::new(&config)
}

/// Entries of one table. The modules of the JavaScript and Python toolchains have some 10,000 functions.
pub(super) const MAX_TABLE_ELEMENTS: usize = 64 << 10;
