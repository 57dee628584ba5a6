//! `make bench`: the gateway's performance figures, each compared with a peer in the same run. A
//! full run writes them to `host/docs/figures.md`.
//!
//!     make bench T="[--quick] [SECTION]"
//!
//! All connections stay on loopback. The exit code is 0 when every section could be measured, even
//! if a goal is not met: figures depend on the machine, a failed request does not.
//!
//! # Layout
//! - [`settings`]: the settings of a run, and the result of its parts
//! - [`throughput`], [`stages`], [`variants`], [`connections`], [`independent`], [`growth`],
//!   [`invocation`], [`languages`], [`shaping`], [`memory`], [`startup`], [`swap`], [`refresh`],
//!   [`lists`], [`console`], [`agents`], [`records`], [`budgets`], [`fleet`], [`pushes`],
//!   [`triggers`]: the sections
//! - [`train`]: the calls by which `make dist` optimises the gateway
//! - [`contest`]: rounds in which servers take turns
//! - [`documents`] and [`values`]: the shaped documents, and the peer that shapes them
//! - [`table`]: figures and the table that they are printed in
//! - [`machine`]: CPU time and memory of processes
//! - [`gateway`]: the gateway under test
//! - [`upstream`], [`proxy`], [`nginx`] and [`wasmtime_serve`]: its peers
//! - [`role`]: how this binary starts itself as one of the first two
//! - [`connection`] and [`load`]: calls. The peers and the gateway are started by the product
//!   tests' library `support`, which blocks, so a section starts them before it enters the runtime.

mod agents;
mod budgets;
mod connection;
mod connections;
mod console;
mod contest;
mod documents;
mod fleet;
mod gateway;
mod growth;
mod independent;
mod invocation;
mod languages;
mod lists;
mod load;
mod machine;
mod memory;
mod nginx;
mod proxy;
mod pushes;
mod records;
mod refresh;
mod role;
mod settings;
mod shaping;
mod stages;
mod startup;
mod swap;
mod table;
mod throughput;
mod train;
mod triggers;
mod upstream;
mod values;
mod variants;
mod wasmtime_serve;

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::thread;
use std::time::Instant;

use tokio::runtime::Runtime;

use crate::settings::{Outcome, Settings};
use crate::table::Figure;

type Section = fn(&Runtime, &Settings) -> Outcome<Vec<Figure>>;

const SECTIONS: [(&str, Section); 21] = [
    ("throughput", throughput::measure),
    ("stages", stages::measure),
    ("variants", variants::measure),
    ("connections", connections::measure),
    ("independent", |_, settings| independent::measure(settings)),
    ("agents", agents::measure),
    ("records", records::measure),
    ("budgets", budgets::measure),
    ("fleet", |_, settings| fleet::measure(settings)),
    ("pushes", pushes::measure),
    ("triggers", |_, settings| triggers::measure(settings)),
    ("growth", growth::measure),
    ("invocation", |_, settings| invocation::measure(settings)),
    ("languages", |_, settings| languages::measure(settings)),
    ("shaping", |_, settings| shaping::measure(settings)),
    ("memory", memory::measure),
    ("startup", |_, settings| startup::measure(settings)),
    ("swap", swap::measure),
    ("refresh", refresh::measure),
    ("lists", |_, settings| lists::measure(settings)),
    ("console", |_, settings| console::measure(settings)),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // Cargo adds `--bench`.
    let words: Vec<&str> = arguments.iter().map(String::as_str).filter(|word| *word != "--bench").collect();
    let result = match words.as_slice() {
        [role::ROLE, upstream::NAME] => upstream::run(None),
        [role::ROLE, upstream::NAME, roots, protocol] => upstream::run(Some((*roots, *protocol))),
        [role::ROLE, proxy::NAME, address] => address.parse().map_err(Into::into).and_then(proxy::run),
        [role::ROLE, independent::NEIGHBOUR] => independent::run_neighbour(),
        [train::NAME] => load_runtime().and_then(|runtime| train::run(&runtime)),
        _ => run(&Settings::new(&arguments)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("figures: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(settings: &Settings) -> Outcome<()> {
    let runtime = load_runtime()?;
    let asked_for = |name: &str| settings.only.as_deref().is_none_or(|only| name.contains(only));
    if !SECTIONS.iter().any(|(name, _)| asked_for(name)) {
        let names = SECTIONS.map(|(name, _)| name).join(", ");
        return Err(format!("no section has this name; the sections are {names}").into());
    }
    let mut figures = Vec::new();
    let mut failed = Vec::new();
    for (name, section) in SECTIONS.into_iter().filter(|(name, _)| asked_for(name)) {
        let began = Instant::now();
        // A separate thread, because the library that starts processes panics when it cannot.
        match thread::scope(|scope| scope.spawn(|| section(&runtime, settings)).join()) {
            Ok(Ok(measured)) => figures.extend(measured),
            Ok(Err(error)) => failed.push(format!("{name}: {error}")),
            Err(_) => failed.push(format!("{name}: failed with the message above")),
        }
        eprintln!("{name}: {} s", began.elapsed().as_secs());
    }
    let report = format!("{}\n{}\n", table::text(&figures), machine::facts());
    println!("{report}\n{RATIOS}");
    if !failed.is_empty() {
        return Err(failed.join("\n").into());
    }
    if settings.is_full() {
        write_page(&report)?;
    }
    Ok(())
}

/// The runtime of the load. It has one thread, so that the load takes as little CPU time as
/// possible from the measured process.
fn load_runtime() -> Outcome<Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

/// How to read the ratios of the table.
const RATIOS: &str = "If gateway and peer took turns, a ratio is the median of the ratios of paired rounds. It need not follow from the \
     two values next to it, which are the medians of all rounds.";

/// Writes the page of the documentation.
fn write_page(report: &str) -> Outcome<()> {
    let commit = Command::new("git").args(["rev-parse", "--short", "HEAD"]).output()?;
    let commit = String::from_utf8(commit.stdout)?;
    let page = format!(
        "# Figures\n\nAs `make bench` printed them at commit {}. Each figure is compared with a peer that was measured in the same run. \
         Absolute figures depend on the machine. {RATIOS} All programs in Rust are optimised as `make dist` does it, by a profile of the \
         gateway's calls.\n\n```text\n{report}```\n",
        commit.trim()
    );
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/figures.md");
    fs::create_dir_all(path.parent().unwrap_or(&path))?;
    fs::write(&path, page)?;
    println!("written to {}", path.display());
    Ok(())
}
