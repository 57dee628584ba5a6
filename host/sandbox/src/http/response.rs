//! Responses, which stay in the gateway until the guest reads them.

use bytes::Bytes;
use hyper::body::Body as _;
use hyper::{HeaderMap, StatusCode};
use url::Url;

use crate::host_memory::{HeldMemory, HostMemory, TooMuchHeld};
use crate::shares::Permits;
use egress::EgressError;

/// A response with a body that is read on demand.
pub struct Response {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: ResponseBody,
    /// `None` for a response that is not in the hands of a guest.
    pub(super) source: Option<ResponseSource>,
    /// `Some` while a guest has the response and has not read its body.
    pub(super) open: Option<Open>,
}

/// The resources that an open response takes.
pub(super) struct Open {
    /// Its connection.
    pub(super) _connection: Permits,
    /// The memory that the connection takes, from the budget of all calls.
    pub(super) _buffered: memory::Reservation,
    /// The same memory, from the budget of the invocation.
    pub(super) _held: HeldMemory,
}

/// The upstream and the address of a response that a guest holds.
pub(super) struct ResponseSource {
    /// The name of the upstream. Links in the response belong to it.
    pub(super) upstream: String,
    /// The address of the response. Relative links are resolved against it.
    pub(super) url: Url,
    /// `true` if the response is the upstream's own. Links of other responses carry no credential.
    pub(super) is_own: bool,
    /// Counts the headers and the address.
    pub(super) _held: HeldMemory,
}

/// The body of a response.
pub enum ResponseBody {
    /// Not read yet.
    Unread(egress::ResponseBody),
    /// Read as a whole.
    Read(Bytes),
    /// Could not be read.
    Failed(EgressError),
}

impl From<egress::Response> for Response {
    fn from(response: egress::Response) -> Self {
        let body = ResponseBody::Unread(response.body);
        Self { status: response.status, headers: response.headers, body, source: None, open: None }
    }
}

impl Response {
    /// The length that the upstream declared, or that was read. `None` if it is not known.
    pub fn content_length(&self) -> Option<u64> {
        match &self.body {
            ResponseBody::Read(body) => Some(body.len() as u64),
            ResponseBody::Unread(body) => body.size_hint().exact(),
            ResponseBody::Failed(_) => None,
        }
    }

    /// The body, read or unread.
    pub fn into_body(self) -> ResponseBody {
        self.body
    }

    /// Reads the whole body. Later calls give the same result.
    pub(super) async fn read_body(
        &mut self,
        limit: u64,
        memory: &mut HostMemory,
    ) -> Result<Result<Bytes, EgressError>, TooMuchHeld> {
        let unread = ResponseBody::Failed(EgressError::TimedOut);
        let result = match std::mem::replace(&mut self.body, unread) {
            ResponseBody::Unread(body) => collect(body, limit, memory).await?,
            ResponseBody::Read(body) => Ok(body),
            ResponseBody::Failed(error) => Err(error),
        };
        self.body = match &result {
            Ok(body) => ResponseBody::Read(body.clone()),
            Err(error) => ResponseBody::Failed(error.clone()),
        };
        Ok(result)
    }
}

/// Reads at most as many bytes as the invocation may still hold.
async fn collect(
    body: egress::ResponseBody,
    limit: u64,
    memory: &mut HostMemory,
) -> Result<Result<Bytes, EgressError>, TooMuchHeld> {
    let room = memory.left() as u64;
    match body.collect(limit.min(room)).await {
        Ok(body) => Ok(Ok(memory.hold_shared(body.len())?.tie(body))),
        Err(EgressError::TooLarge { .. }) if room < limit => Err(TooMuchHeld::ForGuest),
        Err(error) => Ok(Err(error)),
    }
}
