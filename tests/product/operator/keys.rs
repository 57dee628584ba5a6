//! API keys over HTTP, and the limits of keys.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use support::{Gateway, Setup, Store, Upstream, module, wait_for};

use super::{make_key, operating, pages, printed, run};
use crate::integrations::on_each_store;

on_each_store!(
    a_key_is_made_shown_listed_and_revoked_over_http,
    a_key_calls_only_what_it_allows,
    an_expired_key_is_refused,
    a_repeated_call_gets_the_same_key,
    a_job_of_a_key_that_was_revoked_is_not_started,
    a_job_of_a_key_that_has_expired_is_not_started,
    the_last_use_of_a_key_is_shown,
);

fn gateway(store: &Store) -> Gateway {
    Setup::new().on(store).module("liar", module::liar("version=1.0.0")).start()
}

fn a_key_is_made_shown_listed_and_revoked_over_http(store: &Store) {
    let gateway = gateway(store);
    let (made, client) = make_key(
        &gateway,
        json!({"name": "reports", "tenant": "acme", "subject": "ann", "scopes": ["operate", "admin"], "effects": ["read"]}),
    );
    client.call("liar/version", json!({})).ok();
    let id = made["id"].as_str().unwrap();
    let mut record = made.clone();
    record.as_object_mut().unwrap().remove("key");
    assert_eq!((&record["tenant"], &record["subject"]), (&json!("acme"), &json!("ann")));
    assert_eq!((&record["allow"], &record["effects"]), (&json!(null), &json!(["read"])));
    assert!(record["created_by"].as_str().unwrap().starts_with("key_"), "{record}");
    let shown = gateway.client().get(&format!("/admin/keys/{id}"));
    assert_eq!(shown.ok(), record);
    assert!(!shown.text().contains(made["key"].as_str().unwrap()));
    make_key(&gateway, operating("second"));
    make_key(&gateway, operating("third"));
    let names: Vec<Value> =
        pages(&gateway.client(), "/admin/keys", "keys").iter().map(|key| key["name"].clone()).collect();
    assert_eq!(names[..3], [json!("third"), json!("second"), json!("reports")]);
    assert_eq!(names.len(), 4, "{names:?}");
    for _ in 0..2 {
        assert_eq!(gateway.client().delete(&format!("/admin/keys/{id}")).ok(), json!({"id": id, "revoked": true}));
    }
    wait_for("the key to be refused", || (client.get("/connectors").status == 401).then_some(()));
    // Both forms of the command say which keys are refused.
    for listed in [run(&gateway, &["keys", "list"]).stdout, gateway.home().run_ok(&["keys", "list"])] {
        let state = |name: &str| {
            let row = listed.lines().find(|line| line.split_whitespace().any(|word| word == name));
            row.and_then(|row| row.split_whitespace().last()).map(str::to_owned)
        };
        let states = ["STATE", "reports", "second"].map(|name| state(name).unwrap());
        assert_eq!(states, ["STATE", "revoked", "valid"], "{listed}");
    }
    assert!(!gateway.client().get(&format!("/admin/keys/{id}")).ok()["revoked_at"].is_null());
    for method in ["GET", "DELETE"] {
        gateway.client().request(method, "/admin/keys/key_none").send().problem(404, "unknown-key");
    }
    let of = |query: &str| -> Vec<Value> {
        let listed = gateway.client().get(&format!("/admin/keys?{query}")).ok();
        listed["keys"].as_array().unwrap().iter().map(|key| key["name"].clone()).collect()
    };
    assert_eq!((of("tenant=acme"), of("subject=ann&name=reports")), (vec![json!("reports")], vec![json!("reports")]));
    assert_eq!((of("status=revoked"), of("status=expired")), (vec![json!("reports")], vec![]));
    let [beginning, whole] = ["prefix", "key"].map(|member| made[member].as_str().unwrap());
    assert_eq!((of(&format!("prefix={beginning}")), of(&format!("prefix={whole}"))), (vec![json!("reports")], vec![]));
    assert_eq!(of("tenant=default&status=valid").len(), 3);
    assert_eq!(gateway.client().get("/admin/keys?user=ann&status=good").violations().len(), 2);
    let operate = make_key(&gateway, operating("fourth")).1;
    operate.get("/admin/keys").problem(403, "missing-scope");
}

