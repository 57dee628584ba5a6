use std::time::Duration;

use super::*;

#[tokio::test]
async fn a_refresh_sends_the_refresh_token_and_returns_the_next_one() {
    let stub = Stub::start(|_, _| {
        json(200, r#"{"access_token":"at2","token_type":"bearer","expires_in":28800,"refresh_token":"rt2"}"#)
    })
    .await;
    let tokens = refresh(&provider_at(&stub, scheme())).await.unwrap();
    assert_eq!((access(&tokens), refresh_token(&tokens)), ("at2", Some("rt2")));
    assert_eq!(tokens.expires_in, Some(Duration::from_secs(28_800)));
    let seen = &stub.seen()[0];
    assert_eq!(seen.header("accept"), Some("application/json"));
    assert_eq!(
        fields(&form(seen)),
        [
            "client_id=client:1".to_owned(),
            format!("client_secret={SECRET}"),
            "grant_type=refresh_token".to_owned(),
            format!("refresh_token={REFRESH_TOKEN}"),
        ]
    );
}

#[tokio::test]
async fn the_former_refresh_token_is_kept_if_the_answer_has_none() {
    for body in [
        r#"{"access_token":"at2"}"#,
        r#"{"access_token":"at2","refresh_token":""}"#,
        r#"{"access_token":"at2","refresh_token":null}"#,
    ] {
        let tokens = refreshed(scheme(), 200, body).await.unwrap();
        assert_eq!((access(&tokens), refresh_token(&tokens)), ("at2", Some(REFRESH_TOKEN)), "{body}");
    }
}

#[tokio::test]
async fn tokens_that_are_nested_in_an_exchange_may_be_on_top_in_a_refresh() {
    let scheme = || Oauth2 { token_pointer: "/authed_user".to_owned(), ..scheme() };
    let top = r#"{"ok":true,"access_token":"at2","refresh_token":"rt2","token_type":"user","expires_in":43200}"#;
    assert_eq!(access(&refreshed(scheme(), 200, top).await.unwrap()), "at2");
    let nested = r#"{"ok":true,"access_token":"bot","authed_user":{"access_token":"at2","refresh_token":"rt2"}}"#;
    assert_eq!(access(&refreshed(scheme(), 200, nested).await.unwrap()), "at2");
}

#[tokio::test]
async fn a_refresh_goes_to_the_manifests_url_unless_the_operator_set_a_token_url() {
    let stub = Stub::start(|_, _| json(200, r#"{"access_token":"at"}"#)).await;
    let scheme = Oauth2 { refresh_url: Some(format!("{}/refresh", stub.url())), ..scheme() };
    refresh(&provider_at(&stub, scheme.clone())).await.unwrap();
    exchange(&provider_at(&stub, scheme.clone())).await.unwrap();

    let mut config = config();
    let token_url = Some(format!("{}/replaced", stub.url()).parse().unwrap());
    config.connectors.get_mut("demo").unwrap().oauth = Oauth { token_url, ..Oauth::default() };
    refresh(
        &Provider::new("demo", &scheme, &AuthAdditions::default(), &config, &Recipients::OfManifest, egress(), None)
            .unwrap(),
    )
    .await
    .unwrap();

    let paths: Vec<_> = stub.seen().into_iter().map(|seen| seen.path).collect();
    assert_eq!(paths, ["/refresh", "/token", "/replaced"]);
}
