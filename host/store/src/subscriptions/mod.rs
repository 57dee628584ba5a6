//! Subscriptions at services, and the readers of what happened there.
//!
//! - [`types`]: a subscription as it is stored
//! - [`leases`]: the leases under which one gateway at a time works on a subscription
//! - [`pushes`]: what a notification of the service changes

mod leases;
mod pushes;
mod types;

pub use self::types::{
    Blocked, NewSubscription, PushedEvents, ReadEvents, Route, Standing, StoredPush, Subscription, SubscriptionStep,
};

#[cfg(test)]
mod tests;
