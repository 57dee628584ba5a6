//! JSON that functions read and keep.

use serde::Serialize;

use crate::input::{Fields, FromJson};
use crate::{Document, Fault};

/// A JSON value as its text: parameters, a cursor, a state, the data of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value(pub String);

impl Value {
    /// A value as JSON.
    ///
    /// # Errors
    /// [`Fault::Failed`] if the value cannot be written as JSON, for example a map whose keys are
    /// not strings.
    pub fn of(value: &(impl Serialize + ?Sized)) -> Result<Self, Fault> {
        serde_json::to_string(value).map(Self).map_err(|error| Fault::Failed(error.to_string()))
    }

    /// The whole value.
    ///
    /// # Errors
    /// [`Fault::InvalidInput`] if it is of another type.
    pub fn whole<T: FromJson>(&self) -> Result<T, Fault> {
        T::from_json(&self.0).ok_or_else(|| Fault::invalid_input("", "The value is of another type."))
    }

    /// A member that may be absent or null.
    ///
    /// # Errors
    /// [`Fault::InvalidInput`] if the value is no object, or the member is of another type.
    pub fn optional<T: FromJson>(&self, name: &str) -> Result<Option<T>, Fault> {
        Fields::parse(&self.0)?.optional(name)
    }

    /// A member that the value must have.
    ///
    /// # Errors
    /// [`Fault::InvalidInput`] if the value is no object, or the member is absent, null or of another
    /// type.
    pub fn required<T: FromJson>(&self, name: &str) -> Result<T, Fault> {
        Fields::parse(&self.0)?.required(name)
    }
}

impl From<&Document> for Value {
    fn from(document: &Document) -> Self {
        Self(document.text())
    }
}

impl FromJson for Value {
    fn from_json(json: &str) -> Option<Self> {
        Some(Self(json.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::Value;

    #[test]
    fn members_and_the_whole_value_are_read() {
        let value = Value(r#"{"page": "p2", "labels": ["a"], "gone": null}"#.to_owned());
        assert!(matches!(value.required("page"), Ok(page) if "p2" == String::as_str(&page)));
        assert!(matches!(value.optional::<Vec<String>>("labels"), Ok(Some(labels)) if labels == ["a"]));
        assert!(matches!(value.optional::<Value>("gone"), Ok(None)));
        assert!(value.required::<i64>("page").is_err() && value.whole::<String>().is_err());
        let Ok(cursor) = Value::of("7") else { panic!("a text is JSON") };
        assert_eq!(cursor.0, r#""7""#);
        assert!(matches!(cursor.whole::<String>(), Ok(text) if text == "7"));
        assert!(cursor.required::<String>("page").is_err());
    }
}
