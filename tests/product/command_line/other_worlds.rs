//! Modules that are no connectors for this gateway. `connectors/docs/debugging.md` has the message
//! of `connectors pack` or `connectors check` for each.

use std::fs;
use std::process::Command;

use support::module::{from_text, guest};
use support::process::{binary, run};
use support::{Setup, module};

use crate::documentation::reader::is_same;
use crate::frozen::{built_for, in_rust, replaced};

/// A command of WASI, as a C compiler makes it.
const COMMAND: &str = r#"
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "_start") (drop (call $write (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0)))))
"#;

/// The same as a component.
const COMPONENT_COMMAND: &str = r#"
(component
  (core module $module (func (export "run") (result i32) (i32.const 0)))
  (core instance $instance (instantiate $module))
  (func $run (result (result)) (canon lift (core func $instance "run")))
  (instance $command (export "run" (func $run)))
  (export "wasi:cli/run@0.2.6" (instance $command)))
"#;

const LIBRARY: &str =
    r#"(module (func (export "add") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1))))"#;

#[test]
fn each_module_for_another_world_is_refused_with_the_message_of_the_page() {
    let page = fs::read_to_string(module::root().join("connectors/docs/debugging.md")).unwrap();
    let (_, section) = page.split_once("## A module for another world").unwrap();
    let rows: Vec<Vec<&str>> = section.lines().map(|line| line.split(" | ").collect()).collect();
    let home = Setup::new().prepare();
    let folder = home.data();
    let later = replaced(built_for("1.9.0"), "response.peek", "response.pick");
    let cases: [(&str, &str, Vec<u8>); 7] = [
        ("pack", "command.core.wasm", from_text(COMMAND)),
        ("check", "command.wasm", from_text(COMPONENT_COMMAND)),
        ("pack", "library.core.wasm", from_text(LIBRARY)),
        ("check", "library.core.wasm", from_text(LIBRARY)),
        ("pack", "dictionary.wasm", guest("liar")),
        ("check", "major.wasm", replaced(in_rust("1.0.0"), "@1.0.0", "@2.0.0")),
        ("check", "minor.wasm", later),
    ];
    let shown = rows.iter().filter(|row| row.len() == 3 && row[1].starts_with('`')).count();
    assert_eq!(shown, cases.len(), "the page and the test have the same rows");
    for (command, name, file) in cases {
        fs::write(folder.join(name), file).unwrap();
        let mut refused = Command::new(binary().canonicalize().unwrap());
        refused.args(["connectors", command, name]).current_dir(&folder);
        if command == "pack" {
            refused.args(["--output", "packed.wasm"]);
        }
        let finished = run(&mut refused);
        assert_eq!(finished.code, Some(1), "{command} {name}: {}", finished.stderr);
        assert!(!folder.join("packed.wasm").exists(), "{name}");
        let row = rows.iter().find(|row| row.get(1) == Some(&&*format!("`{command} {name}`"))).unwrap();
        let message =
            row[2].trim_end_matches(" |").strip_prefix("`` ").and_then(|cell| cell.strip_suffix(" ``")).unwrap();
        assert!(
            is_same(message, finished.stderr.trim()),
            "{command} {name}: the page says\n{message}\nand it is\n{}",
            finished.stderr
        );
    }
}
