//! The violations of the rules that a check has found.

use super::Violation;
use crate::Broken;

/// The violations found so far.
pub(super) struct Violations(pub(super) Vec<Violation>);

impl Violations {
    pub(super) fn add(&mut self, part: impl Into<String>, result: Result<(), Broken>) {
        if let Err(broken) = result {
            self.0.push(Violation { part: part.into(), broken });
        }
    }
}
