//! JSON documents that stay in the gateway.
//!
//! A document is a range of a JSON text. A lookup slices that text and does not copy or rewrite it.
//! So numbers, escapes and the order of members reach the caller exactly as the upstream wrote
//! them.

use std::borrow::Cow;
use std::sync::OnceLock;
use std::time::Instant;

use bytes::Bytes;
use json_text::Stopped;
use serde_json::value::RawValue;
use wasmtime::Trap;

use super::bindings::gateway::connector::json::Kind;
use super::host_memory::{HeldMemory, HostMemory, TooMuchHeld};

/// Bytes that a short name of a member takes as a separate string.
pub(super) const SHORTEST_NAME: usize = 32;

/// Looking through this number of children takes less than a millisecond, and so does freeing them.
const MANY_CHILDREN: usize = 4096;

/// A pointer of so many steps reads a small text in less than a millisecond, however it is nested.
const FEW_STEPS: usize = 8;

/// A JSON value in the gateway.
pub struct Document {
    /// Exactly one valid JSON value in UTF-8, without white space around it.
    pub(super) text: Bytes,
    /// Found on first use.
    children: OnceLock<Children>,
}

struct Children {
    list: Vec<Child>,
    /// `Some` until it is dropped.
    held: Option<HeldMemory>,
}

impl Drop for Children {
    /// Freeing very many children takes long.
    fn drop(&mut self) {
        if self.list.len() > MANY_CHILDREN {
            compute::discard((std::mem::take(&mut self.list), self.held.take()));
        }
    }
}

pub(super) struct Child {
    /// The member's name, decoded; `None` in an array.
    pub(super) name: Option<String>,
    text: Bytes,
}

impl Document {
    /// Makes a document of a text that is one JSON value (RFC 8259), perhaps after a byte order mark.
    ///
    /// # Errors
    /// The place at which the text is wrong.
    pub fn parse(text: Bytes) -> Result<Self, serde_json::Error> {
        let value: &RawValue = serde_json::from_slice(json_text::without_mark(&text))?;
        let value = text.slice_ref(value.get().as_bytes());
        Ok(Self::from_text(value))
    }

    fn from_text(text: Bytes) -> Self {
        Self { text, children: OnceLock::new() }
    }

    /// The JSON text of the value.
    pub fn into_text(self) -> Bytes {
        self.text
    }

    /// The value of a string; `None` for any other value.
    pub(super) fn as_string(&self, memory: &HostMemory) -> Result<Option<String>, TooMuchHeld> {
        memory.admit(self.text.len())?;
        Ok(serde_json::from_slice(&self.text).ok())
    }

    pub(super) fn kind(&self) -> Kind {
        match self.text.first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b't' | b'f') => Kind::Boolean,
            Some(b'n') | None => Kind::Null,
            Some(_) => Kind::Number,
        }
    }

    /// The items of an array or the members of an object. Empty for a scalar.
    pub(super) fn children(&self, memory: &mut HostMemory) -> Result<&[Child], TooMuchHeld> {
        if !matches!(self.kind(), Kind::Object | Kind::Array) {
            return Ok(&[]);
        }
        if let Some(found) = self.children.get() {
            return Ok(&found.list);
        }
        let found = Collect::children(&self.text, memory)?;
        Ok(&self.children.get_or_init(|| found).list)
    }

    fn child(&self, token: &str, memory: &mut HostMemory) -> Result<Option<Document>, TooMuchHeld> {
        let child = match self.kind() {
            // RFC 6901 leaves members of the same name undefined. The last one counts, as in most
            // parsers.
            Kind::Object => self.children(memory)?.iter().rfind(|child| child.name.as_deref() == Some(token)),
            Kind::Array if token == "0" || !token.starts_with('0') => match token.parse::<usize>() {
                Ok(index) => self.children(memory)?.get(index),
                Err(_) => None,
            },
            _ => None,
        };
        Ok(child.map(Self::of_child))
    }

    pub(super) fn of_child(child: &Child) -> Self {
        Self::from_text(child.text.clone())
    }

    /// The number of bytes to read before the children are known.
    pub(super) fn unread(&self) -> usize {
        match self.kind() {
            Kind::Object | Kind::Array if self.children.get().is_none() => self.text.len(),
            _ => 0,
        }
    }

    /// The number of bytes that the search for a pointer may read.
    pub(super) fn searched(&self, pointer: &str, memory: &mut HostMemory) -> Result<usize, TooMuchHeld> {
        let is_quick = |children: &Children| self.kind() == Kind::Array || children.list.len() <= MANY_CHILDREN;
        if !self.children.get().is_some_and(is_quick) {
            return Ok(read_by(pointer, self.text.len()));
        }
        let first = pointer.split('/').nth(1).unwrap_or_default();
        let child = self.child(&unescaped(first), memory)?;
        Ok(read_by(pointer, child.map_or(0, |child| child.text.len())))
    }

    /// The value at a JSON Pointer (RFC 6901). The children of this document are found once. Those
    /// of the values on the way are found at each call, which can take quadratic time in a deeply
    /// nested text; so the search traps after `end`.
    pub(super) fn pointer(
        &self,
        pointer: &str,
        memory: &mut HostMemory,
        end: Instant,
    ) -> wasmtime::Result<Option<Document>> {
        let Some(tokens) = pointer.strip_prefix('/') else {
            return Ok(pointer.is_empty().then(|| Self::from_text(self.text.clone())));
        };
        let mut found: Option<Document> = None;
        for token in tokens.split('/') {
            if found.is_some() && Instant::now() > end {
                return Err(Trap::Interrupt.into());
            }
            found = found.as_ref().unwrap_or(self).child(&unescaped(token), memory)?;
            if found.is_none() {
                break;
            }
        }
        Ok(found)
    }
}

