//! `make fuzz-api`: schemathesis reads the description of a real gateway, and calls every operation
//! with valid and with wrong requests. All connectors are live. Their services are stand-ins on
//! this machine, with a connected account for each.
//!
//! `FUZZ_MINUTES` is the duration. The exit code is 0 if every answer was one that the description
//! tells, and none was an error of the server.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "without its setup the program has nothing to fuzz")]

use std::path::Path;
use std::process::{Command, ExitCode};

use serde_json::json;
use support::accounts::init;
use support::catalogue::{connectors, text};
use support::oauth::browser;
use support::setup::KEY;
use support::{Dialect, Gateway, OAuthProvider, Person, Reply, Setup, Upstream, module};

/// Duration in minutes, unless `FUZZ_MINUTES` says another.
const DEFAULT_MINUTES: f64 = 15.0;

/// Keys that some connectors need besides the URLs of their upstreams.
const SETTINGS: [(&str, &str); 2] = [
    ("code_hosting", "settings.default_organization = \"acme\""),
    // The service requires three seconds between two requests. The stand-in does not.
    ("preprint_archive", "pacing = { interval_ms = 0 }"),
];

/// The name of every account.
const ACCOUNT: &str = "ann";

fn main() -> ExitCode {
    let minutes =
        std::env::var("FUZZ_MINUTES").ok().and_then(|minutes| minutes.parse().ok()).unwrap_or(DEFAULT_MINUTES);
    let seconds = (minutes * 60.0).max(1.0).round();
    let service = Upstream::start();
    service.on("*", |_| sound_answer());
    let (gateway, _providers) = start(&service);

    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz_api");
    let paths = std::env::join_paths([module::root().join("target/python/fuzz_api"), sources.clone()])
        .expect("paths without colons");
    let mut fuzz = Command::new("python3");
    fuzz.args(["-m", "schemathesis.cli", "--config-file"]).arg(sources.join("schemathesis.toml"));
    fuzz.args(["run", &format!("{}/openapi.json", gateway.address()), "--url", &gateway.address()]);
    fuzz.args(["--continue-on-failure", "--workers", "2", "--no-color"]);
    // The generator makes no modules, and must not revoke the key that it uses.
    fuzz.args([
        "--exclude-path",
        "/admin/connectors",
        "--exclude-path",
        "/admin/keys/{key_id}",
        "--max-time",
        &format!("{seconds}"),
    ]);
    fuzz.env("PYTHONPATH", paths)
        .env("SCHEMATHESIS_HOOKS", "hooks")
        .env("GATEWAY_KEY", KEY)
        .env("PYTHONDONTWRITEBYTECODE", "1");
    fuzz.current_dir(module::root().join("target"));
    let ended = fuzz.status().expect("python3 runs");
    let panicked = gateway.lines().iter().any(|line| line.contains("\"panic: "));
    if panicked {
        eprintln!("the gateway panicked; its log says where");
    }
    if ended.success() && !panicked { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Starts the gateway with every connector, and connects an account of each service that has
/// accounts.
fn start(service: &Upstream) -> (Gateway, Vec<(String, OAuthProvider)>) {
    let mut setup = Setup::new();
    let mut providers = Vec::new();
    for connector in connectors() {
        let id = text(&connector, "id");
        let upstreams: Vec<&str> = connector["upstreams"].as_object().unwrap().keys().map(String::as_str).collect();
        setup = setup.shipped(id);
        if connector["auth"] == "oauth2" {
            let provider = OAuthProvider::start(Dialect::of(text(&connector, "provider")));
            provider.on_api(|_, _| sound_answer());
            let paths: Vec<(&str, &str)> = upstreams.iter().map(|name| (*name, "")).collect();
            setup = setup.provider(id, &provider, &paths);
            providers.push((id.to_owned(), provider));
        } else {
            let urls = upstreams.iter().map(|name| format!("upstreams.{name} = \"{}\"\n", service.url()));
            let urls: String = urls.collect();
            setup = setup.config(&format!("[connectors.{id}]\nallow_private_network = true\n{urls}"));
        }
        setup = setup.config(SETTINGS.iter().find(|(connector, _)| *connector == id).map_or("", |(_, keys)| keys));
    }
    let gateway = setup.start();
    for (id, provider) in &providers {
        provider.register(&format!("{}/connectors/{id}/success-authorize-callback", gateway.address()));
        let mut init = init();
        init["user_identifier"] = json!(ACCOUNT);
        let begun = gateway.client().post(&format!("/connectors/{id}/integrations"), init).ok();
        let callback = Person::named(ACCOUNT).consents(begun["authorization_url"].as_str().unwrap());
        browser::open(&callback);
    }
    (gateway, providers)
}

/// An answer that has what most operations look for.
fn sound_answer() -> Reply {
    Reply::json(json!({"ok": true, "id": "1", "items": [], "value": [], "data": [], "files": [], "messages": []}))
}
