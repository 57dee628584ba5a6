//! Checks the grammar of RFC 8259 in one pass that builds no values.
//!
//! A [`Scanner`] only moves forward, and only over text that the grammar allows. All text that it has passed is therefore valid
//! JSON, if the whole document is UTF-8. The other modules rely on this: they slice the document at the scanner's positions
//! without checking again.

use super::paths::head_of;
use super::{MAX_DEPTH, ShapeError};

/// A position in a document that moves forward token by token.
#[derive(Debug)]
pub(super) struct Scanner<'a> {
    bytes: &'a [u8],
    position: usize,
}

/// Number of open lists and objects that [`Scanner::skip_value`] stores in one word.
const LEVELS_PER_WORD: u32 = u64::BITS;

/// Number of words after which a string counts as long and is searched in blocks. For shorter ones this would be slower.
const WORDS_BEFORE_BLOCKS: u32 = 3;

const EVERY_BYTE: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = 0x80 * EVERY_BYTE;
const SPACES: u64 = b' ' as u64 * EVERY_BYTE;

impl<'a> Scanner<'a> {
    pub(super) fn new(bytes: &'a [u8], position: usize) -> Self {
        Self { bytes, position }
    }

    pub(super) fn position(&self) -> usize {
        self.position
    }

    /// The byte at the position. At the end this is zero, which the grammar allows nowhere.
    #[inline]
    pub(super) fn peek(&self) -> u8 {
        self.byte(self.position)
    }

    #[inline]
    fn byte(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    /// The next eight bytes, the first one in the lowest bits. `None` if fewer remain.
    #[inline]
    fn word(&self, at: usize) -> Option<u64> {
        let word = self.bytes.get(at..)?.first_chunk()?;
        Some(u64::from_le_bytes(*word))
    }

    /// Steps over the byte that [`Scanner::peek`] has returned.
    #[inline]
    pub(super) fn advance(&mut self) {
        self.position += 1;
    }

    #[inline]
    pub(super) fn whitespace(&mut self) {
        if self.peek() <= b' ' {
            self.whitespace_run();
        }
    }

    fn whitespace_run(&mut self) {
        while matches!(self.peek(), b' ' | b'\n' | b'\r' | b'\t') {
            self.position += 1;
            // Indentation consists of long runs of spaces.
            while let Some(word) = self.word(self.position) {
                let spaces = (word ^ SPACES).trailing_zeros() / 8;
                self.position += spaces as usize;
                if spaces < 8 {
                    break;
                }
            }
        }
    }

    /// Steps over a member's name, the colon and the whitespace around it. Stops at the value.
    #[inline(always)]
    pub(super) fn name(&mut self) -> Result<Name, ShapeError> {
        let start = self.position;
        if self.peek() != b'"' {
            return Err(self.expected("a member name in quotes"));
        }
        let escaped = self.string()?;
        let end = self.position;
        self.whitespace();
        if self.peek() != b':' {
            return Err(self.expected("a colon"));
        }
        self.advance();
        self.whitespace();
        Ok(Name { start, end, escaped })
    }

    /// The text of a name as it is written, without its quotes, and its [head](super::paths::head_of).
    #[inline]
    pub(super) fn written(&self, name: Name) -> (&'a [u8], u64) {
        let text = self.bytes.get(name.start + 1..name.end - 1).unwrap_or_default();
        (text, self.word(name.start + 1).unwrap_or_else(|| head_of(text)))
    }

    /// Steps over one value of any kind, which is inside `depth` lists and objects.
    ///
    /// The kinds of the lists and objects that it opens are the bits of one word. This function therefore recurses only once
    /// in [`LEVELS_PER_WORD`] levels.
    pub(super) fn skip_value(&mut self, depth: u32) -> Result<(), ShapeError> {
        // One bit for each open list (0) or object (1). The innermost one is the lowest bit.
        let mut kinds = 0_u64;
        let mut open = 0;
        'value: loop {
            match self.peek() {
                b'"' => {
                    self.string()?;
                }
                bracket @ (b'{' | b'[') => {
                    if open == LEVELS_PER_WORD {
                        self.skip_value(depth + open)?;
                    } else {
                        let is_object = bracket == b'{';
                        if self.open(is_object, depth + open)? {
                            open += 1;
                            kinds = kinds << 1 | u64::from(is_object);
                            if is_object {
                                self.name()?;
                            }
                            continue 'value;
                        }
                    }
                }
                _ => self.scalar()?,
            }
            while open > 0 {
                self.whitespace();
                let in_object = kinds & 1 == 1;
                if self.peek() == b',' {
                    self.advance();
                    self.whitespace();
                    if in_object {
                        self.name()?;
                    }
                    continue 'value;
                }
                if self.peek() != closing(in_object) {
                    return Err(self.expected_after_value(in_object));
                }
                self.advance();
                open -= 1;
                kinds >>= 1;
            }
            return Ok(());
        }
    }

