//! Operations that an operator tries, and changes that an operator makes, in Chromium. The programs
//! that the page shows are run as well.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};
use support::accounts::email;
use support::process;
use support::programs::{Programs, browser};
use support::setup::KEY;
use support::webhooks::make_secret;
use support::{Client, Dialect, Gateway, OAuthProvider, Reply, Setup, Upstream, dexscreener, module, wait_for};

use crate::console::{self, HOSTILE};
use crate::integrations::{client, connect};

/// The key of a user that the service of `keyed` accepts.
const KEY_OF_USER: &str = "key-of-the-user-0123456789";

/// The key of another one.
const KEY_OF_ZOE: &str = "key-of-another-user-0123456789";

/// The name of an account that a header cannot have as it is.
const ACCOUNT: &str = "Zoë Ω";

/// The body of a call whose text and number programs may not change.
const BODY: &str = r#"{"path": "/me", "value": "it's \"quoted\" \\ ✓ $HOME `x`", "count": 12345678901234567890123}"#;

/// The content of the file that is uploaded.
const FILE: &[u8] = &[0, 159, 146, 150, 255];

/// A gateway with a connector whose users have keys, one that needs no account, one whose users
/// have accounts at a provider, one to remove, one that a service notifies, and one of the product
/// that describes its answers.
struct World {
    gateway: Gateway,
    service: Upstream,
    /// The ids of what is deleted.
    ids: Value,
    _provider: OAuthProvider,
    _market: Upstream,
}

fn world() -> World {
    let (service, provider) = (Upstream::start(), OAuthProvider::start(Dialect::strict()));
    let market = dexscreener::start();
    service.reply("/down", Reply::empty(503));
    service.on("*", |seen| match seen.header("x-api-key") {
        "" => Reply::json(json!({"number": 1})),
        key if key.ends_with(KEY_OF_ZOE) => {
            Reply::json(json!({"id": "43", "email": "zoe@keyed.example", "name": "Zoë"}))
        }
        key if key.ends_with(KEY_OF_USER) => {
            Reply::json(json!({"id": "42", "email": "ann@keyed.example", "name": "Ann"}))
        }
        _ => Reply::json(json!({})).status(401),
    });
    let keyed = json!({"identifier": "keyed", "auth": "api_key", "placement": "header", "check": "whoami"});
    let free = json!({"identifier": "free", "auth": "none"});
    let gateway = Setup::new()
        .module("keyed", module::account(&keyed))
        .upstream("keyed", "api", &service.url())
        .module("free", module::account(&free))
        .upstream("free", "api", &service.url())
        .account("mail", &provider)
        .module("liar", module::liar("version=1.0.0"))
        .shipped("dex_market_data")
        .upstream("dex_market_data", "api", &market.url())
        .guest("notified")
        .provider("notified", &provider, &[("accounts", "")])
        .general("hooks.public_url = \"https://hooks.example\"")
        .config("[jobs]\nworkers = 0\n[callbacks]\nallow_private_network = true")
        .start();
    for connector in ["mail", "notified"] {
        provider.register(&format!("{}/connectors/{connector}/success-authorize-callback", gateway.address()));
    }
    let ids = prepare(&gateway, &provider);
    World { gateway, service, ids, _provider: provider, _market: market }
}

/// Makes what is changed later, and returns the ids.
fn prepare(gateway: &Gateway, provider: &OAuthProvider) -> Value {
    let operator = gateway.client();
    // More than one page of failed calls.
    for _ in 0..55 {
        operator.call("free/forward", json!({"unknown": 1})).problem(422, "validation");
    }
    wait_for("the records of the calls", || {
        let failed = operator.get("/admin/calls?failed=true&limit=200").ok();
        (failed["calls"].as_array().unwrap().len() >= 55).then_some(())
    });
    let account = json!({"auth_type": "api_key", "credentials": {"api_key": KEY_OF_ZOE}, "user_identifier": ACCOUNT});
    operator.post("/connectors/keyed/integrations", account.clone()).ok();
    let keyed = operator.get("/admin/integrations?connector=keyed").ok();
    // More users than a page asks for have a newer account of this name.
    for number in 1..=6 {
        let user = client(gateway, "default", Some(&format!("user-{number}")), "operate,integrate");
        user.post("/connectors/keyed/integrations", account.clone()).ok();
    }
    let dialect = provider.dialect();
    let own = json!({"client_id": dialect.client_id, "client_secret": dialect.client_secret});
    operator.request("PUT", "/admin/tenants/acme/oauth_clients/mail").json(&own).send().ok();
    connect(&client(gateway, "acme", Some("ann"), "operate,integrate"), "mail", "ada");
    let integrations = operator.get("/admin/integrations?connector=mail").ok();
    let key = operator.post("/admin/keys", json!({"name": "old", "scopes": ["operate"]})).json();
    assert_eq!(operator.post("/mcp-sets", json!({"name": "agents", "allow": ["free"]})).status, 201);
    let job = operator.call("free/collect", json!({"path": "/"})).json();
    let account = json!({"auth_type": "none", "user_identifier": "main"});
    operator.post("/connectors/liar/integrations", account).ok();
    let (inbox, trigger, own) = events(&operator, provider);
    json!({
        "account": ACCOUNT, "body": BODY, "integration": integrations["integrations"][0]["id"], "key": key["id"],
        "keyed": keyed["integrations"][0]["id"],
        "job": job["job_id"], "inbox": inbox, "trigger": trigger, "own": own,
    })
}

