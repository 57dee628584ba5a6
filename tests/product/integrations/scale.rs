//! A thousand accounts are refreshed before their tokens expire, all at the same time, without a
//! lost token.

use std::time::{Duration, SystemTime};

use serde_json::json;
use support::oauth::browser;
use support::{Client, Dialect, Endpoint, Gateway, OAuthProvider, Person};

use super::{begin, email, ended, gateway, me, on_each_store, who_as};

on_each_store!(a_thousand_accounts_are_refreshed_without_a_lost_token);

const ACCOUNTS: usize = 1000;

fn name(number: usize) -> String {
    format!("user{number}")
}

/// Connects all accounts, several at the same time.
fn connect_all(client: &Client) {
    std::thread::scope(|scope| {
        for part in 0..8 {
            scope.spawn(move || {
                for number in (part..ACCOUNTS).step_by(8) {
                    ended(&browser::open(&Person::named(&name(number)).consents(&begin(client, "account"))));
                }
            });
        }
    });
}

/// Returns `true` if every token is valid for another ten minutes.
fn are_all_fresh(client: &Client) -> bool {
    let soon = humantime::format_rfc3339_millis(SystemTime::now() + Duration::from_secs(600)).to_string();
    let listed = client.get("/integrations?limit=1000").ok();
    let records = listed["integrations"].as_array().unwrap();
    assert_eq!(records.len(), ACCOUNTS);
    records.iter().all(|record| {
        assert_eq!(record["status"], "active", "{record}");
        record["expires_at"].as_str() > Some(&soon)
    })
}

fn all_serve(gateway: &Gateway) {
    std::thread::scope(|scope| {
        for part in 0..8 {
            let client = gateway.client();
            scope.spawn(move || {
                for number in (part..ACCOUNTS).step_by(8) {
                    assert_eq!(who_as(&client, &name(number)).ok(), me(&name(number)));
                }
            });
        }
    });
}

fn a_thousand_accounts_are_refreshed_without_a_lost_token(store: &support::Store) {
    let provider = OAuthProvider::start(Dialect::strict().living(60));
    let gateway = gateway(store, &provider);
    let client = gateway.client();
    connect_all(&client);
    provider.set_lifetime(Some(3600));
    // On a busy machine, the refreshes themselves may take longer than a minute.
    let time = Duration::from_secs(300);
    support::wait_at_most(time, "all to be renewed ahead of time", || {
        // The list takes the gateway long, so it is read after enough refreshes only.
        (provider.count(Endpoint::Refresh) >= ACCOUNTS && are_all_fresh(&client)).then_some(())
    });
    all_serve(&gateway);
    let ahead = provider.count(Endpoint::Refresh);
    provider.expire();
    let calls: Vec<_> = (0..ACCOUNTS)
        .map(|number| {
            let request = client
                .request("POST", "/connectors/account/forward")
                .header("x-user-identifier", &email(&name(number)));
            request.json(&json!({"path": "/me"})).begin()
        })
        .collect();
    for (number, call) in calls.into_iter().enumerate() {
        let answer = call.wait();
        // The call exceeds the limit of concurrent calls.
        assert!(answer.status == 503 || answer.ok() == me(&name(number)), "{}", answer.text());
    }
    all_serve(&gateway);
    assert_eq!((provider.reuses(), provider.live_grants()), (0, ACCOUNTS));
    assert_eq!(provider.refusals(Endpoint::Refresh), Vec::<String>::new());
    assert_eq!(provider.count(Endpoint::Refresh), ahead + ACCOUNTS);
}
