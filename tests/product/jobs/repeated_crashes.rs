//! A thousand jobs and twenty kills: each job ends once, as the receiver of its callback sees it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Value, json};
use support::{Client, Gateway, Reply, Store, Upstream, wait_at_most, wait_for};

use super::setup;

const JOBS: usize = 1000;
const KILLS: usize = 20;

/// Every tenth job changes data.
fn is_change(number: usize) -> bool {
    number.is_multiple_of(10)
}

/// Adds the jobs, some at a time, and returns their ids in the order of their numbers.
fn begin_all(client: &Client, receiver: &Upstream) -> Vec<String> {
    client.post("/webhooks/secrets", json!({})).ok();
    let hook = format!("{}/hook", receiver.url());
    let begin = |number: usize| {
        let operation = if is_change(number) { "change" } else { "collect" };
        let body = json!({"path": format!("/{number}"), "callback_urls": [&hook]});
        client.begin(&format!("/connectors/account/{operation}"), body)
    };
    let mut ids = Vec::new();
    for first in (0..JOBS).step_by(50) {
        let calls: Vec<_> = (first..first + 50).map(begin).collect();
        ids.extend(calls.into_iter().map(|call| call.wait().ok()["job_id"].as_str().unwrap().to_owned()));
    }
    ids
}

/// The webhooks that the receiver got, by id. An attempt that was repeated has the same content.
fn received(receiver: &Upstream) -> BTreeMap<String, Value> {
    let mut webhooks = BTreeMap::new();
    for seen in receiver.seen() {
        let body: Value = serde_json::from_slice(&seen.body).unwrap();
        let previous = webhooks.insert(seen.header("webhook-id").to_owned(), body.clone());
        assert!(previous.is_none_or(|previous| previous == body), "a webhook has two contents");
    }
    webhooks
}

/// Checks that each job ended once, and that its record says what its webhook said.
fn check(client: &Client, service: &Upstream, receiver: &Upstream, ids: &[String]) {
    // The leases of gateways that were killed end meanwhile.
    let time = Duration::from_secs(300);
    let all = || (receiver.count() >= JOBS).then(|| received(receiver)).filter(|all| all.len() >= JOBS);
    let webhooks = wait_at_most(time, "a webhook of each job", all);
    let job_ids: BTreeSet<&str> = webhooks.values().map(|record| record["job_id"].as_str().unwrap()).collect();
    assert_eq!((webhooks.len(), job_ids.len()), (JOBS, JOBS), "each job has one webhook");
    let mut requests: BTreeMap<String, usize> = BTreeMap::new();
    for seen in service.seen() {
        *requests.entry(seen.path).or_default() += 1;
    }
    for record in webhooks.values() {
        let id = record["job_id"].as_str().unwrap();
        let number = ids.iter().position(|known| known == id).expect("a job of the test");
        let sent = requests.get(&format!("/{number}")).copied().unwrap_or_default();
        match record["status"].as_str() {
            Some("succeeded") => assert!(sent >= 1, "{record}"),
            Some("failed") => {
                assert!(is_change(number), "{record}");
                assert_eq!(record["error"]["outcome"], "unknown");
            }
            _ => panic!("{record}"),
        }
        assert!(!is_change(number) || sent <= 1, "a job that changes data ran {sent} times");
        let mut now = super::record(client, id);
        let callbacks = now.as_object_mut().unwrap().shift_remove("callbacks").unwrap();
        assert_eq!((&now, callbacks[0]["url"].as_str()), (record, Some(&*format!("{}/hook", receiver.url()))));
    }
}

/// Kills one gateway after the other while they work, and starts each again.
fn kill_and_revive(mut gateways: Vec<Gateway>, service: &Upstream) -> Vec<Gateway> {
    for kill in 1..=KILLS {
        // Each kill comes in the middle of the work.
        let count = kill * JOBS * 9 / 10 / KILLS;
        wait_for("requests", || (service.count() >= count).then_some(()));
        let gateway = gateways.remove(0);
        gateway.kill();
        gateways.push(gateway.start_again());
    }
    gateways
}

const WITHOUT_WORKERS: &str = "[callbacks]\nallow_private_network = true\n[jobs]\nworkers = 0";

fn stand_ins() -> [Upstream; 2] {
    let (service, receiver) = (Upstream::start(), Upstream::start());
    service.reply("*", Reply::json(json!({})));
    receiver.reply("/hook", Reply::empty(204));
    [service, receiver]
}

#[test]
fn a_thousand_jobs_survive_twenty_kills_on_sqlite() {
    let [service, receiver] = stand_ins();
    let gateway = setup(&Store::Sqlite, &service).config(WITHOUT_WORKERS).start();
    let ids = begin_all(&gateway.client(), &receiver);
    let gateway = gateway.start_again_with("GATEWAY__JOBS__WORKERS", "8");
    let gateways = kill_and_revive(vec![gateway], &service);
    check(&gateways[0].client(), &service, &receiver, &ids);
}

#[test]
fn a_thousand_jobs_survive_twenty_kills_of_two_gateways_on_postgres() {
    let [service, receiver] = stand_ins();
    let store = Store::postgres();
    let one = setup(&store, &service).config(WITHOUT_WORKERS).start();
    let key = format!("master_key_file = {:?}", one.home().data().join("master.key"));
    let other = setup(&store, &service).general(&key).config(WITHOUT_WORKERS).start();
    let ids = begin_all(&one.client(), &receiver);
    let gateways = [one, other].map(|gateway| gateway.start_again_with("GATEWAY__JOBS__WORKERS", "8"));
    let gateways = kill_and_revive(gateways.into(), &service);
    check(&gateways[1].client(), &service, &receiver, &ids);
}
