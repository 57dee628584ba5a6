//! The `http` interface: requests go out through egress, and responses stay in the gateway until
//! the guest reads them.
//!
//! - `guest_errors`: the errors of requests as the guest gets them
//! - `host`: the functions of the interface
//! - `hook`: the address at which a service notifies the gateway, in requests that subscribe
//! - `link`: an address from a response
//! - `method`: the methods of requests
//! - `outbound`: the requests of one invocation, and the user's credential
//! - `response`: a response and its body

mod guest_errors;
mod hook;
mod host;
mod link;
mod method;
mod outbound;
mod response;

pub use super::bindings::gateway::connector::http::Error;

pub use self::hook::Hook;
pub use self::link::Link;
pub(crate) use self::method::{method_for_guest, method_of_row};
pub use self::outbound::{CallerRequest, CredentialSource, Outbound, Request};
pub use self::response::{Response, ResponseBody};
