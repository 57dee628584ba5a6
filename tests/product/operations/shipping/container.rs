//! The image and the Compose file. The tests have no container engine, so the image is not built.
//! Its file is compared with the archive, and its health check and the proxy are run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use serde_json::{Value, json};
use support::process::{self, Process};
use support::setup::KEY;
use support::upstream::free_port;
use support::{Gateway, Setup, module, programs, wait_for};
use tempfile::TempDir;

use super::{DRAIN_S, text};

/// The instructions of the file, without comments, each on one line.
fn instructions() -> Vec<String> {
    let joined = text("container/Containerfile").replace("\\\n", " ");
    joined.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
}

/// The rest of the only instruction with this name.
fn instruction(name: &str) -> String {
    let rest = |line: &String| line.strip_prefix(name)?.strip_prefix(' ').map(str::to_owned);
    let found: Vec<String> = instructions().iter().filter_map(rest).collect();
    assert_eq!(found.len(), 1, "{name}");
    found[0].clone()
}

#[test]
#[ignore = "make test-shipping"]
fn the_image_is_made_from_the_archive_alone_and_runs_as_no_one() {
    let script = text("pack.sh");
    for line in instructions().iter().filter_map(|line| line.strip_prefix("COPY ")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        for source in &words[..words.len() - 1] {
            // `pack.sh` and the script that it calls name each file of the archive.
            let is_packed = script.contains(source) || text("bill_of_materials.py").contains(source);
            assert!(is_packed, "{source} is in the archive");
        }
    }
    let user = instruction("USER");
    assert!(user.split(':').all(|id| id.parse::<u32>().is_ok_and(|id| id > 0)), "{user}");
    assert_eq!(instruction("VOLUME"), instruction("WORKDIR"), "the only folder that the process writes to");
}

#[test]
#[ignore = "make test-shipping"]
fn the_health_check_of_the_image_succeeds_while_the_gateway_runs() {
    let mut gateway = Setup::new().start();
    let check = instruction("HEALTHCHECK");
    let command: Vec<String> = serde_json::from_str(check.split_once("CMD ").unwrap().1).unwrap();
    let port = gateway.address().rsplit_once(':').unwrap().1.to_owned();
    let run = || {
        let replaced = command.iter().map(|word| word.replace("8080", &port));
        let words: Vec<String> = replaced.collect();
        process::run(Command::new(&words[0]).args(&words[1..])).code
    };
    assert_eq!(run(), Some(0));
    gateway.stop();
    assert_ne!(run(), Some(0));
}

/// The members of a service, with those that `<<` brings.
fn merged(value: &Value) -> BTreeMap<String, Value> {
    let mut all = value.get("<<").map(merged).unwrap_or_default();
    all.extend(
        value.as_object().unwrap().iter().filter(|(name, _)| *name != "<<").map(|(k, v)| (k.clone(), v.clone())),
    );
    all
}

#[test]
#[ignore = "make test-shipping"]
fn the_gateways_of_the_compose_file_are_confined_and_their_settings_exist() {
    let compose: Value = yaml_serde::from_str(&text("container/compose.yaml")).unwrap();
    let mut names = BTreeSet::new();
    for name in ["gateway-1", "gateway-2"] {
        let service = merged(&compose["services"][name]);
        assert_eq!((&service["read_only"], &service["cap_drop"]), (&json!(true), &json!(["ALL"])), "{name}");
        let grace = service["stop_grace_period"].as_str().unwrap().trim_end_matches('s').parse::<u64>().unwrap();
        assert!(grace > DRAIN_S, "{name}");
        let environment = merged(&service["environment"]);
        names.insert(environment["GATEWAY__FLEET__NAME"].to_string());
        let mut setup = Setup::new();
        for (variable, value) in &environment {
            // The test has neither the database nor the Secret of the file.
            if !["GATEWAY__DATABASE_URL", "GATEWAY__MASTER_KEY_FILE", "GATEWAY__PUBLIC_URL"].contains(&&**variable) {
                setup = setup.variable(variable, value.as_str().unwrap());
            }
        }
        setup.start();
    }
    assert_eq!(names.len(), 2, "each gateway has a separate name");
    let files = compose["secrets"].as_object().unwrap().values().map(|secret| secret["file"].as_str().unwrap());
    let head: String = text("container/compose.yaml").lines().take_while(|line| line.starts_with('#')).collect();
    for file in files {
        let file = file.trim_start_matches("../../");
        assert!(head.contains(file), "the commands at the top of the file make {file}");
    }
    let networks = |service: &str| merged(&compose["services"][service])["networks"].clone();
    assert_eq!((networks("database"), networks("proxy")), (json!(["inside"]), json!(["outside"])));
}

/// The command at the top of the Compose file that makes a certificate.
fn certificate_command() -> String {
    let head = text("container/compose.yaml").replace("\\\n#", " ");
    let line = head.lines().find_map(|line| line.strip_prefix("#   ").filter(|line| line.starts_with("openssl req")));
    line.unwrap().split(" #").next().unwrap().to_owned()
}

#[test]
#[ignore = "make test-shipping"]
fn the_proxy_speaks_tls_and_takes_calls_to_the_gateway_that_runs() {
    let [mut one, two] = [(); 2].map(|()| Setup::new().module("liar", module::liar("version=1.0.0")).start());
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("secrets")).unwrap();
    let made = process::run(Command::new("sh").args(["-ec", &certificate_command()]).current_dir(folder.path()));
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let (secrets, port) = (folder.path().join("secrets"), free_port());
    let inside = format!("{}/", folder.path().display());
    let config = text("container/nginx.conf")
        .replace("/tmp/", &inside)
        .replace("/run/secrets", secrets.to_str().unwrap())
        .replace("8443", &format!("127.0.0.1:{port}"))
        .replace("gateway-1:8080", one.address().trim_start_matches("http://"))
        .replace("gateway-2:8080", two.address().trim_start_matches("http://"));
    let path = folder.path().join("nginx.conf");
    fs::write(&path, config).unwrap();
    let mut nginx = programs::debian("shipping", "nginx");
    nginx.arg("-c").arg(&path).arg("-p").arg(folder.path()).args(["-e", "stderr", "-g", "daemon off; user root;"]);
    let proxy = Process::start(&mut nginx);

    let status = |path: &str, method: &str| {
        let mut curl = Command::new("curl");
        curl.args(["-s", "-o", "/dev/null", "-w", "%{http_code} %{http_version}", "-X", method, "--cacert"]);
        curl.arg(secrets.join("tls.crt")).args(["-H", &format!("Authorization: Bearer {KEY}")]);
        process::run(curl.arg(format!("https://localhost:{port}{path}"))).stdout
    };
    wait_for("the proxy to listen", || (status("/healthz", "GET") == "200 2").then_some(()));
    for _ in 0..8 {
        assert_eq!(status("/connectors/liar/version", "POST"), "200 2", "{:?}", proxy.lines());
    }
    let calls = |gateway: &Gateway| {
        gateway.metric("gateway_requests_total{connector=\"liar\",operation=\"version\",status=\"200\"}")
    };
    assert!(calls(&one) >= 1.0 && calls(&two) >= 1.0, "{} {}", calls(&one), calls(&two));
    for hidden in ["/metrics", "/admin/keys"] {
        assert_eq!(status(hidden, "GET"), "404 2", "{hidden}");
    }
    one.stop();
    for _ in 0..8 {
        assert_eq!(status("/connectors/liar/version", "POST"), "200 2", "{:?}", proxy.lines());
    }
}
