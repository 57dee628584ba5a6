//! Charsets of seven bits that switch between sets of characters: the family of ISO-2022 (RFC 1468,
//! 1554, 1557 and 2237), and HZ (RFC 1843).

use charset::Charset;

const ESCAPE: u8 = 0x1B;
const SHIFT_OUT: u8 = 0x0E;
const SHIFT_IN: u8 = 0x0F;

/// A set of characters that the bytes of a text stand for.
#[derive(Clone, Copy, PartialEq)]
enum Set {
    Ascii,
    /// Half-width katakana.
    Katakana,
    /// JIS X 0208. JIS X 0213 extends it, and its further characters are not known here.
    Japanese,
    /// JIS X 0212.
    MoreJapanese,
    Chinese,
    Korean,
    /// The second plane of JIS X 0213.
    Unknown,
}

impl Set {
    /// Reads the rest of an escape sequence. Returns the set and the length of this rest.
    fn escaped(rest: &[u8]) -> Option<(Self, usize)> {
        Some(match rest {
            [b'(', b'B' | b'J', ..] => (Self::Ascii, 2),
            [b'(', b'I', ..] => (Self::Katakana, 2),
            [b'$', b'@' | b'B', ..] => (Self::Japanese, 2),
            [b'$', b'A', ..] => (Self::Chinese, 2),
            [b'$', b'(', b'@' | b'B' | b'O' | b'Q', ..] => (Self::Japanese, 3),
            [b'$', b'(', b'D', ..] => (Self::MoreJapanese, 3),
            [b'$', b'(', b'C', ..] => (Self::Korean, 3),
            [b'$', b'(', b'P', ..] => (Self::Unknown, 3),
            _ => return None,
        })
    }

    /// The charset of eight bits that has the set, and the bytes of a character in it.
    fn encoded(self, bytes: &[u8]) -> (&'static str, Vec<u8>) {
        let upper = bytes.iter().map(|byte| byte | 0x80);
        match self {
            Self::Ascii | Self::Unknown => ("us-ascii", bytes.to_vec()),
            Self::Katakana => ("shift_jis", upper.collect()),
            Self::Japanese => ("euc-jp", upper.collect()),
            Self::MoreJapanese => ("euc-jp", [0x8F].into_iter().chain(upper).collect()),
            Self::Chinese => ("gb18030", upper.collect()),
            Self::Korean => ("euc-kr", upper.collect()),
        }
    }

    fn width(self) -> usize {
        match self {
            Self::Ascii | Self::Katakana => 1,
            _ => 2,
        }
    }

    /// Appends the characters of `bytes`.
    fn push(self, text: &mut String, bytes: &[u8]) {
        for character in bytes.chunks(self.width()) {
            match (self, character) {
                // Line breaks and blanks are the same in every set.
                (Self::Ascii, _) | (_, [0..=0x20, ..]) => text.extend(character.iter().map(|byte| ascii(*byte))),
                (Self::Unknown, _) => text.push(char::REPLACEMENT_CHARACTER),
                _ => {
                    let (charset, encoded) = self.encoded(character);
                    push_encoded(text, charset, &encoded);
                }
            }
        }
    }
}

fn push_encoded(text: &mut String, charset: &str, bytes: &[u8]) {
    match Charset::for_label(charset.as_bytes()) {
        Some(charset) => text.push_str(&charset.decode_without_bom_handling(bytes).0),
        None => text.push(char::REPLACEMENT_CHARACTER),
    }
}

fn ascii(byte: u8) -> char {
    if byte.is_ascii() { char::from(byte) } else { char::REPLACEMENT_CHARACTER }
}

