//! Callers with a JWT of a trusted issuer in place of an API key.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use support::jwt::{SigningKey, at, publish};
use support::{Answer, Client, Dialect, Gateway, OAuthProvider, Reply, Setup, Upstream};

use crate::integrations::{connect, me, path, registered, who};

const ISSUER: &str = "https://id.example";
const AUDIENCE: &str = "connector-gateway";

fn claims(subject: &str) -> Value {
    json!({"iss": ISSUER, "aud": AUDIENCE, "sub": subject, "iat": at(-10), "exp": at(300)})
}

fn with(name: &str, value: Value) -> Value {
    let mut claims = claims("ada");
    claims[name] = value;
    claims
}

fn without(name: &str) -> Value {
    let mut claims = claims("ada");
    claims.as_object_mut().unwrap().remove(name);
    claims
}

fn config(issuer: &Upstream, more: &str) -> String {
    format!(
        "[jwt_issuers.test]\nissuer = \"{ISSUER}\"\naudience = \"{AUDIENCE}\"\njwks_url = \"{}/jwks.json\"\nallow_private_network = true\n{more}",
        issuer.url()
    )
}

/// A gateway that trusts the issuer, with a connector whose users have accounts.
fn gateway(issuer: &Upstream, provider: &OAuthProvider, more: &str) -> Gateway {
    registered(Setup::new().config(&config(issuer, more)).account("account", provider).start(), provider)
}

fn world(key: &SigningKey) -> (Upstream, OAuthProvider, Gateway) {
    let (issuer, provider) = (Upstream::start(), OAuthProvider::start(Dialect::strict()));
    publish(&issuer, &[key]);
    let gateway = gateway(&issuer, &provider, "");
    (issuer, provider, gateway)
}

fn ask(gateway: &Gateway, token: &str) -> Answer {
    gateway.anonymous().with_key(token).get("/integrations")
}

#[track_caller]
fn assert_refused(gateway: &Gateway, token: &str, what: &str) {
    let answer = ask(gateway, token);
    assert_eq!(answer.status, 401, "{what}: {}", answer.text());
    answer.problem(401, "unauthenticated");
    assert!(answer.header("www-authenticate").starts_with("Bearer"), "{what}");
    assert!(!answer.text().contains(token), "{what}");
}

#[test]
fn a_jwt_acts_for_its_subject() {
    for key in [SigningKey::es256("one"), SigningKey::ed25519("one")] {
        let (_issuer, provider, gateway) = world(&key);
        let caller = |subject: &str| -> Client { gateway.anonymous().with_key(&key.sign(&claims(subject))) };
        let (ada, bob) = (caller("ada"), caller("bob"));
        connect(&ada, "account", "ada");
        connect(&bob, "account", "bob");
        assert_eq!(who(&ada).ok(), me("ada"));
        assert_eq!(who(&bob).ok(), me("bob"));
        ada.get(&path("account", "bob")).problem(404, "unknown-integration");
        assert_eq!(
            gateway.client().get("/integrations").ok(),
            json!({"integrations": [], "next_cursor": null}),
            "the tenant itself has no account"
        );
        // The audit names the user of a token.
        ada.request("PATCH", &path("account", "ada")).json(&json!({"labels": {"team": "blue"}})).send().ok();
        let entries = gateway.client().get("/admin/audit?action=integration.labelled").ok()["entries"].clone();
        assert_eq!(entries[0]["actor"], format!("token:{}/ada", entries[0]["tenant"].as_str().unwrap()));
        // An API key that is bound to the same subject acts for it too.
        let key_of_ada = crate::integrations::client(&gateway, "default", Some("ada"), "operate");
        assert_eq!(who(&key_of_ada).ok(), me("ada"));
        drop(provider);
    }
}

#[test]
fn a_jwt_without_a_required_claim_is_refused() {
    let key = SigningKey::es256("one");
    let (_issuer, _provider, gateway) = world(&key);
    ask(&gateway, &key.sign(&claims("ada"))).ok();
    ask(&gateway, &key.sign(&with("aud", json!(["other", AUDIENCE])))).ok();
    for name in ["iss", "aud", "exp", "sub"] {
        assert_refused(&gateway, &key.sign(&without(name)), name);
    }
    for (what, claims) in [
        ("another issuer", with("iss", json!("https://evil.example"))),
        ("almost the issuer", with("iss", json!("https://id.example/"))),
        ("another audience", with("aud", json!("other"))),
        ("no audience", with("aud", json!([]))),
        ("expired", with("exp", json!(at(-120)))),
        ("not yet", with("nbf", json!(at(120)))),
        ("no subject", with("sub", json!(""))),
        ("a subject that is no text", with("sub", json!(7))),
        ("a time that is no number", with("exp", json!("tomorrow"))),
    ] {
        assert_refused(&gateway, &key.sign(&claims), what);
    }
}

#[test]
fn clocks_may_differ_by_a_minute() {
    let key = SigningKey::es256("one");
    let (_issuer, _provider, gateway) = world(&key);
    ask(&gateway, &key.sign(&with("exp", json!(at(-30))))).ok();
    ask(&gateway, &key.sign(&with("nbf", json!(at(30))))).ok();
}

