//! Runs connectors. A module gets in as bytes of a stranger, and is compiled in a child process, checked against the
//! contract, and instantiated anew for every invocation.
//!
//! - [`module`]: one compiled module, linked
//! - [`invocation`]: one call into it, from a fresh instance to an outcome
//! - [`limits`]: what an invocation may use; [`host_memory`]: what the gateway holds for it
//! - [`http`], [`json`], [`storage`], [`config`], [`log`], [`clock`]: the interfaces of the contract
//! - [`compile`], [`cache`], [`engine`]: how a module becomes native code; [`ticker`]: the clock of its guests

mod bindings;
mod cache;
mod clock;
pub mod compile;
mod config;
mod engine;
mod host_memory;
pub mod http;
pub mod invocation;
pub mod json;
pub mod limits;
mod log;
pub mod module;
pub mod storage;
mod ticker;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;
use tokio::sync::Semaphore;
use wasmtime::Engine;
use wasmtime::component::Component;

pub use self::bindings::gateway::connector::outcome::{Explanation, UpstreamFault, Violation};
pub use self::invocation::{Call, Failure, Fault, Outcome, Settings};
pub use self::limits::{Limit, Limits};
pub use self::module::Module;

use self::cache::Cache;
use self::compile::CompileError;
use self::module::{ContractError, Linkers};
use self::ticker::Ticker;

/// Why a module was not loaded.
#[derive(Debug, Error)]
pub enum LoadError {
    /// It is larger than `compile.max_module_mb`.
    #[error("it has {size_mb} MB, over the limit of {limit_mb} MB (`compile.max_module_mb`)")]
    TooLarge {
        /// Its size.
        size_mb: u64,
        /// The limit.
        limit_mb: u64,
    },
    /// It is WebAssembly, but no component.
    #[error("it is a core module; make it a component with `connector-gateway connectors pack`")]
    CoreModule,
    /// It is not WebAssembly.
    #[error("it is not a WebAssembly component")]
    NotWasm,
    /// See [`CompileError`].
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// See [`ContractError`].
    #[error(transparent)]
    Contract(#[from] ContractError),
    /// `describe` gave no manifest.
    #[error("`describe` failed: {0}")]
    Describe(#[from] Failure),
    /// The gateway's own files.
    #[error("the cache of compiled modules cannot be written: {0}")]
    Io(#[from] std::io::Error),
}

/// Why the sandbox did not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The engine or its pool.
    #[error("the WebAssembly engine does not start: {0:#}")]
    Engine(wasmtime::Error),
    /// The cache's folder, or the clock's thread.
    #[error("the sandbox cannot use its data directory: {0}")]
    Io(#[from] std::io::Error),
}

/// How a sandbox is set up.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The pool of instances.
    pub pool: Pool,
    /// The largest memory that any connector may have, in bytes: each slot of the pool reserves it.
    pub memory_bytes: usize,
    /// Limits of the compiler process.
    pub compile: CompileLimits,
    /// Folder for the cache of compiled modules.
    pub data_dir: PathBuf,
}

/// Size of the pool that modules run in. A slot is address space until an instance uses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Maximum number of concurrent invocations, over all connectors.
    pub instances: u32,
    /// Maximum number of linear memories in one module.
    pub memories_per_component: u32,
    /// Maximum number of tables in one module.
    pub tables_per_component: u32,
    /// Maximum number of core instances in one module.
    pub core_instances_per_component: u32,
}

/// Limits of the process that compiles a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileLimits {
    /// Memory of the process, in MiB.
    pub memory_mb: u64,
    /// CPU time of the process over all cores, in seconds.
    pub cpu_s: u64,
    /// Maximum size of a module, in MiB. A larger module is refused before it is compiled.
    pub max_module_mb: u64,
}

impl Default for Pool {
    fn default() -> Self {
        Self { instances: 512, memories_per_component: 4, tables_per_component: 16, core_instances_per_component: 32 }
    }
}

impl Default for CompileLimits {
    fn default() -> Self {
        Self { memory_mb: 2048, cpu_s: 60, max_module_mb: 64 }
    }
}

/// The engine and everything that modules are loaded with.
pub struct Sandbox {
    engine: Engine,
    ticker: Arc<Ticker>,
    linkers: Linkers,
    cache: Cache,
    compile: CompileLimits,
    pool: Pool,
    /// One compilation at a time: it takes all cores and much memory.
    compiling: Semaphore,
}

