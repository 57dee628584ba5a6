//! The parts of a JSON value, each as its text. Parts over a maximum are only counted, so that a huge value takes no memory.

use std::fmt;

use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The first parts of a list or an object.
pub(super) struct Parts<T> {
    pub(super) first: Vec<T>,
    /// The number of all parts.
    pub(super) count: usize,
}

/// The elements of a list, at most `max` of them. `None` if the value is not a list.
pub(super) fn elements(list: &RawValue, max: usize) -> Option<Parts<&RawValue>> {
    let mut parser = serde_json::Deserializer::from_str(list.get());
    list.get().starts_with('[').then(|| parser.deserialize_seq(Elements { max }).ok())?
}

/// The members of an object, at most `max` of them. `None` if the value is not an object, or has a name that is not text.
pub(super) fn members(object: &RawValue, max: usize) -> Option<Parts<(String, &RawValue)>> {
    let mut parser = serde_json::Deserializer::from_str(object.get());
    object.get().starts_with('{').then(|| parser.deserialize_map(Members { max }).ok())?
}

struct Elements {
    max: usize,
}

impl<'de> Visitor<'de> for Elements {
    type Value = Parts<&'de RawValue>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut first = Vec::new();
        while first.len() < self.max {
            let Some(element) = list.next_element()? else { return Ok(Parts { count: first.len(), first }) };
            first.push(element);
        }
        let mut count = first.len();
        while list.next_element::<IgnoredAny>()?.is_some() {
            count += 1;
        }
        Ok(Parts { first, count })
    }
}

struct Members {
    max: usize,
}

impl<'de> Visitor<'de> for Members {
    type Value = Parts<(String, &'de RawValue)>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
        let mut first = Vec::new();
        while first.len() < self.max {
            let Some(member) = object.next_entry()? else { return Ok(Parts { count: first.len(), first }) };
            first.push(member);
        }
        let mut count = first.len();
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            count += 1;
        }
        Ok(Parts { first, count })
    }
}
