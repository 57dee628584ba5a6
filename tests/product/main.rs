//! The product as its users meet it. One module a subject; a test is named after what it shows.
//!
//! Every test has a gateway process of its own, on folders and a port of its own, and stand-ins on loopback for whatever the
//! gateway calls. None measures time, and none leaves this machine.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "in tests, where a panic is the report of what went wrong"
)]

mod admin;
mod answers;
mod callers_jwt;
mod capabilities;
mod catalogue;
mod command_line;
mod configuration;
mod connectors;
mod crash;
mod errors;
mod guests;
mod hostile;
mod integrations;
mod keys;
mod liars;
mod metrics;
mod openapi;
mod outbound;
mod protocol;
mod rate_limits;
mod shaping;
mod shutdown;
mod strangers;
mod swap;
