//! Webhooks: the secrets that they are signed with, and their deliveries.
//!
//! - [`types`]: secrets and deliveries
//! - [`secrets`]: storing, replacing and deleting secrets
//! - [`deliveries`]: storing and reading deliveries
//! - [`leases`]: the leases under which one gateway at a time attempts a delivery

mod deliveries;
mod leases;
mod secrets;
mod types;

pub(crate) use self::deliveries::insert_deliveries;
pub use self::leases::{AttemptResult, ClaimLimits};
pub use self::types::{
    ClaimedDelivery, Delivery, DeliveryAttempt, DeliveryStatus, NewDelivery, Payload, WebhookSecret, WebhookSource,
};

#[cfg(test)]
mod tests;
