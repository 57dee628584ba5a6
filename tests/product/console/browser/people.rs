//! People who sign in at an OpenID provider, in Chromium.

use std::process::Command;

use serde_json::{Value, json};
use support::Setup;
use support::programs::{Programs, browser};
use support::upstream::free_port;

use crate::console;

/// The secret of the console at the provider.
const CLIENT_SECRET: &str = "secret-of-the-console-0123456789";

/// A provider that others wrote.
#[test]
#[ignore = "make test-browser"]
fn people_sign_in_in_a_browser_at_an_openid_provider() {
    let port = free_port();
    let config = format!(
        "[console.oidc]\nissuer = \"http://127.0.0.1:{port}\"\nclient_id = \"console\"\nclient_secret = \"{CLIENT_SECRET}\"\n\
         claim = \"groups\"\nvalue = \"operators\"\nscopes = [\"openid\", \"groups\", \"email\"]\nallow_private_network = true"
    );
    let gateway = Setup::new().config(&config).start();
    let programs = Programs::of("browser", "console-oidc");
    programs.copy(&["console_oidc.mjs", "console_person.mjs", "looks.mjs"]);
    let mut visit = Command::new("node");
    visit.args(["console_oidc.mjs", &browser(), &gateway.address(), &port.to_string(), "console", CLIENT_SECRET]);
    let said = programs.run(&mut visit);
    // The provider warns that it is not for production.
    let seen: Value = serde_json::from_str(said.lines().find(|line| line.starts_with('{')).unwrap()).unwrap();
    console::assert_no_fault(&seen);
    let ways = seen["pages"]["ways for ann"].as_str().unwrap();
    assert!(ways.contains("Sign in at 127.0.0.1"), "the page says that it is not complete: {ways}");
    assert!(seen["person"].as_str().unwrap().contains("ann@example.com"), "{seen:#}");
    assert!(seen["pages"]["audit"].as_str().unwrap().contains("person:ann@127.0.0.1"), "{seen:#}");
    let refused = seen["pages"]["refused"].as_str().unwrap();
    assert!(refused.contains("You may not use the console") && refused.contains("`groups`"), "{refused}");
    assert_eq!(seen["cookies"], json!([]), "bob has no session");
}
