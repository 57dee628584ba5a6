//! New projects in JavaScript and Python: their own tests, which replay the recording of the
//! template.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use support::{Setup, module, process};

#[test]
#[ignore = "make test-languages"]
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
#[ignore = "make test-languages"]
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

/// The message with which a build stops at a mistake in its table.
#[track_caller]
fn mistake_of_build(build: &mut Command) -> String {
    let finished = process::run(build);
    assert_eq!(finished.code, Some(1), "{}", finished.stdout);
    finished.stderr.trim_end().to_owned()
}

#[test]
#[ignore = "make test-languages"]
fn a_mistake_in_a_table_in_javascript_is_named_with_file_and_line() {
    let home = Setup::new().prepare();
    let folder = home.config().with_file_name("words");
    fs::create_dir(&folder).unwrap();
    let build = module::root().canonicalize().unwrap().join("connectors/sdk-js/bin/connector-build.js");
    for (row, line, mistake) in [
        (r#"read(async () => 1, { doc: "A" })"#, 4, "operation `a`: the function is an `async` function"),
        (
            r#"get("api", "/a/{b}", { doc: "A", example: { b: 1 } })"#,
            4,
            "operation `a`: the example does not fit at `/b`: expected a string",
        ),
        (
            r#"get("api", "/a", { doc: "A", fields: { b: string() }, pages: { items: "", offset: true, into: "/c" } })"#,
            4,
            "operation `a`: `into`: `a` has no field `c`",
        ),
        (
            r#"get("api", "/a", { doc: "A", fields: { b: object() } })"#,
            4,
            "operation `a`: field `b`: an object is not a part of a path, a parameter or a header",
        ),
        (
            "get(\"api\", \"/a\", { doc: \"A\", fields: {\n  b: string({ minimum: 1 }) } })",
            5,
            "the type `string` has no `minimum`",
        ),
        (
            "read(() => later(), { doc: \"A\" }) };\nasync function later() {}\nexport const other = { a: 1",
            5,
            "this is an `async` function, and nothing runs after an operation has returned; leave out `async` and `await`",
        ),
        (
            "read(() => setTimeout(() => {}, 1), { doc: \"A\" })",
            4,
            "`setTimeout` never fires, because nothing runs after an operation has returned; `clock.sleep(milliseconds)`",
        ),
    ] {
        let rows = format!(
            "import {{ get, object, read, string }} from \"@connector-gateway/sdk\";\n\nexport const operations = {{\n  a: {row},\n}};\n"
        );
        fs::write(folder.join("rows.js"), rows).unwrap();
        let table = r#"identifier: "a", version: "1.0.0", title: "A", auth: none, upstreams: { api: "https://a.example" }, operations"#;
        let table = format!(
            "import {{ connector, none }} from \"@connector-gateway/sdk\";\nimport {{ operations }} from \"./rows.js\";\nexport default connector({{ {table} }});\n"
        );
        fs::write(folder.join("connector.js"), &table).unwrap();
        let said = mistake_of_build(Command::new("node").arg(&build).arg("connector.js").current_dir(&folder));
        assert!(said.starts_with(&format!("connector-build: rows.js:{line}: {mistake}")), "{said}");
    }
    let table = r#"import { connector, get, none } from "@connector-gateway/sdk";
export default connector({
  identifier: "a", version: "1.0.0", title: "A", auth: none, upstreams: { api: "https://a.example" },
  headers: { Authorization: "Bearer x" },
  operations: { a: get("api", "/a", { doc: "A" }) },
});
"#;
    fs::write(folder.join("connector.js"), table).unwrap();
    let said = mistake_of_build(Command::new("node").arg(&build).arg("connector.js").current_dir(&folder));
    let mistake = "header `Authorization`: the gateway sets this header itself; leave it out";
    assert_eq!(said, format!("connector-build: connector.js:2: {mistake}"));
}

#[test]
#[ignore = "make test-languages"]
fn a_package_that_names_its_module_in_main_alone_is_built_in() {
    let home = Setup::new().prepare();
    let folder = home.config().with_file_name("words");
    let package = folder.join("node_modules/older");
    fs::create_dir_all(package.join("src")).unwrap();
    fs::write(package.join("package.json"), r#"{"name": "older", "type": "module", "main": "./src/words.js"}"#)
        .unwrap();
    fs::write(package.join("src/words.js"), "export const title = \"Words of a package\";\n").unwrap();
    let table = r#"identifier: "words", version: "1.0.0", title, auth: none, upstreams: { api: "https://a.example" }"#;
    let row = r#"operations: { a: get("api", "/a", { doc: "A" }) }"#;
    let source = format!(
        "import {{ connector, get, none }} from \"@connector-gateway/sdk\";\nimport {{ title }} from \"older\";\nexport default connector({{ {table}, {row} }});\n"
    );
    fs::write(folder.join("connector.js"), source).unwrap();
    let build = module::root().canonicalize().unwrap().join("connectors/sdk-js/bin/connector-build.js");
    let mut command = Command::new("node");
    let finished = process::run(command.arg(&build).args(["connector.js", "--engine", "quickjs"]).current_dir(&folder));
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let report = home.run_ok(&["connectors", "check", folder.join("connector.wasm").to_str().unwrap()]);
    assert!(report.starts_with("words 1.0.0: Words of a package"), "{report}");
}

/// The folders with the SDK for Python and the packages that it needs.
fn python_path() -> String {
    let root = module::root().canonicalize().unwrap();
    format!("{}:{}", root.join("connectors/sdk-python").display(), root.join("target/sdk-python").display())
}

#[test]
#[ignore = "make test-languages"]
fn a_mistake_in_a_table_in_python_is_named_with_file_and_line() {
    let home = Setup::new().prepare();
    let folder = home.config().with_file_name("words");
    fs::create_dir(&folder).unwrap();
    let path = python_path();
    let head = "from connector_sdk import NONE, Connector, get, string\n\nconnector = Connector(\n    identifier=\"a\", \
                version=\"1.0.0\", title=\"A\", auth=NONE, upstreams={\"api\": \"https://a.example\"},\n";
    for (rest, line, mistake) in [
        (
            "    operations={\n        \"a\": get(\"api\", \"/a/{b}\", \"A\", example={\"b\": 1}),\n    },\n)\n",
            6,
            "operation `a`: the example does not fit at `/b`: expected a string",
        ),
        (
            "    operations={\n        \"a\": get(\"api\", \"/a/{b\", \"A\"),\n    },\n)\n",
            6,
            "operation `a`: path: a `{` has a `}` after it",
        ),
        (
            "    headers={\"Authorization\": \"Bearer x\"},\n    operations={\"a\": get(\"api\", \"/a\", \"A\")},\n)\n",
            3,
            "header `Authorization`: the gateway sets this header itself; leave it out",
        ),
        (
            ")\n\n\n@connector.read()\nasync def a():\n    \"\"\"A.\"\"\"\n",
            8,
            "operation `a`: the function is an `async` function",
        ),
        (
            ")\n\n\n@connector.read()\ndef a():\n    \"\"\"A.\"\"\"\n    return later()\n\n\nasync def later():\n    return 1\n",
            14,
            "this is an `async` function, and nothing runs after an operation has returned; leave out `async` and `await`",
        ),
    ] {
        fs::write(folder.join("connector.py"), format!("{head}{rest}")).unwrap();
        let mut build = Command::new("python3");
        build.args(["-m", "connector_sdk.build", "connector.py"]).env("PYTHONPATH", &path).current_dir(&folder);
        let said = mistake_of_build(&mut build);
        assert!(said.starts_with(&format!("connector-build: connector.py:{line}: {mistake}")), "{said}");
    }
}

#[test]
fn an_old_node_is_named_with_the_place_of_a_newer_one() {
    let home = Setup::new().prepare();
    let folder = home.config().with_file_name("words");
    let programs = home.config().with_file_name("programs");
    fs::create_dir(&programs).unwrap();
    let node = programs.join("node");
    process::write_program(&node, "#!/bin/sh\necho v18.20.4\n");
    let mut new = Command::new(process::binary());
    new.args(["connectors", "new", "words", "--lang", "javascript", "--folder"]).arg(&folder);
    let finished = process::run(new.env("PATH", &programs));
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    for words in ["20.19, 22.12 or later, and this machine has 18.20.4", "https://nodejs.org/en/download"] {
        assert!(finished.stderr.contains(words), "{words}: {}", finished.stderr);
    }
}

#[test]
#[ignore = "make test-languages"]
fn a_new_project_in_python_passes_its_tests() {
    let home = Setup::new().prepare();
    let folder = home.config().with_file_name("words");
    home.run_ok(&["connectors", "new", "words", "--lang", "python", "--folder", folder.to_str().unwrap()]);
    let mut tests = Command::new("python3");
    let finished =
        process::run(tests.args(["-m", "unittest", "--verbose"]).env("PYTHONPATH", python_path()).current_dir(&folder));
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(finished.stderr.contains("a_word_is_defined_as_recorded"), "{}", finished.stderr);
}
