//! Access tokens are refreshed before they expire, when they have expired, and when the service
//! refuses them. Calls at the same time share one refresh.

use serde_json::{Value, json};
use support::oauth::Rotation;
use support::{Answer, Client, Dialect, Endpoint, Gate, Gateway, OAuthProvider, Reply, Setup, Store};

use super::{connect, email, gateway, me, on_each_store, record, started, who, who_as};

on_each_store!(
    a_token_is_refreshed_before_it_expires_without_a_call,
    an_expired_token_is_refreshed_before_the_call,
    a_token_that_the_service_refuses_is_refreshed_and_the_request_sent_again,
    a_hundred_calls_with_an_expired_token_refresh_it_once,
    refresh_tokens_of_single_use_are_used_once,
    a_valid_token_serves_while_it_cannot_be_refreshed,
    a_valid_token_serves_while_its_refresh_is_slow,
    an_expired_token_that_cannot_be_refreshed_makes_the_caller_wait,
    a_revoked_grant_makes_the_user_authorize_again,
    a_refresh_continues_when_its_caller_disconnects,
    a_refresh_is_finished_before_the_gateway_ends,
);

/// A gateway with the account of ada. Its first token lives this long, later ones live for an hour.
fn with_ada(store: &Store, dialect: Dialect, seconds: u64) -> (OAuthProvider, Gateway, Client) {
    let provider = OAuthProvider::start(dialect.living(seconds));
    let gateway = gateway(store, &provider);
    let client = gateway.client();
    connect(&client, "account", "ada");
    provider.set_lifetime(Some(3600));
    (provider, gateway, client)
}

/// Lets a refresh be due, of a token that expires in this number of seconds. With a lifetime of
/// some seconds, a slow machine could refresh it before a test is ready for that.
fn make_due(store: &Store, gateway: &Gateway, seconds: u32) {
    let now = match store {
        Store::Sqlite => "CAST(strftime('%s', 'now') AS INTEGER)",
        Store::Postgres(_) => "floor(extract(epoch FROM clock_timestamp()))",
    };
    let due = format!("next_refresh_at = 1000 * {now}, expires_at = 1000 * ({now} + {seconds})");
    let statement = format!("UPDATE integrations SET {due}, version = version + 1");
    match store {
        Store::Sqlite => assert_eq!(gateway.home().sqlite(&statement), 1),
        Store::Postgres(database) => database.sql(&statement),
    }
}

/// Expires the token of an account, for the provider and for the gateway.
fn expire(store: &Store, gateway: &Gateway, provider: &OAuthProvider) {
    provider.expire();
    make_due(store, gateway, 0);
}

fn refreshes(gateway: &Gateway, outcome: &str) -> f64 {
    gateway.metric(&format!("gateway_refreshes_total{{connector=\"account\",outcome=\"{outcome}\"}}"))
}

fn a_token_is_refreshed_before_it_expires_without_a_call(store: &Store) {
    let (provider, gateway, client) = with_ada(store, Dialect::strict(), 20);
    let before = record(&client, "ada");
    assert_eq!(before["last_refreshed_at"], Value::Null);
    let after = support::wait_for("the renewal", || {
        Some(record(&client, "ada")).filter(|now| now["last_refreshed_at"] != Value::Null)
    });
    assert!(after["last_refreshed_at"].as_str() >= before["next_refresh_at"].as_str(), "{after}");
    assert!(after["expires_at"].as_str() > before["expires_at"].as_str(), "{after}");
    assert!(after["next_refresh_at"].as_str() < after["expires_at"].as_str(), "{after}");
    assert_eq!((&after["status"], &after["reason"]), (&json!("active"), &Value::Null));
    assert_eq!(provider.count(Endpoint::Refresh), 1);
    support::wait_for("the count", || (refreshes(&gateway, "refreshed") == 1.0).then_some(()));
    assert_eq!(who(&client).ok(), me("ada"));
    assert_eq!(provider.refusals(Endpoint::Api), Vec::<String>::new(), "the previous token was not used again");
}

fn an_expired_token_is_refreshed_before_the_call(store: &Store) {
    let (provider, gateway, client) = with_ada(store, Dialect::strict(), 3600);
    expire(store, &gateway, &provider);
    assert_eq!(who(&client).ok(), me("ada"));
    assert_eq!(client.call("account/composed", json!({"path": "/me"})).ok()["status"], 200);
    assert_eq!(provider.refusals(Endpoint::Api), Vec::<String>::new(), "the expired token was not sent");
    // The call refreshes it, or the background refresh just before the call.
    assert_eq!((provider.count(Endpoint::Refresh), provider.reuses()), (1, 0), "{:?}", provider.events());
}

