//! Secrets that a notification repeats, and tokens of an issuer.

use super::*;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use contract::trigger_types::{Claim, JwtAudience, JwtCheck};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};

const URL: &str = "https://gateway.example/hooks/abc";
const KEYS_URL: &str = "https://id.example/certs";

#[test]
fn a_token_is_the_secret_in_a_header_or_in_the_query() {
    let in_header = inbox(Check::Token(header("x-channel-token")));
    let request = |token: &str| Request::post("").header("x-channel-token", token);
    assert!(request("right").verify(&in_header, &["other", "right"]).is_ok());
    for wrong in ["righ", "right2", "RIGHT", ""] {
        assert_eq!(request(wrong).verify(&in_header, &["right"]), Err(Rejection::WrongToken), "{wrong}");
    }
    assert_eq!(request("").verify(&in_header, &[""]), Err(Rejection::WrongToken), "an empty secret is no secret");
    assert_eq!(request("right").verify(&in_header, &[]), Err(Rejection::NoSecret));
    assert_eq!(Request::post("").verify(&in_header, &["right"]), Err(Rejection::NoToken));

    let in_query = inbox(Check::Token(Place::Query("token".to_owned())));
    assert!(Request::post("").query("a=1&token=r%26ght").verify(&in_query, &["r&ght"]).is_ok());
    assert_eq!(
        Request::post("").query("token=x&token=right").verify(&in_query, &["right"]),
        Err(Rejection::WrongToken)
    );
}

struct Issuer {
    pair: EcdsaKeyPair,
    keys: BTreeMap<String, Arc<KeySet>>,
}

impl Issuer {
    fn new() -> Self {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random).unwrap();
        let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
        let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let key = json!({ "kty": "EC", "crv": "P-256", "kid": "1", "x": encode(x), "y": encode(y) });
        let keys = keys(KEYS_URL, &json!({ "keys": [key] }).to_string());
        Self { pair, keys }
    }

    /// The members of `header` and `claims` replace the usual ones, and null removes one.
    fn token(&self, header: Value, claims: Value) -> String {
        let with = |mut usual: Value, over: Value| {
            for (name, value) in over.as_object().unwrap() {
                usual[name] = value.clone();
            }
            usual.as_object_mut().unwrap().retain(|_, value| !value.is_null());
            URL_SAFE_NO_PAD.encode(usual.to_string())
        };
        let usual = json!({
            "iss": "https://id.example", "aud": URL, "exp": NOW + 600, "email": "push@project.example",
            "email_verified": true,
        });
        let message = format!("{}.{}", with(json!({ "alg": "ES256", "kid": "1" }), header), with(usual, claims));
        let signature = self.pair.sign(&SystemRandom::new(), message.as_bytes()).unwrap();
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    fn verify(&self, token: &str, settings: &[(&str, &str)]) -> Result<Verified, Rejection> {
        let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let request = Request::post("{}").header("authorization", token);
        let context = Context { url: URL, settings: &settings, keys: &self.keys };
        crate::verify(&jwt_inbox(), &request.notification(), &[], &context, at(NOW))
    }
}

fn jwt_inbox() -> Inbox {
    inbox(Check::Jwt(JwtCheck {
        place: header("authorization"),
        issuers: vec!["https://id.example".to_owned(), "id.example".to_owned()],
        jwks_url: KEYS_URL.to_owned(),
        audience: JwtAudience::Setting("audience".to_owned()),
        claims: vec![
            ("email".to_owned(), Claim::Setting("account".to_owned())),
            ("email_verified".to_owned(), Claim::Literal("true".to_owned())),
        ],
    }))
}

const ACCOUNT: &[(&str, &str)] = &[("account", "push@project.example")];

#[test]
fn a_jwt_is_for_the_address_or_for_the_operators_audience() {
    let issuer = Issuer::new();
    let token = |claims: Value| format!("Bearer {}", issuer.token(json!({}), claims));
    assert!(issuer.verify(&token(json!({})), ACCOUNT).is_ok());
    assert!(issuer.verify(&issuer.token(json!({}), json!({ "iss": "id.example" })), ACCOUNT).is_ok());
    let own = [("account", "push@project.example"), ("audience", "mine")];
    assert_eq!(issuer.verify(&token(json!({})), &own), Err(Rejection::WrongAudience));
    assert!(issuer.verify(&token(json!({ "aud": ["x", "mine"] })), &own).is_ok());
}

#[test]
fn every_claim_of_a_jwt_is_checked() {
    let issuer = Issuer::new();
    let cases = [
        (json!({ "iss": "https://evil.example" }), Rejection::WrongIssuer),
        (json!({ "iss": null }), Rejection::WrongClaim),
        (json!({ "aud": "https://gateway.example/hooks/abd" }), Rejection::WrongAudience),
        (json!({ "aud": null }), Rejection::WrongClaim),
        (json!({ "exp": NOW - 61 }), Rejection::TooOld),
        (json!({ "exp": null }), Rejection::WrongClaim),
        (json!({ "exp": "soon" }), Rejection::WrongClaim),
        (json!({ "nbf": NOW + 61 }), Rejection::TooNew),
        (json!({ "nbf": "soon" }), Rejection::WrongClaim),
        (json!({ "email": "push@other.example" }), Rejection::WrongClaim),
        (json!({ "email": null }), Rejection::WrongClaim),
        (json!({ "email_verified": false }), Rejection::WrongClaim),
        (json!({ "email_verified": "yes" }), Rejection::WrongClaim),
        (json!({ "email_verified": 1 }), Rejection::WrongClaim),
    ];
    for (claims, expected) in cases {
        let token = issuer.token(json!({}), claims.clone());
        assert_eq!(issuer.verify(&token, ACCOUNT), Err(expected), "{claims}");
    }
    assert!(issuer.verify(&issuer.token(json!({}), json!({ "exp": NOW - 59, "nbf": NOW + 59 })), ACCOUNT).is_ok());
    let token = issuer.token(json!({}), json!({}));
    assert_eq!(issuer.verify(&token, &[]), Err(Rejection::NoSetting), "nothing is verified without the setting");
}

#[test]
fn the_key_of_a_jwt_is_the_issuers() {
    let (issuer, other) = (Issuer::new(), Issuer::new());
    assert_eq!(issuer.verify(&other.token(json!({}), json!({})), ACCOUNT), Err(Rejection::WrongSignature));
    let unknown = issuer.verify(&issuer.token(json!({ "kid": "2" }), json!({})), ACCOUNT).unwrap_err();
    assert_eq!((unknown, unknown.needs_keys()), (Rejection::UnknownKey, true));
    for algorithm in ["none", "HS256", "EdDSA", "PS256"] {
        let token = issuer.token(json!({ "alg": algorithm }), json!({}));
        assert_eq!(issuer.verify(&token, ACCOUNT), Err(Rejection::UnreadableToken), "{algorithm}");
    }
    for token in ["", "Bearer", "Bearer ", "a.b.c", "Basic YTpi", &"a".repeat(20_000)] {
        assert_eq!(issuer.verify(token, ACCOUNT), Err(Rejection::UnreadableToken), "{token}");
    }
    let without_keys = Issuer { keys: BTreeMap::new(), ..issuer };
    let token = without_keys.token(json!({}), json!({}));
    assert_eq!(without_keys.verify(&token, ACCOUNT), Err(Rejection::NoKeys));
}
