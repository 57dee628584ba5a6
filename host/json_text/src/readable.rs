//! Values that RFC 8259 allows and most parsers refuse.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::name::Name;

/// Takes the place of half of a surrogate pair.
const NO_CHARACTER: &str = r"\ufffd";

/// Takes the place of a number that is too large, with its sign.
const LARGEST: &str = "1e308";
const SMALLEST: &str = "-1e308";

/// A number without an exponent that has at most so many bytes is in range.
const MAX_PLAIN_NUMBER: usize = 300;

/// An object with this member is no object for a parser of `serde_json`, but the text that a
/// `RawValue` is written as.
const RESERVED_NAME: &str = "$serde_json::private::RawValue";

/// The text of a value that each parser reads: a `serde_json::Value` here, and the parsers of those
/// who get the value. If nothing is wrong with it, it is the given text. Half of a surrogate pair
/// becomes `\ufffd`, and a number out of range becomes one in range.
///
/// `None` if lists and objects are nested deeper than `max_depth`, or a member has a name that
/// `serde_json` reserves. The given text must be JSON.
pub fn readable(text: &str, max_depth: usize) -> Option<Cow<'_, str>> {
    if is_readable(text, max_depth) {
        return Some(Cow::Borrowed(text));
    }
    let repaired = repaired(text);
    is_readable(&repaired, max_depth).then_some(repaired)
}

/// As [`readable`], without the limits: a parser may still refuse the text.
pub fn repaired(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut repaired = String::new();
    let (mut copied, mut at, mut is_in_text) = (0, 0, false);
    while let Some(byte) = bytes.get(at) {
        let (length, instead) = match byte {
            b'"' => {
                is_in_text = !is_in_text;
                (1, None)
            }
            b'\\' if is_in_text => escape(bytes.get(at..).unwrap_or_default()),
            b'-' | b'0'..=b'9' if !is_in_text => number(text.get(at..).unwrap_or_default()),
            _ => (1, None),
        };
        if let Some(instead) = instead {
            repaired.push_str(text.get(copied..at).unwrap_or_default());
            repaired.push_str(instead);
            copied = at + length;
        }
        at += length.max(1);
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    repaired.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(repaired)
}

/// The length of the escape or of the pair of escapes with which a text begins, and the text in its
/// place.
fn escape(text: &[u8]) -> (usize, Option<&'static str>) {
    match unit(text) {
        // The second byte may be a quote.
        None => (2, None),
        Some(0xD800..=0xDBFF) if matches!(text.get(6..).and_then(unit), Some(0xDC00..=0xDFFF)) => (12, None),
        Some(0xD800..=0xDFFF) => (6, Some(NO_CHARACTER)),
        Some(_) => (6, None),
    }
}

/// The UTF-16 unit of the escape with which a text begins.
fn unit(text: &[u8]) -> Option<u32> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    u32::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()
}

/// The length of the number with which a text begins, and the number in its place.
fn number(text: &str) -> (usize, Option<&'static str>) {
    let length = text.bytes().take_while(|byte| byte.is_ascii_digit() || b"+-.eE".contains(byte)).count();
    let number = text.get(..length).unwrap_or_default();
    let may_be_out_of_range = length > MAX_PLAIN_NUMBER || number.contains(['e', 'E']);
    if !may_be_out_of_range || serde_json::from_str::<f64>(number).is_ok() {
        return (length, None);
    }
    (length, Some(if number.starts_with('-') { SMALLEST } else { LARGEST }))
}

fn is_readable(text: &str, max_depth: usize) -> bool {
    let mut parser = serde_json::Deserializer::from_str(text);
    let read = Readable { depth_left: max_depth }.deserialize(&mut parser);
    read.and_then(|()| parser.end()).is_ok()
}

/// Reads a value to its end and keeps nothing of it. Texts are decoded and numbers are computed, as
/// they are for a `Value`.
#[derive(Clone, Copy)]
struct Readable {
    depth_left: usize,
}

