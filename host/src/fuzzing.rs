//! The readers of text that callers, connectors, providers and operators write, for the fuzz targets in `host/fuzz`. They are in
//! other modules. No other program may use this one.

pub use crate::api::callback_parameters;
pub use crate::config::{Config, ConfigError};
pub use crate::schema::{Input, InputError, MAX_VIOLATIONS, Schema, Violation};
