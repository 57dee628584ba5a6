//! No connector, caller or operator sees a credential, whatever a service sends back.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use memchr::memmem;
use serde_json::{Value, json};
use support::{Answer, Client, Dialect, Gateway, OAuthProvider, Setup, wait_for};

use super::{client, connect, me, path, started, who};

/// The guest changes every byte of its memory by this value before it returns the memory.
const VEIL: u8 = 0x5a;

struct World {
    provider: OAuthProvider,
    gateway: Gateway,
    client: Client,
}

/// The account of ada, whose service shows the token in every form. The token was refreshed once,
/// so that there are two. The gateway writes all log lines.
fn world() -> World {
    let provider = OAuthProvider::start(Dialect::strict());
    let setup = Setup::new().general("log = \"trace\"").config("[calls]\nkeep = \"all\"").account("account", &provider);
    let gateway = started(setup, &provider);
    let client = gateway.client();
    connect(&client, "account", "ada");
    provider.expire();
    who(&client).ok();
    provider.echo_tokens();
    World { provider, gateway, client }
}

/// Byte sequences that show the credential: plain, and encoded behind a prefix of any length.
fn needles(secret: &str) -> Vec<Vec<u8>> {
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    let percent = support::encoding::percent(secret);
    let escaped: String = secret.chars().map(|character| format!("\\u{:04x}", u32::from(character))).collect();
    let wide: Vec<u8> = secret.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let reversed: String = secret.chars().rev().collect();
    let base64 = ["", "a", "ab"].map(|padding| {
        let encoded = STANDARD.encode(format!("{padding}{secret}"));
        encoded[4..encoded.len() - 4].to_owned()
    });
    let texts = [secret.to_owned(), percent, escaped, reversed, secret.replace('/', "\\/"), hex.to_uppercase(), hex];
    texts.into_iter().chain(base64).map(String::into_bytes).chain([wide]).collect()
}

/// Long parts of the credential, which are as useful to an attacker as the whole.
fn parts(secret: &str) -> Vec<String> {
    let half = secret.len() / 2;
    vec![secret.to_owned(), secret[..half].to_owned(), secret[half..].to_owned()]
}

#[track_caller]
fn assert_clean(provider: &OAuthProvider, what: &str, bytes: &[u8]) {
    for secret in provider.secrets() {
        for part in parts(&secret) {
            for needle in needles(&part) {
                let at = memmem::find(bytes, &needle);
                assert_eq!(at, None, "{} of {secret} in {what}", String::from_utf8_lossy(&needle));
            }
        }
    }
}

fn text_of(answer: &Answer) -> Vec<u8> {
    let headers: String = answer.headers.iter().map(|(name, value)| format!("{name}: {value:?}\n")).collect();
    [headers.as_bytes(), &answer.body].concat()
}

fn echoed(path: &str) -> Value {
    json!({"path": path})
}

#[test]
fn the_service_does_show_the_token() {
    // Without this the other tests of this file could not fail.
    let World { provider, gateway: _gateway, client } = world();
    client.call("account/forward", echoed("/me")).ok();
    let token = provider.access_tokens().pop().unwrap();
    let direct = support::Client::new(&provider.api()).with_key(&token).get("/me");
    assert!(direct.text().contains(&token) && direct.header("x-echo") == token);
}

#[test]
fn a_connectors_whole_memory_holds_no_credential() {
    let World { provider, gateway: _gateway, client } = world();
    for path in ["/me", "/me?again"] {
        let request = client.request("POST", "/connectors/account/memory").header("accept", "application/octet-stream");
        let answer = request.json(&echoed(path)).send();
        assert_eq!(answer.status, 200, "{}", answer.text());
        let memory: Vec<u8> = answer.body.iter().map(|byte| byte ^ VEIL).collect();
        assert!(memory.len() >= 1 << 16, "{} bytes are no memory", memory.len());
        let held = |words: &[u8]| memmem::find(&memory, words).is_some();
        // The memory contains the answer, so it is the memory of this invocation.
        assert!(held(b"thank you") && held(me("ada")["email"].as_str().unwrap().as_bytes()));
        assert_clean(&provider, "the memory", &memory);
    }
}