/// A module and where it came from.
pub struct Loaded {
    /// Ready to run.
    pub module: Module,
    /// Whether the compiled form was in the cache.
    pub cached: bool,
}

impl Sandbox {
    /// Starts the engine and its clock.
    ///
    /// # Errors
    /// When address space for the pool, the cache's folder or a thread is not to be had.
    pub fn start(setup: Setup) -> Result<Self, StartError> {
        let engine = engine::runtime(&setup.pool, setup.memory_bytes).map_err(StartError::Engine)?;
        let ticker = Ticker::start(&engine)?;
        Ok(Self {
            linkers: Linkers::new(&engine).map_err(StartError::Engine)?,
            cache: Cache::open(&setup.data_dir, &engine)?,
            compile: setup.compile,
            pool: setup.pool,
            compiling: Semaphore::new(1),
            ticker,
            engine,
        })
    }

    /// Loads a component. `digest` is its SHA-256 in hexadecimal digits.
    ///
    /// # Errors
    /// When it cannot be compiled within the limits, or breaks the contract.
    pub async fn load(&self, bytes: &[u8], digest: &str) -> Result<Loaded, LoadError> {
        let limit_mb = self.compile.max_module_mb;
        let size_mb = bytes.len() as u64 >> 20;
        if size_mb >= limit_mb {
            return Err(LoadError::TooLarge { size_mb, limit_mb });
        }
        match bytes {
            // A core module and a component differ in the layer field that follows the version.
            [0, b'a', b's', b'm', _, _, 1, 0, ..] => {}
            [0, b'a', b's', b'm', 1, 0, 0, 0, ..] => return Err(LoadError::CoreModule),
            _ => return Err(LoadError::NotWasm),
        }
        let (artifact, cached) = match self.cache.get(digest) {
            Some(artifact) => (artifact, true),
            None => (self.compile(bytes, digest).await?, false),
        };
        let component =
            deserialize(&self.engine, &artifact).map_err(|error| ContractError::Artifact(format!("{error:#}")))?;
        let module = Module::link(&component, &self.linkers, &self.pool, Arc::clone(&self.ticker))?;
        Ok(Loaded { module, cached })
    }

    async fn compile(&self, bytes: &[u8], digest: &str) -> Result<Vec<u8>, LoadError> {
        // The semaphore is never closed.
        let _turn = self.compiling.acquire().await;
        let folder = self.cache.workspace()?;
        let (source, artifact) = (folder.path("module.wasm"), folder.path("module.cwasm"));
        tokio::fs::write(&source, bytes).await?;
        compile::run(&source, &artifact, &self.compile).await?;
        let artifact = tokio::fs::read(&artifact).await?;
        self.cache.put(digest, &artifact)?;
        Ok(artifact)
    }

    /// Asks a module what it is.
    ///
    /// # Errors
    /// When it traps or breaks a limit.
    pub async fn describe(&self, module: &Module, call: Call, limits: Limits) -> Result<contract::Manifest, Failure> {
        module.describe(call, limits).await
    }
}

#[expect(unsafe_code, reason = "wasmtime cannot check that native code is what its compiler made")]
fn deserialize(engine: &Engine, artifact: &[u8]) -> wasmtime::Result<Component> {
    // SAFETY: the bytes come from the compiler process that `Sandbox::compile` ran, or from the cache, which gives back
    // only what carries this installation's message authentication code.
    unsafe { Component::deserialize(engine, artifact) }
}

/// Makes a component of a core module that was built with the contract's bindings.
///
/// # Errors
/// When it is no core module, carries no contract, or does not keep to it.
pub fn pack(core: &[u8]) -> wasmtime::Result<Vec<u8>> {
    let encoded =
        wit_component::ComponentEncoder::default().validate(true).module(core).and_then(|mut encoder| encoder.encode());
    encoded.map_err(|error| wasmtime::format_err!("{error:#}"))
}

/// Compiles one module and ends: the work of the child process.
pub fn compile_child(source: &Path, artifact: &Path, limits: &CompileLimits) -> std::process::ExitCode {
    compile::child(source, artifact, limits)
}
