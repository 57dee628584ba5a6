//! The parts of `make test-all`: a test that needs an installation is ignored, and the make target
//! that it names runs it.

use std::fs;
use std::path::{Path, PathBuf};

use support::module;

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let found = entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] });
    found.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

/// The make target of an ignored test selects it by the name of a module that it is in. A name in
/// two parts would run the test without what it needs.
#[test]
fn every_ignored_test_is_in_a_module_with_the_name_of_its_part_and_of_no_other() {
    let root = module::root().canonicalize().unwrap();
    let makefile = fs::read_to_string(root.join("Makefile")).unwrap();
    let parts = makefile.lines().find_map(|line| line.strip_prefix("PARTS := ")).unwrap();
    let parts: Vec<&str> = parts.split(' ').collect();
    let mut counts = vec![0; parts.len()];
    // In pieces, so that this file has none of them.
    let ignored = ["#[", "ignore"].concat();
    let (named, of_macro) = (format!("{ignored} = \"make test-"), format!("{ignored} = $make]"));
    for file in ["tests/product", "tests/conformance"].iter().flat_map(|folder| sources(&root.join(folder))) {
        let text = fs::read_to_string(&file).unwrap();
        let path = file.strip_prefix(&root).unwrap().with_extension("");
        let modules: Vec<&str> = path.iter().skip(2).map(|name| name.to_str().unwrap()).collect();
        let own: Vec<&str> = modules.iter().copied().filter(|name| parts.contains(name)).collect();
        assert!(own.len() < 2, "{} is in the parts {own:?}", file.display());
        for part in text.split(&*named).skip(1).map(|rest| rest.split('"').next().unwrap()) {
            assert_eq!(own, [part], "{}", file.display());
            counts[parts.iter().position(|name| *name == part).unwrap()] += 1;
        }
        let with_part = text.matches(&*named).count() + text.matches(&*of_macro).count();
        assert_eq!(text.matches(&*ignored).count(), with_part, "{}: it names its make target", file.display());
    }
    for (part, count) in parts.iter().zip(counts) {
        assert!(count > 0, "the part {part} has tests");
        assert!(makefile.contains(&format!("\ntest-{part}: ")), "make test-{part}");
    }
}
