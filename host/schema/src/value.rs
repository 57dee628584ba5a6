//! Reads the values of a request body, and notes names that occur twice in one object.
//!
//! A parser keeps one of the members of the same name, and a connector may read the other one, or
//! send both. So the schema would validate another value than the one that is sent.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Value};

use super::violations::{MAX_POINTER_BYTES, MAX_VIOLATIONS};
use contract_rules::pointer;

/// The names that occur twice, with their places.
#[derive(Default)]
pub(super) struct Repeated {
    found: Vec<Place>,
    /// There are more than an answer lists.
    has_more: bool,
}

/// The place of a member.
struct Place {
    /// Names and indices up to the member, innermost first.
    steps: Vec<String>,
}

/// Reads the value of a member of the body, and notes the names that occur twice in it.
///
/// # Errors
/// If the text is not one JSON value that can be read.
pub(super) fn read(name: &str, text: &str, repeated: &mut Repeated) -> serde_json::Result<Value> {
    let before = repeated.found.len();
    let mut parser = serde_json::Deserializer::from_str(text);
    let value = Reader { repeated }.deserialize(&mut parser)?;
    parser.end()?;
    repeated.are_inside(name, before);
    Ok(value)
}

impl Repeated {
    /// Notes a name. `before` is the number of names that were noted before its object began.
    fn add(&mut self, name: &str, before: usize) {
        if self.has_more {
            return;
        }
        let is_known = |place: &Place| matches!(&*place.steps, [step] if step == cut(name));
        if self.found.iter().skip(before).any(is_known) {
            return;
        }
        if self.found.len() < MAX_VIOLATIONS {
            self.found.push(Place { steps: vec![cut(name).to_owned()] });
        } else {
            self.has_more = true;
        }
    }

    /// The names that were noted after the first `before` ones are inside of this part.
    fn are_inside(&mut self, part: &str, before: usize) {
        for place in self.found.iter_mut().skip(before) {
            place.steps.push(cut(part).to_owned());
        }
    }

    /// Notes a member of the body that occurs twice.
    pub(super) fn add_member(&mut self, name: &str) {
        self.add(name, 0);
    }

    /// Returns `true` if there are more names than an answer lists.
    pub(super) fn has_more(&self) -> bool {
        self.has_more
    }

    /// Each name with the JSON Pointer to it.
    pub(super) fn names(&self) -> impl Iterator<Item = (&str, String)> {
        self.found.iter().map(|Place { steps }| {
            let name = steps.first().map_or("", String::as_str);
            (name, steps.iter().rev().map(|step| pointer::of(step)).collect())
        })
    }
}

/// The beginning of a name that is as long as the longest pointer in an answer.
fn cut(name: &str) -> &str {
    name.get(..name.floor_char_boundary(MAX_POINTER_BYTES)).unwrap_or(name)
}

/// Reads a value as `serde_json` does.
struct Reader<'r> {
    repeated: &'r mut Repeated,
}

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any valid JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        let mut before = self.repeated.found.len();
        while let Some(item) = list.next_element_seed(Reader { repeated: &mut *self.repeated })? {
            if self.repeated.found.len() > before {
                self.repeated.are_inside(&items.len().to_string(), before);
                before = self.repeated.found.len();
            }
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        let start = self.repeated.found.len();
        while let Some(name) = object.next_key::<String>()? {
            let before = self.repeated.found.len();
            let value = object.next_value_seed(Reader { repeated: &mut *self.repeated })?;
            if self.repeated.found.len() > before {
                self.repeated.are_inside(&name, before);
            }
            match members.entry(name) {
                Entry::Vacant(place) => {
                    place.insert(value);
                }
                Entry::Occupied(mut place) => {
                    self.repeated.add(place.key(), start);
                    place.insert(value);
                }
            }
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pointers(text: &str) -> Vec<String> {
        let mut repeated = Repeated::default();
        read("body", text, &mut repeated).expect("JSON");
        repeated.names().map(|(_, pointer)| pointer).collect()
    }

    #[test]
    fn a_repeated_name_has_its_place() {
        for (text, expected) in [
            (r#"{"a":{"a":1},"b":[{"a":1},{"a":2}]}"#, vec![]),
            (r#"{"a":1,"\u0061":2,"a":3}"#, vec!["/body/a"]),
            (r#"{"b":[{},{"c":{"a":1,"a":2}}],"d/":{"e":0,"e":0}}"#, vec!["/body/b/1/c/a", "/body/d~1/e"]),
            (r#"[[1,{"":1,"":2}],{"x":{"x":1,"x":1},"x":7}]"#, vec!["/body/0/1/", "/body/1/x/x", "/body/1/x"]),
        ] {
            assert_eq!(pointers(text), expected, "{text}");
        }
    }

    #[test]
    fn values_are_those_of_serde_json() {
        for text in [
            "null",
            "true",
            "-7",
            "18446744073709551615",
            "123456789012345678901234567890",
            "1.0",
            "-0",
            "1e3",
            r#""\u00fc\n""#,
            r#"[1, {"b": [], "a": {}}, "x"]"#,
            r#"{"z":1,"a":2,"z":3}"#,
        ] {
            let read = read("a", text, &mut Repeated::default()).expect("JSON");
            assert_eq!(read.to_string(), serde_json::from_str::<Value>(text).expect("JSON").to_string());
        }
        for text in ["1E400", r#""\ud800""#, "[1] 2", "", "[1,]"] {
            let error = |result: serde_json::Result<Value>| result.expect_err("not JSON").to_string();
            assert_eq!(error(read("a", text, &mut Repeated::default())), error(serde_json::from_str(text)), "{text}");
        }
    }

    #[test]
    fn an_object_with_a_name_of_the_parser_is_an_object() {
        let text = r#"{"$serde_json::private::RawValue":"\"safe\""}"#;
        assert!(read("a", text, &mut Repeated::default()).is_ok_and(|value| value.is_object()));
    }

    #[test]
    fn no_more_names_are_kept_than_an_answer_lists() {
        let names = (0..100_000).map(|name| format!(r#""{name}":0,"{name}":1"#)).collect::<Vec<_>>().join(",");
        let mut repeated = Repeated::default();
        read("a", &format!("{{{names}}}"), &mut repeated).expect("JSON");
        assert_eq!((repeated.names().count(), repeated.has_more()), (MAX_VIOLATIONS, true));
        let long = "x".repeat(1_000_000);
        let mut repeated = Repeated::default();
        read("a", &format!(r#"{{"{long}":[{{"a":0,"a":1}}]}}"#), &mut repeated).expect("JSON");
        let bytes: usize = repeated.names().map(|(name, pointer)| name.len() + pointer.len()).sum();
        assert!(bytes < 2 * MAX_POINTER_BYTES, "{bytes}");
    }
}
