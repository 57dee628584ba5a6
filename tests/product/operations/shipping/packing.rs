//! The archive of a release: the same inputs give the same bytes, it says what it is made of, and
//! it is installed by unpacking.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use support::process::Process;
use support::upstream::free_port;
use support::{module, process};
use tempfile::TempDir;

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// A connector that needs no account.
const CONNECTOR: &str = "preprint_archive.wasm";

/// Packs a binary with one connector, and returns the archive.
fn pack(binary: &Path, place: &Path) -> PathBuf {
    pack_at(1_700_000_000, binary, place)
}

/// As [`pack`], with files of this time, in seconds since 1970.
pub(crate) fn pack_at(time: u64, binary: &Path, place: &Path) -> PathBuf {
    let connectors = place.join("connectors");
    fs::create_dir_all(&connectors).unwrap();
    let shipped = process::binary().with_file_name("connectors").join(CONNECTOR);
    fs::copy(shipped, connectors.join(CONNECTOR)).unwrap();
    let mut script = Command::new(module::root().join("host/deploy/pack.sh"));
    script.args([binary, &connectors]).arg(TARGET).arg(place.join("out"));
    // The test needs no small archive.
    let finished = process::run(script.env("COMPRESSION", "1").env("SOURCE_DATE_EPOCH", time.to_string()));
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    PathBuf::from(finished.stdout.trim())
}

/// The names of the files in an archive, below its folder.
fn names(archive: &Path) -> BTreeSet<String> {
    let listed = process::run(Command::new("tar").arg("-tzf").arg(archive)).stdout;
    let below = |line: &str| line.split_once('/').map(|(_, name)| name.to_owned());
    listed.lines().filter_map(below).filter(|name| !name.is_empty() && !name.ends_with('/')).collect()
}

#[test]
#[ignore = "make test-shipping"]
fn the_same_inputs_make_the_same_archive() {
    let packed = [0o644_u32, 0o755].map(|mode| {
        let place = TempDir::new().unwrap();
        let binary = place.path().join(format!("binary-{mode}"));
        fs::write(&binary, "a binary").unwrap();
        fs::set_permissions(&binary, fs::Permissions::from_mode(mode)).unwrap();
        let archive = pack(&binary, place.path());
        (fs::read(&archive).unwrap(), archive, place)
    });
    let [(one, archive, _place), (other, ..)] = &packed;
    assert!(one == other, "the archives differ");
    let name = archive.file_name().unwrap().to_str().unwrap();
    assert_eq!(name, format!("connector-gateway-{}-{TARGET}.tar.gz", env!("CARGO_PKG_VERSION")));

    let found = names(archive);
    for file in [
        "connector-gateway",
        "connectors/preprint_archive.wasm",
        "gateway.example.toml",
        "connector-gateway.service",
        "LICENSE",
        "THIRD-PARTY-LICENSES.txt",
        "sbom.cdx.json",
        "SHA256SUMS",
        "README.md",
        "CHANGELOG.md",
        "docs/operating.md",
        "docs/operations/gateway.rules.yaml",
        "deploy/container/Containerfile",
        "deploy/chart/Chart.yaml",
        "sdk/connectors/sdk/Cargo.toml",
        "sdk/connectors/sdk-js/package.json",
        "sdk/connectors/sdk-js/connector.wit",
        "sdk/connectors/sdk-js/rows.wasm",
        "sdk/connectors/sdk-python/connector_sdk/rows.wasm",
        "sdk/connectors/sdk-python/pyproject.toml",
        "sdk/wit/connector.wit",
    ] {
        assert!(found.contains(file), "{file} is not in {found:?}");
    }
    let out = archive.parent().unwrap();
    let sums = archive.with_file_name(name.replace(".tar.gz", ".sha256"));
    let check = process::run(Command::new("sha256sum").arg("-c").arg(sums).current_dir(out));
    assert_eq!(check.code, Some(0), "{}{}", check.stdout, check.stderr);
    process::run(Command::new("tar").arg("-xzf").arg(archive).current_dir(out));
    let unpacked = out.join(name.trim_end_matches(".tar.gz"));
    let check = process::run(Command::new("sha256sum").args(["-c", "--quiet", "SHA256SUMS"]).current_dir(&unpacked));
    assert_eq!(check.code, Some(0), "{}{}", check.stdout, check.stderr);
    let listed = fs::read_to_string(unpacked.join("SHA256SUMS")).unwrap().lines().count();
    assert_eq!(listed, found.len() - 1, "each file but the list itself has a digest");
    check_bill(&unpacked);
}

