use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::Method;

use super::*;

fn tokens(refresh_token: Option<&str>) -> Tokens {
    Tokens {
        access_token: "access-token-1".into(),
        refresh_token: refresh_token.map(Into::into),
        expires_in: None,
        scopes: None,
        grant: None,
    }
}

fn with(revocation: contract::Revocation) -> Oauth2 {
    Oauth2 { revocation: Some(revocation), ..scheme() }
}

#[tokio::test]
async fn a_form_revokes_the_refresh_token_if_there_is_one() {
    let stub = Stub::start(|_, _| answer(200, &[], "")).await;
    let provider = provider(&with(contract::Revocation::Form(format!("{}/revoke", stub.url()))));
    assert_eq!(provider.revoke(&tokens(Some(REFRESH_TOKEN))).await, Ok(Revocation::Revoked));
    assert_eq!(provider.revoke(&tokens(None)).await, Ok(Revocation::Revoked));
    let seen = stub.seen();
    assert_eq!((&seen[0].method, seen[0].path.as_str()), (&Method::POST, "/revoke"));
    let client = [String::from("client_id=client:1"), format!("client_secret={SECRET}")];
    let [with_refresh, without] = [0, 1].map(|call| fields(&form(&seen[call])));
    assert_eq!(with_refresh[..2], client);
    assert_eq!(with_refresh[2..], [format!("token={REFRESH_TOKEN}"), "token_type_hint=refresh_token".to_owned()]);
    assert_eq!(without[2..], ["token=access-token-1", "token_type_hint=access_token"]);
}

#[tokio::test]
async fn a_form_authenticates_the_client_like_a_token_request() {
    let stub = Stub::start(|_, _| answer(200, &[], "")).await;
    let scheme = Oauth2 {
        client_authentication: ClientAuthentication::Basic,
        ..with(contract::Revocation::Form(format!("{}/revoke", stub.url())))
    };
    provider(&scheme).revoke(&tokens(None)).await.unwrap();
    let seen = &stub.seen()[0];
    let expected = format!("Basic {}", STANDARD.encode("client%3A1:s3cret%2Fwith%2Bsigns%3Aand%3Dmore"));
    assert_eq!(seen.header("authorization"), Some(expected.as_str()));
    assert_eq!(fields(&form(seen)), ["token=access-token-1", "token_type_hint=access_token"]);
}

