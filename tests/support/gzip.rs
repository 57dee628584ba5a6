//! Compressed bodies: an ordinary one, and a decompression bomb.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::write::GzEncoder;

/// Compresses `bytes`.
///
/// # Panics
/// Never: writing to memory succeeds.
pub fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A decompression bomb: opening brackets, compressed to a thousandth of their size. A client that
/// decompresses the whole body before it looks at the size runs out of memory.
///
/// # Panics
/// Never: writing to memory succeeds.
pub fn bomb(megabytes: u64) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    io::copy(&mut io::repeat(b'[').take(megabytes << 20), &mut encoder).unwrap();
    encoder.finish().unwrap()
}

/// The bytes that were compressed.
///
/// # Panics
/// When they are not in the format of gzip.
pub fn decode(compressed: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(compressed).read_to_end(&mut bytes).unwrap();
    bytes
}
