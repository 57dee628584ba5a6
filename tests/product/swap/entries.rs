//! Entries of a folder of modules with unusual names and links.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use support::{Setup, module};

#[test]
fn a_name_that_is_not_utf_8_costs_only_its_own_entry() {
    let home = Setup::new().module("liar", module::liar("version=1.0.0")).prepare();
    fs::write(home.modules().join(OsStr::from_bytes(b"latin-\xe9.wasm")), b"no module").unwrap();
    let gateway = home.start();
    gateway.wait_for_refusal("latin-\u{fffd}.wasm");
    gateway.home().put("liar", &module::liar("version=2.0.0"));
    gateway.wait_for_version("liar", "2.0.0");
    let gateway = gateway.start_again();
    assert_eq!(gateway.connector("liar").unwrap()["version"], "2.0.0");
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
