//! Tests of the product as users and operators see it. Each module has one subject, and each test
//! is named after the behaviour that it shows.
//!
//! Every test starts its own gateway process with its own folders and port, and stand-ins on
//! loopback for all services. No test depends on measured time, and no test leaves this machine.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a panic is how a test fails")]

mod admin;
mod answers;
mod authors;
mod backup;
mod caller_address;
mod callers_jwt;
mod capabilities;
mod clients;
mod command_line;
mod computation_limits;
mod configuration;
mod connect_page;
mod connectors;
mod console;
mod contract;
mod cors;
mod crash;
mod deadlines;
mod distribution;
mod docs;
mod doctor;
mod documentation;
mod egress_rules;
mod errors;
mod fairness;
mod fleet;
mod frozen;
mod grants;
mod guest_coverage;
mod history;
mod hooks;
mod idempotency;
mod integrations;
mod invalid_manifests;
mod jobs;
mod keys;
mod languages;
mod mcp;
mod memory_budget;
mod memory_routes;
mod metrics;
mod multipart;
mod multiplied_inputs;
mod openapi;
mod operations;
mod operator;
mod operator_address;
mod parts;
mod protocol;
mod proxy;
mod random_and_sleep;
mod rate_limits;
mod readme;
mod request_headers;
mod retry_safety;
mod sandbox_limits;
mod shaping;
mod shutdown;
mod slow_callers;
mod stored_bytes;
mod swap;
mod telemetry;
mod tls;
mod triggers;
mod untrusted_modules;
mod upstream_tls;
mod webhooks;
mod zero_bytes;
