//! `connectors push` and `connectors add oci://…`, with a real registry on loopback.

use std::fs;
use std::io::Write;

use serde_json::json;
use support::registry::{PASSWORD, USER};
use support::{Home, Registry, Setup, Signer, module, process};

use support::home::{file, path};

fn push(home: &Home, version: &str, name: &str) -> String {
    let module = file(home, "liar.wasm", &module::liar(&format!("version={version}")));
    home.run_ok(&["connectors", "push", path(&module), name]).trim().to_owned()
}

#[test]
fn a_module_is_pushed_and_added_by_version_and_by_digest() {
    let registry = Registry::start();
    let gateway = Setup::new().start();
    let home = gateway.home();
    let first = push(home, "1.0.0", &registry.name("acme/liar"));
    let second = push(home, "2.0.0", &registry.name("acme/liar:newest"));
    assert!(first.starts_with(&registry.name("acme/liar@sha256:")), "{first}");

    let said = home.run_ok(&["connectors", "add", &registry.name("acme/liar:1.0.0"), "--grant", "api.example"]);
    assert!(said.contains(&format!("pulled      {first}")), "{said}");
    gateway.wait_for_version("liar", "1.0.0");
    assert_eq!(gateway.connector("liar").unwrap()["sha256"], module::digest(&module::liar("version=1.0.0")));
    assert_eq!(gateway.call("liar/version", json!({})).ok()["version"], "version=1.0.0");
    home.run_ok(&["connectors", "add", &second]);
    gateway.wait_for_version("liar", "2.0.0");
    let report = home.run_ok(&["connectors", "check", &first]);
    assert!(report.contains(&format!("connectors add {first}")), "{report}");
}

#[test]
fn the_layout_is_that_of_webassembly_artifacts() {
    let registry = Registry::start();
    let home = Setup::new().prepare();
    let bytes = module::with_custom(&module::liar("version=1.0.0"), "source", b"https://git.example.com/acme/liar");
    let bytes = module::with_custom(&bytes, "revision", b"0123456789abcdef");
    let pushed = file(&home, "liar.wasm", &bytes);
    let name = home.run_ok(&["connectors", "push", path(&pushed), &registry.name("acme/liar")]).trim().to_owned();
    let digest = name.rsplit('@').next().unwrap();
    let manifest = registry.get("acme/liar/manifests/1.0.0");
    assert_eq!(module::digest(&fs::read(registry.blob(digest)).unwrap()), digest.trim_start_matches("sha256:"));

    let layer = format!("sha256:{}", module::digest(&bytes));
    let config = manifest["config"]["digest"].as_str().unwrap();
    let config_bytes = fs::read(registry.blob(config)).unwrap();
    assert_eq!(
        manifest,
        json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": {
                "mediaType": "application/vnd.wasm.config.v0+json", "digest": config, "size": config_bytes.len(),
            },
            "layers": [{"mediaType": "application/wasm", "digest": layer, "size": bytes.len(), "annotations": {}}],
            "annotations": {
                "org.opencontainers.image.title": "Liar",
                "org.opencontainers.image.version": "1.0.0",
                "org.opencontainers.image.licenses": "Apache-2.0",
                "org.opencontainers.image.source": "https://git.example.com/acme/liar",
                "org.opencontainers.image.revision": "0123456789abcdef",
            },
        })
    );
    let config = registry.get(&format!("acme/liar/blobs/{config}"));
    assert_eq!((&config["architecture"], &config["os"]), (&json!("wasm"), &json!("wasip2")));
    assert_eq!(config["layerDigests"], json!([layer]));
    let interfaces = |list: &str| config["component"][list].as_array().unwrap().clone();
    assert!(interfaces("imports").iter().any(|name| name.as_str().unwrap().starts_with("gateway:connector/http")));
    assert!(interfaces("exports").iter().all(|name| name.is_string()) && !interfaces("exports").is_empty());
}

