//! The API page in Chromium.

use std::process::Command;

use serde_json::{Map, Value, json};
use support::catalogue::CONFIGURED;
use support::programs::{Programs, browser, check_pictures, pictures_folder};
use support::setup::KEY;
use support::{Gateway, Setup, Upstream, dexscreener, module};

/// A gateway with every connector, and the stand-in for the service of one of them.
fn gateway() -> (Gateway, Upstream) {
    let service = dexscreener::start();
    let setup = Setup::new().every_shipped().config(CONFIGURED);
    (setup.upstream("dex_market_data", "api", &service.url()).start(), service)
}

/// The page in a browser, with every connector.
#[test]
#[ignore = "make test-browser"]
fn a_browser_without_a_network_searches_the_page_and_tries_a_call() {
    let (gateway, _service) = gateway();
    let programs = Programs::of("browser", "docs");
    programs.copy(&["docs.mjs", "looks.mjs", "pictures.mjs"]);
    let picture = pictures_folder().join("api-page.webp");
    let mut visit = Command::new("node");
    visit.args(["docs.mjs", &browser(), &gateway.address(), KEY]).arg(&picture);
    visit.arg(json!(module::shipped_names()).to_string());
    let seen: Value = serde_json::from_str(&programs.run(&mut visit)).unwrap();

    assert_eq!((&seen["elsewhere"], &seen["errors"]), (&json!([]), &json!([])), "{seen}");
    let nothing = json!([]);
    assert_eq!((&seen["violations"], &seen["wide"], &seen["unreached"]), (&nothing, &nothing, &nothing), "{seen:#}");
    assert_eq!(seen["checked"], 4, "the page at the root in four looks: {seen:#}");
    let path = "/connectors/preprint_archive/get_categories";
    assert!(seen["found"].as_str().unwrap().contains(path), "{seen}");
    let call = json!([{"url": format!("{}{path}", gateway.address()), "status": 200}]);
    assert_eq!(seen["calls"], call, "{seen}");
    let sections = seen["sections"].as_str().unwrap();
    for connector in module::shipped_names() {
        assert!(sections.lines().any(|line| line == connector), "{connector} in {sections}");
    }
    let one = seen["one"].as_str().unwrap();
    assert!(one.contains("preprint_archive") && !one.contains("team_chat") && !one.contains("webhooks"), "{one}");
    assert!(one.lines().any(|line| line == "get_categories"), "operations have their names: {one}");
    assert!(seen["entered"].as_str().unwrap().ends_with("/get_paper_metadata"), "Enter opens the first hit: {seen}");
    let answer: Vec<&str> = seen["answer"].as_str().unwrap().split_whitespace().collect();
    let is_typed = answer.windows(3).any(|words| words == ["schemaVersion", "Type:", "string"]);
    assert!(is_typed, "the members of an answer have their types: {seen}");
    // The key is in the header of the call, and nowhere else.
    for place in ["stored", "address", "urls"] {
        assert!(!seen[place].to_string().contains(KEY), "{place}: {}", seen[place]);
    }
    assert!(!gateway.lines().iter().any(|line| line.contains(KEY)));
    check_pictures(&Map::from_iter([("api-page".to_owned(), seen["screen"].clone())]));
}

/// Texts in light, in dark and on a narrow screen: the first screen of each connector's page, and
/// the whole page of one with a file, examples and every kind of field.
#[test]
#[ignore = "make test-browser"]
fn every_text_of_the_page_has_enough_contrast() {
    let (gateway, _service) = gateway();
    let programs = Programs::of("browser", "contrast");
    programs.copy(&["contrast.mjs", "looks.mjs"]);
    let mut visit = Command::new("node");
    visit.args(["contrast.mjs", &browser(), &gateway.address()]).args(module::shipped_names());
    let seen: Value = serde_json::from_str(&programs.run(visit.arg("preprint_archive"))).unwrap();
    assert_eq!(seen["violations"], json!([]), "{seen}");
    assert_eq!(seen["checked"], 4 * module::shipped_names().len(), "{seen}");
}