fn a_token_that_the_service_refuses_is_refreshed_and_the_request_sent_again(store: &Store) {
    let (provider, _gateway, client) = with_ada(store, Dialect::strict(), 3600);
    let calls: [&dyn Fn() -> Answer; 4] = [
        &|| who(&client),
        &|| client.call("account/forward", json!({"path": "/me", "method": "POST", "body": "{\"a\": 1}"})),
        &|| client.call("account/composed", json!({"path": "/me", "method": "PUT", "body": "{\"a\": 1}"})),
        &|| client.call("account/fan_out", json!({"path": "/me", "count": 16})),
    ];
    for (number, call) in calls.into_iter().enumerate() {
        provider.expire();
        call().ok();
        assert_eq!(provider.count(Endpoint::Refresh), number + 1);
    }
    let statuses = calls[3]().ok()["statuses"].clone();
    assert_eq!(statuses, json!(vec![200; 16]));
    let bodies: Vec<_> =
        provider.api_calls().into_iter().filter(|seen| seen.method == "POST").map(|seen| seen.body).collect();
    assert_eq!(bodies, ["{\"a\": 1}", "{\"a\": 1}"], "the second request has the whole body too");
    assert_eq!(provider.reuses(), 0);
}

fn a_hundred_calls_with_an_expired_token_refresh_it_once(store: &Store) {
    let (provider, gateway, client) = with_ada(store, Dialect::strict(), 3600);
    let gate = Gate::default();
    provider.hold_tokens(&gate);
    expire(store, &gateway, &provider);
    let calls: Vec<_> = (0..100).map(|_| client.begin("/connectors/account/forward", json!({"path": "/me"}))).collect();
    provider.wait_for(Endpoint::Refresh, 1);
    assert!(calls.iter().all(|call| !call.is_done()), "all calls wait for the one refresh");
    gate.open();
    for call in calls {
        assert_eq!(call.wait().ok(), me("ada"));
    }
    assert_eq!((provider.count(Endpoint::Refresh), provider.reuses()), (1, 0));
}

fn refresh_tokens_of_single_use_are_used_once(store: &Store) {
    let (provider, _gateway, client) = with_ada(store, Dialect::strict(), 3600);
    for round in 1..=10 {
        provider.expire();
        let calls: Vec<_> =
            (0..10).map(|_| client.begin("/connectors/account/forward", json!({"path": "/me"}))).collect();
        for call in calls {
            assert_eq!(call.wait().ok(), me("ada"));
        }
        assert_eq!((provider.count(Endpoint::Refresh), provider.reuses()), (round, 0));
    }
    assert_eq!(provider.live_grants(), 1);
}

fn a_valid_token_serves_while_it_cannot_be_refreshed(store: &Store) {
    let (provider, gateway, client) = with_ada(store, Dialect::strict(), 3600);
    provider.break_tokens(Reply::empty(503));
    make_due(store, &gateway, 40);
    let reason = support::wait_for("a renewal to fail", || {
        Some(record(&client, "ada")["reason"].clone()).filter(|reason| *reason != Value::Null)
    });
    assert_eq!(reason["owner"], "provider");
    assert!(reason["detail"].as_str().unwrap().contains("503"), "{reason}");
    assert_eq!(record(&client, "ada")["status"], "active");
    assert_eq!(who(&client).ok(), me("ada"));
    support::wait_for("the metric", || (refreshes(&gateway, "unavailable") >= 1.0).then_some(()));
    provider.repair();
    support::wait_for("the renewal", || (record(&client, "ada")["reason"] == Value::Null).then_some(()));
    assert_eq!(who(&client).ok(), me("ada"));
    assert_eq!(provider.reuses(), 0);
}

fn a_valid_token_serves_while_its_refresh_is_slow(store: &Store) {
    // The previous token stays valid in addition to the new one.
    let (provider, gateway, client) = with_ada(store, Dialect::strict().without_rotation(), 3600);
    let gate = Gate::default();
    provider.hold_tokens(&gate);
    make_due(store, &gateway, 60);
    provider.wait_for(Endpoint::Refresh, 1);
    assert_eq!(who(&client).ok(), me("ada"));
    assert_eq!(record(&client, "ada")["last_refreshed_at"], Value::Null);
    gate.open();
    support::wait_for("the renewal", || (record(&client, "ada")["last_refreshed_at"] != Value::Null).then_some(()));
    assert_eq!(who(&client).ok(), me("ada"));
    assert_eq!(provider.count(Endpoint::Refresh), 1);
}

