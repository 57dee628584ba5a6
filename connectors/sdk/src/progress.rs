//! The part of an operation that is done, for callers that run it in the background.

use crate::host;

/// Reports the part that is done: `fraction` from 0 to 1, and a few words. A report replaces the
/// previous one. Callers see about one report a second. If the caller waits for the call, this does
/// nothing.
pub fn report(fraction: f64, message: &str) {
    host::progress::report(fraction, message);
}
