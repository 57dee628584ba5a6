//! Exports the parsers of text from callers, connectors, providers and operators for the fuzz
//! targets in `host/fuzz`. No other program may use this module.

pub use crate::api::callback_parameters;
pub use crate::config::{Config, ConfigError};
pub use crate::schema::{Input, InputError, MAX_VIOLATIONS, Schema, Violation};
