//! The workflow of a release: its scripts refuse a wrong version, and a person can check the
//! signature. The workflow itself runs only at the host of the source.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use support::{module, process, programs};
use tempfile::TempDir;

fn script(name: &str) -> Command {
    Command::new(module::root().join("host/deploy").join(name))
}

#[test]
#[ignore = "make test-shipping"]
fn a_release_has_the_version_of_the_source_and_a_section_in_the_changelog() {
    let version = env!("CARGO_PKG_VERSION");
    let notes = process::run(script("release_notes.sh").arg(version));
    assert!(notes.code == Some(0) && notes.stdout.contains("- "), "{}{}", notes.stdout, notes.stderr);
    assert!(!notes.stdout.contains("## "), "the notes are of one version: {}", notes.stdout);
    let refused = process::run(script("release_notes.sh").arg("999.0.0"));
    assert!(refused.code == Some(1) && refused.stderr.contains("Cargo.toml says"), "{}", refused.stderr);
    let chart: Value =
        yaml_serde::from_str(&fs::read_to_string(module::root().join("host/deploy/chart/Chart.yaml")).unwrap())
            .unwrap();
    assert_eq!((&chart["version"], &chart["appVersion"]), (&version.into(), &version.into()));
}

#[test]
#[ignore = "make test-shipping"]
fn a_signed_archive_is_verified_and_a_changed_one_is_not() {
    let folder = TempDir::new().unwrap();
    let place = |name: &str| folder.path().join(name);
    let minisign = || programs::debian("core", "minisign");
    let (public, secret) = (place("minisign.pub"), place("minisign.key"));
    let made = process::run(minisign().args(["-G", "-W", "-p"]).arg(&public).arg("-s").arg(&secret));
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let none = process::run(script("sign.sh").arg(&secret).arg(folder.path()));
    assert!(none.code == Some(1) && none.stderr.contains("make dist"), "{}", none.stderr);
    let archive = place("connector-gateway-1.0.0-target.tar.gz");
    fs::write(&archive, "an archive").unwrap();
    fs::write(place("connector-gateway-1.0.0-target.sha256"), "digests").unwrap();
    let mut sign = script("sign.sh");
    sign.arg(&secret).arg(folder.path()).env("MINISIGN", minisign().get_program());
    sign.envs(minisign().get_envs().filter_map(|(name, value)| Some((name, value?))));
    let signed = process::run(&mut sign);
    assert_eq!(signed.code, Some(0), "{}", signed.stderr);
    let verify = |file: &Path| process::run(minisign().args(["-V", "-p"]).arg(&public).arg("-m").arg(file)).code;
    assert_eq!(verify(&archive), Some(0));
    assert_eq!(verify(&place("connector-gateway-1.0.0-target.sha256")), Some(0));
    fs::write(&archive, "another archive").unwrap();
    assert_eq!(verify(&archive), Some(1));
}

/// Each script and file that a step of the workflow names exists.
#[test]
#[ignore = "make test-shipping"]
fn the_steps_of_the_workflow_exist() {
    let root = module::root();
    let text = fs::read_to_string(root.join(".github/workflows/release.yml")).unwrap();
    let workflow: Value = yaml_serde::from_str(&text).unwrap();
    let steps = workflow["jobs"]["release"]["steps"].as_array().unwrap();
    let commands: Vec<&str> = steps.iter().filter_map(|step| step["run"].as_str()).collect();
    let words = || commands.iter().flat_map(|command| command.split_whitespace());
    for path in words().filter(|word| word.starts_with("host/") || *word == ".ci/run") {
        assert!(root.join(path).is_file(), "{path}");
    }
    let makefile = fs::read_to_string(root.join("Makefile")).unwrap();
    let targets: Vec<&str> = commands.iter().filter_map(|command| command.strip_prefix("make ")).collect();
    assert_eq!(targets, ["dist"]);
    assert!(targets.iter().all(|target| makefile.contains(&format!("\n{target}: "))));
    let position = |part: &str| commands.iter().position(|command| command.contains(part)).unwrap();
    assert!(position(".ci/run") < position("make dist") && position("make dist") < position("sign.sh"));
    assert!(position("sign.sh") < position("gh release create"), "only a signed archive is released");
}
