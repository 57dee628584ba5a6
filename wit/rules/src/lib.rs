//! The rules that `wit/connector.wit` states in words, because its types cannot.
//!
//! The gateway, the SDK and the SDK's macro check by these functions, so that each rule has one form. The crate knows nothing of
//! WebAssembly, HTTP libraries or the gateway.
//!
//! # Layout
//! - [`limit`]: every limit as a constant.
//! - [`name`], [`address`], [`path`], [`header`], [`mod@pointer`]: the form of one text. A function takes the text and answers
//!   `Ok(())`, or [`Broken`] with the rule in a sentence.
//! - [`schema`]: JSON Schemas made of fields, the values that a field accepts, and the rules for schemas of a manifest.
//! - [`manifest`]: all rules of a manifest, checked at once.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

pub mod address;
pub mod header;
pub mod limit;
pub mod manifest;
pub mod name;
pub mod path;
pub mod pointer;
pub mod schema;

/// A rule that a value breaks. The text is a sentence without a full stop, addressed to the author of the connector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken(Cow<'static, str>);

impl Broken {
    /// The rule in words.
    #[must_use]
    pub fn rule(&self) -> &str {
        &self.0
    }
}

impl From<&'static str> for Broken {
    fn from(rule: &'static str) -> Self {
        Self(Cow::Borrowed(rule))
    }
}

impl From<String> for Broken {
    fn from(rule: String) -> Self {
        Self(Cow::Owned(rule))
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Error for Broken {}

/// `Ok` if the condition holds.
fn ensure(holds: bool, rule: &'static str) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err(rule.into()) }
}
