//! `connector-gateway`: see `connector-gateway --help`.

use std::process::ExitCode;

use clap::Parser;
use connector_gateway::cli::arguments::Arguments;
use connector_gateway::cli::run::run;

fn main() -> ExitCode {
    run(&Arguments::parse())
}
