//! Finds the end of plain text in strings, many bytes at a time.

use wide::u8x16;

/// Size of a part: the bytes that one instruction of every processor compares.
pub(super) const PART_BYTES: usize = 16;

/// Size of a block: one bit of a word for each byte.
pub(super) const BYTES: usize = u64::BITS as usize;

/// Returns `true` for a quote, a backslash and the control characters.
#[inline]
pub(super) fn ends_plain_text(byte: u8) -> bool {
    (byte < b' ') | (byte == b'"') | (byte == b'\\')
}

/// Returns a word with a bit for each byte that [ends plain text](ends_plain_text). The lowest bit
/// belongs to the first byte.
#[inline(always)]
pub(super) fn ends_of_plain_text_in_part(part: &[u8; PART_BYTES]) -> u32 {
    let (quote, backslash, last_control) = (u8x16::splat(b'"'), u8x16::splat(b'\\'), u8x16::splat(b' ' - 1));
    let part = u8x16::new(*part);
    let is_control = part.min(last_control).simd_eq(part);
    (is_control | part.simd_eq(quote) | part.simd_eq(backslash)).to_bitmask()
}

/// As [`ends_of_plain_text_in_part`], for a block.
#[inline]
pub(super) fn ends_of_plain_text(block: &[u8; BYTES]) -> u64 {
    let (parts, _) = block.as_chunks();
    parts.iter().rev().fold(0, |ends, part| ends << PART_BYTES | u64::from(ends_of_plain_text_in_part(part)))
}
