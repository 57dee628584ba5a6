//! Accounts of all tenants, for the operator.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use support::{Dialect, Endpoint, OAuthProvider, Reply, Setup, Store, Upstream, module, wait_for};

use super::{pages, printed, run};
use crate::integrations::{client, connect, gateway, on_each_store, who};

on_each_store!(
    accounts_of_all_tenants_are_listed_with_filters,
    an_account_is_shown_and_removed_as_its_user_would,
    an_account_is_renewed_on_request,
    a_renewal_that_fails_says_why_and_changes_no_token,
);

fn ids(client: &support::Client, query: &str) -> Vec<String> {
    let page = client.get(&format!("/admin/integrations?{query}")).ok();
    let id =
        |found: &Value| format!("{}/{}", found["tenant"].as_str().unwrap(), found["user_identifier"].as_str().unwrap());
    page["integrations"].as_array().unwrap().iter().map(id).collect()
}

fn accounts_of_all_tenants_are_listed_with_filters(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let operator = gateway.client();
    for (tenant, subject, name) in [("acme", Some("ann"), "ada"), ("acme", None, "bob"), ("other", Some("ann"), "cyd")]
    {
        connect(&client(&gateway, tenant, subject, "integrate"), "account", name);
    }
    let all = ["other/cyd@example.com", "acme/bob@example.com", "acme/ada@example.com"];
    assert_eq!(ids(&operator, ""), all);
    assert_eq!(ids(&operator, "tenant=acme"), all[1..]);
    assert_eq!(ids(&operator, "subject=ann"), [all[0], all[2]]);
    assert_eq!(ids(&operator, "subject="), [all[1]]);
    assert_eq!(ids(&operator, "user_identifier=bob%40example.com&status=active&connector=account"), [all[1]]);
    for nothing in ["status=expired", "status=revoked", "overdue=true", "connector=mail", "tenant=none"] {
        assert!(ids(&operator, nothing).is_empty(), "{nothing}");
    }
    assert_eq!(pages(&operator, "/admin/integrations", "integrations").len(), 3);
    let page = operator.get("/admin/integrations").ok();
    let last = &page["integrations"][2];
    assert_eq!((&last["subject"], &last["labels"], &last["overdue"]), (&json!("ann"), &json!({}), &json!(false)));
    assert_eq!((&last["last_error"], &page["integrations"][1]["subject"]), (&json!(null), &json!(null)));
    let text = operator.get("/admin/integrations").text();
    assert!(provider.secrets().iter().all(|secret| !text.contains(secret)));
    operator.request("GET", "/admin/integrations?status=x&overdue=no&tenants=a&limit=0").send().violations();
    client(&gateway, "acme", None, "integrate").get("/admin/integrations").problem(403, "missing-scope");
    assert_eq!(
        printed(&gateway, &["integrations", "list", "--tenant", "other"])["integrations"].as_array().unwrap().len(),
        1
    );
    let table = run(&gateway, &["integrations", "list"]).stdout;
    assert!(table.starts_with("ID ") && table.contains("cyd@example.com"), "{table}");
    let local = gateway.home().run(&["integrations", "list"]);
    assert!(local.code == Some(1) && local.stderr.contains("--url"), "{}", local.stderr);
    for (command, has_default) in [("integrations list", false), ("tool-sets list", false), ("audit", true)] {
        let help = gateway.home().run(&[&command.split(' ').collect::<Vec<_>>()[..], &["--help"]].concat()).stdout;
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(help.contains("[env: GATEWAY_URL=]"), "{help}");
        assert_eq!(help.contains("[default: the folders and the"), has_default, "{command}: {help}");
    }
}

fn an_account_is_shown_and_removed_as_its_user_would(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let (operator, user) = (gateway.client(), client(&gateway, "acme", Some("ann"), "operate,integrate"));
    connect(&user, "account", "ada");
    who(&user).ok();
    let listed = operator.get("/admin/integrations").ok()["integrations"][0].clone();
    let id = listed["id"].as_str().unwrap();
    assert_eq!(operator.get(&format!("/admin/integrations/{id}")).ok(), listed);
    assert_eq!(printed(&gateway, &["integrations", "show", id]), listed);
    let removed = operator.delete(&format!("/admin/integrations/{id}")).ok();
    assert_eq!(removed, json!({"deleted": true, "revoked": true}));
    who(&user).problem(424, "integration-required");
    for (method, path) in [("GET", ""), ("DELETE", ""), ("POST", "/renew")] {
        let path = format!("/admin/integrations/{id}{path}");
        operator.request(method, &path).send().problem(404, "unknown-integration");
    }
}

fn an_account_is_renewed_on_request(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let operator = gateway.client();
    connect(&operator, "account", "ada");
    let id = operator.get("/admin/integrations").ok()["integrations"][0]["id"].as_str().unwrap().to_owned();
    let renewed = operator.request("POST", &format!("/admin/integrations/{id}/renew")).send().ok();
    assert!(renewed["last_refreshed_at"].is_string(), "{renewed}");
    assert_eq!(provider.count(Endpoint::Refresh), 1);
    who(&operator).ok();
    assert_eq!(run(&gateway, &["integrations", "renew", &id]).code, Some(0));
    assert_eq!(provider.count(Endpoint::Refresh), 2);
    assert_eq!(run(&gateway, &["integrations", "remove", &id]).code, Some(0));
    assert!(operator.get("/admin/integrations").ok()["integrations"].as_array().unwrap().is_empty());
}

