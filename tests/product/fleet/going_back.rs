//! The way back from the next release: gateways of this release start and serve on its tables.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use support::accounts::{connect, email, registered};
use support::{Answer, Balancer, Dialect, Gateway, Load, OAuthProvider, Setup, Store};

const PEOPLE: [&str; 3] = ["ada", "grace", "joan"];

/// Calls that must succeed in each step.
const CALLS: usize = 100;

fn is_ok(answer: &Answer) -> Result<(), String> {
    if answer.status == 200 { Ok(()) } else { Err(format!("{} {}", answer.status, answer.text())) }
}

#[test]
fn gateways_of_this_release_take_over_from_the_next_one_and_no_call_fails() {
    let (store, provider) = (Store::postgres(), OAuthProvider::start(Dialect::strict().living(8)));
    let start = || Setup::new().on(&store).account("account", &provider).start();
    let first = registered(start(), &provider);
    for person in PEOPLE {
        connect(&first.client(), "account", person);
    }
    let mut gateways = vec![first, start(), start()];
    let balancer = Balancer::start();
    let forward_to = |gateways: &[Gateway]| balancer.forward_to(&gateways.iter().collect::<Vec<_>>());
    forward_to(&gateways);
    let (client, next) = (gateways[0].client().at(&balancer.url()), Arc::new(AtomicUsize::new(0)));
    let call = move || {
        let person = PEOPLE[next.fetch_add(1, Ordering::Relaxed) % PEOPLE.len()];
        let request = client.request("POST", "/connectors/account/forward");
        request.header("x-user-identifier", &email(person)).json(&json!({"path": "/me"}))
    };
    let load = Load::start(call, is_ok);
    load.wait_for_more(CALLS);

    // The next release adds to the tables, and says that this release works with them.
    store.database().sql(
        "BEGIN;
         ALTER TABLE integrations ADD COLUMN of_next_release TEXT;
         ALTER TABLE api_keys ADD COLUMN of_next_release BIGINT NOT NULL DEFAULT 0;
         CREATE TABLE of_next_release (id TEXT PRIMARY KEY);
         UPDATE gateway_version SET oldest = number, number = number + 1;
         COMMIT",
    );
    load.wait_for_more(CALLS);
    for _ in 0..gateways.len() {
        gateways.push(registered(start(), &provider));
        forward_to(&gateways);
        load.wait_for_more(CALLS);
        let mut replaced = gateways.remove(0);
        forward_to(&gateways);
        assert!(replaced.stop().success());
        load.wait_for_more(CALLS);
    }
    assert_eq!(load.stop().failures, Vec::<String>::new());
    connect(&gateways[0].client(), "account", "kurt");
    let version = store.database().query("SELECT number - oldest FROM gateway_version");
    assert_eq!(version, "1", "the tables stay those of the next release");

    // The release after the next one no longer works with this one.
    store.database().sql("UPDATE gateway_version SET oldest = number, number = number + 1");
    let finished = Setup::new().on(&store).prepare().run(&["serve"]);
    assert_eq!(finished.code, Some(1));
    assert!(finished.stderr.contains("was written by a newer version"), "{}", finished.stderr);
}