/// Makes an inbox, a trigger of events that come to it, and a trigger of events that come to
/// another inbox. Returns the ids of the inbox, of the first trigger and of the account of both.
fn events(operator: &Client, provider: &OAuthProvider) -> (Value, Value, Value) {
    connect(operator, "notified", "ada");
    make_secret(operator);
    let inbox = operator.post("/admin/inboxes", json!({"connector": "notified", "inbox": "signed"})).json();
    let [trigger, _] = ["message", "post"].map(|kind| {
        let body = json!({"connector": "notified", "type": kind, "urls": [format!("{}/hook", provider.url())]});
        let made = operator.request("POST", "/triggers").header("x-user-identifier", &email("ada")).json(&body).send();
        assert_eq!(made.status, 201, "{}", made.text());
        made.json()["id"].clone()
    });
    let own = operator.get("/admin/integrations?connector=notified").ok()["integrations"][0]["id"].clone();
    (inbox["id"].clone(), trigger, own)
}

#[test]
#[ignore = "make test-browser"]
fn an_operator_tries_operations_and_makes_changes_by_keyboard() {
    let world = world();
    let programs = Programs::of("browser", "console-changes");
    programs.copy(&["console_changes.mjs", "console_person.mjs", "looks.mjs"]);
    let file = programs.path().join("upload.bin");
    fs::write(&file, FILE).unwrap();
    let mut visit = Command::new("node");
    visit.args(["console_changes.mjs", &browser(), &world.gateway.address(), KEY, HOSTILE, KEY_OF_USER]);
    let seen = programs.run(visit.arg(world.ids.to_string()).arg(file));
    let seen: Value = serde_json::from_str(&seen).unwrap();
    console::assert_no_fault(&seen);
    let pages = &seen["pages"];
    for (page, text) in [
        ("what sorting does", "Sort the rows on this page by Duration"),
        ("first page", "50 entries on this page. Only these are sorted, and not the other pages."),
        ("second page", "5 entries on this page. Only these are sorted, and not the other pages."),
        ("connected", "default (active)"),
        ("failed call", &*format!("The account {ACCOUNT} active")),
        ("failed call", "while the"),
        ("refused part", "The store does not answer"),
        ("failed call", &*format!("-H 'X-User-Identifier: {ACCOUNT}'")),
        ("erased", "200"),
        ("typed answer", "members of the answer with their types"),
        ("asked: account", "of mail in any case. Calls of ann"),
        ("asked: account of a tenant", "It touches 1 trigger, which is deleted with its events."),
        ("asked: client", "1 account was connected with it"),
        ("asked: inbox", "What the service sends to the address of notified signed is refused"),
        ("asked: inbox", "It touches 1 trigger."),
        ("asked: trigger", "The trigger of notified.message on the account ada@example.com of the tenant default"),
        ("asked: trigger", "Its URL gets no further event."),
        ("done: client", "The tenant uses the OAuth clients of the configuration."),
        ("asked: account", "Nothing else that is stored uses it."),
        ("asked: connector", "Calls in progress end on it"),
        ("asked: connector", "It touches 1 account."),
        ("asked: job", "The job of free/collect for the tenant default ends"),
        ("asked: key", "It was never used."),
        ("asked: tool set", "/mcp/sets/agents get an error"),
        ("audit", HOSTILE),
        ("audit", "reason: Prüfung"),
        ("audit", "reason: ticket 9"),
    ] {
        assert!(pages[page].as_str().unwrap().contains(text), "`{text}` on the page `{page}`: {seen:#}");
    }
    for (change, said) in [
        ("client", "The OAuth client is deleted."),
        ("inbox", "The inbox is deleted."),
        ("account", "The account is deleted"),
        ("key", "The key is revoked."),
        ("tool set", "The tool set is deleted."),
        ("job", "The job is cancelled."),
        ("connector", "liar is removed."),
        ("not signed out", "You are still signed in"),
    ] {
        assert!(seen["said"][change].as_str().unwrap().contains(said), "`{said}` after {change}: {seen:#}");
    }
    assert_eq!(seen["chosen"], "", "a choice that was not sent is not shown as a filter");
    assert!(seen["digits"].as_str().unwrap().contains("so many digits"), "{seen:#}");
    assert_eq!(seen["saved"], "Pläne.pdf");
    assert_eq!(seen["typed"], json!(["free", "/upload", "/kept"]), "an answer takes away what was typed");
    assert_eq!(world.service.seen().iter().filter(|seen| seen.path.ends_with("/earlier")).count(), 1, "{seen:#}");
    assert!(seen["asked"].as_str().unwrap().contains("agents"), "the question is about another row: {seen:#}");
    let account = format!("#/integrations/{}", world.ids["keyed"].as_str().unwrap());
    assert_eq!(seen["account"], account.as_str(), "the page of a failed call leads to its account");
    assert_eq!(seen["example"], json!([true, "solana"]), "the form begins with the fields of the example");
    assert_eq!(seen["member"], json!(["baseToken.name", "string", "Example"]), "nothing is described");
    let asked = pages["asked: account"].as_str().unwrap();
    assert!(!asked.contains("trigger"), "the account has none: {asked}");
    let warning = seen["warning"].as_str().unwrap();
    assert!(warning.contains("It deletes or replaces data") && warning.contains("It calls free/erase"), "{seen:#}");
    assert_eq!((&seen["cookies"], &seen["ended"]), (&json!([]), &json!(401)));
    assert_service(&world);
    assert_changes(&world);
    run_programs(&world, &programs, &seen);
}

