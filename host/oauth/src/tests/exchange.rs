use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::Method;

use super::*;

#[tokio::test]
async fn a_code_is_exchanged_with_the_client_in_the_body() {
    let stub = Stub::start(|_, _| {
        json(
            200,
            r#"{"access_token":"at","token_type":"Bearer","expires_in":3600,"refresh_token":"rt","scope":"profile","id_token":"x.y.z"}"#,
        )
    })
    .await;
    let tokens = exchange(&provider_at(&stub, scheme())).await.unwrap();
    assert_eq!((access(&tokens), refresh_token(&tokens)), ("at", Some("rt")));
    assert_eq!(tokens.expires_in, Some(Duration::from_secs(3600)));
    assert_eq!(tokens.scopes, Some(vec!["profile".to_owned()]));

    let [seen] = &stub.seen()[..] else { panic!("one call") };
    assert_eq!((&seen.method, seen.path.as_str()), (&Method::POST, "/token"));
    assert_eq!(seen.header("accept"), Some("application/json"));
    assert_eq!(seen.header("authorization"), None);
    assert_eq!(
        fields(&form(seen)),
        [
            "client_id=client:1".to_owned(),
            format!("client_secret={SECRET}"),
            format!("code={CODE}"),
            format!("code_verifier={VERIFIER}"),
            "grant_type=authorization_code".to_owned(),
            format!("redirect_uri={REDIRECT_URI}"),
        ]
    );
}

