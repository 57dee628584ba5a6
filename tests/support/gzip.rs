//! Compressed bodies (RFC 1952), made by hand: a good one that stores its bytes, and one that is far larger inside.

/// Magic, deflate, no flags, no time, no hints, unknown system.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];

/// Compresses by not compressing: one stored block.
///
/// # Panics
/// Over 64 KiB, which a stored block cannot hold.
pub fn stored(bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).expect("a stored block holds at most 64 KiB");
    let mut file = HEADER.to_vec();
    file.push(1);
    file.extend(length.to_le_bytes());
    file.extend((!length).to_le_bytes());
    file.extend(bytes);
    file.extend(crc32(bytes).to_le_bytes());
    file.extend(u32::from(length).to_le_bytes());
    file
}

/// A file of some 0.5 % of what is in it: zeros, without an end. Whoever decompresses it whole before looking at its size
/// has lost.
pub fn bomb(megabytes: usize) -> Vec<u8> {
    let mut bits = Bits::default();
    // Last block, fixed Huffman codes.
    bits.push(0b011, 3);
    // The literal 0.
    bits.push_code(0x30, 8);
    for _ in 0..megabytes * ((1 << 20) / 258) {
        // Repeat 258 bytes from a distance of 1.
        bits.push_code(0xc5, 8);
        bits.push_code(0, 5);
    }
    let mut file = HEADER.to_vec();
    file.extend(bits.bytes);
    file
}

/// Bits, packed as deflate wants them: the lowest of a byte first.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    used: u32,
}

impl Bits {
    /// A number, its lowest bit first.
    fn push(&mut self, value: u32, count: u32) {
        for index in 0..count {
            if self.used.is_multiple_of(8) {
                self.bytes.push(0);
            }
            if let Some(last) = self.bytes.last_mut()
                && value >> index & 1 == 1
            {
                *last |= 1 << (self.used % 8);
            }
            self.used += 1;
        }
    }

    /// A Huffman code, its highest bit first.
    fn push_code(&mut self, code: u32, count: u32) {
        self.push(code.reverse_bits() >> (32 - count), count);
    }
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 };
        }
    }
    !sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_one_of_the_standard() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }
}
