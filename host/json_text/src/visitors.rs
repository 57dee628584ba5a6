//! The visitors that serde calls with the parts of a value.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::name::Name;

/// The message of the error that ends the parser. The caller gets the function's error in its
/// place.
const STOPPED: &str = "the reading was stopped";

/// Calls `take` for the first `max` elements of a list, and returns the number of all.
pub(super) struct Elements<'s, F, E> {
    pub(super) max: usize,
    pub(super) take: F,
    /// The error of `take`.
    pub(super) stopped: &'s mut Option<E>,
}

impl<'de, F: FnMut(&'de RawValue) -> Result<(), E>, E> Visitor<'de> for Elements<'_, F, E> {
    type Value = usize;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<usize, A::Error> {
        let mut count = 0;
        while count < self.max {
            let Some(element) = list.next_element()? else { return Ok(count) };
            (self.take)(element).map_err(|error| stop(self.stopped, error))?;
            count += 1;
        }
        while list.next_element::<IgnoredAny>()?.is_some() {
            count += 1;
        }
        Ok(count)
    }
}

/// Calls `take` for the first `max` members of an object, and returns the number of all.
pub(super) struct Members<'s, F, E> {
    pub(super) max: usize,
    pub(super) take: F,
    /// The error of `take`.
    pub(super) stopped: &'s mut Option<E>,
}

impl<'de, F: FnMut(Cow<'de, str>, &'de RawValue) -> Result<(), E>, E> Visitor<'de> for Members<'_, F, E> {
    type Value = usize;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut object: A) -> Result<usize, A::Error> {
        let mut count = 0;
        while count < self.max {
            let Some(Name(name)) = object.next_key()? else { return Ok(count) };
            let value = object.next_value()?;
            (self.take)(name, value).map_err(|error| stop(self.stopped, error))?;
            count += 1;
        }
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            count += 1;
        }
        Ok(count)
    }
}

fn stop<E, P: Error>(stopped: &mut Option<E>, error: E) -> P {
    *stopped = Some(error);
    P::custom(STOPPED)
}
