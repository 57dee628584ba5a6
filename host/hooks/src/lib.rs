//! Notifications of services: verified, and read as the inbox of a connector declares them.
//!
//! Nothing here waits, asks the time, or reads a file: the caller gives all of it. Nothing here
//! runs the code of a connector. A notification is bytes of an unknown sender until [`verify()`]
//! has accepted it. Before that, it is parsed only if the proof itself is in its items.
//!
//! - [`notification`]: a request to an inbox, and the values outside of its body
//! - [`verify`](mod@verify): the proofs that a notification comes from the service
//! - [`rejection`]: why a notification is not accepted
//! - [`secret`]: the secrets, and their comparison in constant time
//! - [`handshake`]: requests that prove that the address is the gateway's
//! - [`document`]: the JSON of a body
//! - [`items`](mod@items): the notifications in a body, each with its id, kind, data and accounts
//! - [`time`]: the time of an event
//! - [`limits`]: how many requests anyone may send
//! - [`conditions`]: which notifications and events belong to a trigger

mod conditions;
mod document;
mod handshake;
mod items;
mod limits;
mod notification;
mod rejection;
mod secret;
mod time;
mod verify;

pub use jwt::KeySet;

pub use self::conditions::{Subject, conditions_hold, kind_is};
pub use self::document::NotUnderstood;
pub use self::handshake::{HandshakeAnswer, answer_after_verification, answer_before_verification};
pub use self::items::{Item, Items, Meaning, account_keys, items};
pub use self::limits::{Limits, Place};
pub use self::notification::Notification;
pub use self::rejection::Rejection;
pub use self::verify::{Context, Verified, setting_text, verify, verify_nothing};

#[cfg(test)]
mod tests;