fn a_key_calls_only_what_it_allows(store: &Store) {
    let service = Upstream::start();
    let described = json!({"identifier": "account", "auth": "none"});
    let gateway = Setup::new()
        .on(store)
        .module("liar", module::liar("version=1.0.0"))
        .module("account", module::account(&described))
        .upstream("account", "api", &service.url())
        .start();
    let (_, one) =
        make_key(&gateway, json!({"name": "one", "scopes": ["operate"], "allow": ["account/change", "liar"]}));
    one.call("liar/version", json!({})).ok();
    one.call("account/change", json!({"path": "/"})).ok();
    let problem = one.call("account/collect", json!({"path": "/"})).problem(403, "not-allowed");
    assert!(problem["detail"].as_str().unwrap().contains("`account/collect`"), "{problem}");
    let (_, reading) = make_key(&gateway, json!({"name": "reading", "scopes": ["operate"], "effects": ["read"]}));
    reading.call("account/collect", json!({"path": "/"})).ok();
    let problem = reading.call("account/change", json!({"path": "/"})).problem(403, "not-allowed");
    assert!(problem["detail"].as_str().unwrap().contains("`write`"), "{problem}");
    let arguments = ["keys", "create", "--name", "cli", "--scope", "operate", "--allow", "liar", "--effect", "read"];
    let key = gateway.home().run_ok(&arguments);
    let limited = gateway.anonymous().with_key(key.trim_end());
    limited.call("liar/version", json!({})).ok();
    limited.call("account/collect", json!({"path": "/"})).problem(403, "not-allowed");
}

fn an_expired_key_is_refused(store: &Store) {
    let gateway = gateway(store);
    let soon = SystemTime::now() + Duration::from_secs(5);
    let body = json!({"name": "short", "scopes": ["operate"], "expires_at": humantime::format_rfc3339_millis(soon).to_string()});
    let (record, client) = make_key(&gateway, body);
    assert_eq!(record["expires_at"], humantime::format_rfc3339_millis(soon).to_string());
    wait_for("the key to expire", || {
        let answer = client.get("/connectors");
        (answer.status == 401).then(|| assert!(answer.text().contains("expired"), "{}", answer.text()))
    });
}

fn a_repeated_call_gets_the_same_key(store: &Store) {
    let gateway = gateway(store);
    let make = |name: &str| {
        let call = gateway.client().request("POST", "/admin/keys").header("idempotency-key", "k-1");
        call.json(&operating(name)).send()
    };
    let (first, second) = (make("one"), make("one"));
    assert_eq!((first.status, second.status, first.json()), (201, 201, second.json()));
    assert_eq!(second.header("idempotent-replayed"), "true");
    make("other").problem(422, "idempotency-key-reused");
    let made: Vec<Value> = pages(&gateway.client(), "/admin/keys", "keys");
    assert_eq!(made.iter().filter(|key| key["name"] == "one").count(), 1);
}

/// A gateway with one worker, which is held at the gate until that is opened.
fn held(store: &Store, service: &Upstream, gate: &support::Gate) -> Gateway {
    service.reply("/held", support::Reply::json(json!({})).behind(gate));
    let described = json!({"identifier": "account", "auth": "none"});
    let gateway = Setup::new()
        .on(store)
        .module("account", module::account(&described))
        .upstream("account", "api", &service.url())
        .config("[jobs]\nworkers = 1")
        .start();
    gateway.client().call("account/collect", json!({"path": "/held"})).ok();
    service.wait_for_requests(1);
    gateway
}

