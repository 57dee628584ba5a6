//! The gateway: it runs each third-party connector as a WebAssembly component in a sandbox, and
//! serves all connectors through one REST scheme.
//!
//! # Layout
//! - `serve`: starts a gateway and stops it
//! - `tls`: the certificates that the gateway presents to callers and operators
//! - `exposure`: what is dangerous about a gateway that other machines reach
//! - `doctor`: what is wrong with a gateway, and what to do
//! - `welcome`: the greeting of `serve`
//! - `local`: parts of a gateway for commands that do not serve
//! - `gateway`: the parts of a running gateway
//! - `api`: what callers see: the table of routes, a file for each family of routes, the API's
//!   description
//! - `auth`: who calls: API keys, JWTs, scopes
//! - `mcp`: operations as tools of agents, as far as that needs no HTTP
//! - `jobs`: operations that run in the background
//! - `idempotency`: calls with an idempotency key, which run once
//! - `problem`: problem documents, the form of every error that a caller sees
//! - `pipeline`: the life of one call of an operation
//! - `calls`: records of calls, for people who look for the reason of a failure
//! - `integrations`: accounts that users connected, and their tokens
//! - `oauth`: requests to an OAuth provider
//! - `registry`: the live connectors, and how they change
//! - `schema`: the schemas of bodies: compile, validate, explain
//! - `webhooks`: callbacks of jobs and events, signed and sent until they are received
//! - `config`: `gateway.toml` and the environment, parsed once into typed values
//! - `logging`: the log
//! - `metrics`: the metrics that Prometheus reads
//! - `samples`: the course of some metrics over the last hour
//! - `backlog`: metrics of what waits in the database, and of the gateways that share it
//! - `telemetry`: spans and metrics for an OpenTelemetry collector
//! - `body`: the bodies of answers
//! - `media_type`: the media types of bodies
//! - `caller_url`: URLs that callers give
//! - `clock`: the clock of this machine
//! - `signals`: the signals that end the process
//! - `fuzzing`: readers of foreign text, for the fuzz targets in `host/fuzz`
//! - `allowance`: how often something may happen
//! - `timestamp`: the format of times in answers and webhooks
//!
//! The crates next to this one are layers below it: among them `contract`, `sandbox`, `egress`,
//! `store`, `memory` and `shape`.
//!
//! `host/arrows.sh`, a part of `make lint`, has the table of the modules that each module may use,
//! and checks it.

#![expect(unreachable_pub, reason = "in a private module, `pub` marks what the crate's other modules may use")]

mod allowance;
mod api;
mod auth;
mod backlog;
mod body;
mod budgets;
mod caller_url;
mod calls;
mod clock;
mod config;
mod doctor;
mod exposure;
#[doc(hidden)]
pub mod fuzzing;
mod gateway;
mod heartbeat;
mod idempotency;
mod integrations;
mod jobs;
mod local;
mod logging;
mod mcp;
mod media_type;
mod metrics;
mod oauth;
mod pipeline;
mod problem;
mod registry;
mod samples;
mod schema;
mod serve;
mod signals;
#[cfg(test)]
mod simulation;
mod telemetry;
mod timestamp;
mod tls;
mod webhooks;
mod welcome;

// The crates `authoring` and `cli`, which have the commands, use these items. Nothing else is
// public.

// A gateway that serves.
pub use logging::start as start_logging;
pub use serve::{Extras, Ready, ServeError, serve};
pub use signals::Stop;
pub use welcome::print as print_welcome;

// A gateway that does not serve.
pub use local::{AuthorAccount, LocalCalls, LocalFailure, open_registry, open_scratch_registry};

// Its dangers.
pub use exposure::{Exposure, open_data_folder};

// Its checks.
pub use doctor::{
    Examined, Finding, Level as FindingLevel, Report as DoctorReport, examine_certificates, examine_connectors,
    examine_database, examine_machine,
};

// Its configuration.
pub use config::{Config, ConfigError, LogFormat, Oauth, OauthClient, environment};

// Its connectors, and how they change.
pub use registry::{
    Actor, AuthorSettings, ChangeError, Connector, Endpoint, GRANT_COMMAND, Installation, Installed, Operation,
    Refusal, RefusedPart, Registry, key_id_of_signature, present_module, signature_file, signature_fits, signature_of,
    try_schemas,
};

// What the admin routes send, which commands print.
pub use api::records::connectors as records;
pub use api::records::gateways as gateway_records;
pub use api::records::operator as operator_records;
pub use api::{SIGNATURE, audit_cursor, audit_page, connectors_record, description};

// Credentials of callers and of users.
pub use auth::{NoRandomness, Scope, make_key};
pub use integrations::{Key, KeyForm, KeyUse};
