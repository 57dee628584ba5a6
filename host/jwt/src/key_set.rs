//! The public keys of an issuer (RFC 7517) that can be used, and their algorithms.

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, KeyOperations, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use serde_json::Value;

/// Largest number of keys of one issuer. A token that names no key is tried with each of them.
const MAX_KEYS: usize = 64;

/// The keys that an issuer published at one moment.
pub struct KeySet {
    keys: Vec<Key>,
}

/// A public key that verifies signatures.
pub(super) struct Key {
    id: Option<String>,
    algorithms: Vec<Algorithm>,
    pub(super) decoding: DecodingKey,
}

#[derive(Deserialize)]
struct Document {
    keys: Vec<Value>,
}

impl KeySet {
    /// Reads a JSON Web Key Set. Returns `None` if the text is not one. Keys that cannot be used
    /// here are skipped.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let document: Document = serde_json::from_slice(json_text::without_mark(text)).ok()?;
        Some(Self { keys: document.keys.into_iter().filter_map(Key::new).take(MAX_KEYS).collect() })
    }

    /// The keys with the id that a token names, or all keys if it names no key.
    pub(super) fn named<'a>(&'a self, id: Option<&'a str>) -> impl Iterator<Item = &'a Key> {
        self.keys.iter().filter(move |key| id.is_none() || key.id.as_deref() == id)
    }
}

impl Key {
    fn new(value: Value) -> Option<Self> {
        let jwk: Jwk = serde_json::from_value(value).ok()?;
        let is_for_signatures = matches!(jwk.common.public_key_use, None | Some(PublicKeyUse::Signature))
            && jwk.common.key_operations.as_ref().is_none_or(|operations| operations.contains(&KeyOperations::Verify));
        // A symmetric key (`oct`) is skipped: in a public document, it is no secret.
        let possible: &[Algorithm] = match &jwk.algorithm {
            AlgorithmParameters::RSA(_) => &[Algorithm::RS256, Algorithm::PS256],
            AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => &[Algorithm::ES256],
            AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => &[Algorithm::EdDSA],
            _ => &[],
        };
        let is_allowed = |algorithm: &&Algorithm| {
            jwk.common.key_algorithm.is_none_or(|allowed| allowed == KeyAlgorithm::from(**algorithm))
        };
        let algorithms: Vec<_> = possible.iter().filter(is_allowed).copied().collect();
        if !is_for_signatures || algorithms.is_empty() {
            return None;
        }
        Some(Self { decoding: DecodingKey::from_jwk(&jwk).ok()?, algorithms, id: jwk.common.key_id })
    }

    /// Returns `true` if the key may be used with this algorithm.
    pub(super) fn is_for(&self, algorithm: Algorithm) -> bool {
        self.algorithms.contains(&algorithm)
    }
}