#[test]
fn a_version_that_is_another_module_stays_unless_it_is_replaced() {
    let registry = Registry::start();
    let home = Setup::new().prepare();
    let name = registry.name("acme/liar:1");
    let first = push(&home, "1.0.0", &name);
    assert_eq!(push(&home, "1.0.0", &name), first, "the same module makes the same artifact");
    let other = file(&home, "other.wasm", &module::liar("version=2.0.0"));
    let refused = home.run(&["connectors", "push", path(&other), &name]);
    assert_eq!(refused.code, Some(1));
    let digest = first.rsplit('@').next().unwrap();
    assert!(refused.stderr.contains(digest) && refused.stderr.contains("--force"), "{}", refused.stderr);
    let replaced = home.run_ok(&["connectors", "push", path(&other), &name, "--force"]);
    assert_ne!(replaced.trim(), first);
    let added = home.run_ok(&["connectors", "add", &name]);
    assert!(added.contains(replaced.trim()), "{added}");
    home.run_ok(&["connectors", "add", &first]);
}

#[test]
fn a_module_or_manifest_that_is_not_the_named_one_is_refused() {
    let registry = Registry::start();
    let home = Setup::new().prepare();
    let name = push(&home, "1.0.0", &registry.name("liar"));
    let digest = name.rsplit('@').next().unwrap();
    let unknown = registry.name(&format!("liar@sha256:{}", "0".repeat(64)));
    for (name, words) in [(unknown, "no such module"), (registry.name("lier:1.0.0"), "no such module")] {
        let refused = home.run(&["connectors", "add", &name]);
        assert!(refused.code == Some(1) && refused.stderr.contains(words), "{}", refused.stderr);
    }
    let layer = format!("sha256:{}", module::digest(&module::liar("version=1.0.0")));
    let blob = registry.blob(&layer);
    let honest = fs::read(&blob).unwrap();
    fs::write(&blob, module::liar("version=6.6.6")).unwrap();
    let refused = home.run(&["connectors", "add", &registry.name("liar:1.0.0")]);
    assert!(refused.code == Some(1) && refused.stderr.to_lowercase().contains("digest"), "{}", refused.stderr);
    fs::write(&blob, honest).unwrap();
    let manifest = registry.blob(digest);
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("1.0.0", "6.6.6")).unwrap();
    let refused = home.run(&["connectors", "add", &name]);
    assert!(refused.code == Some(1) && refused.stderr.to_lowercase().contains("digest"), "{}", refused.stderr);
    assert!(!home.module("liar").exists());
}

#[test]
fn a_module_that_would_be_refused_or_is_too_large_does_not_travel() {
    let registry = Registry::start();
    let home = Setup::new().prepare();
    let bad = file(&home, "bad.wasm", &module::liar("reserved path"));
    let refused = home.run(&["connectors", "push", path(&bad), &registry.name("liar")]);
    assert!(refused.code == Some(1) && refused.stderr.contains("`integrations`"), "{}", refused.stderr);
    let large = module::with_note(&module::liar("version=1.0.0"), &"x".repeat(2 << 20));
    let large = file(&home, "large.wasm", &large);
    home.run_ok(&["connectors", "push", path(&large), &registry.name("liar")]);
    let home = Setup::new().config("compile.max_module_mb = 1").prepare();
    let refused = home.run(&["connectors", "add", &registry.name("liar:1.0.0")]);
    assert!(refused.code == Some(1) && refused.stderr.contains("compile.max_module_mb"), "{}", refused.stderr);
}

#[test]
fn a_name_says_which_registry_and_which_version_is_meant() {
    let registry = Registry::start();
    let home = Setup::new().prepare();
    let without = home.run(&["connectors", "add", &registry.name("liar")]);
    assert!(without.code == Some(1) && without.stderr.contains("names no version"), "{}", without.stderr);
    let nowhere = home.run(&["connectors", "add", "oci://acme/liar:1.0.0"]);
    assert!(nowhere.code == Some(2) && nowhere.stderr.contains("must name the registry"), "{}", nowhere.stderr);
    let module = file(&home, "liar.wasm", &module::liar("version=1.0.0"));
    let digest = registry.name(&format!("liar@sha256:{}", "0".repeat(64)));
    let refused = home.run(&["connectors", "push", path(&module), &digest]);
    assert!(refused.code == Some(1) && refused.stderr.contains("follows from the module"), "{}", refused.stderr);
}

