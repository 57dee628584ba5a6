//! Sends every request of the gateway, for connectors and for itself.
//!
//! # Layout
//! - `client`: the two pools of connections and their settings; `pool`: sends requests over connections that it keeps; `connector`:
//!   makes connections; `tls`: the root certificates of the system.
//! - `address`: the addresses that may be connected to, and the resolver that checks them.
//! - `upstream`: a service that may be called; `host`: lists of hosts.
//! - `location`: the address of a request.
//! - `request`: one request; `headers`: the headers it may have; `credential`: the user's secret, and how requests carry it;
//!   `link`: addresses that an upstream gave.
//! - `send`: the life of one request, top to bottom; `redirect`: the next step after a redirect; `retry`: repeated attempts.
//! - `carrier`: a place between the gateway and the network, for tools of connectors' authors.
//! - `call_record`: what happened to the requests of one call; `tracing`: the attempts in the trace of a call.
//! - `pacing`: the queue in front of an upstream; `budget`: a limit on the number of calls in a period.
//! - `response`: the response, read with bounded memory; `throttle`: refusals that are rate limits.
//! - `mask`: masks secrets that a response echoes; `needle`: one spelling of such a secret.
//! - `error`: the errors of requests.
//!
//! Invariants: a connection goes only to an address that was checked. A credential is sent only to the origin of its upstream,
//! and is in no response, error text or log. Nothing here knows WebAssembly, or the form of errors for callers.

mod address;
mod budget;
mod call_record;
mod carrier;
mod client;
mod connector;
mod credential;
mod error;
mod headers;
mod host;
mod link;
mod location;
mod mask;
mod needle;
mod pacing;
mod pool;
mod redirect;
mod request;
mod response;
mod retry;
mod send;
#[cfg(test)]
pub(crate) mod testing;
mod throttle;
mod tls;
mod tracing;
mod upstream;

pub use address::{Lookup, is_loopback, system_lookup};
pub use budget::{Budget, Budgets, Left};
pub use call_record::CallRecord;
pub use carrier::{Carrier, Outline, Watcher};
pub use client::{Egress, Settings};
pub use credential::{Credential, CredentialUse, FormField};
pub use error::{EgressError, whole_seconds};
pub use headers::Headers;
pub use link::Link;
pub use mask::{MaskStream, Masker, SHORTEST_SECRET};
pub use request::{Body, Request, Target};
pub use response::{Response, ResponseBody};
pub use retry::retry_after;
pub use tracing::{Beginning, EndAttempt, TracedAttempt, Tracing};
pub use upstream::{Attempt, Observer, Pacing, Upstream, UpstreamSettings};
