//! Integrations: accounts that users connected at providers.
//!
//! - [`types`]: an integration, its holder and its details
//! - [`queries`]: storing, finding, selecting and deleting integrations
//! - [`upsert`]: the row of an account that is connected
//! - [`address`]: the address of an account
//! - [`all`]: the integrations of all tenants, for the operator
//! - [`choice`]: the integration that a call runs on
//! - [`grant_type`]: the credentials of accounts from which the gateway gets access tokens
//! - [`import`]: importing integrations of other systems
//! - [`labels`]: the labels of an integration
//! - [`leases`]: the leases that let one gateway at a time refresh the tokens of an integration

mod address;
mod all;
mod choice;
mod grant_type;
mod import;
mod labels;
mod leases;
mod queries;
mod types;
mod upsert;

pub(crate) use self::address::{read_address, text_of_address};
pub(crate) use self::all::{NAMED, OVERDUE_AT};
pub use self::grant_type::GrantType;
pub use self::import::{Imported, NewImport};
pub(crate) use self::labels::{read_labels, read_optional_labels, text_of_labels};
pub(crate) use self::queries::{note, read_sealed};
pub use self::types::{
    Account, AccountAddress, AnyIntegrationFilter, AuthType, Choice, Connected, Details, Holder, Integration,
    IntegrationFilter, Labels, Overwrites, Status,
};
pub(crate) use self::upsert::upsert_integration;

#[cfg(test)]
mod tests;
