//! The `json` interface: documents that stay on the host's side.
//!
//! A document is a range of the JSON text it came in; looking into it slices that text and never copies or rewrites it, so
//! numbers, escapes and the order of members are handed on exactly as the upstream wrote them.

use std::borrow::Cow;
use std::fmt;
use std::sync::OnceLock;

use bytes::Bytes;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use wasmtime::component::Resource;

use super::bindings::gateway::connector::json::{Host, HostDocument, Kind};
use super::invocation::Guest;

/// A JSON value on the host's side.
pub struct Document {
    /// Exactly one valid JSON value in UTF-8, without white space around it.
    text: Bytes,
    /// Found when they are first asked for.
    children: OnceLock<Vec<Child>>,
}

struct Child {
    /// The member's name, decoded; `None` in an array.
    name: Option<String>,
    text: Bytes,
}

impl Document {
    /// Checks that `text` is one JSON value (RFC 8259) and takes it.
    ///
    /// # Errors
    /// Says where the text is wrong.
    pub fn parse(text: Bytes) -> Result<Self, serde_json::Error> {
        let value: &RawValue = serde_json::from_slice(&text)?;
        let value = text.slice_ref(value.get().as_bytes());
        Ok(Self::of(value))
    }

    fn of(text: Bytes) -> Self {
        Self { text, children: OnceLock::new() }
    }

    /// The JSON text.
    pub fn into_text(self) -> Bytes {
        self.text
    }

    fn kind(&self) -> Kind {
        match self.text.first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b't' | b'f') => Kind::Boolean,
            Some(b'n') | None => Kind::Null,
            Some(_) => Kind::Number,
        }
    }

    fn children(&self) -> &[Child] {
        self.children.get_or_init(|| match serde_json::from_slice::<Children<'_>>(&self.text) {
            Ok(Children(children)) => children
                .into_iter()
                .map(|(name, value)| Child {
                    name: name.map(Cow::into_owned),
                    text: self.text.slice_ref(value.get().as_bytes()),
                })
                .collect(),
            // A scalar has none.
            Err(_) => Vec::new(),
        })
    }

    fn child(&self, token: &str) -> Option<Document> {
        let child = match self.kind() {
            // RFC 6901: of members with the same name the behaviour is undefined; the last one counts, as in most parsers.
            Kind::Object => self.children().iter().rfind(|child| child.name.as_deref() == Some(token)),
            Kind::Array if token == "0" || !token.starts_with('0') => {
                token.parse().ok().and_then(|index: usize| self.children().get(index))
            }
            _ => None,
        }?;
        Some(Self::of(child.text.clone()))
    }

    /// The children of this document are found once, however often it is looked into.
    fn pointer(&self, pointer: &str) -> Option<Document> {
        let Some(tokens) = pointer.strip_prefix('/') else {
            return pointer.is_empty().then(|| Self::of(self.text.clone()));
        };
        let mut found: Option<Document> = None;
        for token in tokens.split('/') {
            let token = if token.contains('~') {
                Cow::Owned(token.replace("~1", "/").replace("~0", "~"))
            } else {
                Cow::Borrowed(token)
            };
            found = Some(found.as_ref().unwrap_or(self).child(&token)?);
        }
        found
    }
}

/// The items of an array or the members of an object, each as its text.
struct Children<'a>(Vec<(Option<Cow<'a, str>>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Children<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Children<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an array or an object")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                let mut children = Vec::new();
                while let Some(item) = items.next_element()? {
                    children.push((None, item));
                }
                Ok(Children(children))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
                let mut children = Vec::new();
                while let Some(name) = members.next_key::<String>()? {
                    children.push((Some(Cow::Owned(name)), members.next_value()?));
                }
                Ok(Children(children))
            }
        }
        deserializer.deserialize_any(Collect)
    }
}

impl Host for Guest {}

impl HostDocument for Guest {
    fn parse(&mut self, text: String) -> wasmtime::Result<Result<Resource<Document>, String>> {
        match Document::parse(text.into()) {
            Ok(document) => Ok(Ok(self.table.push(document)?)),
            Err(error) => Ok(Err(error.to_string())),
        }
    }

    fn pointer(
        &mut self,
        document: Resource<Document>,
        pointer: String,
    ) -> wasmtime::Result<Option<Resource<Document>>> {
        let found = self.table.get(&document)?.pointer(&pointer);
        Ok(found.map(|found| self.table.push(found)).transpose()?)
    }

    fn kind(&mut self, document: Resource<Document>) -> wasmtime::Result<Kind> {
        Ok(self.table.get(&document)?.kind())
    }

    fn length(&mut self, document: Resource<Document>) -> wasmtime::Result<u32> {
        let length = self.table.get(&document)?.children().len();
        Ok(u32::try_from(length)?)
    }

    fn keys(&mut self, document: Resource<Document>) -> wasmtime::Result<Vec<String>> {
        let children = self.table.get(&document)?.children();
        Ok(children.iter().filter_map(|child| child.name.clone()).collect())
    }

    fn item(&mut self, document: Resource<Document>, index: u32) -> wasmtime::Result<Option<Resource<Document>>> {
        let found =
            self.table.get(&document)?.children().get(index as usize).map(|child| Document::of(child.text.clone()));
        Ok(found.map(|found| self.table.push(found)).transpose()?)
    }

    fn text(&mut self, document: Resource<Document>) -> wasmtime::Result<String> {
        let text = &self.table.get(&document)?.text;
        Ok(String::from_utf8(text.to_vec())?)
    }

    fn as_string(&mut self, document: Resource<Document>) -> wasmtime::Result<Option<String>> {
        let text = &self.table.get(&document)?.text;
        Ok(serde_json::from_slice(text).ok())
    }

    fn drop(&mut self, document: Resource<Document>) -> wasmtime::Result<()> {
        self.table.delete(document)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(text: &'static str) -> Document {
        Document::parse(Bytes::from_static(text.as_bytes())).unwrap()
    }

    fn at(text: &'static str, pointer: &str) -> Option<String> {
        let found = document(text).pointer(pointer)?;
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
        assert!(document("\"text\"").children().is_empty());
        assert!(document("[]").children().is_empty());
    }

    #[test]
    fn broken_text_is_refused() {
        assert!(Document::parse(Bytes::from_static(b"{\"a\":}")).is_err());
        assert!(Document::parse(Bytes::from_static(b"1 2")).is_err());
    }
}
