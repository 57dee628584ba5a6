use super::*;

#[tokio::test]
async fn no_secret_is_sent_to_a_host_that_the_operator_did_not_approve() {
    let tokens = || Tokens {
        access_token: "access-token-1".into(),
        refresh_token: Some(REFRESH_TOKEN.into()),
        expires_in: None,
        scopes: None,
        grant: None,
    };
    for revocation in [contract::Revocation::Form, contract::Revocation::Bearer, contract::Revocation::Delete] {
        let stub = Stub::start(|_, _| json(200, r#"{"access_token": "a", "token_type": "bearer"}"#)).await;
        let url = stub.url();
        let scheme = Oauth2 {
            authorization_url: format!("{url}/authorize"),
            token_url: format!("{url}/token"),
            refresh_url: Some(format!("{url}/refresh")),
            revocation: Some(revocation(format!("{url}/revoke"))),
            ..scheme()
        };
        let others = Recipients::vouched_for(&["acme.example".to_owned()], &Connector::default(), &[]);
        let provider =
            Provider::new("demo", &scheme, &AuthAdditions::default(), &config(), &others, egress(), None).unwrap();
        let failures =
            [exchange(&provider).await.err(), refresh(&provider).await.err(), provider.revoke(&tokens()).await.err()];
        for (failure, endpoint) in failures.into_iter().zip(["token", "refresh", "revocation"]) {
            let Some(TokenError::Misconfigured { error, description }) = failure else { panic!("{failure:?}") };
            let expected = format!("the {endpoint} endpoint is at 127.0.0.1, which was not granted to this connector");
            assert_eq!((error.as_str(), description.as_deref()), ("egress-denied", Some(expected.as_str())));
        }
        assert!(stub.seen().is_empty());

        let approved = Recipients::vouched_for(&["127.0.0.1".to_owned()], &Connector::default(), &[]);
        let provider =
            Provider::new("demo", &scheme, &AuthAdditions::default(), &config(), &approved, egress(), None).unwrap();
        provider.revoke(&tokens()).await.unwrap();
        exchange(&provider).await.unwrap();
        assert_eq!(stub.seen().len(), 2);
    }
}