#[test]
fn no_answer_shows_a_credential_whether_forwarded_or_composed() {
    let World { provider, gateway: _gateway, client } = world();
    let answers = [
        ("forward", client.call("account/forward", echoed("/me"))),
        ("composed", client.call("account/composed", echoed("/me"))),
        ("fan_out", client.call("account/fan_out", echoed("/me"))),
        ("whoami", client.call("account/whoami", json!({}))),
        (
            "projected",
            client.call("account/forward", json!({"path": "/me", "response_fields": ["plain", "hex", "base64"]})),
        ),
        ("form field", client.call("account/composed", json!({"upstream": "form", "method": "POST", "path": ""}))),
        (
            "form field, forwarded",
            client.call("account/forward", json!({"upstream": "form", "method": "POST", "path": ""})),
        ),
        ("record", client.get(&path("account", "ada"))),
        ("list", client.get("/integrations")),
        ("connectors", client.get("/connectors")),
        ("description", client.get("/openapi.json")),
        ("schema", client.get("/connectors/account/auth-schema")),
    ];
    for (what, answer) in &answers {
        assert_eq!(answer.status, 200, "{what}: {}", answer.text());
        assert_clean(&provider, what, &text_of(answer));
    }
    let records = wait_for("the records of the calls", || {
        let page = client.get("/admin/calls?limit=200").ok();
        (page["calls"].as_array()?.len() >= 7).then_some(page)
    });
    assert!(records.to_string().contains("\"/api/{path}\""), "the records show the path: {records}");
    assert_clean(&provider, "the records of the calls", records.to_string().as_bytes());
    let shown = answers[0].1.json();
    assert_eq!(shown["who"], me("ada"), "the rest of the answer is unchanged");
    assert!(shown["in_text"].as_str().unwrap().contains("thank you"), "{shown}");
}

#[test]
fn an_echo_in_an_error_of_the_service_is_masked_too() {
    let World { provider, gateway: _gateway, client } = world();
    for status in [400, 404, 409, 500, 503] {
        provider.on_api(move |seen, _| {
            let token = seen.header("authorization").to_owned();
            support::Reply::json(json!({"error": format!("you sent {token}"), "token": token})).status(status)
        });
        for operation in ["account/forward", "account/composed", "account/whoami"] {
            let answer = client.call(operation, echoed("/me"));
            assert_clean(&provider, operation, &text_of(&answer));
        }
    }
}

#[test]
fn neither_log_nor_metrics_show_a_credential() {
    let World { provider, gateway, client } = world();
    client.call("account/log", echoed("/me")).ok();
    gateway.wait_for_log("the connector's line", |line| line.to_string().contains("thank you"));
    client.call("account/forward", echoed("/me")).ok();
    provider.on_api(|_, _| support::Reply::hang_up());
    client.call("account/forward", echoed("/me")).problem(502, "upstream-unreachable");
    provider.withdraw();
    who(&client).problem(424, "reauthorization-required");
    client.delete(&path("account", "ada")).ok();
    assert!(gateway.log().iter().any(|line| line["level"] == "TRACE"));
    assert_clean(&provider, "the log", gateway.lines().join("\n").as_bytes());
    assert_clean(&provider, "the metrics", gateway.client().get("/metrics").text().as_bytes());
}

#[test]
fn credentials_go_to_the_services_they_belong_to_and_in_no_url() {
    let World { provider, gateway: _gateway, client } = world();
    let omitted = client.call("account/composed", json!({"path": "/me", "credential": "omitted"})).ok();
    assert_eq!(omitted["status"], 401);
    client.call("account/forward", echoed("/me?a=b")).ok();
    for seen in provider.seen() {
        assert_clean_url(&provider, &seen.query);
        assert_clean_url(&provider, seen.header("referer"));
    }
}

/// Checks that no query of a request to the provider contains a secret.
#[track_caller]
fn assert_clean_url(provider: &OAuthProvider, text: &str) {
    assert_clean(provider, "a URL", text.as_bytes());
}

#[test]
fn a_redirect_to_another_origin_takes_no_credential_along() {
    let World { provider, gateway: _gateway, client } = world();
    let elsewhere = support::Upstream::start();
    elsewhere.reply("*", support::Reply::json(json!({"here": true})));
    let target = format!("{}/landed", elsewhere.url());
    provider.on_api(move |_, _| support::Reply::redirect(&target));
    let _refused_or_without = client.call("account/composed", echoed("/me"));
    for seen in elsewhere.seen() {
        assert_eq!(seen.header("authorization"), "");
        assert_clean(&provider, "the other origin's request", format!("{:?}{:?}", seen.headers, seen.body).as_bytes());
    }
}

