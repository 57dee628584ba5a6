//! Integrations: accounts that users connected at providers.
//!
//! - [`types`]: an integration, its holder and its details
//! - [`queries`]: storing, finding, selecting and deleting integrations
//! - [`upsert`]: the row of an account that is connected
//! - [`all`]: the integrations of all tenants, for the operator
//! - [`columns`]: columns with labels, addresses, scopes and what is sealed
//! - [`choice`]: the integration that a call runs on
//! - [`grant_type`]: the credentials of accounts from which the gateway gets access tokens
//! - [`import`]: importing integrations of other systems
//! - [`labels`]: changing the labels of an integration
//! - [`leases`]: the leases that let one gateway at a time refresh the tokens of an integration

mod all;
mod choice;
mod columns;
mod grant_type;
mod import;
mod labels;
mod leases;
mod queries;
mod types;
mod upsert;

pub(crate) use self::all::{NAMED, OVERDUE_AT};
pub use self::columns::{AccountAddress, Labels};
pub(crate) use self::columns::{
    read_address, read_labels, read_optional_labels, read_sealed, text_of_address, text_of_labels,
};
pub use self::grant_type::GrantType;
pub use self::import::{Imported, NewImport};
pub(crate) use self::queries::note;
pub use self::types::{
    Account, AnyIntegrationFilter, AuthType, Choice, Connected, Details, Holder, Integration, IntegrationFilter,
    Overwrites, Status,
};
pub(crate) use self::upsert::upsert_integration;

#[cfg(test)]
mod tests;
