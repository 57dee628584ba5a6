//! The pictures of the pages, of a gateway with connectors of the product. The file
//! `tests/browser/pictures.json` names them.

use std::process::Command;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use support::programs::{Programs, browser, check_pictures, pictures, pictures_folder};
use support::setup::KEY;
use support::webhooks::make_secret;
use support::{Dialect, Gateway, OAuthProvider, Reply, Setup, Upstream, wait_for};

use crate::console;

/// A gateway with failures: the account of ann has expired, the service that bob calls is down, and
/// the application of eve sends what is not valid.
struct World {
    gateway: Gateway,
    /// The id of the call of bob.
    call: String,
    /// The page on which eve connects accounts.
    link: String,
    _provider: OAuthProvider,
    _service: Upstream,
}

fn world() -> World {
    let (service, provider) = (Upstream::start(), OAuthProvider::start(Dialect::of("google")));
    service.reply("*", Reply::empty(503));
    let mut setup = Setup::new()
        .config(
            "[fleet]\nname = \"gateway-1\"\n[connect]\nname = \"Planner\"\n[callbacks]\nallow_private_network = true",
        )
        .oauth_client("google", provider.dialect());
    for name in ["slack", "github"] {
        setup = setup.oauth_client(name, &Dialect::of(name));
    }
    for (connector, upstreams) in [
        ("workspace_mail", &["api", "upload", "oauth2"][..]),
        ("team_chat", &["api"][..]),
        ("code_hosting", &["api"][..]),
    ] {
        let url = provider.url();
        let mut section = format!(
            "[connectors.{connector}]\nallow_private_network = true\noauth.authorization_url = \"{url}/authorize\"\n\
             oauth.token_url = \"{url}/token\"\n"
        );
        for upstream in upstreams {
            section.push_str(&format!("upstreams.{upstream} = \"{}\"\n", service.url()));
        }
        setup = setup.shipped(connector).config(&section);
    }
    let gateway = setup
        .shipped("preprint_archive")
        .config(&format!(
            "[connectors.preprint_archive]\nallow_private_network = true\nupstreams.api = \"{0}\"\nupstreams.files = \"{0}\"",
            service.url()
        ))
        .start();
    let (call, link) = fail(&gateway, &service);
    World { gateway, call, link, _provider: provider, _service: service }
}

/// Makes what fails. Returns the id of a call, and the address of a page for a user.
fn fail(gateway: &Gateway, service: &Upstream) -> (String, String) {
    let operator = gateway.client();
    let accounts = [
        ("ann", "workspace_mail", "ann@acme.example"),
        ("ann", "code_hosting", "ann-acme"),
        ("bob", "code_hosting", "bob-acme"),
        ("bob", "team_chat", "acme"),
    ];
    let lines = accounts.map(|(subject, connector, name)| {
        let credentials = json!({"access_token": format!("token-of-{name}"), "refresh_token": format!("refresh-token-of-{name}")});
        let email = format!("{subject}@acme.example");
        json!({
            "tenant": "acme", "subject": subject, "connector": connector, "user_identifier": name, "credentials": credentials,
            "account": {"email": email},
        })
        .to_string()
    });
    let import = operator.request("POST", "/admin/integrations/import").header("content-type", "application/x-ndjson");
    let imported = import.body(lines.join("\n")).send();
    assert_eq!(imported.text().matches("\"created\"").count(), accounts.len(), "{}", imported.text());
    let key = |name: &str, subject: Value, more: Value| {
        let mut body = json!({"name": name, "tenant": "acme", "subject": subject, "scopes": ["operate", "integrate"]});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let made = operator.post("/admin/keys", body);
        assert_eq!(made.status, 201, "{}", made.text());
        gateway.anonymous().with_key(made.json()["key"].as_str().unwrap())
    };
    let application = key("planner", json!(null), json!({}));
    make_secret(&application);
    let expired =
        json!({"connector": "gateway", "type": "integration_expired", "urls": [format!("{}/hook", service.url())]});
    assert_eq!(application.post("/triggers", expired).status, 201);
    let soon = humantime::format_rfc3339_seconds(SystemTime::now() + Duration::from_secs(5 * 86_400));
    key(
        "reports",
        json!(null),
        json!({"effects": ["read"], "allow": ["code_hosting"], "expires_at": soon.to_string()}),
    );

    let ann = key("planner of ann", json!("ann"), json!({}));
    let listed = operator.get("/admin/integrations?subject=ann&connector=workspace_mail").ok();
    let account = listed["integrations"][0]["id"].as_str().unwrap();
    operator.post(&format!("/admin/integrations/{account}/renew"), json!({})).problem(424, "reauthorization-required");
    ann.call("workspace_mail/messages_list", json!({"query": {"q": "is:unread"}}))
        .problem(424, "reauthorization-required");
    let bob = key("planner of bob", json!("bob"), json!({"allow": ["code_hosting", "team_chat"], "confirm": true}));
    let issue = json!({"owner": "acme", "repo": "plans", "issue_number": 7});
    let failed = bob.call("code_hosting/get_issue", issue);
    failed.problem(502, "upstream-failed");
    let eve = key("planner of eve", json!("eve"), json!({}));
    eve.call("team_chat/chat_post_message", json!({"channel": "C024BE91L", "txt": "Hello"})).problem(422, "validation");
    wait_for("the records of the calls", || {
        (operator.get("/admin/calls").ok()["calls"].as_array().unwrap().len() >= 3).then_some(())
    });
    wait_for("the webhook to fail", || {
        let failing = operator.get("/admin/webhooks?failing=true").ok();
        (failing["webhooks"] != json!([])).then_some(())
    });
    let connectors = json!(["workspace_mail", "team_chat", "code_hosting"]);
    let link = eve.post("/connect-links", json!({"connectors": connectors})).json();
    (failed.header("x-request-id").to_owned(), link["url"].as_str().unwrap().to_owned())
}

#[test]
#[ignore = "make test-browser"]
fn each_screen_of_the_pages_has_a_picture() {
    let world = world();
    let programs = Programs::of("browser", "console-pictures");
    programs.copy(&["console_pictures.mjs", "console_person.mjs", "looks.mjs", "pictures.mjs"]);
    let screens: Value = pictures().into_iter().filter(|(_, screen)| screen.get("program").is_none()).collect();
    let text = screens.to_string().replace("{call}", &world.call).replace("{link}", &world.link);
    let mut visit = Command::new("node");
    visit.args(["console_pictures.mjs", &browser(), &world.gateway.address(), KEY, &text]).arg(pictures_folder());
    let seen: Value = serde_json::from_str(&programs.run(&mut visit)).unwrap();
    console::assert_no_fault(&seen);
    for (screen, text) in [
        ("console-overview", "things are wrong:"),
        ("console-call", "The upstream answered 503"),
        ("console-user", "The user must connect the account ann@acme.example"),
        ("console-connector", "get_issue"),
        ("console-keys", "planner of bob"),
        ("connect-page", "Gmail"),
    ] {
        assert!(seen["pages"][screen].as_str().unwrap().contains(text), "`{text}` on {screen}: {seen:#}");
    }
    check_pictures(seen["screens"].as_object().unwrap());
}
