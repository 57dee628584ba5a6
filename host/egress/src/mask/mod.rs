//! Blots secrets out of what an upstream sends back.
//!
//! An upstream that echoes its requests would hand a credential to a connector or a caller. So whatever is read in answer to a
//! request with a credential is searched for it: plain, percent-encoded, escaped as in JSON, in base64 at each of the three
//! alignments, in hexadecimal digits. An appearance is replaced by as many asterisks, so that lengths stay true.
//!
//! It is a second line of defence against honest services that echo. It cannot stop an upstream that wants to give the secret
//! away, in reverse for instance.

use std::sync::Arc;

use aho_corasick::{AhoCorasick, Input, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use bytes::{Bytes, BytesMut};
use hyper::header::{HeaderMap, HeaderValue};
use secrecy::{ExposeSecret, SecretString};

use super::needle::{Alphabet, Found, Needle};

/// Shorter secrets are not masked: they would be found in innocent text.
const SHORTEST: usize = 8;

/// Finds some secrets in answers. Made once for a credential.
pub struct Masker {
    needles: Vec<Needle>,
    /// Finds where a needle may begin. None when there is nothing to find.
    search: Option<Search>,
}

struct Search {
    automaton: AhoCorasick,
    beginnings: Vec<Vec<u8>>,
    longest: usize,
}

impl Masker {
    /// Secrets of fewer than 8 bytes are passed over.
    pub fn new(secrets: &[SecretString]) -> Self {
        let mut needles = Vec::new();
        for secret in secrets {
            let bytes = secret.expose_secret().as_bytes();
            if bytes.len() >= SHORTEST {
                needles.push(Needle::new(bytes.to_vec(), Alphabet::Exact));
                needles.extend((0..3).map(|offset| Needle::new(base64_at(bytes, offset), Alphabet::Base64)));
                let digits = bytes.iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect();
                needles.push(Needle::new(digits, Alphabet::Hex));
            }
        }
        Self { search: Search::new(&needles), needles }
    }

    /// Whether there is nothing to find.
    pub fn is_empty(&self) -> bool {
        self.search.is_none()
    }

    /// Whether a whole text holds one of the secrets.
    pub fn finds(&self, text: &[u8]) -> bool {
        !self.spans(text, true).0.is_empty()
    }

    /// Masks a whole text.
    pub fn mask(self: &Arc<Self>, text: Bytes) -> Bytes {
        let mut stream = MaskStream::new(Arc::clone(self));
        let first = stream.push(text);
        let rest = stream.finish();
        if rest.is_empty() { first } else { [first, rest].concat().into() }
    }

    pub(super) fn mask_headers(&self, headers: &mut HeaderMap) {
        for value in headers.values_mut() {
            let spans = self.spans(value.as_bytes(), true).0;
            if !spans.is_empty() {
                let mut masked = value.as_bytes().to_vec();
                blot(&mut masked, &spans);
                // Asterisks in place of what was there make a valid value again.
                *value = HeaderValue::from_bytes(&masked).unwrap_or(HeaderValue::from_static("*"));
            }
        }
    }

    /// The appearances in a text, and how much of the text has been decided: what comes after may be the beginning of another.
    fn spans(&self, text: &[u8], last: bool) -> (Vec<(usize, usize)>, usize) {
        let mut spans = Vec::new();
        let Some(search) = &self.search else { return (spans, text.len()) };
        let mut at = 0;
        while let Some(candidate) = search.automaton.find(Input::new(text).range(at..)) {
            let start = candidate.start();
            let found = self.needles.iter().map(|needle| needle.find(&text[start..], last)).max();
            match found.unwrap_or(Found::Nothing) {
                Found::Perhaps => return (spans, start),
                Found::Secret(length) => {
                    spans.push((start, start + length));
                    at = start + length;
                }
                Found::Nothing => at = start + 1,
            }
        }
        (spans, if last { text.len() } else { search.undecided(text, at) })
    }
}

impl Search {
    fn new(needles: &[Needle]) -> Option<Self> {
        let mut beginnings = Vec::new();
        for needle in needles {
            needle.beginnings(&mut beginnings);
        }
        beginnings.sort();
        beginnings.dedup();
        if beginnings.is_empty() {
            return None;
        }
        // Building fails only for more patterns than a secret can make.
        let automaton = AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(&beginnings).ok()?;
        let longest = beginnings.iter().map(Vec::len).max().unwrap_or(0);
        Some(Self { automaton, beginnings, longest })
    }

    /// Where, at the end of a text, a beginning may have begun.
    fn undecided(&self, text: &[u8], decided: usize) -> usize {
        let from = text.len().saturating_sub(self.longest - 1).max(decided);
        let begins = |start: &usize| self.beginnings.iter().any(|beginning| beginning.starts_with(&text[*start..]));
        (from..text.len()).find(begins).unwrap_or(text.len())
    }
}

/// The characters of base64 that a secret alone decides when `offset` bytes stand before it.
fn base64_at(secret: &[u8], offset: usize) -> Vec<u8> {
    let mut padded = vec![0; offset];
    padded.extend_from_slice(secret);
    let encoded = STANDARD_NO_PAD.encode(&padded).into_bytes();
    // A character holds six bits: leave out the first that mixes in bits of what stands before, and a last that is not full.
    let first = (offset * 8).div_ceil(6);
    let last = padded.len() * 8 / 6;
    encoded[first..last].to_vec()
}

fn blot(text: &mut [u8], spans: &[(usize, usize)]) {
    for &(start, end) in spans {
        text[start..end].fill(b'*');
    }
}

/// A text that arrives in pieces. It holds back what may be the beginning of a secret, never more than a secret's longest
/// spelling.
pub struct MaskStream {
    masker: Arc<Masker>,
    held: BytesMut,
}

impl MaskStream {
    /// At the beginning of a text.
    pub fn new(masker: Arc<Masker>) -> Self {
        Self { masker, held: BytesMut::new() }
    }

    /// Takes the next piece, and gives what has been decided. A piece without anything suspicious passes uncopied.
    pub fn push(&mut self, piece: Bytes) -> Bytes {
        if self.held.is_empty() {
            let (spans, decided) = self.masker.spans(&piece, false);
            self.held.extend_from_slice(&piece[decided..]);
            if spans.is_empty() {
                return piece.slice(..decided);
            }
            let mut masked = BytesMut::from(&piece[..decided]);
            blot(&mut masked, &spans);
            return masked.freeze();
        }
        self.held.extend_from_slice(&piece);
        self.decide(false)
    }

    /// What is left, at the end of the text.
    pub fn finish(&mut self) -> Bytes {
        if self.held.is_empty() { Bytes::new() } else { self.decide(true) }
    }

    fn decide(&mut self, last: bool) -> Bytes {
        let (spans, decided) = self.masker.spans(&self.held, last);
        blot(&mut self.held, &spans);
        self.held.split_to(decided).freeze()
    }

    /// How many bytes are held back.
    pub fn held(&self) -> usize {
        self.held.len()
    }
}

#[cfg(test)]
mod tests;
