//! A kind of values: how a key of this kind is read, and how operators see its value. Both use the
//! unit of the key.

use serde_json::Value as Json;
use toml::Value;

use super::section::{Expected, Given};

/// Longest quote of a wrong value.
const QUOTED_CHARACTERS: usize = 60;

/// An error that quotes the wrong value.
pub(super) fn found(expected: &str, given: &Given<'_>) -> Expected {
    let text = match given.value {
        Value::Table(_) => "a table".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        other => format!("`{}`", other.to_string().chars().take(QUOTED_CHARACTERS).collect::<String>()),
    };
    format!("{expected}; it is {text}")
}

/// Makes a value of the text or the number in the file.
type Convert<T> = Box<dyn Fn(&Given<'_>) -> Result<T, Expected>>;

/// A kind of values.
pub(super) struct Kind<T> {
    convert: Convert<T>,
    show: Box<dyn Fn(&T) -> Shown>,
}

/// A value as operators see it.
#[derive(Clone, Debug)]
pub(super) enum Shown {
    /// The value as in the file, or null if it is not set.
    Value(Json),
    /// A secret: `true` if it is set.
    Secret(bool),
}

impl<T: Into<Json>> From<T> for Shown {
    fn from(value: T) -> Self {
        Self::Value(value.into())
    }
}

impl<T> Kind<T> {
    pub(super) fn new<S: Into<Shown>>(
        convert: impl Fn(&Given<'_>) -> Result<T, Expected> + 'static,
        show: impl Fn(&T) -> S + 'static,
    ) -> Self {
        Self { convert: Box::new(convert), show: Box::new(move |value| show(value).into()) }
    }

    /// Converts a value of the file or of a variable.
    pub(super) fn convert(&self, given: &Given<'_>) -> Result<T, Expected> {
        (self.convert)(given)
    }

    /// Converts a value for operators.
    pub(super) fn shown(&self, value: &T) -> Shown {
        (self.show)(value)
    }
}

/// Values that the file has in the same form as the gateway.
pub(super) fn plain<T: Clone + Into<Json> + 'static>(
    convert: impl Fn(&Given<'_>) -> Result<T, Expected> + 'static,
) -> Kind<T> {
    Kind::new(convert, T::clone)
}

/// Values that the file has as text.
pub(super) fn text<T: ToString + 'static>(convert: impl Fn(&Given<'_>) -> Result<T, Expected> + 'static) -> Kind<T> {
    Kind::new(convert, T::to_string)
}

/// A value that may be absent.
pub(super) fn optional<T: 'static>(kind: Kind<T>) -> Kind<Option<T>> {
    let Kind { convert, show } = kind;
    Kind::new(move |given| convert(given).map(Some), move |value| value.as_ref().map_or(Json::Null.into(), &show))
}

/// A value that is absent if the text of the key is empty.
pub(super) fn or_empty<T: 'static>(kind: Kind<T>) -> Kind<Option<T>> {
    let Kind { convert, show } = optional(kind);
    Kind { convert: Box::new(move |given| if given.string() == Some("") { Ok(None) } else { convert(given) }), show }
}

/// One of several words, each with its value. The empty word is shown as null.
pub(super) fn choice<T: Copy + PartialEq + 'static>(
    expected: &'static str,
    words: &'static [(&'static str, T)],
) -> Kind<T> {
    let word_of = |value: &T| words.iter().find(|(_, other)| other == value).map(|(word, _)| *word);
    Kind::new(
        move |given| {
            let chosen = words.iter().find(|(word, _)| given.string() == Some(word));
            chosen.map(|(_, value)| *value).ok_or_else(|| found(expected, given))
        },
        move |value| word_of(value).filter(|word| !word.is_empty()),
    )
}
