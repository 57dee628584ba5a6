use super::*;
use crate::Scopes;

#[tokio::test]
async fn a_token_identifies_its_subject_with_the_tenant_and_scopes_of_the_settings() {
    let pair = Pair::ec();
    let published = Published::new(&[pair.jwk("1", json!({}))]).await;
    let issuers = published.issuers();
    let token = pair.sign(es256("1"), &claims(json!({ "scope": "admin", "tenant": "other", "aud": ["x", AUDIENCE] })));
    assert!(issuers.may_know(&token));
    let caller = issuers.verify(&token).await.unwrap();
    let expected = Caller {
        tenant: "acme".to_owned(),
        subject: Some("ann".to_owned()),
        key_id: None,
        scopes: [Scope::Operate, Scope::Integrate].into_iter().collect(),
        limits: None,
        confirms: false,
        person: None,
        session: None,
        token_ends_at: caller.token_ends_at,
    };
    assert_eq!(caller, expected);
    assert!(caller.token_ends_at.unwrap() > std::time::SystemTime::now());
    assert!(caller.require(Scope::Admin).is_err());
    issuers.verify(&token).await.unwrap();
    assert_eq!(published.fetches(), 1, "the keys are fetched once");
    assert_eq!(published.stub.seen()[0].path, "/keys?v=1");
}

#[tokio::test]
async fn all_four_algorithms_are_accepted() {
    let (ec, ed, rsa) = (Pair::ec(), Pair::ed(), Pair::rsa());
    let keys = [
        ec.jwk("ec", json!({ "alg": "ES256" })),
        ed.jwk("ed", json!({ "alg": "EdDSA" })),
        rsa.jwk("rs", json!({ "alg": "RS256" })),
        rsa.jwk("ps", json!({ "alg": "PS256" })),
        rsa.jwk("any", json!({})),
    ];
    let issuers = Published::new(&keys).await;
    let issuers = issuers.issuers();
    let cases = [
        (&ec, "ES256", "ec"),
        (&ed, "EdDSA", "ed"),
        (&rsa, "RS256", "rs"),
        (&rsa, "PS256", "ps"),
        (&rsa, "RS256", "any"),
        (&rsa, "PS256", "any"),
    ];
    for (pair, algorithm, id) in cases {
        let token = pair.sign(json!({ "alg": algorithm, "kid": id }), &claims(json!({})));
        assert!(issuers.verify(&token).await.is_ok(), "{algorithm} {id}");
    }
}

