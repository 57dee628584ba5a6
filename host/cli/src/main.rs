//! `connector-gateway`: see `connector-gateway --help`.

use std::process::ExitCode;

use clap::Parser;
use cli::{Arguments, run};
use mimalloc::MiMalloc;

/// Calls make many small allocations and free them on other threads. mimalloc is fast at both.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    memory::return_freed_memory();
    run(&Arguments::parse())
}
