//! The settings of a run, and the result type of its parts.

use std::error::Error;
use std::time::Duration;

/// A result whose error ends its section and is printed as a sentence.
pub(crate) type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// The settings of a run.
pub(crate) struct Settings {
    /// Short rounds, for a quick look after a change.
    quick: bool,
    /// The part of a section's name that selects sections; `None` for all.
    pub(crate) only: Option<String>,
}

impl Settings {
    /// Reads the command line and the variable `BENCH_QUICK`.
    pub(crate) fn new(arguments: &[String]) -> Self {
        let variable = std::env::var_os("BENCH_QUICK").is_some_and(|value| !value.is_empty() && value != "0");
        Self {
            quick: variable || arguments.iter().any(|argument| argument == "--quick"),
            only: arguments.iter().find(|argument| !argument.starts_with('-')).cloned(),
        }
    }

    /// Returns `true` for a full run of all sections.
    pub(crate) fn is_full(&self) -> bool {
        !self.quick && self.only.is_none()
    }

    /// Selects the value for a full or for a quick run.
    pub(crate) fn pick<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }

    /// Selects a time in seconds for a full or for a quick run.
    pub(crate) fn time(&self, full: f64, quick: f64) -> Duration {
        Duration::from_secs_f64(self.pick(full, quick))
    }
}
