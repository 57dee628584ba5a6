use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::get_current_timestamp;
use ring::hmac;
use ring::rand::SystemRandom;
use ring::rsa;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RSA_PSS_SHA256,
    RsaEncoding, RsaKeyPair,
};
use serde_json::json;

use super::*;
use crate::egress::testing::{Stub, answer, egress};
use crate::store::{Scope, Scopes};

const ISSUER: &str = "https://id.acme.example";
const AUDIENCE: &str = "gateway";

/// A key pair of an issuer's.
enum Pair {
    Ec(EcdsaKeyPair),
    Ed(Ed25519KeyPair),
    Rsa(RsaKeyPair),
}

impl Pair {
    fn ec() -> Self {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        Self::Ec(EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random).unwrap())
    }

    fn ed() -> Self {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self::Ed(Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap())
    }

    /// *ring* makes none, so there is one for all tests; it is nobody's.
    fn rsa() -> Self {
        Self::Rsa(RsaKeyPair::from_pkcs8(include_bytes!("tests/rsa.pk8")).unwrap())
    }

    /// As the issuer publishes it, with other members over it.
    fn jwk(&self, id: &str, over: Value) -> Value {
        let mut jwk = match self {
            Self::Ec(pair) => {
                let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
                json!({ "kty": "EC", "crv": "P-256", "x": encode(x), "y": encode(y) })
            }
            Self::Ed(pair) => json!({ "kty": "OKP", "crv": "Ed25519", "x": encode(pair.public_key().as_ref()) }),
            Self::Rsa(pair) => {
                let key = rsa::PublicKeyComponents::<Vec<u8>>::from(pair.public());
                json!({ "kty": "RSA", "n": encode(&key.n), "e": encode(&key.e) })
            }
        };
        jwk["kid"] = id.into();
        jwk["use"] = "sig".into();
        jwk.as_object_mut().unwrap().extend(over.as_object().cloned().unwrap_or_default());
        jwk
    }

    fn sign(&self, header: Value, claims: &Value) -> String {
        let message = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
        let signature = match self {
            Self::Ec(pair) => pair.sign(&SystemRandom::new(), message.as_bytes()).unwrap().as_ref().to_vec(),
            Self::Ed(pair) => pair.sign(message.as_bytes()).as_ref().to_vec(),
            Self::Rsa(pair) => {
                let padding: &dyn RsaEncoding =
                    if header["alg"] == "PS256" { &RSA_PSS_SHA256 } else { &RSA_PKCS1_SHA256 };
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(padding, &SystemRandom::new(), message.as_bytes(), &mut signature).unwrap();
                signature
            }
        };
        format!("{message}.{}", encode(signature))
    }
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn es256(id: &str) -> Value {
    json!({ "alg": "ES256", "kid": id, "typ": "JWT" })
}

/// Seconds from now.
fn time(seconds: i64) -> u64 {
    get_current_timestamp().saturating_add_signed(seconds)
}

