//! New projects in JavaScript and Python: their own tests, which replay the recording of the
//! template.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use support::{Setup, module, process};

#[test]
fn a_new_project_in_javascript_passes_its_tests() {
    let home = Setup::new().prepare();
    let folder = home.config().with_file_name("words");
    home.run_ok(&["connectors", "new", "words", "--lang", "javascript", "--folder", folder.to_str().unwrap()]);
    let packages = folder.join("node_modules/@connector-gateway");
    fs::create_dir_all(&packages).unwrap();
    symlink(module::root().canonicalize().unwrap().join("connectors/sdk-js"), packages.join("sdk")).unwrap();
    let finished = process::run(Command::new("node").args(["--test", "--test-reporter=tap"]).current_dir(&folder));
    assert_eq!(finished.code, Some(0), "{}", finished.stdout);
    assert!(finished.stdout.contains("a word is defined as recorded"), "{}", finished.stdout);
}

#[test]
fn an_operation_that_is_declared_twice_in_javascript_stops_the_build() {
    let home = Setup::new().prepare();
    let folder = home.config().with_file_name("words");
    fs::create_dir(&folder).unwrap();
    // JavaScript itself keeps the last one and says nothing.
    let rows =
        "export const operations = {\n  define: get(\"api\", \"/a\", {}),\n  define: get(\"api\", \"/b\", {}),\n};\n";
    fs::write(folder.join("rows.js"), format!("import {{ get }} from \"@connector-gateway/sdk\";\n{rows}")).unwrap();
    fs::write(folder.join("connector.js"), "import { operations } from \"./rows.js\";\nexport default operations;\n")
        .unwrap();
    let build = module::root().canonicalize().unwrap().join("connectors/sdk-js/bin/connector-build.js");
    let finished = process::run(Command::new("node").arg(build).arg("connector.js").current_dir(&folder));
    assert_eq!(finished.code, Some(1), "{}", finished.stdout);
    let expected = "rows.js:4: `define` is declared twice; give one of the two another name";
    assert_eq!(finished.stderr.trim_end(), format!("connector-build: {expected}"));
}

#[test]
fn an_old_node_is_named_with_the_place_of_a_newer_one() {
    let home = Setup::new().prepare();
    let folder = home.config().with_file_name("words");
    let programs = home.config().with_file_name("programs");
    fs::create_dir(&programs).unwrap();
    let node = programs.join("node");
    fs::write(&node, "#!/bin/sh\necho v18.20.4\n").unwrap();
    fs::set_permissions(&node, fs::Permissions::from_mode(0o755)).unwrap();
    let mut new = Command::new(process::binary());
    new.args(["connectors", "new", "words", "--lang", "javascript", "--folder"]).arg(&folder);
    let finished = process::run(new.env("PATH", &programs));
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    for words in ["20.19, 22.12 or later, and this machine has 18.20.4", "https://nodejs.org/en/download"] {
        assert!(finished.stderr.contains(words), "{words}: {}", finished.stderr);
    }
}

#[test]
fn a_new_project_in_python_passes_its_tests() {
    let home = Setup::new().prepare();
    let folder = home.config().with_file_name("words");
    home.run_ok(&["connectors", "new", "words", "--lang", "python", "--folder", folder.to_str().unwrap()]);
    let sdk = module::root().canonicalize().unwrap().join("connectors/sdk-python");
    let mut tests = Command::new("python3");
    let finished =
        process::run(tests.args(["-m", "unittest", "--verbose"]).env("PYTHONPATH", sdk).current_dir(&folder));
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(finished.stderr.contains("a_word_is_defined_as_recorded"), "{}", finished.stderr);
}
