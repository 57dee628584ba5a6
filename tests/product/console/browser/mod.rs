//! The screens in Chromium, with real failures behind them. `make test-browser` installs the
//! browser.

mod changes;
mod complaints;
mod people;
mod pictures;

use std::fs;
use std::process::Command;

use serde_json::{Value, json};
use support::programs::{Programs, browser};
use support::setup::KEY;
use support::webhooks::make_secret;
use support::{Client, Dialect, Gateway, OAuthProvider, Reply, Setup, Signer, Store, Upstream, module, wait_for};

use super::HOSTILE;
use crate::fleet::{key_of, wait_for_ready};
use crate::integrations::{client, connect};

/// Two gateways of one service, and everything that can go wrong: a service that fails, an account
/// that has expired, a module that one gateway refuses, a file that is no module, a webhook that is
/// refused and a job that fails. Every text of others is hostile.
struct World {
    gateway: Gateway,
    receiver: Upstream,
    /// The ids that the browser visits.
    ids: Value,
    _strict: Gateway,
    _provider: OAuthProvider,
    _service: Upstream,
}

fn world(store: &Store) -> World {
    let (service, receiver) = (Upstream::start(), Upstream::start());
    service.reply("*", Reply::json(json!({"says": HOSTILE, "number": 1})));
    service.reply("/fail", Reply::json(json!({"says": HOSTILE})).status(503));
    service.reply("/rejected", Reply::json(json!({"says": HOSTILE})).status(400));
    receiver.reply("*", Reply::empty(410));
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = Setup::new()
        .on(store)
        .account("mail", &provider)
        .module("hostile", module::account(&described(json!({}))))
        .upstream("hostile", "api", &service.url())
        .module("liar", module::liar("version=1.0.0"))
        .guest("notified")
        .general("hooks.public_url = \"https://hooks.example\"")
        .config("[callbacks]\nallow_private_network = true\n[calls]\nkeep = \"all\"\n[fleet]\nname = \"first\"")
        .config(&format!("[telemetry]\nservice_name = {}", json!(HOSTILE)))
        .start();
    provider.register(&format!("{}/connectors/mail/success-authorize-callback", gateway.address()));
    let signer = Signer::new();
    let trust = format!("[trust.publishers.acme]\nkey = \"{}\"\nconnectors = [\"liar\"]", signer.public_key());
    let strict =
        format!("{trust}\n[callbacks]\nallow_private_network = true\n[jobs]\nworkers = 0\n[fleet]\nname = \"strict\"");
    let strict = Setup::new().on(store).general(&key_of(&gateway)).config(&strict).start();
    wait_for_ready(&gateway, 2);
    for file in ["broken", HOSTILE] {
        gateway.home().put(file, b"no module");
        gateway.wait_for_refusal(&format!("{file}.wasm"));
    }
    let ids = fail(&gateway, &provider, &receiver);
    World { gateway, receiver, ids, _strict: strict, _provider: provider, _service: service }
}

/// The connector whose texts are hostile, with more members.
fn described(more: Value) -> Value {
    let mut described = json!({"identifier": "hostile", "auth": "none", "summary": HOSTILE});
    described.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    described
}

/// Makes everything that fails, and returns the ids.
fn fail(gateway: &Gateway, provider: &OAuthProvider, receiver: &Upstream) -> Value {
    let operator = gateway.client();
    let user = client(gateway, "acme", Some("ann"), "operate,integrate");
    connect(&user, "mail", "ada");
    assert_eq!(user.post("/connect-links", json!({"connectors": ["mail"]})).status, 201);
    provider.withdraw();
    let expired = first(&operator, "/admin/integrations?connector=mail", "integrations", "id");
    operator.post(&format!("/admin/integrations/{expired}/renew"), json!({})).problem(424, "reauthorization-required");
    let account = json!({"auth_type": "none", "user_identifier": HOSTILE, "labels": {"note": HOSTILE}});
    user.post("/connectors/hostile/integrations", account).ok();
    let account = first(&operator, "/admin/integrations?connector=hostile", "integrations", "id");
    let failed = user.call("hostile/forward", json!({"path": "/fail"}));
    failed.problem(502, "upstream-failed");
    let call = failed.header("x-request-id").to_owned();
    let read = || (operator.get(&format!("/admin/calls/{call}")).status == 200).then_some(());
    wait_for("the record of the call", read);
    make_secret(&client(gateway, "acme", None, "operate,integrate"));
    let urls = json!([format!("{}/hook", receiver.url())]);
    let begun = user.call("hostile/fetch", json!({"path": "/rejected", "callback_urls": urls})).ok();
    let job = begun["job_id"].as_str().unwrap().to_owned();
    wait_for("the webhook to fail", || {
        let listed = operator.get("/admin/webhooks?status=failed").ok();
        (listed["webhooks"].as_array().unwrap().len() == 1).then_some(())
    });
    let key = json!({"name": HOSTILE, "tenant": HOSTILE, "scopes": ["operate"]});
    let key = operator.post("/admin/keys", key).json()["id"].as_str().unwrap().to_owned();
    // A newer version, which one of the gateways refuses.
    operator
        .request("POST", "/admin/connectors")
        .header("content-type", "application/wasm")
        .body(module::liar("version=2.0.0"))
        .send()
        .ok();
    wait_for("a gateway to refuse the version", || {
        let listed = operator.get("/admin/connectors").ok();
        let all = listed["connectors"].as_array().unwrap();
        let liar = all.iter().find(|one| one["connector"] == "liar")?;
        liar["gateways"].as_array()?.iter().any(|at| at["state"] == "refused").then_some(())
    });
    let (trigger, inbox) = (trigger(&operator), inbox(gateway));
    json!({
        "expired": expired, "account": account, "call": call, "job": job, "key": key, "tenant": HOSTILE, "trigger": trigger,
        "inbox": inbox,
    })
}

