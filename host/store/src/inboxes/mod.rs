//! Inboxes that serve a whole application of the operator, and the requests of services.
//!
//! - [`types`]: an inbox, and a request to one
//! - [`queries`]: adding, finding and deleting inboxes and their secrets
//! - [`requests`]: the requests of services to all addresses
//! - [`rejections`]: those that were rejected, of which an address keeps the last ones
//! - [`shared`]: notifications whose accounts are found after the answer

mod queries;
mod rejections;
mod requests;
mod shared;
mod types;

pub(crate) use self::shared::keep_shared;
pub use self::types::{
    EndedShared, HookRequest, HookRequestFilter, Inbox, InboxSecret, NewInbox, NewShared, RecordedHookRequest,
    SecretAdded, SharedNotification,
};

#[cfg(test)]
mod tests;
