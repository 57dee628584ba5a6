//! A connector of rows alone, in one file: `connector.toml`. Its component is made without a
//! toolchain, because it has nothing to run: it describes itself, and the gateway makes the
//! requests.
//!
//! # Layout
//! - here: the file, its connector and its mistakes.
//! - `node`: the file as values that know their places.
//! - `statement`: the whole file.
//! - `service`: upstreams, settings, headers and limits.
//! - `auth`: how users authenticate.
//! - `operation`: one operation.
//! - `inbox` and `trigger`: how the service notifies the gateway, and of what.
//! - `section`: the clauses of one of these.
//! - `field`: a field of an operation, or a setting.
//! - `places`: the lines of what a rule is about.
//! - `component`: the component of a manifest.

mod auth;
mod component;
mod field;
mod inbox;
mod node;
mod operation;
mod places;
mod section;
mod service;
mod statement;
mod trigger;

use std::fmt;
use std::path::Path;

use contract::{Additions, Manifest};
use thiserror::Error;

use self::node::{Mistakes, Table};

pub use self::component::{ComponentError, component};

/// The name of the file.
pub const FILE: &str = "connector.toml";

/// The content of a file.
#[derive(Clone, Debug)]
pub struct Connector {
    /// The manifest.
    pub manifest: Manifest,
    /// The declarations in addition to it, among them the requests of all operations.
    pub additions: Additions,
}

/// Something in a file that has to be written differently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The line, counted from 1.
    pub line: usize,
    /// A sentence that says what to write.
    pub message: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{FILE}:{}: {}", self.line, self.message)
    }
}

/// All mistakes of a file, in the order of their lines. At least one. The message has a line for
/// each.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub struct Refused(pub Vec<Mistake>);

impl fmt::Display for Refused {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, mistake) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(formatter, "{separator}{mistake}")?;
        }
        Ok(())
    }
}

/// Reads a file. The files that it names are in `folder`.
///
/// # Errors
/// All mistakes of the file.
pub fn read(text: &str, folder: &Path) -> Result<Connector, Refused> {
    let mut mistakes = Mistakes::default();
    let connector = match toml::de::DeTable::parse(text) {
        Ok(document) => statement::connector(Table::document(document.get_ref()), folder, &mut mistakes),
        Err(error) => {
            let at = error.span().map_or(0, |span| span.start);
            mistakes.at(at, format!("this is not TOML: {}", error.message()));
            None
        }
    };
    match connector {
        Some(connector) if mistakes.count() == 0 => Ok(connector),
        _ => Err(Refused(mistakes.lines(text))),
    }
}

#[cfg(test)]
mod tests;
