//! Entries of a folder of modules that are no module: each costs itself, and no call waits for it.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::json;
use support::signer::signature_file;
use support::{Gateway, Setup, module};

fn pipe(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
}

/// A gateway that serves a connector, with bad entries that were there before it started.
fn gateway() -> Gateway {
    let home = Setup::new().module("liar", module::liar("version=1.0.0")).prepare();
    let folder = home.modules();
    for name in ["one", "two", "three"] {
        fs::write(folder.join(format!("{name}.wasm")), b"no module").unwrap();
        pipe(&signature_file(&folder.join(format!("{name}.wasm"))));
    }
    pipe(&folder.join("pipe.wasm"));
    symlink("circle.wasm", folder.join("circle.wasm")).unwrap();
    symlink("/etc/hostname", folder.join("away.wasm")).unwrap();
    fs::write(folder.join(std::ffi::OsStr::from_bytes(b"latin-\xe9.wasm")), b"no module").unwrap();
    home.start()
}

#[test]
fn named_pipes_links_and_bad_names_cost_only_themselves() {
    let gateway = gateway();
    for (file, words) in [
        ("one.wasm", "its signature is not read: it is not a regular file"),
        ("pipe.wasm", "it is not a regular file"),
        ("circle.wasm", "its symbolic links lead in a circle"),
        ("away.wasm", "leads out of its folder"),
        ("latin-\u{fffd}.wasm", "its name is not UTF-8"),
    ] {
        let reason = gateway.wait_for_refusal(file);
        assert!(reason.contains(words), "{file}: {reason}");
        let lines =
            gateway.log().into_iter().filter(|line| line["message"] == "module refused" && line["file"] == file);
        assert_eq!(lines.count(), 1, "{file}");
    }
    let began = Instant::now();
    gateway.call("liar/version", json!({})).ok();
    gateway.home().put("liar", &module::liar("version=2.0.0"));
    gateway.wait_for_version("liar", "2.0.0");
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    // Later entries are no different.
    symlink("again.wasm", gateway.home().module("again")).unwrap();
    gateway.wait_for_refusal("again.wasm");
    let gateway = gateway.start_again();
    assert_eq!(gateway.connector("liar").unwrap()["version"], "2.0.0");
    fs::remove_file(gateway.home().module("circle")).unwrap();
    gateway.home().put("circle", b"no module");
    support::wait_for("the new file", || {
        let reason = gateway.refusal("circle.wasm")?["reason"].to_string();
        (!reason.contains("circle;")).then_some(())
    });
}

#[test]
fn links_inside_of_the_folder_are_followed_as_in_a_volume_of_kubernetes() {
    let home = Setup::new().prepare();
    let folder = home.modules();
    for version in ["1.0.0", "2.0.0"] {
        fs::create_dir(folder.join(format!("..{version}"))).unwrap();
        let module = module::liar(&format!("version={version}"));
        fs::write(folder.join(format!("..{version}/liar.wasm")), module).unwrap();
    }
    symlink("..1.0.0", folder.join("..data")).unwrap();
    symlink("..data/liar.wasm", folder.join("liar.wasm")).unwrap();
    let gateway = home.start();
    assert_eq!(gateway.connector("liar").unwrap()["version"], "1.0.0");
    symlink("..2.0.0", folder.join("..next")).unwrap();
    fs::rename(folder.join("..next"), folder.join("..data")).unwrap();
    gateway.wait_for_version("liar", "2.0.0");
}
