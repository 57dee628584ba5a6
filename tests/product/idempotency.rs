//! The header `Idempotency-Key`: a call that changes data runs once, and its repeats get the first
//! answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use support::client::Call;
use support::{Answer, Client, Dialect, Gate, Gateway, OAuthProvider, Reply, Setup, Store, Upstream};

use crate::integrations::{begin, init, on_each_store, started};

on_each_store!(
    a_repeat_gets_the_first_answer_and_the_service_is_called_once,
    a_refusal_of_the_service_is_repeated_too,
    a_key_belongs_to_one_user_and_one_request,
    a_call_under_way_is_not_run_again,
    the_answer_is_kept_although_the_caller_went_away,
    a_call_that_did_nothing_can_be_sent_again,
    after_a_crash_nobody_knows_what_was_done,
    a_kept_answer_is_sealed_and_expires,
);

/// A gateway with the hostile guest, on a store.
fn gateway(store: &Store, upstream: &Upstream) -> Gateway {
    Setup::new().on(store).guest("hostile").upstream("hostile", "api", &upstream.url()).start()
}

/// A service that returns the number of its calls.
fn counting() -> Upstream {
    let (upstream, count) = (Upstream::start(), Arc::new(AtomicUsize::new(0)));
    upstream.on("/count", move |_| Reply::json(json!({"n": count.fetch_add(1, Ordering::SeqCst) + 1})));
    upstream
}

fn call(client: &Client, operation: &str, key: &str, body: &Value) -> Answer {
    client.request("POST", &format!("/connectors/hostile/{operation}")).header("idempotency-key", key).json(body).send()
}

fn write_to(path: &str) -> Value {
    json!({"method": "POST", "path": path})
}

fn a_repeat_gets_the_first_answer_and_the_service_is_called_once(store: &Store) {
    let upstream = counting();
    let gateway = gateway(store, &upstream);
    let client = gateway.client();
    let first = call(&client, "write", "\"one\"", &write_to("/count"));
    assert_eq!((first.ok(), first.header("idempotent-replayed")), (json!({"n": 1}), ""));
    for key in ["\"one\"", "one"] {
        let again = call(&client, "write", key, &write_to("/count"));
        assert_eq!((again.ok(), again.header("idempotent-replayed")), (json!({"n": 1}), "true"));
        assert_eq!(again.header("content-type"), "application/json");
    }
    let gateway = gateway.start_again();
    assert_eq!(call(&gateway.client(), "write", "one", &write_to("/count")).ok(), json!({"n": 1}));
    assert_eq!(call(&gateway.client(), "write", "two", &write_to("/count")).ok(), json!({"n": 2}));
    assert_eq!(
        gateway.call("hostile/write", write_to("/count")).ok(),
        json!({"n": 3}),
        "without a key every call runs"
    );
    assert_eq!(upstream.seen().len(), 3);
}

fn a_refusal_of_the_service_is_repeated_too(store: &Store) {
    let upstream = Upstream::start();
    upstream
        .reply("/refused", Reply::json(json!({"reason": "closed"})).status(409).header("x-request-id", "r-1"))
        .reply("/broken", Reply::empty(500));
    let gateway = gateway(store, &upstream);
    let client = gateway.client();
    for (path, status, kind) in [("/refused", 409, "upstream-rejected"), ("/broken", 502, "upstream-failed")] {
        let first = call(&client, "write", path, &write_to(path));
        let again = call(&client, "write", path, &write_to(path));
        assert_eq!(again.header("idempotent-replayed"), "true");
        let id = if status == 409 { "r-1" } else { "" };
        assert_eq!(first.header("x-upstream-request-id"), id);
        assert_eq!(again.header("x-upstream-request-id"), id);
        let first = first.problem(status, kind);
        let mut again = again.problem(status, kind);
        assert_ne!(again["instance"], first["instance"], "each answer names its own request");
        again["instance"] = first["instance"].clone();
        assert_eq!(again, first);
    }
    assert_eq!(upstream.seen().len(), 2);
}

fn a_key_belongs_to_one_user_and_one_request(store: &Store) {
    let upstream = counting();
    let gateway = gateway(store, &upstream);
    let client = gateway.client();
    call(&client, "write", "k", &write_to("/count")).ok();
    let other_body = json!({"method": "PUT", "path": "/count"});
    call(&client, "write", "k", &other_body).problem(422, "idempotency-key-reused");
    call(&client, "write_json", "k", &write_to("/count")).problem(422, "idempotency-key-reused");
    let other_account = client.request("POST", "/connectors/hostile/write").header("idempotency-key", "k");
    let other_account = other_account.header("x-user-identifier", "work").json(&write_to("/count")).send();
    other_account.problem(422, "idempotency-key-reused");
    let output = gateway.home().run_ok(&["keys", "create", "--name", "ann", "--subject", "ann"]);
    let ann = gateway.anonymous().with_key(output.trim());
    assert_eq!(call(&ann, "write", "k", &write_to("/count")).ok(), json!({"n": 2}));
    assert_eq!(upstream.seen().len(), 2);
    for key in ["", "\"\"", &"k".repeat(256)] {
        call(&client, "write", key, &write_to("/count")).problem(400, "bad-request");
    }
}

