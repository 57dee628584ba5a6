//! The tenants that keys, integrations, jobs and OAuth clients name. A tenant has no record of its
//! own: it exists while one of them names it.

mod queries;

pub use self::queries::{MAX_COUNT, Tenant};

#[cfg(test)]
mod tests;