/// Decodes a text of the family ISO-2022. Every member of the family designates its sets in the
/// same way.
pub(super) fn iso_2022(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    let mut set = Set::Ascii;
    // The set between the two shifts, and the charset whose upper half single shifts select.
    let (mut shifted, mut single) = (Set::Ascii, "iso-8859-1");
    let (mut start, mut at) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        let rest = bytes.get(at + 1..).unwrap_or_default();
        let plain = bytes.get(start..at).unwrap_or_default();
        let (next, length) = match (*byte, rest) {
            (ESCAPE, [b'$', b')', designated, ..]) => {
                shifted = if *designated == b'C' { Set::Korean } else { Set::Chinese };
                (set, 4)
            }
            (ESCAPE, [b'.', designated, ..]) => {
                single = if *designated == b'F' { "iso-8859-7" } else { "iso-8859-1" };
                (set, 3)
            }
            (ESCAPE, [b'N', character, ..]) => {
                set.push(&mut text, plain);
                push_encoded(&mut text, single, &[character | 0x80]);
                (start, at) = (at + 3, at + 3);
                continue;
            }
            (ESCAPE, rest) => match Set::escaped(rest) {
                Some((next, length)) => (next, length + 1),
                None => (set, 1),
            },
            (SHIFT_OUT, _) => (shifted, 1),
            // Each line begins in ASCII, but some senders forget the escape at the end of the line.
            (SHIFT_IN, _) => (Set::Ascii, 1),
            (b'\n', _) if set.width() == 2 => (Set::Ascii, 0),
            _ => {
                // The second byte of a character is no escape.
                at += set.width();
                continue;
            }
        };
        set.push(&mut text, plain);
        set = next;
        start = at + length;
        at = start;
    }
    set.push(&mut text, bytes.get(start..).unwrap_or_default());
    text
}

/// Decodes HZ: `~{` begins characters of GB 2312, `~}` ends them.
pub(super) fn hz(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    let mut rest = bytes;
    let mut set = Set::Ascii;
    while let [first, after @ ..] = rest {
        rest = match (set, first, after) {
            (_, b'~', [b'{', after @ ..]) if set == Set::Ascii => {
                set = Set::Chinese;
                after
            }
            (Set::Chinese, b'~', [b'}', after @ ..]) => {
                set = Set::Ascii;
                after
            }
            (Set::Ascii, b'~', [b'~', after @ ..]) => {
                text.push('~');
                after
            }
            // A line that continues in the next one.
            (Set::Ascii, b'~', [b'\n', after @ ..] | [b'\r', b'\n', after @ ..]) => after,
            (Set::Chinese, b'\r' | b'\n', _) => {
                set = Set::Ascii;
                continue;
            }
            (Set::Chinese, _, [second, after @ ..]) => {
                set.push(&mut text, &[*first, *second]);
                after
            }
            _ => {
                text.push(ascii(*first));
                after
            }
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{hz, iso_2022};

    #[test]
    fn the_sets_of_iso_2022_are_known() {
        for (bytes, expected) in [
            (&b"a\x1B$BF|K\\\x1B(B b"[..], "a日本 b"),
            (b"\x1B$@F|K\\\x1B(J~", "日本~"),
            (b"\x1B(I1\x1B(B", "ｱ"),
            (b"\x1B$(D0!\x1B(B", "丂"),
            (b"\x1B$ADc:C\x1B(B", "你好"),
            (b"\x1B$(C0!\x1B(B", "가"),
            (b"caf\x1B.A\x1BNi!", "café!"),
            (b"\x1B.F\x1BNa", "α"),
            (b"\x1B$(Q0!\x1B(B", "亜"),
            (b"\x1B$(P!!\x1B(B", "\u{FFFD}"),
            (b"\x1B$)C\x0E0!\x0F a\n\x0E0!\x0F", "가 a\n가"),
            (b"\x1B$)A\x0EDc\x0F", "你"),
            // A sender that forgets the end.
            (b"\x1B$BF|\nabc", "日\nabc"),
            (b"\x1B$BF", "\u{FFFD}"),
            (b"a\x1B", "a"),
            (b"\x1Bxa\xFF", "xa\u{FFFD}"),
            (b"", ""),
        ] {
            assert_eq!(iso_2022(bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn hz_is_ascii_and_gb_2312() {
        for (bytes, expected) in [
            (&b"~{Dc:C~} ~~ x"[..], "你好 ~ x"),
            (b"a~\nb~\r\nc", "abc"),
            (b"~{Dc\nabc", "你\nabc"),
            (b"~{D", "D"),
            (b"~x\xFF~", "~x\u{FFFD}~"),
        ] {
            assert_eq!(hz(bytes), expected, "{bytes:?}");
        }
    }
}