#[tokio::test]
async fn the_key_decides_the_algorithm_and_not_the_token() {
    let (ec, rsa) = (Pair::ec(), Pair::rsa());
    let published = Published::new(&[
        ec.jwk("ec", json!({})),
        rsa.jwk("rs", json!({ "alg": "RS256" })),
        json!({ "kty": "oct", "kid": "oct", "k": encode("a secret that everyone knows") }),
        ec.jwk("enc", json!({ "use": "enc" })),
        ec.jwk("ops", json!({ "key_ops": ["sign"] })),
    ])
    .await;
    let issuers = published.issuers();
    let claims = claims(json!({}));
    let verify = async |header: Value| issuers.verify(&rsa.sign(header, &claims)).await.unwrap_err();
    assert_eq!(verify(json!({ "alg": "PS256", "kid": "rs" })).await, JwtError::WrongAlgorithm);
    assert_eq!(verify(json!({ "alg": "RS256", "kid": "ec" })).await, JwtError::WrongAlgorithm);
    for algorithm in ["none", "None", "HS256", "HS512", "RS512", "ES384", "", "RS256 "] {
        assert_eq!(verify(json!({ "alg": algorithm, "kid": "rs" })).await, JwtError::Unreadable, "{algorithm}");
    }

    // The public key as the secret of an HMAC.
    let public = ec.jwk("ec", json!({})).to_string();
    for id in ["ec", "oct"] {
        let message =
            format!("{}.{}", encode(json!({ "alg": "HS256", "kid": id }).to_string()), encode(claims.to_string()));
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, public.as_bytes()), message.as_bytes());
        assert_eq!(issuers.verify(&format!("{message}.{}", encode(tag))).await, Err(JwtError::Unreadable));
    }
    // A token without a signature.
    let unsigned = format!("{}.{}.", encode(r#"{"alg":"ES256","kid":"ec"}"#), encode(claims.to_string()));
    assert_eq!(issuers.verify(&unsigned).await, Err(JwtError::WrongSignature));
    // Keys for other uses are ignored.
    for id in ["enc", "ops"] {
        assert_eq!(issuers.verify(&ec.sign(es256(id), &claims)).await, Err(JwtError::UnknownKey), "{id}");
    }
}

#[tokio::test]
async fn claims_are_checked_against_the_settings() {
    let pair = Pair::ec();
    let published = Published::new(&[pair.jwk("1", json!({}))]).await;
    let issuers = published.issuers();
    let cases = [
        (json!({ "aud": "another" }), JwtError::WrongAudience),
        (json!({ "aud": ["another", "Gateway"] }), JwtError::WrongAudience),
        (json!({ "aud": [] }), JwtError::WrongAudience),
        (json!({ "aud": 7 }), JwtError::WrongAudience),
        (json!({ "aud": null }), JwtError::Claim("aud")),
        (json!({ "iss": "https://evil.example" }), JwtError::UnknownIssuer),
        (json!({ "iss": format!("{ISSUER}/") }), JwtError::UnknownIssuer),
        (json!({ "iss": [ISSUER] }), JwtError::Claim("iss")),
        (json!({ "iss": null }), JwtError::Claim("iss")),
        (json!({ "sub": null }), JwtError::Claim("sub")),
        (json!({ "sub": "" }), JwtError::Claim("sub")),
        (json!({ "sub": 7 }), JwtError::Claim("sub")),
        (json!({ "sub": "a\nb" }), JwtError::Claim("sub")),
        (json!({ "sub": "a".repeat(256) }), JwtError::Claim("sub")),
        (json!({ "exp": null }), JwtError::Claim("exp")),
        (json!({ "exp": "tomorrow" }), JwtError::Claim("exp")),
        (json!({ "exp": -1 }), JwtError::Claim("exp")),
        (json!({ "nbf": "tomorrow" }), JwtError::Claim("nbf")),
    ];
    for (over, expected) in cases {
        let token = pair.sign(es256("1"), &claims(over.clone()));
        assert_eq!(issuers.verify(&token).await, Err(expected), "{over}");
    }
}

#[tokio::test]
async fn clocks_may_differ_by_a_minute() {
    let pair = Pair::ec();
    let published = Published::new(&[pair.jwk("1", json!({}))]).await;
    let issuers = published.issuers();
    let cases = [
        (json!({ "exp": time(-30) }), Ok(())),
        (json!({ "exp": time(-90) }), Err(JwtError::Expired)),
        (json!({ "nbf": time(30) }), Ok(())),
        (json!({ "nbf": time(90) }), Err(JwtError::NotYetValid)),
        (json!({ "exp": 1e300 }), Err(JwtError::Claim("exp"))),
        (json!({ "exp": u64::MAX }), Ok(())),
    ];
    for (over, expected) in cases {
        let token = pair.sign(es256("1"), &claims(over.clone()));
        assert_eq!(issuers.verify(&token).await.map(|_| ()), expected, "{over}");
    }
}

#[tokio::test]
async fn changed_tokens_and_other_text_are_refused() {
    let pair = Pair::ec();
    let published = Published::new(&[pair.jwk("1", json!({}))]).await;
    let issuers = published.issuers();
    let token = pair.sign(es256("1"), &claims(json!({})));
    let parts: Vec<_> = token.split('.').collect();
    let other_key = Pair::ec().sign(es256("1"), &claims(json!({})));
    let changed = encode(claims(json!({ "sub": "eve" })).to_string());
    for forged in [other_key, format!("{}.{changed}.{}", parts[0], parts[2]), format!("{}.{}.", parts[0], parts[1])] {
        assert_eq!(issuers.verify(&forged).await, Err(JwtError::WrongSignature), "{forged}");
    }
    let long = format!("{}.{}.{}", parts[0], "a".repeat(20_000), parts[2]);
    for odd in ["..", "a.b.c", "eyJ.eyJ.", &format!("{}.e30", parts[0]), &format!("{token}.x"), &long] {
        assert_eq!(issuers.verify(odd).await, Err(JwtError::Unreadable), "{odd}");
    }
    let critical = json!({ "alg": "ES256", "kid": "1", "crit": ["b64"], "b64": false });
    assert_eq!(issuers.verify(&pair.sign(critical, &claims(json!({})))).await, Err(JwtError::Critical));
}

#[tokio::test]
async fn the_tenant_comes_from_the_token_if_the_operator_names_a_claim() {
    let pair = Pair::ec();
    let published = Published::new(&[pair.jwk("1", json!({}))]).await;
    let tenant = TenantOf::Claim("https://acme.example/org".to_owned());
    let issuers = published.with(JwtIssuer { tenant, scopes: Scopes::default(), ..published.settings() });
    let verify = async |over: Value| issuers.verify(&pair.sign(es256("1"), &claims(over))).await;
    assert_eq!(verify(json!({ "https://acme.example/org": "blue" })).await.unwrap().tenant, "blue");
    for over in [json!({}), json!({ "https://acme.example/org": "" }), json!({ "https://acme.example/org": ["a"] })] {
        assert_eq!(verify(over).await, Err(JwtError::NoTenant));
    }
}

#[tokio::test]
async fn two_settings_of_one_issuer_are_distinguished_by_their_audience() {
    let (red, blue) = (Pair::ec(), Pair::ec());
    let (at_red, at_blue) =
        (Published::new(&[red.jwk("1", json!({}))]).await, Published::new(&[blue.jwk("1", json!({}))]).await);
    let settings_of = |published: &Published, name: &str| JwtIssuer {
        audience: name.to_owned(),
        tenant: TenantOf::Issuer(name.to_owned()),
        ..published.settings()
    };
    let settings =
        [("a".to_owned(), settings_of(&at_red, "red")), ("b".to_owned(), settings_of(&at_blue, "blue"))].into();
    let issuers = JwtIssuers::new(&settings, &egress()).unwrap();
    let token = |pair: &Pair, audience: &str| pair.sign(es256("1"), &claims(json!({ "aud": audience })));
    assert_eq!(issuers.verify(&token(&blue, "blue")).await.unwrap().tenant, "blue");
    assert_eq!(issuers.verify(&token(&red, "red")).await.unwrap().tenant, "red");
    assert_eq!(issuers.verify(&token(&red, "blue")).await, Err(JwtError::WrongSignature));
}

#[test]
fn only_a_token_with_two_dots_may_be_a_jwt_and_only_with_a_trusted_issuer() {
    assert!(!JwtIssuers::none().may_know("a.b.c"));
    let settings = JwtIssuer {
        issuer: ISSUER.to_owned(),
        audience: AUDIENCE.to_owned(),
        jwks_url: "https://id.acme.example/keys".parse().unwrap(),
        tenant: TenantOf::Issuer("acme".to_owned()),
        scopes: Scopes::default(),
        allow_private_network: false,
    };
    let issuers = JwtIssuers::new(&[("acme".to_owned(), settings)].into(), &egress()).unwrap();
    assert!(issuers.may_know("a.b.c"));
    assert!(!issuers.may_know("a.b") && !issuers.may_know("chosen-key") && !issuers.may_know("a.b.c.d.e"));
}