#[tokio::test]
async fn a_bearer_revocation_is_authenticated_by_the_access_token() {
    let stub = Stub::start(|_, before| match before {
        0 => json(200, r#"{"ok":true,"revoked":true}"#),
        1 => json(200, r#"{"ok":true,"revoked":false}"#),
        2 => json(200, r#"{"ok":false,"error":"token_revoked"}"#),
        _ => json(200, r#"{"ok":false,"error":"token_expired"}"#),
    })
    .await;
    let provider = provider(&with(contract::Revocation::Bearer(format!("{}/auth.revoke", stub.url()))));
    let tokens = tokens(Some(REFRESH_TOKEN));
    assert_eq!(provider.revoke(&tokens).await, Ok(Revocation::Revoked));
    assert!(matches!(provider.revoke(&tokens).await, Err(TokenError::NotUnderstood { .. })));
    assert_eq!(provider.revoke(&tokens).await, Ok(Revocation::Revoked), "it was revoked before");
    assert!(matches!(provider.revoke(&tokens).await, Err(TokenError::Refused { .. })), "the refresh token lives on");
    let seen = &stub.seen()[0];
    assert_eq!((&seen.method, seen.path.as_str()), (&Method::POST, "/auth.revoke"));
    assert_eq!(seen.header("authorization"), Some("Bearer access-token-1"));
}

#[tokio::test]
async fn a_deletion_names_the_client_in_its_url() {
    let stub = Stub::start(|_, _| answer(204, &[], "")).await;
    let url = format!("{}/applications/{{client_id}}/grant", stub.url());
    provider(&with(contract::Revocation::Delete(url.clone()))).revoke(&tokens(None)).await.unwrap();
    // The operator's URL was parsed, which has encoded the braces.
    let mut config = config();
    config.connectors.get_mut("demo").unwrap().oauth.revocation_url = Some(url.parse().unwrap());
    let scheme = with(contract::Revocation::Delete("https://api.acme.example/grant".to_owned()));
    Provider::new("demo", &scheme, &AuthAdditions::default(), &config, &Recipients::OfManifest, egress(), None)
        .unwrap()
        .revoke(&tokens(None))
        .await
        .unwrap();
    for seen in stub.seen() {
        assert_eq!((&seen.method, seen.path.as_str()), (&Method::DELETE, "/applications/client%3A1/grant"));
        assert!(seen.header("authorization").unwrap().starts_with("Basic "));
        assert_eq!(seen.header("content-type"), Some("application/json"));
        assert_eq!(&seen.body[..], br#"{"access_token":"access-token-1"}"#);
    }
    assert_eq!(stub.seen().len(), 2);
}

#[tokio::test]
async fn a_deletion_that_finds_nothing_counts_as_revoked() {
    let stub = Stub::start(|_, before| answer(if before == 0 { 404 } else { 401 }, &[], "")).await;
    let provider = provider(&with(contract::Revocation::Delete(format!("{}/grant", stub.url()))));
    assert_eq!(provider.revoke(&tokens(None)).await, Ok(Revocation::Revoked));
    assert!(matches!(provider.revoke(&tokens(None)).await, Err(TokenError::NotUnderstood { .. })));
}

#[tokio::test]
async fn without_a_url_in_manifest_and_settings_there_is_no_revocation() {
    assert_eq!(provider(&scheme()).revoke(&tokens(None)).await, Ok(Revocation::NotOffered));
    let unknown = with(contract::Revocation::Form(String::new()));
    assert_eq!(provider(&unknown).revoke(&tokens(None)).await, Ok(Revocation::NotOffered));
}

#[tokio::test]
async fn a_url_that_only_the_operator_sets_takes_a_form() {
    let stub = Stub::start(|_, _| answer(200, &[], "")).await;
    let mut config = config();
    config.connectors.get_mut("demo").unwrap().oauth.revocation_url =
        Some(format!("{}/revoke", stub.url()).parse().unwrap());
    let provider =
        Provider::new("demo", &scheme(), &AuthAdditions::default(), &config, &Recipients::OfManifest, egress(), None)
            .unwrap();
    assert_eq!(provider.revoke(&tokens(None)).await, Ok(Revocation::Revoked));
    assert_eq!(form(&stub.seen()[0])["token"], "access-token-1");
}

#[tokio::test]
async fn tokens_of_another_provider_are_not_sent_to_the_manifests_revocation_url() {
    let stub = Stub::start(|_, _| answer(200, &[], "")).await;
    let scheme = with(contract::Revocation::Form(format!("{}/revoke", stub.url())));
    let replacements: [fn(&mut Oauth, Url); 2] =
        [|oauth, url| oauth.token_url = Some(url), |oauth, url| oauth.authorization_url = Some(url)];
    for replace in replacements {
        let mut config = config();
        let oauth = &mut config.connectors.get_mut("demo").unwrap().oauth;
        replace(oauth, "https://id.corp.example/oauth".parse().unwrap());
        let provider =
            Provider::new("demo", &scheme, &AuthAdditions::default(), &config, &Recipients::OfManifest, egress(), None)
                .unwrap();
        assert_eq!(provider.revoke(&tokens(Some(REFRESH_TOKEN))).await, Ok(Revocation::NotOffered));
    }
    assert!(stub.seen().is_empty());
}

#[tokio::test]
async fn a_failed_revocation_says_why_without_the_token() {
    let stub = Stub::start(|seen, _| {
        let body =
            serde_json::json!({ "error": "invalid_client", "error_description": String::from_utf8_lossy(&seen.body) });
        answer(401, &[], body.to_string())
    })
    .await;
    let provider = provider(&with(contract::Revocation::Form(format!("{}/revoke", stub.url()))));
    let error = provider.revoke(&tokens(Some(REFRESH_TOKEN))).await.unwrap_err();
    assert!(matches!(error, TokenError::Misconfigured { .. }), "{error:?}");
    assert!(!error.to_string().contains(REFRESH_TOKEN) && !error.to_string().contains("s3cret"), "{error}");
}