    /// Steps over the bracket that opens a list or object, which is inside `depth` others. Returns `true` if its first item
    /// comes next, and `false` if it is empty and has been stepped over.
    #[inline]
    pub(super) fn open(&mut self, is_object: bool, depth: u32) -> Result<bool, ShapeError> {
        if depth >= MAX_DEPTH {
            return Err(ShapeError::TooDeep { offset: self.position });
        }
        self.advance();
        self.whitespace();
        if self.peek() == closing(is_object) {
            self.advance();
            return Ok(false);
        }
        Ok(true)
    }

    /// Steps over the comma or bracket behind an element or member. Returns `true` if another one follows, and `false` if the
    /// list or object has ended.
    #[inline(always)]
    pub(super) fn another(&mut self, in_object: bool) -> Result<bool, ShapeError> {
        self.whitespace();
        let byte = self.peek();
        if byte == b',' {
            self.advance();
            self.whitespace();
            return Ok(true);
        }
        if byte == closing(in_object) {
            self.advance();
            return Ok(false);
        }
        Err(self.expected_after_value(in_object))
    }

    /// Steps over the whitespace behind the document's value. Any other byte is an error.
    pub(super) fn end(&mut self) -> Result<(), ShapeError> {
        self.whitespace();
        if self.position == self.bytes.len() { Ok(()) } else { Err(self.expected("the end of the document")) }
    }

    /// Steps over a string, number or literal.
    #[inline(always)]
    pub(super) fn scalar(&mut self) -> Result<(), ShapeError> {
        match self.peek() {
            b'"' => self.string().map(|_| ()),
            b'-' | b'0'..=b'9' => self.number(),
            b't' => self.literal(b"true"),
            b'f' => self.literal(b"false"),
            b'n' => self.literal(b"null"),
            _ => Err(self.expected("a value")),
        }
    }

    fn literal(&mut self, literal: &'static [u8]) -> Result<(), ShapeError> {
        if !self.bytes.get(self.position..).is_some_and(|rest| rest.starts_with(literal)) {
            return Err(self.expected("a value"));
        }
        self.position += literal.len();
        Ok(())
    }

    fn number(&mut self) -> Result<(), ShapeError> {
        if self.peek() == b'-' {
            self.advance();
        }
        if self.peek() == b'0' {
            self.advance();
        } else {
            self.digits()?;
        }
        if self.peek() == b'.' {
            self.advance();
            self.digits()?;
        }
        if matches!(self.peek(), b'e' | b'E') {
            self.advance();
            if matches!(self.peek(), b'+' | b'-') {
                self.advance();
            }
            self.digits()?;
        }
        Ok(())
    }

    #[inline]
    fn digits(&mut self) -> Result<(), ShapeError> {
        if !self.peek().is_ascii_digit() {
            return Err(self.expected("a digit"));
        }
        while self.peek().is_ascii_digit() {
            self.advance();
        }
        Ok(())
    }

