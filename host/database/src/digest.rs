//! SHA-256.
//!
//! The gateway stores API keys and `state` parameters as their SHA-256, and names modules by
//! theirs.

use std::io::{self, Read};

use ring::digest::{Context, SHA256, digest};
use secrecy::zeroize::Zeroize;
use secrecy::{ExposeSecret, SecretBox};

/// The SHA-256 of these bytes.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, bytes).as_ref());
    hash
}

/// The SHA-256 of a secret, by which the secret is recognised. It does not reveal a random secret.
/// A secret that a person chose may be guessed from it.
pub fn sha256_of_secret<S: AsRef<[u8]> + Zeroize + ?Sized>(secret: &SecretBox<S>) -> [u8; 32] {
    sha256(secret.expose_secret().as_ref())
}

/// The SHA-256 of these bytes, as 64 lower-case hexadecimal digits.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&sha256(bytes))
}

/// Bytes as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads from another reader, and computes the SHA-256 of what was read.
pub struct Sha256Reader<R> {
    from: R,
    context: Context,
    size: u64,
}

impl<R> Sha256Reader<R> {
    /// Nothing is read yet.
    pub fn new(from: R) -> Self {
        Self { from, context: Context::new(&SHA256), size: 0 }
    }

    /// The number of bytes that were read, and their SHA-256 in hexadecimal digits.
    pub fn finish(self) -> (u64, String) {
        (self.size, hex(self.context.finish().as_ref()))
    }
}

impl<R: Read> Read for Sha256Reader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(buffer)?;
        self.context.update(buffer.get(..count).unwrap_or_default());
        self.size += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_gives_the_bytes_their_number_and_their_digest() {
        let mut reader = Sha256Reader::new(&b"abc"[..]);
        let mut read = Vec::new();
        reader.read_to_end(&mut read).unwrap();
        assert_eq!(read, b"abc");
        assert_eq!(reader.finish(), (3, sha256_hex(b"abc")));
    }

    #[test]
    fn the_digest_is_written_as_sha256sum_writes_it() {
        assert_eq!(sha256_hex(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }
}
