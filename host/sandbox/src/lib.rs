//! Runs connectors. A module is untrusted code: it is compiled in a child process, checked against
//! the contract, and instantiated again for every invocation.
//!
//! - [`module`]: one compiled module, linked
//! - [`call`]: the environment of one invocation
//! - [`invocation`]: one call into a module, from a new instance to an outcome
//! - [`guest`]: the data of one invocation, which the host functions use
//! - [`running_guest`]: the parts of a module that its guests use
//! - [`invocation_error`]: why an invocation has no outcome
//! - [`deadline`]: the end of an invocation that takes too long
//! - [`trap`]: the report of a trap for the connector's author
//! - [`limits`]: the limits of an invocation
//! - [`host_memory`]: the memory of the gateway that is used for a guest
//! - [`http`], [`json`], [`storage`], [`config`], [`log`], [`clock`], [`random`], [`multipart`],
//!   [`progress`], [`auth_additions`], [`upstream_additions`], [`page_additions`],
//!   [`trigger_additions`], [`signed_links`]: the interfaces of the contract
//! - [`document`]: the JSON documents of `json`
//! - [`log_rate`]: the rate of log lines
//! - [`row`]: operations that are one request, which no guest makes
//! - [`outline`]: imports and size of a component, checked before it is compiled
//! - [`mod@pack`]: the component of a core module
//! - [`answer_schemas`]: the schemas of answers in a component
//! - [`provenance`]: source, commit and packages of a component
//! - [`setup`]: the settings of a sandbox
//! - [`engine`]: the WebAssembly engine and its settings
//! - [`compile`]: the compilation of a module, in a child process
//! - [`cache`]: compiled modules on disk
//! - [`turns`]: loads of the same module, one after the other
//! - [`native_code`]: compiled modules in memory
//! - [`child`]: work in a child process with limits
//! - [`shares`]: the slots and connections that modules share
//! - [`ticker`]: the clock that limits the computing time of guests

pub mod answer_schemas;
mod auth_additions;
mod bindings;
mod cache;
mod call;
pub mod child;
mod clock;
pub mod compile;
mod config;
mod deadline;
mod declarations;
pub mod document;
mod engine;
mod guest;
mod host_memory;
pub mod http;
pub mod invocation;
mod invocation_error;
mod json;
pub mod limits;
mod log;
mod log_rate;
pub mod module;
mod multipart;
mod native_code;
mod outline;
mod pack;
mod page_additions;
pub mod progress;
pub mod provenance;
mod random;
pub mod row;
mod running_guest;
mod setup;
mod shares;
mod signed_links;
pub mod storage;
mod ticker;
mod trap;
mod trigger_additions;
mod turns;
mod upstream_additions;

use std::ffi::OsStr;
use std::io;
use std::num::NonZero;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Resource as RlimitResource, getrlimit};
use thiserror::Error;
use tokio::io::AsyncWriteExt;
use tokio::sync::Semaphore;
use wasmtime::Engine;

pub use self::bindings::gateway::connector::outcome::{Explanation, UpstreamFault, Violation};
pub use self::cache::CacheKey;
pub use self::call::{Call, Settings};
pub use self::invocation::{Fault, Outcome};
pub use self::invocation_error::InvocationError;
pub use self::limits::{Awaited, CpuBudget, Limit, Limits};
pub use self::module::{CONTRACT_VERSION, Module};
pub use self::pack::{PackError, pack};
pub use self::setup::{CompileLimits, CompiledModules, Pool, Setup};
pub use self::trap::TrapReport;

use self::cache::{Cache, MAX_FILE_BYTES};
use self::child::{ChildError, ChildLimits};
use self::compile::CompileError;
use self::module::{ContractError, Linkers, Resources};
use self::native_code::NativeCode;
use self::shares::SharedPermits;
use self::ticker::Ticker;
use self::turns::{Turn, Turns};

