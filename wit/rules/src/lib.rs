//! The rules that `wit/connector.wit` states in words, because its types cannot express them.
//!
//! The gateway, the SDK and the SDK's macro call these functions, so that each rule is implemented
//! once. The crate does not depend on WebAssembly, HTTP libraries or the gateway.
//!
//! # Layout
//! - [`limit`]: every limit as a constant.
//! - [`name`]: names of a manifest.
//! - [`address`]: URLs and hosts.
//! - [`account_address`]: the parts of URLs that differ from account to account.
//! - [`path`]: the path of a request.
//! - [`header`]: headers of a request.
//! - [`multipart`]: parts of a form with files.
//! - [`signature`]: signatures of requests.
//! - [`mod@pointer`]: JSON Pointers.
//! - [`schema`]: JSON Schemas made from fields, the values that a field accepts, and the rules for
//!   schemas of a manifest.
//! - [`text`]: characters that texts must not have.
//! - [`trigger`]: inboxes and types of events.
//! - [`manifest`]: all rules of a manifest together.
//!
//! Most functions check the form of one text. They return `Ok(())`, or [`Broken`] with the rule in
//! a sentence.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

pub mod account_address;
pub mod address;
pub mod header;
pub mod limit;
pub mod link;
pub mod manifest;
pub mod multipart;
pub mod name;
pub mod path;
pub mod pointer;
pub mod schema;
pub mod signature;
pub mod text;
pub mod trigger;

/// A rule that a value breaks. The text is a sentence without a full stop, addressed to the author
/// of the connector.
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
