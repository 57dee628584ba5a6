//! The causes of an error.

use std::error::Error;

/// The text of the innermost cause, which is the most specific one.
pub(super) fn root_cause(error: &(dyn Error + 'static)) -> String {
    let mut root = error;
    while let Some(cause) = root.source() {
        root = cause;
    }
    root.to_string()
}

/// Finds a cause by its type, also inside of an `io::Error`, whose `source` skips the error that it
/// wraps.
pub(super) fn find_cause<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let wrapped = || error.downcast_ref::<std::io::Error>()?.get_ref().and_then(|wrapped| find_cause(wrapped));
    error.downcast_ref().or_else(wrapped).or_else(|| error.source().and_then(|source| find_cause(source)))
}
