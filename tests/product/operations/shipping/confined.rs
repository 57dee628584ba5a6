//! A gateway as the image, the chart and the unit run it: as a user without rights, on a root that
//! cannot be written to, without a capability.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::Command;

use support::process::{self, Process};
use support::setup::KEY;
use support::upstream::free_port;
use support::{Client, wait_for};
use tempfile::TempDir;

/// The user of the image and of the chart.
const USER: u32 = 10001;

/// Makes every file system but the folder `data` read-only, and becomes the user.
const CONFINE: &str = "mount --bind \"$1\" \"$1\"
mount --bind \"$1/data\" \"$1/data\"
mount -o remount,bind,ro \"$1\"
mount -o remount,bind,ro /
if touch \"$1/refused\" 2>/dev/null; then echo 'the root can be written to'; exit 9; fi
cd \"$1/data\"
exec setpriv --reuid \"$2\" --regid \"$2\" --clear-groups --bounding-set -all --inh-caps -all --no-new-privs \
  \"$1/connector-gateway\" serve";

#[test]
#[ignore = "make test-shipping"]
fn a_gateway_serves_on_a_read_only_root_without_a_capability() {
    let can_confine = Command::new("unshare").args(["--mount", "setpriv", "--version"]).output();
    let can_confine = can_confine.is_ok_and(|output| output.status.success());
    assert!(can_confine, "only root can confine a process, with `unshare` and `setpriv` of the package util-linux");
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    process::copy_program(&process::binary(), &at("connector-gateway"));
    for name in ["data", "connectors"] {
        fs::create_dir(at(name)).unwrap();
    }
    chown(at("data"), Some(USER), Some(USER)).unwrap();
    let connector = "preprint_archive.wasm";
    fs::copy(process::binary().with_file_name("connectors").join(connector), at("connectors").join(connector)).unwrap();

    let port = free_port();
    let mut confined = Command::new("unshare");
    confined.args(["--mount", "bash", "-ec", CONFINE, "confine"]).arg(folder.path()).arg(USER.to_string());
    confined.env("GATEWAY__LISTEN", format!("127.0.0.1:{port}")).env("GATEWAY_BOOTSTRAP_KEY", KEY);
    let mut gateway = Process::start(&mut confined);
    let client = Client::new(&format!("http://127.0.0.1:{port}")).with_key(KEY);
    wait_for("the gateway to be ready", || {
        assert!(gateway.ended().is_none(), "{:?}", gateway.lines());
        let request = client.request("GET", "/readyz").try_send();
        request.is_ok_and(|answer| answer.status == 200).then_some(())
    });
    client.call("preprint_archive/get_categories", serde_json::json!({})).ok();
    // `exec` and `unshare` keep the id of the process.
    let status = fs::read_to_string(format!("/proc/{}/status", gateway.id())).unwrap();
    for line in ["CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1"] {
        assert!(status.contains(line), "{line} in {status}");
    }
    assert!(status.contains(&format!("Uid:\t{USER}\t")), "{status}");
    gateway.ask_to_end();
    gateway.wait();
}
