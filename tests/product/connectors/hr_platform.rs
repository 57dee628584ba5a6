//! The HR connector against a stand-in: every operation, the fixed shape of userinfo, and URLs that
//! the operator configures.

use serde_json::{Value, json};
use support::{Dialect, OAuthProvider, Reply, Setup};

use super::{Connected, anything, row};
use crate::integrations::{callback_url, init};

fn connected(config: &str, user: Value) -> Connected {
    Connected::start("hr_platform", Dialect::strict(), &[("api", "/hr/v1")], config, move |_, _| {
        Reply::json(user.clone())
    })
}

/// A userinfo answer in the fixed shape.
fn exact() -> Value {
    json!({
        "data": {
            "id": "7", "email": "ada@example.com", "username": "ada", "employee": {"id": "42", "name": "Ada Lovelace"},
            "roles": [{"id": "1", "name": "admin", "active": true}, {"id": "2", "name": "former", "active": false}],
        },
        "meta": null,
    })
}

#[test]
fn every_operation_is_a_request_to_the_operators_system() {
    let connected = connected("", exact());
    let rows = [
        row(
            "list_employees",
            json!({"query": {"page": 1, "per_page": 50, "search": "a b"}}),
            "GET /hr/v1/employees?page=1&per_page=50&search=a b",
            Value::Null,
        ),
        row("get_employee", json!({"employee_id": "42"}), "GET /hr/v1/employees/42", Value::Null),
        row("get_employee", json!({"employee_id": "a/b"}), "GET /hr/v1/employees/a%2Fb", Value::Null),
    ];
    connected.check_complete(&rows, &["userinfo"]);
    connected.check(&rows, &anything());
}

#[test]
fn userinfo_has_the_exact_shape_whatever_the_system_answers() {
    let full = exact();
    let bare = json!({
        "id": 7, "email": "ada@example.com", "userName": "ada", "employee": {"id": 42, "first_name": "Ada", "last_name": "Lovelace"},
        "roles": [{"id": 1, "name": "admin"}, {"id": "2", "name": "former", "active": false}], "secret_note": "x",
    });
    for said in [full.clone(), bare] {
        let connected = connected("", said);
        assert_eq!(connected.call("userinfo", json!({})).ok(), full);
        assert_eq!(
            connected.record()["account"],
            json!({"id": "7", "email": "ada@example.com", "name": "Ada Lovelace"})
        );
    }
    let connected = connected("", json!({"id": "7"}));
    let least =
        json!({"data": {"id": "7", "email": null, "username": null, "employee": null, "roles": []}, "meta": null});
    assert_eq!(connected.call("userinfo", json!({})).ok(), least);
    assert_eq!(connected.record()["user_identifier"], "7", "without an email address the id is the identifier");
}

#[test]
fn paths_are_settings() {
    let connected = connected(
        "oauth.userinfo_url = \"\"\nsettings = { employees_path = \"/staff\", userinfo_path = \"/me\" }",
        exact(),
    );
    assert_eq!(connected.provider.api_calls()[0].path, "/api/hr/v1/me");
    let rows = [row("get_employee", json!({"employee_id": "42"}), "GET /hr/v1/staff/42", Value::Null)];
    connected.check(&rows, &anything());
}

#[test]
fn a_user_without_an_id_is_an_upstream_error() {
    let connected = connected("", exact());
    connected.provider.on_api(|_, _| Reply::json(json!({"data": {"email": "x"}})));
    connected.call("userinfo", json!({})).problem(502, "upstream-not-understood");
}

#[test]
fn without_configuration_the_answer_names_every_missing_key() {
    let gateway = Setup::new().shipped("hr_platform").start();
    let problem = gateway
        .client()
        .post("/connectors/hr_platform/integrations", init())
        .problem(503, "integration-not-configured");
    let missing = problem["missing"].as_array().unwrap();
    for key in [
        "oauth_clients.hr.client_id",
        "oauth_clients.hr.client_secret",
        "connectors.hr_platform.oauth.authorization_url",
        "connectors.hr_platform.oauth.token_url",
        "connectors.hr_platform.upstreams.api",
    ] {
        assert!(missing.contains(&json!(key)), "{key} in {problem}");
    }
    assert_eq!(problem["redirect_uri"], callback_url(&gateway, "hr_platform"));
}

#[test]
fn scopes_are_configured_by_the_operator() {
    let connected = connected("oauth.scopes = [\"people.read\", \"profile\"]", exact());
    assert_eq!(connected.record()["scopes"], json!(["people.read", "profile"]));
    let provider = OAuthProvider::start(Dialect::strict());
    assert_eq!(provider.events().len(), 0);
}
