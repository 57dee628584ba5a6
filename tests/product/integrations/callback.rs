//! The callback from the provider. Each state is valid once, for one connector and one caller, and
//! browsers are redirected only to allowed origins.

use serde_json::json;
use support::oauth::browser;
use support::{Answer, Database, Dialect, Endpoint, OAuthProvider, Person, Setup, Store};

use super::{
    DONE, begin, callback_url, client, connect, email, ended, error_of, gateway, init, me, on_each_store, record,
    started, success, who,
};

on_each_store!(
    a_callback_is_valid_once,
    a_callback_belongs_to_one_connector,
    two_copies_of_a_callback_at_the_same_time_connect_once,
    an_authorization_survives_a_restart,
);

/// Checks that the answer is a page of the gateway without redirect and without script.
#[track_caller]
fn assert_page(answer: &Answer, words: &str) {
    assert_eq!(answer.status, 400, "{}", answer.text());
    assert_eq!(answer.header("location"), "");
    assert!(answer.header("content-type").starts_with("text/html"), "{}", answer.header("content-type"));
    assert!(answer.header("content-security-policy").contains("default-src 'none'"));
    assert_eq!(answer.header("cache-control"), "no-store");
    assert_eq!(answer.header("referrer-policy"), "no-referrer");
    assert!(answer.text().contains(words), "{words} in {}", answer.text());
    assert!(!answer.text().contains("<script"), "{}", answer.text());
}

fn a_callback_is_valid_once(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let callback = Person::named("ada").consents(&begin(&gateway.client(), "account"));
    ended(&browser::open(&callback));
    for _ in 0..3 {
        assert_page(&browser::open(&callback), "used before");
    }
    assert_eq!((provider.count(Endpoint::Exchange), provider.reuses()), (1, 0));
    assert_eq!(who(&gateway.client()).ok(), me("ada"));
    gateway.wait_for_log("the replay", |line| line["level"] == "WARN" && line.to_string().contains("Used"));
}

fn a_callback_belongs_to_one_connector(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let setup = Setup::new().on(store).account("account", &provider).account("other", &provider);
    let gateway = started(setup, &provider);
    let callback = Person::named("ada").consents(&begin(&gateway.client(), "account"));
    let elsewhere = callback.replace("/connectors/account/", "/connectors/other/");
    assert_ne!(callback, elsewhere);
    assert_page(&browser::open(&elsewhere), "not known");
    assert_eq!(provider.count(Endpoint::Exchange), 0);
    assert_eq!(gateway.client().get("/integrations").ok(), json!({"integrations": [], "next_cursor": null}));
    // The attempt has not used the state up.
    assert_eq!(ended(&browser::open(&callback)), success("account", &email("ada")));
    assert_page(&browser::open(&callback), "used before");
}

fn two_copies_of_a_callback_at_the_same_time_connect_once(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let callback = Person::named("ada").consents(&begin(&gateway.client(), "account"));
    let browser = gateway.anonymous().without_redirects().at(&callback);
    let copies: Vec<_> = (0..20).map(|_| browser.request("GET", "").begin()).collect();
    let answers: Vec<Answer> = copies.into_iter().map(support::client::Pending::wait).collect();
    assert_eq!(answers.iter().filter(|answer| answer.status == 302).count(), 1);
    assert_eq!(answers.iter().filter(|answer| answer.status == 400).count(), 19);
    assert_eq!((provider.count(Endpoint::Exchange), provider.reuses()), (1, 0));
}

fn an_authorization_survives_a_restart(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    // The provider redirects to the address that the gateway had when the authorization began.
    let port = support::upstream::free_port();
    let setup = Setup::new()
        .on(store)
        .general(&format!("public_url = \"http://127.0.0.1:{port}\""))
        .account("account", &provider);
    let home = setup.variable("GATEWAY__LISTEN", &format!("127.0.0.1:{port}")).prepare();
    let gateway = crate::integrations::registered(home.start(), &provider);
    let url = begin(&gateway.client(), "account");
    let gateway = gateway.start_again();
    let callback = Person::named("ada").consents(&url);
    assert_eq!(ended(&browser::open(&callback)), success("account", &email("ada")));
    assert_eq!(who(&gateway.client()).ok(), me("ada"));
}

#[test]
fn an_authorization_ends_after_ten_minutes_and_not_before() {
    let store = Store::postgres();
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(&store, &provider);
    let Store::Postgres(database) = &store else { unreachable!() };
    let callback_after = |seconds| {
        let callback = Person::named("ada").consents(&begin(&gateway.client(), "account"));
        age_authorizations(database, seconds);
        browser::open(&callback)
    };
    assert_page(&callback_after(600), "expired");
    assert_eq!(provider.count(Endpoint::Exchange), 0);
    assert_eq!(ended(&callback_after(540)), success("account", &email("ada")));
}

