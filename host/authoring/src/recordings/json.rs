//! A JSON value that keeps the text of its numbers and the order of its members, so that a
//! recording has exactly what the upstream sent.

use std::fmt;

use json_text::Member;
use serde::de::Error as _;
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// Maximum number of differences that are listed.
const MAX_DIFFERENCES: usize = 20;

/// Longest text of a value in a difference.
const MAX_SHOWN: usize = 120;

/// One value.
#[derive(Clone, Debug)]
pub(crate) enum Json {
    /// A number, a boolean or null, as it is written.
    Plain(String),
    Text(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Reads JSON text.
    ///
    /// # Errors
    /// If it is not JSON.
    pub(crate) fn parse(text: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(text)
    }

    fn from_raw(raw: &RawValue) -> serde_json::Result<Self> {
        let text = raw.get();
        match text.as_bytes().first() {
            Some(b'"') => serde_json::from_str(text).map(Self::Text),
            Some(b'[') => {
                json_text::elements(text)?.into_iter().map(Self::from_raw).collect::<Result<_, _>>().map(Self::Array)
            }
            Some(b'{') => {
                let member = |(name, value): Member<'_>| Ok((name.into_owned(), Self::from_raw(value)?));
                json_text::members(text)?.into_iter().map(member).collect::<Result<_, _>>().map(Self::Object)
            }
            _ => Ok(Self::Plain(text.to_owned())),
        }
    }

    /// Returns `true` if it is an object with this member.
    pub(crate) fn has(&self, name: &str) -> bool {
        matches!(self, Self::Object(members) if member(members, name).is_some())
    }

    /// Returns `true` if both mean the same. The order of members and the spelling of numbers are
    /// ignored.
    pub(crate) fn means(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Plain(one), Self::Plain(other)) => one == other || same_number(one, other),
            (Self::Text(one), Self::Text(other)) => one == other,
            (Self::Array(one), Self::Array(other)) => {
                one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.means(other))
            }
            (Self::Object(one), Self::Object(other)) => {
                let has = |(name, value): &(String, Self)| member(other, name).is_some_and(|found| value.means(found));
                one.len() == other.len() && one.iter().all(has)
            }
            _ => false,
        }
    }

    /// The places at which two values differ, a line each.
    pub(crate) fn differences(&self, now: &Self) -> Vec<String> {
        let mut lines = Vec::new();
        self.compare(now, "", &mut lines);
        if lines.len() > MAX_DIFFERENCES {
            let more = lines.len() - MAX_DIFFERENCES;
            lines.truncate(MAX_DIFFERENCES);
            lines.push(format!("and {more} more"));
        }
        lines
    }

    fn compare(&self, now: &Self, place: &str, lines: &mut Vec<String>) {
        match (self, now) {
            (Self::Object(recorded), Self::Object(found)) => {
                for (name, value) in recorded {
                    let place = format!("{place}/{name}");
                    match member(found, name) {
                        Some(now) => value.compare(now, &place, lines),
                        None => lines.push(format!("{place}: recorded {}, now absent", value.shown())),
                    }
                }
                for (name, value) in found.iter().filter(|(name, _)| member(recorded, name).is_none()) {
                    lines.push(format!("{place}/{name}: not recorded, now {}", value.shown()));
                }
            }
            (Self::Array(recorded), Self::Array(found)) if recorded.len() == found.len() => {
                for (index, (value, now)) in recorded.iter().zip(found).enumerate() {
                    value.compare(now, &format!("{place}/{index}"), lines);
                }
            }
            _ if self.means(now) => {}
            _ => {
                let place = if place.is_empty() { "the value" } else { place };
                lines.push(format!("{place}: recorded {}, now {}", self.shown(), now.shown()));
            }
        }
    }

    pub(super) fn shown(&self) -> String {
        let mut text = serde_json::to_string(self).unwrap_or_default();
        if text.len() > MAX_SHOWN {
            text.truncate(text.floor_char_boundary(MAX_SHOWN));
            text.push('…');
        }
        text
    }
}

/// The member of an object with a name.
pub(super) fn member<'a>(members: &'a [(String, Json)], name: &str) -> Option<&'a Json> {
    members.iter().find(|(known, _)| known == name).map(|(_, value)| value)
}

/// Compares numbers with different spellings. Two such whole numbers are different.
fn same_number(one: &str, other: &str) -> bool {
    let is_whole = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    if is_whole(one) && is_whole(other) {
        return false;
    }
    matches!((one.parse::<f64>(), other.parse::<f64>()), (Ok(one), Ok(other)) if one == other)
}

impl fmt::Display for Json {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&serde_json::to_string_pretty(self).map_err(|_| fmt::Error)?)
    }
}

impl From<&Value> for Json {
    fn from(value: &Value) -> Self {
        match value {
            Value::String(text) => Self::Text(text.clone()),
            Value::Array(items) => Self::Array(items.iter().map(Self::from).collect()),
            Value::Object(members) => {
                Self::Object(members.iter().map(|(name, value)| (name.clone(), Self::from(value))).collect())
            }
            plain => Self::Plain(plain.to_string()),
        }
    }
}

impl From<&Json> for Value {
    fn from(json: &Json) -> Self {
        match json {
            // A number, a boolean and null are JSON.
            Json::Plain(text) => serde_json::from_str(text).unwrap_or_default(),
            Json::Text(text) => Self::String(text.clone()),
            Json::Array(items) => items.iter().map(Self::from).collect(),
            Json::Object(members) => members.iter().map(|(name, value)| (name.clone(), Self::from(value))).collect(),
        }
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Plain(text) => {
                let raw = RawValue::from_string(text.clone()).map_err(serde::ser::Error::custom)?;
                raw.serialize(serializer)
            }
            Self::Text(text) => serializer.serialize_str(text),
            Self::Array(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| list.serialize_element(item))?;
                list.end()
            }
            Self::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                members.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))?;
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Self::from_raw(&raw).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        Json::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn numbers_and_the_order_of_members_stay_as_they_are_written() {
        let text = r#"{"z":1.0,"a":[123456789012345678901234567890,true,null,"é\n"],"b":{}}"#;
        assert_eq!(serde_json::to_string(&json(text)).unwrap(), text);
        assert!(Json::parse(b"{").is_err() && Json::parse(b"1 2").is_err());
    }

    #[test]
    fn values_mean_the_same_whatever_their_order_and_their_spelling_of_numbers_is() {
        assert!(json(r#"{"a":1,"b":2.50}"#).means(&json(r#"{"b":25e-1,"a":1.0}"#)));
        assert!(!json("12345678901234567890").means(&json("12345678901234567891")));
        assert!(!json(r#"{"a":1}"#).means(&json(r#"{"a":1,"b":1}"#)) && !json("[1,2]").means(&json("[2,1]")));
    }

    #[test]
    fn differences_name_their_places() {
        let (recorded, now) = (json(r#"{"a":[1,{"b":"x"}],"c":1}"#), json(r#"{"a":[1,{"b":"y"}],"d":null}"#));
        assert_eq!(
            recorded.differences(&now),
            [r#"/a/1/b: recorded "x", now "y""#, "/c: recorded 1, now absent", "/d: not recorded, now null"]
        );
        assert!(now.differences(&now).is_empty());
    }
}
