use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::super::CALL_TIMEOUT;
use super::*;
use stub::raw;

fn kind(error: &TokenError) -> &'static str {
    match error {
        TokenError::Refused { .. } => "refused",
        TokenError::Misconfigured { .. } => "misconfigured",
        TokenError::Unavailable { .. } => "unavailable",
        TokenError::NotUnderstood { .. } => "not understood",
    }
}

async fn failed(status: u16, body: &str) -> TokenError {
    let body = body.to_owned();
    let stub = Stub::start(move |_, _| answer(status, &[], body.clone())).await;
    refresh(&provider_at(&stub, scheme())).await.unwrap_err()
}

#[tokio::test]
async fn errors_are_classified_by_who_can_fix_them() {
    let cases = [
        (400, r#"{"error":"invalid_grant","error_description":"Token has been expired or revoked."}"#, "refused"),
        (400, r#"{"error":"invalid_grant","error_subtype":"invalid_rapt"}"#, "refused"),
        (400, r#"{"error":"interaction_required"}"#, "refused"),
        (200, r#"{"error":"bad_verification_code","error_uri":"https://docs.example"}"#, "refused"),
        (200, r#"{"error":"bad_refresh_token"}"#, "refused"),
        (200, r#"{"ok":false,"error":"token_revoked"}"#, "refused"),
        (200, r#"{"ok":false,"error":"invalid_refresh_token"}"#, "refused"),
        (401, r#"{"error":"invalid_client"}"#, "misconfigured"),
        (400, r#"{"error":"unauthorized_client"}"#, "misconfigured"),
        (200, r#"{"error":"incorrect_client_credentials"}"#, "misconfigured"),
        (200, r#"{"error":"redirect_uri_mismatch"}"#, "misconfigured"),
        (200, r#"{"ok":false,"error":"bad_client_secret"}"#, "misconfigured"),
        (400, r#"{"error":"unsupported_grant_type"}"#, "misconfigured"),
        (400, r#"{"error":"invalid_scope"}"#, "misconfigured"),
        (400, r#"{"error":"temporarily_unavailable"}"#, "unavailable"),
        (400, r#"{"error":"slow_down"}"#, "unavailable"),
        (200, r#"{"ok":false,"error":"ratelimited"}"#, "unavailable"),
        (503, r#"{"error":"invalid_grant"}"#, "unavailable"),
        (502, "<html>Bad Gateway</html>", "unavailable"),
        (429, "", "unavailable"),
        (400, r#"{"error":"invalid_request"}"#, "not understood"),
        (400, r#"{"error":{"code":400,"message":"Bad"}}"#, "not understood"),
        (200, r#"{"ok":false}"#, "not understood"),
        (403, "<html>Forbidden</html>", "not understood"),
        (404, "", "not understood"),
    ];
    for (status, body, expected) in cases {
        let error = failed(status, body).await;
        assert_eq!(kind(&error), expected, "{status} {body}: {error:?}");
    }
}

#[tokio::test]
async fn a_code_is_known_in_any_spelling_and_place() {
    let cases = [
        (400, r#"{"error":"INVALID_GRANT"}"#, "refused"),
        (400, r#"{"error":"Invalid Grant"}"#, "refused"),
        (400, r#"{"error":{"code":"invalid_grant","message":"Gone."}}"#, "refused"),
        (401, r#"{"error":{"code":401,"type":"invalid_token"}}"#, "refused"),
        (401, r#"{"error":{"code":401,"message":"invalid_client"}}"#, "misconfigured"),
        (400, r#"{"errors":[{"code":"INVALID_REFRESH_TOKEN"}]}"#, "refused"),
        (400, r#"{"errorCode":"invalid_grant","errorSummary":"The refresh token is invalid."}"#, "refused"),
        (401, r#"{"code":"TokenExpired","message":"Sign in."}"#, "refused"),
        (200, r#"{"error":{"type":"invalid_grant"}}"#, "refused"),
        (400, "error=invalid_grant&error_description=Token+was+revoked", "refused"),
        (200, "error=bad_refresh_token&error_uri=https%3A%2F%2Fdocs.example", "refused"),
        (200, "error=incorrect_client_credentials", "misconfigured"),
        (400, "error=invalid_grant <html>", "not understood"),
    ];
    for (status, body, expected) in cases {
        let error = failed(status, body).await;
        assert_eq!(kind(&error), expected, "{status} {body}: {error:?}");
    }
    let error = failed(400, r#"{"error":{"code":"INVALID_GRANT","message":"Gone."}}"#).await;
    assert_eq!(error.to_string(), "the provider refused the code or token: invalid_grant (Gone.)");
    let error = failed(400, r#"{"error":{"code":190,"message":"Gone."}}"#).await;
    assert_eq!(error.to_string(), "the provider's response is not understood: status 400 with the error 190 (Gone.)");
}

#[tokio::test]
async fn a_code_that_the_connector_declares_ends_the_grant_in_any_spelling_and_before_others() {
    let additions =
        AuthAdditions { ended_codes: vec!["refresh_token_consumed".to_owned()], ..AuthAdditions::default() };
    let failed = async |status: u16, body: &'static str| {
        let stub = Stub::start(move |_, _| json(status, body)).await;
        let scheme = Oauth2 { token_url: format!("{}/token", stub.url()), ..scheme() };
        let provider =
            Provider::new("demo", &scheme, &additions, &config(), &Recipients::OfManifest, egress(), None).unwrap();
        let (refreshed, exchanged) = (refresh(&provider).await.unwrap_err(), exchange(&provider).await.unwrap_err());
        assert_eq!(refreshed, exchanged, "{body}");
        refreshed
    };
    for body in [
        r#"{"error":"refresh_token_consumed","error_description":"Gone."}"#,
        r#"{"error":"REFRESH-TOKEN-CONSUMED","error_description":"Gone."}"#,
        r#"{"error":"invalid_client","error_code":"RefreshTokenConsumed","error_description":"Gone."}"#,
        r#"{"error":{"code":"refresh_token_consumed","message":"Gone."}}"#,
    ] {
        let error = failed(400, body).await;
        let description = Some("Gone.".to_owned());
        assert_eq!(error, TokenError::Refused { error: "refresh_token_consumed".to_owned(), description }, "{body}");
    }
    let code = r#"{"error":"refresh_token_consumed"}"#;
    for (status, body, expected) in [
        (503, code, "unavailable"),
        (429, code, "unavailable"),
        (400, r#"{"error":"refresh_token_used"}"#, "not understood"),
        (401, r#"{"error":"invalid_client"}"#, "misconfigured"),
    ] {
        let error = failed(status, body).await;
        assert_eq!(kind(&error), expected, "{status} {body}: {error:?}");
    }
}

#[tokio::test]
async fn a_refusal_in_unknown_words_is_told_from_a_failure() {
    for (status, body, expected) in [
        (400, "", true),
        (401, "", true),
        (400, r#"{"error":"invalid_request","error_description":"Value passed for the token was invalid."}"#, true),
        (403, r#"{"error":{"code":190}}"#, true),
        (200, r#"{"ok":false}"#, true),
        (403, "<html>Forbidden</html>", false),
        (404, "", false),
        (302, "", false),
        (200, "<html></html>", false),
    ] {
        let error = failed(status, body).await;
        let TokenError::NotUnderstood { is_refusal, .. } = &error else { panic!("{status} {body}: {error:?}") };
        assert_eq!(*is_refusal, expected, "{status} {body}: {error:?}");
    }
}

#[tokio::test]
async fn tokens_in_a_form_are_read() {
    let stub = Stub::start(|_, _| {
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        answer(200, &headers, "access_token=at%2F1&refresh_token=rt-1&expires_in=3600&scope=a%2Cb&token_type=bearer")
    })
    .await;
    let tokens = refresh(&provider_at(&stub, scheme())).await.unwrap();
    assert_eq!(tokens.access_token.expose_secret(), "at/1");
    assert_eq!(tokens.refresh_token.unwrap().expose_secret(), "rt-1");
    assert_eq!(tokens.expires_in, Some(Duration::from_secs(3600)));
    assert_eq!(tokens.scopes.unwrap(), ["a", "b"]);
}

#[tokio::test]
async fn the_providers_error_text_is_passed_on() {
    let error =
        failed(400, r#"{"error":"invalid_grant","error_description":"Reauth.","error_subtype":"invalid_rapt"}"#).await;
    let description = Some("invalid_rapt: Reauth.".to_owned());
    assert_eq!(error, TokenError::Refused { error: "invalid_grant".to_owned(), description });
    assert_eq!(error.to_string(), "the provider refused the code or token: invalid_grant (invalid_rapt: Reauth.)");
    let error = failed(400, r#"{"error":"odd","error_description":"Very."}"#).await;
    assert_eq!(error.to_string(), "the provider's response is not understood: status 400 with the error odd (Very.)");
}

#[tokio::test]
async fn secrets_that_the_provider_echoes_are_masked() {
    let stub = Stub::start(|seen, _| {
        let form = form(seen);
        let echo: Vec<_> = form.into_values().collect();
        let body = serde_json::json!({
            "error": echo.join("|"), "error_description": format!("{} {}", String::from_utf8_lossy(&seen.body), echo.join("\r\n")),
        });
        answer(400, &[], body.to_string())
    })
    .await;
    let provider = provider_at(&stub, scheme());
    let texts = [exchange(&provider).await.unwrap_err(), refresh(&provider).await.unwrap_err()];
    for text in texts.map(|error| format!("{error} {error:?}")) {
        for secret in [CODE, VERIFIER, SECRET, REFRESH_TOKEN, "s3cret%2Fwith%2Bsigns"] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
        assert!(text.contains("***"), "{text}");
    }
}

/// In the header of HTTP Basic, the id and the secret are form-encoded, and both together are in
/// base64.
#[tokio::test]
async fn a_client_secret_is_masked_in_each_form_in_which_the_header_has_it() {
    let stub = Stub::start(|seen, _| {
        let header = seen.header("authorization").unwrap().to_owned();
        let decoded = STANDARD.decode(header.strip_prefix("Basic ").unwrap()).unwrap();
        let decoded = String::from_utf8(decoded).unwrap();
        let password = decoded.split_once(':').unwrap().1.to_owned();
        let body = serde_json::json!({"error": password, "error_description": format!("{header} {decoded}")});
        answer(400, &[], body.to_string())
    })
    .await;
    let provider = provider_at(&stub, Oauth2 { client_authentication: ClientAuthentication::Basic, ..scheme() });
    let error = refresh(&provider).await.unwrap_err();
    let text = format!("{error} {error:?}");
    let encoded = "s3cret%2Fwith%2Bsigns%3Aand%3Dmore";
    let header = STANDARD.encode(format!("client%3A1:{encoded}"));
    for secret in [SECRET, encoded, &header, &header[12..30]] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    assert!(text.contains("Basic ***"), "{text}");
}

#[tokio::test]
async fn a_long_error_text_of_the_provider_is_cut() {
    let body = serde_json::json!({ "error": "x".repeat(9999), "error_description": "y".repeat(9999) });
    let text = failed(400, &body.to_string()).await.to_string();
    assert!(text.len() < 500, "{}", text.len());
}

#[tokio::test]
async fn the_providers_retry_after_is_passed_on() {
    let stub = Stub::start(|_, before| match before {
        0 => answer(429, &[("retry-after", "30")], ""),
        _ => answer(200, &[("retry-after", "40")], r#"{"ok":false,"error":"ratelimited"}"#),
    })
    .await;
    let provider = provider_at(&stub, scheme());
    for seconds in [30, 40] {
        match refresh(&provider).await.unwrap_err() {
            TokenError::Unavailable { retry_after, .. } => assert_eq!(retry_after, Some(Duration::from_secs(seconds))),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_failed_token_call_is_not_repeated() {
    let stub = Stub::start(|_, _| answer(503, &[("retry-after", "0")], "")).await;
    refresh(&provider_at(&stub, scheme())).await.unwrap_err();
    assert_eq!(stub.seen().len(), 1);
    let address = raw(|_, stream| async move { drop(stream) }).await;
    let scheme = Oauth2 { token_url: format!("http://{address}/token"), ..scheme() };
    assert_eq!(kind(&refresh(&provider(&scheme)).await.unwrap_err()), "unavailable");
}

#[tokio::test]
async fn a_provider_that_does_not_answer_in_time_is_unavailable() {
    for beginning in ["", "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"] {
        let silent = Arc::new(Notify::new());
        let notifier = Arc::clone(&silent);
        let address = raw(move |_, mut stream| {
            let silent = Arc::clone(&notifier);
            async move {
                assert_ne!(stream.read(&mut [0; 4096]).await.unwrap(), 0);
                stream.write_all(beginning.as_bytes()).await.unwrap();
                silent.notify_one();
                pending().await
            }
        })
        .await;
        let provider = provider(&Oauth2 { token_url: format!("http://{address}/token"), ..scheme() });
        let started = Instant::now();
        // From here on, time advances whenever all tasks are idle.
        let (result, ()) = tokio::join!(refresh(&provider), async {
            silent.notified().await;
            tokio::time::pause();
        });
        let waited = started.elapsed();
        tokio::time::resume();
        let error = result.unwrap_err();
        assert_eq!(kind(&error), "unavailable", "{beginning}: {error:?}");
        assert!((CALL_TIMEOUT..CALL_TIMEOUT + Duration::from_secs(1)).contains(&waited), "{beginning}: {waited:?}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let stub = Stub::start(|_, _| answer(307, &[("location", "/elsewhere")], "")).await;
    let error = exchange(&provider_at(&stub, scheme())).await.unwrap_err();
    assert_eq!(error, TokenError::not_understood("it has status 307 and no error code"));
    assert_eq!(stub.seen().len(), 1);
}

#[tokio::test]
async fn an_answer_over_the_limit_is_not_read_to_its_end() {
    let stub = Stub::start(|_, _| answer(200, &[], vec![b' '; 1 << 20])).await;
    let error = exchange(&provider_at(&stub, scheme())).await.unwrap_err();
    assert_eq!(kind(&error), "not understood", "{error:?}");
}

#[tokio::test]
async fn a_private_address_is_called_only_if_the_operator_allows_it() {
    let stub = Stub::start(|_, _| json(200, r#"{"access_token":"at"}"#)).await;
    let scheme = Oauth2 { token_url: format!("{}/token", stub.url()), ..scheme() };
    let mut config = config();
    config.connectors.clear();
    let error = exchange(
        &Provider::new("demo", &scheme, &AuthAdditions::default(), &config, &Recipients::OfManifest, egress(), None)
            .unwrap(),
    )
    .await
    .unwrap_err();
    assert_eq!(kind(&error), "misconfigured", "{error:?}");
    assert!(error.to_string().contains("allow_private_network"), "{error}");
    assert!(stub.seen().is_empty());
}
