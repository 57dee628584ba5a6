//! The gateway: runs each third-party connector as a WebAssembly component in a sandbox, and serves them all through one
//! REST scheme.
//!
//! # Layout
//! - [`config`]: `gateway.toml` and the environment, read once
//! - [`api`]: what callers see
//! - [`pipeline`]: the life of one operation, top to bottom
//! - [`integrations`]: the accounts that users have connected, and the credentials that operations run with
//! - [`registry`]: which connectors are live, and how they change
//! - [`sandbox`]: runs a module
//! - [`egress`]: the only way out
//! - [`oauth`]: authorization, exchange, refresh and revocation with a provider
//! - [`shape`]: `response_filters` and `response_fields`, over bytes
//! - [`vault`]: secrets at rest, and exchanging their keys
//! - [`store`]: what outlives the process
//! - [`openapi`], [`metrics`], [`logging`], [`files`], [`media_type`]: what their names say
//! - [`gateway`]: what the parts share; [`serve`]: puts them together and runs them
//! - [`cli`]: the command line
//!
//! Arrows run one way: `api → pipeline → integrations → {registry, oauth, vault}`, `pipeline → shape`, `registry → sandbox`, and all of
//! them `→ {egress, store}`.

pub mod api;
pub mod cli;
pub mod config;
pub mod egress;
pub mod files;
pub mod gateway;
pub mod integrations;
pub mod logging;
pub mod media_type;
pub mod metrics;
pub mod oauth;
pub mod openapi;
pub mod pipeline;
pub mod registry;
pub mod sandbox;
pub mod serve;
pub mod shape;
pub mod store;
pub mod vault;
