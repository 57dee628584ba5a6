//! JWTs, as an issuer signs them.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};

use crate::{Reply, Upstream};

/// A signing key of the issuer, of one of two algorithms.
pub enum SigningKey {
    /// With its id.
    Es256(String, EcdsaKeyPair),
    /// With its id.
    Ed25519(String, Ed25519KeyPair),
}

impl SigningKey {
    /// A new key.
    ///
    /// # Panics
    /// When the machine has no random numbers.
    pub fn es256(id: &str) -> Self {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        Self::Es256(
            id.to_owned(),
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random).unwrap(),
        )
    }

    /// As [`SigningKey::es256`].
    ///
    /// # Panics
    /// When the machine has no random numbers.
    pub fn ed25519(id: &str) -> Self {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self::Ed25519(id.to_owned(), Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap())
    }

    /// The key as a member of the issuer's JWKS.
    pub fn public(&self) -> Value {
        match self {
            Self::Es256(id, pair) => {
                let point = pair.public_key().as_ref();
                let [x, y] = [&point[1..33], &point[33..]].map(|part| URL_SAFE_NO_PAD.encode(part));
                json!({"kty": "EC", "crv": "P-256", "kid": id, "use": "sig", "alg": "ES256", "x": x, "y": y})
            }
            Self::Ed25519(id, pair) => {
                let x = URL_SAFE_NO_PAD.encode(pair.public_key().as_ref());
                json!({"kty": "OKP", "crv": "Ed25519", "kid": id, "use": "sig", "alg": "EdDSA", "x": x})
            }
        }
    }

    /// The header of its tokens.
    pub fn header(&self) -> Value {
        match self {
            Self::Es256(id, _) => json!({"typ": "JWT", "alg": "ES256", "kid": id}),
            Self::Ed25519(id, _) => json!({"typ": "JWT", "alg": "EdDSA", "kid": id}),
        }
    }

    /// A token with these claims.
    pub fn sign(&self, claims: &Value) -> String {
        self.sign_as(&self.header(), claims)
    }

    /// A token with another header.
    ///
    /// # Panics
    /// When the machine has no random numbers.
    pub fn sign_as(&self, header: &Value, claims: &Value) -> String {
        let text = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string())).join(".");
        let signature = match self {
            Self::Es256(_, pair) => URL_SAFE_NO_PAD.encode(pair.sign(&SystemRandom::new(), text.as_bytes()).unwrap()),
            Self::Ed25519(_, pair) => URL_SAFE_NO_PAD.encode(pair.sign(text.as_bytes())),
        };
        format!("{text}.{signature}")
    }
}

/// The Unix time this many seconds from now.
///
/// # Panics
/// When the clock is before 1970.
pub fn at(offset: i64) -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap() + offset
}

/// Publishes keys at `/jwks.json`.
pub fn publish(issuer: &Upstream, keys: &[&SigningKey]) {
    let keys: Vec<Value> = keys.iter().map(|key| key.public()).collect();
    issuer.reply("/jwks.json", Reply::json(json!({"keys": keys})));
}
