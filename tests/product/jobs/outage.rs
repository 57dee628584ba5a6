//! The database is away for longer than the leases of jobs and of calls with an idempotency key. A
//! gateway that lives knows what it did, and says it when the database is back.

use serde_json::{Value, json};
use support::{Client, Gate, Gateway, Proxy, Reply, Setup, Store, Upstream, module, wait_for};

use super::{begin, wait};

/// Two gateways on one database, each with its own way there. The second one runs no jobs.
fn start(store: &Store, service: &Upstream) -> [(Proxy, Gateway); 2] {
    let start = |general: &str, workers: usize| {
        let (proxy, database) = store.database().behind_proxy();
        let described = module::account(&json!({"identifier": "account", "auth": "none"}));
        let setup = Setup::new().general(&database).general(general).module("account", described);
        let setup = setup.upstream("account", "api", &service.url()).config("limits.timeout_s = 300");
        (proxy, setup.config(&format!("[jobs]\nworkers = {workers}")).start())
    };
    let one = start("", 4);
    let key = format!("master_key_file = {:?}", one.1.home().data().join("master.key"));
    let other = start(&key, 0);
    [one, other]
}

/// The call with an idempotency key.
fn keyed(client: &Client) -> support::client::Call {
    let call = client.request("POST", "/connectors/account/change").header("idempotency-key", "k");
    call.json(&json!({"path": "/keyed", "waiting": true}))
}

fn what_ends_while_the_database_is_away_is_told_as_it_ended(lose: fn(&Proxy)) {
    let (store, service, gate) = (Store::postgres(), Upstream::start(), Gate::default());
    service.reply("*", Reply::json(json!({"done": true})).behind(&gate));
    let gateways = start(&store, &service);
    let [one, other] = [&gateways[0].1, &gateways[1].1].map(Gateway::client);
    let change = begin(&one, "change", json!({"path": "/change"}));
    let read = begin(&one, "collect", json!({"path": "/read"}));
    let call = keyed(&one).begin();
    service.wait_for_requests(3);

    gateways.iter().for_each(|(proxy, _)| lose(proxy));
    // All three end now, and their ends cannot be stored.
    gate.open();
    wait_for("the leases to end", || {
        let held = "SELECT (SELECT count(*) FROM jobs WHERE leased_until > now_ms())
            + (SELECT count(*) FROM idempotency_keys WHERE leased_until > now_ms())"
            .replace("now_ms()", "extract(epoch from clock_timestamp()) * 1000");
        (store.database().query(&held) == "0").then_some(())
    });
    let running = "SELECT count(*) FROM jobs WHERE status = 'running'";
    assert_eq!(store.database().query(running), "2", "the database has not heard of their ends");
    gateways.iter().for_each(|(proxy, _)| proxy.restore());

    let done: Value = json!({"done": true});
    let ended = wait(&one, &change, "succeeded");
    assert_eq!(ended["result"]["last"], done.to_string());
    assert_eq!(wait(&other, &change, "succeeded"), ended);
    wait(&other, &read, "succeeded");
    let first = call.wait().ok();
    for client in [&one, &other] {
        // The first caller may have its answer a moment before it is kept.
        let again =
            wait_for("the answer to be kept", || Some(keyed(client).send()).filter(|again| again.status != 409));
        assert_eq!((again.ok(), again.header("idempotent-replayed")), (first.clone(), "true"));
    }
    let sent = |path: &str| service.seen().iter().filter(|seen| seen.path == path).count();
    assert_eq!((sent("/change"), sent("/keyed")), (1, 1), "nothing was written a second time");
}

#[test]
fn a_database_that_refuses_for_longer_than_leases_costs_no_result() {
    what_ends_while_the_database_is_away_is_told_as_it_ended(Proxy::cut);
}

#[test]
fn a_database_that_does_not_respond_for_longer_than_leases_costs_no_result() {
    what_ends_while_the_database_is_away_is_told_as_it_ended(Proxy::hold);
}
