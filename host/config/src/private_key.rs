//! Private keys with which the gateway signs requests for tokens, of the configuration and of
//! accounts.

use ring::signature::RsaKeyPair;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use secrecy::zeroize::Zeroize;
use secrecy::{ExposeSecret, SecretBox, SecretString};
use thiserror::Error;

/// A private key cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("it is not an RSA key of 2048 to 4096 bits in PEM (PKCS#8 or PKCS#1), without a password")]
pub struct BadKey;

/// Reads an RSA key in PEM.
///
/// # Errors
/// If it is another kind of key, too short or too long, or protected by a password.
pub fn rsa_key(pem: &SecretString) -> Result<RsaKeyPair, BadKey> {
    let der = private_key_in(pem).ok_or(BadKey)?;
    let key = match &der {
        PrivateKeyDer::Pkcs8(der) => RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()),
        PrivateKeyDer::Pkcs1(der) => RsaKeyPair::from_der(der.secret_pkcs1_der()),
        _ => return Err(BadKey),
    };
    key.map_err(|_| BadKey)
}

/// The first private key in PEM, of any kind. `None` if there is none.
pub fn private_key_in<S: AsRef<[u8]> + Zeroize + ?Sized>(pem: &SecretBox<S>) -> Option<PrivateKeyDer<'static>> {
    PrivateKeyDer::from_pem_slice(pem.expose_secret().as_ref()).ok()
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    const PKCS8: &[u8] = include_bytes!("../../auth/src/jwt/tests/rsa.pk8");

    fn pem(label: &str, der: &[u8]) -> SecretString {
        format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", STANDARD.encode(der)).into()
    }

    #[test]
    fn rsa_keys_in_both_forms_are_read() {
        assert!(rsa_key(&pem("PRIVATE KEY", PKCS8)).is_ok());
        // The key in the form of PKCS#1 follows the 26 bytes that name its kind.
        assert!(rsa_key(&pem("RSA PRIVATE KEY", &PKCS8[26..])).is_ok());
    }

    #[test]
    fn other_texts_are_no_key() {
        for text in ["", "hunter2", "-----BEGIN PRIVATE KEY-----"] {
            assert_eq!(rsa_key(&text.into()).err(), Some(BadKey));
        }
        assert_eq!(rsa_key(&pem("EC PRIVATE KEY", PKCS8)).err(), Some(BadKey));
        assert_eq!(rsa_key(&pem("PUBLIC KEY", PKCS8)).err(), Some(BadKey));
    }
}
