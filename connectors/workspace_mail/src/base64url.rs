//! Gmail's base64: URL-safe, with or without padding, and perhaps with blanks and line breaks.
//!
//! A text may take most of the memory of an invocation, so it is decoded in small pieces.

use std::borrow::Cow;

use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine, alphabet};
use connector_sdk::Fault;

use crate::gmail::not_understood;

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::URL_SAFE,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Characters that are decoded at a time. A multiple of 4.
const PIECE: usize = 4096;

/// The bytes of a piece.
const PIECE_BYTES: usize = PIECE / 4 * 3;

/// Maximum number of bytes of a character that a piece cuts off.
const CUT: usize = 3;

/// Bytes in base64, without blanks and padding.
pub(crate) struct Encoded<'a>(Cow<'a, str>);

impl<'a> Encoded<'a> {
    pub(crate) fn read(mut text: Cow<'a, str>) -> Self {
        if text.bytes().any(|byte| byte.is_ascii_whitespace()) {
            text.to_mut().retain(|character| !character.is_ascii_whitespace());
        }
        let length = text.trim_end_matches('=').len();
        Self(match text {
            Cow::Borrowed(text) => Cow::Borrowed(text.get(..length).unwrap_or(text)),
            Cow::Owned(mut text) => {
                text.truncate(length);
                Cow::Owned(text)
            }
        })
    }

    /// Calls `each` with all bytes, in pieces.
    pub(crate) fn pieces(&self, mut each: impl FnMut(&[u8])) -> Result<(), Fault> {
        let mut decoded = [0; PIECE_BYTES];
        for piece in self.0.as_bytes().chunks(PIECE) {
            let length = decode(piece, &mut decoded)?;
            each(decoded.get(..length).unwrap_or_default());
        }
        Ok(())
    }

    /// Calls `each` with the text in pieces, as long as the bytes are UTF-8. Returns `false` if they
    /// are not.
    pub(crate) fn utf_8(&self, mut each: impl FnMut(&str)) -> Result<bool, Fault> {
        let mut buffer = [0; CUT + PIECE_BYTES];
        // The first bytes of a character that continues in the next piece.
        let mut cut = 0;
        for piece in self.0.as_bytes().chunks(PIECE) {
            let length = cut + decode(piece, buffer.get_mut(cut..).unwrap_or_default())?;
            let bytes = buffer.get(..length).unwrap_or_default();
            let valid = match std::str::from_utf8(bytes) {
                Ok(text) => {
                    each(text);
                    length
                }
                Err(error) if error.error_len().is_some() => return Ok(false),
                Err(error) => {
                    let text = bytes.get(..error.valid_up_to()).and_then(|valid| std::str::from_utf8(valid).ok());
                    each(text.unwrap_or_default());
                    error.valid_up_to()
                }
            };
            buffer.copy_within(valid..length, 0);
            cut = length - valid;
        }
        Ok(cut == 0)
    }

    /// All bytes. Text that is owned is decoded in its place.
    pub(crate) fn into_bytes(self) -> Result<Vec<u8>, Fault> {
        let mut text = match self.0 {
            Cow::Borrowed(text) => return BASE64.decode(text).map_err(|error| not_understood(&error.to_string())),
            Cow::Owned(text) => text.into_bytes(),
        };
        let mut decoded = [0; PIECE_BYTES];
        let (mut read, mut written) = (0, 0);
        while let Some(piece) = text.get(read..text.len().min(read + PIECE)).filter(|piece| !piece.is_empty()) {
            let length = decode(piece, &mut decoded)?;
            read += piece.len();
            if let (Some(place), Some(bytes)) = (text.get_mut(written..written + length), decoded.get(..length)) {
                place.copy_from_slice(bytes);
            }
            written += length;
        }
        text.truncate(written);
        Ok(text)
    }
}

fn decode(piece: &[u8], bytes: &mut [u8]) -> Result<usize, Fault> {
    BASE64.decode_slice(piece, bytes).map_err(|error| not_understood(&error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE;

    use super::{Encoded, PIECE_BYTES};

    fn utf_8(bytes: &[u8]) -> Option<String> {
        let encoded = URL_SAFE.encode(bytes);
        let mut text = String::new();
        let is_utf_8 = Encoded::read(Cow::Borrowed(&encoded)).utf_8(|piece| text.push_str(piece)).expect("base64");
        is_utf_8.then_some(text)
    }

    #[test]
    fn characters_that_a_piece_cuts_are_whole() {
        for start in PIECE_BYTES - 5..PIECE_BYTES + 2 {
            for character in ["é", "日", "😀"] {
                let text = format!("{}{}", "a".repeat(start), character.repeat(2000));
                assert_eq!(utf_8(text.as_bytes()).as_deref(), Some(&*text));
                assert_eq!(utf_8(&text.as_bytes()[..text.len() - 1]), None, "it ends within a character");
            }
        }
        assert_eq!(utf_8(b"a\xFFb"), None);
        assert_eq!(utf_8(b"").as_deref(), Some(""));
    }

    #[test]
    fn bytes_are_the_same_in_pieces_and_in_place() {
        for length in [0, 1, 2, 3, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES + 2] {
            let bytes: Vec<u8> = (0..length).map(|number| (number * 7 % 251) as u8).collect();
            let encoded = URL_SAFE.encode(&bytes);
            let mut pieces = Vec::new();
            let read = || Encoded::read(Cow::Borrowed(&encoded));
            read().pieces(|piece| pieces.extend_from_slice(piece)).expect("base64");
            assert_eq!(pieces, bytes);
            assert_eq!(read().into_bytes().expect("base64"), bytes);
            let spaced = format!(" {}\r\n", encoded.replace('A', "\tA"));
            assert_eq!(Encoded::read(Cow::Owned(spaced)).into_bytes().expect("base64"), bytes);
        }
    }

    #[test]
    fn what_is_not_base64_is_an_error() {
        for text in ["A", "AA*A", "AA=A", "é"] {
            assert!(Encoded::read(Cow::Borrowed(text)).into_bytes().is_err(), "{text}");
            assert!(Encoded::read(Cow::Owned(text.to_owned())).into_bytes().is_err(), "{text}");
            assert!(Encoded::read(Cow::Borrowed(text)).utf_8(|_| ()).is_err(), "{text}");
        }
    }
}