/// The error of a job that fails without a request to the service.
#[track_caller]
fn error_of_job(gateway: &Gateway, service: &Upstream, job: &str) -> Value {
    let failed = wait_for("the job to fail", || {
        let record = gateway.client().get(&format!("/jobs/{job}")).ok();
        (record["status"] == "failed").then_some(record)
    });
    assert!(service.seen().iter().all(|request| request.path != "/late"));
    failed["error"].clone()
}

fn a_job_of_a_key_that_was_revoked_is_not_started(store: &Store) {
    let (service, gate) = (Upstream::start(), support::Gate::default());
    let gateway = held(store, &service, &gate);
    let (record, client) = make_key(&gateway, operating("short"));
    let job = client.call("account/collect", json!({"path": "/late"})).ok()["job_id"].as_str().unwrap().to_owned();
    gateway.client().delete(&format!("/admin/keys/{}", record["id"].as_str().unwrap())).ok();
    gate.open();
    let error = error_of_job(&gateway, &service, &job);
    assert_eq!(error["type"], "urn:connector-gateway:problem:not-allowed", "{error}");
    assert!(error["detail"].as_str().unwrap().contains("revoked"), "{error}");
}

fn a_job_of_a_key_that_has_expired_is_not_started(store: &Store) {
    let (service, gate) = (Upstream::start(), support::Gate::default());
    let gateway = held(store, &service, &gate);
    let soon = SystemTime::now() + Duration::from_secs(8);
    let body = json!({"name": "short", "scopes": ["operate"], "expires_at": humantime::format_rfc3339_millis(soon).to_string()});
    let (_, client) = make_key(&gateway, body);
    let job = client.call("account/collect", json!({"path": "/late"})).ok()["job_id"].as_str().unwrap().to_owned();
    wait_for("the key to expire", || (client.get("/connectors").status == 401).then_some(()));
    gate.open();
    let error = error_of_job(&gateway, &service, &job);
    assert_eq!((&error["type"], &error["status"]), (&json!("urn:connector-gateway:problem:not-allowed"), &json!(403)));
    assert_eq!((&error["owner"], &error["retryable"]), (&json!("caller"), &json!(false)), "{error}");
    assert!(error["detail"].as_str().unwrap().contains("expired"), "{error}");
}

fn the_last_use_of_a_key_is_shown(store: &Store) {
    let gateway = gateway(store);
    let (record, client) = make_key(&gateway, operating("used"));
    let path = format!("/admin/keys/{}", record["id"].as_str().unwrap());
    let used_at = || gateway.client().get(&path).ok()["last_used_at"].clone();
    assert_eq!((&record["last_used_at"], used_at()), (&json!(null), json!(null)));
    client.call("liar/version", json!({})).ok();
    let shown = wait_for("the last use", || used_at().as_str().map(str::to_owned));
    assert!(shown.as_str() >= record["created_at"].as_str().unwrap(), "{shown}");
}