/// The number of bytes that the search for a pointer may read in a text of this size. Each step
/// reads the value that the steps before it have found.
pub(super) fn read_by(pointer: &str, text: usize) -> usize {
    let steps = pointer.bytes().filter(|byte| *byte == b'/').count();
    // In a usual text, each step of a short pointer leads to a small part.
    if steps <= FEW_STEPS { text } else { text.saturating_mul(steps) }
}

/// A token of a JSON Pointer, decoded.
fn unescaped(token: &str) -> Cow<'_, str> {
    if token.contains('~') { Cow::Owned(token.replace("~1", "/").replace("~0", "~")) } else { Cow::Borrowed(token) }
}

/// Collects the items of an array or the members of an object, each as its text, while there is
/// memory for them.
struct Collect<'a> {
    text: &'a Bytes,
    list: Vec<Child>,
    held: HeldMemory,
}

impl Collect<'_> {
    fn children(text: &Bytes, memory: &mut HostMemory) -> Result<Children, TooMuchHeld> {
        let mut collect = Collect { text, list: Vec::new(), held: memory.hold(0)? };
        // The text is JSON, so it is UTF-8.
        let value = std::str::from_utf8(text).unwrap_or_default();
        let read = if value.starts_with('{') {
            json_text::each_member(value, |name, value| collect.add(Some(name.into_owned()), value))
        } else {
            json_text::each_element(value, |value| collect.add(None, value))
        };
        match read {
            Ok(()) => {}
            Err(Stopped::Function(over)) => return Err(over),
            // A name has half of a surrogate pair, which is not text.
            Err(Stopped::Json(_)) => collect.list.clear(),
        }
        Ok(Children { list: collect.list, held: Some(collect.held) })
    }

    fn add(&mut self, name: Option<String>, value: &RawValue) -> Result<(), TooMuchHeld> {
        self.make_room(name.as_ref())?;
        self.list.push(Child { name, text: self.text.slice_ref(value.get().as_bytes()) });
        Ok(())
    }

    fn make_room(&mut self, name: Option<&String>) -> Result<(), TooMuchHeld> {
        if let Some(name) = name {
            self.held.grow(name.capacity().max(SHORTEST_NAME))?;
        }
        if self.list.len() == self.list.capacity() {
            let more = self.list.len().max(4);
            self.held.grow(more * size_of::<Child>())?;
            self.list.reserve_exact(more);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn memory() -> HostMemory {
        HostMemory::for_responses_of(1 << 20)
    }

    fn document(text: &'static str) -> Document {
        Document::parse(Bytes::from_static(text.as_bytes())).unwrap()
    }

    fn at(text: &'static str, pointer: &str) -> Option<String> {
        let end = Instant::now() + Duration::from_secs(60);
        let found = document(text).pointer(pointer, &mut memory(), end).unwrap()?;
        Some(String::from_utf8(found.into_text().to_vec()).unwrap())
    }

    #[test]
    fn a_pointer_finds_members_items_and_escaped_names() {
        let text = r#" {"a/b": [10, {"m~n": 1.0}], "": 7} "#;
        assert_eq!(at(text, "/a~1b/0").as_deref(), Some("10"));
        assert_eq!(at(text, "/a~1b/1/m~0n").as_deref(), Some("1.0"));
        assert_eq!(at(text, "/").as_deref(), Some("7"));
        assert_eq!(at(text, "/a~1b/01"), None);
        assert_eq!(at(text, "/a~1b/-"), None);
        assert_eq!(at(text, "a"), None);
    }

    #[test]
    fn the_empty_pointer_is_the_document_without_the_white_space_around_it() {
        assert_eq!(at("\n[1, 2]\t", "").as_deref(), Some("[1, 2]"));
    }

    #[test]
    fn numbers_keep_their_text() {
        let text = r#"{"n": 123456789012345678901234567890}"#;
        assert_eq!(at(text, "/n").as_deref(), Some("123456789012345678901234567890"));
    }

    #[test]
    fn names_are_compared_decoded() {
        assert_eq!(at(r#"{"\u0061": true}"#, "/a").as_deref(), Some("true"));
    }

    #[test]
    fn a_scalar_has_no_children() {
        assert!(document("\"text\"").children(&mut memory()).unwrap().is_empty());
        assert!(document("[]").children(&mut memory()).unwrap().is_empty());
    }

    #[test]
    fn a_name_that_is_not_text_leaves_no_children() {
        assert!(document(r#"{"a": 1, "\ud800": 2}"#).children(&mut memory()).unwrap().is_empty());
    }

    #[test]
    fn children_are_counted_once_while_they_are_found() {
        for text in ["[0,0,0,0,0,0,0,0,0,0]", r#"{"a":0,"b":0,"a":0,"d":0,"e":0,"a":0,"b":0,"c":0,"d":0,"e":0}"#] {
            let mut memory = HostMemory::for_responses_of(1 << 10);
            let (all, document) = (memory.left(), document(text));
            assert_eq!(document.children(&mut memory).unwrap().len(), 10);
            let left = memory.left();
            assert!(left <= all - 10 * size_of::<Child>(), "{left}");
            assert_eq!(document.children(&mut memory).unwrap().len(), 10);
            assert_eq!(memory.left(), left);
            drop(document);
            assert_eq!(memory.left(), all);
        }
    }

    #[test]
    fn children_over_the_memory_limit_are_not_found() {
        let mut memory = HostMemory::for_responses_of(100);
        assert!(document("[0,0,0,0,0,0,0,0,0,0]").children(&mut memory).is_err());
        assert!(document(r#"{"a":0,"b":0,"c":0,"d":0,"e":0}"#).children(&mut memory).is_err());
        assert_eq!(memory.left(), 400);
    }

    #[test]
    fn a_pointer_counts_the_values_on_its_way_until_it_ends() {
        let mut memory = HostMemory::for_responses_of(500);
        let (all, end) = (memory.left(), Instant::now() + Duration::from_secs(60));
        let document = document("[[[[[[[[[[1]]]]]]]]]]");
        assert!(document.pointer(&"/0".repeat(10), &mut memory, end).unwrap().is_some());
        assert_eq!(memory.left(), all - 4 * size_of::<Child>(), "the children of the document itself stay");
    }

    #[test]
    fn a_long_pointer_ends_with_the_cpu_budget() {
        let past = Instant::now() - Duration::from_millis(1);
        let error = document("[[1]]").pointer("/0/0", &mut memory(), past).err().unwrap();
        assert_eq!(error.downcast_ref::<Trap>(), Some(&Trap::Interrupt));
    }

    #[test]
    fn a_long_pointer_into_a_small_text_is_a_long_computation() {
        let text = ["[".repeat(32_700), "]".repeat(32_700)].concat();
        assert!(text.len() < compute::LARGE_BYTES);
        let document = Document::parse(Bytes::from(text)).unwrap();
        let searched = |steps: usize| document.searched(&"/0".repeat(steps), &mut memory()).unwrap();
        assert!(searched(32_700) >= 32_700 * 65_400 && searched(FEW_STEPS + 1) >= compute::LARGE_BYTES);
        assert_eq!(searched(FEW_STEPS), 65_400, "a short pointer into a small text is not");
        document.children(&mut HostMemory::for_responses_of(1 << 20)).unwrap();
        assert!(searched(32_700) >= 32_700 * 65_398, "the value inside is nested as deeply");
    }

    #[test]
    fn broken_text_is_refused() {
        assert!(Document::parse(Bytes::from_static(b"{\"a\":}")).is_err());
        assert!(Document::parse(Bytes::from_static(b"1 2")).is_err());
    }
}
