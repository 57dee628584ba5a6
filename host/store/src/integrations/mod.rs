//! Integrations: accounts that users connected at providers.
//!
//! - [`types`]: an integration, its holder and its details
//! - [`queries`]: storing, finding, selecting and deleting integrations
//! - [`choice`]: the integration that a call runs on
//! - [`leases`]: the leases that let one gateway at a time refresh the tokens of an integration

mod choice;
mod leases;
mod queries;
mod types;

pub(crate) use self::queries::{read_sealed, upsert_integration};
pub use self::types::{Account, AuthType, Choice, Details, Holder, Integration, IntegrationFilter, Status};

#[cfg(test)]
mod tests;
