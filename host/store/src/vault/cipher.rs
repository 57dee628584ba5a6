//! Sealing and opening bytes under one key: AES-256-GCM with a random nonce in front.
//!
//! Random nonces of 96 bits are safe for 2^32 messages under one key. A data key that seals a secret each second lasts for a
//! century, and a rotation makes a new one.

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom, generate};
use secrecy::zeroize::Zeroize;
use secrecy::{ExposeSecret, SecretBox, SecretSlice};

use super::VaultError;

pub(super) const KEY_BYTES: usize = 32;

/// A key in the clear.
pub(super) type Key = SecretBox<[u8; KEY_BYTES]>;

pub(super) fn new_key() -> Result<Key, VaultError> {
    let mut key = Box::new([0; KEY_BYTES]);
    SystemRandom::new().fill(key.as_mut_slice()).map_err(|_| VaultError::NoRandomness)?;
    Ok(SecretBox::new(key))
}

/// A name for a data key.
pub(super) fn new_id() -> Result<String, VaultError> {
    let random = generate::<[u8; 8]>(&SystemRandom::new()).map_err(|_| VaultError::NoRandomness)?;
    Ok(format!("dk_{:016x}", u64::from_be_bytes(random.expose())))
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

    /// The nonce, the ciphertext and its tag.
    pub(super) fn seal(&self, context: &[&str], secret: &[u8]) -> Result<Vec<u8>, VaultError> {
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

    /// What was sealed; none if these are not the bytes, the context and the key of then.
    pub(super) fn open(&self, context: &[&str], bytes: &[u8]) -> Option<SecretSlice<u8>> {
        let (nonce, ciphertext) = bytes.split_first_chunk::<NONCE_LEN>()?;
        let mut buffer = ciphertext.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let secret =
            self.0.open_in_place(nonce, associated_data(context), &mut buffer).ok().map(|secret| (&*secret).into());
        // Cutting off the tag instead would leave the secret behind wherever that moves it from.
        buffer.zeroize();
        secret.map(SecretBox::new)
    }
}

/// Each string with its length before it, so that no two lists read the same.
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
        fn what_is_sealed_opens_with_the_same_context_and_no_other(
            secret: Vec<u8>, here in texts(), elsewhere in texts()
        ) {
            let bytes = cipher(1).seal(&borrowed(&here), &secret).unwrap();
            let opened = cipher(1).open(&borrowed(&here), &bytes).unwrap();
            prop_assert_eq!(opened.expose_secret(), &secret[..]);
            let opened = cipher(1).open(&borrowed(&elsewhere), &bytes);
            prop_assert_eq!(opened.is_some(), here == elsewhere);
        }

        #[test]
        fn altered_or_truncated_bytes_do_not_open(secret: Vec<u8>, place: prop::sample::Index, bit in 0..8_u32) {
            let bytes = cipher(1).seal(&["here"], &secret).unwrap();
            let place = place.index(bytes.len());
            let mut altered = bytes.clone();
            altered[place] ^= 1 << bit;
            prop_assert!(cipher(1).open(&["here"], &altered).is_none());
            prop_assert!(cipher(1).open(&["here"], &bytes[..place]).is_none());
        }
    }

    #[test]
    fn another_key_opens_nothing() {
        let bytes = cipher(1).seal(&[], b"secret").unwrap();
        assert!(cipher(2).open(&[], &bytes).is_none());
    }

    #[test]
    fn the_same_secret_is_never_sealed_to_the_same_bytes() {
        assert_ne!(cipher(1).seal(&[], b"secret").unwrap(), cipher(1).seal(&[], b"secret").unwrap());
    }
}
