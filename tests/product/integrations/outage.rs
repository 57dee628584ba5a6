//! The database is away, also while tokens are refreshed. No account is lost: the new tokens are
//! stored when it is back, and no other gateway sends the old refresh token in the meantime.
//! Callers and the operator learn what fails.

use serde_json::json;
use support::oauth::browser;
use support::{Client, Dialect, Endpoint, Gate, Gateway, OAuthProvider, Person, Proxy, Setup, Store};

use super::{begin, connect, email, ended, gateway, me, registered, started, success, who, who_as};

const ACCOUNTS: usize = 6;

fn name(number: usize) -> String {
    format!("user{number}")
}

/// A gateway whose connection to the database can be cut.
struct Severable {
    proxy: Proxy,
    gateway: Gateway,
}

impl Severable {
    fn start(store: &Store, provider: &OAuthProvider, general: &str) -> Self {
        let (proxy, config) = store.database().behind_proxy();
        let setup = Setup::new().general(&config).general(general).account("account", provider);
        Self { proxy, gateway: registered(setup.start(), provider) }
    }

    /// A second gateway on the same database, with the same master key.
    fn another(&self, store: &Store, provider: &OAuthProvider) -> Self {
        let key = format!("master_key_file = {:?}", self.gateway.home().data().join("master.key"));
        Self::start(store, provider, &key)
    }

    /// Cuts the connection, and waits until a call has met the failure.
    fn cut(&self) {
        self.proxy.cut();
        let client = self.gateway.client();
        support::wait_for("a call to meet the failure", || {
            Some(client.get("/integrations")).filter(|answer| answer.status == 503)
        })
        .problem(503, "store-unavailable");
    }
}

/// Begins a call for each account. The tokens have expired, so that the call needs a refresh.
fn begin_all(client: &Client) -> Vec<support::client::Pending> {
    let begin = |number| {
        let request = client.request("POST", "/connectors/account/forward").json(&json!({"path": "/me"}));
        request.header("x-user-identifier", &email(&name(number))).begin()
    };
    (0..ACCOUNTS).map(begin).collect()
}

fn begin_who(client: &Client) -> support::client::Pending {
    client.begin("/connectors/account/forward", json!({"path": "/me"}))
}

/// Cuts the database off while the first gateway refreshes every account. Its leases end before the
/// database is back.
fn lose_the_database(store: &Store, provider: &OAuthProvider, gateways: &[&Severable], answered_early: bool) {
    let client = gateways[0].gateway.client();
    for number in 0..ACCOUNTS {
        connect(&client, "account", &name(number));
    }
    for round in 1..=3 {
        let gate = Gate::default();
        provider.hold_tokens(&gate);
        provider.expire();
        let calls = begin_all(&client);
        provider.wait_for(Endpoint::Refresh, round * ACCOUNTS);
        gateways.iter().for_each(|one| one.cut());
        if answered_early {
            gate.open();
            let is_waiting = |line: &serde_json::Value| {
                line["message"].as_str().is_some_and(|text| text.starts_with("new tokens are not stored yet"))
            };
            support::wait_for("the writes to fail", || {
                let waiting = gateways[0].gateway.log().iter().filter(|line| is_waiting(line)).count();
                (waiting >= round * ACCOUNTS).then_some(())
            });
        }
        store.database().sql("UPDATE integrations SET leased_until = 1 WHERE leased_until IS NOT NULL");
        gateways.iter().for_each(|one| one.proxy.restore());
        // Now the others would take over the leases.
        let others: Vec<_> = gateways[1..].iter().map(|one| begin_all(&one.gateway.client())).collect();
        gate.open();
        calls.into_iter().for_each(|call| drop(call.try_wait()));
        others.into_iter().flatten().for_each(|call| drop(call.try_wait()));
        for one in gateways {
            let client = one.gateway.client();
            for number in 0..ACCOUNTS {
                let answer = support::wait_for("the account to serve again", || {
                    Some(who_as(&client, &name(number))).filter(|answer| matches!(answer.status, 200 | 424))
                });
                assert_eq!(answer.ok(), me(&name(number)));
            }
        }
        assert_eq!((provider.reuses(), provider.live_grants()), (0, ACCOUNTS));
        assert_eq!(provider.count(Endpoint::Refresh), round * ACCOUNTS);
    }
}

#[test]
fn a_gateway_that_loses_the_database_during_refreshes_loses_no_account() {
    for answered_early in [true, false] {
        let (store, provider) = (Store::postgres(), OAuthProvider::start(Dialect::strict()));
        let one = Severable::start(&store, &provider, "");
        lose_the_database(&store, &provider, &[&one], answered_early);
    }
}

#[test]
fn of_two_gateways_that_lose_the_database_for_longer_than_a_lease_none_loses_an_account() {
    for answered_early in [true, false] {
        let (store, provider) = (Store::postgres(), OAuthProvider::start(Dialect::strict()));
        let one = Severable::start(&store, &provider, "");
        let other = one.another(&store, &provider);
        lose_the_database(&store, &provider, &[&one, &other], answered_early);
    }
}

