//! The page about three gateways with PostgreSQL: its commands, run as they stand there.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use support::process::{self, Process};
use support::upstream::free_port;
use support::{Store, wait_for};
use tempfile::TempDir;

use super::text;

/// The database of the page.
const DATABASE: &str = "postgres://gateway:password@database.example.com/gateway";

#[test]
fn three_gateways_serve_one_service_after_the_commands_of_the_page() {
    let store = Store::postgres();
    let folder = TempDir::new().unwrap();
    symlink(process::binary(), folder.path().join("connector-gateway")).unwrap();
    // The archive has the connectors next to the binary. One of them is enough here.
    let connectors = folder.path().join("connectors");
    fs::create_dir(&connectors).unwrap();
    let name = "preprint_archive.wasm";
    fs::copy(process::binary().with_file_name("connectors").join(name), connectors.join(name)).unwrap();

    let page = text("three-gateways.md");
    let blocks: Vec<&str> = page.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert_eq!(blocks.len(), 3);
    let mut script = blocks.join("echo\n").replace(DATABASE, store.database().url());
    let ports = [1, 2, 3].map(|number| (number, free_port()));
    for (number, port) in ports {
        script = script.replace(&format!(":808{number}"), &format!(":{port}"));
    }
    // The loops name the ports by their number.
    let choose = ports.map(|(number, port)| format!("port_{number}={port}\n")).concat();
    let script =
        choose + &script.replace(":808$number", ":$(eval echo \\$port_$number)") + "echo\necho the end\nwait\n";
    let mut shell = Command::new("bash");
    shell.args(["-euo", "pipefail", "-c", &script]).current_dir(folder.path());
    shell.env("GATEWAY__SHIPPED_DIR", &connectors);
    let mut gateways = Process::start(&mut shell);
    wait_for("the commands to end", || {
        assert!(gateways.ended().is_none(), "{:?}", gateways.lines());
        gateways.lines().iter().any(|line| line == "the end").then_some(())
    });
    let lines = gateways.lines().join("\n");
    for number in 1..=3 {
        let row = lines.lines().find(|line| line.contains(&format!(" gateway-{number} ")));
        assert!(row.is_some_and(|row| row.contains("ready")), "{lines}");
    }
    assert!(lines.contains("{\"categories\":["), "{lines}");
}
