//! The API page, `GET /docs`: what the gateway serves, and the page in a browser.

use std::process::Command;

use serde_json::{Value, json};
use support::setup::KEY;
use support::{Setup, gzip, module};

use crate::clients::World;

#[test]
fn the_page_and_its_scripts_need_no_key_and_load_nothing_from_elsewhere() {
    let gateway = Setup::new().start();
    let page = gateway.anonymous().get("/docs");
    assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"));
    let policy = page.header("content-security-policy");
    assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{policy}");
    assert!(policy.contains("connect-src 'self'") && !policy.contains("http"), "{policy}");
    assert_eq!((page.header("x-frame-options"), page.header("referrer-policy")), ("DENY", "no-referrer"));
    let html = page.text();
    for part in ["docs/scalar.js", "docs/page.js"] {
        assert!(html.contains(&format!("src=\"{part}\"")), "{part} in {html}");
        let script = gateway.anonymous().get(&format!("/{part}"));
        assert_eq!((script.status, script.header("content-type")), (200, "text/javascript; charset=utf-8"));
        assert_eq!(script.header("x-content-type-options"), "nosniff");
    }
    assert_eq!(gateway.anonymous().get("/docs/other.js").status, 404);
}

#[test]
fn a_connector_has_a_page_and_a_description_of_its_own() {
    let gateway = Setup::new().module("liar", module::liar("version=1.0.0")).guest("hostile").start();
    let page = gateway.anonymous().get("/docs/liar");
    assert_eq!((page.status, page.header("x-frame-options")), (200, "DENY"));
    assert!(page.text().contains("src=\"../docs/page.js\""), "{}", page.text());
    let described = gateway.anonymous().get("/openapi.json?connector=liar").ok();
    let paths: Vec<&String> = described["paths"].as_object().unwrap().keys().collect();
    assert!(!paths.is_empty() && paths.iter().all(|path| path.starts_with("/connectors/liar/")), "{paths:?}");
    let tags = described["tags"].as_array().unwrap();
    assert_eq!((tags.len(), &tags[0]["name"]), (1, &json!("liar")));
    assert_eq!(tags[0]["externalDocs"]["url"], format!("{}/docs/liar", gateway.address()));
    for missing in ["/docs/lier", "/openapi.json?connector=lier"] {
        let problem = gateway.anonymous().get(missing).problem(404, "unknown-connector");
        assert!(problem["detail"].as_str().unwrap().contains("`liar`"), "{problem}");
    }
}

#[test]
fn the_library_is_sent_compressed_and_only_once() {
    let gateway = Setup::new().start();
    let get =
        |name: &str, value: &str| gateway.anonymous().request("GET", "/docs/scalar.js").header(name, value).send();
    let small = get("accept-encoding", "gzip, deflate, br, zstd");
    assert_eq!((small.header("content-encoding"), small.header("vary")), ("gzip", "Accept-Encoding"));
    let plain = get("accept-encoding", "identity");
    assert_eq!(plain.header("content-encoding"), "");
    assert!(small.body.len() < plain.body.len() / 3, "{} of {} bytes", small.body.len(), plain.body.len());
    assert!(gzip::decode(&small.body) == plain.body);
    let again = get("if-none-match", plain.header("etag"));
    assert_eq!((again.status, again.body.len()), (304, 0));
}

/// The page in a browser, with every connector. `make test` installs the browser where it can.
#[test]
fn a_browser_without_a_network_searches_the_page_and_tries_a_call() {
    let Some(browser) = browser() else {
        println!(
            "SKIPPED: there is no Chromium. Install the package chromium, as `make test` does on Debian for root."
        );
        return;
    };
    let world = World::start("docs");
    world.copy(&["docs.mjs"]);
    let picture = module::root().join("target/docs.png");
    let mut visit = Command::new("node");
    visit.args(["docs.mjs", &browser, &world.gateway.address(), KEY]).arg(&picture);
    let seen: Value = serde_json::from_str(&world.run(&mut visit)).unwrap();

    assert_eq!((&seen["elsewhere"], &seen["errors"]), (&json!([]), &json!([])), "{seen}");
    let path = "/connectors/preprint_archive/get_categories";
    assert!(seen["found"].as_str().unwrap().contains(path), "{seen}");
    let call = json!([{"url": format!("{}{path}", world.gateway.address()), "status": 200}]);
    assert_eq!(seen["calls"], call, "{seen}");
    let sections = seen["sections"].as_str().unwrap();
    for connector in module::shipped_names() {
        assert!(sections.lines().any(|line| line == connector), "{connector} in {sections}");
    }
    let one = seen["one"].as_str().unwrap();
    assert!(one.contains("preprint_archive") && !one.contains("team_chat") && !one.contains("webhooks"), "{one}");
    assert!(one.lines().any(|line| line == "get_categories"), "operations have their names: {one}");
    assert!(seen["entered"].as_str().unwrap().ends_with("/get_paper_metadata"), "Enter opens the first hit: {seen}");
    // The key is in the header of the call, and nowhere else.
    for place in ["stored", "address", "urls"] {
        assert!(!seen[place].to_string().contains(KEY), "{place}: {}", seen[place]);
    }
    assert!(!world.gateway.lines().iter().any(|line| line.contains(KEY)));
}

/// Texts in light, in dark and on a narrow screen: the first screen of each connector's page, and
/// the whole page of one with a file, examples and every kind of field.
#[test]
fn every_text_of_the_page_has_enough_contrast() {
    let Some(browser) = browser() else {
        println!("SKIPPED: there is no Chromium. Install the package chromium.");
        return;
    };
    let world = World::start("contrast");
    world.copy(&["contrast.mjs"]);
    let mut visit = Command::new("node");
    visit.args(["contrast.mjs", &browser, &world.gateway.address()]).args(module::shipped_names());
    let seen: Value = serde_json::from_str(&world.run(visit.arg("preprint_archive"))).unwrap();
    assert_eq!(seen["violations"], json!([]), "{seen}");
    assert_eq!(seen["checked"], 4 * module::shipped_names().len(), "{seen}");
}

/// The path of a browser.
pub(crate) fn browser() -> Option<String> {
    let folders = std::env::var_os("PATH")?;
    let browser = std::env::split_paths(&folders).map(|folder| folder.join("chromium")).find(|path| path.is_file())?;
    Some(browser.to_str()?.to_owned())
}