/// The bill of materials: each part once, with version, licence and digest, and no part that only
/// tests the gateway.
fn check_bill(unpacked: &Path) {
    let bill: Value = serde_json::from_slice(&fs::read(unpacked.join("sbom.cdx.json")).unwrap()).unwrap();
    assert_eq!((&bill["bomFormat"], &bill["specVersion"]), (&"CycloneDX".into(), &"1.5".into()));
    let components = bill["components"].as_array().unwrap();
    let text = |component: &Value, name: &str| component[name].as_str().unwrap_or_default().to_owned();
    let references: BTreeSet<String> = components.iter().map(|each| text(each, "bom-ref")).collect();
    assert_eq!(references.len(), components.len(), "each part is listed once");
    let names: BTreeSet<String> = components.iter().map(|each| text(each, "name")).collect();
    for part in ["wasmtime", "hyper", "rustls", "store", "preprint_archive", "connector-gateway-sdk"] {
        assert!(names.contains(part), "{part}");
    }
    for part in ["product-tests", "proptest", "rcgen", "hostile"] {
        assert!(!names.contains(part), "{part} is not a part of a release");
    }
    for component in components {
        assert!(component["licenses"][0]["expression"].is_string(), "{component}");
        let is_own = component["version"] == env!("CARGO_PKG_VERSION") && component["hashes"].is_null();
        assert!(
            is_own || component["hashes"][0]["content"].as_str().is_some_and(|hash| hash.len() == 64),
            "{component}"
        );
    }
    let root = text(&bill["metadata"]["component"], "bom-ref");
    for dependency in bill["dependencies"].as_array().unwrap() {
        let of = text(dependency, "ref");
        assert!(of == root || references.contains(&of), "{of}");
        for on in dependency["dependsOn"].as_array().unwrap() {
            assert!(references.contains(on.as_str().unwrap()), "{of} depends on {on}");
        }
    }
    let licences = fs::read_to_string(unpacked.join("THIRD-PARTY-LICENSES.txt")).unwrap();
    for part in ["hyper ", "ring ", "wasmtime "] {
        assert!(licences.contains(part), "{part}");
    }
    assert!(licences.contains("Permission is hereby granted"), "the file has the texts");
}

/// The commands of README.md, as a reader runs them in an empty folder.
#[test]
#[ignore = "make test-shipping"]
fn a_call_is_served_after_the_commands_of_the_readme() {
    let place = TempDir::new().unwrap();
    let archive = pack(&process::binary(), place.path());
    let readme = fs::read_to_string(module::root().join("README.md")).unwrap();
    let section = readme.split("\n## From the archive\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let commands: Vec<&str> = section.lines().filter_map(|line| line.strip_prefix("    ")).collect();
    let [unpack, serve, set_key, call] = commands[..] else { panic!("four commands, not {commands:?}") };
    assert!(set_key.starts_with("export KEY=cgw_"), "{set_key}");

    let address = format!("127.0.0.1:{}", free_port());
    let folder = archive.parent().unwrap();
    let unpacked = process::run(Command::new("sh").args(["-ec", &format!("{unpack}\npwd")]).current_dir(folder));
    assert_eq!(unpacked.code, Some(0), "{}", unpacked.stderr);
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("exec {serve}")]).env("GATEWAY__LISTEN", &address).current_dir(unpacked.stdout.trim());
    let mut gateway = Process::start(&mut shell);
    gateway.wait_for_line("Your first API key");
    let key = gateway.wait_for_line("  cgw_");
    let call = call.replace("127.0.0.1:8080", &address);
    let answer = process::run(Command::new("sh").args(["-ec", &call]).env("KEY", format!("cgw_{key}")));
    assert!(answer.stdout.starts_with("{\"categories\":["), "{}{}", answer.stdout, answer.stderr);
    gateway.ask_to_end();
    gateway.wait();
}