#[tokio::test]
async fn a_client_in_the_header_is_form_encoded_before_it_is_base64() {
    let stub = Stub::start(|_, _| json(200, r#"{"access_token":"at","token_type":"bearer"}"#)).await;
    let scheme = Oauth2 { client_authentication: ClientAuthentication::Basic, ..scheme() };
    exchange(&provider_at(&stub, scheme)).await.unwrap();
    let seen = &stub.seen()[0];
    let expected = STANDARD.encode("client%3A1:s3cret%2Fwith%2Bsigns%3Aand%3Dmore");
    assert_eq!(seen.header("authorization"), Some(format!("Basic {expected}").as_str()));
    let form = form(seen);
    assert!(!form.contains_key("client_id") && !form.contains_key("client_secret"), "{form:?}");
}

#[tokio::test]
async fn a_public_client_sends_only_its_id_with_both_kinds_of_client_authentication() {
    for client_authentication in [ClientAuthentication::Basic, ClientAuthentication::Body] {
        let stub = Stub::start(|_, _| json(200, r#"{"access_token":"at","token_type":"bearer"}"#)).await;
        let scheme = Oauth2 { client_authentication, token_url: format!("{}/token", stub.url()), ..scheme() };
        let mut config = config();
        config.oauth_clients.get_mut("acme").unwrap().client.as_mut().unwrap().client_secret = None;
        exchange(
            &Provider::new(
                "demo",
                &scheme,
                &AuthAdditions::default(),
                &config,
                &Recipients::OfManifest,
                egress(),
                None,
            )
            .unwrap(),
        )
        .await
        .unwrap();
        let form = form(&stub.seen()[0]);
        assert_eq!(form["client_id"], "client:1");
        assert!(!form.contains_key("client_secret"));
        assert_eq!(stub.seen()[0].header("authorization"), None);
    }
}

#[tokio::test]
async fn the_manifests_token_parameters_are_added_and_never_replace_those_of_the_protocol() {
    let stub = Stub::start(|_, _| json(200, r#"{"access_token":"at","token_type":"bearer"}"#)).await;
    let parameters = [("request", "token"), ("grant_type", "password"), ("redirect_uri", "https://evil.example")];
    let scheme = Oauth2 {
        token_parameters: parameters.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        ..scheme()
    };
    let provider = provider_at(&stub, scheme);
    exchange(&provider).await.unwrap();
    refresh(&provider).await.unwrap();
    let seen = stub.seen();
    assert_eq!(form(&seen[0])["request"], "token");
    assert_eq!(form(&seen[0])["redirect_uri"], REDIRECT_URI);
    assert_eq!(form(&seen[1])["request"], "token");
    assert_eq!(form(&seen[1])["grant_type"], "refresh_token");
}

#[tokio::test]
async fn a_token_endpoint_with_a_query_is_called_with_it() {
    let stub = Stub::start(|_, _| json(200, r#"{"access_token":"at","token_type":"bearer"}"#)).await;
    let scheme = Oauth2 { token_url: format!("{}/token.php?request=token", stub.url()), ..scheme() };
    exchange(&provider(&scheme)).await.unwrap();
    assert_eq!(stub.seen()[0].path, "/token.php?request=token");
}

/// The user's token and a token for a robot. The manifest's `token-pointer` is `/authed_user`.
const NESTED: &str = r#"{"ok":true,"access_token":"bot-token","token_type":"bot","scope":"commands",
    "authed_user":{"id":"U1","access_token":"user-token","token_type":"user","scope":"channels:read,users:read",
    "refresh_token":"user-refresh","expires_in":43200}}"#;

fn nested() -> Oauth2 {
    Oauth2 { token_pointer: "/authed_user".to_owned(), ..scheme() }
}

#[tokio::test]
async fn nested_tokens_are_read_at_the_manifests_pointer() {
    let tokens = exchanged(nested(), 200, NESTED).await.unwrap();
    assert_eq!((access(&tokens), refresh_token(&tokens)), ("user-token", Some("user-refresh")));
    assert_eq!(tokens.expires_in, Some(Duration::from_secs(43_200)));
    assert_eq!(tokens.scopes.unwrap(), ["channels:read", "users:read"]);
}

#[tokio::test]
async fn a_robots_token_is_never_taken_for_the_users() {
    let body = r#"{"ok":true,"access_token":"bot-token","token_type":"bot","authed_user":{"id":"U1"}}"#;
    let error = exchanged(nested(), 200, body).await.unwrap_err();
    assert_eq!(error, TokenError::not_understood("it has no access token at /authed_user"));
}

#[tokio::test]
async fn scopes_are_read_in_every_spelling() {
    let cases: [(&str, Option<&[&str]>); 6] = [
        (r#""scope":"a b""#, Some(&["a", "b"])),
        (r#""scope":"a,b""#, Some(&["a", "b"])),
        (r#""scope":" a,  b ""#, Some(&["a", "b"])),
        (r#""scope":["a","b"]"#, Some(&["a", "b"])),
        (r#""scope":"""#, Some(&[])),
        (r#""scope":null"#, None),
    ];
    for (member, expected) in cases {
        let stub = Stub::start(move |_, _| answer(200, &[], format!(r#"{{"access_token":"at",{member}}}"#))).await;
        let scopes = exchange(&provider_at(&stub, scheme())).await.unwrap().scopes;
        assert_eq!(scopes, expected.map(|scopes| scopes.iter().map(|scope| (*scope).to_owned()).collect()), "{member}");
    }
}

#[tokio::test]
async fn lifetimes_are_read_in_every_spelling_and_invalid_ones_are_ignored() {
    let ten_years = 10 * 365 * 24 * 60 * 60;
    let cases = [
        ("3600", Some(3600)),
        ("\"3600\"", Some(3600)),
        ("\" 3600 \"", Some(3600)),
        ("3599.9", Some(3599)),
        ("1e3", Some(1000)),
        ("0", None),
        ("-1", None),
        ("\"-3600\"", None),
        ("null", None),
        ("\"soon\"", None),
        ("\"NaN\"", None),
        ("{}", None),
        ("true", None),
        ("1e300", Some(ten_years)),
        ("18446744073709551616", Some(ten_years)),
        ("\"inf\"", Some(ten_years)),
    ];
    for (text, expected) in cases {
        let body = format!(r#"{{"access_token":"at","token_type":"bearer","expires_in":{text}}}"#);
        let stub = Stub::start(move |_, _| answer(200, &[], body.clone())).await;
        let tokens = exchange(&provider_at(&stub, scheme())).await.unwrap();
        assert_eq!(tokens.expires_in, expected.map(Duration::from_secs), "{text}");
    }
}

#[tokio::test]
async fn the_manifests_lifetime_applies_if_the_answer_has_none() {
    let scheme = || Oauth2 { default_lifetime_seconds: Some(7200), ..scheme() };
    let tokens = exchanged(scheme(), 200, r#"{"access_token":"at"}"#).await.unwrap();
    assert_eq!(tokens.expires_in, Some(Duration::from_secs(7200)));
    let tokens = exchanged(scheme(), 200, r#"{"access_token":"at","expires_in":60}"#).await.unwrap();
    assert_eq!(tokens.expires_in, Some(Duration::from_secs(60)));
}

#[tokio::test]
async fn answers_without_a_usable_token_are_not_understood() {
    let cases = [
        ("", "it is not JSON"),
        ("token_type=bearer&expires_in=60", "it is not JSON"),
        ("[]", "it has no access token"),
        ("{}", "it has no access token"),
        (r#"{"access_token":""}"#, "it has no access token"),
        (r#"{"access_token":7}"#, "it has no access token"),
        (r#"{"access_token":"a\nb"}"#, "its access_token contains characters that a token must not contain"),
        (
            r#"{"access_token":"at","refresh_token":"ü"}"#,
            "its refresh_token contains characters that a token must not contain",
        ),
    ];
    for (body, expected) in cases {
        let error = exchanged(scheme(), 200, body).await.unwrap_err();
        assert_eq!(error, TokenError::not_understood(expected), "{body}");
    }
}

#[tokio::test]
async fn the_sealed_form_contains_both_tokens_and_debug_output_shows_neither() {
    let tokens = exchanged(scheme(), 200, r#"{"access_token":"at \"1\"","refresh_token":"rt\\"}"#).await.unwrap();
    let again = Tokens::from_bytes(&tokens.to_bytes()).unwrap();
    assert_eq!((access(&again), refresh_token(&again)), ("at \"1\"", Some("rt\\")));
    let without = Tokens { refresh_token: None, ..tokens };
    assert_eq!(without.to_bytes().expose_secret(), br#"{"access_token":"at \"1\""}"#);
    assert_eq!(refresh_token(&Tokens::from_bytes(&without.to_bytes()).unwrap()), None);
    for text in [format!("{without:?}"), format!("{:?}", without.to_bytes())] {
        assert!(!text.contains("at \\\""), "{text}");
    }
    assert!(Tokens::from_bytes(&b"{}".to_vec().into()).is_err());
}
