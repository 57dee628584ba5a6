//! The directory connector against a stand-in for Google: the password of a user stays secret.

use serde_json::json;
use support::{Dialect, Reply, Setup};

use super::google_claims;
use crate::integrations::{connect, registered};

const PASSWORD: &str = "correct-horse-\"battery";

#[test]
fn the_password_is_in_no_answer_and_no_log_line() {
    let provider = support::OAuthProvider::start(Dialect::google());
    provider.on_api(google_claims);
    let upstreams = [("api", "/admin/directory/v1"), ("oauth2", "/oauth2/v2")];
    let setup = Setup::new().general("log = \"trace\"").shipped("workspace_user_management");
    let setup = setup.provider("workspace_user_management", &provider, &upstreams);
    let mut gateway = registered(setup.start(), &provider);
    let client = gateway.client();
    connect(&client, "workspace_user_management", "ada");
    let reset = |password: &str| {
        let input = json!({"user_key": "kim@example.com", "password": password, "change_password_at_next_login": true});
        client.call("workspace_user_management/reset_user_password", input)
    };

    provider.on_api(|_, _| Reply::json(json!({"id": "117", "primaryEmail": "kim@example.com", "suspended": false})));
    let answer = reset(PASSWORD);
    let expected = json!({
        "id": "117", "primaryEmail": "kim@example.com", "changePasswordAtNextLogin": null, "suspended": false, "isAdmin": null,
    });
    assert_eq!(answer.ok(), expected);
    let seen = provider.api_calls().pop().unwrap();
    assert_eq!(
        (seen.method.as_str(), seen.path.as_str()),
        ("PATCH", "/api/admin/directory/v1/users/kim%40example.com")
    );
    let sent: serde_json::Value = serde_json::from_slice(&seen.body).unwrap();
    assert_eq!(sent, json!({"password": PASSWORD, "changePasswordAtNextLogin": true}));

    let refusals = [(400, "validation", 422), (403, "upstream-rejected", 403), (503, "upstream-failed", 502)];
    for (status, kind, answered) in refusals {
        let message = format!("The password {PASSWORD} is refused");
        provider.on_api(move |_, _| Reply::json(json!({"error": {"code": status, "message": message}})).status(status));
        let problem = reset(PASSWORD).problem(answered, kind).to_string();
        assert!(problem.contains("The password *** is refused"), "{problem}");
        assert!(!problem.contains("horse"), "{problem}");
    }

    let before = provider.api_calls().len();
    for password in ["horse-7", &format!("{}-horse", "x".repeat(95)), "horse-pässword"] {
        let problem = reset(password).problem(422, "validation").to_string();
        assert!(problem.contains("/password") && !problem.contains("horse"), "{problem}");
    }
    assert_eq!(provider.api_calls().len(), before);
    for password in ["horse-78", &format!("{}-horse", "x".repeat(94))] {
        provider.on_api(|_, _| Reply::json(json!({"id": "117"})));
        reset(password).ok();
    }
    assert_eq!(provider.api_calls().len(), before + 2);

    // A gateway that has ended has written all lines.
    assert!(gateway.stop().success());
    let lines = gateway.lines();
    assert!(lines.iter().any(|line| line.contains("reset_user_password")), "the log has the calls");
    assert!(!lines.iter().any(|line| line.contains("horse")), "the log has a password");
}
