//! The WebAssembly engine: its settings for compiling, and for running modules in a pool.

use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig, WasmFeatures};

use super::Pool;

/// Address space reserved for each linear memory, so that the memory management unit does the
/// bounds checks. Compiled code depends on it, so it must be equal in the gateway and in the
/// compiling process.
const MEMORY_RESERVATION: u64 = 4 << 30;
const MEMORY_GUARD: u64 = 32 << 20;

/// Bytes of a slot that are reset by copying. Larger memories are reset by returning pages to the
/// kernel. A page that stays mapped causes no page fault in the next invocation. Most connectors
/// built with the SDK have 64 KiB; modules built with Rust's default settings have a little over 1
/// MiB.
pub(super) const KEEP_RESIDENT: usize = 1280 << 10;

/// Stack of a guest. Most data of a connector is on a shadow stack in its own memory, so few
/// connectors need more.
const WASM_STACK: usize = 512 << 10;

/// Memories and tables of one slot of the pool. A module with more takes several slots.
const SLOT_MEMORIES: u32 = 2;
const SLOT_TABLES: u32 = 4;

/// The most memories and tables of one module. The toolchains of Rust, JavaScript, Python and C
/// make modules with fewer.
pub(super) const MAX_MEMORIES: u32 = 4;
pub(super) const MAX_TABLES: u32 = 16;

/// Slots in reserve. A slot counts as free a moment before the pool has freed its instance.
const SPARE_SLOTS: u32 = 64;

/// The number of slots that an instance with so many memories and tables takes.
pub(super) fn slots(memories: u32, tables: u32) -> u32 {
    memories.div_ceil(SLOT_MEMORIES).max(tables.div_ceil(SLOT_TABLES)).max(1)
}

/// The settings that compiled code depends on. If the compiling process and the gateway differ in
/// one of them, the gateway refuses the compiled module.
fn compiler_settings() -> Config {
    let mut config = Config::new();
    config.cranelift_opt_level(OptLevel::Speed);
    config.epoch_interruption(true);
    config.memory_reservation(MEMORY_RESERVATION);
    config.memory_guard_size(MEMORY_GUARD);
    config.memory_may_move(false);
    config.max_wasm_stack(WASM_STACK);
    // The log of a trap has the names of functions. Source positions would make compiled modules
    // much larger.
    config.generate_address_map(false);
    // Threads would share state, and no toolchain for connectors emits them.
    config.wasm_features(WasmFeatures::THREADS, false);
    config.wasm_features(WasmFeatures::SHARED_EVERYTHING_THREADS, false);
    config
}

/// The engine of the process that compiles one module and ends.
///
/// # Errors
/// If the processor lacks instructions that compiled code needs.
pub(super) fn compiler() -> wasmtime::Result<Engine> {
    let mut config = compiler_settings();
    config.parallel_compilation(true);
    Engine::new(&config)
}

/// The engine that runs modules, with a pool of slots.
///
/// # Errors
/// If the address space of the pool cannot be reserved.
pub(super) fn runtime(sandbox: &Pool, memory_bytes: usize) -> wasmtime::Result<Engine> {
    let mut config = compiler_settings();
    config.async_stack_size(WASM_STACK + (512 << 10));

    let mut pool = PoolingAllocationConfig::new();
    // `SharedPermits` gives out the slots, so the pool itself never refuses one. A slot is address
    // space. It takes no memory until an instance uses it.
    let slots = sandbox.instances.saturating_add(SPARE_SLOTS);
    pool.total_component_instances(slots);
    pool.total_stacks(slots);
    pool.total_memories(slots.saturating_mul(SLOT_MEMORIES).max(MAX_MEMORIES));
    pool.total_tables(slots.saturating_mul(SLOT_TABLES).max(MAX_TABLES));
    // The pool only counts core instances, so that each slot has room for the largest component.
    pool.total_core_instances(slots.saturating_mul(sandbox.core_instances_per_component));
    pool.max_core_instances_per_component(sandbox.core_instances_per_component);
    pool.max_memories_per_component(MAX_MEMORIES);
    pool.max_tables_per_component(MAX_TABLES);
    pool.max_component_instance_size(1 << 20);
    pool.max_core_instance_size(1 << 20);
    pool.table_elements(MAX_TABLE_ELEMENTS);
    pool.max_memory_size(memory_bytes);
    pool.linear_memory_keep_resident(KEEP_RESIDENT);
    pool.table_keep_resident(KEEP_RESIDENT);
    // Asking the kernel for the written pages takes longer than copying 64 KiB.
    pool.pagemap_scan(Enabled::No);
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    Engine::new(&config)
}

/// Maximum number of entries of one table. The modules of the JavaScript and Python toolchains have
/// about 10,000 functions.
pub(super) const MAX_TABLE_ELEMENTS: usize = 64 << 10;
