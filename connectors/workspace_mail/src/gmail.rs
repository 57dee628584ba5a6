//! Gmail's responses.

use std::borrow::Cow;

use connector_sdk::http::Error;
use connector_sdk::{Fault, json};

/// The members of a JSON object: slices of its text.
pub(crate) struct Object<'a>(Vec<(Cow<'a, str>, &'a str)>);

impl<'a> Object<'a> {
    /// Reads a JSON object. `None` if `text` is another value.
    pub(crate) fn read(text: &'a str) -> Option<Self> {
        json::members(text).map(Self)
    }

    /// The JSON text of a member. `None` if the member is absent or null.
    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        let member = self.0.iter().find(|(known, _)| known == name);
        member.map(|(_, value)| *value).filter(|value| *value != "null")
    }
}

/// The fault for a response that does not have Gmail's documented form. `problem` is a clause that
/// says what is wrong.
pub(crate) fn not_understood(problem: &str) -> Fault {
    Error::BadAnswer(format!("Gmail's response is not in the documented form: {problem}")).into()
}