fn an_expired_token_that_cannot_be_refreshed_makes_the_caller_wait(store: &Store) {
    let (provider, gateway, client) = with_ada(store, Dialect::strict(), 3600);
    provider.break_tokens(Reply::empty(503));
    expire(store, &gateway, &provider);
    let answer = who(&client);
    let problem = answer.problem(502, "token-refresh-failed");
    assert_eq!((&problem["owner"], &problem["retryable"]), (&json!("provider"), &json!(true)));
    assert_eq!(problem["user_identifier"], email("ada"));
    assert!(answer.header("retry-after").parse::<u64>().unwrap() >= 1);
    assert_eq!(record(&client, "ada")["status"], "active", "the user need not authorize again");
    provider.repair();
    let recovered = support::wait_for("the renewal", || Some(who(&client)).filter(|answer| answer.status == 200));
    assert_eq!(recovered.ok(), me("ada"));
    assert_eq!(provider.reuses(), 0);
}

fn a_revoked_grant_makes_the_user_authorize_again(store: &Store) {
    let (provider, gateway, client) = with_ada(store, Dialect::strict(), 3600);
    provider.withdraw();
    for _ in 0..3 {
        let problem = who(&client).problem(424, "reauthorization-required");
        assert_eq!(problem["owner"], "user");
        assert_eq!(problem["user_identifier"], email("ada"));
        let body = json!({"auth_type": "oauth2", "user_identifier": email("ada")});
        let action = json!({"method": "POST", "path": "/connectors/account/integrations", "body": body});
        assert_eq!(problem["action"], action);
    }
    client.call("account/composed", json!({"path": "/me"})).problem(424, "reauthorization-required");
    assert_eq!(provider.count(Endpoint::Refresh), 1, "it is not tried again");
    let is_refusal = |line: &Value| line["message"] == "the provider did not refresh a credential";
    let line = gateway.wait_for_log("the refusal", is_refusal);
    let names = ["tenant", "connector", "user_identifier"].map(|name| line[name].as_str().unwrap_or_default());
    assert_eq!(names, ["default", "account", &email("ada")], "{line}");
    let found = record(&client, "ada");
    assert_eq!((&found["status"], &found["reason"]["owner"]), (&json!("expired"), &json!("user")));
    assert_eq!(found["next_refresh_at"], Value::Null);
    connect(&client, "account", "ada");
    assert_eq!(who(&client).ok(), me("ada"));
    assert_eq!(record(&client, "ada")["reason"], Value::Null);
}

fn a_refresh_continues_when_its_caller_disconnects(store: &Store) {
    let (provider, _gateway, client) = with_ada(store, Dialect::strict(), 3600);
    let gate = Gate::default();
    provider.hold_tokens(&gate);
    provider.expire();
    let call = client.begin("/connectors/account/forward", json!({"path": "/me"}));
    provider.wait_for(Endpoint::Refresh, 1);
    call.give_up();
    gate.open();
    assert_eq!(who(&client).ok(), me("ada"));
    assert_eq!((provider.count(Endpoint::Refresh), provider.reuses()), (1, 0));
}

fn a_refresh_is_finished_before_the_gateway_ends(store: &Store) {
    let (provider, mut gateway, client) = with_ada(store, Dialect::strict(), 3600);
    let gate = Gate::default();
    provider.hold_tokens(&gate);
    provider.expire();
    let call = client.begin("/connectors/account/forward", json!({"path": "/me"}));
    provider.wait_for(Endpoint::Refresh, 1);
    call.give_up();
    gateway.ask_to_end();
    support::wait_for("the drain", || {
        client.request("GET", "/readyz").try_send().map_or(true, |answer| answer.status == 503).then_some(())
    });
    gate.open();
    assert!(gateway.wait().success());
    let gateway = gateway.start_again();
    assert_eq!(who(&gateway.client()).ok(), me("ada"));
    assert_eq!((provider.count(Endpoint::Refresh), provider.reuses()), (1, 0));
}

