//! The input of functions: `connector!` makes a type of a row's fields and reads it with these.

use std::borrow::Cow;

use crate::Fault;
use crate::reader::{self, Member};

/// An input type that `connector!` made.
pub trait Input: Sized {
    /// Reads the fields.
    ///
    /// # Errors
    /// [`Fault::InvalidInput`] when one does not fit; the schema should have said so before.
    fn read(fields: &Fields<'_>) -> Result<Self, Fault>;
}

/// The members of an input.
pub struct Fields<'a>(Vec<Member<'a>>);

impl<'a> Fields<'a> {
    /// Takes the JSON text of an input apart.
    ///
    /// # Errors
    /// [`Fault::InvalidInput`] when it is no object.
    pub fn parse(json: &'a str) -> Result<Self, Fault> {
        reader::members(json).map(Self)
    }

    /// A field that may be absent or null.
    ///
    /// # Errors
    /// [`Fault::InvalidInput`] when it is of another type.
    pub fn optional<T: FromJson>(&self, name: &str) -> Result<Option<T>, Fault> {
        match self.0.iter().find(|member| member.name == name) {
            Some(member) if member.value != "null" => match T::from_json(member.value) {
                Some(value) => Ok(Some(value)),
                None => Err(Fault::invalid_input(
                    format!("/{name}"),
                    "Give a value of the type that the operation documents.",
                )),
            },
            _ => Ok(None),
        }
    }

    /// A field that must be there.
    ///
    /// # Errors
    /// [`Fault::InvalidInput`] when it is absent or of another type.
    pub fn required<T: FromJson>(&self, name: &str) -> Result<T, Fault> {
        let missing = || Fault::invalid_input(format!("/{name}"), "Give a value: the operation needs it.");
        self.optional(name)?.ok_or_else(missing)
    }
}

/// A type that a field can have. None when the JSON text is something else.
pub trait FromJson: Sized {
    /// Reads a value.
    fn from_json(json: &str) -> Option<Self>;
}

impl FromJson for String {
    fn from_json(json: &str) -> Option<Self> {
        if json.starts_with('"') { reader::scalar(json).map(Cow::into_owned) } else { None }
    }
}

impl FromJson for i64 {
    fn from_json(json: &str) -> Option<Self> {
        reader::integer(json)?.parse().ok()
    }
}

impl FromJson for f64 {
    fn from_json(json: &str) -> Option<Self> {
        json.parse().ok()
    }
}

impl FromJson for bool {
    fn from_json(json: &str) -> Option<Self> {
        json.parse().ok()
    }
}

impl<T: FromJson> FromJson for Vec<T> {
    fn from_json(json: &str) -> Option<Self> {
        reader::items(json).ok()?.into_iter().map(T::from_json).collect()
    }
}

/// The table's type `string | [string]`: a string is a list of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OneOrMany(pub Vec<String>);

impl FromJson for OneOrMany {
    fn from_json(json: &str) -> Option<Self> {
        match String::from_json(json) {
            Some(text) => Some(Self(vec![text])),
            None => FromJson::from_json(json).map(Self),
        }
    }
}

/// The table's type `object`: JSON text, for functions that pass it on or take it apart themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Json(pub String);

impl Default for Json {
    fn default() -> Self {
        Self("{}".to_owned())
    }
}

impl FromJson for Json {
    fn from_json(json: &str) -> Option<Self> {
        json.starts_with('{').then(|| Self(json.to_owned()))
    }
}

/// The table's type `entries[…]`: names, and values as text. A scalar is a list of one; null is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entries(pub Vec<(String, Vec<String>)>);

impl Entries {
    /// The values of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&[String]> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, values)| values.as_slice())
    }
}

impl FromJson for Entries {
    fn from_json(json: &str) -> Option<Self> {
        let mut entries = Vec::new();
        for member in reader::members(json).ok()?.into_iter().filter(|member| member.value != "null") {
            let items =
                if member.value.starts_with('[') { reader::items(member.value).ok()? } else { vec![member.value] };
            let values = items.into_iter().map(|item| reader::scalar(item).map(Cow::into_owned));
            entries.push((member.name.into_owned(), values.collect::<Option<_>>()?));
        }
        Some(Self(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::{Entries, Fields, FromJson, OneOrMany};

    #[test]
    fn a_string_is_a_list_of_one() {
        assert_eq!(OneOrMany::from_json("\"a\""), Some(OneOrMany(vec!["a".to_owned()])));
        assert_eq!(OneOrMany::from_json("[\"a\", \"b\"]"), Some(OneOrMany(vec!["a".to_owned(), "b".to_owned()])));
        assert_eq!(OneOrMany::from_json("[1]"), None);
    }

    #[test]
    fn integers_may_be_written_with_a_point() {
        assert_eq!(i64::from_json("25.0"), Some(25));
        assert_eq!(i64::from_json("\"25\""), None);
    }

    #[test]
    fn entries_are_text_whatever_they_came_as() {
        let entries = Entries::from_json(r#"{"n":1,"b":true,"l":["x",2],"gone":null}"#).expect("entries");
        assert_eq!(entries.get("l"), Some(&["x".to_owned(), "2".to_owned()][..]));
        assert_eq!(entries.get("b"), Some(&["true".to_owned()][..]));
        assert_eq!(entries.get("gone"), None);
    }

    #[test]
    fn null_is_absent() {
        let fields = Fields::parse(r#"{"a":null,"b":"x"}"#).expect("an object");
        assert!(matches!(fields.optional::<String>("a"), Ok(None)));
        assert!(fields.required::<String>("a").is_err());
        assert!(fields.optional::<bool>("b").is_err());
    }
}
