//! The search for one spelling of a secret in a text.
//!
//! Each character of the text may be written plainly, percent-encoded, or escaped as in JSON, in
//! any mixture. A match therefore reads the text character by character and decodes each one.
//!
//! An example: the needle `a/b` is found in `a/b`, `a%2Fb`, `a\/b` and `\u0061/b`, with 3, 5, 4
//! and 8 bytes of the text. In `a%2` the search is undecided, because the text ends inside of an
//! encoded character. In `a%2E` nothing is found, and one byte agrees.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use secrecy::{ExposeSecret, SecretSlice, SecretString};

/// Length of the shortest secret that is masked, in bytes. Shorter ones occur in ordinary text.
pub const SHORTEST_SECRET: usize = 8;

/// Returns `true` if a secret is too short to be masked.
pub fn is_too_short(secret: &SecretString) -> bool {
    is_shorter(secret, SHORTEST_SECRET)
}

/// Returns `true` if a secret has fewer bytes than this number.
pub fn is_shorter(secret: &SecretString, bytes: usize) -> bool {
    secret.expose_secret().len() < bytes
}

/// The bytes that count as equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Alphabet {
    Exact,
    /// The standard and the URL-safe alphabet of base64 are equal.
    Base64,
    /// Upper and lower case are equal.
    Hex,
}

/// One spelling of a secret.
pub(super) struct Needle {
    bytes: SecretSlice<u8>,
    alphabet: Alphabet,
    /// The ways of reading to try. There are several only if the secret contains a percent sign or
    /// a backslash. In the text, such a character may be part of the secret, or begin an encoded
    /// character.
    readings: &'static [Reading],
}

/// The encodings to undo.
#[derive(Clone, Copy)]
struct Reading {
    percent: bool,
    escapes: bool,
}

const BOTH: Reading = Reading { percent: true, escapes: true };
const ALL: [Reading; 4] = [
    BOTH,
    Reading { percent: true, escapes: false },
    Reading { percent: false, escapes: true },
    Reading { percent: false, escapes: false },
];

/// The result of a search at one position of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Found {
    Nothing,
    /// The secret, in this number of bytes.
    Secret(usize),
    /// The text ends before the result is certain.
    Undecided,
}

impl Needle {
    /// The spellings of a secret. A secret that is too short has none.
    pub(super) fn spellings(secret: &SecretString) -> Vec<Self> {
        if is_too_short(secret) {
            return Vec::new();
        }
        let bytes = secret.expose_secret().as_bytes();
        let digits = bytes.iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect();
        let mut needles = vec![Self::new(bytes.to_vec(), Alphabet::Exact), Self::new(digits, Alphabet::Hex)];
        needles.extend((0..3).map(|offset| Self::new(base64_at(bytes, offset), Alphabet::Base64)));
        needles
    }

    fn new(bytes: Vec<u8>, alphabet: Alphabet) -> Self {
        let ambiguous = bytes.contains(&b'%') || bytes.contains(&b'\\');
        Self { bytes: bytes.into(), alphabet, readings: if ambiguous { &ALL } else { &ALL[..1] } }
    }

    /// Compares the beginning of `text` with the needle. `last` says that no more text follows.
    /// Also returns the number of bytes that agree with the needle.
    pub(super) fn match_prefix(&self, text: &[u8], last: bool) -> (Found, usize) {
        let (mut best, mut longest) = (Found::Nothing, 0);
        for reading in self.readings {
            let (found, agreed) = self.compare(text, *reading);
            if !last || found != Found::Undecided {
                best = best.max(found);
            }
            longest = longest.max(agreed);
        }
        (best, longest)
    }