#[test]
fn tokens_are_refreshed_in_every_dialect() {
    let renews = Dialect { rotation: Rotation::Renews, ..Dialect::strict() };
    for dialect in [Dialect::google(), Dialect::slack(), Dialect::github(), Dialect::basic(), renews] {
        let (provider, gateway, client) = with_ada(&Store::Sqlite, dialect.clone(), 3600);
        for round in 1..=3 {
            provider.expire();
            assert_eq!(who(&client).ok(), me("ada"), "{dialect:?}");
            assert_eq!(provider.count(Endpoint::Refresh), round, "{dialect:?}");
        }
        assert_eq!(provider.refusals(Endpoint::Exchange), Vec::<String>::new());
        assert_eq!(provider.refusals(Endpoint::Refresh), Vec::<String>::new());
        assert_eq!(provider.reuses(), 0);
        provider.withdraw();
        who(&client).problem(424, "reauthorization-required");
        assert_eq!(record(&client, "ada")["status"], "expired", "{dialect:?}");
        drop(gateway);
    }
}

#[test]
fn the_record_shows_the_granted_scopes_not_the_requested_ones() {
    for dialect in [Dialect::strict(), Dialect::slack(), Dialect::github()] {
        let provider = OAuthProvider::start(dialect);
        provider.grant_only(&["read", "profile"]);
        let gateway = gateway(&Store::Sqlite, &provider);
        connect(&gateway.client(), "account", "ada");
        assert_eq!(record(&gateway.client(), "ada")["scopes"], json!(["read", "profile"]));
    }
}

#[test]
fn a_token_without_a_lifetime_gets_the_manifests_lifetime() {
    for (default_lifetime_s, expires) in [(json!(null), false), (json!(3600), true)] {
        let provider = OAuthProvider::start(Dialect { lifetime_s: None, ..Dialect::strict() });
        let service = json!({"default_lifetime_s": default_lifetime_s});
        let gateway = started(Setup::new().account_with("account", &provider, &service), &provider);
        connect(&gateway.client(), "account", "ada");
        let found = record(&gateway.client(), "ada");
        assert_eq!(found["expires_at"].is_string(), expires, "{found}");
        assert_eq!(found["next_refresh_at"].is_string(), expires, "{found}");
        // The service may refuse the token before.
        provider.expire();
        assert_eq!(who(&gateway.client()).ok(), me("ada"));
    }
}

#[test]
fn a_write_that_is_not_repeated_with_the_new_token_asks_no_user_to_authorize_again() {
    let (provider, _gateway, client) = with_ada(&Store::Sqlite, Dialect::strict(), 3600);
    provider.on_api(|_, _| Reply::json(json!({})));
    let refused =
        |method: &str| client.call("account/refused_later", json!({"method": method, "path": "/x", "count": 2}));
    let answer = refused("GET");
    let problem = answer.problem(503, "token-refreshed");
    assert_eq!((&problem["retryable"], problem.get("outcome")), (&json!(true), None), "{problem}");
    assert_eq!(answer.header("retry-after"), "1");
    let problem = refused("POST").problem(503, "token-refreshed");
    assert_eq!((&problem["retryable"], &problem["outcome"]), (&json!(false), &json!("unknown")), "{problem}");
    assert_eq!(provider.count(Endpoint::Refresh), 2);
    assert_eq!(record(&client, "ada")["status"], "active");
}

#[test]
fn a_refresh_token_that_is_refused_in_other_words_ends_the_account() {
    for refusal in [
        Reply::json(json!({"error": {"code": "INVALID_GRANT", "message": "The token was revoked."}})).status(400),
        Reply::typed("application/x-www-form-urlencoded", "error=bad_refresh_token&error_description=Gone."),
    ] {
        let (provider, _gateway, client) = with_ada(&Store::Sqlite, Dialect::strict(), 3600);
        provider.break_tokens(refusal);
        provider.expire();
        let problem = who(&client).problem(424, "reauthorization-required");
        assert_eq!(problem["owner"], "user", "{problem}");
        assert_eq!(record(&client, "ada")["status"], "expired");
        assert_eq!(provider.count(Endpoint::Refresh), 1);
    }
}

#[test]
fn a_refresh_token_that_is_refused_with_a_declared_code_ends_the_account() {
    let provider = OAuthProvider::start(Dialect::strict());
    let declared = json!({"additions": [{"is": "ended_codes", "codes": ["refresh_token_consumed"]}]});
    let gateway = started(Setup::new().account_with("account", &provider, &declared), &provider);
    let client = gateway.client();
    connect(&client, "account", "ada");
    assert_eq!(who(&client).ok(), me("ada"));
    provider.break_tokens(Reply::json(json!({"error": "Refresh_Token_Consumed"})).status(400));
    provider.expire();
    let problem = who(&client).problem(424, "reauthorization-required");
    assert_eq!(problem["owner"], "user", "{problem}");
    assert_eq!(record(&client, "ada")["status"], "expired");
    assert_eq!(provider.count(Endpoint::Refresh), 1);
}

