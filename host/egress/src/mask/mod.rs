//! Masks secrets in responses.
//!
//! An upstream that echoes its requests would give the credential to a connector or a caller. Each
//! response to a call with a credential is therefore searched for the credential: as plain text,
//! percent-encoded, escaped as in JSON, in base64 at each of the three alignments, and in
//! hexadecimal digits. Each character found is replaced by an asterisk, so that lengths stay the
//! same.
//!
//! An example with the secret `tok-3f/9`, which may arrive in pieces:
//!
//! - `{"echo":"tok-3f\/9"}` becomes `{"echo":"*********"}`: the escaped slash is one character of
//!   the secret.
//! - `next=tok%2D3f%2F9&page=2` becomes `next=************&page=2`.
//! - Of `id: tok-`, only `id: ` is returned. `tok-` may begin the secret, so it is held back.
//! - The next piece is `7.`. Now the text differs from the secret, and `tok-7.` is returned.
//!
//! This is a second line of defence against honest services that echo. It cannot stop an upstream
//! that reveals the secret on purpose, for example reversed.
//!
//! The search takes linear time for every secret and text. Without a limit, a text of many long
//! prefixes of the secret would take much longer, because each prefix is compared up to the first
//! byte that differs. Only an attacker makes such a text. The search counts the bytes of long
//! prefixes as *wasted*, because they were compared and turned out not to be a secret. When it has
//! wasted several times more bytes than the text has, it masks these prefixes too, and does not
//! compare them again.

use std::sync::Arc;

use aho_corasick::{AhoCorasick, Input, MatchKind};
use bytes::{Bytes, BytesMut};
use hyper::header::{HeaderMap, HeaderValue};
use secrecy::SecretString;

use super::needle::{Found, Needle};

/// Length from which a prefix of a secret counts as long, in bytes. Comparing shorter ones takes
/// little time.
const LONG_PREFIX: usize = 64;

/// Budget of wasted comparisons: bytes of long prefixes, per byte of text. Tokens of one issuer
/// have a common prefix, and waste less than one byte per byte.
const MAX_WASTED_PER_BYTE: u64 = 8;

/// Budget of wasted comparisons that every text has, in bytes.
const MIN_WASTED_BUDGET: u64 = 64 << 10;

/// Finds the secrets of one credential in responses. It is costly to make, so a credential makes it
/// once.
pub struct Masker {
    needles: Vec<Needle>,
    /// Finds the positions at which a needle may begin. `None` if there is nothing to find.
    search: Option<Search>,
}

struct Search {
    automaton: AhoCorasick,
    beginnings: Vec<Vec<u8>>,
    longest: usize,
}

impl Masker {
    /// A masker for these secrets. Secrets of fewer than 8 bytes are left out.
    pub fn new(secrets: &[SecretString]) -> Self {
        let needles: Vec<Needle> = secrets.iter().flat_map(Needle::spellings).collect();
        Self { search: Search::new(&needles), needles }
    }

    /// Returns `true` if there is nothing to find.
    pub fn is_empty(&self) -> bool {
        self.search.is_none()
    }

    /// Returns `true` if a complete text contains one of the secrets.
    pub fn finds(&self, text: &[u8]) -> bool {
        !self.spans(text, true, &mut SearchCost::default()).0.is_empty()
    }

    /// Masks a complete text.
    pub fn mask(self: &Arc<Self>, text: Bytes) -> Bytes {
        let mut stream = MaskStream::new(Arc::clone(self));
        let first = stream.push(text);
        let rest = stream.finish();
        if rest.is_empty() { first } else { [first, rest].concat().into() }
    }

    /// Masks the values of all headers.
    pub(super) fn mask_headers(&self, headers: &mut HeaderMap) {
        for value in headers.values_mut() {
            let spans = self.spans(value.as_bytes(), true, &mut SearchCost::default()).0;
            if !spans.is_empty() {
                let mut masked = value.as_bytes().to_vec();
                overwrite(&mut masked, &spans);
                // A valid value stays valid if some of its characters become asterisks.
                *value = HeaderValue::from_bytes(&masked).unwrap_or(HeaderValue::from_static("*"));
            }
        }
    }

