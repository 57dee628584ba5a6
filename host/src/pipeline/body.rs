//! Bodies of answers.

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};

/// The body of an answer: held in memory, or streamed from an upstream. An error in it ends the connection, so that a
/// caller never takes half an answer for a whole one.
pub type Body = UnsyncBoxBody<Bytes, crate::egress::EgressError>;

/// A body that is there as a whole.
pub fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}
