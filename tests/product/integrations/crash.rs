//! The gateway is killed at many moments of a callback, a refresh and a rotation of keys.
//! Afterwards every integration is usable, or its record says correctly that it is not.

use std::time::Duration;

use serde_json::json;
use support::oauth::browser;
use support::{Dialect, Endpoint, Gateway, OAuthProvider, Person, Setup, Store};

use super::{begin, connect, me, on_each_store, record, registered, who};

on_each_store!(
    a_kill_during_a_refresh_leaves_the_account_usable_or_correctly_expired,
    a_kill_during_a_refresh_does_no_harm_if_refresh_tokens_stay_valid,
    a_kill_during_a_callback_leaves_the_account_usable_or_absent,
    a_kill_during_many_changes_leaves_every_account_usable_or_correctly_expired,
);

/// Milliseconds between the request to the provider and the kill. The first is before the
/// provider's answer arrives, the last is long after the answer was stored.
const MOMENTS: [u64; 12] = [0, 1, 2, 3, 4, 5, 7, 9, 12, 16, 24, 40];

fn start(store: &Store, provider: &OAuthProvider) -> Gateway {
    // The port is fixed, so that an authorization survives the restart.
    let port = support::upstream::free_port();
    let setup = Setup::new()
        .on(store)
        .general(&format!("public_url = \"http://127.0.0.1:{port}\""))
        .account("account", provider);
    registered(setup.variable("GATEWAY__LISTEN", &format!("127.0.0.1:{port}")).start(), provider)
}

fn revive(gateway: Gateway) -> Gateway {
    gateway.kill();
    gateway.start_again()
}

/// Checks that the account is usable, or that record and provider both say that the user must
/// authorize again.
#[track_caller]
fn assert_usable_or_honest(gateway: &Gateway, provider: &OAuthProvider) {
    let answer = support::wait_for("a dead gateway's lease to end", || {
        Some(who(&gateway.client())).filter(|answer| matches!(answer.status, 200 | 424))
    });
    let found = record(&gateway.client(), "ada");
    if answer.status == 200 {
        assert_eq!(answer.ok(), me("ada"));
        assert_eq!(found["status"], "active");
    } else {
        answer.problem(424, "reauthorization-required");
        assert_eq!((&found["status"], &found["reason"]["owner"]), (&json!("expired"), &json!("user")));
        assert_eq!(provider.live_grants(), 0, "the record says expired, but the grant is valid");
    }
}

fn a_kill_during_a_refresh_leaves_the_account_usable_or_correctly_expired(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let mut gateway = start(store, &provider);
    for moment in MOMENTS {
        if who_status(&gateway) != 200 {
            provider.withdraw();
            connect(&gateway.client(), "account", "ada");
        }
        let renewed = provider.count(Endpoint::Refresh);
        provider.expire();
        let call = gateway.client().begin("/connectors/account/forward", json!({"path": "/me"}));
        provider.wait_for(Endpoint::Refresh, renewed + 1);
        std::thread::sleep(Duration::from_millis(moment));
        gateway = revive(gateway);
        drop(call.try_wait());
        assert_usable_or_honest(&gateway, &provider);
    }
}

fn who_status(gateway: &Gateway) -> u16 {
    who(&gateway.client()).status
}

fn a_kill_during_a_refresh_does_no_harm_if_refresh_tokens_stay_valid(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict().without_rotation());
    let mut gateway = start(store, &provider);
    connect(&gateway.client(), "account", "ada");
    for moment in [0, 2, 5, 12, 40] {
        let renewed = provider.count(Endpoint::Refresh);
        provider.expire();
        let call = gateway.client().begin("/connectors/account/forward", json!({"path": "/me"}));
        provider.wait_for(Endpoint::Refresh, renewed + 1);
        std::thread::sleep(Duration::from_millis(moment));
        gateway = revive(gateway);
        drop(call.try_wait());
        let answer = support::wait_for("the account to serve again", || {
            Some(who(&gateway.client())).filter(|answer| answer.status == 200)
        });
        assert_eq!(answer.ok(), me("ada"));
    }
    assert_eq!(provider.live_grants(), 1);
}

fn a_kill_during_a_callback_leaves_the_account_usable_or_absent(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let mut gateway = start(store, &provider);
    for moment in MOMENTS {
        let exchanged = provider.count(Endpoint::Exchange);
        let callback = Person::named("ada").consents(&begin(&gateway.client(), "account"));
        let browser = gateway.anonymous().without_redirects().at(&callback);
        let visit = browser.request("GET", "").begin();
        provider.wait_for(Endpoint::Exchange, exchanged + 1);
        std::thread::sleep(Duration::from_millis(moment));
        gateway = revive(gateway);
        drop(visit.try_wait());
        // The code is used up. A reload of the page says to start again, and a new authorization
        // works.
        let again = browser::open(&callback);
        assert_eq!(again.status, 400, "{}", again.text());
        let client = gateway.client();
        let listed = client.get("/integrations").ok();
        match listed["integrations"].as_array().unwrap().as_slice() {
            [] => drop(who(&client).problem(424, "integration-required")),
            [one] => {
                assert_eq!((&one["status"], &one["account"]), (&json!("active"), &me("ada")));
                assert_eq!(who(&client).ok(), me("ada"));
                client.delete(&crate::integrations::path("account", "ada")).ok();
            }
            several => panic!("{several:?}"),
        }
    }
    connect(&gateway.client(), "account", "ada");
    assert_eq!(provider.reuses(), 0);
}

fn a_kill_during_many_changes_leaves_every_account_usable_or_correctly_expired(store: &Store) {
    const ACCOUNTS: usize = 8;
    let provider = OAuthProvider::start(Dialect::strict());
    let mut gateway = start(store, &provider);
    for number in 0..ACCOUNTS {
        connect(&gateway.client(), "account", &format!("user{number}"));
    }
    for round in 0..6 {
        let client = gateway.client();
        provider.expire();
        let calls: Vec<_> = (0..ACCOUNTS * 4)
            .map(|number| {
                let request = client.request("POST", "/connectors/account/forward").json(&json!({"path": "/me"}));
                request
                    .header("x-user-identifier", &crate::integrations::email(&format!("user{}", number % ACCOUNTS)))
                    .begin()
            })
            .collect();
        let rotation = (round % 2 == 0)
            .then(|| support::process::Process::start(&mut gateway.home().command(&["keys", "rotate-master"])));
        std::thread::sleep(Duration::from_millis(10 * (round + 1)));
        gateway = revive(gateway);
        for call in calls {
            drop(call.try_wait());
        }
        drop(rotation);
        for number in 0..ACCOUNTS {
            let name = format!("user{number}");
            let client = gateway.client();
            let answer = support::wait_for("a dead gateway's lease to end", || {
                Some(crate::integrations::who_as(&client, &name)).filter(|answer| matches!(answer.status, 200 | 424))
            });
            if answer.status == 424 {
                answer.problem(424, "reauthorization-required");
                assert_eq!(record(&client, &name)["status"], "expired");
                connect(&client, "account", &name);
            }
        }
    }
}
