//! Checks the grammar of RFC 8259 in one pass that builds no values.
//!
//! A [`Scanner`] only moves forward, and only over text that the grammar allows. All text that it
//! has passed is therefore valid JSON, if the whole document is UTF-8. The other modules rely on
//! this: they slice the document at the scanner's positions without checking again.

use super::blocks::{self, ends_plain_text};
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

/// Number of parts after which a string counts as long and is searched in blocks. For shorter ones
/// this would be slower.
const PARTS_BEFORE_BLOCKS: u32 = 2;

/// `true` for each byte that makes an escape of two bytes with the backslash before it.
const SHORT_ESCAPES: [bool; 256] = {
    let (mut is_short, escapes) = ([false; 256], br#""\/bfnrt"#);
    let mut at = 0;
    while at < escapes.len() {
        is_short[escapes[at] as usize] = true;
        at += 1;
    }
    is_short
};

/// A word of eight spaces.
const SPACES: u64 = u64::from_ne_bytes([b' '; 8]);

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

    /// The text of a name as it is written, without its quotes, and its
    /// [head](super::paths::head_of).
    #[inline]
    pub(super) fn written(&self, name: Name) -> (&'a [u8], u64) {
        let text = self.bytes.get(name.start + 1..name.end - 1).unwrap_or_default();
        (text, self.word(name.start + 1).unwrap_or_else(|| head_of(text)))
    }

    /// Steps over one value of any kind, which is inside `depth` lists and objects.
    ///
    /// The kinds of the lists and objects that it opens are the bits of one word. This function
    /// therefore recurses only once in [`LEVELS_PER_WORD`] levels.
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

    /// Steps over the bracket that opens a list or object, which is inside `depth` others. Returns
    /// `true` if its first item comes next, and `false` if it is empty and has been stepped over.
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

    /// Steps over the comma or bracket after an element or member. Returns `true` if another one
    /// follows, and `false` if the list or object has ended.
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

    /// Steps over the whitespace after the document's value. Any other byte is an error.
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

    /// Steps over the string whose opening quote is at the position. Returns `true` if it contains
    /// escapes.
    #[inline(always)]
    fn string(&mut self) -> Result<bool, ShapeError> {
        let mut at = self.position + 1;
        for _ in 0..PARTS_BEFORE_BLOCKS {
            let Some(part) = self.bytes.get(at..).and_then(<[u8]>::first_chunk) else { break };
            let ends = blocks::ends_of_plain_text_in_part(part);
            if ends != 0 {
                at += ends.trailing_zeros() as usize;
                break;
            }
            at += blocks::PART_BYTES;
        }
        if self.byte(at) == b'"' {
            self.position = at + 1;
            return Ok(false);
        }
        self.rest_of_string(at)
    }

    /// Steps over the rest of a string, from `at` on. Returns `true` if the rest contains escapes.
    fn rest_of_string(&mut self, mut at: usize) -> Result<bool, ShapeError> {
        let mut has_escapes = false;
        while let Some(block) = self.bytes.get(at..).and_then(<[u8]>::first_chunk) {
            let mut ends = blocks::ends_of_plain_text(block);
            let mut next = at + blocks::BYTES;
            while ends != 0 {
                let end = at + ends.trailing_zeros() as usize;
                let Some(length) = self.end_of_plain_text(end)? else { return Ok(has_escapes) };
                has_escapes = true;
                // A quote or backslash that belongs to the escape does not end the text.
                let behind = end + length - at;
                if behind >= blocks::BYTES {
                    next = at + behind;
                    break;
                }
                ends &= u64::MAX << behind;
            }
            at = next;
        }
        // Fewer bytes than a block remain.
        loop {
            while self.bytes.get(at).is_some_and(|byte| !ends_plain_text(*byte)) {
                at += 1;
            }
            let Some(length) = self.end_of_plain_text(at)? else { return Ok(has_escapes) };
            has_escapes = true;
            at += length;
        }
    }

    /// Returns the length of the escape at `at`, or steps past the closing quote there and returns
    /// `None`.
    #[inline(always)]
    fn end_of_plain_text(&mut self, at: usize) -> Result<Option<usize>, ShapeError> {
        match self.byte(at) {
            b'"' => {
                self.position = at + 1;
                Ok(None)
            }
            b'\\' => self.escape(at).map(Some),
            _ => {
                self.position = at;
                Err(self.expected("a closing quote without a control character before it"))
            }
        }
    }

    /// Returns the length of the escape that begins at `at`.
    #[inline(always)]
    fn escape(&mut self, at: usize) -> Result<usize, ShapeError> {
        let byte = self.byte(at + 1);
        if SHORT_ESCAPES.get(usize::from(byte)) == Some(&true) { Ok(2) } else { self.long_escape(at) }
    }

    fn long_escape(&mut self, at: usize) -> Result<usize, ShapeError> {
        if self.byte(at + 1) == b'u' && (at + 2..at + 6).all(|digit| self.byte(digit).is_ascii_hexdigit()) {
            return Ok(6);
        }
        self.position = at;
        Err(self.expected("a valid escape"))
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