/// A gateway, and a service that answers a write only when the gate is open.
fn with_slow_service(store: &Store) -> (Gateway, Upstream, Gate) {
    let (upstream, gate) = (Upstream::start(), Gate::default());
    upstream.reply("/slow", Reply::json(json!({"done": true})).behind(&gate));
    (gateway(store, &upstream), upstream, gate)
}

/// The slow write, always with the same key.
fn slow_write(client: &Client) -> Call {
    client.request("POST", "/connectors/hostile/write").header("idempotency-key", "k").json(&write_to("/slow"))
}

fn a_call_under_way_is_not_run_again(store: &Store) {
    let (gateway, upstream, gate) = with_slow_service(store);
    let client = gateway.client();
    let request = || slow_write(&client);
    let first = request().begin();
    upstream.wait_for_requests(1);
    let answer = request().send();
    assert_eq!(answer.problem(409, "idempotency-key-in-use")["retryable"], true);
    assert_eq!(answer.header("retry-after"), "1");
    gate.open();
    assert_eq!(first.wait().ok(), json!({"done": true}));
    assert_eq!(request().send().ok(), json!({"done": true}));
    assert_eq!(upstream.seen().len(), 1);
}

fn the_answer_is_kept_although_the_caller_went_away(store: &Store) {
    let (gateway, upstream, gate) = with_slow_service(store);
    let client = gateway.client();
    let request = || slow_write(&client);
    let first = request().begin();
    upstream.wait_for_requests(1);
    first.give_up();
    gate.open();
    let answer = support::wait_for("the first answer", || Some(request().send()).filter(|one| one.status != 409));
    assert_eq!((answer.ok(), answer.header("idempotent-replayed")), (json!({"done": true}), "true"));
    assert_eq!(upstream.seen().len(), 1);
}

fn a_call_that_did_nothing_can_be_sent_again(store: &Store) {
    let upstream = counting();
    upstream.reply("/limited", Reply::empty(429).header("retry-after", "1"));
    let gateway = gateway(store, &upstream);
    let client = gateway.client();
    call(&client, "write", "k", &json!({"metod": "POST"})).violations();
    call(&client, "write", "k", &write_to("/limited")).problem(429, "upstream-rate-limited");
    assert_eq!(call(&client, "write", "k", &write_to("/count")).ok(), json!({"n": 1}));
}

fn after_a_crash_nobody_knows_what_was_done(store: &Store) {
    let (upstream, gate) = (Upstream::start(), Gate::default());
    upstream.reply("/slow", Reply::json(json!({})).behind(&gate));
    let gateway = gateway(store, &upstream);
    let request = gateway.client().request("POST", "/connectors/hostile/write").header("idempotency-key", "k");
    let first = request.json(&write_to("/slow")).begin();
    upstream.wait_for_requests(1);
    gateway.kill();
    assert!(first.try_wait().is_err());
    gate.open();
    if let Store::Postgres(database) = store {
        // Gateways of a PostgreSQL database wait for the end of the lease.
        database.sql("UPDATE idempotency_keys SET leased_until = 1 WHERE leased_until IS NOT NULL");
    }
    let gateway = gateway.start_again();
    // A gateway on PostgreSQL must first see that no other gateway renews the lease.
    support::wait_for("the call to be lost", || {
        let answer = call(&gateway.client(), "write", "k", &write_to("/slow"));
        (answer.json()["type"] != "urn:connector-gateway:problem:idempotency-key-in-use").then_some(())
    });
    for _ in 0..2 {
        let problem = call(&gateway.client(), "write", "k", &write_to("/slow")).problem(409, "idempotent-call-lost");
        assert_eq!((&problem["outcome"], &problem["retryable"]), (&json!("unknown"), &json!(false)));
        // The gateway that has the call may still run, and only not reach the database.
        let detail = problem["detail"].as_str().unwrap();
        for words in ["has ended, or does not reach the database", "is not run again", "a repeat gets it"] {
            assert!(detail.contains(words), "`{words}`: {detail}");
        }
    }
    assert_eq!(upstream.seen().len(), 1, "the call was not run a second time");
}

