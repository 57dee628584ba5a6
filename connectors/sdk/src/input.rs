//! The input of functions. `connector!` makes a type from a row's fields, and reads it with the
//! types in this module.

use std::borrow::Cow;

use rows::GivenFile;
use rows::reader::{self, Member};

use crate::Fault;

/// An input type that `connector!` makes.
pub trait Input: Sized {
    /// Reads the fields.
    ///
    /// # Errors
    /// [`Fault::InvalidInput`] if a field does not fit. The gateway has already validated the input
    /// with the schema.
    fn read(fields: &Fields<'_>) -> Result<Self, Fault>;
}

/// The members of an input.
pub struct Fields<'a>(Vec<Member<'a>>);

impl<'a> Fields<'a> {
    /// Reads the members of an input, which is JSON text.
    ///
    /// # Errors
    /// [`Fault::InvalidInput`] if the input is not an object.
    pub fn parse(json: &'a str) -> Result<Self, Fault> {
        Ok(Self(reader::members(json)?))
    }

    /// A field that may be absent or null.
    ///
    /// # Errors
    /// [`Fault::InvalidInput`] if it is of another type.
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

    /// A field that the input must have.
    ///
    /// # Errors
    /// [`Fault::InvalidInput`] if it is absent, null or of another type.
    pub fn required<T: FromJson>(&self, name: &str) -> Result<T, Fault> {
        let missing = || Fault::invalid_input(format!("/{name}"), "Give a value: the operation needs it.");
        self.optional(name)?.ok_or_else(missing)
    }
}

/// A type that a field can have.
pub trait FromJson: Sized {
    /// Reads a value from its JSON text. `None` if the text is a value of another type.
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

/// The table's type `string | [string]`. A single string becomes a list with one item.
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

/// The table's type `object`, or an object with declared fields: its JSON text.
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

/// The table's type `file`, as callers give it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct File {
    /// Its name.
    pub file_name: String,
    /// Its media type, if the caller names one.
    pub content_type: Option<String>,
    /// Its content in base64. [`Part::given`](crate::multipart::Part::given) sends it without
    /// decoding it here.
    pub content_base64: String,
}

impl FromJson for File {
    fn from_json(json: &str) -> Option<Self> {
        let GivenFile { file_name, content_type, content_base64 } = GivenFile::read(json)?;
        Some(Self {
            file_name: file_name.into_owned(),
            content_type: content_type.map(Cow::into_owned),
            content_base64: content_base64.into_owned(),
        })
    }
}

/// The table's type `entries[…]`: names, and values as text. A scalar becomes a list with one item.
/// Members that are null are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entries(pub Vec<(String, Vec<String>)>);

impl Entries {
    /// The values of a name. `None` if the caller has not given it.
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
    use super::{Entries, Fields, File, FromJson, OneOrMany};

    #[test]
    fn a_single_string_becomes_a_list() {
        assert_eq!(OneOrMany::from_json("\"a\""), Some(OneOrMany(vec!["a".to_owned()])));
        assert_eq!(OneOrMany::from_json("[\"a\", \"b\"]"), Some(OneOrMany(vec!["a".to_owned(), "b".to_owned()])));
        assert_eq!(OneOrMany::from_json("[1]"), None);
    }

    #[test]
    fn integers_may_have_a_decimal_point() {
        assert_eq!(i64::from_json("25.0"), Some(25));
        assert_eq!(i64::from_json("\"25\""), None);
    }

    #[test]
    fn entries_of_every_type_become_text() {
        let entries = Entries::from_json(r#"{"n":1,"b":true,"l":["x",2],"gone":null}"#).expect("entries");
        assert_eq!(entries.get("l"), Some(&["x".to_owned(), "2".to_owned()][..]));
        assert_eq!(entries.get("b"), Some(&["true".to_owned()][..]));
        assert_eq!(entries.get("gone"), None);
    }

    #[test]
    fn a_file_has_a_name_and_a_content() {
        let file = File::from_json(r#"{"content_base64":"SGk=","file_name":"a.txt"}"#).expect("a file");
        assert_eq!((file.file_name.as_str(), file.content_type, file.content_base64.as_str()), ("a.txt", None, "SGk="));
        assert_eq!(File::from_json(r#"{"file_name":"a.txt"}"#), None);
    }

    #[test]
    fn a_null_is_an_absent_field() {
        let fields = Fields::parse(r#"{"a":null,"b":"x"}"#).expect("an object");
        assert!(matches!(fields.optional::<String>("a"), Ok(None)));
        assert!(fields.required::<String>("a").is_err());
        assert!(fields.optional::<bool>("b").is_err());
    }
}
