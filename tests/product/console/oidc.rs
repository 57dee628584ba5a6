//! Signing in at an OpenID provider: who gets a session, and what the pages say to all others.

use std::fs;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};
use support::jwt::{SigningKey, at, publish};
use support::setup::KEY;
use support::{Answer, Gateway, Reply, Setup, Store, Upstream, module};
use url::Url;

use super::Operator;
use crate::integrations::on_each_store;

on_each_store!(a_person_with_the_claim_gets_a_session, an_id_token_that_is_not_for_this_sign_in_gives_no_session,);

const CLIENT_SECRET: &str = "a secret of the console's client";

/// A stand-in for a provider, and a gateway whose operators sign in there.
struct World {
    provider: Upstream,
    key: SigningKey,
    gateway: Gateway,
}

fn world(store: &Store, more: &str) -> World {
    let (provider, key) = (Upstream::start(), SigningKey::es256("one"));
    let url = provider.url();
    provider.reply("/.well-known/openid-configuration", Reply::json(described(&url)));
    publish(&provider, &[&key]);
    let config = format!(
        "[console.oidc]\nissuer = \"{url}\"\nclient_id = \"console\"\nclient_secret = \"{CLIENT_SECRET}\"\n\
         claim = \"groups\"\nvalue = \"operators\"\nallow_private_network = true\n{more}"
    );
    let gateway = Setup::new().on(store).config(&config).start();
    World { provider, key, gateway }
}

fn described(url: &str) -> Value {
    json!({
        "issuer": url,
        "authorization_endpoint": format!("{url}/authorize"),
        "token_endpoint": format!("{url}/token"),
        "jwks_uri": format!("{url}/jwks.json"),
    })
}

/// A sign-in that has begun: the cookie of its browser, and the parameters of the provider's page.
struct Begun {
    cookie: String,
    page: Url,
}

impl Begun {
    fn parameter(&self, name: &str) -> String {
        self.page.query_pairs().find(|(given, _)| given == name).unwrap().1.into_owned()
    }
}

impl World {
    #[track_caller]
    fn begin(&self) -> Begun {
        let answer = self.gateway.anonymous().without_redirects().get("/console/oidc");
        assert_eq!(answer.status, 303, "{}", answer.text());
        let cookie = answer.header("set-cookie").to_owned();
        for part in ["Path=/", "Secure", "HttpOnly", "SameSite=Lax", "Max-Age=600"] {
            assert!(cookie.split("; ").any(|given| given == part), "{part} in {cookie}");
        }
        let cookie = cookie.split(';').next().unwrap().to_owned();
        Begun { cookie, page: answer.header("location").parse().unwrap() }
    }

    fn claims(&self, begun: &Begun) -> Value {
        json!({
            "iss": self.provider.url(), "aud": "console", "sub": "ann", "exp": at(300), "nonce": begun.parameter("nonce"),
            "groups": ["users", "operators"], "email": "ann@example.com",
        })
    }

    /// The browser comes back, and the provider gives an ID token with these claims.
    fn come_back(&self, begun: &Begun, claims: &Value) -> Answer {
        self.provider.reply("/token", Reply::json(json!({"access_token": "x", "id_token": self.key.sign(claims)})));
        self.come_back_with(&begun.cookie, &format!("code=code-of-ann&state={}", begun.parameter("state")))
    }

    fn come_back_with(&self, cookie: &str, query: &str) -> Answer {
        let path = format!("/console/oidc/callback?{query}");
        let call = self.gateway.anonymous().without_redirects().request("GET", &path);
        call.header("cookie", cookie).header("sec-fetch-site", "cross-site").send()
    }
}

/// The cookie of a session, if an answer sets one.
fn session(answer: &Answer) -> Option<String> {
    let mut cookies = answer.headers.get_all("set-cookie").iter().map(|cookie| cookie.to_str().unwrap());
    cookies.find(|cookie| cookie.starts_with("__Host-console=")).map(str::to_owned)
}

