//! Every guest has a test, and every operation of the hostile guest has one too.

use std::fs;
use std::path::{Path, PathBuf};

use support::{Provider, module};

/// The sources of all tests and benchmarks that use guests, as one text.
fn tests() -> String {
    let folders = [module::root().join("tests/product"), module::root().join("host/benches")];
    let files = folders.iter().flat_map(|folder| files(folder)).filter(|path| !path.ends_with("guests.rs"));
    files.map(|path| fs::read_to_string(path).unwrap()).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    // A missing folder has no tests.
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|end| end == "rs"))
        .collect()
}

#[test]
fn every_guest_has_its_test() {
    let tests = tests();
    for entry in fs::read_dir(module::root().join("tests/guests")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(tests.contains(&format!("\"{name}\"")), "no test uses the guest `{name}`");
    }
}

#[test]
fn every_operation_of_the_hostile_guest_is_called() {
    let gateway = crate::hostile::gateway(&Provider::start(), "");
    let tests = tests();
    let hostile = gateway.connector("hostile").unwrap();
    for operation in hostile["operations"].as_array().unwrap() {
        let path = operation["path"].as_str().unwrap();
        assert!(tests.contains(&format!("hostile/{path}\"")), "no test calls hostile/{path}");
    }
}
