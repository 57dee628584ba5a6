//! The path and the query of a request, in one string. Its length is checked with each value: a list
//! repeats the name of its parameter, so an input could make many times its own size.

use std::borrow::Cow;

use contract_rules::limit::PATH_BYTES;
use contract_rules::path::TOO_LONG;

use crate::encoding::{self, KEPT_IN_NAMES};
use crate::reader;
use crate::refusal::{Refusal, text};
use crate::row::{Encoding, Field, Lists, Location, Text, Trigger};

/// The path, and the part of the query that is already written.
pub(crate) struct Query<'a> {
    separator: char,
    /// Names of the parameters that the caller gave, and their values as JSON text. Filled only if
    /// the row has headers or defaults that depend on them.
    pub(crate) watched: Vec<(Cow<'a, str>, &'a str)>,
    pub(crate) path: String,
}

impl Query<'_> {
    /// The path, without a query yet.
    pub(crate) fn after(path: String) -> Self {
        Self { separator: '?', watched: Vec::new(), path }
    }

    /// Appends parameters that are encoded.
    pub(crate) fn raw(&mut self, parameters: &str) {
        self.path.push(self.separator);
        self.path.push_str(parameters);
        self.separator = '&';
    }

    fn name(&mut self, name: &str) -> Result<(), Refusal> {
        self.path.push(self.separator);
        push(&mut self.path, name, KEPT_IN_NAMES)?;
        self.path.push('=');
        self.separator = '&';
        Ok(())
    }

    /// Appends the value of a field.
    ///
    /// # Errors
    /// If it is not a scalar or a list of scalars, or if the path and query become too long.
    pub(crate) fn parameter(&mut self, name: &str, value: &str, field: &Field) -> Result<(), Refusal> {
        if !value.starts_with('[') {
            self.name(name)?;
            return push(&mut self.path, &text(field, value)?, b"");
        }
        let separator = match &field.lists {
            Lists::Joined(separator) => Some(separator),
            Lists::AsTheyAre | Lists::Repeated => None,
        };
        for (index, item) in reader::each_item(value).enumerate() {
            match separator {
                Some(separator) if index > 0 => push_separator(&mut self.path, separator),
                _ => self.name(name)?,
            }
            push(&mut self.path, &text(field, item?)?, b"")?;
        }
        Ok(())
    }

    pub(crate) fn has_any(&self, names: &[Text]) -> bool {
        self.watched.iter().any(|(name, _)| names.contains(name))
    }

    pub(crate) fn has(&self, trigger: &Trigger) -> bool {
        let counts = |value| trigger.unless.is_none() || reader::scalar(value).as_deref() != trigger.unless.as_deref();
        self.watched.iter().any(|(name, value)| *name == trigger.parameter && counts(value))
    }
}

/// Appends the value of a field to the path.
///
/// # Errors
/// If it is not a scalar or a joined list of scalars, or if the path becomes too long.
pub(crate) fn push_path_value(path: &mut String, field: &Field, value: &str) -> Result<(), Refusal> {
    if let (Lists::Joined(separator), true) = (&field.lists, value.starts_with('[')) {
        for (index, item) in reader::each_item(value).enumerate() {
            if index > 0 {
                push_separator(path, separator);
            }
            push(path, &text(field, item?)?, b"")?;
        }
        return Ok(());
    }
    let text = text(field, value)?;
    match &field.location {
        Location::Path(Encoding::Path) => {
            let text = if path.ends_with('/') { text.strip_prefix('/').unwrap_or(&text) } else { &text };
            push(path, text, b"/")
        }
        Location::Path(Encoding::ODataString) => push(path, &text.replace('\'', "''"), b"'"),
        _ => push(path, &text, b""),
    }
}

/// Commas between items are not encoded. Commas inside an item are percent-encoded.
fn push_separator(path: &mut String, separator: &str) {
    encoding::push(path, separator, b",");
}

/// Appends a text, percent-encoded except for the characters of `keep`.
///
/// # Errors
/// If the path and query become too long. A text that is too long itself is not encoded.
fn push(path: &mut String, text: &str, keep: &[u8]) -> Result<(), Refusal> {
    let too_long = || Refusal::input("", TOO_LONG);
    if text.len() > PATH_BYTES {
        return Err(too_long());
    }
    encoding::push(path, text, keep);
    if path.len() > PATH_BYTES { Err(too_long()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field() -> Field {
        Field { required: false, lists: Lists::Repeated, ..Field::new("tags", Location::Query("tags".into())) }
    }

    /// The length of the path once the parameter is written, or refused.
    fn written(name: &str, value: &str, field: &Field) -> (bool, usize) {
        let mut query = Query::after("/a".to_owned());
        let is_written = query.parameter(name, value, field).is_ok();
        (is_written, query.path.len())
    }

    #[test]
    fn a_list_ends_where_the_path_becomes_too_long() {
        let list = format!("[{}0]", "0,".repeat(1_000_000));
        let name = "n".repeat(64);
        for lists in [Lists::Repeated, Lists::Joined(",".into())] {
            let field = Field { lists, ..field() };
            let (is_written, bytes) = written(&name, &list, &field);
            assert!(!is_written && bytes < PATH_BYTES + 256, "{bytes}");
            assert!(written(&name, "[1,2,3]", &field).0);
        }
        let mut path = "/a/".to_owned();
        let field = Field { location: Location::Path(Encoding::Segment), lists: Lists::Joined(",".into()), ..field() };
        assert!(push_path_value(&mut path, &field, &list).is_err());
        assert!(path.len() < PATH_BYTES + 256, "{}", path.len());
    }

    #[test]
    fn a_text_that_is_too_long_is_not_encoded() {
        let long = "ü".repeat(1_000_000);
        assert_eq!(written("q", &format!("\"{long}\""), &field()), (false, "/a?q=".len()));
        assert_eq!(written(&long, "1", &field()), (false, "/a?".len()));
        assert_eq!(written("q", "[]", &field()), (true, "/a".len()));
    }
}