/// Why a module cannot be loaded.
#[derive(Debug, Error)]
pub enum LoadError {
    /// It is larger than `compile.max_module_mb`.
    #[error("it has {size_mb} MB, over the limit of {limit_mb} MB (`compile.max_module_mb`)")]
    TooLarge {
        /// Its size, rounded up.
        size_mb: u64,
        /// The limit.
        limit_mb: u64,
    },
    /// It is a core module of WebAssembly.
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
    /// `describe` returned no manifest.
    #[error("`describe` failed: {0}")]
    Describe(#[from] InvocationError),
    /// The files of the cache.
    #[error("the cache of compiled modules cannot be written: {0}")]
    Io(#[from] std::io::Error),
}

/// Why the schemas of a module are refused.
#[derive(Debug, Error)]
pub enum TrialError {
    /// A schema is wrong, or costs too much.
    #[error("{0}")]
    Refused(String),
    /// The trial took more than its limits.
    #[error(
        "compiling and trying its schemas took more than {0}; make them smaller, or use fewer patterns and references"
    )]
    Limit(String),
    /// The process of the trial could not be run.
    #[error("its schemas cannot be tried: {0}")]
    Io(#[from] std::io::Error),
}

impl From<ChildError> for TrialError {
    fn from(error: ChildError) -> Self {
        match error {
            ChildError::Refused(reason) => Self::Refused(reason),
            ChildError::Limit(limit) => Self::Limit(limit),
            ChildError::Io(error) => Self::Io(error),
        }
    }
}

/// Limits of the process that tries the schemas of a module.
const TRIAL: ChildLimits = ChildLimits { memory_mb: 256, cpu_s: 10 };

/// Why the sandbox cannot start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The engine or its pool cannot be made.
    #[error("the WebAssembly engine does not start: {0:#}")]
    Engine(wasmtime::Error),
    /// The folder of the cache or the thread of the clock cannot be made.
    #[error("the sandbox cannot use its data directory: {0}")]
    Io(#[from] std::io::Error),
}

/// The engine, and everything that is needed to load modules.
pub struct Sandbox {
    engine: Engine,
    ticker: Arc<Ticker>,
    linkers: Linkers,
    cache: Cache,
    /// See [`Sandbox::sharing`].
    shared: Option<Cache>,
    turns: Turns,
    compile: CompileLimits,
    pool: Pool,
    resources: Resources,
    /// Limits the number of child processes to the number of cores.
    children: Semaphore,
}

/// A loaded module.
pub struct Loaded {
    /// The module, ready to run.
    pub module: Module,
    /// How its compiled form was obtained.
    pub compiled: Compiled,
    /// For [`Sandbox::try_schemas`] and [`Sandbox::keep`].
    pub record: Record,
}

/// How the compiled form of a module was obtained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// Size of the compiled form in bytes.
    pub bytes: u64,
    /// Time that the compilation took. `None` if the compiled form was in the cache.
    pub took: Option<Duration>,
}

/// The compiled form of a module that is not in the cache yet, and the schemas that it passed the
/// trial with.
pub struct Record {
    /// `None` if it is in the cache.
    artifact: Option<Vec<u8>>,
    /// SHA-256 of the schemas.
    tried: Option<[u8; 32]>,
    /// Lets the next load of the module begin when the compiled form is in the cache, or when the
    /// module is refused. `None` if it was in the cache.
    turn: Option<Turn>,
}

impl Sandbox {
    /// Starts the engine and its clock. `key` authenticates the compiled modules in the cache.
    ///
    /// # Errors
    /// If the address space of the pool, the folder of the cache or a thread cannot be obtained.
    pub fn start(setup: Setup, key: &CacheKey) -> Result<Self, StartError> {
        let engine = engine::runtime(&setup.pool, setup.memory_bytes).map_err(StartError::Engine)?;
        let ticker = Ticker::start(&engine)?;
        Ok(Self {
            linkers: Linkers::new(&engine).map_err(StartError::Engine)?,
            cache: Cache::open(&setup.data_dir, &engine, setup.compile.cache_mb << 20, key)?,
            shared: None,
            turns: Turns::default(),
            compile: setup.compile,
            resources: Resources {
                slots: SharedPermits::new(setup.pool.instances),
                connections: SharedPermits::new(connections_of_guests()),
            },
            pool: setup.pool,
            children: Semaphore::new(std::thread::available_parallelism().map_or(1, NonZero::get)),
            ticker,
            engine,
        })
    }

    /// Shares compiled modules with other processes of the same user: what is there is not compiled
    /// again, and what this sandbox compiles is added.
    ///
    /// # Errors
    /// If the folder of the cache cannot be made.
    pub fn sharing(mut self, modules: &CompiledModules) -> Result<Self, StartError> {
        let max_bytes = self.compile.cache_mb << 20;
        self.shared = Some(Cache::open(&modules.data_dir, &self.engine, max_bytes, &modules.key)?);
        Ok(self)
    }

    /// `true` if the compiled form of a module is there, so that its load takes a short time. A
    /// file that fails its check counts too.
    pub fn has_compiled(&self, digest: &str) -> bool {
        self.caches().any(|cache| cache.has(digest))
    }

    /// The caches, in the order in which they are read.
    fn caches(&self) -> impl Iterator<Item = &Cache> {
        std::iter::once(&self.cache).chain(&self.shared)
    }

    /// Loads a component. `digest` is its SHA-256 in hexadecimal digits.
    ///
    /// # Errors
    /// If it cannot be compiled within the limits, or breaks the contract.
    pub async fn load(&self, bytes: &[u8], digest: &str) -> Result<Loaded, LoadError> {
        let limit_mb = self.compile.max_module_mb;
        let size_mb = (bytes.len() as u64).div_ceil(1 << 20);
        if size_mb > limit_mb {
            return Err(LoadError::TooLarge { size_mb, limit_mb });
        }
        match bytes {
            // The layer field behind the version tells a component from a core module.
            [0, b'a', b's', b'm', _, _, 1, 0, ..] => {}
            [0, b'a', b's', b'm', 1, 0, 0, 0, ..] => return Err(LoadError::CoreModule),
            _ => return Err(LoadError::NotWasm),
        }
        let turn = self.turns.take(digest).await;
        let own = self.cache.get(digest);
        let is_kept = own.is_some();
        let cached = own.or_else(|| self.shared.as_ref()?.get(digest));
        let (artifact, tried, took) = match cached {
            Some(cached) => (cached.artifact, Some(cached.tried), None),
            None => {
                outline::check_outline(bytes, &self.pool)?;
                let began = Instant::now();
                (self.compile(bytes).await?, None, Some(began.elapsed()))
            }
        };
        let code = NativeCode::load(&self.engine, &artifact, self.cache.folder())
            .map_err(|error| ContractError::Artifact(format!("{error:#}")))?;
        let module = Module::link(code, &self.linkers, Arc::clone(&self.ticker), &self.resources)?;
        let compiled = Compiled { bytes: artifact.len() as u64, took };
        let turn = took.map(|_| turn);
        let record = Record { artifact: (!is_kept).then_some(artifact), tried, turn };
        Ok(Loaded { module, compiled, record })
    }

