//! The gateway: runs each third-party connector as a WebAssembly component in a sandbox, and serves all of them through one
//! REST scheme.

pub mod api;
pub mod auth;
pub mod cli;
pub mod config;
pub mod gateway;
pub mod integrations;
pub mod logging;
pub mod media_type;
pub mod metrics;
pub mod oauth;
pub mod pipeline;
pub mod registry;
pub mod schema;
pub mod serve;
