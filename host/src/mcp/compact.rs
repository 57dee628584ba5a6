//! JSON text without white space, up to a size.

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
        for &byte in piece {
            if self.is_json {
                if self.in_string {
                    match byte {
                        _ if self.is_escaped => self.is_escaped = false,
                        b'\\' => self.is_escaped = true,
                        b'"' => self.in_string = false,
                        _ => {}
                    }
                } else if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                    continue;
                } else if byte == b'"' {
                    self.in_string = true;
                }
            }
            self.total += 1;
            if self.kept.len() < self.limit {
                self.kept.push(byte);
            }
        }
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
}