/// Good for ten minutes, with other members over it.
fn claims(over: Value) -> Value {
    let mut claims = json!({ "iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "exp": time(600) });
    for (name, value) in over.as_object().unwrap() {
        if value.is_null() {
            claims.as_object_mut().unwrap().remove(name);
        } else {
            claims[name] = value.clone();
        }
    }
    claims
}

/// An issuer whose keys can be exchanged, and whose endpoint can fail.
struct Published {
    stub: Stub,
    answer: Arc<Mutex<(u16, Value)>>,
}

impl Published {
    async fn new(keys: &[Value]) -> Self {
        let shown = Arc::new(Mutex::new((200, json!({ "keys": keys }))));
        let shared = Arc::clone(&shown);
        let stub = Stub::start(move |_, _| {
            let (status, keys) = shared.lock().unwrap().clone();
            answer(status, &[("content-type", "application/jwk-set+json")], keys.to_string())
        })
        .await;
        Self { stub, answer: shown }
    }

    fn publish(&self, keys: &[Value]) {
        *self.answer.lock().unwrap() = (200, json!({ "keys": keys }));
    }

    fn fail(&self) {
        self.answer.lock().unwrap().0 = 500;
    }

    fn fetches(&self) -> usize {
        self.stub.seen().len()
    }

    fn settings(&self) -> JwtIssuer {
        JwtIssuer {
            issuer: ISSUER.to_owned(),
            audience: AUDIENCE.to_owned(),
            jwks_url: format!("{}/keys?v=1", self.stub.url()).parse().unwrap(),
            tenant: TenantOf::Issuer("acme".to_owned()),
            scopes: [Scope::Operate, Scope::Integrate].into_iter().collect(),
            allow_private_network: true,
        }
    }

    fn issuers(&self) -> JwtIssuers {
        self.with(self.settings())
    }

    fn with(&self, settings: JwtIssuer) -> JwtIssuers {
        JwtIssuers::new(&[("acme".to_owned(), settings)].into(), &egress()).unwrap()
    }

    /// That fetch for each unknown key.
    fn eager(&self) -> JwtIssuers {
        let mut issuers = self.issuers();
        issuers.issuers = issuers
            .issuers
            .into_iter()
            .map(|issuer| Issuer { source: issuer.source.asking_every(Duration::ZERO), ..issuer })
            .collect();
        issuers
    }
}

#[tokio::test]
async fn a_good_token_speaks_for_its_subject_within_the_issuers_bounds() {
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
    };
    assert_eq!(caller, expected);
    assert!(caller.require(Scope::Admin).is_err());
    issuers.verify(&token).await.unwrap();
    assert_eq!(published.fetches(), 1, "keys are kept");
    assert_eq!(published.stub.seen()[0].path, "/keys?v=1");
}

#[tokio::test]
async fn all_four_algorithms_are_taken() {
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
async fn the_key_decides_on_the_algorithm_and_not_the_token() {
    let (ec, rsa) = (Pair::ec(), Pair::rsa());
    let published = Published::new(&[
        ec.jwk("ec", json!({})),
        rsa.jwk("rs", json!({ "alg": "RS256" })),
        json!({ "kty": "oct", "kid": "oct", "k": encode("a secret that everybody knows") }),
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
    // Keys for something else are as good as not there.
    for id in ["enc", "ops"] {
        assert_eq!(issuers.verify(&ec.sign(es256(id), &claims)).await, Err(JwtError::UnknownKey), "{id}");
    }
}

#[tokio::test]
async fn claims_are_held_against_the_settings() {
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
async fn what_was_changed_or_is_no_token_is_refused() {
    let pair = Pair::ec();
    let published = Published::new(&[pair.jwk("1", json!({}))]).await;
    let issuers = published.issuers();
    let token = pair.sign(es256("1"), &claims(json!({})));
    let parts: Vec<_> = token.split('.').collect();
    let theirs = Pair::ec().sign(es256("1"), &claims(json!({})));
    let changed = encode(claims(json!({ "sub": "eve" })).to_string());
    for forged in [theirs, format!("{}.{changed}.{}", parts[0], parts[2]), format!("{}.{}.", parts[0], parts[1])] {
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
async fn a_tenant_may_come_from_the_token_where_the_operator_says_so() {
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
async fn a_key_that_the_issuer_begins_to_use_is_found_and_one_withdrawn_is_forgotten() {
    let (old, new) = (Pair::ec(), Pair::ec());
    let published = Published::new(&[old.jwk("old", json!({}))]).await;
    let issuers = published.eager();
    let (by_old, by_new) = (old.sign(es256("old"), &claims(json!({}))), new.sign(es256("new"), &claims(json!({}))));
    issuers.verify(&by_old).await.unwrap();
    assert_eq!(issuers.verify(&by_new).await, Err(JwtError::UnknownKey));
    published.publish(&[new.jwk("new", json!({}))]);
    issuers.verify(&by_new).await.unwrap();
    assert_eq!(issuers.verify(&by_old).await, Err(JwtError::UnknownKey));
}

#[tokio::test]
async fn keys_without_names_are_followed_too() {
    let (old, new) = (Pair::ec(), Pair::ec());
    let published = Published::new(&[old.jwk("1", json!({ "kid": null }))]).await;
    let issuers = published.eager();
    let token = |pair: &Pair| pair.sign(json!({ "alg": "ES256" }), &claims(json!({})));
    issuers.verify(&token(&old)).await.unwrap();
    assert_eq!(issuers.verify(&token(&new)).await, Err(JwtError::UnknownKey));
    published.publish(&[old.jwk("1", json!({})), new.jwk("2", json!({}))]);
    issuers.verify(&token(&new)).await.unwrap();
    issuers.verify(&token(&old)).await.unwrap();
}

#[tokio::test]
async fn a_storm_of_unknown_keys_makes_one_fetch() {
    let pair = Pair::ec();
    let published = Published::new(&[pair.jwk("1", json!({}))]).await;
    let issuers = published.issuers();
    let tokens: Vec<_> =
        (0..200).map(|number| pair.sign(es256(&format!("made-up-{number}")), &claims(json!({})))).collect();
    let answers = join_all(tokens.iter().map(|token| issuers.verify(token))).await;
    assert!(answers.iter().all(|answer| answer == &Err(JwtError::UnknownKey)));
    assert_eq!(published.fetches(), 1);
    issuers.verify(&pair.sign(es256("1"), &claims(json!({})))).await.unwrap();
    assert_eq!(published.fetches(), 1);
}

#[tokio::test]
async fn keys_stay_in_use_while_the_issuer_fails() {
    let pair = Pair::ec();
    let published = Published::new(&[pair.jwk("1", json!({}))]).await;
    let issuers = published.eager();
    let token = pair.sign(es256("1"), &claims(json!({})));
    issuers.verify(&token).await.unwrap();
    published.fail();
    assert_eq!(issuers.verify(&pair.sign(es256("2"), &claims(json!({})))).await, Err(JwtError::UnknownKey));
    issuers.verify(&token).await.unwrap();
    *published.answer.lock().unwrap() = (200, json!("no keys at all"));
    assert_eq!(issuers.verify(&pair.sign(es256("2"), &claims(json!({})))).await, Err(JwtError::UnknownKey));
    issuers.verify(&token).await.unwrap();
}

#[tokio::test]
async fn without_any_keys_it_is_not_the_callers_fault() {
    let pair = Pair::ec();
    let published = Published::new(&[pair.jwk("1", json!({}))]).await;
    published.fail();
    let issuers = published.issuers();
    let token = pair.sign(es256("1"), &claims(json!({})));
    for _ in 0..10 {
        assert_eq!(issuers.verify(&token).await, Err(JwtError::KeysUnavailable));
    }
    assert_eq!(published.fetches(), 1);
}

#[tokio::test]
async fn a_private_address_is_the_operators_to_allow() {
    let pair = Pair::ec();
    let published = Published::new(&[pair.jwk("1", json!({}))]).await;
    let issuers = published.with(JwtIssuer { allow_private_network: false, ..published.settings() });
    let token = pair.sign(es256("1"), &claims(json!({})));
    assert_eq!(issuers.verify(&token).await, Err(JwtError::KeysUnavailable));
    assert_eq!(published.fetches(), 0);
}

#[tokio::test]
async fn two_issuers_of_one_name_are_told_apart_by_their_audience() {
    let (red, blue) = (Pair::ec(), Pair::ec());
    let (at_red, at_blue) =
        (Published::new(&[red.jwk("1", json!({}))]).await, Published::new(&[blue.jwk("1", json!({}))]).await);
    let of = |published: &Published, name: &str| JwtIssuer {
        audience: name.to_owned(),
        tenant: TenantOf::Issuer(name.to_owned()),
        ..published.settings()
    };
    let settings = [("a".to_owned(), of(&at_red, "red")), ("b".to_owned(), of(&at_blue, "blue"))].into();
    let issuers = JwtIssuers::new(&settings, &egress()).unwrap();
    let token = |pair: &Pair, audience: &str| pair.sign(es256("1"), &claims(json!({ "aud": audience })));
    assert_eq!(issuers.verify(&token(&blue, "blue")).await.unwrap().tenant, "blue");
    assert_eq!(issuers.verify(&token(&red, "red")).await.unwrap().tenant, "red");
    assert_eq!(issuers.verify(&token(&red, "blue")).await, Err(JwtError::WrongSignature));
}

#[tokio::test]
async fn keys_are_fetched_before_anybody_calls() {
    let pair = Pair::ec();
    let published = Published::new(&[pair.jwk("1", json!({}))]).await;
    let issuers = published.issuers();
    let watching = issuers.follow();
    let fetched = async {
        while issuers.issuers[0].source.current().is_none() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        () = watching => panic!("it ended"),
        () = fetched => {}
    }
    issuers.verify(&pair.sign(es256("1"), &claims(json!({})))).await.unwrap();
    assert_eq!(published.fetches(), 1);
}

#[test]
fn what_has_no_two_dots_is_no_jwt_and_without_issuers_nothing_is() {
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