    /// The ranges of secrets in a text, and the length of the text that is decided. The rest may
    /// begin a secret. `last` says that no more text follows.
    fn spans(&self, text: &[u8], last: bool, cost: &mut SearchCost) -> (Vec<(usize, usize)>, usize) {
        let mut spans = Vec::new();
        let Some(search) = &self.search else { return (spans, text.len()) };
        let mut at = 0;
        while let Some(candidate) = search.automaton.find(Input::new(text).range(at..)) {
            let start = candidate.start();
            let compared = self.needles.iter().map(|needle| needle.match_prefix(&text[start..], last));
            let (found, agreed) =
                compared.fold((Found::Nothing, 0), |best, one| (best.0.max(one.0), best.1.max(one.1)));
            let masked = match found {
                Found::Undecided => {
                    cost.passed += start as u64;
                    return (spans, start);
                }
                Found::Secret(length) => Some(length),
                Found::Nothing => cost.wastes_too_much(start, agreed).then_some(agreed),
            };
            if let Some(length) = masked {
                spans.push((start, start + length));
            }
            at = start + masked.unwrap_or(1);
        }
        let decided = if last { text.len() } else { search.undecided(text, at) };
        cost.passed += decided as u64;
        (spans, decided)
    }
}

/// The work of the search in one text.
#[derive(Default)]
struct SearchCost {
    /// Bytes of the text that are decided.
    passed: u64,
    /// Bytes of long prefixes that turned out not to be secrets.
    wasted: u64,
}

impl SearchCost {
    /// Counts a prefix of `agreed` bytes that is not a secret, `start` bytes after the decided
    /// text. Returns `true` if it is long and the budget of wasted comparisons is used up.
    fn wastes_too_much(&mut self, start: usize, agreed: usize) -> bool {
        if agreed < LONG_PREFIX {
            return false;
        }
        self.wasted += agreed as u64;
        self.wasted > MIN_WASTED_BUDGET + MAX_WASTED_PER_BYTE * (self.passed + start as u64)
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
        // This fails only for more patterns than the secrets of a credential can make.
        let automaton = AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(&beginnings).ok()?;
        let longest = beginnings.iter().map(Vec::len).max().unwrap_or(0);
        Some(Self { automaton, beginnings, longest })
    }

    /// The position near the end of a text at which a pattern may begin. The length of the text if
    /// there is no such position.
    fn undecided(&self, text: &[u8], decided: usize) -> usize {
        let from = text.len().saturating_sub(self.longest - 1).max(decided);
        let begins = |start: &usize| self.beginnings.iter().any(|beginning| beginning.starts_with(&text[*start..]));
        (from..text.len()).find(begins).unwrap_or(text.len())
    }
}

fn overwrite(text: &mut [u8], spans: &[(usize, usize)]) {
    for &(start, end) in spans {
        text[start..end].fill(b'*');
    }
}

/// Masks a text that arrives in pieces. It holds back a piece that may be the beginning of a
/// secret, at most twice as long as the longest spelling of a secret.
pub struct MaskStream {
    masker: Arc<Masker>,
    held: BytesMut,
    /// The bytes are compared again when this number of them is held. Otherwise a text in tiny
    /// pieces would be compared as often as it has pieces.
    enough: usize,
    cost: SearchCost,
}

impl MaskStream {
    /// For a new text.
    pub fn new(masker: Arc<Masker>) -> Self {
        Self { masker, held: BytesMut::new(), enough: 0, cost: SearchCost::default() }
    }

    /// Takes the next piece, and returns the text that is decided. A piece without a possible
    /// secret is not copied.
    pub fn push(&mut self, piece: Bytes) -> Bytes {
        if self.held.is_empty() {
            let (spans, decided) = self.masker.spans(&piece, false, &mut self.cost);
            self.held.extend_from_slice(&piece[decided..]);
            self.enough = 2 * self.held.len();
            if spans.is_empty() {
                return piece.slice(..decided);
            }
            let mut masked = BytesMut::from(&piece[..decided]);
            overwrite(&mut masked, &spans);
            return masked.freeze();
        }
        self.held.extend_from_slice(&piece);
        if self.held.len() < self.enough { Bytes::new() } else { self.decide(false) }
    }

    /// Returns the rest at the end of the text.
    pub fn finish(&mut self) -> Bytes {
        if self.held.is_empty() { Bytes::new() } else { self.decide(true) }
    }

    fn decide(&mut self, last: bool) -> Bytes {
        let (spans, decided) = self.masker.spans(&self.held, last, &mut self.cost);
        overwrite(&mut self.held, &spans);
        let decided = self.held.split_to(decided).freeze();
        self.enough = 2 * self.held.len();
        decided
    }

    /// The number of bytes that are held back.
    pub fn held(&self) -> usize {
        self.held.len()
    }
}

#[cfg(test)]
mod tests;
