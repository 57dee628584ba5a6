//! JSON text without white space, up to a size.

use wide::u8x16;

/// The bytes that are looked at together: one bit of a word for each byte.
const BLOCK_BYTES: usize = u64::BITS as usize;

/// The bytes that one instruction of every processor compares.
const PART_BYTES: usize = 16;

/// The bytes of a block that matter. The lowest bit of a word belongs to the first byte.
struct Marks {
    quotes: u64,
    backslashes: u64,
    blanks: u64,
}

impl Marks {
    fn of(block: &[u8; BLOCK_BYTES]) -> Self {
        let (parts, _) = block.as_chunks();
        let empty = Self { quotes: 0, backslashes: 0, blanks: 0 };
        parts.iter().rev().fold(empty, |marks, part: &[u8; PART_BYTES]| {
            let part = u8x16::new(*part);
            let is = |byte| part.simd_eq(u8x16::splat(byte));
            let add = |word: u64, found: u8x16| word << PART_BYTES | u64::from(found.to_bitmask());
            Self {
                quotes: add(marks.quotes, is(b'"')),
                backslashes: add(marks.backslashes, is(b'\\')),
                blanks: add(marks.blanks, is(b' ') | is(b'\t') | is(b'\n') | is(b'\r')),
            }
        })
    }
}

/// For each bit, the parity of the bits up to it: with the quotes of a block, the bytes in strings.
fn parities(word: u64) -> u64 {
    [1, 2, 4, 8, 16, 32].into_iter().fold(word, |word, shift| word ^ (word << shift))
}

/// The beginning of a text, and the size of the whole. The text comes in pieces.
pub struct Beginning {
    kept: Vec<u8>,
    limit: usize,
    total: usize,
    /// `true` if white space between the parts of JSON is left out.
    is_json: bool,
    in_string: bool,
    is_escaped: bool,
}

impl Beginning {
    /// At most `limit` bytes of a text.
    pub fn new(limit: usize, is_json: bool) -> Self {
        Self { kept: Vec::new(), limit, total: 0, is_json, in_string: false, is_escaped: false }
    }

    /// Adds a piece.
    pub fn push(&mut self, piece: &[u8]) {
        self.kept.reserve(piece.len().min(self.limit.saturating_sub(self.kept.len())));
        if !self.is_json {
            return self.keep(piece);
        }
        let (blocks, rest) = piece.as_chunks();
        for block in blocks {
            self.push_block(block);
        }
        self.push_bytes(rest);
    }

    /// Adds a block of JSON. Most blocks have neither escapes nor white space to leave out.
    fn push_block(&mut self, block: &[u8; BLOCK_BYTES]) {
        let Marks { quotes, backslashes, blanks } = Marks::of(block);
        if self.is_escaped || backslashes != 0 {
            return self.push_bytes(block);
        }
        let in_strings = parities(quotes) ^ if self.in_string { u64::MAX } else { 0 };
        let mut left_out = blanks & !in_strings;
        self.in_string ^= quotes.count_ones() % 2 == 1;
        let mut kept = 0;
        while left_out != 0 {
            let at = left_out.trailing_zeros() as usize;
            self.keep(block.get(kept..at).unwrap_or_default());
            kept = at + 1;
            left_out &= left_out - 1;
        }
        self.keep(block.get(kept..).unwrap_or_default());
    }

    /// Adds bytes of JSON, one after the other.
    fn push_bytes(&mut self, bytes: &[u8]) {
        let mut kept = 0;
        for (at, byte) in bytes.iter().enumerate() {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' if self.in_string => self.is_escaped = true,
                b'"' => self.in_string = !self.in_string,
                b' ' | b'\t' | b'\n' | b'\r' if !self.in_string => {
                    self.keep(bytes.get(kept..at).unwrap_or_default());
                    kept = at + 1;
                }
                _ => {}
            }
        }
        self.keep(bytes.get(kept..).unwrap_or_default());
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.total += bytes.len();
        let free = self.limit.saturating_sub(self.kept.len()).min(bytes.len());
        self.kept.extend_from_slice(bytes.get(..free).unwrap_or_default());
    }

    /// The size of the whole text, without the white space that was left out.
    pub fn total(&self) -> usize {
        self.total
    }

    /// Returns `true` if a part of the text was left out.
    pub fn is_cut(&self) -> bool {
        self.total > self.kept.len()
    }

    /// The beginning of something that is no text.
    pub fn into_bytes(self) -> Vec<u8> {
        self.kept
    }

    /// The beginning. A character that the limit cuts is left out.
    pub fn into_text(self) -> String {
        match String::from_utf8(self.kept) {
            Ok(text) => text,
            Err(error) => {
                let whole = error.utf8_error();
                let bytes = error.into_bytes();
                match whole.error_len() {
                    None => String::from_utf8_lossy(bytes.get(..whole.valid_up_to()).unwrap_or_default()).into_owned(),
                    Some(_) => String::from_utf8_lossy(&bytes).into_owned(),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn beginning(pieces: &[&str], limit: usize, is_json: bool) -> (String, usize) {
        let mut beginning = Beginning::new(limit, is_json);
        for piece in pieces {
            beginning.push(piece.as_bytes());
        }
        let total = beginning.total();
        (beginning.into_text(), total)
    }

    #[test]
    fn white_space_goes_and_texts_and_numbers_stay() {
        let (text, total) = beginning(&["{ \"a b\\", "\" c\" :\n 1.0,", "\t\"d\\\\\": [ ] }"], 1000, true);
        assert_eq!(text, r#"{"a b\" c":1.0,"d\\":[]}"#);
        assert_eq!(total, text.len());
        assert_eq!(beginning(&[" a  b"], 1000, false).0, " a  b");
    }

    #[test]
    fn no_character_is_cut_in_two() {
        assert_eq!(beginning(&["aé"], 2, false), ("a".to_owned(), 3));
        assert_eq!(beginning(&["aé"], 3, false), ("aé".to_owned(), 3));
    }

    proptest! {
        #[test]
        fn a_document_is_the_same_without_white_space_wherever_its_pieces_end(
            texts in proptest::collection::vec("[ a\\PC\"\\\\\n\t]{0,12}", 0..40),
            size in 1..300_usize,
        ) {
            let document = serde_json::json!({"a b": texts, "n": [1.5, null, {"c": true}]});
            let mut beginning = Beginning::new(usize::MAX, true);
            for piece in serde_json::to_string_pretty(&document).unwrap().as_bytes().chunks(size) {
                beginning.push(piece);
            }
            prop_assert_eq!(beginning.into_text(), document.to_string());
        }
    }
}
