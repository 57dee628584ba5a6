//! Addresses and secrets of inboxes and subscriptions, and tokens of applications: only the service
//! and the operator who makes an inbox see them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;
use support::jwt::at;
use support::webhooks::is_signed_with;

use super::*;
use crate::hooks::hmac_hex;

const SIGNING_SECRET: &str = "8f742231b10e8888abcd99yyyzzz85a5";
const AGENT_SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const APP_TOKEN: &str = "xapp-1-A1-0123456789abcdef";

/// A gateway that logs and records everything, and whose services repeat what they are told.
fn world() -> Shipped {
    let service = Upstream::start();
    let general = format!(
        "hooks.public_url = \"{PUBLIC}\"\nlog = \"debug\"\ncalls.keep = \"all\"\ncallbacks.allow_private_network = true"
    );
    let connectors = [
        ("code_hosting", "api", "github"),
        ("office_mail", "graph", "microsoft"),
        ("workspace_calendar", "api", "google"),
        ("team_chat", "api", "slack"),
    ];
    let mut setup = Setup::new().general(&general);
    for (connector, upstream, provider) in connectors {
        setup = setup.shipped(connector).oauth_client(provider, &Dialect::of(provider));
        if provider == "slack" {
            setup = setup.config(&format!("app_token = \"{APP_TOKEN}\""));
        }
        setup = setup.config(&section(connector, &[upstream], &service));
    }
    let world = Shipped { gateway: setup.start(), service };
    let is_away = Mutex::new(true);
    world.service.on("*", move |seen| {
        let authorization = seen.header("authorization");
        let (body, end) = (body_of(seen), at(86_400));
        // Everything that identifies something at the service has the URL and the secret in it.
        let without_host = body.to_string().replace(PUBLIC, "");
        let echo = format!("echo {body} {without_host} {}", STANDARD.encode(&seen.body));
        match (seen.method.as_str(), seen.path.as_str()) {
            ("POST", "/api/repos/octo/plans/hooks") if std::mem::take(&mut *is_away.lock()) => {
                Reply::json(json!({"message": echo, "documentation_url": authorization})).status(503)
            }
            ("POST", "/api/repos/octo/plans/hooks") => Reply::json(json!({"id": echo, "config": body})).status(201),
            ("POST", "/graph/subscriptions") => {
                let expiration = body["expirationDateTime"].clone();
                Reply::json(json!({"id": echo, "expirationDateTime": expiration, "echo": body})).status(201)
            }
            ("POST", "/api/calendars/primary/events/watch") => {
                Reply::json(json!({"resourceId": echo, "expiration": (end * 1000).to_string(), "echo": body}))
            }
            ("GET", "/api/users.info") => Reply::json(json!({"ok": true, "user": {"name": "ada", "profile": {}}})),
            ("POST", "/api/auth.test") => Reply::json(json!({"ok": true, "user_id": "U1", "team_id": "T1"})),
            ("POST", "/api/apps.event.authorizations.list") => {
                Reply::json(json!({"ok": false, "error": format!("who is {authorization}")})).status(403)
            }
            ("GET", "/api/calendars/primary/events") => Reply::json(json!({"items": [], "nextSyncToken": "1"})),
            ("GET", "/graph/me/mailFolders/inbox/messages/delta") => {
                Reply::json(json!({"value": [], "@odata.deltaLink": "https://graph.example/delta?$deltatoken=1"}))
            }
            ("POST" | "DELETE", _) => Reply::empty(204),
            _ => Reply::empty(404),
        }
    });
    for (connector, ..) in connectors {
        world.connect(connector, &["ada"]);
    }
    world
}

