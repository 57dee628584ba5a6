//! The tools of callers: checks of the description, and clients that are generated from it.
//!
//! The description has every connector of the product. `make test-clients` installs the tools, and
//! puts them into `target`.

use std::fs;
use std::ops::Deref;
use std::process::Command;

use serde_json::Value;
use support::catalogue::CONFIGURED;
use support::programs::{self, Programs};
use support::setup::KEY;
use support::{Gateway, Setup, Upstream, dexscreener, module};

/// A gateway with every connector, a stand-in for the service of one of them, and a folder for what
/// the tools write.
struct World {
    gateway: Gateway,
    _service: Upstream,
    programs: Programs,
}

impl Deref for World {
    type Target = Programs;

    fn deref(&self) -> &Programs {
        &self.programs
    }
}

impl World {
    /// `name` is the name of the folder with the programs.
    fn start(name: &str) -> Self {
        Self::described(name, "/openapi.json")
    }

    /// A world whose tools get the description with the members of answers.
    fn with_typed_answers(name: &str) -> Self {
        Self::described(name, "/openapi.json?answers=typed")
    }

    fn described(name: &str, description: &str) -> Self {
        let service = dexscreener::start();
        let setup = Setup::new().every_shipped().config(CONFIGURED);
        let gateway = setup.upstream("dex_market_data", "api", &service.url()).start();
        let programs = Programs::of("clients", name);
        fs::write(programs.path().join("openapi.json"), gateway.anonymous().get(description).body).unwrap();
        Self { gateway, _service: service, programs }
    }
}

fn python() -> Command {
    programs::python("clients")
}

/// The validator of the specification's authors.
#[test]
#[ignore = "make test-clients"]
fn the_description_is_valid_openapi() {
    let validate = "import json\n\
         from openapi_spec_validator import OpenAPIV31SpecValidator\n\
         OpenAPIV31SpecValidator(json.load(open('openapi.json'))).validate()";
    for world in [World::start("validator"), World::with_typed_answers("typed-validator")] {
        world.run(python().args(["-c", validate]));
    }
}

#[test]
#[ignore = "make test-clients"]
fn the_description_passes_the_linter() {
    let world = World::start("lint");
    let mut lint = world.node("redocly");
    lint.env("REDOCLY_TELEMETRY", "off").env("REDOCLY_SUPPRESS_UPDATE_NOTICE", "true");
    world.run(lint.args(["lint", "openapi.json", "--format", "summary"]));
}

#[test]
#[ignore = "make test-clients"]
fn a_generated_python_client_calls_the_gateway() {
    let world = World::start("python-client");
    let mut generate = python();
    generate.args(["-m", "openapi_python_client", "generate", "--meta", "none"]);
    generate.args(["--path", "openapi.json", "--output-path", "gateway_client", "--config"]);
    let said = world.run(generate.arg(world.sources().join("python.yaml")));
    // It leaves out what it does not understand, and warns of it.
    assert!(!said.contains("arning"), "{said}");
    world.copy(&["calls.py"]);
    let called = world.run(python().args(["calls.py", &world.gateway.address(), KEY]));
    assert_eq!(called.trim(), "three calls");
}

#[test]
#[ignore = "make test-clients"]
fn a_generated_python_client_reads_typed_answers() {
    let world = World::with_typed_answers("typed-python-client");
    let mut generate = python();
    generate.args(["-m", "openapi_python_client", "generate", "--meta", "none"]);
    generate.args(["--path", "openapi.json", "--output-path", "gateway_client", "--config"]);
    world.run(generate.arg(world.sources().join("python.yaml")));
    world.copy(&["typed.py"]);
    let called = world.run(python().args(["typed.py", &world.gateway.address(), KEY]));
    assert_eq!(called.trim(), "PairOne and PairTwo");
}

/// Runs openapi-generator.
fn openapi_generator(world: &World, arguments: &[&str]) {
    let mut generate = programs::python_program("clients", "openapi-generator-cli");
    generate.args(["generate", "--input-spec", "openapi.json"]);
    // Its client in Python has a syntax error in the part for webhooks, so they are left out.
    let parts = "apis,models,supportingFiles,apiDocs=false,modelDocs=false,apiTests=false,modelTests=false";
    world.run(generate.args(["--global-property", parts]).args(arguments));
}