/// Makes all pending authorizations older by this many seconds.
fn age_authorizations(database: &Database, seconds: u32) {
    database.sql(&format!("update authorizations set expires_at = expires_at - {seconds} * 1000"));
}

#[test]
fn an_unknown_state_redirects_nowhere() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(&Store::Sqlite, &provider);
    let callback = Person::named("ada").consents(&begin(&gateway.client(), "account"));
    let here = callback_url(&gateway, "account");
    let state = callback.split("state=").nth(1).unwrap();
    for query in [
        "state=made-up&code=code.made-up".to_owned(),
        "state=&code=x".to_owned(),
        format!("state={}&code=x", &state[..state.len() - 1]),
        format!("state={state}x&code=x"),
        format!("state={}&code=x", state.to_lowercase()),
        "state=%3Cscript%3Ealert(1)%3C/script%3E&error=%3Cscript%3E".to_owned(),
        format!("state=https://evil.example/&code=x&callback_url=https://evil.example/&x={}", "x".repeat(2000)),
    ] {
        assert_page(&browser::open(&format!("{here}?{query}")), "not known");
    }
    for query in ["", "code=x", &format!("state={state}&state=other&code=x"), &format!("state={state}&code=x&code=y")] {
        assert_page(&browser::open(&format!("{here}?{query}")), "not complete");
    }
    assert_eq!(provider.count(Endpoint::Exchange), 0);
    // The true state is still valid.
    assert_eq!(ended(&browser::open(&callback)), success("account", &email("ada")));
}

#[test]
fn a_person_who_declines_is_redirected_with_the_providers_error_code() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(&Store::Sqlite, &provider);
    let callback = Person::named("ada").declines(&begin(&gateway.client(), "account"));
    assert_eq!(error_of(&browser::open(&callback)), "access_denied");
    assert_page(&browser::open(&callback), "used before");
    assert_eq!(gateway.client().get("/integrations").ok(), json!({"integrations": [], "next_cursor": null}));
}

#[test]
fn a_providers_error_is_passed_on_only_if_it_is_an_error_code() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(&Store::Sqlite, &provider);
    for (said, carried) in [
        ("invalid_scope", "invalid_scope"),
        ("%3Cscript%3E", "authorization_failed"),
        ("a%0d%0aSet-Cookie:x=y", "authorization_failed"),
        ("x%26status=success", "authorization_failed"),
    ] {
        let callback = Person::named("ada").declines(&begin(&gateway.client(), "account"));
        let answer = browser::open(&callback.replace("access_denied", said));
        assert_eq!(error_of(&answer), carried, "{said}");
        assert_eq!(answer.header("set-cookie"), "");
    }
}

#[test]
fn a_code_of_another_authorization_connects_nothing() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(&Store::Sqlite, &provider);
    let mallory = client(&gateway, "default", Some("mallory"), "integrate,operate");
    let of_ada = Person::named("ada").consents(&begin(&gateway.client(), "account"));
    let of_mallory = Person::named("mallory").consents(&begin(&mallory, "account"));
    let part = |callback: &str, name: &str| {
        let url = url::Url::parse(callback).unwrap();
        url.query_pairs().find(|(key, _)| key == name).unwrap().1.into_owned()
    };
    let here = callback_url(&gateway, "account");
    let mixed = format!("{here}?code={}&state={}", part(&of_ada, "code"), part(&of_mallory, "state"));
    assert_eq!(error_of(&browser::open(&mixed)), "exchange_refused");
    for client in [&mallory, &gateway.client()] {
        assert_eq!(client.get("/integrations").ok(), json!({"integrations": [], "next_cursor": null}));
    }
}

#[test]
fn an_account_belongs_to_the_caller_that_began_whatever_the_browser_sends() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(&Store::Sqlite, &provider);
    let (ada, bob) = (
        client(&gateway, "default", Some("ada"), "integrate,operate"),
        client(&gateway, "default", Some("bob"), "integrate,operate"),
    );
    let callback = Person::named("ada").consents(&begin(&ada, "account"));
    // The browser sends credentials of bob.
    let answer = bob.without_redirects().at(&callback).get("");
    assert_eq!(ended(&answer), success("account", &email("ada")));
    assert_eq!(who(&ada).ok(), me("ada"));
}