#[test]
fn a_registry_with_passwords_gets_those_of_docker_or_of_the_command_line() {
    use base64::Engine;
    let registry = Registry::with_password();
    let home = Setup::new().prepare();
    let module = file(&home, "liar.wasm", &module::liar("version=1.0.0"));
    let name = registry.name("liar:1.0.0");
    let docker = home.config().with_file_name("docker");
    fs::create_dir(&docker).unwrap();
    let run = |arguments: &[&str], input: &str| {
        let mut command = home.command(arguments);
        let path = format!("{}:{}", docker.display(), std::env::var("PATH").unwrap());
        command.env("DOCKER_CONFIG", &docker).env("PATH", path);
        let finished = process::run_with_input(&mut command, input);
        (finished.code, finished.stderr)
    };
    let (code, said) = run(&["connectors", "push", path(&module), &name], "");
    assert!(code == Some(1) && said.contains("docker login"), "{said}");
    let login = ["--username", USER, "--password-stdin"];
    let push = [&["connectors", "push", path(&module), &name][..], &login[..]].concat();
    let (code, said) = run(&push, "wrong");
    assert!(code == Some(1) && !said.contains("wrong"), "{said}");
    let (code, said) = run(&push, &format!("{PASSWORD}\n"));
    assert_eq!(code, Some(0), "{said}");

    let host = name.trim_start_matches("oci://").split('/').next().unwrap();
    let auth = base64::engine::general_purpose::STANDARD.encode(format!("{USER}:{PASSWORD}"));
    fs::write(docker.join("config.json"), json!({"auths": {host: {"auth": auth}}}).to_string()).unwrap();
    let (code, said) = run(&["connectors", "add", &name], "");
    assert_eq!(code, Some(0), "{said}");
    assert!(home.module("liar").exists());

    // A keychain answers in the place of the file.
    let answer = json!({"ServerURL": host, "Username": USER, "Secret": PASSWORD});
    let helper = docker.join("docker-credential-keychain");
    let script = format!("#!/bin/sh\n[ \"$1 $(cat)\" = 'get {host}' ] && echo '{answer}'\n");
    process::write_program(&helper, &script);
    fs::write(docker.join("config.json"), json!({"credsStore": "keychain"}).to_string()).unwrap();
    let (code, said) = run(&["connectors", "check", &name], "");
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn what_a_module_says_of_its_making_cannot_mislead_the_reader_of_a_report() {
    let home = Setup::new().prepare();
    let mut zeros = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    zeros.write_all(&vec![0; 64 << 20]).unwrap();
    let bomb = zeros.finish().unwrap();
    let cases: [(&str, &[u8]); 5] = [
        ("source", b"https://x\x1b[2J"),
        ("source", &[b'x'; 4096]),
        ("revision", b"\xff\xfe"),
        (".dep-v0", b"garbage"),
        (".dep-v0", &bomb),
    ];
    for (name, data) in cases {
        let module = file(&home, "liar.wasm", &module::with_custom(&module::liar("version=1.0.0"), name, data));
        let report = home.run_ok(&["connectors", "check", path(&module), "--json"]);
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        for member in ["source", "revision", "packages"] {
            assert_eq!(report[member], json!(null), "{name}");
        }
        let text = home.run_ok(&["connectors", "check", path(&module)]);
        assert!(!text.contains('\u{1b}') && !text.contains("  source "), "{text}");
    }
}

#[test]
fn a_signature_that_is_not_one_of_the_module_is_not_pushed() {
    let (signer, registry) = (Signer::new(), Registry::start());
    let home = Setup::new().prepare();
    let module = file(&home, "liar.wasm", &module::liar("version=1.0.0"));
    let name = registry.name("acme/liar:1.0.0");
    let key = signer.public_key_file();
    let push = |arguments: &[&str]| {
        let done = home.run(&[&["connectors", "push", path(&module), &name], arguments].concat());
        (done.code, done.stderr)
    };
    signer.sign_file(&module);
    let (code, said) = push(&[]);
    assert!(code == Some(1) && said.contains(&format!("it is of the key {}", signer.key_id())), "{said}");
    assert!(said.contains("name the file with --public-key"), "{said}");
    let (code, said) = push(&["--public-key", path(&key)]);
    assert!(code == Some(0) && said.contains("with its signature"), "{said}");

    fs::write(&module, module::liar("version=2.0.0")).unwrap();
    fs::copy(&key, module.with_file_name("publisher.pub")).unwrap();
    let (code, said) = push(&["--force"]);
    assert!(code == Some(1) && said.contains("liar.wasm.minisig` is not one of this module; sign it again"), "{said}");
    signer.sign_file(&module);
    assert_eq!(push(&["--force"]).0, Some(0));
}
