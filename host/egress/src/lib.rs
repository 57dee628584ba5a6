//! The only way out: every request the gateway makes, for a connector or for itself, goes through here.
//!
//! # Layout
//! - `client`: the two HTTP clients and their settings; `tls`: the system's root certificates, read when first needed.
//! - `address`: which addresses may be connected to, and the resolver that asks.
//! - `upstream`: a service that may be called; `host`: lists of hosts.
//! - `request`: one request; `headers`: the headers it may have; `credential`: the user's secret, and how requests carry it;
//!   `link`: addresses that an upstream gave.
//! - `send`: the life of one request, top to bottom; `redirect` and `retry` decide how it goes on after an answer.
//! - `pacing`: the queue in front of an upstream; `budget`: how often something may be done in a period.
//! - `response`: the answer, read with bounded memory; `throttle`: which refusals are rate limits.
//! - `mask`: secrets that an answer echoes are blotted out of it; `needle`: one spelling of such a secret.
//! - `error`: why there is no response.
//!
//! Invariants: a connection goes only to an address that was checked; a credential goes only to the origin it belongs to, and
//! comes back in no answer, error text or log. Nothing here knows of WebAssembly, or of how errors are shown to callers.

mod address;
mod budget;
mod client;
mod credential;
mod error;
mod headers;
mod host;
mod link;
mod mask;
mod needle;
mod pacing;
mod redirect;
mod request;
mod response;
mod retry;
mod send;
#[cfg(test)]
pub(crate) mod testing;
mod throttle;
mod tls;
mod upstream;

pub use address::{Lookup, is_loopback, system_lookup};
pub use budget::{Budget, Budgets};
pub use client::{Egress, Settings};
pub use credential::{Credential, CredentialUse, FormField};
pub use error::{EgressError, Owner, whole_seconds};
pub use headers::Headers;
pub use link::Link;
pub use mask::{MaskStream, Masker};
pub use request::{Body, Request, Target};
pub use response::{Response, ResponseBody};
pub use retry::retry_after;
pub use upstream::{Attempt, Observer, Pacing, Upstream, UpstreamSettings};
