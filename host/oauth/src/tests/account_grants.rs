//! Tokens for the credentials that accounts bring.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::signature::{KeyPair, RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey};
use serde_json::Value;
use store::GrantType;

use super::*;
use crate::{AccountGrant, AccountProvider};
use contract::{AppInstallation, AuthAdditions, ServiceAccount};

const PKCS8: &[u8] = include_bytes!("../../../auth/src/jwt/tests/rsa.pk8");

fn pem() -> String {
    format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", STANDARD.encode(PKCS8))
}

fn additions() -> AuthAdditions {
    AuthAdditions {
        client_credentials: true,
        service_account: Some(ServiceAccount { audience: Some("the-audience".to_owned()), needs_subject: false }),
        app_installation: Some(AppInstallation {
            upstream: "api".to_owned(),
            path: "/app/{installation_id}/tokens".to_owned(),
        }),
        ended_codes: vec!["robot_is_gone".to_owned()],
        device_code: None,
        signature: None,
    }
}

fn grant(grant_type: GrantType, json: Value) -> AccountGrant {
    AccountGrant::from_json(grant_type, json.to_string().as_bytes()).unwrap()
}

/// The tokens that a stub with this answer gives, and the request that it has seen.
async fn fetched(grant: &AccountGrant, status: u16, body: &'static str) -> (Result<Tokens, TokenError>, Seen) {
    let stub = Stub::start(move |_, _| json(status, body)).await;
    let scheme = Oauth2 { token_url: format!("{}/token", stub.url()), ..scheme() };
    let (config, additions, egress) = (config(), additions(), egress());
    let upstream = Url::parse(&format!("{}/base", stub.url())).unwrap();
    let provider = AccountProvider {
        connector: "demo",
        scheme: &scheme,
        additions: &additions,
        config: &config,
        recipients: &Recipients::OfManifest,
        egress: &egress,
        upstream: Some(&upstream),
    };
    let tokens = provider.source(grant).unwrap().fetch().await;
    (tokens, stub.seen().pop().unwrap())
}

/// The claims of a JWT that the key has signed.
fn claims(jwt: &str) -> Value {
    let (signed, signature) = jwt.rsplit_once('.').unwrap();
    let pair = RsaKeyPair::from_pkcs8(PKCS8).unwrap();
    UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, pair.public_key().as_ref())
        .verify(signed.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap())
        .unwrap();
    let claims = signed.split_once('.').unwrap().1;
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap()
}

#[tokio::test]
async fn client_credentials_come_in_the_form_with_scopes_and_without_a_refresh_token() {
    let own = grant(GrantType::ClientCredentials, serde_json::json!({"client_id": "robot", "client_secret": SECRET}));
    let body = r#"{"access_token":"an-access-token","expires_in":60,"refresh_token":"not-used"}"#;
    let (tokens, seen) = fetched(&own, 200, body).await;
    let tokens = tokens.unwrap();
    assert!(tokens.refresh_token.is_none() && tokens.expires_in.unwrap().as_secs() == 60);
    let (tokens, _) = fetched(&own, 400, r#"{"error":"robot_is_gone"}"#).await;
    assert!(matches!(tokens, Err(TokenError::Refused { .. })), "the connector declares the code: {tokens:?}");
    let form = form(&seen);
    assert_eq!(
        fields(&form),
        [
            "client_id=robot".to_owned(),
            format!("client_secret={SECRET}"),
            "grant_type=client_credentials".to_owned(),
            "scope=profile events.read".to_owned(),
        ]
    );
}

#[tokio::test]
async fn an_assertion_is_signed_for_the_audience_and_lives_a_few_minutes() {
    let key_file = serde_json::json!({"client_email": "robot@acme", "private_key": pem(), "private_key_id": "1"});
    let credentials = serde_json::json!({"key_file": key_file, "subject": "ada@acme", "scopes": ["one", "two"]});
    let (tokens, seen) =
        fetched(&grant(GrantType::ServiceAccount, credentials), 200, r#"{"access_token":"an-access-token"}"#).await;
    assert!(tokens.unwrap().expires_in.is_none());
    let form = form(&seen);
    assert_eq!(form["grant_type"], "urn:ietf:params:oauth:grant-type:jwt-bearer");
    assert_eq!(form.len(), 2);
    let claims = claims(&form["assertion"]);
    let text = |name: &str| claims[name].as_str().unwrap();
    assert_eq!(
        (text("iss"), text("sub"), text("aud"), text("scope")),
        ("robot@acme", "ada@acme", "the-audience", "one two")
    );
    assert!((300..=600).contains(&(claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap())));
}

#[tokio::test]
async fn an_installation_is_asked_below_the_upstream_and_its_answers_have_other_names() {
    let credentials = serde_json::json!({"installation_id": "9", "app_id": "4711", "private_key": pem()});
    let own = grant(GrantType::AppInstallation, credentials);
    let (tokens, seen) = fetched(&own, 201, r#"{"token":"an-access-token","expires_at":"2999-01-01T00:00:00Z"}"#).await;
    assert!(tokens.unwrap().expires_in.unwrap().as_secs() > 1_000_000);
    assert_eq!(seen.path, "/base/app/9/tokens");
    assert_eq!(claims(seen.header("authorization").unwrap().strip_prefix("Bearer ").unwrap())["iss"], "4711");

    let (tokens, _) = fetched(&own, 404, r#"{"message":"Not Found"}"#).await;
    assert!(matches!(tokens, Err(TokenError::Refused { .. })), "{tokens:?}");
    let (tokens, _) = fetched(&own, 401, "{}").await;
    assert!(matches!(tokens, Err(TokenError::Refused { .. })), "the key is the account's: {tokens:?}");
    let (tokens, _) = fetched(&own, 503, "{}").await;
    assert!(matches!(tokens, Err(TokenError::Unavailable { .. })), "{tokens:?}");
    let (tokens, _) = fetched(&own, 201, r#"{"token":"an-access-token"}"#).await;
    assert!(matches!(tokens, Err(TokenError::NotUnderstood { .. })), "{tokens:?}");
}

#[tokio::test]
async fn errors_about_the_client_concern_the_account_and_show_no_secret() {
    let own = grant(GrantType::ClientCredentials, serde_json::json!({"client_id": "robot", "client_secret": SECRET}));
    let body = r#"{"error":"invalid_client","error_description":"s3cret/with+signs:and=more is wrong"}"#;
    let (tokens, _) = fetched(&own, 401, body).await;
    let Err(TokenError::Refused { error, description }) = tokens else { panic!("{tokens:?}") };
    assert_eq!(error, "invalid_client");
    assert!(!description.unwrap().contains(SECRET));
}
