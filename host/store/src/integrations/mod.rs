//! Integrations: accounts that users connected at providers.
//!
//! - [`types`]: an integration, its holder and its details
//! - [`queries`]: storing, finding, selecting and deleting integrations
//! - [`leases`]: the leases that let one gateway at a time refresh the tokens of an integration

mod leases;
mod queries;
mod types;

pub(crate) use self::queries::read_sealed;
pub use self::types::{Account, AuthType, Details, Holder, Integration, Status};

#[cfg(test)]
mod tests;