#[track_caller]
fn assert_page(answer: &Answer, status: u16, words: &[&str]) {
    let text = answer.text();
    assert_eq!(answer.status, status, "{text}");
    assert_eq!(answer.header("content-type"), "text/html; charset=utf-8");
    assert_eq!(session(answer), None);
    for word in words {
        assert!(text.contains(word), "`{word}` in {text}");
    }
    assert!(!text.contains(CLIENT_SECRET) && !text.contains("code-of-ann"), "{text}");
}

fn a_person_with_the_claim_gets_a_session(store: &Store) {
    let world = world(store, "scopes = [\"openid\", \"groups\"]");
    let host = "127.0.0.1";
    let anonymous = world.gateway.anonymous();
    assert_eq!(anonymous.get("/console/sign-in").ok(), json!({"oidc": host}));
    let begun = world.begin();
    let callback = format!("{}/console/oidc/callback", world.gateway.address());
    for (name, value) in [
        ("response_type", "code"),
        ("client_id", "console"),
        ("scope", "openid groups"),
        ("code_challenge_method", "S256"),
        ("redirect_uri", &*callback),
    ] {
        assert_eq!(begun.parameter(name), value, "{name}");
    }
    let secret = begun.cookie.split_once('=').unwrap().1;
    assert!(!begun.page.as_str().contains(secret), "the provider's page does not show the secret");
    let answer = world.come_back(&begun, &world.claims(&begun));
    assert_eq!((answer.status, answer.header("location")), (303, "../../console"), "{}", answer.text());
    let cookie = session(&answer).unwrap();
    assert!(cookie.contains("SameSite=Strict") && cookie.contains("HttpOnly") && cookie.contains("Secure"), "{cookie}");
    let sent = world.provider.seen().into_iter().find(|seen| seen.path == "/token").unwrap();
    let form = sent.form();
    let field = |name: &str| form.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str());
    assert_eq!((field("code"), field("redirect_uri")), (Some("code-of-ann"), Some(&*callback)));
    assert_eq!(field("code_verifier").map(challenge_of), Some(begun.parameter("code_challenge")));
    assert_eq!(field("client_secret"), None, "the secret is in the header");
    assert!(sent.header("authorization").starts_with("Basic "));

    // The session has the scope `admin`, and no other one.
    let operator = Operator { client: anonymous, cookie: cookie.split(';').next().unwrap().to_owned() };
    let shown = operator.get("/console/session").ok();
    assert_eq!((&shown["person"], &shown["key_id"]), (&json!("ann@example.com"), &Value::Null));
    assert_eq!(shown["scopes"], json!(["admin"]));
    let key = json!({"name": "made by a person", "scopes": ["operate"]});
    assert_eq!(operator.change("POST", "/admin/keys").json(&key).send().status, 201);
    // The history of connectors names the person, as the audit does.
    let add = operator.change("POST", "/admin/connectors").header("content-type", "application/wasm");
    add.body(module::liar("version=1.0.0")).send().ok();
    operator.change("DELETE", "/admin/connectors/liar").send().ok();
    for change in operator.get("/admin/connectors/liar/history").ok()["changes"].as_array().unwrap() {
        assert_eq!(change["by"], json!({"kind": "person", "name": "person ann@127.0.0.1"}));
    }
    operator.change("POST", "/connect-links").json(&json!({"connectors": []})).send().problem(403, "missing-scope");
    operator.bare("POST", "/admin/keys").json(&key).send().problem(403, "not-from-console");
    operator.change("DELETE", "/console/session").send().ok();
    operator.get("/console/session").problem(401, "unauthenticated");
    let listed = world.gateway.client().get("/admin/audit").ok();
    let seen: Vec<(&str, &str, &str)> = listed["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| {
            (entry["actor"].as_str().unwrap(), entry["action"].as_str().unwrap(), entry["detail"].as_str().unwrap())
        })
        .collect();
    let actor = "person:ann@127.0.0.1";
    assert_eq!(seen[0], (actor, "console.signed_out", ""));
    let of_connectors = ["connector.removed", "connector.added"].map(|action| (actor, action));
    assert_eq!([(seen[1].0, seen[1].1), (seen[2].0, seen[2].1)], of_connectors);
    assert_eq!((seen[3].0, seen[3].1), (actor, "key.created"));
    assert_eq!(seen[4], (actor, "console.signed_in", "ann@example.com"));
    assert!(
        !world.gateway.lines().iter().any(|line| line.contains(CLIENT_SECRET) || line.contains("code=code-of-ann"))
    );
}

