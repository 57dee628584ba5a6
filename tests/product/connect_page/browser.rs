//! The page in Chromium.

use std::process::Command;

use serde_json::{Value, json};
use support::Store;
use support::programs::{Programs, browser};

use super::{KEY_OF_USER, World, link, world};

#[test]
#[ignore = "make test-browser"]
fn a_user_connects_accounts_in_a_browser_by_keyboard_and_in_every_look() {
    let World { gateway, provider, application, .. } = &world(&Store::Sqlite);
    let connectors = json!(["mail", "files", "keyed", "free"]);
    let (id, url) = link(application, json!({"connectors": connectors, "callback_url": "http://localhost:9/done"}));
    let (_, further) = link(application, json!({"connectors": ["coded"]}));
    let (ended, ended_url) = link(application, json!({"connectors": ["mail"]}));
    application.delete(&format!("/connect-links/{ended}")).ok();
    let programs = Programs::of("browser", "connect");
    programs.copy(&["connect.mjs", "connect_plain.mjs", "looks.mjs"]);
    let mut visit = Command::new("node");
    visit.args([
        "connect.mjs",
        &browser(),
        &gateway.address(),
        &provider.url(),
        &url,
        &further,
        &ended_url,
        KEY_OF_USER,
    ]);
    let seen = programs.run(&mut visit);
    let seen: Value = serde_json::from_str(&seen).unwrap();

    let nothing = json!([]);
    for fault in ["violations", "wide", "unreached", "errors"] {
        assert_eq!(seen[fault], nothing, "{fault}: {seen:#}");
    }
    assert_eq!(seen["checked"], 4 * 8, "each page in four looks: {seen:#}");
    let end = format!("http://localhost:9/done?status=success&connect_link={id}");
    assert_eq!((&seen["end"], &seen["elsewhere"]), (&json!(end), &json!([end])), "{seen:#}");
    assert_eq!(seen["logo"], true, "the logo of the tenant is an image: {seen:#}");
    assert_eq!((&seen["other"], &seen["expired"], &seen["shown"]), (&json!(403), &json!(410), &json!(false)));
    for (page, text) in [
        ("connected", "Acme Desk asks for access to these accounts."),
        ("connected", "Connected as ada@example.com"),
        ("declined", "You did not give access. Nothing was connected."),
        ("code", "Then come back to this page."),
        ("other", "This link is open in another browser"),
        ("expired", "This link has ended"),
        ("refused", "The service does not accept this."),
        ("complete", "Ready. It needs no account."),
    ] {
        assert!(seen["pages"][page].as_str().unwrap().contains(text), "{page}: {seen:#}");
    }

    let (_, plain) = link(application, json!({"connectors": ["mail"]}));
    let text = programs.run(Command::new("node").args(["connect_plain.mjs", &browser(), &plain]));
    assert!(text.contains("Connected as ada@example.com"), "{text}");
}