    /// Loads a component as [`Sandbox::load`] does, but compiles it in this process: the binary of the
    /// simulation is a test, which has no command that compiles.
    ///
    /// # Errors
    /// If it cannot be compiled, or breaks the contract.
    #[cfg(feature = "simulation")]
    pub fn load_here(&self, bytes: &[u8]) -> Result<Loaded, LoadError> {
        let failed = |error: wasmtime::Error| ContractError::Artifact(format!("{error:#}"));
        let artifact = compile::compile_here(bytes).map_err(failed)?;
        let code = NativeCode::load(&self.engine, &artifact, self.cache.folder()).map_err(failed)?;
        let module = Module::link(code, &self.linkers, Arc::clone(&self.ticker), &self.resources)?;
        let compiled = Compiled { bytes: artifact.len() as u64, took: None };
        Ok(Loaded { module, compiled, record: Record { artifact: None, tried: None, turn: None } })
    }

    async fn compile(&self, bytes: &[u8]) -> Result<Vec<u8>, LoadError> {
        // The semaphore is never closed, so this does not fail.
        let _permit = self.children.acquire().await;
        let folder = self.cache.workspace()?;
        let (source, artifact) = (folder.path("module.wasm"), folder.path("module.cwasm"));
        write(&source, bytes).await?;
        compile::compile_in_child(&source, &artifact, &self.compile).await?;
        let reading = tokio::task::spawn_blocking(move || files::read_regular(&artifact, MAX_FILE_BYTES)).await;
        // A panic of the task is an error here, so that it does not end the caller.
        Ok(reading.map_err(io::Error::other)??)
    }

    /// Compiles and tries the schemas of a module in a child process, unless its cached form passed
    /// the trial with the same schemas. The child runs `command` of this binary with the file that
    /// contains `schemas`.
    ///
    /// # Errors
    /// If a schema is wrong or too costly.
    pub async fn try_schemas(&self, record: &mut Record, command: &str, schemas: &[u8]) -> Result<(), TrialError> {
        let digest = store::digest::sha256(schemas);
        if record.tried == Some(digest) {
            return Ok(());
        }
        let _permit = self.children.acquire().await;
        let folder = self.cache.workspace()?;
        let file = folder.path("schemas.json");
        write(&file, schemas).await?;
        child::run_child([OsStr::new(command), OsStr::new("--input"), file.as_os_str()], TRIAL).await?;
        record.tried = Some(digest);
        Ok(())
    }

    /// Stores the compiled form of a module in the cache. Call it when the module is accepted, so
    /// that a refused module leaves nothing behind.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn keep(&self, digest: &str, record: Record) -> std::io::Result<()> {
        let Record { artifact: Some(artifact), tried: Some(tried), turn } = record else { return Ok(()) };
        let cached = cache::Cached { artifact, tried };
        self.cache.put(digest, &cached)?;
        match &self.shared {
            Some(shared) if turn.is_some() => shared.put(digest, &cached),
            _ => Ok(()),
        }
    }

    /// The manifest of a module, and what it declares in addition.
    ///
    /// # Errors
    /// If `describe` traps or breaks a limit.
    pub async fn describe(
        &self,
        module: &Module,
        call: Call,
        limits: Limits,
    ) -> Result<(contract::Manifest, contract::Additions), InvocationError> {
        module.describe(call, limits).await
    }
}

/// Writes a file of a compilation's folder, off the threads that serve.
async fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let path = path.to_owned();
    let made = tokio::task::spawn_blocking(move || files::create_regular(&path)).await.map_err(io::Error::other)?;
    let mut file = tokio::fs::File::from_std(made?);
    file.write_all(content).await?;
    file.flush().await
}

/// The number of connections whose responses guests may hold together: three sixteenths of the
/// descriptors that the process may open. Most of the others are for callers, and the rest for the
/// store and files.
fn connections_of_guests() -> u32 {
    let descriptors = getrlimit(RlimitResource::Nofile).maximum.unwrap_or(u64::from(u32::MAX));
    u32::try_from(descriptors / 16 * 3).unwrap_or(u32::MAX)
}

/// Compiles one module. This is the work of the child process.
pub fn compile_child(source: &Path, artifact: &Path, limits: ChildLimits) -> std::process::ExitCode {
    compile::child(source, artifact, limits)
}