/// Makes a trigger whose label is hostile.
fn trigger(operator: &Client) -> Value {
    let body = json!({"connector": "gateway", "type": "integration_expired", "labels": {"note": HOSTILE}});
    operator.post("/triggers", body).json()["id"].clone()
}

/// Makes an inbox, to which someone sends what the service did not.
fn inbox(gateway: &Gateway) -> Value {
    let made = gateway.client().post("/admin/inboxes", json!({"connector": "notified", "inbox": "signed"})).json();
    let path = made["url"].as_str().unwrap().strip_prefix("https://hooks.example").unwrap();
    assert_eq!(gateway.anonymous().post(path, json!({})).status, 401);
    wait_for("the record of the request", || {
        let listed = gateway.client().get("/admin/hook-requests").ok();
        (!listed["hook_requests"].as_array().unwrap().is_empty()).then_some(())
    });
    made["id"].clone()
}

fn first(operator: &Client, path: &str, list: &str, member: &str) -> String {
    operator.get(path).ok()[list][0][member].as_str().unwrap().to_owned()
}

/// The screens of the console: each list, and each page of one thing.
fn screens() -> Vec<String> {
    let script = fs::read_to_string(module::root().join("host/operators/src/console/web/app.js")).unwrap();
    let (_, rest) = script.split_once("const SCREENS = {\n").unwrap();
    let (table, _) = rest.split_once("};").unwrap();
    let mut screens = Vec::new();
    for line in table.lines() {
        let (name, parts) = line.trim().split_once(": [").unwrap();
        let name = name.trim_matches('"');
        let parts: Vec<&str> = parts.trim_end_matches("],").split(", ").skip(1).collect();
        if parts[0] != "undefined" {
            screens.push(name.to_owned());
        }
        if parts.len() > 1 {
            screens.push(format!("one of {name}"));
        }
    }
    screens
}