    fn compare(&self, text: &[u8], reading: Reading) -> (Found, usize) {
        let mut wanted = self.bytes.expose_secret();
        let mut at = 0;
        while let Some(&first) = wanted.first() {
            let Some(&literal) = text.get(at) else { return (Found::Undecided, at) };
            match decode(&text[at..], reading) {
                Decoded::Character { bytes, length, taken } if self.begins(wanted, &bytes[..length]) => {
                    wanted = &wanted[length..];
                    at += taken;
                }
                Decoded::Cut => return (Found::Undecided, at),
                _ if self.same(first, literal) => {
                    wanted = &wanted[1..];
                    at += 1;
                }
                _ => return (Found::Nothing, at),
            }
        }
        (Found::Secret(at), at)
    }

    fn begins(&self, wanted: &[u8], bytes: &[u8]) -> bool {
        bytes.len() <= wanted.len() && wanted.iter().zip(bytes).all(|(own, other)| self.same(*own, *other))
    }

    fn same(&self, own: u8, other: u8) -> bool {
        own == other
            || match self.alphabet {
                Alphabet::Exact => false,
                Alphabet::Base64 => matches!((own, other), (b'+', b'-') | (b'-', b'+') | (b'/', b'_') | (b'_', b'/')),
                Alphabet::Hex => own.eq_ignore_ascii_case(&other),
            }
    }

    /// Adds short strings to `out`. Every spelling begins with one of them, so that a text can be
    /// searched for these first.
    pub(super) fn beginnings(&self, out: &mut Vec<Vec<u8>>) {
        const LITERAL: usize = 4;
        let bytes = self.bytes.expose_secret();
        let mut runs: Vec<Vec<u8>> = vec![Vec::new()];
        for &byte in bytes.iter().take(LITERAL) {
            // The encoded forms of this byte. No encoder encodes digits and letters of base64 and
            // hexadecimal text.
            if self.alphabet == Alphabet::Exact || !byte.is_ascii_alphanumeric() {
                for run in &runs {
                    if run.is_empty() {
                        first_encoded(&self.variants(byte), bytes, out);
                    } else {
                        out.extend([b'%', b'\\'].map(|mark| [run, &[mark][..]].concat()));
                    }
                }
            }
            let variants = self.variants(byte);
            runs = runs.iter().flat_map(|run| variants.iter().map(|byte| [run, &[*byte][..]].concat())).collect();
        }
        out.append(&mut runs);
    }

    fn variants(&self, byte: u8) -> Vec<u8> {
        match (self.alphabet, byte) {
            (Alphabet::Base64, b'+' | b'-') => vec![b'+', b'-'],
            (Alphabet::Base64, b'/' | b'_') => vec![b'/', b'_'],
            (Alphabet::Hex, _) if byte.is_ascii_alphabetic() => {
                vec![byte.to_ascii_lowercase(), byte.to_ascii_uppercase()]
            }
            _ => vec![byte],
        }
    }
}

/// Adds the encoded forms of the first character of a secret.
fn first_encoded(variants: &[u8], bytes: &[u8], out: &mut Vec<Vec<u8>>) {
    for &byte in variants {
        cases(b"%", &format!("{byte:02x}"), out);
        if byte.is_ascii() {
            cases(b"\\u", &format!("{byte:04x}"), out);
            out.extend(simple_escapes(byte).map(|escape| vec![b'\\', escape]));
        }
    }
    let first = String::from_utf8_lossy(bytes).chars().next();
    if let Some(unit) = first.filter(|first| !first.is_ascii()).map(|first| first.encode_utf16(&mut [0; 2])[0]) {
        cases(b"\\u", &format!("{unit:04x}"), out);
    }
}

/// Adds all ways to write hexadecimal digits in upper and lower case.
fn cases(mark: &[u8], digits: &str, out: &mut Vec<Vec<u8>>) {
    let mut written = vec![mark.to_vec()];
    for digit in digits.bytes() {
        let mut both = vec![digit, digit.to_ascii_uppercase()];
        both.dedup();
        written = written.iter().flat_map(|run| both.iter().map(|digit| [run, &[*digit][..]].concat())).collect();
    }
    out.append(&mut written);
}

