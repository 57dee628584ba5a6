//! Lines for the operator's log: at most 4 KiB each, and at most 256 in an invocation. Do not log
//! data of users.
//!
//! The SDK also logs a panic of a connector's function, with its file and line.

use crate::bindings::gateway::connector::log::Level;
use crate::host;

/// A line for debugging the connector.
pub fn debug(message: &str) {
    host::log::write(Level::Debug, message);
}

/// A line that informs the operator.
pub fn info(message: &str) {
    host::log::write(Level::Info, message);
}

/// A line about a problem that does not end the operation.
pub fn warn(message: &str) {
    host::log::write(Level::Warn, message);
}

/// A line about a failure that the operator can fix.
pub fn error(message: &str) {
    host::log::write(Level::Error, message);
}
