//! Two gateways on one database. Each sees the changes of the other, and no token is refreshed
//! twice.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use support::oauth::browser;
use support::{Client, Dialect, Endpoint, Gate, Gateway, OAuthProvider, Person, Reply, Setup, Store};

use super::{begin, connect, email, ended, me, path, registered, started, success, who, who_as};

/// Two gateways on one PostgreSQL database, with one master key.
fn two(store: &Store, provider: &OAuthProvider) -> [Gateway; 2] {
    let one = started(Setup::new().on(store).account("account", provider), provider);
    let key = format!("master_key_file = {:?}", one.home().data().join("master.key"));
    let other = Setup::new().on(store).general(&key).account("account", provider).start();
    [one, registered(other, provider)]
}

fn clients(gateways: &[Gateway; 2]) -> [Client; 2] {
    // Both gateways have the same key.
    [gateways[0].client(), gateways[1].client()]
}

#[test]
fn a_hundred_calls_at_two_gateways_renew_an_expired_token_once() {
    let store = Store::postgres();
    let provider = OAuthProvider::start(Dialect::strict());
    let gateways = two(&store, &provider);
    let clients = clients(&gateways);
    connect(&clients[0], "account", "ada");
    for round in 1..=5 {
        let gate = Gate::default();
        provider.hold_tokens(&gate);
        provider.expire();
        let call = |number: usize| clients[number % 2].begin("/connectors/account/forward", json!({"path": "/me"}));
        let calls: Vec<_> = (0..100).map(call).collect();
        provider.wait_for(Endpoint::Refresh, round);
        gate.open();
        for call in calls {
            assert_eq!(call.wait().ok(), me("ada"));
        }
        assert_eq!((provider.count(Endpoint::Refresh), provider.reuses()), (round, 0));
    }
    assert_eq!(provider.live_grants(), 1);
}

#[test]
fn a_call_blames_the_provider_only_for_a_refresh_that_its_own_gateway_asked_for() {
    let store = Store::postgres();
    let provider = OAuthProvider::start(Dialect::strict());
    let gateways = two(&store, &provider);
    let clients = clients(&gateways);
    connect(&clients[0], "account", "ada");
    let gate = Gate::default();
    provider.hold_tokens(&gate);
    provider.expire();
    let call = |client: &Client| {
        let call = client.request("POST", "/connectors/account/forward").header("prefer", "wait=4");
        call.json(&json!({"path": "/me"})).send()
    };
    call(&clients[0]).problem(504, "upstream-timed-out");
    call(&clients[1]).problem(503, "busy");
    gate.open();
    for client in &clients {
        support::wait_for("the refresh", || (who(client).status == 200).then_some(()));
    }
    assert_eq!(provider.count(Endpoint::Refresh), 1);
}

#[test]
fn background_refreshes_of_two_gateways_refresh_each_account_once() {
    const ACCOUNTS: usize = 40;
    let store = Store::postgres();
    let provider = OAuthProvider::start(Dialect::strict().living(10));
    let gateways = two(&store, &provider);
    let clients = clients(&gateways);
    for number in 0..ACCOUNTS {
        connect(&clients[number % 2], "account", &format!("user{number}"));
    }
    provider.set_lifetime(Some(3600));
    support::wait_for("every account to be renewed", || {
        let listed = clients[0].get("/integrations").ok();
        let records = listed["integrations"].as_array().unwrap().clone();
        let far = humantime::format_rfc3339_millis(std::time::SystemTime::now() + std::time::Duration::from_secs(600))
            .to_string();
        records.iter().all(|record| record["expires_at"].as_str() > Some(&far)).then_some(())
    });
    assert_eq!((provider.reuses(), provider.live_grants()), (0, ACCOUNTS));
    assert_eq!(provider.refusals(Endpoint::Refresh), Vec::<String>::new());
}

