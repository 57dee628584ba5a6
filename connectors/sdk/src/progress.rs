//! The part of an operation that is done, for callers that run it in the background.

use crate::host;

/// Reports the part that is done: `fraction` from 0 to 1, and a few words. A report replaces the one before. Callers see about one
/// in a second. In a call whose caller waits, this does nothing.
pub fn report(fraction: f64, message: &str) {
    host::progress::report(fraction, message);
}