#[test]
fn the_next_invocation_does_not_find_what_the_last_one_read() {
    let World { provider: _provider, gateway: _gateway, client } = world();
    client.call("account/composed", json!({"path": "/me"})).ok();
    let request = client.request("POST", "/connectors/account/memory").header("accept", "application/octet-stream");
    let answer = request.json(&json!({"path": "/nowhere", "credential": "omitted"})).send();
    let memory: Vec<u8> = answer.body.iter().map(|byte| byte ^ VEIL).collect();
    let email = me("ada")["email"].as_str().unwrap().as_bytes().to_vec();
    assert!(memmem::find(&memory, &email).is_none());
}

#[test]
fn a_request_around_the_operations_shows_no_credential() {
    let World { provider, gateway, .. } = world();
    let caller = client(&gateway, "default", None, "operate,integrate,proxy");
    for (method, path) in
        [("GET", "/api/me"), ("GET", "/api/me?again"), ("POST", "/api/me"), ("HEAD", "/api/me"), ("POST", "/form")]
    {
        let call = caller.request(method, &format!("/proxy/account{path}"));
        let answer = if path.starts_with("/form") {
            call.header("content-type", "application/x-www-form-urlencoded").body("a=1").send()
        } else {
            call.send()
        };
        assert_eq!(answer.status, 200, "{method} {path}: {}", answer.text());
        assert_clean(&provider, path, &text_of(&answer));
    }
    let shown = caller.get("/proxy/account/api/me").json();
    assert_eq!(shown["who"], me("ada"), "the rest of the answer is unchanged");
    for status in [400, 401, 404, 500, 503] {
        provider.on_api(move |seen, _| {
            let token = seen.header("authorization").to_owned();
            support::Reply::json(json!({"error": format!("you sent {token}"), "token": token}))
                .header("x-sent", &token)
                .status(status)
        });
        let answer = caller.get("/proxy/account/api/me");
        assert_clean(&provider, &format!("an answer of {status}"), &text_of(&answer));
    }
    let records = wait_for("the records of the requests", || {
        let page = gateway.client().get("/admin/calls?operation=proxy&limit=200").ok();
        (page["calls"].as_array()?.len() >= 11).then_some(page)
    });
    assert_clean(&provider, "the records of the requests", records.to_string().as_bytes());
    assert_clean(&provider, "the log", gateway.lines().join("\n").as_bytes());
}

#[test]
fn the_audit_an_export_and_the_page_of_a_link_show_no_credential() {
    let World { provider, gateway, client } = world();
    let link = client.post("/connect-links", json!({"connectors": ["account"]}));
    let (id, url) = (link.json()["id"].as_str().unwrap().to_owned(), link.json()["url"].as_str().unwrap().to_owned());
    let token = url.rsplit('/').next().unwrap();
    let mut page = support::Client::new("").at(&url).get("");
    assert_eq!(page.status, 200);
    // The cookie is for the path of the link alone.
    page.headers.remove("set-cookie");
    let file = gateway.home().data().join("accounts.age");
    let key = support::age::Identity::generate().recipient();
    gateway.home().run_ok(&["integrations", "export", "--recipient", &key, file.to_str().unwrap()]);
    let integration = client.get("/admin/integrations").ok()["integrations"][0]["id"].as_str().unwrap().to_owned();
    client.request("POST", &format!("/admin/integrations/{integration}/renew")).send().ok();
    client.delete(&format!("/connect-links/{id}")).ok();
    let audit = client.get("/admin/audit?limit=200");
    for action in ["integration.exported", "integration.renewed", "connect_link.created", "connect_link.deleted"] {
        assert!(audit.text().contains(action), "{action}: {}", audit.text());
    }
    let shown = [
        ("the page of the link", text_of(&page)),
        ("the record of the link", text_of(&client.get(&format!("/connect-links/{id}")))),
        ("the audit", text_of(&audit)),
        ("the accounts of all tenants", text_of(&client.get("/admin/integrations"))),
        ("one account", text_of(&client.get(&format!("/admin/integrations/{integration}")))),
        ("the export", std::fs::read(&file).unwrap()),
        ("the log", gateway.lines().join("\n").into_bytes()),
    ];
    for (what, bytes) in &shown {
        assert_clean(&provider, what, bytes);
        let shows_link = memmem::find(bytes, token.as_bytes()).is_some();
        assert!(!shows_link, "{what} shows the secret of the link");
    }
}