#[test]
fn each_gateway_sees_the_changes_of_the_other() {
    let store = Store::postgres();
    let provider = OAuthProvider::start(Dialect::strict());
    let gateways = two(&store, &provider);
    let [one, other] = clients(&gateways);
    let sees = |what: &str, status: u16| {
        support::wait_for(what, || Some(who(&other)).filter(|answer| answer.status == status))
    };
    who(&other).problem(424, "integration-required");
    who_as(&other, "ada").problem(424, "integration-required");
    connect(&one, "account", "ada");
    // At once: a call is refused only after another look.
    assert_eq!(who(&other).ok(), me("ada"));
    assert_eq!(who_as(&other, "ada").ok(), me("ada"));
    connect(&one, "account", "bob");
    sees("the second account", 424).problem(424, "selection-required");
    one.request("POST", &path("account", "bob")).send().ok();
    assert_eq!(sees("the selection", 200).ok(), me("bob"));
    one.delete(&path("account", "bob")).ok();
    assert_eq!(sees("the removal", 200).ok(), me("ada"));
    one.delete(&path("account", "ada")).ok();
    sees("the end", 424).problem(424, "integration-required");
}

#[test]
fn an_authorization_can_be_completed_once_at_the_other_gateway() {
    let store = Store::postgres();
    let provider = OAuthProvider::start(Dialect::strict());
    let gateways = two(&store, &provider);
    let [one, other] = clients(&gateways);
    let callback = Person::named("ada").consents(&begin(&one, "account"));
    let at_the_other = callback.replace(&gateways[0].address(), &gateways[1].address());
    assert_ne!(callback, at_the_other);
    assert_eq!(ended(&browser::open(&at_the_other)), success("account", &email("ada")));
    assert_eq!(browser::open(&callback).status, 400);
    assert_eq!((provider.count(Endpoint::Exchange), provider.reuses()), (1, 0));
    assert_eq!(who(&other).ok(), me("ada"));
    assert_eq!(who(&one).ok(), me("ada"));
}

#[test]
fn a_refresh_is_taken_over_by_the_other_gateway_after_a_crash() {
    let store = Store::postgres();
    let provider = OAuthProvider::start(Dialect::strict().without_rotation());
    let gateways = two(&store, &provider);
    let [one, other] = clients(&gateways);
    connect(&one, "account", "ada");
    assert_eq!(who(&other).ok(), me("ada"));
    provider.hold_tokens(&Gate::default());
    provider.expire();
    let call = one.begin("/connectors/account/forward", json!({"path": "/me"}));
    provider.wait_for(Endpoint::Refresh, 1);
    gateways[0].kill();
    assert!(call.try_wait().is_err());
    provider.repair();
    let answer = support::wait_for("the lease to end", || Some(who(&other)).filter(|answer| answer.status == 200));
    assert_eq!(answer.ok(), me("ada"));
    assert_eq!(provider.count(Endpoint::Refresh), 2);
}

#[test]
fn a_refused_token_is_not_replaced_with_one_of_another_gateway_that_has_expired_too() {
    let store = Store::postgres();
    let provider = OAuthProvider::start(Dialect::strict());
    let gateways = two(&store, &provider);
    let [one, other] = clients(&gateways);
    connect(&one, "account", "ada");
    // The service takes a while to refuse the first token.
    let (gate, is_later) = (Gate::default(), AtomicBool::new(false));
    let refusal = Reply::empty(401).behind(&gate);
    provider.on_api(move |_, _| match is_later.swap(true, Ordering::SeqCst) {
        false => refusal.clone(),
        true => Reply::json(me("ada")),
    });
    let sent = provider.count(Endpoint::Api);
    let call = one.begin("/connectors/account/forward", json!({"path": "/me"}));
    provider.wait_for(Endpoint::Api, sent + 1);
    // In the meantime, the other gateway gets another token, which expires.
    provider.expire();
    assert_eq!(who(&other).ok(), me("ada"));
    assert_eq!(provider.count(Endpoint::Refresh), 1);
    provider.expire();
    store.database().sql("UPDATE integrations SET expires_at = 1");
    gate.open();
    assert_eq!(call.wait().ok(), me("ada"), "the user need not authorize again");
    assert_eq!((provider.count(Endpoint::Refresh), provider.reuses()), (2, 0));
}
