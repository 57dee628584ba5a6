//! `connector-gateway`: see `connector-gateway --help`.

use std::process::ExitCode;

use clap::Parser;
use connector_gateway::{Arguments, run};
use mimalloc::MiMalloc;

/// A call makes many small allocations, and frees them on other threads.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    run(&Arguments::parse())
}
