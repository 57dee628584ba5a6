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
mod code_hosting;
mod command_line;
mod configuration;
mod configuration_issuers;
mod crash;
mod deadlines;
mod dex_market_data;
mod errors;
mod guests;
mod hostile;
mod hr_platform;
mod integrations;
mod integrations_apart;
mod integrations_callback;
mod integrations_clients;
mod integrations_connectors;
mod integrations_crash;
mod integrations_identity;
mod integrations_keys;
mod integrations_leaks;
mod integrations_lifecycle;
mod integrations_limits;
mod integrations_processes;
mod integrations_providers;
mod integrations_refresh;
mod integrations_removal;
mod integrations_scale;
mod integrations_selection;
mod integrations_sites;
mod integrations_unrenewable;
mod integrations_vault;
mod keys;
mod liars;
mod metrics;
mod openapi;
mod outbound;
mod preprint_archive;
mod preprint_failures;
mod protocol;
mod rate_limits;
mod shaping;
mod shutdown;
mod strangers;
mod swap;
mod swap_files;
mod team_chat;
mod workspace_calendar;
mod workspace_identity;
