//! Every guest has a test, and every operation of the hostile guest has one too.

use std::fs;
use std::path::{Path, PathBuf};

use support::{Upstream, module};

/// The guests that only the benchmark uses.
const OF_THE_BENCHMARK: &[&str] = &["bench_composed"];

/// The code below a folder as one text, without comments and without this file.
fn code(folder: &str) -> String {
    let files = files(&module::root().join(folder));
    let files = files.into_iter().filter(|path| !path.ends_with("guest_coverage.rs"));
    let text: String = files.map(|path| fs::read_to_string(path).unwrap()).collect();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).flat_map(|line| [line, "\n"]).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|end| end == "rs"))
        .collect()
}

/// The names of the guests: folders with sources, and modules as text.
fn guests() -> Vec<String> {
    let entries = fs::read_dir(module::root().join("tests/guests")).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
}

/// Returns `true` if the code loads this guest: as a connector of a gateway, or as a module.
fn loads(code: &str, guest: &str) -> bool {
    let by_name = ["guest(", "text(", "refused_with(", "refused_for_its_memory(", "Author::of("];
    by_name.iter().any(|function| code.contains(&format!("{function}\"{guest}\"")))
        // These two have separate functions, because their modules are altered.
        || ["liar", "account"].contains(&guest) && code.contains(&format!("module::{guest}("))
}

#[test]
fn every_guest_has_its_test() {
    let (tests, benchmark) = (code("tests/product"), code("host/benches/figures"));
    for guest in guests() {
        if OF_THE_BENCHMARK.contains(&guest.as_str()) {
            assert!(benchmark.contains(&format!("\"{guest}\"")), "the benchmark does not use the guest `{guest}`");
            continue;
        }
        assert!(loads(&tests, &guest), "no test loads the guest `{guest}`");
    }
}

#[test]
fn every_operation_of_the_hostile_guest_is_called() {
    let gateway = support::hostile::gateway(&Upstream::start(), "");
    let tests = code("tests/product");
    let hostile = gateway.connector("hostile").unwrap();
    for operation in hostile["operations"].as_array().unwrap() {
        let path = operation["path"].as_str().unwrap();
        assert!(tests.contains(&format!("hostile/{path}\"")), "no test calls hostile/{path}");
    }
}
