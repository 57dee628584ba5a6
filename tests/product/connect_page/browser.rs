//! The page in Chromium.

use std::process::Command;

use serde_json::{Value, json};
use support::Store;
use support::programs::{Programs, browser};

use super::{KEY_OF_USER, World, link, world};
use crate::integrations::client;

#[test]
#[ignore = "make test-browser"]
fn a_user_connects_accounts_in_a_browser_by_keyboard_in_both_languages_and_in_every_look() {
    let World { gateway, provider, application, .. } = &world(&Store::Sqlite);
    let connectors = json!(["mail", "files", "keyed", "free"]);
    let (id, url) = link(application, json!({"connectors": connectors, "callback_url": "http://localhost:9/done"}));
    let (_, further) = link(application, json!({"connectors": ["coded"]}));
    let (ended, ended_url) = link(application, json!({"connectors": ["mail"]}));
    application.delete(&format!("/connect-links/{ended}")).ok();
    let greta = client(gateway, "acme", Some("greta"), "integrate,operate");
    let (_, german) = link(&greta, json!({"connectors": ["mail", "coded", "keyed"]}));
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
        &german,
        KEY_OF_USER,
    ]);
    let seen = programs.run(&mut visit);
    let seen: Value = serde_json::from_str(&seen).unwrap();

    let nothing = json!([]);
    for fault in ["violations", "wide", "unreached", "errors"] {
        assert_eq!(seen[fault], nothing, "{fault}: {seen:#}");
    }
    assert_eq!(seen["checked"], 4 * (8 + 8), "each page in four looks: {seen:#}");
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
    assert_german(&seen["german"]);

    let (_, plain) = link(application, json!({"connectors": ["mail"]}));
    let text = programs.run(Command::new("node").args(["connect_plain.mjs", &browser(), &plain]));
    assert!(text.contains("Connected as ada@example.com"), "{text}");
}

/// The pages of a browser that asks for German are in German.
#[track_caller]
fn assert_german(seen: &Value) {
    let link = "Konten verbinden";
    for (page, title, text) in [
        ("open", link, "Acme Desk bittet um Zugriff auf diese Konten."),
        ("open", link, "Acme Desk darf lesen"),
        ("open", link, "Schlüsseldatei des Dienstkontos (JSON)"),
        ("declined", link, "Sie haben den Zugriff nicht erlaubt. Es wurde nichts verbunden."),
        ("refused", link, "Der Dienst nimmt das nicht an."),
        ("code", "Geben Sie diesen Code beim Dienst ein", "Kommen Sie dann auf diese Seite zurück."),
        ("connected", link, "Verbunden als ada@example.com"),
        ("other", "Dieser Link ist in einem anderen Browser geöffnet", "Kehren Sie zu diesem Browser zurück"),
        ("finished", "Sie sind fertig", "Sie können diese Seite schließen."),
        ("expired", "Dieser Link ist nicht mehr gültig", "beginnen Sie dort von vorn"),
    ] {
        let page = &seen[page];
        assert_eq!((&page["language"], &page["title"]), (&json!("de"), &json!(title)), "{page:#}");
        assert!(page["text"].as_str().unwrap().contains(text), "{text}: {page:#}");
    }
    for (page, button) in [
        ("open", " verbinden"),
        ("code", "Ich habe den Code eingegeben"),
        ("connected", "Ohne die anderen abschließen"),
    ] {
        let last = seen[page]["buttons"].as_array().and_then(|buttons| buttons.last()?.as_str());
        assert!(last.is_some_and(|last| last.ends_with(button)), "{button}: {seen:#}");
    }
}
