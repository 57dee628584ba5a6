//! Lines for the operator's log: at most 256 an invocation, of 4 KiB each. Never log what a user sent or got.

use crate::bindings::gateway::connector::log::Level;
use crate::host;

/// For those who debug the connector.
pub fn debug(message: &str) {
    host::log::write(Level::Debug, message);
}

/// For operators who follow what happens.
pub fn info(message: &str) {
    host::log::write(Level::Info, message);
}

/// Something is not as it should be; the operation goes on.
pub fn warn(message: &str) {
    host::log::write(Level::Warn, message);
}

/// The operation failed for a reason that the operator can mend.
pub fn error(message: &str) {
    host::log::write(Level::Error, message);
}