#[test]
fn every_mistake_of_a_new_key_is_told() {
    let gateway = gateway(&Store::Sqlite);
    let body = json!({
        "name": "", "scopes": ["operat"], "allow": ["a b"], "effects": [], "subject": "a\nb", "tenants": "x",
    });
    let violations = gateway.client().post("/admin/keys", body).violations();
    let pointers: Vec<&str> = violations.iter().map(|(pointer, _)| pointer.as_str()).collect();
    for expected in ["/name", "/scopes/0", "/allow/0", "/effects", "/subject", "/tenants"] {
        assert!(pointers.contains(&expected), "{expected} in {violations:?}");
    }
    for (member, text) in [("name", "re\u{200b}ports"), ("tenant", "ac\u{202e}me"), ("subject", "an\u{e0041}n")] {
        let mut body = json!({"name": "x", "scopes": ["operate"]});
        body[member] = text.into();
        assert_eq!(gateway.client().post("/admin/keys", body).violations()[0].0, format!("/{member}"));
    }
    for expires_at in ["yesterday", "2020-01-01T00:00:00Z", "9999-12-31T23:59:59.9999Z"] {
        let body = json!({"name": "x", "scopes": ["operate"], "expires_at": expires_at});
        assert_eq!(gateway.client().post("/admin/keys", body).violations()[0].0, "/expires_at");
    }
    gateway.client().post("/admin/keys", json!({"name": "x", "scopes": []})).violations();
    let body = json!({
        "name": "re\u{200b}ports", "tenant": "ac\u{202e}me", "scopes": ["operate"], "allow": ["lair"],
        "expires_at": "2020-01-01T00:00:00Z",
    });
    let violations = gateway.client().post("/admin/keys", body).violations();
    let pointers: Vec<&str> = violations.iter().map(|(pointer, _)| pointer.as_str()).collect();
    assert_eq!(pointers, ["/name", "/tenant", "/allow/0", "/expires_at"], "all at once");
    let names = json!([
        "liar",
        "liar/version",
        "lair",
        "liar/verzion",
        "nothing-like-it",
        "gateway",
        "gateway/integration_expire"
    ]);
    let violations =
        gateway.client().post("/admin/keys", json!({"name": "x", "scopes": ["operate"], "allow": names})).violations();
    let told: Vec<_> = violations.iter().map(|(pointer, detail)| (pointer.as_str(), detail.as_str())).collect();
    let operation = |name: &str| format!("There is no such operation. Did you mean `{name}`?");
    assert_eq!(
        told,
        [
            ("/allow/2", "There is no such connector. Did you mean `liar`?"),
            ("/allow/3", &*operation("liar/version")),
            ("/allow/4", "There is no such connector. GET /connectors lists the live ones."),
            ("/allow/6", &*operation("gateway/integration_expired")),
        ]
    );
}

#[test]
fn the_commands_work_at_a_running_gateway() {
    let gateway = gateway(&Store::Sqlite);
    let finished = run(&gateway, &["keys", "create", "--name", "far", "--allow", "liar", "--scope", "operate"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let client = gateway.anonymous().with_key(finished.stdout.trim());
    client.call("liar/version", json!({})).ok();
    let keys = printed(&gateway, &["keys", "list"]);
    let far = keys.as_array().unwrap().iter().find(|key| key["name"] == "far").unwrap();
    let id = far["id"].as_str().unwrap();
    assert_eq!(printed(&gateway, &["keys", "show", id])["allow"], json!(["liar"]));
    assert_eq!(gateway.home().run(&["keys", "show", id]).code, Some(0));
    let table = run(&gateway, &["keys", "list"]).stdout;
    assert!(table.starts_with("ID ") && table.contains("far"), "{table}");
    assert_eq!(printed(&gateway, &["keys", "revoke", id]), json!({"id": id, "revoked": true}));
    let local = gateway.home().run_ok(&["keys", "revoke", id, "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&local).unwrap(), json!({"id": id, "revoked": true}));
    let rotated = gateway.home().run_ok(&["keys", "rotate-master", "--json"]);
    let rotated: Value = serde_json::from_str(&rotated).unwrap();
    let expected =
        json!({"rotated": true, "resumed": false, "resealed": rotated["resealed"], "unreadable": 0, "finished": true});
    assert!(rotated == expected && rotated["resealed"].is_u64(), "{rotated}");
    let nothing = gateway.home().run_ok(&["keys", "rotate-master", "--finish", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&nothing).unwrap(), json!({"rotated": false}));
    assert!(run(&gateway, &["keys", "revoke", "key_none"]).stderr.contains("GET /admin/keys"));
    let wrong = gateway.home().run(&["keys", "create", "--name", "x", "--allow", "a/b/c"]);
    assert!(wrong.code == Some(2) && wrong.stderr.contains("calendar/list-events"), "{}", wrong.stderr);
}