/// An agent has issues sent to a URL at the service. Returns the id of its subscription.
fn agent_subscribes(world: &Shipped) -> String {
    world.service.on("/agent", |seen| Reply::json(json!({"challenge": body_of(seen)["challenge"]})));
    let delivery = json!({"mode": "webhook", "url": format!("{}/agent", world.service.url()), "secret": AGENT_SECRET});
    let arguments = json!({"owner": "octo", "repo": "plans"});
    let params = json!({"name": "code_hosting.issue", "arguments": arguments, "delivery": delivery});
    let call = world.client().request("POST", "/mcp").header("x-user-identifier", "ada");
    let call = call.header("accept", "application/json").header("mcp-protocol-version", "2025-11-25");
    let answer = call.json(&json!({"jsonrpc": "2.0", "id": 1, "method": "events/subscribe", "params": params})).send();
    answer.ok()["result"]["id"].as_str().unwrap_or_else(|| panic!("{}", answer.text())).to_owned()
}

/// Everything that the gateway shows and has written, with what it is.
fn shown(world: &Shipped) -> Vec<(String, String)> {
    let client = world.client();
    let mut shown = vec![("the log".to_owned(), world.gateway.lines().join("\n"))];
    let paths = [
        "/metrics",
        "/admin/calls?limit=200",
        "/admin/hook-requests?limit=200",
        "/admin/triggers",
        "/triggers",
        "/admin/audit?limit=200",
        "/integrations",
        "/trigger-types",
    ];
    let mut paths = paths.map(str::to_owned).to_vec();
    for call in client.get("/admin/calls?limit=200").ok()["calls"].as_array().unwrap() {
        paths.push(format!("/admin/calls/{}", call["request_id"].as_str().unwrap()));
    }
    for trigger in client.get("/triggers").ok()["triggers"].as_array().unwrap() {
        paths.push(format!("/triggers/{}/events", trigger["id"].as_str().unwrap()));
    }
    for path in paths {
        let answer = client.get(&path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        shown.push((path, answer.text()));
    }
    shown
}

#[test]
fn no_address_and_no_secret_is_logged_recorded_counted_or_kept_by_a_connector() {
    let world = world();
    let (inbox, inbox_url) = world.inbox("team_chat", "events", Some(SIGNING_SECRET));
    let away = world.make("ada", "code_hosting.issue", &json!({"owner": "octo", "repo": "plans"})).json();
    assert_eq!(away["status"], "pending", "{away}");
    world.work(", renew_at = 0");
    let issues = away["id"].as_str().unwrap();
    wait_for("the trigger to be active", || (world.record(issues)["status"] == "active").then_some(()));
    let mails = world.trigger("ada", "office_mail.message_received", &json!({}));
    let changes = world.trigger("ada", "workspace_calendar.event_changed", &json!({"calendar_id": "primary"}));
    let messages = world.trigger("ada", "team_chat.message", &json!({}));

    let of = |path: &str, url: &str, secret: &str| {
        let body = body_of(world.requests("POST", path).last().unwrap());
        [url, secret].map(|pointer| body.pointer(pointer).and_then(Value::as_str).unwrap().to_owned())
    };
    let hooks = [
        of("/api/repos/octo/plans/hooks", "/config/url", "/config/secret"),
        of("/graph/subscriptions", "/notificationUrl", "/clientState"),
        of("/api/calendars/primary/events/watch", "/address", "/token"),
    ];
    let address = |url: &str| url.rsplit('/').next().unwrap().to_owned();
    let mut secrets = vec![SIGNING_SECRET.to_owned(), APP_TOKEN.to_owned(), address(&inbox_url), token_of("ada")];
    for [url, secret] in &hooks {
        secrets.extend([address(url), secret.clone()]);
    }
    assert!(secrets.iter().all(|secret| secret.len() >= 15), "{secrets:?}");

    // The receiver of an agent has a separate address and a separate secret.
    let subscribed = agent_subscribes(&world);
    secrets.extend([AGENT_SECRET.to_owned(), AGENT_SECRET["whsec_".len()..].to_owned()]);

    // Notifications that are taken, and others.
    let body = json!({"action": "opened", "issue": {"number": 1}}).to_string();
    let signature = format!("sha256={}", hmac_hex(&hooks[0][1], body.as_bytes()));
    for signature in [signature.as_str(), hooks[0][1].as_str()] {
        let call = world.notify(&hooks[0][0]).header("x-github-event", "issues");
        call.header("x-hub-signature-256", signature).body(body.clone()).send();
    }
    for secret in [hooks[1][1].as_str(), "guessed"] {
        let item = json!({"clientState": secret, "subscriptionId": "s1", "changeType": "created"});
        world.notify(&hooks[1][0]).json(&json!({"value": [item]})).send();
    }
    world.notify(&format!("{}?validationToken={}", hooks[1][0], hooks[1][1])).body("").send();
    for token in [hooks[2][1].as_str(), "guessed"] {
        let call = world.notify(&hooks[2][0]).header("x-goog-channel-id", "c").header("x-goog-channel-token", token);
        call.header("x-goog-message-number", "2").header("x-goog-resource-state", "exists").body("").send();
    }
    let message = json!({
        "type": "event_callback", "event_id": "Ev1", "event_context": "4-ctx",
        "event": {"type": "message", "channel": "C1", "text": "Hello", "ts": "1.1"},
        "authorizations": [{"team_id": "T1", "user_id": "U1"}],
    });
    let (time, message) = (at(0).to_string(), message.to_string());
    let signature = hmac_hex(SIGNING_SECRET, format!("v0:{time}:{message}").as_bytes());
    let call = world.notify(&inbox_url).header("x-slack-request-timestamp", &time);
    call.header("x-slack-signature", &format!("v0={signature}")).body(message).send();
    let asked = || world.requests("POST", "/api/apps.event.authorizations.list");
    wait_for("the question who sees it", || (!asked().is_empty()).then_some(()));
    assert_eq!(asked()[0].header("authorization"), format!("Bearer {APP_TOKEN}"));
    world.gateway.wait_for_log("the service's refusal", |line| line["inbox"] == inbox.as_str());
    assert_eq!((world.data(issues).len(), world.data(&messages).len()), (1, 1));
    wait_for("the records", || {
        let recorded = world.client().get("/admin/hook-requests?limit=200").ok();
        (recorded["hook_requests"].as_array()?.len() == 8).then_some(())
    });

    let agent = wait_for("the webhook for the agent", || {
        let sent = world.requests("POST", "/agent");
        (sent.len() >= 2).then_some(sent)
    });
    for seen in agent {
        assert!(is_signed_with(&seen, AGENT_SECRET) && seen.header("x-mcp-subscription-id") == subscribed);
    }
    let all = shown(&world);
    let made = world.client().get("/triggers").ok();
    let of_agent = made["triggers"].as_array().unwrap().iter().find(|trigger| !trigger["agent"].is_null()).unwrap();
    for id in [issues, &*mails, &*changes, &*messages, of_agent["id"].as_str().unwrap()] {
        assert_eq!(world.client().delete(&format!("/triggers/{id}")).status, 200);
    }
    // The requests that end subscriptions show what the connectors have kept of the services' answers.
    let ended = world.service.seen().into_iter().filter(|seen| seen.method == "DELETE");
    let mut kept: Vec<(String, String)> = ended
        .map(|seen| (seen.path.clone(), percent_decode_str(&seen.path).decode_utf8_lossy().into_owned()))
        .collect();
    let stopped = world.requests("POST", "/api/channels/stop");
    kept.extend(stopped.iter().map(|seen| ("the channel".to_owned(), body_of(seen)["resourceId"].to_string())));
    assert_eq!(kept.len(), 3);
    for (place, text) in &kept {
        assert!(text.contains("echo") && text.contains("****"), "{place}: {text}");
    }
    for (place, text) in all.into_iter().chain(kept).chain([("the log".to_owned(), world.gateway.lines().join("\n"))]) {
        for secret in &secrets {
            assert!(!text.contains(secret.as_str()), "{place} has {secret}: {text}");
            for before in ["", "a", "ab"] {
                let encoded = STANDARD.encode(format!("{before}{secret}"));
                // Without the characters at its ends, which have bits of the text around it.
                let inner = &encoded[4..encoded.len() - 4];
                assert!(!text.contains(inner), "{place} has {secret} in base64: {text}");
            }
        }
    }
}