/// Compiles a program of these tests with the client that it imports, and runs it.
fn run_typescript(world: &World, name: &str) -> String {
    let file = format!("{name}.ts");
    world.copy(&[&file, "package.json"]);
    let compiler = ["--target", "es2022", "--module", "nodenext", "--strict", "--skipLibCheck", "--types", "node"];
    world.run(world.node("tsc").args(compiler).arg(&file));
    world.run(Command::new("node").args([&format!("{name}.js"), &world.gateway.address(), KEY]))
}

#[test]
#[ignore = "make test-clients"]
fn a_python_client_of_openapi_generator_calls_the_gateway() {
    let world = World::start("openapi-generator-python");
    openapi_generator(&world, &["--generator-name", "python", "--output", "."]);
    world.copy(&["openapi_generator.py"]);
    let called = world.run(python().args(["openapi_generator.py", &world.gateway.address(), KEY]));
    assert_eq!(called.trim(), "three calls");
}

#[test]
#[ignore = "make test-clients"]
fn a_typescript_client_of_openapi_generator_calls_the_gateway() {
    let world = World::start("openapi-generator-typescript");
    let extension = ["--additional-properties", "importFileExtension=.js"];
    let arguments = ["--generator-name", "typescript-fetch", "--output", "openapi_client"];
    openapi_generator(&world, &[&arguments[..], &extension].concat());
    assert_eq!(run_typescript(&world, "openapi_generator").trim(), "three calls");
}

#[test]
#[ignore = "make test-clients"]
fn a_client_of_hey_api_calls_the_gateway() {
    let world = World::start("hey-api");
    world.copy(&["hey_api.config.js"]);
    world.run(world.node("openapi-ts").args(["--file", "hey_api.config.js", "--no-log-file"]));
    assert_eq!(run_typescript(&world, "hey_api").trim(), "three calls");
}

#[test]
#[ignore = "make test-clients"]
fn a_client_of_orval_calls_the_gateway() {
    let world = World::start("orval");
    world.run(world.node("orval").args([
        "--input",
        "./openapi.json",
        "--output",
        "./orval_client.ts",
        "--client",
        "fetch",
    ]));
    assert_eq!(run_typescript(&world, "orval").trim(), "three calls");
}

#[test]
#[ignore = "make test-clients"]
fn models_of_datamodel_code_generator_have_the_bodies_of_the_gateway() {
    let world = World::start("models");
    let mut generate = python();
    generate.args(["-m", "datamodel_code_generator", "--input", "openapi.json", "--input-file-type", "openapi"]);
    generate.args(["--output-model-type", "pydantic_v2.BaseModel", "--output", "gateway_models.py"]);
    world.run(&mut generate);
    world.copy(&["models.py"]);
    assert_eq!(world.run(python().args(["models.py", &world.gateway.address(), KEY])).trim(), "two calls");
}

#[test]
#[ignore = "make test-clients"]
fn a_generated_typescript_client_calls_the_gateway() {
    let world = World::start("typescript-client");
    world.run(world.node("openapi-typescript").args(["openapi.json", "-o", "gateway.d.ts"]));
    world.copy(&["calls.ts", "tsconfig.json", "package.json"]);
    world.run(world.node("tsc").args(["--project", "."]));
    let called = world.run(Command::new("node").args(["calls.js", &world.gateway.address(), KEY]));
    assert_eq!(called.trim(), "three calls");
}

#[test]
#[ignore = "make test-clients"]
fn a_generated_typescript_client_reads_typed_answers() {
    let world = World::with_typed_answers("typed-typescript-client");
    world.run(world.node("openapi-typescript").args(["openapi.json", "-o", "gateway.d.ts"]));
    assert_eq!(run_typescript(&world, "typed").trim(), "PairOne and PairTwo");
}

/// A package is then the one that was tested, from whichever registry it comes. The exceptions are
/// optional packages for platforms that the gateway is not built on.
#[test]
fn every_lock_file_of_npm_has_each_integrity_and_names_no_registry() {
    for file in [
        "connectors/sdk-js/package-lock.json",
        "tests/browser/package-lock.json",
        "tests/clients/package-lock.json",
        "tests/documents/package-lock.json",
        "tests/languages/package-lock.json",
    ] {
        let text = fs::read_to_string(module::root().join(file)).unwrap();
        let lock: Value = serde_json::from_str(&text).unwrap();
        let packages = lock["packages"].as_object().unwrap().iter().filter(|(path, _)| !path.is_empty());
        for (path, package) in packages {
            let is_needed = package["optional"].is_null();
            assert!(package["integrity"].is_string() || !is_needed, "{file}: {path}: {package}");
            assert!(package["resolved"].is_null(), "{file}: {path}: {package}");
        }
    }
}
