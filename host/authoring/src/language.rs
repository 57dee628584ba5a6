//! The languages that connectors are written in.

use clap::ValueEnum;

/// A language that connectors are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Language {
    /// Rust, with the crate `connector-gateway-sdk`.
    Rust,
    /// JavaScript, with the package `@connector-gateway/sdk`.
    Javascript,
    /// Python, with the package `connector-gateway-sdk`.
    Python,
    /// No language: the file `connector.toml`, whose operations are one request each.
    None,
}
