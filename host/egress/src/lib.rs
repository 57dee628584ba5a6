//! Sends every request of the gateway, for connectors and for itself.
//!
//! # Layout
//! - `client`: the two pools of connections and their settings
//! - `pool`: sends requests over connections, which it keeps for later requests
//! - `connector`: makes connections
//! - `tls`: the root certificates of the operating system
//! - `address`: the addresses that may be connected to, and the resolver that checks them
//! - `upstream`: a service that may be called
//! - `host`: lists of hosts
//! - `location`: the address of a request
//! - `request`: one request
//! - `request_body`: its body
//! - `multipart`: the body of a form with files
//! - `streamed_body`: a body that is sent while it is read
//! - `headers`: the headers that a request may have
//! - `credential`: the user's secret, as requests carry it
//! - `sign`: signatures of requests, which are computed with the user's secret
//! - `form_field`: a form field that carries the user's secret
//! - `link`: addresses that an upstream gave
//! - `send`: the life of one request, top to bottom
//! - `reachable`: checks that a host can be reached
//! - `redirect`: the next step after a redirect
//! - `retry`: when and how often a request is attempted again
//! - `retry_after`: the time that a service wants to pass before the next request
//! - `transport`: replaces the network, for tools of connectors' authors
//! - `call_record`: what happened to the requests of one call
//! - `tracing`: the attempts in the trace of a call
//! - `pacing`: the queue in front of an upstream
//! - `quota`: limits on the number of calls in a period
//! - `response`: the response, read with bounded memory
//! - `throttle`: refusals that are rate limits
//! - `mask`: masks secrets that a response echoes
//! - `needle`: one spelling of such a secret
//! - `error`: the errors of requests
//! - `cause`: the causes of an error
//!
//! Invariants: a connection goes only to an address that was checked. A credential is sent only to
//! the origin of its upstream, and is in no response, error text or log. The crate knows neither
//! WebAssembly nor the form of errors for callers.

mod address;
mod call_record;
mod cause;
mod client;
mod connector;
mod credential;
mod error;
mod form_field;
mod headers;
mod host;
mod link;
mod location;
mod mask;
mod multipart;
mod needle;
mod pacing;
mod pool;
mod quota;
mod reachable;
mod redirect;
mod request;
mod request_body;
mod response;
mod retry;
mod retry_after;
mod send;
mod sign;
mod streamed_body;
#[cfg(test)]
pub(crate) mod testing;
mod throttle;
mod tls;
mod tracing;
mod transport;
mod upstream;

pub use address::{Lookup, is_loopback, system_lookup};
pub use call_record::{CallRecord, SentAttempt};
pub use client::{Egress, Settings};
pub use credential::{Credential, basic_header, bearer_header, secret_document, secret_field, secret_header};
pub use error::{EgressError, whole_seconds};
pub use form_field::FormField;
pub use headers::Headers;
pub use link::Link;
pub use mask::{MaskStream, Masker};
pub use multipart::{BrokenPart, Multipart, Part, PartContent, SentPart};
pub use needle::{SHORTEST_SECRET, is_shorter, is_too_short};
pub use pacing::{PacedQueue, Pacing, QUEUE_LEASE, QueueGrant, QueueReport};
pub use quota::{Budget, BudgetGrant, BudgetReport, Quota, Quotas, Refused, Remaining};
pub use request::{Request, Target};
pub use request_body::Body;
pub use response::{Response, ResponseBody};
pub use retry_after::{LONGEST_RETRY_AFTER, retry_after};
pub use sign::{KeyPair, SignatureScheme};
pub use streamed_body::{BrokenBody, StreamedBody};
pub use throttle::Refusal;
pub use tracing::{Beginning, EndAttempt, TracedAttempt, Tracing};
pub use transport::{Outline, Transport, Watcher};
pub use upstream::{Attempt, CredentialUse, Observer, Upstream, UpstreamSettings};