fn a_renewal_that_fails_says_why_and_changes_no_token(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let operator = gateway.client();
    connect(&operator, "account", "ada");
    let id = operator.get("/admin/integrations").ok()["integrations"][0]["id"].as_str().unwrap().to_owned();
    let renew = || operator.request("POST", &format!("/admin/integrations/{id}/renew")).send();
    provider.break_tokens(Reply::empty(503));
    let problem = renew().problem(502, "token-refresh-failed");
    assert!(problem["detail"].as_str().unwrap().contains("503"), "{problem}");
    let shown = operator.get(&format!("/admin/integrations/{id}")).ok();
    assert!(shown["last_error"].as_str().unwrap().contains("503") && shown["status"] == "active", "{shown}");
    who(&operator).ok();
    assert_eq!(run(&gateway, &["integrations", "renew", &id]).code, Some(1));
    assert!(operator.get("/admin/audit?action=integration.renewed").ok()["entries"].as_array().unwrap().is_empty());
    provider.repair();
    assert_eq!(renew().ok()["last_error"], json!(null));
    provider.withdraw();
    for _ in 0..2 {
        let problem = renew().problem(424, "reauthorization-required");
        assert_eq!(problem["owner"], "user");
    }
    assert_eq!(ids(&operator, "status=expired"), ["default/ada@example.com"]);
}

#[test]
fn a_refresh_that_fails_is_overdue_from_the_first_time_that_it_was_due() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(&Store::Sqlite, &provider);
    let operator = gateway.client();
    connect(&operator, "account", "ada");
    let refused = Reply::json(json!({"error": "invalid_client"})).status(401);
    for failure in [refused, Reply::empty(503)] {
        provider.break_tokens(failure);
        // The refresh is due since two minutes, and the access token is good for a minute.
        let due = SystemTime::now() - Duration::from_secs(120);
        let due_ms = due.duration_since(UNIX_EPOCH).unwrap().as_millis();
        let changed = format!("next_refresh_at = {due_ms}, expires_at = {due_ms} + 180000, version = version + 1");
        assert_eq!(gateway.home().sqlite(&format!("UPDATE integrations SET {changed}")), 1);
        let due_at = json!(humantime::format_rfc3339_millis(due).to_string());
        let failing = wait_for("the failure", || {
            let shown = operator.get("/admin/integrations?overdue=true").ok()["integrations"][0].clone();
            shown["last_error"].is_string().then_some(shown)
        });
        assert_eq!((&failing["status"], &failing["overdue"]), (&json!("active"), &json!(true)), "{failing}");
        assert_eq!(failing["refresh_failing_since"], due_at, "{failing}");
        assert!(failing["next_refresh_at"].as_str() > failing["refresh_failing_since"].as_str(), "{failing}");
        assert_eq!(
            printed(&gateway, &["integrations", "list", "--overdue"])["integrations"][0]["refresh_failing_since"],
            due_at
        );
        assert_eq!(operator.get("/integrations").ok()["integrations"][0]["refresh_failing_since"], due_at);
        wait_for("the metric", || (gateway.metric("gateway_refreshes_overdue") >= 1.0).then_some(()));
        // The next failures change nothing about it.
        let id = failing["id"].as_str().unwrap();
        let renew = || operator.request("POST", &format!("/admin/integrations/{id}/renew")).send();
        assert_ne!(renew().status, 200);
        assert_eq!(operator.get(&format!("/admin/integrations/{id}")).ok()["refresh_failing_since"], due_at);
        provider.repair();
        let renewed = renew().ok();
        let found = (&renewed["overdue"], &renewed["refresh_failing_since"], &renewed["last_error"]);
        assert_eq!(found, (&json!(false), &json!(null), &json!(null)), "{renewed}");
        wait_for("the metric", || (gateway.metric("gateway_refreshes_overdue") < 1.0).then_some(()));
    }
}

#[test]
fn an_account_without_a_refresh_token_has_nothing_to_renew() {
    let provider = OAuthProvider::start(Dialect::github().without_refresh());
    let gateway = gateway(&Store::Sqlite, &provider);
    let operator = gateway.client();
    connect(&operator, "account", "ada");
    let id = operator.get("/admin/integrations").ok()["integrations"][0]["id"].as_str().unwrap().to_owned();
    operator.request("POST", &format!("/admin/integrations/{id}/renew")).send().problem(409, "not-renewable");
    who(&operator).ok();
}

#[test]
fn an_account_with_an_api_key_has_nothing_to_renew() {
    let service = Upstream::start();
    service.reply("*", Reply::json(json!({"id": "42", "email": "ada@example.com", "name": "Ada"})));
    let described = json!({"identifier": "account", "auth": "api_key", "placement": "header", "check": "whoami"});
    let gateway =
        Setup::new().module("account", module::account(&described)).upstream("account", "api", &service.url()).start();
    let operator = gateway.client();
    let body = json!({"auth_type": "api_key", "credentials": {"api_key": "key-of-the-user-0123456789"}});
    operator.post("/connectors/account/integrations", body).ok();
    let id = operator.get("/admin/integrations").ok()["integrations"][0]["id"].as_str().unwrap().to_owned();
    let requests = service.seen().len();
    let problem =
        operator.request("POST", &format!("/admin/integrations/{id}/renew")).send().problem(409, "not-renewable");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("nothing to renew") && detail.contains("POST /connect-links"), "{detail}");
    let finished = run(&gateway, &["integrations", "renew", &id]);
    assert!(finished.code == Some(1) && finished.stderr.contains("nothing to renew"), "{}", finished.stderr);
    assert_eq!(service.seen().len(), requests, "nothing is called at the service");
}
