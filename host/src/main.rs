//! `connector-gateway`: see `connector-gateway --help`.

use std::process::ExitCode;

use clap::Parser;
use connector_gateway::cli::{Arguments, run};
use mimalloc::MiMalloc;

/// A call allocates often and little, and frees on another thread than it allocated on.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    run(&Arguments::parse())
}