/// The service has got the call that asked first once, and the file as it is.
fn assert_service(world: &World) {
    let of = |path: &str| world.service.seen().into_iter().filter(|seen| seen.path.ends_with(path)).collect::<Vec<_>>();
    assert_eq!(of("/erase").len(), 1, "the call that was cancelled was not sent");
    let uploaded: Value = serde_json::from_slice(&of("/upload")[0].body).unwrap();
    assert_eq!(uploaded, json!({"file": "AJ+Slv8="}));
}

/// Each change was made, and its entry has the reason.
fn assert_changes(world: &World) {
    let operator = world.gateway.client();
    let entries = operator.get("/admin/audit?limit=200").ok()["entries"].as_array().unwrap().clone();
    for (action, reason) in [
        ("integration.deleted", HOSTILE),
        ("key.revoked", "Prüfung"),
        ("oauth_client.deleted", "ticket 7"),
        ("tool_set.deleted", "ticket 8"),
        ("job.cancelled", "ticket 9"),
        ("connector.removed", "ticket 10"),
        ("inbox.deleted", "ticket 11"),
    ] {
        let entry = entries.iter().find(|entry| entry["action"] == action).unwrap_or_else(|| panic!("{action}"));
        let detail = entry["detail"].as_str().unwrap();
        assert!(detail.ends_with(&format!("reason: {reason}")), "{action}: {detail}");
    }
    let path = format!("/admin/integrations/{}", world.ids["integration"].as_str().unwrap());
    operator.get(&path).problem(404, "unknown-integration");
    let key = operator.get(&format!("/admin/keys/{}", world.ids["key"].as_str().unwrap())).ok();
    assert!(key["revoked_at"].is_string(), "{key}");
}

/// The programs that the page shows get the answer that the page got.
fn run_programs(world: &World, programs: &Programs, seen: &Value) {
    let expected: Value = serde_json::from_str(seen["answer"].as_str().unwrap()).unwrap();
    let before = world.service.seen().len();
    for (name, file, command) in
        [("curl", "call.sh", &["bash"][..]), ("python", "call.py", &["python3"]), ("javascript", "call.mjs", &["node"])]
    {
        fs::write(programs.path().join(file), seen["programs"][name].as_str().unwrap()).unwrap();
        let mut program = Command::new(command[0]);
        program.arg(file).current_dir(programs.path()).env("GATEWAY_KEY", KEY).env("HOME", "/nowhere");
        let finished = process::run(&mut program);
        // Two of them print the status first.
        let answer = finished.stdout.trim().strip_prefix("200 ").unwrap_or(finished.stdout.trim()).to_owned();
        let answer: Value = serde_json::from_str(&answer)
            .unwrap_or_else(|error| panic!("{name}: {error}: {}{}", finished.stdout, finished.stderr));
        assert_eq!(answer, expected, "{name}");
    }
    assert_eq!(world.service.seen().len(), before + 3);
}
