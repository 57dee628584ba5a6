//! The settings of a sandbox.

use std::path::PathBuf;

use crate::CacheKey;

/// The settings of a sandbox.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The pool of instances.
    pub pool: Pool,
    /// The largest memory limit of all connectors, in bytes. Each slot of the pool reserves this
    /// address space.
    pub memory_bytes: usize,
    /// Limits of the compiler process.
    pub compile: CompileLimits,
    /// Folder for the cache of compiled modules.
    pub data_dir: PathBuf,
}

/// A folder of compiled modules that the same user owns, with the key of their message
/// authentication codes.
#[derive(Debug)]
pub struct CompiledModules {
    /// The folder in which the folder of compiled modules is.
    pub data_dir: PathBuf,
    /// The key.
    pub key: CacheKey,
}

/// The size of the pool in which modules run. A slot takes only address space until an instance
/// uses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Maximum number of concurrent invocations, over all connectors.
    pub instances: u32,
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
    /// Maximum size of all compiled modules in the cache, in MiB. The least recently used ones are
    /// removed.
    pub cache_mb: u64,
}

impl Default for Pool {
    fn default() -> Self {
        Self { instances: 512, core_instances_per_component: 64 }
    }
}

impl Default for CompileLimits {
    fn default() -> Self {
        Self { memory_mb: 2048, cpu_s: 60, max_module_mb: 64, cache_mb: 1024 }
    }
}