/// The challenge of a verifier (RFC 7636, section 4.2).
fn challenge_of(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()))
}

fn an_id_token_that_is_not_for_this_sign_in_gives_no_session(store: &Store) {
    let world = world(store, "");
    let begun = world.begin();
    let with = |name: &str, value: Value| {
        let mut claims = world.claims(&begun);
        claims[name] = value;
        claims
    };
    for (claims, status, words) in [
        (with("nonce", json!("of another sign-in")), 502, &["`nonce`"][..]),
        (with("aud", json!("another client")), 502, &["audience"]),
        (with("aud", json!(["console", "another client"])), 502, &["`azp`"]),
        (with("azp", json!("another client")), 502, &["`azp`"]),
        (with("iss", json!("https://other.example")), 502, &["issuer"]),
        (with("exp", json!(at(-120))), 502, &["expired"]),
        (with("groups", json!(["users"])), 403, &["You may not use the console", "`groups`", "console.oidc.claim"]),
        (with("groups", json!("operators of something else")), 403, &["`groups`"]),
        (with("groups", Value::Null), 403, &["`groups`"]),
    ] {
        assert_page(&world.come_back(&begun, &claims), status, words);
    }
    let answer = world.come_back(&begun, &with("groups", json!("operators")));
    assert!(session(&answer).is_some(), "a claim may be the value itself: {}", answer.text());

    // The way back belongs to the browser that has begun.
    let query = format!("code=code-of-ann&state={}", begun.parameter("state"));
    for cookie in ["", &*world.begin().cookie] {
        assert_page(&world.come_back_with(cookie, &query), 400, &["This browser has not begun this sign-in"]);
    }
    assert_page(&world.come_back_with(&begun.cookie, "code=code-of-ann"), 400, &["sign-in is not known"]);
    let refused =
        world.come_back_with(&begun.cookie, &format!("error=access_denied<b>&{}", query.split_once('&').unwrap().1));
    assert_page(&refused, 400, &["`access_deniedb`"]);
    world.provider.reply("/token", Reply::json(json!({"error": "invalid_client"})).status(401));
    assert_page(&world.come_back_with(&begun.cookie, &query), 400, &["`invalid_client`", "its secret"]);
    world.provider.reply("/token", Reply::empty(503));
    assert_page(&world.come_back_with(&begun.cookie, &query), 502, &["503", "API key"]);
}

#[test]
fn a_provider_that_is_away_or_names_another_issuer_is_told_on_a_page() {
    let away = world(&Store::Sqlite, "");
    away.provider.reply("/.well-known/openid-configuration", Reply::empty(503));
    let answer = away.gateway.anonymous().get("/console/oidc");
    assert_page(&answer, 502, &["The OpenID provider cannot be asked", "503", "API key"]);
    let other = world(&Store::Sqlite, "");
    other.provider.reply("/.well-known/openid-configuration", Reply::json(described("https://other.example")));
    assert_page(&other.gateway.anonymous().get("/console/oidc"), 502, &["another issuer"]);
}

#[test]
fn a_session_of_a_person_ends_when_the_operator_takes_the_provider_away() {
    let world = world(&Store::Sqlite, "");
    let begun = world.begin();
    let cookie = session(&world.come_back(&begun, &world.claims(&begun))).unwrap();
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let read = |gateway: &Gateway| Operator { client: gateway.anonymous(), cookie: cookie.clone() }.get("/admin/keys");
    assert_eq!(read(&world.gateway).status, 200);
    let config = fs::read_to_string(world.gateway.home().config()).unwrap();
    // The section is the last one.
    fs::write(world.gateway.home().config(), config.split("[console.oidc]").next().unwrap()).unwrap();
    let gateway = world.gateway.start_again();
    read(&gateway).problem(401, "unauthenticated");
    assert_eq!(gateway.anonymous().get("/console/sign-in").ok(), json!({"oidc": null}));
    gateway.anonymous().get("/console/oidc").problem(404, "not-found");
    assert_eq!(super::try_sign_in(&gateway, KEY).status, 201, "a key is as good as before");
}