impl Readable {
    /// The same for what is in a list or an object.
    fn inside<E: Error>(self) -> Result<Self, E> {
        let depth_left = self.depth_left.checked_sub(1).ok_or_else(|| E::custom("nested too deeply"))?;
        Ok(Self { depth_left })
    }
}

impl<'de> DeserializeSeed<'de> for Readable {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Readable {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let inside = self.inside::<A::Error>()?;
        while list.next_element_seed(inside)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        let inside = self.inside::<A::Error>()?;
        while let Some(Name(name)) = object.next_key()? {
            if name == RESERVED_NAME {
                return Err(A::Error::custom("a reserved name"));
            }
            object.next_value_seed(inside)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;
    use serde_json::value::RawValue;

    use super::*;

    #[test]
    fn what_each_parser_reads_stays_as_it_is() {
        let longest = "9".repeat(MAX_PLAIN_NUMBER);
        for text in [
            "null",
            r#" {"a": [1.0, -0, 12345678901234567890123, 1e308, 1E-999], "b\n\"\\": "\ud83d\ude00 \u00e9 \\ud83d"} "#,
            r#""1e999""#,
            &longest,
        ] {
            assert_eq!(readable(text, 2), Some(Cow::Borrowed(text)));
            assert!(serde_json::from_str::<Value>(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn halves_of_pairs_and_numbers_out_of_range_are_replaced() {
        let huge = "9".repeat(400);
        for (text, expected) in [
            (r#"{"a": "x\ud83d", "b": 1}"#, r#"{"a": "x\ufffd", "b": 1}"#),
            (r#"{"\uDE00": "\ud83d\ud83d\ude00\ude00"}"#, r#"{"\ufffd": "\ufffd\ud83d\ude00\ufffd"}"#),
            (r#""\ud83d\n\"""#, r#""\ufffd\n\"""#),
            (r#"[1e999,-1E+999, 1.5]"#, "[1e308,-1e308, 1.5]"),
            (&huge, "1e308"),
        ] {
            assert!(serde_json::from_str::<&RawValue>(text).is_ok() && serde_json::from_str::<Value>(text).is_err());
            assert_eq!(readable(text, 1).as_deref(), Some(expected));
            assert!(serde_json::from_str::<Value>(expected).is_ok(), "{expected}");
        }
    }

    #[test]
    fn a_value_that_is_too_deep_or_has_a_reserved_name_is_not_readable() {
        let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(readable(&deep(100), 100).is_some() && readable(&deep(101), 100).is_none());
        assert!(readable(&deep(100_000), 100).is_none());
        for text in
            [r#"{"a": {"$serde_json::private::RawValue": 1}}"#, r#"{"\u0024serde_json::private::RawValue": "{"}"#]
        {
            assert!(serde_json::from_str::<Value>(text).is_err(), "{text}");
            assert!(readable(text, 100).is_none(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_json_becomes_readable(
            parts in prop::collection::vec(
                prop_oneof![
                    Just(r#""\ud800\udc00""#), Just(r#""\udc00\ud800""#), Just(r#""\\ud800\"\udfff""#), Just("1e400"),
                    Just("-1e-400"), Just(r#"{"\ud9ff":"é"}"#), Just("[[0]]"), Just("true"),
                ],
                0..6,
            ),
        ) {
            let text = format!("[{}]", parts.join(", "));
            let read = readable(&text, 10).unwrap();
            let value: Value = serde_json::from_str(&read).unwrap();
            prop_assert_eq!(value.as_array().unwrap().len(), parts.len());
            if serde_json::from_str::<Value>(&text).is_ok() {
                prop_assert!(matches!(read, Cow::Borrowed(_)));
            }
        }

        #[test]
        fn no_text_makes_the_repair_panic(text in r#"(\\|u|d|8|"|é|-|1|e|9|\[){0,24}"#) {
            let _ = repaired(&text);
            let _ = readable(&text, 3);
        }
    }
}