    /// Steps over the string whose opening quote is at the position. Returns `true` if it contains escapes.
    #[inline(always)]
    fn string(&mut self) -> Result<bool, ShapeError> {
        let at = self.plain_text(self.position + 1);
        if self.byte(at) == b'"' {
            self.position = at + 1;
            return Ok(false);
        }
        self.string_with_escapes(at)?;
        Ok(true)
    }

    /// Steps over the rest of a string. `at` is its first byte that is not plain text.
    fn string_with_escapes(&mut self, mut at: usize) -> Result<(), ShapeError> {
        loop {
            match self.byte(at) {
                b'"' => {
                    self.position = at + 1;
                    return Ok(());
                }
                b'\\' => at += self.escape(at)?,
                _ => {
                    self.position = at;
                    return Err(self.expected("a closing quote without a control character before it"));
                }
            }
            at = self.plain_text(at);
        }
    }

    /// Returns the position of the first byte from `at` on that is not plain text of a string.
    #[inline(always)]
    fn plain_text(&self, mut at: usize) -> usize {
        let mut words = 0;
        while let Some(word) = self.word(at) {
            let ends = ends_of_plain_text(word);
            at += (ends.trailing_zeros() / 8) as usize;
            if ends != 0 {
                return at;
            }
            words += 1;
            if words == WORDS_BEFORE_BLOCKS {
                at = self.plain_blocks(at);
            }
        }
        while self.bytes.get(at).is_some_and(|byte| !ends_plain_text(*byte)) {
            at += 1;
        }
        at
    }

    /// Returns the position behind all blocks of plain text. The compiler uses vector instructions for this loop.
    fn plain_blocks(&self, at: usize) -> usize {
        let (blocks, _) = self.bytes.get(at..).unwrap_or_default().as_chunks::<32>();
        let is_plain = |block: &&[u8; 32]| !block.iter().fold(false, |ends, byte| ends | ends_plain_text(*byte));
        at + 32 * blocks.iter().take_while(is_plain).count()
    }

    /// Returns the length of the escape that begins at `at`.
    #[inline]
    fn escape(&mut self, at: usize) -> Result<usize, ShapeError> {
        match self.byte(at + 1) {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(2),
            b'u' if (at + 2..at + 6).all(|digit| self.byte(digit).is_ascii_hexdigit()) => Ok(6),
            _ => {
                self.position = at;
                Err(self.expected("a valid escape"))
            }
        }
    }

    #[cold]
    fn expected(&self, expected: &'static str) -> ShapeError {
        ShapeError::NotJson { offset: self.position, expected }
    }

    #[cold]
    fn expected_after_value(&self, in_object: bool) -> ShapeError {
        self.expected(if in_object { "a comma or a closing brace" } else { "a comma or a closing bracket" })
    }
}

/// The name of a member: its range in the document, with the quotes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Name {
    pub(super) start: usize,
    pub(super) end: usize,
    /// The name contains escapes.
    pub(super) escaped: bool,
}

#[inline]
fn closing(is_object: bool) -> u8 {
    if is_object { b'}' } else { b']' }
}

#[inline]
fn ends_plain_text(byte: u8) -> bool {
    (byte < b' ') | (byte == b'"') | (byte == b'\\')
}

/// Sets the high bit of the first byte in `word` that is a quote, a backslash or a control character.
///
/// Later bytes may be marked without reason, because the subtraction can borrow from them. The first mark is always right.
#[inline]
fn ends_of_plain_text(word: u64) -> u64 {
    // The XOR swaps the codes of the space and the quote. The quote and the control characters are then the bytes below 0x21.
    let quote_or_control = (word ^ (0x02 * EVERY_BYTE)).wrapping_sub(0x21 * EVERY_BYTE);
    let backslash = (word ^ (u64::from(b'\\') * EVERY_BYTE)).wrapping_sub(EVERY_BYTE);
    (quote_or_control | backslash) & !word & HIGH_BITS
}
