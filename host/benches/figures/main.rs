//! `make bench`: the figures that the gateway is held to, each measured beside a peer in the same run.
//!
//!     cargo bench -p connector-gateway --bench figures -- [--quick] [SECTION]
//!
//! Nothing leaves loopback. The exit code says whether everything worked, not whether every goal is met: a figure depends on
//! the machine, a failed request does not.
//!
//! # Layout
//! - [`throughput`], [`invocation`], [`shaping`], [`memory`], [`startup`], [`swap`]: the sections
//! - [`documents`] and [`values`]: what is shaped, and the peer that shapes it
//! - [`table`]: figures and how they are printed; [`machine`]: what the system tells of processes
//! - [`gateway`]: the gateway under test; [`upstream`] and [`proxy`]: the other [`role`]s of this binary; [`nginx`]
//! - [`process`]: processes that surely end; [`client`] and [`load`]: calls

mod client;
mod documents;
mod gateway;
mod invocation;
mod load;
mod machine;
mod memory;
mod nginx;
mod process;
mod proxy;
mod role;
mod shaping;
mod startup;
mod swap;
mod table;
mod throughput;
mod upstream;
mod values;

use std::process::ExitCode;
use std::time::Duration;

use tokio::runtime::Runtime;

use crate::table::Figure;

/// Whatever goes wrong ends a section, with a sentence.
type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

type Section = fn(&Runtime, &Settings) -> Outcome<Vec<Figure>>;

const SECTIONS: [(&str, Section); 6] = [
    ("throughput", |runtime, settings| runtime.block_on(throughput::measure(settings))),
    ("invocation", |_, settings| invocation::measure(settings)),
    ("shaping", |_, settings| shaping::measure(settings)),
    ("memory", |runtime, settings| runtime.block_on(memory::measure(settings))),
    ("startup", |runtime, settings| runtime.block_on(startup::measure(settings))),
    ("swap", |runtime, settings| runtime.block_on(swap::measure(settings))),
];

/// How a run is to be made.
struct Settings {
    /// Short rounds, for whoever changes something and wants to know at once.
    quick: bool,
    /// The one section to run.
    only: Option<String>,
}

impl Settings {
    fn new(arguments: &[String]) -> Self {
        let variable = std::env::var_os("BENCH_QUICK").is_some_and(|value| !value.is_empty() && value != "0");
        Self {
            quick: variable || arguments.iter().any(|argument| argument == "--quick"),
            // Cargo adds `--bench`.
            only: arguments.iter().find(|argument| !argument.starts_with('-')).cloned(),
        }
    }

    fn pick<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }

    fn time(&self, full: f64, quick: f64) -> Duration {
        Duration::from_secs_f64(self.pick(full, quick))
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = role::play(&arguments).unwrap_or_else(|| run(&Settings::new(&arguments)));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("figures: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(settings: &Settings) -> Outcome<()> {
    // One thread, so that making the load takes as little as possible from what is measured.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let asked_for = |name: &str| settings.only.as_deref().is_none_or(|only| name.contains(only));
    if !SECTIONS.iter().any(|(name, _)| asked_for(name)) {
        let names = SECTIONS.map(|(name, _)| name).join(", ");
        return Err(format!("there is no such section; the sections are {names}").into());
    }
    let mut figures = Vec::new();
    let mut failed = Vec::new();
    for (name, section) in SECTIONS.into_iter().filter(|(name, _)| asked_for(name)) {
        eprintln!("{name}");
        match section(&runtime, settings) {
            Ok(measured) => figures.extend(measured),
            Err(error) => failed.push(format!("{name}: {error}")),
        }
    }
    table::print(&figures);
    println!("{}", machine::facts());
    if failed.is_empty() { Ok(()) } else { Err(failed.join("\n").into()) }
}
