//! One spelling of a secret, and whether a text holds it.
//!
//! Every character of the text may be written in its own way: as it is, percent-encoded, or escaped as in JSON. So a match
//! walks along the text and undoes the encoding character by character, whatever mixture an encoder has left.

use secrecy::{ExposeSecret, SecretSlice};

/// Which bytes count as the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alphabet {
    Exact,
    /// The standard and the URL-safe alphabet alike.
    Base64,
    /// Either case.
    Hex,
}

/// A secret as it may be found.
pub(super) struct Needle {
    bytes: SecretSlice<u8>,
    alphabet: Alphabet,
    /// Ways of reading that are tried. More than one only where the secret itself holds a percent sign or a backslash, for then
    /// it cannot be told whether the text's is the secret's own or the beginning of an encoded character.
    readings: &'static [Reading],
}

/// Which encodings are undone.
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

/// What is found at a place in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Found {
    Nothing,
    /// The secret, in so many bytes of the text.
    Secret(usize),
    /// The text ends in what may be the secret.
    Perhaps,
}

impl Needle {
    pub(super) fn new(bytes: Vec<u8>, alphabet: Alphabet) -> Self {
        let ambiguous = bytes.contains(&b'%') || bytes.contains(&b'\\');
        Self { bytes: bytes.into(), alphabet, readings: if ambiguous { &ALL } else { &ALL[..1] } }
    }

    /// The best reading of what `text` begins with. Nothing comes after the `last` text.
    pub(super) fn find(&self, text: &[u8], last: bool) -> Found {
        let readings = self.readings.iter().map(|reading| self.read(text, *reading));
        readings.filter(|found| !last || *found != Found::Perhaps).max().unwrap_or(Found::Nothing)
    }

    fn read(&self, text: &[u8], reading: Reading) -> Found {
        let mut wanted = self.bytes.expose_secret();
        let mut at = 0;
        while let Some(&first) = wanted.first() {
            let Some(&literal) = text.get(at) else { return Found::Perhaps };
            match decode(&text[at..], reading) {
                Decoded::Character { bytes, length, taken } if self.begins(wanted, &bytes[..length]) => {
                    wanted = &wanted[length..];
                    at += taken;
                }
                Decoded::Cut => return Found::Perhaps,
                _ if self.same(first, literal) => {
                    wanted = &wanted[1..];
                    at += 1;
                }
                _ => return Found::Nothing,
            }
        }
        Found::Secret(at)
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

    /// Short strings, one of which stands at the beginning of every appearance: what a text is searched for first.
    pub(super) fn beginnings(&self, out: &mut Vec<Vec<u8>>) {
        const LITERAL: usize = 4;
        let bytes = self.bytes.expose_secret();
        let mut runs: Vec<Vec<u8>> = vec![Vec::new()];
        for &byte in bytes.iter().take(LITERAL) {
            // From here on encoded. Nobody encodes single digits and letters of base64 and hex.
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

/// The encoded forms of a secret's first character.
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

/// All ways to write hexadecimal digits in either case.
fn cases(mark: &[u8], digits: &str, out: &mut Vec<Vec<u8>>) {
    let mut written = vec![mark.to_vec()];
    for digit in digits.bytes() {
        let mut both = vec![digit, digit.to_ascii_uppercase()];
        both.dedup();
        written = written.iter().flat_map(|run| both.iter().map(|digit| [run, &[*digit][..]].concat())).collect();
    }
    out.append(&mut written);
}

/// The letters that may follow a backslash for a byte. Any punctuation may stand for itself, as some encoders have it.
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

enum Decoded {
    /// A character in UTF-8, or a byte of one, and how much of the text it took.
    Character { bytes: [u8; 4], length: usize, taken: usize },
    /// The text ends amidst it.
    Cut,
    /// Stands for itself.
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

/// A character of which `\uXXXX` has been read, with its second half where there is one.
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
