//! The conformance suite of the protocol's authors. `make test-clients` installs it.
//!
//! The suite has no key, so a forwarder adds one. The guest `mcp_conformance` has the tools that
//! the suite calls. A file of each revision lists the scenarios and checks that fail, each with the
//! reason. The suite itself fails if one that is listed passes.

use std::path::PathBuf;
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use support::programs::Programs;
use support::setup::KEY;
use support::{Balancer, Reply, Setup, Upstream, module};

use crate::mcp::{STATELESS, WITH_INITIALIZE};

/// An image of one pixel.
const IMAGE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

fn baseline(revision: &str) -> PathBuf {
    module::root().join("tests/clients").join(format!("mcp_conformance_{revision}.yaml"))
}

/// Runs each scenario that the suite has for a revision.
fn run(revision: &str) {
    let service = Upstream::start();
    service
        .reply("/text", Reply::typed("text/plain", "This is a simple text response for testing."))
        .reply("/image", Reply::typed("image/png", STANDARD.decode(IMAGE).unwrap()))
        .reply("/error", Reply::json(json!({"reason": "This tool returns an error for testing."})).status(400));
    let forwarder = Balancer::start();
    forwarder.add_key(KEY);
    let origins = format!("allowed_origins = [\"http://localhost:{0}\", \"http://127.0.0.1:{0}\"]", forwarder.port());
    let setup = Setup::new().general(&origins).guest("mcp_conformance");
    let gateway = setup.upstream("mcp_conformance", "api", &service.url()).start();
    forwarder.forward_to(&[&gateway]);
    let programs = Programs::of("clients", &format!("mcp-suite-{revision}"));
    programs.copy(&["conformance_on_old_node.mjs"]);
    let mut suite = Command::new("node");
    suite.args(["--import", "./conformance_on_old_node.mjs"]);
    suite.arg(programs.package("@modelcontextprotocol/conformance").join("dist/index.js"));
    suite.args(["server", "--suite", "all", "--spec-version", revision, "--timeout", "10000"]);
    suite.args(["--url", &format!("{}/mcp/mcp_conformance", forwarder.url()), "--output-dir", "results"]);
    programs.run(suite.arg("--expected-failures").arg(baseline(revision)));
}

#[test]
#[ignore = "make test-clients"]
fn the_conformance_suite_passes_for_the_newest_revision() {
    run(STATELESS);
}

#[test]
#[ignore = "make test-clients"]
fn the_conformance_suite_passes_for_the_revision_with_initialize() {
    run(WITH_INITIALIZE);
}

#[test]
fn every_scenario_that_may_fail_has_a_reason() {
    for revision in [STATELESS, WITH_INITIALIZE] {
        let text = std::fs::read_to_string(baseline(revision)).unwrap();
        let mut entries = 0;
        // The reason is a comment above the entries that it is for.
        let mut reason = false;
        for line in text.lines().map(str::trim).skip_while(|line| *line != "server:").skip(1) {
            match line.strip_prefix("- ") {
                Some(_) => {
                    assert!(reason, "{revision}: {line} has no reason");
                    entries += 1;
                }
                None => reason = line.starts_with("# ") && (reason || line.len() > 20),
            }
        }
        assert!(entries > 0, "{revision}");
    }
}
