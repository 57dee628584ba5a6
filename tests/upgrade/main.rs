//! An upgrade without an interruption: gateways of the release before and of this one share a
//! database, and serve the same callers and accounts, while one after the other is replaced.
//!
//! `PREVIOUS_GATEWAY` names the binary of the release before. `make test-upgrade` builds it.
//!
//! The way back is not tested here, because that release does not start on newer tables. The
//! product test `fleet::going_back` shows that this release does, so that the next one has a way
//! back.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use support::accounts::{connect, email, registered};
use support::client::Call;
use support::{Answer, Balancer, Client, Dialect, Endpoint, Gateway, Load, OAuthProvider, Setup, Store};

/// Seconds for which an access token lives. Gateways of both releases refresh it during the test.
const LIFETIME: u64 = 3;

const PEOPLE: [&str; 3] = ["ada", "grace", "joan"];

/// Calls that must succeed in each step of the upgrade.
const CALLS: usize = 300;

fn previous() -> PathBuf {
    std::env::var_os("PREVIOUS_GATEWAY").expect("PREVIOUS_GATEWAY names the binary of the release before").into()
}

/// A gateway that is not started yet.
fn setup(store: &Store, provider: &OAuthProvider) -> Setup {
    Setup::new().cold().on(store).account("account", provider)
}

fn key_of(gateway: &Gateway) -> String {
    format!("master_key_file = {:?}", gateway.home().data().join("master.key"))
}

/// Calls an operation with the account of a person.
fn call(client: &Client, operation: &str, person: &str) -> Call {
    let call =
        client.request("POST", &format!("/connectors/account/{operation}")).header("x-user-identifier", &email(person));
    call.json(&json!({"path": "/me"}))
}

fn is_ok(answer: &Answer) -> Result<(), String> {
    if answer.status == 200 { Ok(()) } else { Err(format!("{} {}", answer.status, answer.text())) }
}

#[test]
fn gateways_are_replaced_one_after_the_other_and_no_call_fails() {
    let (store, provider) = (Store::postgres(), OAuthProvider::start(Dialect::strict().living(LIFETIME)));
    let before = registered(setup(&store, &provider).release(previous()).start(), &provider);
    let key = key_of(&before);
    for person in PEOPLE {
        connect(&before.client(), "account", person);
    }
    let mut gateways: Vec<Gateway> =
        (0..2).map(|_| setup(&store, &provider).general(&key).release(previous()).start()).collect();
    gateways.insert(0, before);

    let balancer = Balancer::start();
    let forward_to = |gateways: &[Gateway]| balancer.forward_to(&gateways.iter().collect::<Vec<_>>());
    forward_to(&gateways);
    let client = gateways[0].client().at(&balancer.url());
    let (next, calling) = (Arc::new(AtomicUsize::new(0)), client.clone());
    let read = move || call(&calling, "forward", PEOPLE[next.fetch_add(1, Ordering::Relaxed) % PEOPLE.len()]);
    let load = Load::start(read, is_ok);
    load.wait_for_more(CALLS);

    // A call that the release before has answered is answered from its record by this one.
    let keyed =
        |gateway: &Gateway| call(&gateway.client(), "change", "ada").header("idempotency-key", "one-call").send();
    let first = keyed(&gateways[0]).ok();

    // The master key of all of them is in the folder of the first one.
    let mut replaced = Vec::new();
    for _ in 0..gateways.len() {
        let refreshes = provider.count(Endpoint::Refresh);
        gateways.push(setup(&store, &provider).general(&key).start());
        forward_to(&gateways);
        load.wait_for_more(CALLS);
        replaced.push(gateways.remove(0));
        forward_to(&gateways);
        let ended = replaced.last_mut().map(Gateway::stop);
        assert!(ended.is_some_and(|status| status.success()), "a gateway of the release before ends well");
        load.wait_for_more(CALLS);
        support::wait_for("a refresh", || (provider.count(Endpoint::Refresh) > refreshes).then_some(()));
    }
    let outcome = load.stop();
    assert_eq!(outcome.failures, Vec::<String>::new());

    let again = keyed(&gateways[0]);
    assert_eq!((again.header("idempotent-replayed"), again.json()), ("true", first));
    for person in PEOPLE {
        is_ok(&call(&gateways[2].client(), "forward", person).send()).unwrap();
    }
}