#[test]
fn a_refusal_in_unknown_words_ends_the_account_once_it_was_repeated() {
    for refusal in
        [Reply::empty(400), Reply::empty(401), Reply::json(json!({"error": "token_is_not_ours"})).status(400)]
    {
        let (provider, gateway, client) = with_ada(&Store::Sqlite, Dialect::strict(), 3600);
        provider.break_tokens(refusal);
        make_due(&Store::Sqlite, &gateway, 0);
        let last = support::wait_for("the end of the account", || {
            let answer = who(&client);
            (answer.status == 424).then_some(answer)
        });
        let problem = last.problem(424, "reauthorization-required");
        assert_eq!(problem["owner"], "user", "{problem}");
        assert!(provider.count(Endpoint::Refresh) >= 3, "{}", provider.count(Endpoint::Refresh));
        let found = record(&client, "ada");
        assert_eq!((&found["status"], &found["reason"]["owner"]), (&json!("expired"), &json!("user")), "{found}");
    }
}

#[test]
fn failures_that_are_no_refusals_never_end_an_account() {
    let (provider, gateway, client) = with_ada(&Store::Sqlite, Dialect::strict(), 3600);
    provider.break_tokens(Reply::typed("text/html", "<html>").status(403));
    make_due(&Store::Sqlite, &gateway, 0);
    provider.wait_for(Endpoint::Refresh, 5);
    assert_eq!(record(&client, "ada")["status"], "active");
    provider.repair();
    support::wait_for("the renewal", || (who(&client).status == 200).then_some(()));
}

#[test]
fn a_service_that_refuses_every_token_is_called_twice() {
    let (provider, _gateway, client) = with_ada(&Store::Sqlite, Dialect::strict(), 3600);
    provider.on_api(|_, _| Reply::json(json!({"error": "go away"})).status(401));
    let problem = who(&client).problem(424, "reauthorization-required");
    assert_eq!((&problem["owner"], &problem["action"]["method"]), (&json!("user"), &json!("POST")));
    assert_eq!(record(&client, "ada")["status"], "active");
    assert_eq!(
        (provider.count(Endpoint::Refresh), provider.api_calls().len()),
        (1, 3),
        "one call asked for the identity"
    );
}

#[test]
fn a_wrong_client_registration_must_be_fixed_by_the_operator() {
    let (provider, gateway, client) = with_ada(&Store::Sqlite, Dialect::strict(), 3600);
    provider.break_tokens(Reply::json(json!({"error": "invalid_client"})).status(401));
    expire(&Store::Sqlite, &gateway, &provider);
    let problem = who(&client).problem(503, "integration-not-configured");
    assert_eq!(problem["owner"], "operator");
    let found = record(&client, "ada");
    assert_eq!((&found["status"], &found["reason"]["owner"]), (&json!("active"), &json!("operator")));
    support::wait_for("the failure to be counted", || (refreshes(&gateway, "misconfigured") >= 1.0).then_some(()));
    provider.repair();
    support::wait_for("the renewal", || (who(&client).status == 200).then_some(()));
    assert_eq!(record(&client, "ada")["reason"], Value::Null);
}

#[test]
fn an_account_that_cannot_be_refreshed_delays_no_other() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(&Store::Sqlite, &provider);
    let client = gateway.client();
    connect(&client, "account", "ada");
    provider.withdraw();
    connect(&client, "account", "bob");
    who_as(&client, "ada").problem(424, "reauthorization-required");
    assert_eq!(who_as(&client, "bob").ok(), me("bob"));
}

#[test]
fn a_refresh_that_does_not_end_in_time_is_no_reason_to_authorize_again() {
    let provider = OAuthProvider::start(Dialect::strict());
    let setup = Setup::new().account("account", &provider).config("limits.timeout_s = 4");
    let gateway = started(setup, &provider);
    let client = gateway.client();
    connect(&client, "account", "ada");
    let gate = Gate::default();
    provider.hold_tokens(&gate);
    provider.expire();
    who(&client).problem(504, "upstream-timed-out");
    gate.open();
    support::wait_for("the refresh", || (who(&client).status == 200).then_some(()));
    assert_eq!(provider.count(Endpoint::Refresh), 1);
}