#[test]
#[ignore = "make test-browser"]
fn an_operator_finds_the_reason_of_each_failure_by_keyboard_and_in_every_look() {
    let store = Store::postgres();
    let world = world(&store);
    let before = world.receiver.seen().len();
    let programs = Programs::of("browser", "console");
    programs.copy(&["console.mjs", "console_person.mjs", "looks.mjs"]);
    let mut visit = Command::new("node");
    visit.args(["console.mjs", &browser(), &world.gateway.address(), KEY, &world.ids.to_string(), HOSTILE]);
    let update = programs.path().join("update.wasm");
    fs::write(&update, module::liar("version=3.0.0")).unwrap();
    let more = programs.path().join("more.wasm");
    fs::write(&more, module::account(&described(json!({"link_hosts": ["more.example"]})))).unwrap();
    let seen = programs.run(visit.args([&update, &more]));
    let seen: Value = serde_json::from_str(&seen).unwrap();

    super::assert_no_fault(&seen);
    let pages = seen["pages"].as_object().unwrap();
    assert_eq!(seen["checked"], json!(4 * pages.len()), "each page in four looks: {seen:#}");
    let places = seen["places"].as_array().unwrap();
    let screens = screens();
    assert!(screens.len() > 25, "{screens:?}");
    for screen in screens {
        assert!(places.contains(&json!(screen)), "the screen `{screen}` was not looked at: {places:?}");
    }
    for (page, text) in [
        ("signed out", "Sign in"),
        ("wrong key", "A valid token is needed"),
        ("calls", "upstream-failed"),
        ("call", "The service behind the connector has a fault."),
        ("call", "failed here"),
        ("call", "curl -X POST"),
        ("find", "Nothing here has this name."),
        ("person", "The user must connect the account ada"),
        ("person", "lnk_"),
        ("no such screen", "There is no such screen"),
        ("integrations", "expired"),
        ("expired", "The user must connect this account again."),
        ("expired", "Who can act\nuser"),
        ("renewed", "The user must authorize again"),
        ("account", HOSTILE),
        ("connectors", "broken.wasm"),
        ("connector", "strict"),
        ("connector", "signature"),
        ("rolled back", "rolled_back"),
        ("installed", "liar 3.0.0 is live."),
        ("granted", "granted"),
        ("hostile", HOSTILE),
        ("asks for more", "host more.example"),
        ("accepted", "more.example"),
        ("overview", "Connectors that lag"),
        ("overview", "Requests in a second: now"),
        ("overview", "things are wrong:"),
        ("overview", "Late or failing refreshes"),
        ("overview", "Triggers that are not well"),
        ("overview", "Failing webhooks"),
        ("try", HOSTILE),
        ("tried", HOSTILE),
        ("refused", "502"),
        ("jobs", "failed"),
        ("job", "The upstream refused the request"),
        ("webhooks", "failed"),
        ("resent", "2 attempts"),
        ("triggers", "gateway.integration_expired"),
        ("trigger", HOSTILE),
        ("trigger", "The last events"),
        ("inboxes", "needs-secret"),
        ("inbox", "https://hooks.example/hooks/"),
        ("inbox", "Nothing has come that passed the checks."),
        ("inbox", "rejected"),
        ("hook requests", "rejected"),
        ("keys", HOSTILE),
        ("key", HOSTILE),
        ("new key", "May call"),
        ("unknown name", "/allow/1"),
        ("new tenant", "There is no tenant acmee yet"),
        ("made", "It is shown only now"),
        ("no match", "Nothing matches the filters."),
        ("tenants", HOSTILE),
        ("tenant", HOSTILE),
        ("gateways", "strict"),
        ("audit", "connector.rolled_back"),
        ("audit", &*format!("reason: {HOSTILE}")),
        ("settings", HOSTILE),
        ("settings", "is set, and not shown"),
        ("settings", "broken.wasm"),
        ("only changed", "service_name"),
        ("searched", "service_name"),
        ("below a path", "upstream-failed"),
        ("ended", "The session has ended."),
    ] {
        let shown = pages.get(page).unwrap_or_else(|| panic!("{page}: {seen:#}")).as_str().unwrap();
        assert!(shown.contains(text), "`{text}` on the page `{page}`: {shown}");
    }
    let receiver = world.receiver.url();
    for (dialog, text) in [
        ("Refresh the tokens", "The account expires if the provider says that the access has ended"),
        ("Roll liar back to 1.0.0", "Version 1.0.0 of liar becomes live at 2 gateways in place of 2.0.0."),
        ("Roll liar back to 1.0.0", "The grants become those that this version had when it was last live."),
        ("Grant api.example", "liar may send requests to api.example"),
        ("Revoke api.example", "liar may no longer send requests to api.example."),
        ("Revoke api.example", "Its operations that need api there fail."),
        ("Send the webhook again", &*receiver),
    ] {
        let shown = seen["dialogs"][dialog].as_str().unwrap_or_else(|| panic!("{dialog}: {seen:#}"));
        assert!(shown.contains(text), "`{text}` in the dialog `{dialog}`: {shown}");
    }
    let urls = seen["urls"].as_array().unwrap().iter().filter_map(Value::as_str);
    let events: Vec<&str> = urls.filter(|url| url.contains("/events?")).collect();
    assert!(!events.is_empty() && events.iter().all(|url| url.contains("order=newest")), "{events:?}");
    assert_eq!(world.receiver.seen().len(), before + 1, "the webhook was sent once more");
    assert!(seen["behindBar"].as_f64().unwrap() < 40.0, "the room behind the bars of a call: {}", seen["behindBar"]);
    let point = seen["point"].as_str().unwrap();
    assert!(point.contains("UTC: ") && point.contains("/s"), "the value under the pointer: {point}");
    let [ascending, descending] = [0, 1].map(|number| seen["sorted"][number].as_array().unwrap().clone());
    assert!(ascending.len() > 1 && ascending[0] != descending[0], "{seen:#}");
    assert_eq!(descending.into_iter().rev().collect::<Vec<_>>(), ascending);
    assert!(!pages["searched"].as_str().unwrap().contains("public_url"), "{}", pages["searched"]);
    let bytes = seen["bytes"].as_u64().unwrap();
    assert!(bytes < 112_000, "{bytes} bytes of the page and its files, compressed");
    // The key is nowhere but in the request that signs in.
    for place in ["stored", "urls"] {
        assert!(!seen[place].to_string().contains(KEY), "{place}: {}", seen[place]);
    }
    assert!(!world.gateway.lines().iter().any(|line| line.contains(KEY)));
}
