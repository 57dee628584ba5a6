//! Random values from the gateway's generator. They are fit for keys and other secrets, and new in
//! each invocation.
//!
//! In a test, [`Gateway`](crate::testing::Gateway) gives the same values in each run.

use contract_rules::limit::RANDOM_BYTES;

use crate::host;

/// Fills a slice with random bytes.
///
/// # Panics
/// If the gateway refuses them, which it does not at this length.
#[expect(clippy::panic, reason = "a panic ends only this invocation, and a caller could do nothing about it")]
pub fn fill(bytes: &mut [u8]) {
    for part in bytes.chunks_mut(RANDOM_BYTES) {
        let length = u32::try_from(part.len()).unwrap_or(u32::MAX);
        match host::random::bytes(length) {
            Ok(given) => part.copy_from_slice(&given),
            Err(error) => panic!("{error}"),
        }
    }
}

/// An array of random bytes.
///
/// ```
/// # let gateway = connector_sdk::testing::Gateway::new();
/// let key: [u8; 32] = connector_sdk::random::array();
/// # assert_ne!(key, [0; 32]);
/// ```
#[must_use]
pub fn array<const LENGTH: usize>() -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    fill(&mut bytes);
    bytes
}

/// A random UUID (RFC 9562, version 4) in its usual form, for example for a request that may be
/// repeated.
#[must_use]
pub fn uuid() -> String {
    let mut bytes: [u8; 16] = array();
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let number = u128::from_be_bytes(bytes);
    let digits = format!("{number:032x}");
    let (rest, node) = digits.split_at(20);
    let (rest, sequence) = rest.split_at(16);
    let (rest, high) = rest.split_at(12);
    let (low, middle) = rest.split_at(8);
    format!("{low}-{middle}-{high}-{sequence}-{node}")
}
