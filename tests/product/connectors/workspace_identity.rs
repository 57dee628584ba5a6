//! The identity connector against a stand-in for Google.

use serde_json::json;
use support::{Dialect, Reply};

use super::{Connected, google_claims};

fn connected() -> Connected {
    Connected::start("workspace_identity", Dialect::google(), &[("oauth2", "/oauth2/v2")], "", google_claims)
}

#[test]
fn the_claims_are_passed_on_unchanged() {
    let connected = connected();
    connected.check_complete(&[], &["userinfo", "token_info"]);
    let expected = json!({"id": "id-of-ada", "email": "ada@example.com", "verified_email": true, "name": "ADA", "hd": "example.com"});
    assert_eq!(connected.call("userinfo", json!({})).ok(), expected);
    let seen = connected.provider.api_calls().pop().unwrap();
    assert_eq!((seen.method.as_str(), seen.path.as_str()), ("GET", "/api/oauth2/v2/userinfo"));
    assert_eq!(connected.record()["account"], json!({"id": "id-of-ada", "email": "ada@example.com", "name": "ADA"}));
}

#[test]
fn the_tokens_permissions_are_shown_without_the_token() {
    let connected = connected();
    connected.provider.on_api(|_, account| {
        Reply::json(json!({
            "audience": "client", "user_id": account.id, "email": account.email, "verified_email": true, "expires_in": 3599,
            "scope": "openid https://www.googleapis.com/auth/userinfo.email",
        }))
    });
    let expected = json!({
        "audience": "client", "user_id": "id-of-ada", "email": "ada@example.com", "verified_email": true,
        "scopes": ["openid", "https://www.googleapis.com/auth/userinfo.email"], "expires_in": 3599,
    });
    assert_eq!(connected.call("token_info", json!({})).ok(), expected);
    let seen = connected.provider.api_calls().pop().unwrap();
    let token = connected.provider.access_tokens().pop().unwrap();
    assert_eq!(
        (seen.method.as_str(), seen.path.as_str(), seen.query.as_str()),
        ("POST", "/api/oauth2/v2/tokeninfo", "")
    );
    assert_eq!(seen.form(), [("access_token".to_owned(), token)], "the token is in a form, because logs contain URLs");
    assert_eq!(seen.header("authorization"), "");
}

#[test]
fn a_token_that_google_does_not_know_makes_the_user_authorize_again() {
    let connected = connected();
    connected.provider.on_api(|_, _| Reply::json(json!({"error": "invalid_token"})).status(400));
    let answer = connected.call("token_info", json!({}));
    answer.problem(424, "reauthorization-required");
}

#[test]
fn another_userinfo_endpoint_can_be_configured() {
    let provider = support::OAuthProvider::start(Dialect::google());
    provider.on_api(google_claims);
    let userinfo = format!("oauth.userinfo_url = \"{}/elsewhere/me\"", provider.api());
    let setup = support::Setup::new().shipped("workspace_identity").provider(
        "workspace_identity",
        &provider,
        &[("oauth2", "/oauth2/v2")],
    );
    let gateway = crate::integrations::registered(setup.config(&userinfo).start(), &provider);
    crate::integrations::connect(&gateway.client(), "workspace_identity", "ada");
    assert_eq!(provider.api_calls()[0].path, "/api/elsewhere/me");
}
