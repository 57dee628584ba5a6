//! Webhooks: the secrets that they are signed with, and their deliveries.
//!
//! - [`types`]: secrets and deliveries
//! - [`secrets`]: storing, replacing and deleting secrets
//! - [`deliveries`]: storing and reading deliveries, and deleting old ones
//! - [`all`]: the deliveries of all tenants, for the operator
//! - [`leases`]: the leases under which one gateway at a time attempts a delivery

mod all;
mod deliveries;
mod leases;
mod secrets;
mod types;

pub(crate) use self::deliveries::{delete_body, insert_deliveries};
pub use self::leases::{AttemptResult, ClaimLimits};
pub use self::types::{
    AnyDelivery, AnyDeliveryFilter, ClaimedDelivery, Delivery, DeliveryAttempt, DeliveryStatus, NewDelivery, Payload,
    Resent, UrlFilter, WebhookSecret, WebhookSource,
};

#[cfg(test)]
mod tests;
