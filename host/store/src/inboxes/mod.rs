//! Inboxes that serve a whole application of the operator, and the requests of services.
//!
//! - [`types`]: an inbox, and a request to one
//! - [`queries`]: adding, finding and deleting inboxes and their secrets
//! - [`requests`]: the requests of services to all addresses
//! - [`shared`]: notifications that other accounts may see too

mod queries;
mod requests;
mod shared;
mod types;

pub use self::types::{
    HookRequest, HookRequestFilter, Inbox, InboxSecret, NewInbox, RecordedHookRequest, SecretAdded, SharedNotification,
};

#[cfg(test)]
mod tests;
