//! The routes of applications, one file for each family, and the page on which their users connect
//! accounts.
//!
//! - [`operations`]: calls of operations
//! - [`proxy`]: requests to the services of connectors, around their operations
//! - [`jobs`]: operations that run in the background
//! - [`connectors`]: the list of connectors
//! - [`integrations`]: accounts that users connect
//! - [`connect`]: links to a page on which a user connects accounts, and that page
//! - [`triggers`]: events of services that callers want to know of
//! - [`hooks`]: notifications of services
//! - [`webhooks`]: the secrets that webhooks are signed with

#![expect(unreachable_pub, reason = "in a private module, `pub` marks what the crate's other modules may use")]

pub mod connect;
pub mod connectors;
pub mod hooks;
pub mod integrations;
pub mod jobs;
pub mod operations;
pub mod proxy;
pub mod triggers;
pub mod webhooks;
