//! Encryption of a file for the holders of age keys, which the program `age` decrypts.
//!
//! The format is version 1 of age (<https://age-encryption.org/v1>) with recipients of the kind
//! X25519. A random file key encrypts the content, and the header has the file key for each
//! recipient. The gateway only encrypts, so there is no code that reads a private key.

use std::io::{self, Write};
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use bech32::Bech32;
use bech32::primitives::decode::CheckedHrpstring;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce};
use ring::agreement::{EphemeralPrivateKey, UnparsedPublicKey, X25519, agree_ephemeral};
use ring::error::Unspecified;
use ring::rand::{SecureRandom, SystemRandom};
use ring::{hkdf, hmac};
use secrecy::{ExposeSecret, SecretBox};

/// The parts of a text that are encrypted one by one, so that a reader needs memory for one of
/// them.
const CHUNK: usize = 64 << 10;

/// Length of a key of X25519, and of the keys that are derived.
const KEY: usize = 32;

/// Length of the file key, and of the nonce that begins the encrypted content.
const FILE_KEY: usize = 16;

/// A public key, as `age-keygen` prints it: `age1…`.
#[derive(Clone, Debug)]
pub struct Recipient([u8; KEY]);

impl FromStr for Recipient {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let decoded = CheckedHrpstring::new::<Bech32>(text).map_err(|error| error.to_string())?;
        if decoded.hrp().as_str() != "age" {
            return Err("it must begin with age1".to_owned());
        }
        let bytes: Vec<u8> = decoded.byte_iter().collect();
        bytes.try_into().map(Self).map_err(|_| format!("it must have {KEY} bytes"))
    }
}

/// Encrypts what is written to it. [`Encryptor::finish`] must be called at the end: without it, a
/// reader sees that the file was cut off.
pub(super) struct Encryptor<W> {
    output: W,
    key: LessSafeKey,
    /// The number of the next chunk.
    number: u64,
    /// The content that is not yet encrypted. At most [`CHUNK`] bytes.
    chunk: Vec<u8>,
}

impl<W: Write> Encryptor<W> {
    /// Writes the header.
    ///
    /// # Errors
    /// If `output` cannot be written, or if a recipient has an unsuitable key.
    pub(super) fn new(mut output: W, recipients: &[Recipient]) -> io::Result<Self> {
        let (header, key) = begin(recipients).map_err(failed)?;
        output.write_all(&header)?;
        Ok(Self { output, key, number: 0, chunk: Vec::with_capacity(CHUNK) })
    }

    /// Encrypts the last chunk, and returns the output with everything written to it.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.write_chunk(true)?;
        Ok(self.output)
    }

    fn write_chunk(&mut self, is_last: bool) -> io::Result<()> {
        // The nonce is the number of the chunk in eleven bytes, and a byte that marks the last
        // chunk.
        let [a, b, c, d, e, f, g, h] = self.number.to_be_bytes();
        let nonce = [0, 0, 0, a, b, c, d, e, f, g, h, u8::from(is_last)];
        self.number += 1;
        let nonce = Nonce::assume_unique_for_key(nonce);
        let sealed = self.key.seal_in_place_append_tag(nonce, Aad::empty(), &mut self.chunk);
        sealed.map_err(failed)?;
        self.output.write_all(&self.chunk)?;
        self.chunk.clear();
        Ok(())
    }
}

impl<W: Write> Write for Encryptor<W> {
    fn write(&mut self, content: &[u8]) -> io::Result<usize> {
        // A full chunk is written when there is more, because the last chunk may be full too.
        if self.chunk.len() == CHUNK && !content.is_empty() {
            self.write_chunk(false)?;
        }
        let room = CHUNK - self.chunk.len();
        let taken = content.get(..room).unwrap_or(content);
        self.chunk.extend_from_slice(taken);
        Ok(taken.len())
    }

