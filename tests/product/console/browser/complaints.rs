//! From a person's complaint to its reason, in Chromium.

use std::process::Command;

use serde_json::{Value, json};
use support::oauth::browser as users;
use support::programs::{Programs, browser};
use support::setup::KEY;
use support::webhooks::make_secret;
use support::{Dialect, Gateway, OAuthProvider, Person, Reply, Setup, Upstream, module, wait_for};

use crate::console;
use crate::integrations::{begin, client, connect};

/// The most clicks from the start page to a reason.
const MOST_CLICKS: u64 = 3;

/// A gateway with six people who complain. The account of ann has expired. The service that bob
/// calls is down. The client secret with which cid connects is wrong. The application of dora sends
/// what is not valid. The receiver of the webhook of eve is down. The agent of gil calls the
/// service that is down. Many calls of bob have succeeded since then, and have records too.
struct World {
    gateway: Gateway,
    /// A key that someone has found, and whose name is `lost`.
    key: String,
    _provider: OAuthProvider,
    _service: Upstream,
    _receiver: Upstream,
}

fn world() -> World {
    let (service, receiver) = (Upstream::start(), Upstream::start());
    service.reply("*", Reply::json(json!({"number": 1})));
    service.reply("/down", Reply::json(json!({})).status(503));
    receiver.reply("*", Reply::empty(503));
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = Setup::new()
        .account("mail", &provider)
        .module("plain", module::account(&json!({"identifier": "plain", "auth": "none"})))
        .upstream("plain", "api", &service.url())
        .config("[callbacks]\nallow_private_network = true\n[calls]\nkeep = \"all\"")
        .start();
    provider.register(&format!("{}/connectors/mail/success-authorize-callback", gateway.address()));
    let user = |tenant: &str, subject: &str| client(&gateway, tenant, Some(subject), "operate,integrate");

    let operator = gateway.client();
    let id = &provider.dialect().client_id;
    let wrong = json!({"client_id": id, "client_secret": "not-the-secret-of-this-client"});
    operator.request("PUT", "/admin/tenants/globex/oauth_clients/mail").json(&wrong).send().ok();
    let callback = Person::named("cid").consents(&begin(&user("globex", "cid"), "mail"));
    users::open(&callback);

    connect(&user("acme", "ann"), "mail", "ada");
    provider.withdraw();
    let accounts = operator.get("/admin/integrations?subject=ann").ok();
    let account = accounts["integrations"][0]["id"].as_str().unwrap();
    operator.post(&format!("/admin/integrations/{account}/renew"), json!({})).problem(424, "reauthorization-required");

    user("acme", "ann").call("mail/forward", json!({"path": "/"})).problem(424, "reauthorization-required");
    let bob = user("acme", "bob");
    bob.call("plain/forward", json!({"path": "/down"})).problem(502, "upstream-failed");
    let dora = user("acme", "dora");
    // More than the page of a person shows.
    for _ in 0..51 {
        dora.call("plain/forward", json!({"unknown": 1})).problem(422, "validation");
    }

    // More than the screens ask for at a time.
    for _ in 0..201 {
        bob.call("plain/forward", json!({"path": "/"})).ok();
    }
    make_secret(&client(&gateway, "acme", None, "operate,integrate"));
    let urls = json!([format!("{}/hook", receiver.url())]);
    user("acme", "eve").call("plain/fetch", json!({"path": "/", "callback_urls": urls})).ok();
    let made = client(&gateway, "acme", None, "operate").post("/agent-sessions", json!({"subject": "gil"})).json();
    let tool = json!({"name": "plain__forward", "arguments": {"path": "/down"}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": tool});
    gateway.anonymous().with_key(made["token"].as_str().unwrap()).request("POST", "/mcp").json(&call).send().ok();
    // An application that is named like a connector.
    operator.post("/admin/keys", json!({"name": "plain", "scopes": ["operate"]}));
    let lost = operator.post("/admin/keys", json!({"name": "lost", "scopes": ["operate"]})).json();
    // The application of fay calls with JWTs, and fay has not connected anything yet.
    assert_eq!(user("acme", "eve").post("/connect-links", json!({"connectors": ["mail"]})).status, 201);
    assert_eq!(gateway.home().sqlite("UPDATE connect_links SET subject = 'fay', key_id = NULL"), 1);
    wait_for("everything to fail", || {
        let webhooks = operator.get("/admin/webhooks?failing=true").ok();
        let calls = operator.get("/admin/calls?limit=200").ok();
        let failed = operator.get("/admin/calls?failed=true").ok();
        let not_valid = operator.get("/admin/calls?subject=dora").ok();
        let of_agent = operator.get("/admin/calls?subject=gil").ok();
        let count = |page: &Value, name: &str| page[name].as_array().unwrap().len();
        let is_recorded =
            count(&failed, "calls") >= 4 && count(&not_valid, "calls") == 50 && count(&of_agent, "calls") == 1;
        (count(&webhooks, "webhooks") == 1 && is_recorded && count(&calls, "calls") == 200).then_some(())
    });
    let key = lost["key"].as_str().unwrap().to_owned();
    World { gateway, key, _provider: provider, _service: service, _receiver: receiver }
}

#[test]
#[ignore = "make test-browser"]
fn an_operator_gets_from_each_complaint_to_its_reason_in_three_clicks() {
    let world = world();
    let ways = json!([
        {"name": "expired account", "reason": "invalid_grant", "steps": [{"search": "Ada@Example.com", "title": "User"}]},
        {"name": "service down", "reason": "The service behind the connector has a fault.", "steps": [
            {"search": "bob", "title": "User bob"}, {"link": "Open the last call", "title": "Call"}]},
        {"name": "wrong client secret", "reason": "OAuth client", "steps": [{"search": "cid", "title": "User cid"}]},
        {"name": "not valid", "reason": "/unknown", "steps": [
            {"search": "dora", "title": "User dora"}, {"link": "Open the last call", "title": "Call"}]},
        {"name": "webhook", "reason": "503", "steps": [
            {"link": "Overview", "title": "Overview", "isBack": true}, {"link": "Failing webhooks", "title": "Webhooks"},
            {"open": "attempt", "title": "Webhooks"}]},
        {"name": "failed calls", "reason": "validation", "steps": [
            {"link": "Overview", "title": "Overview", "isBack": true}, {"link": "Failed calls", "title": "Calls"}]},
        // The code of the provider is on the page of the call too.
        {"name": "call of an expired account", "reason": "invalid_grant", "steps": [
            {"search": "ann", "title": "User ann"}, {"link": "Open the last call", "title": "Call"}]},
        {"name": "call of a refused client", "reason": "invalid_client", "steps": [
            {"search": "cid", "title": "User cid"}, {"link": "Open the last call", "title": "Call"}]},
        // The last one: the program looks at the links of its page.
        {"name": "call of an agent", "reason": "ags_", "steps": [
            {"search": "gil", "title": "User gil"}, {"link": "Open the last call", "title": "Call"}]},
    ]);
    let programs = Programs::of("browser", "console-complaints");
    programs.copy(&["console_complaints.mjs", "console_person.mjs", "looks.mjs"]);
    let mut visit = Command::new("node");
    visit.args(["console_complaints.mjs", &browser(), &world.gateway.address(), KEY, &ways.to_string(), &world.key]);
    let seen = programs.run(&mut visit);
    let seen: Value = serde_json::from_str(&seen).unwrap();
    console::assert_no_fault(&seen);
    for way in ways.as_array().unwrap() {
        let [name, reason] = ["name", "reason"].map(|member| way[member].as_str().unwrap());
        let page = seen["pages"][name].as_str().unwrap();
        assert!(page.contains(reason), "`{reason}` on the page `{name}`: {page}");
        assert!(seen["ways"][name].as_u64().unwrap() <= MOST_CLICKS, "{name}: {seen:#}");
    }
    for (name, text) in [
        ("acme", "OAuth clients"),
        ("mail", "Operations"),
        ("dora", "50 or more calls of plain/forward failed in this way."),
        ("fay", "lnk_"),
        ("nobody-goes-by-this", "Nothing here has this name."),
        ("plain", "Connector plain"),
        ("plain", "Key plain, which begins with cgw_"),
        ("lost", "Begins with"),
        ("a whole key", "lost"),
        ("the beginning of a key", "lost"),
    ] {
        assert!(seen["found"][name].as_str().unwrap().contains(text), "{name}: {seen:#}");
    }
    assert!(!seen["urls"].to_string().contains(&world.key), "a key is in no address");
    let to_session = seen["toSession"].as_array().unwrap();
    let is_to_audit = |href: &Value| href.as_str().is_some_and(|href| href.starts_with("#/audit?target=ags_"));
    assert!(to_session.len() == 1 && to_session.iter().all(is_to_audit), "{to_session:?}");
    assert_eq!(seen["shortcut"], true, "the shortcut leads to the search field");
    let page = seen["pages"]["expired account"].as_str().unwrap();
    assert!(page.contains("Keys of this user"), "the key of ann: {page}");
    let [expired, refused] =
        ["call of an expired account", "call of a refused client"].map(|name| seen["pages"][name].as_str().unwrap());
    assert!(expired.contains("The account ada@example.com expired") && expired.contains("Repeat it"), "{expired}");
    assert!(!refused.contains("Repeat it"), "no route repeats what a browser has begun: {refused}");
    assert_eq!(seen["menu"], "false", "the menu of a small screen is closed by its links");
    assert_eq!(seen["early"].as_array().unwrap().len(), 1, "the first list is asked for once: {seen:#}");
    assert_eq!(seen["well"], 0, "the overview says that all is well, and a part was not read");
    assert!(seen["pages"]["broken screen"].as_str().unwrap().contains("broken on purpose"), "{seen:#}");
    let refreshes = json!([["seen", true], ["hidden", false], ["seen again", true]]);
    assert_eq!(seen["refreshes"], refreshes, "the overview asks while it is seen");
}
