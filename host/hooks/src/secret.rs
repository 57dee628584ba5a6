//! The secrets of an inbox, and their comparison in constant time.

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use contract::trigger_types::{CheckEncoding, CheckHash, CheckSecret};
use ring::hmac;
use secrecy::{ExposeSecret, SecretSlice, SecretString};

/// The text before a secret of Standard Webhooks.
const PREFIX: &str = "whsec_";

/// Base64 with or without padding.
pub(crate) const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The key of an HMAC. `None` for a secret that is empty or not of its form: an empty key would let
/// anyone sign.
pub(crate) fn hmac_key(secret: &SecretString, form: CheckSecret, hash: CheckHash) -> Option<hmac::Key> {
    let text = secret.expose_secret();
    let algorithm = match hash {
        CheckHash::Sha1 => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
        CheckHash::Sha256 => hmac::HMAC_SHA256,
        CheckHash::Sha512 => hmac::HMAC_SHA512,
    };
    let key = |bytes: &[u8]| (!bytes.is_empty()).then(|| hmac::Key::new(algorithm, bytes));
    match form {
        CheckSecret::Text => key(text.as_bytes()),
        CheckSecret::Base64 => {
            let bytes = BASE64.decode(text.strip_prefix(PREFIX).unwrap_or(text)).ok()?;
            key(SecretSlice::from(bytes).expose_secret())
        }
    }
}

/// A signature as a service writes it.
pub(crate) fn encoded(tag: &[u8], encoding: CheckEncoding) -> String {
    match encoding {
        CheckEncoding::Hex => hex(tag),
        CheckEncoding::Base64 => BASE64.encode(tag),
    }
}

/// The bytes of a signature. `None` if it is not of its form.
pub(crate) fn decoded(signature: &str, encoding: CheckEncoding) -> Option<Vec<u8>> {
    match encoding {
        CheckEncoding::Hex => from_hex(signature),
        CheckEncoding::Base64 => BASE64.decode(signature).ok(),
    }
}

/// Returns `true` if a text is a secret. An empty secret is no text's.
pub(crate) fn is_secret(text: &str, secret: &SecretString) -> bool {
    let secret = secret.expose_secret();
    !secret.is_empty() && are_equal(secret.as_bytes(), text.as_bytes())
}

/// Compares in constant time: the time depends on the lengths alone.
pub(crate) fn are_equal(expected: &[u8], given: &[u8]) -> bool {
    // ring compares tags in constant time, and offers no other such comparison that it supports.
    let key = hmac::Key::new(hmac::HMAC_SHA256, expected);
    hmac::verify(&key, given, hmac::sign(&key, expected).as_ref()).is_ok()
}

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| Some(digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?)).collect()
}
