//! The API page, `GET /docs`: what the gateway serves, and the page in a browser.

mod browser;

use serde_json::json;
use support::{Setup, gzip, module};

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
fn the_root_leads_a_browser_to_the_pages_and_no_program() {
    let admin = "admin_listen = \"127.0.0.1:0\"";
    for (config, leads_to_console) in [("", true), (admin, false)] {
        let gateway = Setup::new().config(config).start();
        let browser = |client: &support::Client| {
            client.request("GET", "/").header("accept", "text/html,application/xhtml+xml,*/*;q=0.8").send()
        };
        let page = browser(&gateway.anonymous());
        assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"));
        assert_eq!((page.header("vary"), page.header("x-frame-options")), ("Accept", "DENY"));
        // The addresses are relative, because a proxy may serve the gateway below a path.
        assert!(page.text().contains("<a href=\"docs\">"), "{}", page.text());
        assert_eq!(page.text().contains("<a href=\"console\">"), leads_to_console, "{}", page.text());
        if leads_to_console {
            assert_eq!(gateway.anonymous().get("/console").status, 200);
        }
        let problem = gateway.anonymous().request("GET", "/").header("accept", "*/*").send().problem(404, "not-found");
        assert!(problem["detail"].as_str().unwrap().contains("GET /openapi.json"), "{problem}");
    }
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
