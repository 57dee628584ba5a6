//! `wasmtime serve` as a peer, if it is installed. Its component (`host/benches/serve`) does the
//! job of the thin operation, in a new instance for each call, as the gateway does it.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

use support::process::Process;

use crate::role::Peer;
use crate::settings::Outcome;

/// The core module, which `make bench` builds.
const CORE_MODULE: &str = "../target/wasm/wasm32-unknown-unknown/connector/bench_serve.wasm";

/// It prints this before its address as soon as it accepts connections.
const GREETING: &str = "Serving HTTP on http://";

/// Starts it in front of an upstream, with its component in `folder`. Returns `None` if it is not
/// installed.
///
/// # Errors
/// When the component was not built, or cannot be encoded.
pub(crate) fn start(upstream: SocketAddr, folder: &Path) -> Outcome<Option<Peer>> {
    match Command::new("wasmtime").arg("--version").stdout(Stdio::null()).status() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let core = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(CORE_MODULE))?;
    let component = folder.join("serve.wasm");
    fs::write(&component, sandbox::pack(&core)?)?;
    let mut command = Command::new("wasmtime");
    command
        .args(["serve", "--addr", "127.0.0.1:0", "-Scli", "--env"])
        .arg(format!("UPSTREAM={upstream}"))
        .arg(component);
    let mut process = Process::start(&mut command);
    let address = process.wait_for_line(GREETING).trim_end_matches('/').parse()?;
    Ok(Some(Peer { process, address }))
}
