//! Several gateways share the queue in one PostgreSQL database.

use serde_json::json;
use support::{Gate, Gateway, Reply, Store, Upstream};

use super::{begin, kind, record, setup, wait};

/// Two gateways on one database, with one master key.
fn two(store: &Store, service: &Upstream, jobs: [&str; 2]) -> [Gateway; 2] {
    let start = |general: &str, jobs: &str| setup(store, service).general(general).config(jobs).start();
    let one = start("", jobs[0]);
    let key = format!("master_key_file = {:?}", one.home().data().join("master.key"));
    let other = start(&key, jobs[1]);
    [one, other]
}

const WORKERS: &str = "[jobs]\nworkers = 2";
const NO_WORKERS: &str = "[jobs]\nworkers = 0";

#[test]
fn a_gateway_runs_the_jobs_of_another_and_both_see_them() {
    let store = Store::postgres();
    let service = Upstream::start();
    service.reply("/", Reply::json(json!({})));
    let [one, other] = two(&store, &service, [NO_WORKERS, WORKERS]);
    let id = begin(&one.client(), "collect", json!({"path": "/"}));
    let seen = wait(&one.client(), &id, "succeeded");
    assert_eq!(record(&other.client(), &id), seen);
}

#[test]
fn each_job_runs_at_one_of_two_gateways() {
    let store = Store::postgres();
    let service = Upstream::start();
    service.reply("*", Reply::json(json!({})));
    let gateways = two(&store, &service, [WORKERS, WORKERS]);
    let clients = [gateways[0].client(), gateways[1].client()];
    let begin = |number: usize| begin(&clients[number % 2], "change", json!({"path": format!("/{number}")}));
    let ids: Vec<String> = (0..100).map(begin).collect();
    for id in &ids {
        wait(&clients[0], id, "succeeded");
    }
    let mut paths: Vec<String> = service.seen().into_iter().map(|seen| seen.path).collect();
    paths.sort();
    paths.dedup();
    assert_eq!((paths.len(), service.seen().len()), (100, 100));
}

#[test]
fn a_job_that_runs_at_another_gateway_is_cancelled_there() {
    let store = Store::postgres();
    let service = Upstream::start();
    let gate = Gate::default();
    service.reply("/", Reply::json(json!({})).behind(&gate));
    let [one, other] = two(&store, &service, [NO_WORKERS, WORKERS]);
    let id = begin(&one.client(), "collect", json!({"path": "/", "count": 100}));
    service.wait_for_requests(1);
    assert_eq!(one.client().delete(&format!("/jobs/{id}")).ok(), json!({"cancelled": true}));
    support::wait_for("the worker to be free", || (other.metric("gateway_jobs_running") == 0.0).then_some(()));
    gate.open();
    assert_eq!(kind(&record(&other.client(), &id)), "cancelled");
    assert_eq!(service.seen().len(), 1);
}

#[test]
fn jobs_of_a_gateway_that_died_are_taken_up_by_another() {
    let store = Store::postgres();
    let service = Upstream::start();
    let gate = Gate::default();
    service.reply("/read", Reply::json(json!({})).behind(&gate));
    service.reply("/change", Reply::json(json!({})).behind(&gate));
    let [one, other] = two(&store, &service, [WORKERS, NO_WORKERS]);
    let read = begin(&other.client(), "collect", json!({"path": "/read"}));
    service.wait_for_requests(1);
    one.kill();
    let other = other.start_again_with("GATEWAY__JOBS__WORKERS", "2");
    gate.open();
    assert!(wait(&other.client(), &read, "succeeded")["finished_at"].is_string());
    assert_eq!(service.seen().len(), 2);
}

#[test]
fn jobs_end_once_although_the_database_drops_connections() {
    let store = Store::postgres();
    let Store::Postgres(database) = &store else { unreachable!("the store is PostgreSQL") };
    let service = Upstream::start();
    service.reply("*", Reply::json(json!({})));
    let [one, other] = two(&store, &service, [NO_WORKERS, NO_WORKERS]);
    let begin = |number: usize| begin(&one.client(), "change", json!({"path": format!("/{number}")}));
    let ids: Vec<String> = (0..100).map(begin).collect();
    drop(other);
    let gateway = one.start_again_with("GATEWAY__JOBS__WORKERS", "4");
    for round in 1..=10 {
        service.wait_for_requests(8 * round);
        database.sql(
            "select pg_terminate_backend(pid) from pg_stat_activity
             where datname = current_database() and pid <> pg_backend_pid()",
        );
    }
    for id in &ids {
        let ended = support::wait_for("the job to end", || {
            let answer = gateway.client().get(&format!("/jobs/{id}"));
            let record = (answer.status == 200).then(|| answer.json())?;
            record["finished_at"].is_string().then_some(record)
        });
        // A job that was taken in a transaction of unknown outcome has failed, and perhaps it was
        // never run.
        if ended["status"] != "succeeded" {
            assert_eq!((kind(&ended), &ended["error"]["outcome"]), ("cut-off", &json!("unknown")), "{ended}");
        }
    }
    let mut paths: Vec<String> = service.seen().into_iter().map(|seen| seen.path).collect();
    let sent = paths.len();
    paths.sort();
    paths.dedup();
    assert_eq!(paths.len(), sent, "a job was run twice");
}
