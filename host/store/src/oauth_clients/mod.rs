//! The OAuth clients of tenants, which win over the clients of the configuration.
//!
//! - [`types`]: a client as it is stored
//! - [`queries`]: setting, finding and deleting clients

mod queries;
mod types;

pub use self::types::{NewOauthClient, TenantOauthClient};

#[cfg(test)]
mod tests;