#[test]
fn only_a_signature_of_the_issuer_is_accepted() {
    let key = SigningKey::es256("one");
    let (_issuer, _provider, gateway) = world(&key);
    let good = key.sign(&claims("ada"));
    ask(&gateway, &good).ok();
    let [header, payload, signature] = good.split('.').collect::<Vec<_>>().try_into().unwrap();
    let encode = |part: &Value| URL_SAFE_NO_PAD.encode(part.to_string());
    let public = key.public()["x"].as_str().unwrap().to_owned();
    for (what, token) in [
        ("none", format!("{}.{payload}.", encode(&json!({"alg": "none"})))),
        ("none with a signature", format!("{}.{payload}.{signature}", encode(&json!({"alg": "none", "kid": "one"})))),
        ("a public key as a secret", hs256(&json!({"alg": "HS256", "kid": "one"}), &claims("ada"), public.as_bytes())),
        ("another payload", format!("{header}.{}.{signature}", encode(&claims("mallory")))),
        ("no signature", format!("{header}.{payload}.")),
        ("a key of another issuer", SigningKey::es256("one").sign(&claims("ada"))),
        ("a key that no issuer published", SigningKey::es256("two").sign(&claims("ada"))),
        ("a key that it brings along", brings_key()),
        (
            "a critical extension",
            key.sign_as(&json!({"alg": "ES256", "kid": "one", "crit": ["x"], "x": 1}), &claims("ada")),
        ),
        ("not even that", "a.b.c".to_owned()),
        ("too long", format!("{good}{}", "A".repeat(20_000))),
    ] {
        let answer = ask(&gateway, &token);
        assert!(matches!(answer.status, 401 | 431), "{what}: {} {}", answer.status, answer.text());
    }
    ask(&gateway, &good).ok();
}

fn hs256(header: &Value, claims: &Value, secret: &[u8]) -> String {
    let text = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string())).join(".");
    let tag = ring::hmac::sign(&ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret), text.as_bytes());
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(tag))
}

fn brings_key() -> String {
    let key = SigningKey::es256("mine");
    let mut header = key.header();
    header["jwk"] = key.public();
    header["jku"] = json!("http://127.0.0.1:9/jwks.json");
    key.sign_as(&header, &claims("ada"))
}

#[test]
fn a_new_key_of_the_issuer_is_found_and_an_old_one_ends() {
    let (old, new) = (SigningKey::es256("old"), SigningKey::es256("new"));
    let (issuer, _provider, gateway) = world(&old);
    ask(&gateway, &old.sign(&claims("ada"))).ok();
    publish(&issuer, &[&new]);
    support::wait_for("the new key", || (ask(&gateway, &new.sign(&claims("ada"))).status == 200).then_some(()));
    assert_refused(&gateway, &old.sign(&claims("ada")), "the issuer removed the key");
}

#[test]
fn unknown_keys_do_not_cause_a_request_to_the_issuer_each_time() {
    let key = SigningKey::es256("one");
    let (issuer, _provider, gateway) = world(&key);
    ask(&gateway, &key.sign(&claims("ada"))).ok();
    let asked = issuer.seen().len();
    for number in 0..50 {
        let token = SigningKey::es256(&format!("made-up-{number}")).sign(&claims("ada"));
        assert_refused(&gateway, &token, "made up");
    }
    assert!(issuer.seen().len() <= asked + 5, "{} requests", issuer.seen().len() - asked);
}

#[test]
fn known_keys_stay_valid_while_the_issuer_is_down() {
    let key = SigningKey::es256("one");
    let (issuer, _provider, gateway) = world(&key);
    ask(&gateway, &key.sign(&claims("ada"))).ok();
    issuer.reply("/jwks.json", Reply::empty(503));
    assert_refused(&gateway, &SigningKey::es256("two").sign(&claims("ada")), "not known");
    ask(&gateway, &key.sign(&claims("ada"))).ok();
    gateway.client().get("/integrations").ok();
}

#[test]
fn the_tenant_may_be_a_claim_and_no_jwt_is_an_administrator() {
    let key = SigningKey::es256("one");
    let (issuer, provider) = (Upstream::start(), OAuthProvider::start(Dialect::strict()));
    publish(&issuer, &[&key]);
    let gateway = gateway(&issuer, &provider, "tenant_claim = \"org\"");
    let of = |tenant: &str| gateway.anonymous().with_key(&key.sign(&with("org", json!(tenant))));
    connect(&of("acme"), "account", "ada");
    assert_eq!(who(&of("acme")).ok(), me("ada"));
    who(&of("umbrella")).problem(424, "integration-required");
    assert_refused(&gateway, &key.sign(&claims("ada")), "no tenant");
    assert_refused(&gateway, &key.sign(&with("org", json!(""))), "an empty tenant");
    let answer = of("acme").request("POST", "/admin/connectors").body("x").send();
    assert_eq!(answer.status, 403, "{}", answer.text());
}