#[test]
fn no_browser_is_redirected_to_an_origin_that_the_operator_did_not_allow() {
    let provider = OAuthProvider::start(Dialect::strict());
    let setup =
        Setup::new().general("allowed_callback_origins = [\"https://app.example\"]").account("account", &provider);
    let gateway = started(setup, &provider);
    let post = |callback_url: &str| {
        let body = json!({"auth_type": "oauth2", "callback_url": callback_url});
        gateway.client().post("/connectors/account/integrations", body)
    };
    for good in
        [DONE, "https://app.example/a?b=c", "https://app.example:443/", "http://localhost:3000/x", &gateway.address()]
    {
        post(good).ok();
    }
    for bad in [
        "https://evil.example/",
        "http://app.example/",
        "https://app.example:8443/",
        "https://app.example.evil.example/",
        "https://app.example@evil.example/",
        "https://user:password@app.example/",
        "https://evil.example/https://app.example/",
        "https://evil.example\\@app.example/",
        "//app.example/",
        "/done",
        "done",
        "",
        "javascript:alert(1)",
        "data:text/html,x",
        "ftp://app.example/",
        "https://app.example%2eevil.example/",
        "http://127.0.0.1.evil.example/",
        "http://localhost.evil.example/",
    ] {
        let violations = post(bad).violations();
        // An empty URL is too short, and no URL.
        assert!(!violations.is_empty(), "{bad}");
        assert!(violations.iter().all(|(pointer, _)| pointer == "/callback_url"), "{bad}: {violations:?}");
    }
    assert_eq!(provider.count(Endpoint::Authorize), 0);
}

#[test]
fn the_callback_cannot_change_the_redirect_that_was_given_at_the_beginning() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(&Store::Sqlite, &provider);
    let callback = Person::named("ada").consents(&begin(&gateway.client(), "account"));
    let answer =
        browser::open(&format!("{callback}&callback_url=https://evil.example/&redirect_uri=https://evil.example/"));
    assert_eq!(ended(&answer), success("account", &email("ada")));
}

#[test]
fn a_user_who_comes_back_from_another_provider_connects_nothing() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(&Store::Sqlite, &provider);
    let client = gateway.client();
    let back = |iss: &str, decision: &str| {
        let url = begin(&client, "account");
        let person = Person::named("ada");
        let callback = if decision == "allow" { person.consents(&url) } else { person.declines(&url) };
        browser::open(&format!("{callback}&iss={iss}"))
    };
    for iss in ["https%3A%2F%2Fevil.example", "http%3A%2F%2F127.0.0.1%3A1", "not-a-url", ""] {
        for decision in ["allow", "deny"] {
            assert_eq!(error_of(&back(iss, decision)), "other_issuer", "{iss}");
        }
    }
    assert_eq!(provider.count(Endpoint::Exchange), 0, "the code is sent to nobody");
    let own = provider.url().replace(':', "%3A").replace('/', "%2F");
    assert_eq!(ended(&back(&own, "allow")), success("account", &email("ada")));
}

#[test]
fn a_failed_exchange_is_reported_to_the_application() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(&Store::Sqlite, &provider);
    let attempt = || {
        let callback = Person::named("ada").consents(&begin(&gateway.client(), "account"));
        error_of(&browser::open(&callback))
    };
    for (reply, error) in [
        (support::Reply::empty(503), "provider_unavailable"),
        (support::Reply::hang_up(), "provider_unavailable"),
        (support::Reply::typed("text/html", "<html>"), "answer_not_understood"),
        (support::Reply::json(json!({"error": "invalid_grant"})).status(400), "exchange_refused"),
        (support::Reply::json(json!({"error": "invalid_client"})).status(401), "not_configured"),
        (support::Reply::json(json!({"ok": false, "error": "invalid_code"})), "exchange_refused"),
        (support::Reply::json(json!({"token_type": "Bearer"})), "answer_not_understood"),
    ] {
        provider.break_tokens(reply);
        assert_eq!(attempt(), error);
    }
    assert_eq!(gateway.client().get("/integrations").ok(), json!({"integrations": [], "next_cursor": null}));
    provider.repair();
    connect(&gateway.client(), "account", "ada");
    assert_eq!(record(&gateway.client(), "ada")["status"], "active");
}

#[test]
fn a_wrong_client_secret_must_be_fixed_by_the_operator() {
    let provider = OAuthProvider::start(Dialect::strict());
    let setup = Setup::new()
        .account("account", &provider)
        .variable("GATEWAY__OAUTH_CLIENTS__ACCOUNT__CLIENT_SECRET", "not-the-one");
    let gateway = started(setup, &provider);
    let callback = Person::named("ada").consents(&begin(&gateway.client(), "account"));
    assert_eq!(error_of(&browser::open(&callback)), "not_configured");
    assert!(provider.refusals(Endpoint::Exchange)[0].starts_with("invalid_client"));
    gateway.client().post("/connectors/account/integrations", init()).ok();
}
