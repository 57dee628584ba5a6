//! The gateway: it runs each third-party connector as a WebAssembly component in a sandbox, and serves all connectors through
//! one REST scheme.
//!
//! # Layout
//! - `cli`: the command line
//! - `serve`: starts a gateway and stops it
//! - `welcome`: the greeting of `serve`
//! - `gateway`: the parts of a running gateway
//! - `api`: what callers see: the table of routes, a file for each family of routes, the API's description
//! - `auth`: who calls: API keys, JWTs, scopes
//! - `jobs`: operations that run in the background
//! - `idempotency`: calls with an idempotency key, which run once
//! - `problem`: problem documents, the form of every error that a caller sees
//! - `pipeline`: the life of one call of an operation
//! - `integrations`: accounts that users connected, and their tokens
//! - `oauth`: requests to an OAuth provider
//! - `registry`: the live connectors, and how they change
//! - `recordings`: the requests and answers of one call in a file, for tests of connectors
//! - `schema`: the schemas of bodies: compile, validate, explain
//! - `webhooks`: callbacks of jobs and events, signed and sent until they are received
//! - `config`: `gateway.toml` and the environment, parsed once into typed values
//! - `logging`: the log
//! - `metrics`: the metrics that Prometheus reads
//! - `telemetry`: spans and metrics for an OpenTelemetry collector
//! - `body`: the bodies of answers
//! - `media_type`: the media types of bodies
//! - `caller_url`: URLs that callers give
//! - `regular_file`: opens files of folders that other users may write to
//! - `signals`: the signals that end the process
//! - `fuzzing`: readers of foreign text, for the fuzz targets in `host/fuzz`
//! - `timestamp`: the format of times in answers and webhooks
//!
//! The crates next to this one are layers below it: among them `contract`, `sandbox`, `egress`, `store`, `memory` and `shape`.
//!
//! `host/arrows.sh`, a part of `make lint`, has the table of the modules that each module may use, and checks it.

#![expect(unreachable_pub, reason = "in a private module, `pub` marks what the crate's other modules may use")]

mod api;
mod auth;
mod body;
mod caller_url;
mod cli;
mod config;
#[doc(hidden)]
pub mod fuzzing;
mod gateway;
mod idempotency;
mod integrations;
mod jobs;
mod logging;
mod media_type;
mod metrics;
mod oauth;
mod pipeline;
mod problem;
mod recordings;
mod registry;
mod regular_file;
mod schema;
mod serve;
mod signals;
mod telemetry;
mod timestamp;
mod webhooks;
mod welcome;

pub use cli::{Arguments, run};
pub use config::Config;
