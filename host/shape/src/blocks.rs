//! Searches long strings block by block.

use wide::u8x16;

/// Size of a block: one bit of a word for each byte.
pub(super) const BYTES: usize = u64::BITS as usize;

/// Returns `true` for a quote, a backslash and the control characters.
#[inline]
pub(super) fn ends_plain_text(byte: u8) -> bool {
    (byte < b' ') | (byte == b'"') | (byte == b'\\')
}

/// Returns a word with a bit for each byte that [ends plain text](ends_plain_text). The lowest bit is that of the first byte.
#[inline]
pub(super) fn ends_of_plain_text(block: &[u8; BYTES]) -> u64 {
    let (quote, backslash, last_control) = (u8x16::splat(b'"'), u8x16::splat(b'\\'), u8x16::splat(b' ' - 1));
    let (parts, _) = block.as_chunks();
    parts.iter().rev().fold(0, |ends, part| {
        let part = u8x16::new(*part);
        let is_control = part.min(last_control).simd_eq(part);
        let marks = is_control | part.simd_eq(quote) | part.simd_eq(backslash);
        ends << 16 | u64::from(marks.to_bitmask())
    })
}
