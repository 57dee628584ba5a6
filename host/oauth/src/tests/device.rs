//! The device authorization grant.

use std::time::Duration;

use super::*;
use crate::{DeviceAnswer, DeviceAuthorization};
use contract::DeviceCode;

const DEVICE: &str = "device-code-1/+==";

const CODES: &str = r#"{"device_code":"device-code-1/+==","user_code":"WDJB-MJHT","verification_uri":"https://acme.example/device","expires_in":1800,"interval":7}"#;

/// The device authorization grant, with a code of the provider for ended grants.
fn additions(device_authorization_url: String) -> AuthAdditions {
    AuthAdditions {
        device_code: Some(DeviceCode { device_authorization_url }),
        ended_codes: vec!["device_is_gone".to_owned()],
        ..AuthAdditions::default()
    }
}

/// A provider whose endpoints are the stub.
fn provider_of(stub: &Stub, scheme: Oauth2) -> Provider {
    let additions = additions(format!("{}/device", stub.url()));
    let scheme = Oauth2 { token_url: format!("{}/token", stub.url()), authorization_url: String::new(), ..scheme };
    Provider::new("demo", &scheme, &additions, &config(), &Recipients::OfManifest, egress(), None).unwrap()
}

/// The codes in an answer, and the request for them.
async fn begun(scheme: Oauth2, status: u16, body: &'static str) -> (Result<DeviceAuthorization, TokenError>, Seen) {
    let stub = Stub::start(move |_, _| json(status, body)).await;
    let codes = provider_of(&stub, scheme).device_authorization("demo").await.unwrap();
    (codes, stub.seen().pop().unwrap())
}

/// The answer about a device code, and the question.
async fn asked(status: u16, body: &'static str) -> (Result<DeviceAnswer, TokenError>, Seen) {
    let stub = Stub::start(move |_, _| json(status, body)).await;
    let answer = provider_of(&stub, scheme()).poll_device(&DEVICE.into()).await;
    (answer, stub.seen().pop().unwrap())
}

#[tokio::test]
async fn the_request_for_codes_has_the_client_the_scopes_and_the_parameters() {
    let parameters = vec![("audience".to_owned(), "api".to_owned()), ("client_id".to_owned(), "other".to_owned())];
    let (codes, seen) = begun(Oauth2 { authorization_parameters: parameters, ..scheme() }, 200, CODES).await;
    assert_eq!((seen.method.as_str(), seen.path.as_str()), ("POST", "/device"));
    let expected = [
        "audience=api".to_owned(),
        "client_id=client:1".to_owned(),
        format!("client_secret={SECRET}"),
        "scope=profile events.read".to_owned(),
    ];
    assert_eq!(fields(&form(&seen)), expected);
    let codes = codes.unwrap();
    assert_eq!(codes.device_code.expose_secret(), DEVICE);
    assert_eq!(
        (codes.user_code.as_str(), codes.verification_uri.as_str()),
        ("WDJB-MJHT", "https://acme.example/device")
    );
    assert_eq!(codes.verification_uri_complete, None);
    assert_eq!((codes.expires_in, codes.interval), (Duration::from_secs(1800), Duration::from_secs(7)));
    let basic = Oauth2 { client_authentication: ClientAuthentication::Basic, ..scheme() };
    let (_, seen) = begun(basic, 200, CODES).await;
    assert!(seen.header("authorization").unwrap().starts_with("Basic "));
    assert_eq!(fields(&form(&seen)), ["scope=profile events.read"]);
}

#[tokio::test]
async fn codes_that_cannot_be_used_are_not_understood() {
    let draft =
        r#"{"device_code":"d-1234","user_code":"A","verification_url":"http://acme.example/d","expires_in":"600"}"#;
    let (codes, _) = begun(scheme(), 200, draft).await;
    let codes = codes.unwrap();
    assert_eq!((codes.verification_uri.as_str(), codes.interval), ("http://acme.example/d", Duration::from_secs(5)));
    for (body, name) in [
        (r#"{"user_code":"A","verification_uri":"https://a.example","expires_in":1}"#, "device_code"),
        (r#"{"device_code":"d","verification_uri":"https://a.example","expires_in":1}"#, "user_code"),
        (
            r#"{"device_code":"d","user_code":"A","verification_uri":"javascript:alert(1)","expires_in":1}"#,
            "verification_uri",
        ),
        (
            r#"{"device_code":"d","user_code":"A\nB","verification_uri":"https://a.example","expires_in":1}"#,
            "user_code",
        ),
        (r#"{"device_code":"d","user_code":"A","verification_uri":"https://a.example"}"#, "expires_in"),
    ] {
        let (codes, _) = begun(scheme(), 200, body).await;
        let error = codes.err().unwrap().to_string();
        assert!(error.contains(&format!("no `{name}`")), "{error}");
    }
    let (refused, _) = begun(scheme(), 401, r#"{"error":"invalid_client"}"#).await;
    assert!(matches!(refused, Err(TokenError::Misconfigured { .. })));
}

#[tokio::test]
async fn a_question_about_a_code_is_answered_with_tokens_or_with_what_to_do() {
    let tokens =
        r#"{"access_token":"an-access-token","refresh_token":"r-1234567","expires_in":3600,"scope":"profile"}"#;
    let (answer, seen) = asked(200, tokens).await;
    let Ok(DeviceAnswer::Granted(tokens)) = answer else { panic!("no tokens") };
    assert_eq!((access(&tokens), refresh_token(&tokens)), ("an-access-token", Some("r-1234567")));
    let expected = [
        "client_id=client:1".to_owned(),
        format!("client_secret={SECRET}"),
        format!("device_code={DEVICE}"),
        "grant_type=urn:ietf:params:oauth:grant-type:device_code".to_owned(),
    ];
    assert_eq!(fields(&form(&seen)), expected);
    for status in [200, 400, 429] {
        assert!(matches!(asked(status, r#"{"error":"authorization_pending"}"#).await.0, Ok(DeviceAnswer::Pending)));
        assert!(matches!(asked(status, r#"{"error":"slow_down"}"#).await.0, Ok(DeviceAnswer::SlowDown)));
    }
    for code in [r#"{"error":"access_denied"}"#, r#"{"error":"expired_token"}"#, r#"{"error":"device_is_gone"}"#] {
        assert!(matches!(asked(400, code).await.0, Err(TokenError::Refused { .. })));
    }
    assert!(matches!(asked(503, "").await.0, Err(TokenError::Unavailable { .. })));
    let echo = r#"{"error":"invalid_grant","error_description":"no device-code-1/+== here"}"#;
    let error = asked(400, echo).await.0.err().unwrap().to_string();
    assert!(!error.contains(DEVICE), "{error}");
}

#[tokio::test]
async fn a_replaced_provider_needs_its_own_url_for_codes() {
    let additions = additions("https://accounts.acme.example/device".to_owned());
    let mut config = config();
    let connector = config.connectors.get_mut("demo").unwrap();
    connector.oauth.token_url = Url::parse("https://own.example/token").ok();
    let provider =
        Provider::new("demo", &scheme(), &additions, &config, &Recipients::OfManifest, egress(), None).unwrap();
    let missing = provider.device_authorization("demo").await.err().unwrap().missing;
    assert_eq!(missing, ["connectors.demo.oauth.device_authorization_url"]);
}