#[test]
fn tokens_that_a_killed_gateway_could_not_store_are_stored_at_its_next_start() {
    let (store, provider) = (Store::postgres(), OAuthProvider::start(Dialect::strict()));
    let one = Severable::start(&store, &provider, "");
    let client = one.gateway.client();
    connect(&client, "account", "ada");
    let gate = Gate::default();
    provider.hold_tokens(&gate);
    provider.expire();
    let call = begin_who(&client);
    provider.wait_for(Endpoint::Refresh, 1);
    one.cut();
    gate.open();
    // The provider has answered, and has ended the previous refresh token. The database has nothing.
    one.gateway.wait_for_log("the write to fail", |line| {
        line["message"].as_str().is_some_and(|text| text.starts_with("new tokens are not stored yet"))
    });
    one.gateway.kill();
    assert!(call.try_wait().is_err());
    let Severable { proxy, gateway } = one;
    let kept = gateway.home().data().join("refreshed");
    let kept = || std::fs::read_dir(&kept).unwrap().count();
    assert_eq!(kept(), 1);
    proxy.restore();
    let gateway = gateway.start_again();
    assert_eq!(who(&gateway.client()).ok(), me("ada"));
    assert_eq!((provider.count(Endpoint::Refresh), provider.reuses(), provider.live_grants()), (1, 0, 1));
    assert_eq!(kept(), 0);
    // The stored refresh token is the new one.
    provider.expire();
    assert_eq!(who(&gateway.client()).ok(), me("ada"));
    assert_eq!((provider.count(Endpoint::Refresh), provider.reuses()), (2, 0));
}

#[test]
fn a_grant_that_was_exchanged_while_the_database_was_away_is_connected_when_it_is_back() {
    let (store, provider) = (Store::postgres(), OAuthProvider::start(Dialect::strict()));
    let one = Severable::start(&store, &provider, "");
    let client = one.gateway.client();
    let gate = Gate::default();
    provider.hold_tokens(&gate);
    let callback = Person::named("ada").consents(&begin(&client, "account"));
    let answer = std::thread::spawn(move || browser::open(&callback));
    provider.wait_for(Endpoint::Exchange, 1);
    one.cut();
    gate.open();
    one.gateway.wait_for_log("the write to fail", |line| line["message"] == "a grant is not stored yet; trying again");
    one.proxy.restore();
    let answer = answer.join().unwrap();
    assert_eq!(ended(&answer), success("account", &email("ada")));
    assert_eq!(who(&client).ok(), me("ada"));
    assert_eq!(provider.live_grants(), 1);
}

#[test]
fn a_gateway_that_was_killed_during_a_refresh_does_not_wait_for_its_own_lease() {
    let provider = OAuthProvider::start(Dialect::strict().without_rotation());
    // Shorter than a lease.
    let setup = Setup::new().account("account", &provider).config("limits.timeout_s = 9");
    let gateway = started(setup, &provider);
    connect(&gateway.client(), "account", "ada");
    let gate = Gate::default();
    provider.hold_tokens(&gate);
    provider.expire();
    let call = gateway.client().begin("/connectors/account/forward", json!({"path": "/me"}));
    provider.wait_for(Endpoint::Refresh, 1);
    gateway.kill();
    assert!(call.try_wait().is_err());
    provider.repair();
    let gateway = gateway.start_again();
    assert_eq!(who(&gateway.client()).ok(), me("ada"));
    assert_eq!(provider.count(Endpoint::Refresh), 2);
}

#[test]
fn a_database_that_does_not_respond_is_not_taken_for_a_service_or_a_user() {
    let (store, provider) = (Store::postgres(), OAuthProvider::start(Dialect::strict()));
    let (proxy, config) = store.database().behind_proxy();
    let setup = Setup::new().general(&config).account("account", &provider).config("limits.timeout_s = 5");
    let gateway = started(setup, &provider);
    let client = gateway.client();
    connect(&client, "account", "ada");
    assert_eq!(who(&client).ok(), me("ada"));
    // The call needs a refresh, and the refresh needs the database.
    provider.expire();
    proxy.hold();
    for _ in 0..2 {
        who(&client).problem(503, "store-unavailable");
    }
    proxy.restore();
    let answer = support::wait_for("a call that succeeds", || {
        let answer = who(&client);
        if answer.status != 200 {
            answer.problem(503, "store-unavailable");
            return None;
        }
        Some(answer)
    });
    assert_eq!(answer.ok(), me("ada"));
    assert_eq!(provider.reuses(), 0);
}

#[test]
fn a_gateway_without_its_database_says_so_and_logs_it_once_a_second() {
    const CALLS: usize = 200;
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(&Store::Sqlite, &provider);
    let client = gateway.client();
    connect(&client, "account", "ada");
    let (file, away) = (gateway.home().data().join("gateway.db"), gateway.home().data().join("away"));
    std::fs::rename(&file, &away).unwrap();
    for _ in 0..CALLS {
        client.get("/integrations").problem(503, "store-unavailable");
    }
    for path in ["/jobs", "/webhooks/secrets", "/connectors/account/integration-exists"] {
        client.get(path).problem(503, "store-unavailable");
    }
    client.post("/connectors/account/integrations", super::init()).problem(503, "store-unavailable");
    let is_about_database = |line: &serde_json::Value| line["message"] == "the database failed";
    let line = gateway.wait_for_log("the cause", is_about_database);
    assert!(line["error"].as_str().unwrap().contains("is gone; put it back"), "{line}");
    let lines = gateway.log().into_iter().filter(is_about_database).count();
    assert!(lines < CALLS / 2, "{lines} lines about {CALLS} calls");
    let readiness = || gateway.anonymous().get("/readyz");
    let is_degraded = || readiness().ok()["degraded"] == json!(["database"]);
    support::wait_for("the gateway to be degraded", || is_degraded().then_some(()));
    std::fs::rename(&away, &file).unwrap();
    support::wait_for("the gateway to be whole again", || (!is_degraded()).then_some(()));
    assert_eq!(who(&client).ok(), me("ada"));
}
