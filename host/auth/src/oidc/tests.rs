//! The parts of a sign-in that need no provider. The tests of the product have one.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::provider::error_code;
use super::*;
use egress::Settings;
use jwt::JwtError;

fn oidc(claim: &str) -> Oidc {
    let settings = OidcSettings {
        issuer: "https://id.example/realm".to_owned(),
        client_id: "console".to_owned(),
        client_secret: None,
        claim: claim.to_owned(),
        value: "operators".to_owned(),
        scopes: vec!["openid".to_owned()],
        redirect_url: None,
        allow_private_network: false,
    };
    Oidc::new(settings, Egress::new(&Settings::default()).unwrap())
}

fn claims(value: Value) -> Claims {
    value.as_object().unwrap().clone()
}

#[test]
fn nothing_that_the_provider_sees_shows_the_secret_or_the_verifier() {
    let secret = SignInSecret::new("a-secret-of-a-browser");
    let derived = [secret.state(), secret.nonce(), secret.verifier(), secret.challenge()];
    let distinct: BTreeSet<&String> = derived.iter().collect();
    assert_eq!(distinct.len(), 4);
    assert!(derived.iter().all(|value| value.len() == 43 && !value.contains("secret")), "{derived:?}");
    assert_ne!(SignInSecret::new("another-secret").state(), secret.state());
}

#[tokio::test]
async fn the_claim_is_the_value_or_a_list_with_it() {
    let oidc = oidc("groups");
    for admitted in [json!("operators"), json!(["users", "operators"])] {
        assert!(oidc.admits(&claims(json!({"groups": admitted}))), "{admitted}");
    }
    for refused in
        [json!("operators of others"), json!(["Operators"]), json!(true), json!({"operators": true}), json!([])]
    {
        assert!(!oidc.admits(&claims(json!({"groups": refused}))), "{refused}");
    }
    assert!(!oidc.admits(&claims(json!({"group": "operators"}))));
    assert_eq!(oidc.settings().host(), "id.example");
}

#[test]
fn a_name_for_people_is_one_short_line() {
    assert_eq!(name_in(&claims(json!({"name": "Ann", "email": "ann@id.example"}))), "ann@id.example");
    assert_eq!(name_in(&claims(json!({"name": "A\nnn\u{7f}", "email": " "}))), "Ann");
    assert_eq!(name_in(&claims(json!({"name": "é".repeat(300)}))).chars().count(), MAX_NAME);
    assert_eq!(name_in(&claims(json!({"name": 7}))), "");
}

#[test]
fn an_error_code_has_only_characters_of_codes() {
    assert_eq!(error_code("access_denied<script>\n"), "access_deniedscript");
    assert_eq!(error_code(&"x".repeat(100)).len(), 64);
}

#[test]
fn a_provider_whose_keys_cannot_be_fetched_cannot_be_asked() {
    let error = OidcError::from(JwtError::KeysUnavailable);
    assert_eq!(error.to_string(), "the OpenID provider cannot be asked: its keys cannot be fetched");
    assert_eq!(OidcError::from(JwtError::Expired), OidcError::IdToken(JwtError::Expired));
}