    /// Content that does not fill a chunk waits for more.
    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

/// The header with the nonce of the content, and the key of the content.
fn begin(recipients: &[Recipient]) -> Result<(Vec<u8>, LessSafeKey), Unspecified> {
    let random = SystemRandom::new();
    let file_key = SecretBox::<[u8; FILE_KEY]>::try_init_with(|| random_bytes(&random))?;
    let nonce: [u8; FILE_KEY] = random_bytes(&random)?;
    let mut header = "age-encryption.org/v1\n".to_owned();
    for recipient in recipients {
        header.push_str(&stanza(&random, &file_key, recipient)?);
    }
    header.push_str("---");
    let authentication = hmac::sign(&authentication_key(&file_key)?, header.as_bytes());
    header.push_str(&format!(" {}\n", STANDARD_NO_PAD.encode(authentication)));
    let mut header = header.into_bytes();
    header.extend_from_slice(&nonce);
    Ok((header, encryption_key(&nonce, file_key.expose_secret(), b"payload")?))
}

/// The lines of the header that have the file key for one recipient.
fn stanza(
    random: &SystemRandom,
    file_key: &SecretBox<[u8; FILE_KEY]>,
    Recipient(recipient): &Recipient,
) -> Result<String, Unspecified> {
    let private = EphemeralPrivateKey::generate(&X25519, random)?;
    let share = private.compute_public_key()?;
    let salt = [share.as_ref(), recipient].concat();
    let key = agree_ephemeral(private, &UnparsedPublicKey::new(&X25519, recipient), |secret| {
        encryption_key(&salt, secret, b"age-encryption.org/v1/X25519")
    })??;
    let mut sealed = file_key.expose_secret().to_vec();
    // Each stanza has its own key, so the nonce is fixed.
    key.seal_in_place_append_tag(Nonce::assume_unique_for_key([0; 12]), Aad::empty(), &mut sealed)?;
    Ok(format!("-> X25519 {}\n{}\n", STANDARD_NO_PAD.encode(share), STANDARD_NO_PAD.encode(sealed)))
}

fn encryption_key(salt: &[u8], secret: &[u8], purpose: &[u8]) -> Result<LessSafeKey, Unspecified> {
    let derived = hkdf::Salt::new(hkdf::HKDF_SHA256, salt).extract(secret);
    Ok(LessSafeKey::new(derived.expand(&[purpose], &CHACHA20_POLY1305)?.into()))
}

fn authentication_key(file_key: &SecretBox<[u8; FILE_KEY]>) -> Result<hmac::Key, Unspecified> {
    let derived = hkdf::Salt::new(hkdf::HKDF_SHA256, &[]).extract(file_key.expose_secret());
    Ok(derived.expand(&[b"header"], hmac::HMAC_SHA256)?.into())
}

fn random_bytes(random: &SystemRandom) -> Result<[u8; FILE_KEY], Unspecified> {
    let mut bytes = [0; FILE_KEY];
    random.fill(&mut bytes)?;
    Ok(bytes)
}

/// The cause has no details. A public key that was parsed may still be one that no private key has.
fn failed(_: Unspecified) -> io::Error {
    io::Error::other("the file cannot be encrypted: check the public keys")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key that can decrypt one file.
    struct Identity {
        private: EphemeralPrivateKey,
        public: [u8; KEY],
    }

    impl Identity {
        fn generate() -> Self {
            let private = EphemeralPrivateKey::generate(&X25519, &SystemRandom::new()).unwrap();
            let public = private.compute_public_key().unwrap().as_ref().try_into().unwrap();
            Self { private, public }
        }

        /// Decrypts a file as the specification describes it, and checks all that a reader checks.
        fn decrypt(self, number: usize, file: &[u8]) -> Vec<u8> {
            let end = file.windows(5).position(|window| window == b"\n--- ").unwrap() + 4;
            let (head, rest) = file.split_at(end);
            let stanzas: Vec<&str> = std::str::from_utf8(head).unwrap().lines().skip(1).collect();
            let share = STANDARD_NO_PAD.decode(stanzas[2 * number].strip_prefix("-> X25519 ").unwrap()).unwrap();
            let mut sealed = STANDARD_NO_PAD.decode(stanzas[2 * number + 1]).unwrap();
            let salt = [&share[..], &self.public].concat();
            let key = agree_ephemeral(self.private, &UnparsedPublicKey::new(&X25519, &share), |secret| {
                encryption_key(&salt, secret, b"age-encryption.org/v1/X25519").unwrap()
            });
            let file_key = open(&key.unwrap(), [0; 12], &mut sealed).unwrap();
            let file_key = SecretBox::new(Box::new(<[u8; FILE_KEY]>::try_from(&file_key[..]).unwrap()));
            let mac = STANDARD_NO_PAD.decode(&rest[1..44]).unwrap();
            hmac::verify(&authentication_key(&file_key).unwrap(), head, &mac).unwrap();
            let (nonce, content) = rest[45..].split_at(FILE_KEY);
            let key = encryption_key(nonce, file_key.expose_secret(), b"payload").unwrap();
            let chunks: Vec<&[u8]> = content.chunks(CHUNK + 16).collect();
            let text = chunks.iter().enumerate().map(|(number, chunk)| {
                let mut nonce = [0; 12];
                nonce[3..11].copy_from_slice(&(number as u64).to_be_bytes());
                nonce[11] = u8::from(number + 1 == chunks.len());
                open(&key, nonce, &mut chunk.to_vec()).unwrap()
            });
            text.collect::<Vec<_>>().concat()
        }
    }

    fn open(key: &LessSafeKey, nonce: [u8; 12], sealed: &mut [u8]) -> Option<Vec<u8>> {
        key.open_in_place(Nonce::assume_unique_for_key(nonce), Aad::empty(), sealed).ok().map(|text| text.to_vec())
    }

    #[test]
    fn each_recipient_decrypts_content_of_any_length() {
        for length in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + 5] {
            let content: Vec<u8> = (0..length).map(|at| at as u8).collect();
            let identities = [Identity::generate(), Identity::generate()];
            let recipients: Vec<_> = identities.iter().map(|identity| Recipient(identity.public)).collect();
            let mut encryptor = Encryptor::new(Vec::new(), &recipients).unwrap();
            for part in content.chunks(1000) {
                encryptor.write_all(part).unwrap();
            }
            let file = encryptor.finish().unwrap();
            for (number, identity) in identities.into_iter().enumerate() {
                assert!(identity.decrypt(number, &file) == content, "{length} bytes, recipient {number}");
            }
        }
    }

    #[test]
    fn a_public_key_is_one_of_age_without_a_mistake() {
        // The example of the specification's test vectors.
        let key = "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj";
        assert!(key.parse::<Recipient>().is_ok());
        for wrong in [
            "",
            "age1",
            "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwk",
            "age-secret-key-1",
            "npub1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73eqsn9s2t",
        ] {
            assert!(wrong.parse::<Recipient>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_key_of_which_no_one_has_the_private_part_is_refused() {
        assert!(Encryptor::new(Vec::new(), &[Recipient([0; KEY])]).is_err());
    }
}
