//! The database reads and does not write, as after a failover to a server that is no primary yet.
//! Calls that need no write continue. All others say what is wrong, and nothing is lost.

use std::thread;
use std::time::SystemTime;

use serde_json::{Value, json};
use support::oauth::browser;
use support::{Answer, Client, Database, Dialect, Endpoint, Gate, Gateway, OAuthProvider, Person, Store};

use super::{begin, connect, email, ended, gateway, init, me, path, success, who_as};

/// Lets new connections to the database only read, or write again, and ends the present ones.
fn set_read_only(database: &Database, is_read_only: bool) {
    let setting = if is_read_only { "on" } else { "off" };
    database.sql(&format!(
        "begin read write;
         do $$ begin
           execute format('alter database %I set default_transaction_read_only = {setting}', current_database());
         end $$;
         commit;
         select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid()"
    ));
}

/// The errors that a gateway has logged since a time. A line may arrive here later than it was
/// written.
fn errors_since(gateway: &Gateway, began: SystemTime) -> Vec<Value> {
    let began = humantime::format_rfc3339_micros(began).to_string();
    let is_error = |line: &Value| line["level"] == "ERROR" && line["timestamp"].as_str() >= Some(began.as_str());
    gateway.log().into_iter().filter(is_error).collect()
}

/// The whole seconds that have passed since a time.
fn seconds_since(began: SystemTime) -> u64 {
    began.elapsed().unwrap().as_secs()
}

/// Requests that write to the database.
fn writes(client: &Client) -> [Answer; 5] {
    let call = |operation: &str| {
        client.request("POST", &format!("/connectors/account/{operation}")).header("x-user-identifier", &email("ada"))
    };
    [
        client.post("/connectors/account/integrations", init()),
        client.delete(&path("account", "ada")),
        call("collect").json(&json!({"path": "/me"})).send(),
        call("change").header("idempotency-key", "k").json(&json!({"path": "/me", "waiting": true})).send(),
        client.post("/admin/keys", json!({"name": "one", "scopes": ["operate"]})),
    ]
}

#[test]
fn a_database_that_is_read_only_refuses_what_must_be_stored_and_nothing_else() {
    const ROUNDS: usize = 20;
    let (store, provider) = (Store::postgres(), OAuthProvider::start(Dialect::strict()));
    let gateway = gateway(&store, &provider);
    let client = gateway.client();
    connect(&client, "account", "ada");
    connect(&client, "account", "bob");
    let call = |name: &str| who_as(&client, name);
    let callback = Person::named("dan").consents(&begin(&client, "account"));
    assert_eq!(call("ada").ok(), me("ada"));

    set_read_only(store.database(), true);
    support::wait_for("new connections", || (client.get("/integrations").status == 200).then_some(()));
    let began = SystemTime::now();
    for _ in 0..ROUNDS {
        for answer in writes(&client) {
            let problem = answer.problem(503, "store-unavailable");
            assert_eq!((&problem["owner"], &problem["retryable"]), (&json!("operator"), &json!(true)));
        }
        assert_eq!(browser::open(&callback).status, 503, "the user may reload the page");
        for name in ["ada", "bob"] {
            assert_eq!(call(name).ok(), me(name), "its credential needs no write");
        }
    }
    // The line of a second may be about a connection that was ended.
    support::wait_for("the cause in the log", || {
        drop(writes(&client));
        let is_cause = |line: &Value| {
            line["message"] == "the database failed"
                && line["error"].as_str().is_some_and(|error| error.contains("is read-only"))
        };
        gateway.log().iter().any(is_cause).then_some(())
    });
    // A refresh cannot be stored, so the provider is not asked.
    provider.expire();
    call("ada").problem(503, "store-unavailable");
    assert_eq!(provider.count(Endpoint::Refresh), 0);
    let errors = errors_since(&gateway, began);
    assert!(errors.len() as u64 <= seconds_since(began) + 2, "{errors:#?}");
    let is_degraded = || gateway.anonymous().get("/readyz").ok()["degraded"] == json!(["database"]);
    support::wait_for("the gateway to be degraded", || is_degraded().then_some(()));

    set_read_only(store.database(), false);
    support::wait_for("the gateway to be whole again", || (!is_degraded()).then_some(()));
    for name in ["ada", "bob"] {
        let answer = support::wait_for("a call that succeeds", || Some(call(name)).filter(|one| one.status != 503));
        assert_eq!(answer.ok(), me(name));
    }
    assert_eq!(ended(&browser::open(&callback)), success("account", &email("dan")));
    assert_eq!((provider.reuses(), provider.live_grants()), (0, 3));
    assert_eq!(client.get("/integrations").ok()["integrations"].as_array().unwrap().len(), 3);
    assert_eq!(client.get("/jobs").ok()["jobs"], json!([]), "what was refused was not done");
}

#[test]
fn connects_whose_accounts_cannot_be_stored_are_one_line_a_second() {
    const PEOPLE: usize = 12;
    let (store, provider) = (Store::postgres(), OAuthProvider::start(Dialect::strict()));
    let gateway = gateway(&store, &provider);
    let client = gateway.client();
    let person = |number| Person::named(&format!("person{number}"));
    let callbacks: Vec<_> = (0..PEOPLE).map(|number| person(number).consents(&begin(&client, "account"))).collect();
    let gate = Gate::default();
    provider.hold_tokens(&gate);
    thread::scope(|scope| {
        let opened: Vec<_> = callbacks.iter().map(|callback| scope.spawn(|| ended(&browser::open(callback)))).collect();
        provider.wait_for(Endpoint::Exchange, PEOPLE);
        set_read_only(store.database(), true);
        support::wait_for("new connections", || (client.get("/integrations").status == 200).then_some(()));
        let began = SystemTime::now();
        gate.open();
        for result in opened {
            let result = result.join().unwrap();
            assert!(result.contains(&("error".to_owned(), "internal_error".to_owned())), "{result:?}");
        }
        let errors = support::wait_for("the line about the database", || {
            let errors = errors_since(&gateway, began);
            errors.iter().any(|line| line["message"] == "the database failed").then_some(errors)
        });
        assert!(errors.len() as u64 <= seconds_since(began) + 1, "{errors:#?}");
    });
    assert_eq!(client.get("/integrations").ok()["integrations"], json!([]));
}
