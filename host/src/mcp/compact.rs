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
    pub fn push(&mut self, mut piece: &[u8]) {
        self.kept.reserve(piece.len().min(self.limit.saturating_sub(self.kept.len())));
        while self.is_json && !piece.is_empty() {
            let (run, rest) = piece.split_at(self.run_of(piece));
            self.keep(run);
            let Some((&byte, rest)) = rest.split_first() else { return };
            piece = rest;
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' if self.in_string => self.is_escaped = true,
                b'"' => self.in_string = !self.in_string,
                // White space.
                _ => continue,
            }
            self.keep(&[byte]);
        }
        self.keep(piece);
    }

    /// The length of the beginning of a piece that is kept as it is.
    fn run_of(&self, piece: &[u8]) -> usize {
        let ends = |byte: &u8| match self.in_string {
            true => matches!(byte, b'"' | b'\\'),
            false => matches!(byte, b'"' | b' ' | b'\t' | b'\n' | b'\r'),
        };
        if self.is_escaped { 0 } else { piece.iter().position(ends).unwrap_or(piece.len()) }
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
            texts in proptest::collection::vec("[ a\\PC\"\\\\\n\t]{0,12}", 0..6),
            size in 1..9_usize,
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
