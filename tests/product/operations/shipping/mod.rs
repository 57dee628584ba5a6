//! The shipped files: the archive and its signature, the unit for systemd, the image, the Compose
//! file with its proxy, the chart, and the alert rules. `make test-shipping` installs the programs
//! that read these.

mod alerts;
mod chart;
mod confined;
mod container;
pub(crate) mod packing;
mod release;
mod situations;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use support::{module, process};

/// A file or folder of `host/deploy`.
fn place(name: &str) -> PathBuf {
    module::root().join("host/deploy").join(name)
}

fn text(name: &str) -> String {
    fs::read_to_string(place(name)).unwrap()
}

/// The time in which running calls end, if the configuration does not set it.
const DRAIN_S: u64 = 30;

/// The highest exposure that `systemd-analyze security` may report. Most services have 9.
const MAX_EXPOSURE: f64 = 2.0;

#[test]
#[ignore = "make test-shipping"]
fn the_unit_for_systemd_is_hardened_and_leaves_time_to_drain() {
    let unit = text("connector-gateway.service");
    let values = |key: &str| -> Vec<String> {
        let prefix = format!("{key}=");
        unit.lines().filter_map(|line| line.strip_prefix(&prefix)).map(str::to_owned).collect()
    };
    assert_eq!(values("MemoryDenyWriteExecute"), [""; 0], "compiled connectors are mapped as executable code");
    assert_eq!((values("DynamicUser"), values("CapabilityBoundingSet")), (vec!["yes".into()], vec![String::new()]));
    assert!(values("TimeoutStopSec")[0].parse::<u64>().unwrap() > DRAIN_S);
    let mut analyze = Command::new("systemd-analyze");
    analyze.args(["security", "--offline=true", "--no-pager"]).arg(place("connector-gateway.service"));
    let report = process::run(&mut analyze);
    let overall = report.stdout.lines().find_map(|line| line.split_once("connector-gateway.service: "));
    let exposure = overall.and_then(|(_, rest)| rest.split(' ').next()?.parse::<f64>().ok());
    assert!(exposure.is_some_and(|exposure| exposure <= MAX_EXPOSURE), "{}{}", report.stdout, report.stderr);
}
