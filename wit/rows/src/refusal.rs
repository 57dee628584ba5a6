//! Why a row makes no request of an input, and the text of a value, of which some have none.

use std::borrow::Cow;

use crate::reader::{self, Unexpected};
use crate::row::Field;

/// Why a row makes no request of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A value of the input cannot be where the row puts it.
    Input {
        /// JSON Pointer (RFC 6901) to the value.
        pointer: String,
        /// A sentence that says what to give.
        detail: String,
    },
    /// A setting of the connector has no value, or one that is no text. A sentence that names it.
    Setting(String),
}

impl Refusal {
    pub(crate) fn input(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::Input { pointer: pointer.into(), detail: detail.into() }
    }

    /// The value of this field is refused.
    pub(crate) fn of(field: &Field, detail: &str) -> Self {
        Self::input(format!("/{}", field.name), detail)
    }

    /// The same refusal for a value that is inside of another one.
    pub(crate) fn inside(self, place: &str) -> Self {
        match self {
            Self::Input { pointer, detail } => Self::Input { pointer: format!("{place}{pointer}"), detail },
            Self::Setting(why) => Self::Setting(why),
        }
    }
}

impl From<Unexpected> for Refusal {
    fn from(unexpected: Unexpected) -> Self {
        Self::input("", unexpected.to_string())
    }
}

/// A scalar as text: a string without its quotes, any other scalar as the caller wrote it.
pub(crate) fn text<'a>(field: &Field, value: &'a str) -> Result<Cow<'a, str>, Refusal> {
    match reader::scalar(value) {
        Some(text) if field.integer => {
            Ok(reader::integer(&text).map_or_else(|| text.clone(), |digits| Cow::Owned(digits.into_owned())))
        }
        Some(text) => Ok(text),
        None => Err(Refusal::of(field, "Give a string, a number or a boolean here.")),
    }
}
