//! Integrations: accounts that users connected at providers.
//!
//! - [`types`]: an integration, its holder and its details
//! - [`queries`]: storing, finding, selecting and deleting integrations
//! - [`all`]: the integrations of all tenants, for the operator
//! - [`choice`]: the integration that a call runs on
//! - [`leases`]: the leases that let one gateway at a time refresh the tokens of an integration

mod all;
mod choice;
mod leases;
mod queries;
mod types;

pub(crate) use self::queries::{note, read_optional_labels, read_sealed, text_of_labels, upsert_integration};
pub use self::types::{
    Account, AnyIntegrationFilter, AuthType, Choice, Connected, Details, Holder, Integration, IntegrationFilter,
    Labels, Status,
};

#[cfg(test)]
mod tests;