fn a_kept_answer_is_sealed_and_expires(store: &Store) {
    let upstream = Upstream::start();
    upstream.reply("/secret", Reply::json(json!({"word": "hunter2-hunter2"})));
    let gateway = gateway(store, &upstream);
    let client = gateway.client();
    call(&client, "write", "the-key-itself", &write_to("/secret")).ok();
    let files = ["gateway.db", "gateway.db-wal"].map(|name| gateway.home().data().join(name));
    let files: Vec<u8> = files.iter().filter_map(|file| std::fs::read(file).ok()).flatten().collect();
    let database = store.dump() + &String::from_utf8_lossy(&files);
    assert!(!database.contains("hunter2") && !database.contains("the-key-itself"));
    upstream.reply("/secret", Reply::json(json!({"word": "another"})));
    assert_eq!(call(&client, "write", "the-key-itself", &write_to("/secret")).ok()["word"], "hunter2-hunter2");
}

#[test]
fn an_answer_that_is_too_large_to_keep_reaches_the_first_caller_and_is_not_fetched_again() {
    let upstream = Upstream::start();
    let large = json!({"text": "x".repeat(3 << 20)});
    upstream.reply("/large", Reply::json(large.clone()));
    let gateway = gateway(&Store::Sqlite, &upstream);
    assert_eq!(call(&gateway.client(), "write", "k", &write_to("/large")).ok(), large);
    let problem = call(&gateway.client(), "write", "k", &write_to("/large")).problem(409, "idempotent-answer-not-kept");
    assert_eq!((&problem["outcome"], &problem["retryable"]), (&json!("succeeded"), &json!(false)));
    assert_eq!(upstream.seen().len(), 1);
}

#[test]
fn a_call_whose_caller_leaves_before_it_runs_is_run_once() {
    let (store, upstream) = (Store::postgres(), counting());
    let gateway = gateway(&store, &upstream);
    let (client, database) = (gateway.client(), store.database());
    let request = || {
        let request = client.request("POST", "/connectors/hostile/write").header("idempotency-key", "k");
        request.json(&write_to("/count"))
    };
    std::thread::scope(|scope| {
        // Until there is the table `released`, no gateway can take a key.
        let locking = scope.spawn(|| {
            database.sql(
                "DO $$ BEGIN
                     LOCK TABLE idempotency_keys IN ACCESS EXCLUSIVE MODE;
                     WHILE NOT EXISTS (SELECT FROM pg_class WHERE relname = 'released') LOOP PERFORM pg_sleep(0.02); END LOOP;
                 END $$",
            );
        });
        let is_found = |query: &str| (database.query(query) != "0").then_some(());
        support::wait_for("the lock", || {
            is_found(
                "SELECT count(*) FROM pg_locks WHERE relation = 'idempotency_keys'::regclass AND granted
                     AND mode = 'AccessExclusiveLock'",
            )
        });
        let first = request().begin();
        support::wait_for("the call to wait for its key", || {
            is_found(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
                     AND query LIKE 'DELETE FROM idempotency_keys WHERE id = %'",
            )
        });
        first.give_up();
        database.sql("CREATE TABLE released ()");
        locking.join().unwrap();
    });
    let answer = support::wait_for("the first answer", || Some(request().send()).filter(|one| one.status != 409));
    assert_eq!((answer.ok(), answer.header("idempotent-replayed")), (json!({"n": 1}), "true"));
    assert_eq!(upstream.seen().len(), 1);
}

#[test]
fn an_operation_that_reads_runs_every_time() {
    let upstream = counting();
    let gateway = gateway(&Store::Sqlite, &upstream);
    for n in 1..=2 {
        let answer = call(&gateway.client(), "forward", "k", &json!({"path": "/count"}));
        assert_eq!((answer.ok(), answer.header("idempotent-replayed")), (json!({"n": n}), ""));
    }
}

#[test]
fn an_authorization_is_begun_once() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = started(Setup::new().account("account", &provider), &provider);
    let client = gateway.client();
    let init_with = |key: &str, body: Value| {
        client.request("POST", "/connectors/account/integrations").header("idempotency-key", key).json(&body).send()
    };
    let first = init_with("k", init()).ok();
    let again = init_with("k", init());
    assert_eq!((again.ok(), again.header("idempotent-replayed")), (first.clone(), "true"));
    assert_eq!(again.header("cache-control"), "no-store");
    assert_ne!(begin(&client, "account"), first["authorization_url"], "without a key it is another one");
    let other = json!({"auth_type": "oauth2", "callback_url": "http://127.0.0.1:9/other"});
    init_with("k", other).problem(422, "idempotency-key-reused");
}