/// The characters that may follow a backslash for a byte. Some encoders put a backslash before any
/// punctuation.
fn simple_escapes(byte: u8) -> impl Iterator<Item = u8> {
    (b'!'..=b'~').filter(move |letter| *letter != b'u' && unescape(*letter) == byte)
}

fn unescape(letter: u8) -> u8 {
    match letter {
        b'b' => 8,
        b't' => b'\t',
        b'n' => b'\n',
        b'f' => 12,
        b'r' => b'\r',
        other => other,
    }
}

/// The characters of base64 that depend on the secret only, if `offset` bytes precede it.
fn base64_at(secret: &[u8], offset: usize) -> Vec<u8> {
    let mut padded = vec![0; offset];
    padded.extend_from_slice(secret);
    let encoded = STANDARD_NO_PAD.encode(&padded).into_bytes();
    // A character has six bits. The first character may contain bits of the preceding bytes, and
    // the last one may not be full.
    let first = (offset * 8).div_ceil(6);
    let last = padded.len() * 8 / 6;
    encoded[first..last].to_vec()
}

/// One character of a text with its encoding undone.
enum Decoded {
    /// A character in UTF-8 or one byte of it, and the length of the text that it was read from.
    Character { bytes: [u8; 4], length: usize, taken: usize },
    /// The text ends inside of an encoded character.
    Cut,
    /// The text has no encoded character here.
    Literal,
}

fn decode(text: &[u8], reading: Reading) -> Decoded {
    match text {
        [b'%', digits @ ..] if reading.percent => match hexadecimal(digits, 2) {
            Digits::Value(byte) => one(u32::to_be_bytes(byte)[3], 3),
            Digits::Cut => Decoded::Cut,
            Digits::Other => Decoded::Literal,
        },
        [b'\\'] if reading.escapes => Decoded::Cut,
        [b'\\', b'u', digits @ ..] if reading.escapes => match hexadecimal(digits, 4) {
            Digits::Value(unit) => unicode(unit, text),
            Digits::Cut => Decoded::Cut,
            Digits::Other => one(b'u', 2),
        },
        [b'\\', letter, ..] if reading.escapes => one(unescape(*letter), 2),
        _ => Decoded::Literal,
    }
}

/// The character that begins with the escape `\uXXXX`, whose value is `unit`. Reads the second half
/// of a surrogate pair.
fn unicode(unit: u32, text: &[u8]) -> Decoded {
    const ESCAPE: usize = 6;
    let (code, taken) = match unit {
        0xd800..=0xdbff => match &text[ESCAPE..] {
            [] | [b'\\'] => return Decoded::Cut,
            [b'\\', b'u', digits @ ..] => match hexadecimal(digits, 4) {
                Digits::Value(low @ 0xdc00..=0xdfff) => {
                    (0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00), 2 * ESCAPE)
                }
                Digits::Cut => return Decoded::Cut,
                _ => return Decoded::Literal,
            },
            _ => return Decoded::Literal,
        },
        _ => (unit, ESCAPE),
    };
    let Some(character) = char::from_u32(code) else { return Decoded::Literal };
    let mut bytes = [0; 4];
    let length = character.encode_utf8(&mut bytes).len();
    Decoded::Character { bytes, length, taken }
}

fn one(byte: u8, taken: usize) -> Decoded {
    Decoded::Character { bytes: [byte, 0, 0, 0], length: 1, taken }
}

enum Digits {
    Value(u32),
    Cut,
    Other,
}

fn hexadecimal(text: &[u8], count: usize) -> Digits {
    let mut value = 0;
    for place in 0..count {
        let Some(&digit) = text.get(place) else { return Digits::Cut };
        let Some(digit) = char::from(digit).to_digit(16) else { return Digits::Other };
        value = value * 16 + digit;
    }
    Digits::Value(value)
}
