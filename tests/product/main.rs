//! Tests of the product as users and operators see it. Each module has one subject, and each test is named after the
//! behaviour that it shows.
//!
//! Every test starts its own gateway process with its own folders and port, and stand-ins on loopback for all services.
//! No test depends on measured time, and no test leaves this machine.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a panic is how a test fails")]

mod admin;
mod answers;
mod authors;
mod bounded_work;
mod callers_jwt;
mod calls;
mod capabilities;
mod clients;
mod command_line;
mod configuration;
mod connectors;
mod contract;
mod crash;
mod deadlines;
mod distribution;
mod docs;
mod documentation;
mod errors;
mod front_door;
mod frozen;
mod grants;
mod guests;
mod history;
mod hostile;
mod idempotency;
mod integrations;
mod jobs;
mod keys;
mod languages;
mod liars;
mod metrics;
mod openapi;
mod outbound;
mod protocol;
mod rate_limits;
mod readme;
mod remote;
mod shaping;
mod shares;
mod shutdown;
mod strangers;
mod swap;
mod telemetry;
mod truth;
mod upstream_tls;
mod webhooks;
mod wishes;
