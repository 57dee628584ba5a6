//! Tests with issuers on loopback, whose keys the tests make and replace.

mod rings;
mod rotation;
mod tokens;

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::future::join_all;
use jsonwebtoken::get_current_timestamp;
use parking_lot::Mutex;
use ring::hmac;
use ring::rand::SystemRandom;
use ring::rsa;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RSA_PSS_SHA256,
    RsaEncoding, RsaKeyPair,
};
use serde_json::{Value, json};

use super::issuers::Issuer;
use super::*;
use crate::Scope;
use crate::caller::Caller;
use egress::Egress;
use jwt::JwtError;
use stub::{Stub, answer};

const ISSUER: &str = "https://id.acme.example";
const AUDIENCE: &str = "gateway";

/// A key pair of an issuer.
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

    /// *ring* cannot generate RSA keys, so all tests share this one, which is used nowhere else.
    fn rsa() -> Self {
        Self::Rsa(RsaKeyPair::from_pkcs8(include_bytes!("rsa.pk8")).unwrap())
    }

    /// The public key as the issuer publishes it. The members of `over` replace the usual ones.
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

/// The time in this many seconds.
fn time(seconds: i64) -> u64 {
    get_current_timestamp().saturating_add_signed(seconds)
}

/// Claims that are valid for ten minutes. The members of `over` replace the usual ones, and null
/// removes one.
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

/// An issuer whose keys can be replaced, and whose endpoint can fail.
struct Published {
    stub: Stub,
    answer: Arc<Mutex<(u16, Value)>>,
}

impl Published {
    async fn new(keys: &[Value]) -> Self {
        let shown = Arc::new(Mutex::new((200, json!({ "keys": keys }))));
        let shared = Arc::clone(&shown);
        let stub = Stub::start(move |_, _| {
            let (status, keys) = shared.lock().clone();
            answer(status, &[("content-type", "application/jwk-set+json")], keys.to_string())
        })
        .await;
        Self { stub, answer: shown }
    }

    fn publish(&self, keys: &[Value]) {
        *self.answer.lock() = (200, json!({ "keys": keys }));
    }

    fn fail(&self) {
        self.answer.lock().0 = 500;
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

    /// Issuers that fetch for each unknown key, without a delay.
    fn eager(&self) -> JwtIssuers {
        let mut issuers = self.issuers();
        issuers.issuers = issuers
            .issuers
            .into_iter()
            .map(|issuer| Issuer { keys: issuer.keys.with_backoff(Duration::ZERO), ..issuer })
            .collect();
        issuers
    }
}

/// An HTTP client with the system's resolver.
fn egress() -> Egress {
    Egress::new(&egress::Settings::default()).unwrap()
}
