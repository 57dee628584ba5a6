//! The tools of callers: checks of the description, and clients that are generated from it.
//!
//! The description has every connector of the product. `make test` installs the tools, and puts
//! them into `target`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::catalogue::CONFIGURED;
use support::setup::KEY;
use support::{Gateway, Setup, Upstream, dexscreener, module, process};

/// A gateway with every connector, a stand-in for the service of one of them, and a folder for what
/// the tools write.
pub(crate) struct World {
    pub(crate) gateway: Gateway,
    _service: Upstream,
    folder: PathBuf,
}

impl World {
    /// `name` is the name of the folder in `target/node`: Node.js finds its packages in a folder
    /// above.
    pub(crate) fn start(name: &str) -> Self {
        let service = dexscreener::start();
        let setup = Setup::new().every_shipped().config(CONFIGURED);
        let gateway = setup.upstream("dex_market_data", "api", &service.url()).start();
        let folder = tools("node").join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("openapi.json"), gateway.anonymous().get("/openapi.json").body).unwrap();
        Self { gateway, _service: service, folder }
    }

    /// Runs a tool in the folder, and returns all that it says.
    ///
    /// # Panics
    /// When it fails.
    pub(crate) fn run(&self, command: &mut Command) -> String {
        let finished = process::run(command.current_dir(&self.folder));
        let said = finished.stdout + &finished.stderr;
        assert_eq!(finished.code, Some(0), "{command:?}: {said}");
        said
    }

    /// Copies programs of these tests into the folder.
    pub(crate) fn copy(&self, files: &[&str]) {
        for file in files {
            fs::copy(sources().join(file), self.folder.join(file)).unwrap();
        }
    }
}

/// The folder with the programs of these tests.
fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("clients")
}

/// A folder of tools in `target`.
fn tools(name: &str) -> PathBuf {
    let folder = module::root().join("target").join(name);
    assert!(folder.is_dir(), "{} is missing; `make test` installs it", folder.display());
    folder
}

/// A command of a Node.js package.
fn node(command: &str) -> Command {
    Command::new(tools("node").join("node_modules/.bin").join(command))
}

fn python() -> Command {
    let mut python = Command::new("python3");
    python.env("PYTHONPATH", tools("python"));
    python
}

#[test]
fn the_description_passes_the_linter() {
    let world = World::start("lint");
    let mut lint = node("redocly");
    lint.env("REDOCLY_TELEMETRY", "off").env("REDOCLY_SUPPRESS_UPDATE_NOTICE", "true");
    world.run(lint.args(["lint", "openapi.json", "--format", "summary"]));
}

#[test]
fn a_generated_python_client_calls_the_gateway() {
    let world = World::start("python-client");
    let mut generate = python();
    generate.args(["-m", "openapi_python_client", "generate", "--meta", "none"]);
    generate.args(["--path", "openapi.json", "--output-path", "gateway_client", "--config"]);
    let said = world.run(generate.arg(sources().join("python.yaml")));
    // It leaves out what it does not understand, and warns of it.
    assert!(!said.contains("arning"), "{said}");
    world.copy(&["calls.py"]);
    let called = world.run(python().args(["calls.py", &world.gateway.address(), KEY]));
    assert_eq!(called.trim(), "three calls");
}

#[test]
fn a_generated_typescript_client_calls_the_gateway() {
    let world = World::start("typescript-client");
    world.run(node("openapi-typescript").args(["openapi.json", "-o", "gateway.d.ts"]));
    world.copy(&["calls.ts", "tsconfig.json", "package.json"]);
    world.run(node("tsc").args(["--project", "."]));
    let called = world.run(Command::new("node").args(["calls.js", &world.gateway.address(), KEY]));
    assert_eq!(called.trim(), "three calls");
}
