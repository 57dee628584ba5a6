//! The cryptography of the JWT library, by *ring*, which TLS uses already. It verifies signatures
//! and cannot create them.

use jsonwebtoken::crypto::{CryptoProvider, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::signature::{Error, Verifier};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, DecodingKeyKind};
use ring::error::Unspecified;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey,
};

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |_, _| Err(ErrorKind::UnsupportedAlgorithm.into()),
    verifier_factory: |algorithm, key| Ok(Box::new(KeyVerifier { algorithm: *algorithm, key: key.clone() })),
    // Only needed to derive public keys from private ones.
    key_utils: KeyUtils::new_unimplemented(),
};

/// Makes the library use *ring*. Must be called before it verifies a signature.
pub(super) fn install() {
    // An error means that a provider is installed already.
    let _ = PROVIDER.install_default();
}

/// Verifies signatures of one key.
struct KeyVerifier {
    algorithm: Algorithm,
    key: DecodingKey,
}

impl KeyVerifier {
    /// Fails for any pair except the four algorithms with a key of their kind. So a public key is
    /// never used as an HMAC secret.
    fn check(&self, message: &[u8], signature: &[u8]) -> std::result::Result<(), Unspecified> {
        match (self.algorithm, self.key.family(), self.key.kind()) {
            (Algorithm::RS256, AlgorithmFamily::Rsa, DecodingKeyKind::RsaModulusExponent { n, e }) => {
                RsaPublicKeyComponents { n, e }.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
            }
            (Algorithm::PS256, AlgorithmFamily::Rsa, DecodingKeyKind::RsaModulusExponent { n, e }) => {
                RsaPublicKeyComponents { n, e }.verify(&RSA_PSS_2048_8192_SHA256, message, signature)
            }
            (Algorithm::ES256, AlgorithmFamily::Ec, DecodingKeyKind::SecretOrDer(point)) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature)
            }
            (Algorithm::EdDSA, AlgorithmFamily::Ed, DecodingKeyKind::SecretOrDer(point)) => {
                UnparsedPublicKey::new(&ED25519, point).verify(message, signature)
            }
            _ => Err(Unspecified),
        }
    }
}

impl Verifier<Vec<u8>> for KeyVerifier {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
        self.check(message, signature).map_err(|_| Error::new())
    }
}

impl JwtVerifier for KeyVerifier {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}
