//! Exports the parsers of text from callers, connectors, providers and operators for the fuzz
//! targets in `host/fuzz`. No other program may use this module.

pub use config::{Config, ConfigError};
pub use rest::integrations::callback_digests;
pub use schema::{Input, InputError, MAX_VIOLATIONS, Schema, Violation};
pub use store::digest::sha256;
