//! Seals and unseals bytes under one key: AES-256-GCM, with a random nonce before the ciphertext.
//!
//! Random nonces of 96 bits are safe for 2^32 messages under one key. At one secret a second, a
//! data key reaches this number after more than a century, and each rotation makes a new one.

use std::str::Utf8Error;

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom, generate};
use secrecy::zeroize::Zeroize;
use secrecy::{ExposeSecret, SecretBox, SecretSlice, SecretString};
use serde::de::DeserializeOwned;

use super::VaultError;

pub(super) const KEY_BYTES: usize = 32;

/// A key in the clear, which is overwritten in memory when it is dropped.
pub(super) type Key = SecretBox<[u8; KEY_BYTES]>;

pub(super) fn new_key() -> Result<Key, VaultError> {
    let mut key = Box::new([0; KEY_BYTES]);
    SystemRandom::new().fill(key.as_mut_slice()).map_err(|_| VaultError::NoRandomness)?;
    Ok(SecretBox::new(key))
}

/// A value that the vault seals: bytes, or a secret.
pub trait Sealable {
    /// The bytes that are encrypted.
    fn plaintext(&self) -> &[u8];
}

impl Sealable for [u8] {
    fn plaintext(&self) -> &[u8] {
        self
    }
}

impl<const N: usize> Sealable for [u8; N] {
    fn plaintext(&self) -> &[u8] {
        self
    }
}

impl Sealable for Vec<u8> {
    fn plaintext(&self) -> &[u8] {
        self
    }
}

impl<S: AsRef<[u8]> + Zeroize + ?Sized> Sealable for SecretBox<S> {
    fn plaintext(&self) -> &[u8] {
        self.expose_secret().as_ref()
    }
}

/// The text that unsealed bytes are.
///
/// # Errors
/// If the bytes are not UTF-8.
pub(super) fn text_of(unsealed: &SecretSlice<u8>) -> Result<SecretString, Utf8Error> {
    str::from_utf8(unsealed.expose_secret()).map(SecretString::from)
}

/// The value that unsealed bytes have as JSON.
///
/// # Errors
/// If the bytes have another form.
pub fn json_of<T: DeserializeOwned>(unsealed: &SecretSlice<u8>) -> serde_json::Result<T> {
    serde_json::from_slice(unsealed.expose_secret())
}

/// A key that is ready for use.
pub(super) struct Cipher(LessSafeKey);

impl Cipher {
    pub(super) fn new(key: &Key) -> Result<Self, VaultError> {
        UnboundKey::new(&AES_256_GCM, key.expose_secret())
            .map(LessSafeKey::new)
            .map(Self)
            .map_err(|_| VaultError::Altered)
    }

    /// Returns the nonce, the ciphertext and its tag. Only the same context unseals them.
    pub(super) fn seal(&self, context: &[&str], secret: &(impl Sealable + ?Sized)) -> Result<Vec<u8>, VaultError> {
        let secret = secret.plaintext();
        let nonce = generate::<[u8; NONCE_LEN]>(&SystemRandom::new()).map_err(|_| VaultError::NoRandomness)?.expose();
        let mut bytes = Vec::with_capacity(NONCE_LEN + secret.len() + AES_256_GCM.tag_len());
        bytes.extend_from_slice(&nonce);
        bytes.extend_from_slice(secret);
        let tag = self.0.seal_in_place_separate_tag(
            Nonce::assume_unique_for_key(nonce),
            associated_data(context),
            bytes.get_mut(NONCE_LEN..).unwrap_or_default(),
        );
        match tag {
            Ok(tag) => bytes.extend_from_slice(tag.as_ref()),
            Err(_) => {
                bytes.zeroize();
                return Err(VaultError::TooLong);
            }
        }
        Ok(bytes)
    }

    /// Returns the secret. Returns `None` if the bytes, the context or the key differ from those at
    /// sealing.
    pub(super) fn unseal(&self, context: &[&str], bytes: &[u8]) -> Option<SecretSlice<u8>> {
        let mut buffer = self.unseal_content(context, bytes)?;
        let secret: SecretSlice<u8> = SecretBox::new(buffer.as_slice().into());
        // The buffer held the secret in the clear. The returned copy is overwritten when it is
        // dropped.
        buffer.zeroize();
        Some(secret)
    }

    /// As [`Cipher::unseal`], for content that is not overwritten when it is dropped.
    pub(super) fn unseal_content(&self, context: &[&str], bytes: &[u8]) -> Option<Vec<u8>> {
        let (nonce, ciphertext) = bytes.split_first_chunk::<NONCE_LEN>()?;
        let mut buffer = ciphertext.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        // If the bytes are not authentic, ring overwrites what it has decrypted.
        let length = self.0.open_in_place(nonce, associated_data(context), &mut buffer).ok()?.len();
        buffer.truncate(length);
        Some(buffer)
    }
}

/// Writes the length before each text, so that two different contexts never give the same bytes.
fn associated_data(context: &[&str]) -> Aad<Vec<u8>> {
    let mut data = Vec::new();
    for text in context {
        data.extend_from_slice(&(text.len() as u64).to_be_bytes());
        data.extend_from_slice(text.as_bytes());
    }
    Aad::from(data)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cipher(byte: u8) -> Cipher {
        Cipher::new(&SecretBox::new(Box::new([byte; KEY_BYTES]))).unwrap()
    }

    fn texts() -> impl Strategy<Value = Vec<String>> {
        prop::collection::vec("[a-c]{0,3}", 0..5)
    }

    fn borrowed(texts: &[String]) -> Vec<&str> {
        texts.iter().map(String::as_str).collect()
    }

    proptest! {
        #[test]
        fn a_sealed_secret_is_unsealed_with_the_same_context_and_no_other(
            secret: Vec<u8>, here in texts(), elsewhere in texts()
        ) {
            let bytes = cipher(1).seal(&borrowed(&here), &secret).unwrap();
            let opened = cipher(1).unseal(&borrowed(&here), &bytes).unwrap();
            prop_assert_eq!(opened.expose_secret(), &secret[..]);
            let opened = cipher(1).unseal(&borrowed(&elsewhere), &bytes);
            prop_assert_eq!(opened.is_some(), here == elsewhere);
        }

        #[test]
        fn altered_or_truncated_bytes_are_not_unsealed(secret: Vec<u8>, place: prop::sample::Index, bit in 0..8_u32) {
            let bytes = cipher(1).seal(&["here"], &secret).unwrap();
            let place = place.index(bytes.len());
            let mut altered = bytes.clone();
            altered[place] ^= 1 << bit;
            prop_assert!(cipher(1).unseal(&["here"], &altered).is_none());
            prop_assert!(cipher(1).unseal(&["here"], &bytes[..place]).is_none());
        }
    }

    #[test]
    fn another_key_unseals_nothing() {
        let bytes = cipher(1).seal(&[], b"secret").unwrap();
        assert!(cipher(2).unseal(&[], &bytes).is_none());
    }

    #[test]
    fn sealing_a_secret_twice_gives_different_bytes() {
        assert_ne!(cipher(1).seal(&[], b"secret").unwrap(), cipher(1).seal(&[], b"secret").unwrap());
    }
}
